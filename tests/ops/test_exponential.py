"""Powers, roots, exponentials and logarithms: exact cases, integer powers, edges and their
gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jtorch as torch

INF, NAN = math.inf, math.nan


@settings(max_examples=30, deadline=None)
@given(base=st.lists(st.integers(-9, 9), min_size=3, max_size=3), exponent=st.integers(0, 18))
def test_integer_powers_are_exact(base: list[int], exponent: int) -> None:
    expected = [b**exponent for b in base]
    assert (torch.tensor(base) ** exponent).tolist() == expected
    assert torch.pow(torch.tensor(base), torch.tensor([exponent] * 3)).tolist() == expected


def test_integer_powers_wrap_and_invert() -> None:
    assert (2 ** torch.tensor([62, 63, 64, 100])).tolist() == [2**62, -(2**63), 0, 0]
    assert torch.pow(torch.tensor([2, 1, -1, -1]), torch.tensor([-1, -1, -1, -2])).tolist() == [
        0,
        1,
        -1,
        1,
    ]
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        torch.tensor([2]) ** -1


def test_gradient_of_pow_at_zero() -> None:
    x = torch.tensor([0.0, 0.0, 0.0, 2.0], requires_grad=True)
    y = torch.tensor([0.0, 1.0, 2.0, 3.0], requires_grad=True)
    torch.pow(x, y).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0, 12.0]
    np.testing.assert_allclose(y.grad.numpy(), [0, 0, 0, 8 * math.log(2)], rtol=1e-6)
    z = torch.tensor([0.0, NAN], requires_grad=True)
    (z**0.0).sum().backward()
    assert z.grad.tolist() == [0.0, 0.0]


def test_numbers_as_exponents_are_compiled_in() -> None:
    x = torch.tensor([4.0, INF, -0.0])
    assert (x**0.5).tolist() == [2.0, INF, 0.0]
    assert (x**2).tolist() == [16.0, INF, 0.0]
    assert (x**-1).tolist() == [0.25, 0.0, -INF]
    assert torch.float_power(torch.tensor([2]), -1).dtype is torch.float64


def test_exp2_is_exact_on_integers_and_saturates() -> None:
    whole = torch.arange(-120.0, 128.0)
    assert torch.exp2(whole).tolist() == [2.0**k for k in range(-120, 128)]
    assert torch.exp2(torch.tensor([128.0, -INF, INF, 1e30, -1e30])).tolist() == [
        INF,
        0.0,
        INF,
        INF,
        0.0,
    ]


def test_frexp_splits_and_keeps_what_is_not_finite() -> None:
    x = torch.tensor([0.0, 1.0, -6.0, INF, 1e-30])
    parts = torch.frexp(x)
    assert parts.exponent.dtype is torch.int32
    assert parts.mantissa.tolist()[:4] == [0.0, 0.5, -0.75, INF]
    assert torch.equal(torch.ldexp(parts.mantissa, parts.exponent), x)


def test_logaddexp_keeps_infinities() -> None:
    a, b = torch.tensor([0.0, -INF, INF, 1000.0]), torch.tensor([0.0, -INF, INF, 0.0])
    np.testing.assert_allclose(
        torch.logaddexp(a, b).numpy(), [math.log(2), -INF, INF, 1000.0], rtol=1e-6
    )
    assert torch.logaddexp2(a, b).tolist() == [1.0, -INF, INF, 1000.0]


def test_complex_logaddexp_does_not_wrap_the_angle() -> None:
    found = torch.logaddexp(torch.tensor([5 + 7j]), torch.tensor([-40 + 1j]))
    np.testing.assert_allclose(found.numpy(), [5 + 7j], rtol=1e-6)


def test_xlogy_is_zero_at_zero() -> None:
    x, y = (
        torch.tensor([0.0, 0.0, 0.0, 2.0], requires_grad=True),
        torch.tensor([0.0, -1.0, NAN, 1.0]),
    )
    assert torch.xlogy(x, y).tolist()[:2] == [0.0, 0.0]
    assert math.isnan(torch.xlogy(x, y)[2].item())
    torch.xlogy(x, y)[:2].sum().backward()
    assert x.grad.tolist()[:2] == [0.0, 0.0]


def test_half_precision_rounds_once() -> None:
    x = torch.tensor([10.3, -8.06], dtype=torch.bfloat16)
    expected = [math.exp2(v) for v in x.double().tolist()]
    np.testing.assert_allclose(torch.exp2(x).double().numpy(), expected, rtol=2**-8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_hypot_of_integer_triangles_is_exact(dtype: torch.dtype) -> None:
    a, b = (
        torch.tensor([3, 5, 8, 7, 20, 12], dtype=dtype),
        torch.tensor([4, 12, 15, 24, 21, 35], dtype=dtype),
    )
    assert torch.hypot(a, -b).tolist() == [5, 13, 17, 25, 29, 37]


def test_hypot_leaves_no_range() -> None:
    large, small = torch.finfo(torch.float64).max / 2, 2.0**-1000
    x = torch.tensor([large, 3 * small, -INF, INF, NAN, 0.0], dtype=torch.float64)
    y = torch.tensor([large, 4 * small, NAN, 1.0, 1.0, -0.0], dtype=torch.float64)
    found = torch.hypot(x, y).tolist()
    assert found[0] == pytest.approx(large * math.sqrt(2), rel=1e-15)
    assert found[1:4] == [5 * small, INF, INF] and math.isnan(found[4]) and found[5] == 0
