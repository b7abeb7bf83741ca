"""NumPy's reductions over windows, and their gradients, agree with XLA's."""

from __future__ import annotations

import random
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16


def whole(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, *shape))
    return rng.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)


def lowest(dtype: Any, sign: int = -1) -> Any:
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).min if sign < 0 else np.iinfo(dtype).max)
    return np.asarray(sign * np.inf).astype(dtype)[()]


def pooled(
    x: Any, window: Any, strides: Any, padding: Any, base: Any = None, dilation: Any = None
) -> Any:
    options = {"base_dilation": base, "window_dilation": dilation}
    return [
        lax.reduce_window(
            x, np.zeros((), x.dtype)[()], lax.add, window, strides, padding, **options
        ),
        lax.reduce_window(x, lowest(x.dtype), lax.max, window, strides, padding, **options),
        lax.reduce_window(x, lowest(x.dtype, 1), lax.min, window, strides, padding, **options),
    ]


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, BFLOAT16, np.int8, np.uint8, np.int32, np.int64]
)
def test_windows(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        return [
            pooled(x, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
            pooled(x, (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))),
            pooled(x, (1, 1, 11, 1), (1, 1, 1, 3), ((0, 0), (0, 0), (10, 0), (0, 0))),
            pooled(
                x,
                (1, 2, 13, 9),
                (1, 1, 2, 1),
                ((0, 0), (1, 0), (12, 2), (4, 4)),
                None,
                (1, 1, 1, 1),
            ),
        ]

    compare(fn, whole(dtype, 2, 3, 11, 12))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BFLOAT16, np.int8, np.int64])
def test_long_windows_side_by_side(dtype: Any) -> None:
    """Longer ones than are added up element by element, with what is left over at the end."""

    def fn(x: Any) -> Any:
        return [
            pooled(x, (1, 12, 9), (1, 12, 9), "VALID"),
            pooled(x, (1, 10, 1), (1, 10, 1), ((0, 0), (3, 4), (0, 0))),
            pooled(x, (1, 10, 1), (1, 10, 1), "VALID", None, (1, 2, 1)),
            pooled(x, (1, 1, 10), (1, 1, 11), "VALID"),
        ]

    compare(fn, whole(dtype, 2, 25, 41))


def test_windows_of_special_numbers() -> None:
    x = np.array(
        [1, np.nan, 3, 2, 2, -np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.nan], np.float32
    )
    compare(lambda x: [pooled(x, (3,), (1,), ((1, 1),)), pooled(x, (9,), (1,), ((8, 0),))], x)


def test_windows_with_another_start() -> None:
    def fn(x: Any, i: Any) -> Any:
        padding = ((1, 2), (0, 1))
        return [
            lax.reduce_window(x, np.float32(1), lax.add, (2, 2), (1, 1), padding),
            lax.reduce_window(x, np.float32(3), lax.max, (2, 2), (1, 1), padding),
            lax.reduce_window(x, np.float32(1), lax.mul, (2, 2), (1, 2), padding),
            lax.reduce_window(i, np.int32(0), lax.bitwise_or, (2, 2), (1, 1), padding),
        ]

    compare(fn, whole(np.float32, 3, 4), whole(np.int32, 3, 4))


@pytest.mark.parametrize("seed", range(4))
def test_any_windows(seed: int) -> None:
    draw = random.Random(seed)
    cases, given = [], []
    while len(cases) < 6:
        rank = draw.randint(1, 3)
        shape = [draw.randint(1, 9) for _ in range(rank)]
        window, strides = (
            [draw.choice([1, 2, 3, 10]) for _ in shape],
            [draw.randint(1, 3) for _ in shape],
        )
        base, dilation = (
            [draw.choice([1, 1, 2]) for _ in shape],
            [draw.choice([1, 1, 2]) for _ in shape],
        )
        padding = [(draw.randint(-1, 9), draw.randint(-1, 9)) for _ in shape]
        sizes = [
            (n - 1) * b + 1 + lo + hi for n, b, (lo, hi) in zip(shape, base, padding, strict=True)
        ]
        if all(n >= (w - 1) * d + 1 for n, w, d in zip(sizes, window, dilation, strict=True)):
            cases.append((window, strides, padding, base, dilation))
            given.append(whole(draw.choice([np.float32, np.int32]), *shape))
    compare(lambda *xs: [pooled(x, *case) for x, case in zip(xs, cases, strict=True)], *given)


def _pool(select: str, window: Any, strides: Any, padding: Any, dilation: Any = None) -> Any:
    largest = select == "max"

    def fn(x: Any) -> Any:
        reduce = lax.max if largest else lax.min
        return lax.reduce_window(
            x,
            lowest(x.dtype, -1 if largest else 1),
            reduce,
            window,
            strides,
            padding,
            window_dilation=dilation,
        )

    return fn


SHAPES = [
    ((1, 2, 2), (1, 2, 2), "VALID", None),
    ((1, 3, 3), (1, 2, 1), ((0, 0), (1, 1), (2, 0)), None),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, BFLOAT16, np.float16])
def test_gradients_of_extremes(dtype: Any) -> None:
    x = (whole(dtype, 2, 6, 7) / np.asarray(4, dtype)).astype(dtype)

    def fn(x: Any, t: Any) -> Any:
        found = []
        for select in ("max", "min"):
            for case in SHAPES:
                pool = _pool(select, *case)
                y, back = jax.vjp(pool, x)
                found += [back(lax.slice(t, (0, 0, 0), y.shape)), jax.jvp(pool, (x,), (t,))[1]]
            found.append(
                jax.jvp(
                    _pool(select, (1, 2, 3), (1, 1, 2), ((0, 0), (1, 0), (0, 1)), (1, 2, 2)),
                    (x,),
                    (t,),
                )[1]
            )
        return found

    compare(fn, x, whole(dtype, 2, 6, 7, seed=1))


def test_gradients_of_special_numbers() -> None:
    inf = np.inf
    x = np.array([1, np.nan, 3, 2, 2, -inf, -inf, -inf, -inf, inf, inf, np.nan, np.nan], np.float32)

    def fn(x: Any, t: Any) -> Any:
        pools = [
            _pool(select, (3,), (stride,), ((pad, pad),))
            for select in ("max", "min")
            for stride in (1, 2)
            for pad in (0, 1, 2)
        ]
        return [
            (
                jax.vjp(pool, x)[1](lax.slice(t, (0,), pool(x).shape)),
                jax.jvp(pool, (x,), (t[: len(x)],))[1],
            )
            for pool in pools
        ]

    compare(fn, x, np.arange(1, 18, dtype=np.float32))
