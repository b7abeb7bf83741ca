"""Arithmetic: values on edges, integer rules, errors in torch's words, gradients at special
points."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jtorch as torch

INTEGERS = st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=4)


@settings(max_examples=30, deadline=None)
@given(a=INTEGERS, b=INTEGERS.filter(all))
def test_integer_division_follows_python(a: list[int], b: list[int]) -> None:
    x, y = torch.tensor(a), torch.tensor(b)
    assert (x // y).tolist() == [i // j for i, j in zip(a, b, strict=True)]
    assert (x % y).tolist() == [i % j for i, j in zip(a, b, strict=True)]
    assert torch.fmod(x, y).tolist() == [
        abs(i) % abs(j) * (-1 if i < 0 else 1) for i, j in zip(a, b, strict=True)
    ]
    quotients = torch.div(x, y, rounding_mode="trunc").tolist()
    assert quotients == [
        abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1) for i, j in zip(a, b, strict=True)
    ]


@settings(max_examples=30, deadline=None)
@given(
    a=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=4, max_size=4),
    b=st.floats(1e-3, 1e3),
)
def test_float_division_follows_python(a: list[float], b: float) -> None:
    x = torch.tensor(a, dtype=torch.float64)
    assert (x // b).tolist() == [i // b for i in a]
    assert (x % -b).tolist() == [i % -b for i in a]


@pytest.mark.parametrize(
    "call",
    [
        operator.floordiv,
        operator.mod,
        torch.fmod,
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    ],
)
def test_integers_divided_by_zero(call: object) -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        call(torch.tensor([3, 4]), torch.tensor([1, 0])).tolist()  # type: ignore[operator]


def test_bool_arithmetic_is_logic() -> None:
    a, b = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    assert (a + b).tolist() == [True, True, False]
    assert (a * b).tolist() == [True, False, False]
    with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
        a - b
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor"):
        -a


def test_dtypes() -> None:
    i = torch.tensor([1, 2])
    assert (i / i).dtype is torch.float32
    assert (i / 2).dtype is torch.float32
    assert (i // 2).dtype is torch.int64
    assert (i * 2.0).dtype is torch.float32
    assert (i.to(torch.bfloat16) * 2.0).dtype is torch.bfloat16


def test_alpha_is_refused_where_it_would_be_rounded() -> None:
    i = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        torch.add(i, i, alpha=0.5)
    assert torch.add(i, i, alpha=3).tolist() == [4, 8]
    assert torch.rsub(torch.tensor([1.0, 2.0]), 10, alpha=2).tolist() == [8.0, 6.0]


def test_gradients_at_special_points() -> None:
    x = torch.tensor([0.0, -2.0, 3.0], requires_grad=True)
    torch.abs(x).sum().backward()
    assert x.grad.tolist() == [0.0, -1.0, 1.0]
    y = torch.tensor([0.0, 2.0, -2.0], requires_grad=True)
    torch.copysign(y, -1).sum().backward()
    assert y.grad.tolist() == [0.0, -1.0, 1.0]
    z = torch.tensor([0j, 3 + 4j], requires_grad=True)
    torch.abs(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0, 0.6 + 0.8j], rtol=1e-6)


def test_signs() -> None:
    x = torch.tensor([-0.0, float("nan"), -3.0, float("inf")])
    assert torch.sign(x).tolist() == [0.0, 0.0, -1.0, 1.0]
    assert torch.signbit(x).tolist() == [True, False, True, False]
    np.testing.assert_allclose(
        torch.sgn(torch.tensor([0j, 3 - 4j])).numpy(), [0, 0.6 - 0.8j], rtol=1e-6
    )
    with pytest.raises(NotImplementedError, match="Unlike NumPy"):
        torch.sign(torch.tensor([1j]))


def test_lerp_meets_both_ends_and_checks_dtypes() -> None:
    a, b = torch.tensor([0.1, 1e8]), torch.tensor([0.3, -1.0])
    assert torch.equal(torch.lerp(a, b, 0.0), a)
    assert torch.equal(torch.lerp(a, b, 1.0), b)
    with pytest.raises(RuntimeError, match="expected dtype float for `end` but got dtype double"):
        torch.lerp(a, b.double(), 0.5)


def test_fused_products() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.addcmul(x, x, x, value=2).tolist() == [3.0, 10.0]
    assert torch.addcdiv(x, x, x, value=2).tolist() == [3.0, 4.0]
    with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
        torch.addcdiv(x.long(), x.long(), x.long())


def test_quotients_by_numbers_and_rows_are_correctly_rounded() -> None:
    x = (np.random.RandomState(0).rand(50, 60) * 1000).astype("float32")
    row = np.random.RandomState(1).rand(60).astype("float32")
    for divisor in (7, 1000.0, 3):
        np.testing.assert_array_equal((torch.tensor(x) / divisor).numpy(), x / np.float32(divisor))
    np.testing.assert_array_equal((torch.tensor(x) / torch.tensor(row)).numpy(), x / row)
    assert (torch.tensor([3.0, float("nan"), float("inf"), 0.0]) / 0.0).tolist()[0] == float("inf")
    found = (torch.tensor([float("nan"), float("inf")]) / 2.0).tolist()
    assert np.isnan(found[0]) and found[1] == float("inf")


def test_weights_of_lerp_with_dimensions_have_its_dtype() -> None:
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with pytest.raises(
        RuntimeError, match="expected dtype float for `weight` but got dtype double"
    ):
        torch.lerp(a, b, torch.tensor([0.5], dtype=torch.float64))
    assert torch.lerp(a, b, torch.tensor(0.5, dtype=torch.float64)).tolist() == [2.0, 3.0]
    assert torch.lerp(a, b, torch.tensor(1)).tolist() == torch.lerp(a, b, 1).tolist() == [3.0, 4.0]


def test_where_of_halves_makes_large_whole_numbers_infinite() -> None:
    x = torch.ones(2, dtype=torch.half)
    assert torch.where(torch.tensor([True, False]), 10**10, x).tolist() == [float("inf"), 1.0]
