"""NumPy lays out values as XLA does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jax import lax

from .agreement import compare

DTYPES = (
    np.float32,
    np.float64,
    np.float16,
    ml_dtypes.bfloat16,
    np.int32,
    np.uint8,
    np.bool_,
    np.complex64,
)


def numbered(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: Any) -> None:
    def fn(x: Any, y: Any, s: Any) -> Any:
        return (
            lax.broadcast_in_dim(x, (4, 2, 3), (1, 2)),
            lax.broadcast_in_dim(s, (2, 3), ()),
            x.reshape(3, 2),
            lax.transpose(x, (1, 0)),
            lax.rev(x, (1,)),
            lax.concatenate([x, y, x], 1),
            lax.pad(x, s, ((1, 2, 1), (0, -1, 2))),
            lax.slice(x, (0, 1), (2, 3)),
            lax.dynamic_slice(x, (1, 5), (1, 2)),
            lax.dynamic_update_slice(x, y[:1, :2], (1, -7)),
            lax.split(x, (1, 2), 1),
            lax.tile_p.bind(x, reps=(2, 3)),
            lax.expand_dims(x, (0, 2)),
            lax.squeeze(x[:1], (0,)),
        )

    x = numbered(2, 3, dtype=dtype)
    compare(fn, x, x[::-1].copy(), x[0, 1])
    # Laid out in other ways.
    compare(fn, numbered(3, 2, dtype=dtype).T, numbered(2, 6, dtype=dtype)[:, ::-2], x[0, 1])


def test_broadcasts() -> None:
    def fn(row: Any, column: Any, scalar: Any, empty: Any) -> Any:
        return (
            lax.broadcast_in_dim(row, (2, 3), (1,)),
            lax.broadcast_in_dim(row, (3, 2), (0,)),
            lax.broadcast_in_dim(row, (1, 3, 1), (1,)),
            lax.broadcast_in_dim(row, (3,), (0,)),
            lax.broadcast_in_dim(row, (100, 3, 100), (1,)),
            lax.broadcast_in_dim(row, (100, 100, 3), (2,)),
            lax.broadcast_in_dim(column, (3, 4), (0, 1)),
            lax.broadcast_in_dim(column, (3, 4, 5), (0, 2)),
            lax.broadcast_in_dim(scalar, (), ()),
            lax.broadcast_in_dim(scalar, (1, 1), ()),
            lax.broadcast_in_dim(scalar, (0, 2), ()),
            lax.broadcast_in_dim(scalar, (200, 200), ()),
            lax.broadcast_in_dim(empty, (2, 0), (1,)),
        )

    compare(fn, numbered(3), numbered(3, 1), np.float32(7), np.zeros(0, np.float32))


def test_reshapes() -> None:
    def fn(x: Any, scalar: Any, empty: Any) -> Any:
        return (
            lax.reshape(x, (6, 4)),
            lax.reshape(x, (24,), (2, 0, 1)),
            lax.reshape(x, (4, 6), (1, 2, 0)),
            lax.reshape(x, (2, 3, 4), (0, 1, 2)),
            lax.reshape(scalar, (1, 1)),
            lax.reshape(x[:1, :1, :1], ()),
            lax.reshape(empty, (3, 0, 7)),
            lax.squeeze(x[:1, :, :1], (0, 2)),
            lax.expand_dims(scalar, (0,)),
            lax.transpose(x, (2, 0, 1)),
            lax.transpose(x, (0, 1, 2)),
            lax.transpose(scalar, ()),
            lax.rev(x, (0, 2)),
            lax.rev(x, ()),
        )

    compare(fn, numbered(2, 3, 4), np.float32(3), np.zeros((0, 2), np.float32))
    compare(fn, numbered(4, 3, 2).T, np.float32(3), np.zeros((0, 2), np.float32))


def test_pads() -> None:
    configs = [
        ((0, 0, 0),), ((1, 2, 0),), ((0, 0, 1),), ((0, 0, 3),), ((2, 1, 2),), ((-1, -2, 0),),
        ((-2, 1, 0),), ((1, -3, 0),), ((-1, -1, 1),), ((-2, 0, 2),), ((-3, -1, 2),), ((3, -8, 1),),
        ((-6, 3, 1),), ((-5, 0, 0),), ((-4, -1, 0),), ((-9, 3, 1),), ((7, -15, 1),),
    ]  # fmt: skip

    def fn(x: Any, value: Any, empty: Any) -> Any:
        flat = [lax.pad(x, value, c) for c in configs]
        none = [
            lax.pad(empty, value, c)
            for c in (((2, 1, 0),), ((2, 1, 3),), ((0, 0, 1),), ((3, -1, 2),))
        ]
        two = lax.pad(x.reshape(1, 5), value, ((1, -1, 0), (2, -3, 1)))
        return flat, none, two

    compare(fn, numbered(5) + 1, np.float32(-9), np.zeros(0, np.float32))


def test_slices() -> None:
    def fn(x: Any, scalar: Any) -> Any:
        return (
            lax.slice(x, (1, 0), (4, 6), (2, 3)),
            lax.slice(x, (0, 0), (5, 6)),
            lax.slice(x, (2, 2), (2, 6)),
            lax.slice(x, (0, 0), (5, 6), (5, 4)),
            lax.slice(scalar, (), ()),
            lax.split(x, (0, 2, 3), 0),
            lax.concatenate([x], 0),
            lax.concatenate([x, x[:, :0], x[:, 1:3]], 1),
            lax.stack_p.bind(x, x, axis=1),
            lax.stack_p.bind(scalar, scalar, scalar, axis=0),
            lax.unstack_p.bind(x, axis=1),
            lax.tile_p.bind(x, reps=(1, 2)),
            lax.tile_p.bind(x, reps=(0, 2)),
        )

    compare(fn, numbered(5, 6), np.float32(3))
    compare(fn, numbered(6, 5).T, np.float32(3))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_slices_that_values_give_stay_inside(dtype: Any) -> None:
    def fn(x: Any, update: Any, i: Any, j: Any) -> Any:
        return (
            lax.dynamic_slice(x, (i, j), (2, 3)),
            lax.dynamic_slice(x, (i, j), (5, 6)),
            lax.dynamic_slice(x, (i, j), (0, 1)),
            lax.dynamic_update_slice(x, update, (i, j)),
            lax.dynamic_update_slice(x, x, (i, j)),
            lax.dynamic_update_slice(x, update[:0], (i, j)),
        )

    info = np.iinfo(dtype)
    for i, j in ((1, 2), (3, 3), (4, 4), (info.max, info.min), (info.min, info.max)):
        compare(fn, numbered(5, 6), -numbered(2, 3) - 1, dtype(i), dtype(j))


@pytest.mark.parametrize(
    "dtype",
    [
        np.float32,
        np.float64,
        np.float16,
        ml_dtypes.bfloat16,
        np.int8,
        np.uint16,
        np.int64,
        np.complex64,
    ],
)
def test_iota(dtype: Any) -> None:
    def fn() -> Any:
        return (
            lax.iota(dtype, 1000),
            lax.broadcasted_iota(dtype, (2, 3, 4), 1),
            lax.broadcasted_iota(dtype, (0, 3), 0),
            lax.iota(dtype, 0),
        )

    compare(fn)
