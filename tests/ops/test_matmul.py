"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops._declare import find
from jtorch._src.ops._matrix import by_weight
from jtorch._src.ops.matmul import mv, outer

SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
    ((2, 0), (0, 4)), ((0, 3), (3, 4)),
]  # fmt: skip


def _pair(a: tuple[int, ...], b: tuple[int, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.RandomState(seed)
    return r.randn(*a), r.randn(*b)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = _pair(a, b)
    np.testing.assert_allclose((torch.tensor(x) @ torch.tensor(y)).numpy(), x @ y, 1e-12, 1e-13)


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_matmul_gradient_by_differences(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = _pair(a, b)
    dx, dy = _pair(a, b, seed=1)
    p, q = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    torch.matmul(p, q).sin().sum().backward()
    slope = (p.grad.numpy() * dx).sum() + (q.grad.numpy() * dy).sum()
    e = 1e-6
    change = np.sin((x + e * dx) @ (y + e * dy)).sum() - np.sin((x - e * dx) @ (y - e * dy)).sum()
    assert slope == pytest.approx(change / (2 * e), rel=1e-6, abs=1e-8)


def test_linear() -> None:
    x = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
    w, b = (
        torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]], requires_grad=True),
        torch.tensor([10.0, 20.0], requires_grad=True),
    )
    y = torch.nn.functional.linear(x, w, b)
    assert y.tolist() == [[[18, 21], [36, 21]], [[54, 21], [72, 21]]]
    y.backward(torch.ones_like(y))
    assert b.grad.tolist() == [4, 4]
    assert w.grad.tolist() == [[18, 22, 26]] * 2
    assert x.grad.tolist() == [[[1, 1, 4]] * 2] * 2


def test_linear_with_a_vector_and_a_scalar_bias() -> None:
    weight, bias = (
        torch.tensor([1.0, 3.0], requires_grad=True),
        torch.tensor(0.5, requires_grad=True),
    )
    found = torch.nn.functional.linear(torch.ones(4, 3, 2), weight, bias)
    assert found.shape == (4, 3) and found[0, 0].item() == 4.5
    found.sum().backward()
    assert bias.grad.item() == 12 and weight.grad.tolist() == [12, 12]
    with pytest.raises(RuntimeError, match="mat2 must be a matrix, got 1-D tensor"):
        torch.nn.functional.linear(torch.ones(3, 2), weight, bias)


@pytest.mark.parametrize(("count", "turned"), [(1, True), (32, True), (33, False)])
def test_few_rows_with_a_large_weight(count: int, turned: bool) -> None:
    r = np.random.default_rng(0)
    x, w = (r.standard_normal(shape).astype(np.float32) for shape in ((count, 256), (300, 256)))
    products = [
        e for e in jax.make_jaxpr(by_weight)(x, w).eqns if e.primitive.name == "dot_general"
    ]
    assert [e.outvars[0].aval.shape for e in products] == [(300, count) if turned else (count, 300)]
    wanted = x.astype(np.float64) @ w.T
    np.testing.assert_allclose(jax.jit(by_weight)(x, w), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.jit(by_weight)(x[None], w)[0], wanted, rtol=1e-4, atol=1e-4)

    given, weight = torch.tensor(x), torch.tensor(w)
    value, tangent = torch.func.jvp(
        lambda v: torch.nn.functional.linear(v, weight), (given,), (2 * given,)
    )
    np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tangent.numpy(), 2 * wanted, rtol=1e-4, atol=1e-4)
    pairs = torch.func.vmap(lambda v: torch.nn.functional.linear(v, weight))(
        torch.stack([given, -given])
    )
    np.testing.assert_allclose(pairs.numpy(), np.stack([wanted, -wanted]), rtol=1e-4, atol=1e-4)


def test_second_derivative_of_linear() -> None:
    x, w = (
        torch.tensor([[1.0, 2.0]], requires_grad=True),
        torch.tensor([[3.0, 4.0]], requires_grad=True),
    )
    (g,) = torch.autograd.grad(
        torch.nn.functional.linear(x, w).square().sum(), x, create_graph=True
    )
    assert g.tolist() == [[66, 88]]  # 2 (w x) w
    g.sum().backward()
    assert w.grad.tolist() == [[36, 50]]  # d/dw of 2 (w x) (w1 + w2)


