"""Calls of functions with a formulation of their own on the host: derivatives, batches, other
dtypes, nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch


@pytest.mark.parametrize(
    "f", [torch.sin, torch.tan, torch.asin, torch.special.entr, torch.special.log_ndtr]
)
def test_derivatives_and_batches(f: Callable[..., Any]) -> None:
    x = torch.tensor([[0.1, 0.5], [0.9, 0.3]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, (x,))
    assert torch.autograd.gradgradcheck(f, (x,))
    plain = x.detach()
    assert torch.allclose(torch.func.vmap(f, in_dims=1, out_dims=1)(plain), f(plain))
    _, tangent = torch.func.jvp(f, (plain,), (torch.ones_like(plain),))
    (gradient,) = torch.autograd.grad(f(x).sum(), x)
    assert torch.allclose(tangent, gradient)
    y = torch.linspace(0.1, 0.9, 3, dtype=torch.float64)
    with_one = torch.func.vmap(lambda a: torch.atan2(a, y), in_dims=0)(
        torch.eye(3, dtype=torch.float64)
    )
    assert torch.allclose(with_one, torch.atan2(torch.eye(3, dtype=torch.float64), y))


def test_other_dtypes_take_the_formula() -> None:
    assert torch.sin(torch.tensor([1.0], dtype=torch.bfloat16)).item() == pytest.approx(
        0.8415, abs=4e-3
    )
    assert torch.atan(torch.tensor([1.0], dtype=torch.float16)).item() == pytest.approx(
        0.7854, abs=1e-3
    )
    assert torch.sin(torch.tensor(3)).item() == pytest.approx(np.sin(3.0), rel=1e-6)


def test_empty_ones_are_left_to_the_formula() -> None:
    assert torch.argmax(torch.ones(0, 3), dim=1).shape == (0,)
    assert torch.argsort(torch.ones(0, 3), dim=0).shape == (0, 3)
    assert torch.sin(torch.ones(0)).shape == (0,)


def test_incomplete_gamma_functions_of_ordinary_numbers() -> None:
    a, x = torch.tensor([0.5, 2.0]), torch.tensor([1.0, 2.0])
    for _ in range(8):
        assert torch.igamma(a, x).tolist() == pytest.approx([0.8427008, 0.5939942], rel=1e-5)
        assert torch.igammac(a, torch.tensor([0.0, float("inf")])).tolist() == [1.0, 0.0]
