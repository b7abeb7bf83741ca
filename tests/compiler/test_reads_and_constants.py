"""What a compiled function reads on the host, computed already or not, is no part of a program;
what it makes of Python's data is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._dynamo.exc import Unsupported

T = torch.tensor


def given(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> tuple[Any, Any]:
    """What a compiled function gives, beside what it is as written, and the compiled one."""
    compiled = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in calls:
            assert str(compiled(*args)) == str(f(*args))
    return compiled


READING = {
    "item": lambda x, n: x * n.item(),
    "if": lambda x, n: x * 2 if n > 0 else x,
    "int": lambda x, n: x * int(n),
    "tolist": lambda x, n: x * x.tolist()[0],
    "a tensor of a list": lambda x, n: T(x.tolist()) * 2,
    "numpy": lambda x, n: T(x.numpy()) * 2,
    "nonzero": lambda x, n: x.nonzero() + 1,
    "mask": lambda x, n: x[x > 0],
    "position": lambda x, n: x[n],
    "end of a slice": lambda x, n: x[:n],
    "size": lambda x, n: x.reshape(n + 1, -1),
    "fill value": lambda x, n: torch.full((2,), n) + x,
    "end of a range": lambda x, n: torch.arange(n) + x[0],
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "sections": lambda x, n: x.split([n.item(), 2 - n.item()]),
    "text": lambda x, n: f"{x}",
    "an index into Python's list": lambda x, n: x * [1.0, 2.0, 3.0][n],
}


@pytest.mark.parametrize("case", READING)
def test_what_is_read_is_read_each_time(case):
    calls = [(T([1.0, -2.0]) * sign, T(n)) for n in (0, 1) for sign in (1, -1) for _ in range(3)]
    compiled = given(READING[case], calls)
    assert "reads a value" in compiled.compiled.reason
    whole = torch.compile(READING[case], fullgraph=True)
    if case == "if":
        with pytest.raises(
            Unsupported,
            match=r"fullgraph=True, but .* decides by a value at .*test_reads_and_constants",
        ):
            whole(*calls[0])
    else:  # numbers, and sizes that data decide, are in PyTorch's graphs
        with pytest.warns(UserWarning, match="reads a value"):
            assert str(whole(*calls[0])) == str(READING[case](*calls[0]))


#: What PyTorch's graphs hold, and so is no decision; as a text, since pytest writes assertions in
#: other words.
ASSERTED = """
def asserted(x):
    assert x.sum() > 0
    return x + bool(x.any()) + max(x[0], x[1]) + (1.0 in x)
"""


def negated(x: torch.Tensor) -> torch.Tensor:
    return x if not x.any() else -x


def joined(x: torch.Tensor) -> Any:
    return x.sum().item() > 0 and x.any() and x


def late(x: torch.Tensor) -> torch.Tensor:
    return x * x.sum().item() if x.max() > 0 else x


@pytest.mark.parametrize(
    "f",
    [
        negated,
        joined,
        late,
        lambda x: torch.equal(x, x),
        lambda x: torch.allclose(x, x),
        lambda x: [repr(x)],
    ],
)
def test_what_is_decided_by_is_no_whole_graph(f: Callable[..., Any]) -> None:
    with pytest.raises(Unsupported, match="decides by a value"):
        torch.compile(f, fullgraph=True)(T([1.0, 2.0]))


def test_what_is_asserted_is_a_whole_graph() -> None:
    scope: dict[str, Any] = {"__name__": "asserting"}
    exec(ASSERTED, scope)
    with pytest.warns(UserWarning, match="reads a value"):
        assert torch.compile(scope["asserted"], fullgraph=True)(T([1.0, 2.0])).tolist() == [5, 6]


def test_tensors_that_a_function_sees_are_read_each_time():
    flag = T(1.0)
    given(lambda x: x * flag.item(), [(T([1.0]),)] * 2)
    compiled = torch.compile(lambda x: x * 2 if flag else x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [compiled(T(1.0)).item() for _ in range(3)] == [2, 2, 2]
        flag.zero_()
        assert compiled(T(1.0)).item() == 1


def test_random_numbers_are_read_each_time():
    compiled = torch.compile(lambda x: x * torch.rand(1).item())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len({compiled(torch.ones(1)).item() for _ in range(4)}) == 4
    drawing = torch.compile(lambda x: x * torch.rand(1))
    assert len({drawing(torch.ones(1)).item() for _ in range(4)}) == 4
    assert drawing.compiled.replays


ROWS = [1, 0]
NUMBERS = np.array([1.0, 2.0, 3.0], np.float32)


def _written(x: torch.Tensor) -> Any:
    y = x.clone()
    y[[0, 1], [1, 2]] += 3
    y[[0]] = torch.ones(1, 3)
    return y


CONSTANT = {
    "list": lambda x, i: x[[0, 1]],
    "list of a module": lambda x, i: x[ROWS],
    "lists": lambda x, i: x[[0, 1], [1, 2]],
    "list and slice": lambda x, i: x[:, [1, 2]],
    "bools": lambda x, i: x[[True, False]],
    "nothing": lambda x, i: x[[]],
    "range": lambda x, i: x[range(2)],
    "array": lambda x, i: x[np.array([0, 1])],
    "list and tensor": lambda x, i: x[[0, 1], i],
    "tensor": lambda x, i: x[torch.tensor([1, 0])],
    "tensor of an array": lambda x, i: x + torch.tensor(NUMBERS),
    "sum": lambda x, i: x + torch.tensor([1.0, 2.0, 3.0]),
    "new_tensor": lambda x, i: x.new_tensor([1.0, 2.0, 3.0]) * x,
    "number": lambda x, i: x * torch.tensor(2.5),
    "its item": lambda x, i: x * torch.tensor([2.5])[0],
    "writing": lambda x, i: _written(x),
    "index_select": lambda x, i: x.index_select(1, torch.tensor([2, 0])),
    "clone": lambda x, i: x.clone(),
}


@pytest.mark.parametrize("case", CONSTANT)
def test_what_is_made_of_pythons_data_is_a_constant(case):
    x = torch.arange(6.0).reshape(2, 3)
    compiled = torch.compile(CONSTANT[case], fullgraph=True)
    for k in range(4):
        assert torch.equal(compiled(x + k, T([2, 1])), CONSTANT[case](x + k, T([2, 1])))
    assert compiled.compiled.replays


def test_data_that_changes_makes_another_program():
    numbers = [1.0, 2.0]
    compiled = torch.compile(lambda x: x * torch.tensor(numbers))
    assert [compiled(torch.ones(2)).tolist() for _ in range(3)][-1] == [1, 2]
    numbers[0] = 5.0
    assert compiled(torch.ones(2)).tolist() == [5, 2]


@pytest.mark.parametrize("grown", ["dict", "list", "rebound"])
def test_containers_that_are_given_may_be_changed(grown):
    def f(found: Any) -> Any:
        if grown == "list":
            found.append(found[0] * 2)
            return found[-1]
        found["y" if grown == "dict" else "x"] = found["x"] * 2
        return found["x"] + 1

    compiled = torch.compile(f)
    for k in range(4):
        held = [[T(float(k))] if grown == "list" else {"x": T(float(k))} for _ in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert compiled(held[0]).item() == f(held[1]).item()
        assert str(held[0]) == str(held[1])
