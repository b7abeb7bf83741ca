"""Functions of many elements, in pieces: the same numbers as of few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import many

from .agreement import compare

SPECIAL = np.array(
    [
        0,
        -0.0,
        1,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        3e38,
        -3e38,
        1e-38,
        0.1,
        7,
        -7,
        2**28,
        2**29 + 64,
        0.5,
        3,
    ],
    np.float32,
)


def operands() -> tuple[np.ndarray, np.ndarray]:
    """Each special number by each, quotients of all sizes, and those just below whole numbers."""
    draw, n = np.random.default_rng(0), 20_000
    x, y = [
        (10.0 ** draw.uniform(-40, 38, n)).astype(np.float32)
        * draw.choice(np.array([-1, 1], np.float32), n)
        for _ in range(2)
    ]
    with np.errstate(all="ignore"):
        near = np.nextafter((y * draw.integers(1, 1 << 24, n)).astype(np.float32), np.float32(0))
    k = len(SPECIAL)
    return np.concatenate([np.repeat(SPECIAL, k), x, near]), np.concatenate(
        [np.tile(SPECIAL, k), y, y]
    )


def bits(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), np.float32(np.nan), x).view(np.uint32)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [(many.fmod, np.fmod), (many.modulo, np.remainder), (many.floor_divide, np.floor_divide)],
)
def test_quotients_and_remainders_are_exact(
    found: Callable[..., Any], wanted: Callable[..., Any]
) -> None:
    x, y = operands()
    signless = found is many.modulo  # the sign of zeros is put right elsewhere
    with np.errstate(all="ignore"):
        for a, b in [
            (x, y),
            *[(x, s.reshape(())) for s in SPECIAL],
            *[(s.reshape(()), y) for s in SPECIAL[::3]],
        ]:
            one, other = found(a, b), wanted(a, b)
            assert one.dtype == np.float32
            np.testing.assert_array_equal(
                bits(one + 0 if signless else one), bits(other + 0 if signless else other)
            )
        table = x[:30_000].reshape(300, 100)
        np.testing.assert_array_equal(
            bits(found(table, table[:, :1])), bits(found(table, np.repeat(table[:, :1], 100, 1)))
        )


def test_remainders_are_xlas() -> None:
    x, y = operands()
    normal = (np.abs(x) > 1e-37) & (np.abs(y) > 1e-37)
    compare(lax.rem, x[normal], y[normal], flushed=True)


def test_powers_of_two_are_near_and_whole_ones_exact() -> None:
    whole = np.repeat(np.arange(-160, 140), 70).astype(np.float32)
    assert whole.size > many.MANY
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            many.exp2(whole), np.ldexp(np.float32(1), whole.astype(np.int32))
        )
        x = np.random.default_rng(0).uniform(-120, 120, (200, 100)).astype(np.float32)
        np.testing.assert_array_max_ulp(
            many.exp2(x), np.exp2(x.astype(np.float64)).astype(np.float32), 4
        )
        np.testing.assert_array_equal(
            many.exp2(np.resize(np.array([np.inf, -np.inf, np.nan], np.float32), 20_000))[:3],
            [np.inf, 0, np.nan],
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(20_011,), (200, 100), (3, 128, 128)])
def test_extremes_of_arrays_and_numbers(dtype: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    x.reshape(-1)[::37] = np.nan
    before = x.copy()
    for number in (0.25, -np.inf, np.nan):
        s = np.array(number, dtype)
        for found, wanted in ((many.LARGER, np.maximum), (many.SMALLER, np.minimum)):
            np.testing.assert_array_equal(found(x, s), wanted(x, s))
            np.testing.assert_array_equal(found(s, x), wanted(s, x))
            np.testing.assert_array_equal(found(x, x[..., :1]), wanted(x, x[..., :1]))
        np.testing.assert_array_equal(found(x.T, s), wanted(x.T, s))
    low, high = np.array(-0.5, dtype), np.array(1, dtype)
    np.testing.assert_array_equal(many.clamped(low, x, high), np.minimum(np.maximum(x, low), high))
    np.testing.assert_array_equal(
        many.clamped(x - 1, x, high), np.minimum(np.maximum(x, x - 1), high)
    )
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex128])
def test_copies_in_order(dtype: Any) -> None:
    x = np.arange(1024 * 1024).reshape(1024, 1024) % 251
    x = x.astype(dtype)
    laid = [
        x.T, x.T[::-1], x[:, ::-1].T, x[:1000, :999].T, x[::2, ::3].T,
        x.reshape(16, 64, 32, 32).transpose(0, 2, 3, 1), x[:, :3].T,
        x.reshape(32, 32, 32, 32).transpose(3, 1, 0, 2), np.broadcast_to(x[:1].T, (1024, 512)),
        np.broadcast_to(x[:, :1].T, (64, 1024)),
    ]  # fmt: skip
    for y in laid:
        found = many.in_order(y)
        assert found.flags.c_contiguous
        assert found.base is None
        np.testing.assert_array_equal(found, y)
