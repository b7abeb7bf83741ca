"""Forward mode: tangents through operations, views, in-place writes, custom functions, and together
with walking back."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.autograd import forward_ad as fwAD
from jtorch.func import grad, hessian, jacfwd, jvp, linearize, vmap

X, T = [1.0, 2.0, 3.0], [1.0, -1.0, 2.0]


def x(requires_grad: bool = False) -> Any:
    return torch.tensor(X, requires_grad=requires_grad)


def t() -> Any:
    return torch.tensor(T)


def tangent(found: Any) -> Any:
    return fwAD.unpack_dual(found).tangent


def test_operations_views_and_composites() -> None:
    with fwAD.dual_level():
        d = fwAD.make_dual(x(), t())
        assert tangent(d * d).tolist() == [2.0, -4.0, 12.0]
        assert tangent(d.view(3, 1)[1:]).tolist() == [[-1.0], [2.0]]
        assert tangent(torch.cat([d, x()])).tolist() == [*T, 0.0, 0.0, 0.0]
        assert tangent(d.max(0).values).item() == 2.0
        expected = torch.autograd.functional.jvp(lambda a: a.softmax(0), x(), t())[1]
        torch.testing.assert_close(tangent(torch.nn.functional.softmax(d, 0)), expected)
        assert tangent(d > 1) is None
        assert (d * 2).tolist() == [2.0, 4.0, 6.0]  # reading gives the value


def test_in_place_writes() -> None:
    with fwAD.dual_level():
        d = fwAD.make_dual(x(), t())
        e = d * 1
        e[0:2].mul_(d[1:])
        assert tangent(e).tolist() == [1.0 * 2 + 1.0 * -1, -1.0 * 3 + 2.0 * 2, 2.0]
        plain = torch.zeros(3)
        plain.copy_(d)
        plain[0] = 5.0
        assert tangent(plain).tolist() == [0.0, -1.0, 2.0]
        assert tangent(d.detach()) is None
        with torch.no_grad():
            assert tangent(d * 2).tolist() == [2.0, -2.0, 4.0]


def test_a_level_ends() -> None:
    with fwAD.dual_level():
        y = fwAD.make_dual(x(), t()) * 2
    assert y.tolist() == [2.0, 4.0, 6.0]
    assert fwAD.unpack_dual(y).tangent is None
    with fwAD.dual_level():
        assert tangent(y) is None


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(x(), t())
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(x(), torch.ones(2))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fwAD.make_dual(torch.ones(3, dtype=torch.int64), t())
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            fwAD.enter_dual_level()


def test_conventions_at_corners_are_those_of_walking_back() -> None:
    zero = torch.zeros(3)

    def f(a: Any) -> Any:
        return a.abs() + a.relu() + a.clamp(0, 2) + torch.maximum(a, zero)

    a = torch.zeros(3, requires_grad=True)
    (back,) = torch.autograd.grad(f(a).sum(), a)
    assert jvp(f, (zero,), (torch.ones(3),))[1].tolist() == back.tolist()


def test_backward_through_a_tangent() -> None:
    a, b, w = x(True), t().requires_grad_(), torch.tensor([2.0, 1.0, 1.0], requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(a, b) ** 3 * w
        value, derivative = fwAD.unpack_dual(y)
    torch.testing.assert_close(derivative, 3 * a**2 * b * w)
    ours = torch.autograd.grad(derivative.sum() + 2 * value.sum(), [a, b, w], create_graph=True)
    theirs = torch.autograd.grad(
        (3 * a**2 * b * w).sum() + 2 * (a**3 * w).sum(), [a, b, w], create_graph=True
    )
    torch.testing.assert_close(ours, theirs)
    again, expected = (
        torch.autograd.grad(g[0].sum() + g[2].sum(), [a, b, w]) for g in (ours, theirs)
    )
    torch.testing.assert_close(again, expected)


def test_forward_over_backward() -> None:
    a = x(True)
    with fwAD.dual_level():
        y = (fwAD.make_dual(a, t()) ** 3).sum()
        (g,) = torch.autograd.grad(y, a)
        assert tangent(g).tolist() == [6.0, -12.0, 36.0]


def test_levels_nest_with_other_transformations() -> None:
    one = torch.ones(3)
    assert jvp(lambda a: jvp(lambda b: b**3, (a,), (one,))[1], (x(),), (t(),))[1].tolist() == [
        6.0,
        -12.0,
        36.0,
    ]
    assert jvp(grad(lambda a: (a**3).sum()), (x(),), (t(),))[1].tolist() == [6.0, -12.0, 36.0]
    assert grad(lambda a: jvp(lambda b: (b**3).sum(), (a,), (t(),))[1])(x()).tolist() == [
        6.0,
        -12.0,
        36.0,
    ]
    assert (
        vmap(lambda u: jvp(lambda a: a**2, (x(),), (u,))[1])(torch.eye(3)).tolist()
        == torch.diag(2 * x()).tolist()
    )
    assert jvp(lambda a: vmap(lambda b: b * a.sum())(a), (x(),), (one,))[1].tolist() == [
        6.0 + 3,
        6.0 + 6,
        6.0 + 9,
    ]
    assert jacfwd(lambda a: a**2)(x()).tolist() == torch.diag(2 * x()).tolist()
    assert hessian(lambda a: (a**3).sum())(x()).tolist() == torch.diag(6 * x()).tolist()
    value, push = linearize(lambda a: a**3, x())
    assert (value.tolist(), push(t()).tolist()) == ([1.0, 8.0, 27.0], [3.0, -12.0, 54.0])


def test_values_stay_readable_under_jacfwd() -> None:
    assert jacfwd(lambda a: a**2 if a[0] > 0 else -a)(x()).tolist() == torch.diag(2 * x()).tolist()


def test_complex_numbers() -> None:
    with fwAD.dual_level():
        d = fwAD.make_dual(torch.tensor([1 + 1j]), torch.tensor([1j]))
        assert tangent(d * d).tolist() == [(2 + 2j) * 1j]
        assert tangent(d.conj()).tolist() == [-1j]
        assert tangent(d.abs()).item() == pytest.approx(2**-0.5)


def test_custom_functions() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(a: Any) -> Any:
            return a * a

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, u: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * u

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * a

    with fwAD.dual_level():
        d = fwAD.make_dual(x(), t())
        assert tangent(Square.apply(d)).tolist() == [2.0, -4.0, 12.0]
        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            Silent.apply(d)


def test_draws_have_tangents_that_are_zero_or_none_at_all() -> None:
    p = torch.full((3,), 0.5)
    with fwAD.dual_level():
        d = fwAD.make_dual(p, torch.ones(3))
        draws = [
            torch.bernoulli,
            torch.poisson,
            lambda x: torch.normal(x, 1.0),
            lambda x: torch.normal(1.0, x),
        ]
        for f in [*draws, lambda x: torch.normal(x, x)]:
            assert fwAD.unpack_dual(f(d)).tangent.tolist() == [0.0, 0.0, 0.0]
        for words, f in {
            "aten::bernoulli that does not support it.": lambda: torch.bernoulli(d, 0.5),
            "aten::binomial that": lambda: torch.binomial(d, p),
            "aten::_sample_dirichlet that": lambda: torch._sample_dirichlet(d),
            "_standard_gamma that does not support it because it has not been implemented yet": lambda: (  # noqa: E501
                torch._standard_gamma(d)
            ),
            "aten::heaviside that": lambda: torch.heaviside(d, d),
            "geqrf that does not support it because": lambda: torch.geqrf(d.expand(3, 3)),
        }.items():
            with pytest.raises(NotImplementedError, match=f"Trying to use forward AD with {words}"):
                f()


def test_running_statistics_take_no_tangents() -> None:
    x, p = torch.tensor([[1.0], [3.0]]), torch.ones(1)
    with fwAD.dual_level():
        d, s = fwAD.make_dual(x, x), fwAD.make_dual(p, p)
        with pytest.raises(
            RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"
        ):
            torch.nn.functional.batch_norm(d, s, p)
        with pytest.raises(
            RuntimeError, match="batch_norm is not differentiable wrt running_mean and running_var"
        ):
            torch.nn.functional.batch_norm(x, p, s, weight=s)
        assert fwAD.unpack_dual(torch.nn.functional.batch_norm(x, s, p)).tangent is None


def test_a_table_scaled_down_keeps_its_tangent() -> None:
    weight = torch.full((4, 2), 3.0)
    with fwAD.dual_level():
        d = fwAD.make_dual(weight, torch.ones(4, 2))
        found = fwAD.unpack_dual(torch.nn.functional.embedding(torch.tensor([1]), d, max_norm=1.0))
        assert found.primal.norm() < 1.0001 and found.tangent.tolist() == [[1.0, 1.0]]


def test_gradients_of_tangents_at_infinity() -> None:
    """The value's own gradient is absent, not zero, which times infinity would be NaN."""
    x = torch.tensor([1.0, float("inf"), float("nan")])
    assert grad(lambda v: jvp(lambda w: w * w, (v,), (torch.ones(3),))[1].sum())(x).tolist() == [
        2.0,
        2.0,
        2.0,
    ]