def test_addmm_scales_and_hides_nan() -> None:
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    assert torch.addmm(torch.ones(2), a, b, beta=2, alpha=0.5).tolist() == [[3.5, 3.5]] * 2
    assert torch.addmm(torch.full((2, 2), math.nan), a, b, beta=0).tolist() == [[3, 3]] * 2
    assert (
        torch.addmm(torch.full((2, 2), math.nan), a, b, beta=0.0, alpha=2.0).tolist()
        == [[6, 6]] * 2
    )
    c = torch.ones(2, 2)
    assert c.addmm_(a, b) is c
    assert c.tolist() == [[4, 4]] * 2


def test_scalars_are_truncated_for_integers() -> None:
    a = torch.ones(2, 2, dtype=torch.int64)
    assert torch.addmm(a, a, a, beta=0.5, alpha=2.9).tolist() == [[4, 4]] * 2


def test_addr_of_bool() -> None:
    t, f = torch.tensor([True, False]), torch.tensor([[False, True], [False, False]])
    assert torch.addr(f, t, t).tolist() == [[True, True], [False, False]]
    assert torch.addr(f, t, t, beta=False).tolist() == [[True, False], [False, False]]


def test_vdot_conjugates_the_first() -> None:
    x, y = torch.tensor([1 + 2j, 3j]), torch.tensor([1j, 2 + 0j])
    assert torch.vdot(x, y).item() == (1 - 2j) * 1j + -3j * 2
    assert torch.dot(x, y).item() == (1 + 2j) * 1j + 3j * 2


def test_complex_gradient_is_torchs() -> None:
    x = torch.tensor([[1 + 1j]], requires_grad=True)
    (x @ torch.tensor([[2 + 3j]])).real.sum().backward()
    assert x.grad.tolist() == [[2 - 3j]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.matmul(torch.ones(()), torch.ones(2)),
            "both arguments to matmul need to be at least 1D, but they are 0D and 1D",
        ),
        (
            lambda: torch.mm(torch.ones(2, 3), torch.ones(4, 5)),
            "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        ),
        (
            lambda: torch.ones(2, 3) @ torch.ones(3, dtype=torch.float64),
            "addmv input tensors must have the same dtype",
        ),
        (
            lambda: torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6)),
            "to be: [2, 4] but got: [2, 5].",
        ),
        (
            lambda: torch.addmm(torch.ones(3, 3), torch.ones(2, 3), torch.ones(3, 2)),
            "The expanded size of the tensor (2) must match",
        ),
    ],
)
def test_errors(call, text) -> None:
    with pytest.raises(RuntimeError) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "other", "forms"),
    [
        # rows 2 kB apart: the other operand is read by columns instead
        ((70, 512), (70, 9), ("transposed",)),
        ((70, 512), (70, 1024), ("copied",)),  # both are: one is copied the other way round
        # a small copy of the operand beats a large one of the result
        ((70, 512), (70, 90), ("copied",)),
        ((70, 500), (70, 9), ()),
        ((20, 512), (20, 9), ()),  # few rows
    ],
)
def test_sums_over_rows_of_any_width(
    shape: tuple[int, int], other: tuple[int, int], forms: tuple[str, ...]
) -> None:
    from jtorch._src.ops._matrix import over_rows

    rng = np.random.default_rng(0)
    a, b = (
        rng.standard_normal(shape).astype(np.float32),
        rng.standard_normal(other).astype(np.float32),
    )
    np.testing.assert_allclose(
        np.asarray(over_rows(a, b)), a.T.astype(np.float64) @ b, rtol=1e-4, atol=1e-4
    )
    steps = [
        e.primitive.name
        for e in jax.make_jaxpr(over_rows)(a, b).eqns
        if e.primitive.name != "optimization_barrier"
    ]
    expected = {"transposed": ["dot_general", "transpose"], "copied": ["transpose", "dot_general"]}
    assert steps == (expected[forms[0]] if forms else ["dot_general"])


@pytest.mark.parametrize("body", [mv, outer])
def test_gradients_of_products_with_vectors_turn_no_matrix(body: Any) -> None:
    """XLA copies a matrix that is turned element by element before it multiplies a vector by it."""
    x, v = np.ones((5, 5), np.float32), np.ones(5, np.float32)
    g, first = (v, x) if body is mv else (x, v)
    rule = find(body).rule
    assert rule is not None
    jaxpr = jax.make_jaxpr(lambda g, first, v: rule(g, None, first, v))(g, first, v)
    assert "dot_general" in str(jaxpr)
    assert "transpose" not in str(jaxpr)
