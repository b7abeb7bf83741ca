"""The larger and smaller of two, clamping, choosing: NaN, ties, edges and errors."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch

NAN = math.nan


def test_ties_share_the_gradient_of_maximum_and_go_first_in_fmax() -> None:
    for function, expected in (
        (torch.maximum, ([0.5, 1.0, 0.0], [0.5, 0.0, 1.0])),
        (torch.fmax, ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])),
    ):
        a = torch.tensor([1.0, 2.0, 0.0], requires_grad=True)
        b = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)
        function(a, b).sum().backward()
        assert (a.grad.tolist(), b.grad.tolist()) == expected


def test_nan_wins_in_maximum_and_loses_in_fmax() -> None:
    a, b = torch.tensor([NAN, 1.0]), torch.tensor([2.0, NAN])
    assert all(math.isnan(v) for v in torch.maximum(a, b).tolist())
    assert torch.fmax(a, b).tolist() == [2.0, 1.0]
    assert torch.fmin(a, b).tolist() == [2.0, 1.0]


def test_clamp() -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 2.0, NAN], requires_grad=True)
    result = x.clamp(0, 1)
    assert result.tolist()[:4] == [0.0, 1.0, 0.0, 1.0]
    assert math.isnan(result[4].item())
    result.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert torch.clamp(torch.tensor([1, 5]), max=2.5).tolist() == [1.0, 2.5]
    assert torch.clamp(torch.tensor([0.5]), 2, 1).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        torch.clamp(x)


def test_bounds_get_the_gradient_of_what_they_replace() -> None:
    x = torch.tensor([0.0, 2.0, 5.0])
    low, high = (
        torch.tensor([1.0, 1.0, 1.0], requires_grad=True),
        torch.tensor([3.0, 3.0, 3.0], requires_grad=True),
    )
    x.clamp(low, high).sum().backward()
    assert low.grad.tolist() == [1.0, 0.0, 0.0]
    assert high.grad.tolist() == [0.0, 0.0, 1.0]


def test_where_promotes_its_choices_only() -> None:
    c = torch.tensor([True, False])
    assert torch.where(c, 1.0, 0).dtype is torch.float32
    assert torch.where(c, torch.tensor([1, 2]), 0.5).tolist() == [1.0, 0.5]
    assert torch.where(c, torch.tensor([1, 2], dtype=torch.int8), 3).dtype is torch.int8
    assert (
        torch.where(c, torch.tensor(1.0, dtype=torch.float64), torch.tensor([0.0, 2.0])).dtype
        is torch.float32
    )
    assert torch.where(c[:, None], torch.zeros(3), torch.ones(1)).tolist() == [[0.0] * 3, [1.0] * 3]
    assert torch.zeros(2).where(c, torch.ones(2)).tolist() == [0.0, 1.0]
    with pytest.raises(
        RuntimeError,
        match="where expected condition to be a boolean tensor, but got a tensor with dtype Float",
    ):
        torch.where(torch.ones(2), torch.ones(2), 0.0)


def test_where_keeps_gradients_apart() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x, 0.0).sqrt().sum().backward()
    assert x.grad.tolist()[1] == 0.25


F = torch.nn.functional


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.amax(x, 1),
        lambda x: torch.amin(x, 0),
        torch.max,
        lambda x: torch.min(x, 1).values,
        lambda x: torch.aminmax(x, dim=1).max,
        lambda x: torch.linalg.vector_norm(x, math.inf, dim=1),
        lambda x: torch.linalg.vector_norm(x, -math.inf),
        lambda x: torch.linalg.matrix_norm(x, math.inf),
        lambda x: F.max_pool1d(x[None], 150)[0],
        lambda x: F.max_pool1d(x[None], 60, stride=7, padding=3)[0],
        lambda x: F.max_pool2d(x[None, None], (200, 300)),
        lambda x: F.max_pool2d(x[None, None], 40),
        lambda x: F.adaptive_max_pool2d(x[None, None], (4, 1)),
        lambda x: F.adaptive_max_pool1d(x[None], 2, return_indices=True)[0],
    ],
    ids=range(14),
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_compiled_extrema_of_many_numbers_keep_nan(function: Any, dtype: str) -> None:
    """XLA's own reduction loses it from some thousand numbers on."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((200, 300)), dtype=getattr(torch, dtype))
    x[5, 7] = x[199, 299] = math.nan
    expected = function(x.clone()).isnan()
    found = jax.jit(function)(x).isnan()
    assert expected.any()
    assert torch.equal(found, expected)


def test_wide_windows_find_the_first_of_equals_and_the_last_nan() -> None:
    x = torch.zeros(1, 2, 80)
    x[0, 0, 3] = x[0, 0, 39] = 2.0
    x[0, 0, 50] = x[0, 0, 60] = math.nan
    x[0, 1] = -math.inf
    found, places = F.adaptive_max_pool1d(x, 2, return_indices=True)
    assert places.tolist() == [[[3, 60], [0, 40]]]
    assert found[0, 0, 0].item() == 2.0
    assert found[0, 0, 1].isnan().item()
    assert found[0, 1].tolist() == [-math.inf, -math.inf]
