"""``make_fx(functionalize(f))``: graphs that write nothing but what the function changed of its
arguments, and compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch.func import functionalize, grad
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.utils import _pytree as pytree

A = torch.ops.aten
Program = Callable[[torch.Tensor], Any]


def given(step: float = 1.0) -> torch.Tensor:
    return torch.arange(9.0).reshape(3, 3).sin() * step


def operators(graph: Any) -> list[Any]:
    return [n for n in graph.nodes if isinstance(n.target, torch._ops.OpOverload)]


def writes(graph: Any) -> list[str]:
    """The operators of a graph that write, in their order."""
    return [str(n.target) for n in operators(graph) if n.target._schema.is_mutable]


def views(graph: Any) -> list[str]:
    return [str(n.target) for n in operators(graph) if n.target._schema.is_view]


def into_a_view(view: Program) -> Program:
    def f(x: torch.Tensor) -> Any:
        y = x * 1
        whole = y.view(9)
        part = view(y)
        part.mul_(2)
        y.add_(part.sum())
        return y, whole.sin(), part

    return f


VIEWS: dict[str, Program] = {
    "itself": lambda x: x, "row": lambda x: x[1], "column": lambda x: x[:, 2],
    "part": lambda x: x[1:, :2], "steps": lambda x: x[::2], "transposed": lambda x: x.t(),
    "permuted": lambda x: x.permute(1, 0), "seen as another": lambda x: x.view(9, 1),
    "flat": torch.flatten, "with one more": lambda x: x.unsqueeze(0),
    "diagonal": lambda x: x.diagonal(), "of a view": lambda x: x.t()[1][1:],
    "one of all": lambda x: x.unbind(1)[2], "one of parts": lambda x: x.split([1, 2], 1)[1],
    "one of equal parts": lambda x: x.chunk(2)[1],
    "by strides": lambda x: x.as_strided((2, 2), (3, 2), 1),
    "expanded": lambda x: x.expand(1, 3, 3), "windows": lambda x: x.unfold(1, 1, 2),
    "windows of rows": lambda x: x[:, :2].unfold(1, 2, 2),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", VIEWS)
def test_writes_into_views_are_seen_by_all(name: str, mode: str) -> None:
    f = into_a_view(VIEWS[name])
    made = make_fx(functionalize(f), tracing_mode=mode)(given())
    assert writes(made.graph) == []
    for mine, expected in zip(made(given(0.5)), f(given(0.5)), strict=True):
        torch.testing.assert_close(mine, expected)


def bits_as_others(x: torch.Tensor) -> Any:
    y = x + 1
    y.view(torch.int32).add_(1 << 23)
    return y * 2


def parts_of_complex_numbers(x: torch.Tensor) -> Any:
    y = x.to(torch.complex64)
    torch.view_as_real(y)[..., 1].fill_(2)
    y.conj().mul_(1j)
    z = torch.view_as_complex(torch.view_as_real(y).clone())
    z.imag.add_(1)
    return torch.view_as_real(y), torch.view_as_real(z)


def other_sizes(x: torch.Tensor) -> Any:
    y, z = torch.empty(0), x.clone()
    torch.add(x, 1, out=y)
    z.resize_(2, 3).mul_(2)
    return y.mul_(2), z


@pytest.mark.parametrize("f", [bits_as_others, parts_of_complex_numbers, other_sizes])
def test_writes_through_other_dtypes_and_into_other_sizes(f: Program) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return f(x)

    traced = make_fx(functionalize(f))(given())
    exported = torch.export.export(Module(), (given(),)).run_decompositions()
    for call, graph in ((traced, traced.graph), (exported.module(), exported.graph)):
        assert writes(graph) == []
        for mine, expected in zip(
            pytree.tree_leaves(call(given(0.5))), pytree.tree_leaves(f(given(0.5))), strict=True
        ):
            torch.testing.assert_close(mine, expected)


# those refuse to be written into
@pytest.mark.parametrize("name", [name for name in VIEWS if not name.startswith("one of")])
def test_gradients(name: str) -> None:
    g = grad(lambda x: sum(t.square().sum() for t in into_a_view(VIEWS[name])(x)))
    made = make_fx(functionalize(g))(given())
    assert writes(made.graph) == []
    torch.testing.assert_close(made(given(0.5)), g(given(0.5)))


def test_arguments_that_are_changed() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[0].add_(y)
        torch.sin(y, out=y)
        return x.t() + y

    made = make_fx(functionalize(f))(given(), torch.ones(3))
    assert writes(made.graph) == ["aten.copy_.default"] * 2
    ours, theirs = (given(), torch.ones(3)), (given(), torch.ones(3))
    torch.testing.assert_close(made(*ours), f(*theirs))
    assert all(map(torch.equal, ours, theirs)) and not torch.equal(ours[0], given())


def test_views_as_operators_that_give_new_tensors() -> None:
    f = into_a_view(lambda x: x[1].t())
    made = make_fx(functionalize(f, remove="mutations_and_views"))(given())
    assert writes(made.graph) == views(made.graph) == []
    assert "aten.view_copy.default" in {str(n.target) for n in made.graph.nodes}
    for mine, expected in zip(made(given(0.5)), f(given(0.5)), strict=True):
        torch.testing.assert_close(mine, expected)


def test_a_part_of_a_program_that_is_traced() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x.neg_()
        functionalize(lambda t: t.mul_(3))(x)
        return x.add_(1)

    made = make_fx(f)(given())
    assert writes(made.graph) == ["aten.neg_.default", "aten.copy_.default", "aten.add_.Tensor"]
    torch.testing.assert_close(made(given(0.5)), f(given(0.5)))


def test_tensors_from_outside_that_are_changed() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x.clone()
        row = y[0]
        functionalize(lambda: y.mul_(2))()
        functionalize(lambda part: part.add_(1))(row)
        return y + x, row.sin()

    made = make_fx(f)(given())
    assert writes(made.graph) == ["aten.copy_.default"] * 2
    torch.testing.assert_close(made(given(0.5)), f(given(0.5)))


@pytest.mark.parametrize(
    "views", [lambda y: y[0], lambda y: y.t()[1], lambda y: y.unbind()[2], lambda y: y[1].neg_()]
)
def test_views_from_outside_do_not_give_what_they_were(views: Program) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        view = views(y)
        return functionalize(lambda whole: whole.mul_(2).sum() + view)(y)

    with pytest.raises(NotImplementedError, match="a view from outside of the function"):
        make_fx(f)(given())


@pytest.mark.parametrize(
    "name", ["uniform_", "exponential_", "normal_", "log_normal_", "bernoulli_", "zero_"]
)
def test_what_fills_has_a_form_that_gives_a_new_tensor(name: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return getattr(x * 1, name)()

    made = make_fx(functionalize(f))(given())
    assert writes(made.graph) == []
    torch.manual_seed(0)
    found = made(given())
    torch.manual_seed(0)
    assert torch.equal(found, f(given()))


@pytest.mark.parametrize(
    "view", [lambda x: x[:1].as_strided((2,), (3,)), lambda x: x.unfold(0, 2, 1)[0]]
)
def test_what_has_no_such_form_is_refused(view: Program) -> None:
    with pytest.raises(
        NotImplementedError,
        match="functionalize is not offered by jtorch: a write through the view",
    ):
        make_fx(functionalize(lambda x: view(x * 1).zero_()))(given())


@pytest.mark.parametrize(
    "f", [lambda x: x[:, 1:].reshape(-1), lambda x: x[2] * 2, lambda x: x[:, 1:].sin().t().ravel()]
)
def test_sizes_that_are_asked_for_in_symbolic_traces(f: Program) -> None:
    made = make_fx(f, tracing_mode="symbolic")(given())
    torch.testing.assert_close(
        made(torch.arange(16.0).reshape(4, 4)), f(torch.arange(16.0).reshape(4, 4))
    )
