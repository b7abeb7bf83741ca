"""Activation functions made of kinks: values and gradients at the kinks, errors, weights per
channel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F


def slopes(function: Callable[[Any], Any], points: list[float]) -> list[float]:
    x = torch.tensor(points, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("function", "points", "expected"),
    [
        (torch.relu, [-1.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
        (F.relu6, [0.0, 3.0, 6.0], [0.0, 1.0, 0.0]),
        (F.hardtanh, [-1.0, 0.5, 1.0], [0.0, 1.0, 0.0]),
        (lambda x: F.leaky_relu(x, 0.25), [-1.0, 0.0, 2.0], [0.25, 0.25, 1.0]),
        (lambda x: F.threshold(x, 0.5, 9.0), [0.25, 0.5, 2.0], [0.0, 0.0, 1.0]),
        (F.hardshrink, [-0.5, 0.5, 0.75], [0.0, 0.0, 1.0]),
        (F.softshrink, [-0.5, 0.5, 0.75], [0.0, 0.0, 1.0]),
        (F.hardsigmoid, [-3.0, 1.5, 3.0], [0.0, 1 / 6, 0.0]),
        (F.hardswish, [-3.0, 0.0, 3.0], [0.0, 0.5, 1.0]),
        (F.elu, [-0.0, 0.0, 2.0], [1.0, 1.0, 1.0]),
    ],
)
def test_slopes_at_kinks(
    function: Callable[[Any], Any], points: list[float], expected: list[float]
) -> None:
    np.testing.assert_allclose(slopes(function, points), expected, rtol=1e-6)


def test_values() -> None:
    x = torch.tensor([-2.0, -0.25, 0.0, 0.75, 8.0])
    assert torch.relu(x).tolist() == [0.0, 0.0, 0.0, 0.75, 8.0]
    assert F.relu6(x).tolist() == [0.0, 0.0, 0.0, 0.75, 6.0]
    assert F.softshrink(x).tolist() == [-1.5, 0.0, 0.0, 0.25, 7.5]
    assert F.hardshrink(x).tolist() == [-2.0, 0.0, 0.0, 0.75, 8.0]
    assert F.threshold(x, 0.5, -1.0).tolist() == [-1.0, -1.0, -1.0, 0.75, 8.0]
    assert F.leaky_relu(x, 0.5).tolist() == [-1.0, -0.125, 0.0, 0.75, 8.0]
    np.testing.assert_allclose(
        F.hardswish(x).numpy(), [-1 / 3, -0.25 * 2.75 / 6, 0.0, 0.75 * 3.75 / 6, 8.0], rtol=1e-6
    )
    assert math.isnan(torch.relu(torch.tensor(math.nan)).item())
    assert torch.relu(torch.tensor([-1, 2])).tolist() == [0, 2]


def test_prelu_has_one_weight_or_one_for_each_channel() -> None:
    x = torch.tensor([[-1.0, -1.0], [2.0, -2.0]], requires_grad=True)
    w = torch.tensor([0.5, 0.25], requires_grad=True)
    result = F.prelu(x, w)
    assert result.tolist() == [[-0.5, -0.25], [2.0, -0.5]]
    result.sum().backward()
    assert w.grad.tolist() == [-1.0, -3.0]
    assert x.grad.tolist() == [[0.5, 0.25], [1.0, 0.25]]
    assert F.prelu(x, w[:1]).tolist() == [[-0.5, -0.5], [2.0, -1.0]]
    with pytest.raises(RuntimeError, match="Found parameter numbers = 2 and channel size = 1"):
        F.prelu(torch.ones(3), w)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: torch.relu(x > 0), RuntimeError, "Boolean inputs not supported for relu"),
        (lambda x: F.hardtanh(x, 1.0, 0.0), ValueError, "min_val cannot be greater than max_val"),
        (lambda x: F.softshrink(x, -1.0), RuntimeError, "lambda must be in range"),
        (
            lambda x: F.leaky_relu(x.long()),
            NotImplementedError,
            "\"leaky_relu_cpu\" not implemented for 'Long'",
        ),
        (
            lambda x: F.hardsigmoid(x.long()),
            NotImplementedError,
            "\"hardsigmoid_cpu\" not implemented for 'Long'",
        ),
        (
            lambda x: torch.rrelu(x, 0.5, 0.1),
            RuntimeError,
            "Lower bound should be less than or equal to the upper bound",
        ),
    ],
)
def test_errors(call: Callable[[Any], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(torch.ones(2))


def test_sums_that_are_cut_off_below_zero() -> None:
    import jtorch._VF as functions

    a, b = torch.tensor([-3.0, 2.0]), torch.ones(2)
    assert torch._add_relu(a, b).tolist() == [0.0, 3.0] and functions._add_relu(
        a, b, alpha=2
    ).tolist() == [0.0, 4.0]
    out = torch.empty(2)
    assert torch._add_relu(a, b, out=out) is out and out.tolist() == [0.0, 3.0]
    assert torch._add_relu_(a, b) is a and a.tolist() == [0.0, 3.0]
    assert functions.add is torch.add
    with pytest.raises(AttributeError, match="has no attribute 'none'"):
        functions.none