class _Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return 2 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, t: torch.Tensor) -> torch.Tensor:
        return 2 * t * ctx.saved_tensors[0]


def test_gradients_of_functions_of_ones_own_have_tangents() -> None:
    """Gradients asked for inside of forward mode were without tangents."""
    x, one = torch.tensor(X), torch.ones(3)
    assert jvp(grad(lambda v: _Square.apply(v).sum()), (x,), (one,))[1].tolist() == [2.0, 2.0, 2.0]
    assert jvp(grad(lambda v: _Square.apply(v * v).sum()), (x,), (one,))[1].tolist() == [
        12.0,
        48.0,
        108.0,
    ]
    assert jvp(grad(lambda v: (_Square.apply(v) * v).sum()), (x,), (one,))[1].tolist() == [
        6.0,
        12.0,
        18.0,
    ]
    assert hessian(lambda v: _Square.apply(v).sum())(x).tolist() == [
        [2.0, 0.0, 0.0],
        [0.0, 2.0, 0.0],
        [0.0, 0.0, 2.0],
    ]
    assert jacfwd(grad(lambda v: _Square.apply(v * v).sum()))(x).diagonal().tolist() == [
        12.0,
        48.0,
        108.0,
    ]
    assert grad(lambda v: jvp(lambda w: _Square.apply(w * w), (v,), (one,))[1].sum())(
        x
    ).tolist() == [12.0, 48.0, 108.0]


