"""Rounding, divisors, steps, neighbours, and replacement of what is not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch


def test_halves_go_to_even_and_decimals_scale() -> None:
    assert torch.round(torch.tensor([0.5, 1.5, -2.5, 2.4])).tolist() == [0.0, 2.0, -2.0, 2.0]
    np.testing.assert_allclose(
        torch.round(torch.tensor([1234.567, -2.345]), decimals=1).numpy(), [1234.6, -2.3], rtol=1e-6
    )
    assert torch.round(torch.tensor([1250.0, 149.0]), decimals=-2).tolist() == [1200.0, 100.0]


def test_integers_pass_through() -> None:
    i = torch.tensor([1, -2])
    for function in (torch.ceil, torch.floor, torch.trunc, torch.round):
        assert function(i).dtype is torch.int64
        with pytest.raises(NotImplementedError):
            function(i > 0)
    with pytest.raises(NotImplementedError, match="\"frac_cpu\" not implemented for 'Long'"):
        torch.frac(i)


def test_gradients_of_steps_are_zero_and_of_frac_one() -> None:
    for function, slope in (
        (torch.floor, 0.0),
        (torch.round, 0.0),
        (torch.sign, 0.0),
        (torch.frac, 1.0),
    ):
        x = torch.tensor([1.5, -0.25], requires_grad=True)
        function(x).sum().backward()
        assert x.grad.tolist() == [slope, slope]


def test_divisors_are_never_negative() -> None:
    a, b = torch.tensor([0, -4, 6, 12]), torch.tensor([0, 6, -4, 18])
    assert torch.gcd(a, b).tolist() == [0, 2, 2, 6]
    assert torch.lcm(a, b).tolist() == [0, 12, 12, 36]


def test_heaviside() -> None:
    x = torch.tensor([-1.0, 0.0, 2.0, math.nan])
    assert torch.heaviside(x, torch.tensor(0.5)).tolist() == [0.0, 0.5, 1.0, 0.0]
    with pytest.raises(RuntimeError, match="different dtypes"):
        torch.heaviside(x, x.double())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nextafter_steps_by_one_place(dtype: torch.dtype) -> None:
    eps = torch.finfo(dtype).eps
    x = torch.tensor([1.0, 1.0, -1.0, 0.0, 2.0], dtype=dtype)
    y = torch.tensor([2.0, 0.0, -2.0, 0.0, 2.0], dtype=dtype)
    assert torch.nextafter(x, y).tolist() == [1 + eps, 1 - eps / 2, -1 - eps, 0.0, 2.0]


def test_nan_to_num() -> None:
    x = torch.tensor([math.nan, math.inf, -math.inf, 1.0], requires_grad=True)
    assert torch.nan_to_num(x, 7.0, 8.0, 9.0).tolist() == [7.0, 8.0, 9.0, 1.0]
    largest = torch.finfo(torch.float32).max
    result = torch.nan_to_num(x)
    assert result.tolist() == [0.0, largest, -largest, 1.0]
    result.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0, 1.0]
