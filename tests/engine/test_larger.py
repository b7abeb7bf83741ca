"""Compiled programs keep nan in the larger and the smaller of two, whatever they are fused into."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch

F = torch.nn.functional


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.relu(x).sum(),
        lambda x: x.clamp(min=0).mean(),
        lambda x: x.clamp(max=1).sum(1),
        lambda x: torch.maximum(x, 2 * x).sum(0),
        lambda x: torch.minimum(x, x.flip(0)).sum(),
        lambda x: F.max_pool1d(x[None], 4).sum(),
        lambda x: torch.cdist(x, x[:50]),
    ],
    ids=["relu", "min", "max", "maximum", "minimum", "pool", "cdist"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_extrema_keep_nan(function: Callable[[Any], Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((200, 160)), dtype=getattr(torch, dtype))
    x[3, 5] = math.nan
    expected = function(x.clone()).isnan()
    assert expected.any()
    assert torch.equal(jax.jit(function)(x).isnan(), expected)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.bool_, np.float32, jnp.bfloat16])
def test_the_larger_of_two_in_jax(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.integers(0, 9, (7, 5)).astype(dtype) for _ in range(2))
    for jitted, plain in ((jnp.maximum, np.maximum), (jnp.minimum, np.minimum)):
        np.testing.assert_array_equal(jax.jit(jitted)(x, y), plain(x, y))
        np.testing.assert_array_equal(jax.jit(jitted)(x, y[0, 0]), plain(x, y[0, 0]))


def test_complex_numbers_are_ordered_by_their_parts() -> None:
    x = np.array([1 + 2j, 1 - 2j, 3j, -1j], np.complex64)
    y = np.array([1 + 1j, 2 - 9j, 2j, 1 + 0j], np.complex64)
    np.testing.assert_array_equal(
        jax.jit(jax.lax.max)(x, y), np.array([1 + 2j, 2 - 9j, 3j, 1], np.complex64)
    )
    np.testing.assert_array_equal(
        jax.jit(jax.lax.min)(x, y), np.array([1 + 1j, 1 - 2j, 2j, -1j], np.complex64)
    )


def test_gradients_and_batches_of_extrema() -> None:
    x = np.array([[-1.0, 2.0, math.nan], [0.5, -3.0, 4.0]], np.float32)

    def positive(row: jax.Array) -> jax.Array:
        return jnp.maximum(row, 0).sum()

    found = jax.jit(jax.vmap(jax.value_and_grad(positive)))(x)
    np.testing.assert_array_equal(found[0], np.array([math.nan, 4.5], np.float32))
    assert np.asarray(found[1])[1].tolist() == [1.0, 0.0, 1.0]
