"""Smooth activation functions: against their definitions in double precision, far out, and their
hand-written gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F


def phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def softplus(x: float) -> float:
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


DEFINITIONS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "sigmoid": (torch.sigmoid, sigmoid),
    "logsigmoid": (F.logsigmoid, lambda x: -softplus(-x)),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - math.tanh(x)),
    "elu": (lambda x: F.elu(x, 0.5), lambda x: x if x > 0 else 0.5 * math.expm1(x)),
    "celu": (lambda x: F.celu(x, 0.5), lambda x: x if x > 0 else 0.5 * math.expm1(x / 0.5)),
    "selu": (
        torch.selu,
        lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x)),
    ),
    "softplus": (F.softplus, lambda x: x if x > 20 else softplus(x)),
    "softplus beta": (
        lambda x: F.softplus(x, 2, 5),
        lambda x: x if 2 * x > 5 else softplus(2 * x) / 2,
    ),
    "gelu": (F.gelu, lambda x: x * phi(x)),
    "gelu tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (F.silu, lambda x: x * sigmoid(x)),
    "mish": (F.mish, lambda x: x * math.tanh(softplus(x))),
}
POINTS = [-60.0, -7.5, -2.0, -0.5, -1e-3, 1e-3, 0.7, 3.0, 19.0, 25.0, 300.0]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_values_and_slopes(name: str) -> None:
    function, definition = DEFINITIONS[name]
    x = torch.tensor(POINTS, dtype=torch.float64, requires_grad=True)
    result = function(x)
    np.testing.assert_allclose(
        result.detach().numpy(), [definition(p) for p in POINTS], rtol=1e-10, atol=1e-15
    )
    result.sum().backward()
    step = 1e-5
    numeric = [(definition(p + step) - definition(p - step)) / (2 * step) for p in POINTS]
    np.testing.assert_allclose(x.grad.numpy(), numeric, rtol=1e-5, atol=1e-8)


# torch, too, rounds between the steps of tanhshrink.
@pytest.mark.parametrize("name", [n for n in DEFINITIONS if n != "tanhshrink"])
def test_half_precision_rounds_once(name: str) -> None:
    function, definition = DEFINITIONS[name]
    x = torch.tensor([-2.3, -0.6, 0.4, 1.9], dtype=torch.bfloat16)
    found = function(x)
    assert found.dtype is torch.bfloat16
    np.testing.assert_allclose(
        found.double().numpy(), [definition(v) for v in x.double().tolist()], rtol=2**-7, atol=1e-4
    )


@pytest.mark.parametrize("name", ["mish", "gelu", "silu", "softplus", "elu", "sigmoid"])
def test_slopes_far_out_are_finite(name: str) -> None:
    x = torch.tensor([-1e4, -100.0, 100.0, 1e4], requires_grad=True)
    DEFINITIONS[name][0](x).sum().backward()
    upper = 0.0 if name == "sigmoid" else 1.0
    np.testing.assert_allclose(x.grad.numpy(), [0.0, 0.0, upper, upper], atol=1e-30)


def test_glu() -> None:
    x = torch.tensor([[1.0, 2.0, 0.0, math.log(3)]], requires_grad=True)
    np.testing.assert_allclose(F.glu(x).detach().numpy(), [[0.5, 1.5]], rtol=1e-6)
    F.glu(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.5, 0.75, 0.25, 2 * 0.75 * 0.25]], rtol=1e-6)
    with pytest.raises(
        RuntimeError, match="Halving dimension must be even, but dimension 1 is size 3"
    ):
        F.glu(torch.ones(2, 3))
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.glu(torch.ones(2), 3)


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh"):
        F.gelu(torch.ones(1), approximate="erf")
    with pytest.raises(RuntimeError, match="alpha cannot be 0 for CELU"):
        F.celu(torch.ones(1), 0.0)
    with pytest.raises(NotImplementedError, match="\"GeluKernelImpl\" not implemented for 'Long'"):
        F.gelu(torch.ones(1).long())
