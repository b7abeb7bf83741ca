"""NumPy's sorts agree with XLA's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jax import lax

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16
DTYPES = (
    np.float32,
    np.float64,
    np.float16,
    BFLOAT16,
    np.bool_,
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.uint64,
)


def mixed(dtype: Any, *shape: int) -> np.ndarray:
    """With ties, and with special numbers of both signs."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(0)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        pool = np.array([info.min, info.max, 0, 1, 2, 100], dtype)
    else:
        pool = np.array(
            [0.0, -0.0, 1, 2, -3, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1)]
        ).astype(dtype)
    return rng.choice(pool, shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorts(dtype: Any) -> None:
    x, y = mixed(dtype, 4, 5, 40), np.arange(800, dtype=np.int32).reshape(4, 5, 40)

    def fn(x: Any, y: Any) -> Any:
        found = [lax.sort(x, dimension=axis) for axis in (0, 1, 2)]
        found += [lax.sort((x, y), dimension=axis) for axis in (0, 2)]
        return [
            *found,
            lax.sort((y % 3, x, y), dimension=2, num_keys=2),
            lax.sort((x, y % 3, y), dimension=1, num_keys=2),
        ]

    compare(fn, x, y)
    compare(fn, np.asfortranarray(x)[:, ::-1], y)


def test_sorts_of_complex_numbers() -> None:
    parts = np.array([0.0, -0.0, 1, -1, np.nan, np.inf], np.float32)
    x = np.empty((36,), np.complex64)
    x.real, x.imag = np.repeat(parts, 6), np.tile(parts, 6)
    x = np.random.default_rng(0).permutation(x)
    compare(
        lambda x, y: [lax.sort(x), lax.sort((x, y)), lax.sort((y % 2, x, y), num_keys=2)],
        x,
        np.arange(36),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_largest(dtype: Any) -> None:
    if np.dtype(dtype).kind == "b":
        return
    x = mixed(dtype, 3, 4, 50)
    compare(
        lambda x: [
            lax.top_k(x, 7),
            lax.top_k(x, 50),
            lax.top_k(x, 3, axis=1),
            lax.top_k(x[0, 0], 1),
            lax.top_k(x, 0),
        ],
        x,
    )
    compare(lambda x: lax.top_k(x, 5), np.asfortranarray(x)[..., ::-2])


def test_sorts_of_little() -> None:
    def fn(x: Any, y: Any) -> Any:
        return [
            lax.sort(x, dimension=0),
            lax.sort((x, x), dimension=1),
            lax.sort(y),
            lax.sort((y, y), dimension=0),
        ]

    compare(fn, np.zeros((0, 3), np.float32), np.ones((1, 3), np.float32))
