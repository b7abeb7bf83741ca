"""NumPy's convolutions agree with XLA's."""

from __future__ import annotations

import random
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import convolutions, stage

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16


def whole(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers, so that sums are exact in any order; few are zero, so that no sum is -0.0."""
    rng = np.random.default_rng((seed, *shape))
    found = rng.integers(1, 4, shape)
    return (
        found.astype(dtype)
        if np.dtype(dtype).kind == "u"
        else (found * rng.choice([-1, 1], shape)).astype(dtype)
    )


def conv(x: Any, w: Any, strides: Any = (1, 1), padding: Any = "VALID", **options: Any) -> Any:
    return lax.conv_general_dilated(x, w, strides, padding, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16, np.int8, np.int32])
def test_common_convolutions(dtype: Any) -> None:
    x, w = whole(dtype, 2, 4, 7, 8), whole(dtype, 6, 4, 3, 3)

    def fn(x: Any, w: Any, wide: Any) -> Any:
        found = [
            conv(x, w),
            conv(x, w, (2, 2), ((1, 1), (1, 1))),
            conv(x, w[:, :, :1, :1]),
            conv(x, w[:, :, :1, :1], (2, 2)),
        ]
        found += [
            conv(x, w[:, :2], feature_group_count=2),
            conv(x, w[:4, :1], padding="SAME", feature_group_count=4),
        ]
        found += [
            conv(x, wide[:, :1], padding="SAME", feature_group_count=4),
            conv(x, w, padding="SAME", rhs_dilation=(2, 1)),
        ]
        return [
            *found,
            conv(x, w, padding=((2, 2), (1, 2)), lhs_dilation=(2, 3)),
            conv(x, w, padding=((-1, 3), (2, -2))),
        ]

    compare(fn, x, w, whole(dtype, 8, 1, 3, 3))


def test_gradients_of_convolutions() -> None:
    x, w, line = (
        whole(np.float32, 2, 4, 6, 7),
        whole(np.float32, 8, 4, 3, 2),
        whole(np.float32, 2, 4, 9),
    )

    def fn(x: Any, w: Any, line: Any) -> Any:
        found = []
        for options in (
            {},
            {"strides": (2, 2), "padding": ((1, 1), (0, 1))},
            {"rhs_dilation": (1, 2), "padding": "SAME"},
            {"feature_group_count": 2},
            {"feature_group_count": 4, "strides": (2, 1)},
        ):
            kernel = w[:, : 4 // options.get("feature_group_count", 1)]
            y, back = jax.vjp(lambda x, w, o=options: conv(x, w, **o), x, kernel)
            found += [y, back(y)]
        y, back = jax.vjp(lambda x, w: conv(x, w, (2,), ((2, 1),)), line, w[:, :, :, 0])
        return [*found, y, back(y)]

    compare(fn, x, w, line)


def test_half_precision_sums_in_float32() -> None:
    for dtype in (BFLOAT16, np.float16):
        compare(conv, np.ones((1, 300, 3, 3), dtype), np.ones((2, 300, 3, 3), dtype))


def test_other_results() -> None:
    x, w = whole(BFLOAT16, 1, 2, 4, 4), whole(BFLOAT16, 3, 2, 2, 2)

    def fn(x: Any, w: Any, i: Any, v: Any) -> Any:
        return [
            conv(x, w, preferred_element_type=np.float32),
            conv(i, v, preferred_element_type=np.int32),
        ]

    compare(fn, x, w, x.astype(np.int8), w.astype(np.int8))


def test_special_numbers() -> None:
    x = np.array([0, 1, np.nan, 2, np.inf, 0, 0, 0, -np.inf, 3, 3, 3], np.float32).reshape(1, 1, 12)
    compare(
        lambda x, w: [conv(x, w, (1,)), conv(x, w, (1,), ((1, 1),))],
        x,
        np.array([[[1, 0]], [[2, -3]]], np.float32),
    )


def test_large_convolutions_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = whole(np.float32, 3, 4, 9, 8), whole(np.float32, 4, 2, 3, 3)
    wanted = jax.jit(lambda x, w: conv(x, w, (2, 1), "SAME", feature_group_count=2))(x, w)
    for limit in (1 << 26, 2000, 4000, 9000, 1):
        monkeypatch.setattr(convolutions, "_COLUMNS", limit)
        program = stage(
            jax.make_jaxpr(lambda x, w: conv(x, w, (2, 1), "SAME", feature_group_count=2))(x, w)
        )
        np.testing.assert_array_equal(program(x, w)[0], wanted)


@pytest.mark.parametrize("seed", range(6))
def test_any_dimension_numbers(seed: int) -> None:
    draw = random.Random(seed)
    cases, given = [], []
    while len(cases) < 6:
        n = draw.choice([1, 2, 2, 3])
        groups, split = draw.choice([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (1, 3)])
        batch, features, outs = (
            split * draw.randint(1, 2),
            draw.randint(1, 3),
            groups * split * draw.randint(1, 2),
        )
        size, kernel = (
            [draw.randint(1, 6) for _ in range(n)],
            [draw.randint(1, 3) for _ in range(n)],
        )
        strides, dilation, holes = ([draw.choice([1, 1, 2, 3]) for _ in range(n)] for _ in range(3))
        padding = [(draw.randint(-1, 3), draw.randint(-1, 3)) for _ in range(n)]
        padded = [
            (s - 1) * d + 1 + lo + hi
            for s, d, (lo, hi) in zip(size, dilation, padding, strict=True)
        ]
        if any(p < (k - 1) * h + 1 for p, k, h in zip(padded, kernel, holes, strict=True)):
            continue
        specs = [draw.sample(range(n + 2), n + 2) for _ in range(3)]
        numbers = lax.ConvDimensionNumbers(*[tuple(s) for s in specs])
        cases.append((strides, padding, dilation, holes, numbers, groups, split))
        dtype = draw.choice([np.float32, np.float32, np.float64, BFLOAT16])
        for shape, spec in (
            ((batch, features * groups, *size), specs[0]),
            ((outs, features, *kernel), specs[1]),
        ):
            x = whole(dtype, *shape)
            given.append(
                np.ascontiguousarray(x.transpose(np.argsort(spec)))
                if draw.random() < 0.7
                else x.transpose(np.argsort(spec))
            )

    def fn(*xs: Any) -> Any:
        return [
            lax.conv_general_dilated(
                xs[2 * i],
                xs[2 * i + 1],
                strides,
                padding,
                dilation,
                holes,
                numbers,
                feature_group_count=groups,
                batch_group_count=split,
            )
            + xs[2 * i].dtype.type(0)
            for i, (strides, padding, dilation, holes, numbers, groups, split) in enumerate(cases)
        ]

    compare(fn, *given)


def test_windows_of_small_kernels_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    made, columns = [], convolutions._columns
    monkeypatch.setattr(convolutions, "_columns", lambda f: made.append(f.columns) or columns(f))
    for features, kernel in ((8, 3), (8, 40)):
        x, w = (
            np.ones((40, features, 42, 42), np.float32),
            np.ones((16, features, kernel, kernel), np.float32),
        )
        program = stage(
            jax.make_jaxpr(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"))(x, w)
        )
        if kernel == 3:
            (found,) = program(x, w)
            np.testing.assert_array_equal(found, np.full((40, 16, 40, 40), 72, np.float32))
    *parts, whole = made
    assert max(parts) <= 1 << 23 < 40 * 8 * 9 * 40 * 40 * 4
    # gradients of weights have kernels of this size: as they were
    assert whole == 40 * 8 * 40 * 40 * 9 * 4
