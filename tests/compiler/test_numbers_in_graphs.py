"""Numbers and sizes that data decide, in the graph of a function that is to be one graph for its
backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._dynamo.exc import Unsupported, UserError


def whole(f: Any) -> tuple[Any, list[list[str]]]:
    """``f`` as one graph, and the names of the nodes of each graph that is compiled."""
    graphs: list[list[str]] = []

    def backend(module: Any, inputs: Any) -> Any:
        del inputs
        graphs.append([n.name for n in module.graph.nodes if n.op not in ("placeholder", "output")])
        return module.forward

    return torch.compile(f, backend=backend, fullgraph=True), graphs


def sizes(x: torch.Tensor) -> Any:
    y = x[x > 0]
    return y * 2, y.shape[0], torch.ones(y.shape[0] + 1)


def checked(x: torch.Tensor) -> torch.Tensor:
    n = x.int().sum().item()
    torch._check(n >= 0)
    torch._check(n < 100)
    return torch.zeros(n)


CASES = {
    "item": lambda x: x * x.sum().item(),
    "numbers": lambda x: (x + 1, [x.sum().item(), x.int().max().item() + 1], {"a": x.max().item()}),
    "mask": lambda x: x[x > 0].sum() * x.max().item(),
    "nonzero": lambda x: x.nonzero() + 1,
    "unique": torch.unique,
    "sizes": sizes,
    "checked": checked,
}


@pytest.mark.parametrize("case", CASES)
def test_what_data_decide_is_in_the_graph(case: str) -> None:
    f = CASES[case]
    compiled, graphs = whole(f)
    for values in ([3.0, -1.0, 2.0, 1.0], [0.0, 5.0, -2.0, 1.0], [1.0, -1.0, -2.0, 2.0]):
        assert str(compiled(torch.tensor(values))) == str(f(torch.tensor(values)))
    assert len(graphs) == 1


def test_nodes_are_those_of_torch() -> None:
    compiled, graphs = whole(lambda x: x[x > 3] * 2)
    compiled(torch.arange(6.0))
    assert graphs == [
        [
            "gt",
            "getitem",
            "sym_size_int",
            "ge",
            "_assert_scalar_default",
            "le",
            "_assert_scalar_default_1",
            "mul",
        ]
    ]


def test_gradients_pass() -> None:
    compiled, _ = whole(CASES["mask"])
    x = torch.tensor([3.0, -1.0, 2.0], requires_grad=True)
    compiled(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 0, 3]


def test_what_was_said_of_numbers_is_checked() -> None:
    compiled, _ = whole(checked)
    assert compiled(torch.ones(3)).shape == (3,)
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= 99"):
        compiled(torch.full((3,), 50.0))


def test_what_was_said_of_floats_is_checked() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        s = x.sum().item()
        torch._check(s > 0)
        torch._check(s * 2 < 100.5)
        return x * s if s > 0 else x

    compiled, graphs = whole(f)
    assert compiled(torch.ones(3)).tolist() == [3, 3, 3]
    for x, words in (
        (-torch.ones(3), "zuf0 > 0 on node"),
        (torch.ones(3) * 100, r"zuf0\*2 < 100.5 on node"),
    ):
        with pytest.raises(RuntimeError, match=words):
            compiled(x)
    assert len(graphs) == 1


@pytest.mark.parametrize(
    "f", [lambda x: x if x.sum().item() > 3 else -x, lambda x: x[: int(x.sum().item())]]
)
def test_what_decides_by_a_number_is_refused_with_its_line(f: Any) -> None:
    compiled, _ = whole(f)
    with pytest.raises(
        UserError, match=r"data-dependent expression(.|\n)*test_numbers_in_graphs.*\n.*lambda x"
    ):
        compiled(torch.ones(3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x + 1) * int(x.max()),
        lambda x: torch.arange(int((x * 2)[2])) + 1,
        lambda x: x * float(x.sum()) + [1, 2, 3][(x[0] + 1).long()],
        lambda x: torch.from_numpy(np.sin((x + 1).numpy()) + x.numpy().sum()) * 2,
        lambda x: torch.as_tensor(np.linalg.norm(x * 2)) + x,
        lambda x: np.add((x + 1).numpy(), 1),
    ],
)
def test_what_python_reads_at_once_is_between_two_graphs(f: Callable[..., Any]) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled, graphs = whole(f)
    found, expected = compiled(x), f(x)
    assert type(found) is type(expected) and np.array_equal(np.asarray(found), np.asarray(expected))
    assert graphs


def test_branches_are_refused() -> None:
    compiled, _ = whole(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(Unsupported, match="data-dependent expression"):
        compiled(torch.ones(3))


def test_an_error_of_the_program_is_shown_alone() -> None:
    compiled = torch.compile(lambda x: x @ x, backend=lambda module, inputs: module.forward)
    with pytest.raises(RuntimeError, match="cannot be multiplied") as found:
        compiled(torch.ones(2, 3))
    assert found.value.__context__ is None


@pytest.mark.parametrize(
    "f",
    [
        lambda x: f"{x.sum().item()}",
        lambda x: str([x.nonzero().shape[0]]),
        lambda x: repr(x.sum().item() > 3),
    ],
)
def test_texts_of_what_data_decide_are_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(UserError, match="Could not guard on data-dependent expression"):
        torch.compile(f, backend=lambda graph, _: graph, fullgraph=True)(torch.arange(4.0))


def test_a_number_that_is_kept_elsewhere_has_no_text() -> None:
    kept: list[Any] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        kept.append(x.sum().item())
        return x * kept[0]

    found = torch.compile(f, backend=lambda graph, _: graph, fullgraph=True)(torch.arange(4.0))
    assert found.tolist() == [0, 6, 12, 18]
    for asked in (str, repr, float, bool):
        with pytest.raises(RuntimeError, match="Could not guard on data-dependent expression"):
            asked(kept[0])