class Marked(torch.Tensor):
    """Its handler is the one that all subclasses have."""


class Counting(torch.Tensor):
    """Its handler counts what it is asked."""

    asked: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("cls", [Marked, Counting])
def test_subclasses_with_tangents(cls):
    x, t = torch.tensor([1.0, 2.0]).as_subclass(cls), torch.ones(2)
    seen = []

    def f(u):
        seen.append(type(u))
        return u * u if isinstance(u, cls) else u * 0

    with fwAD.dual_level():
        d = fwAD.make_dual(x, t)
        found = fwAD.unpack_dual(f(d))
        assert type(d) is type(found.primal) is type(
            found.tangent
        ) is cls and found.tangent.tolist() == [2, 4]
        d.mul_(3)
        assert (
            fwAD.unpack_dual(d).tangent.tolist() == [3, 3]
            and x.tolist() == [3, 6]
            and t.tolist() == [3, 3]
        )
        assert type(fwAD.make_dual(torch.ones(2), t.as_subclass(cls))) is cls
    x = torch.tensor([1.0, 2.0]).as_subclass(cls)
    value, tangent = torch.func.jvp(f, (x,), (torch.ones(2),))
    assert value.tolist() == [1, 4] and tangent.tolist() == [2, 4]
    assert torch.func.jacfwd(f)(x).tolist() == [[2, 0], [0, 4]]
    assert seen == [cls] * 3
    if cls is Counting:
        assert cls.asked.count("_make_dual") == 4 and cls.asked.count("_unpack_dual") == 2
