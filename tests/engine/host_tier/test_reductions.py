"""NumPy's reductions agree with XLA's."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import reductions, stage

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16
FLOATS = (np.float32, np.float64, np.float16, BFLOAT16)
INTS = (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64)


def numbers(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    """Whole numbers whose sums are exact, or all bits of integers."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.7
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    found = rng.integers(-4, 5, shape).astype(np.float32)
    return (
        (found + 1j * rng.integers(-4, 5, shape)).astype(dtype)
        if dtype.kind == "c"
        else found.astype(dtype)
    )


def special(dtype: Any) -> np.ndarray:
    """Each pair of special numbers as a column. XLA leaves it open which of 0.0 and -0.0 is the
    larger."""
    values = np.array([0.0, 1, -1, np.nan, np.inf, -np.inf]).astype(dtype)
    return np.stack([np.repeat(values, 6), np.tile(values, 6)])


def over(x: np.ndarray, reduce: Any) -> list[Any]:
    return [
        reduce(x, (0,)),
        reduce(x, (1,)),
        reduce(x, (0, 2)),
        reduce(x, (0, 1, 2)),
        reduce(x, ()),
        reduce(x[:, :1], (1,)),
    ]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, np.complex64, np.complex128])
def test_sums_and_products(dtype: Any) -> None:
    x = numbers(dtype, 3, 5, 4)
    units = np.array([1, -1, 1j, -1j] if np.dtype(dtype).kind == "c" else [1, -1, 2])
    y = (
        x
        if np.dtype(dtype).kind in "iu"
        else np.random.default_rng(0).choice(units, x.shape).astype(dtype)
    )
    compare(lambda x: over(x, lax.reduce_sum), x)
    compare(lambda x: over(x, lax.reduce_sum), np.asfortranarray(x)[::-1, :, ::2])
    compare(lambda x: over(x, lax.reduce_prod), y)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, np.bool_])
def test_extremes(dtype: Any) -> None:
    x = numbers(dtype, 3, 5, 4)

    def both(x: Any) -> Any:
        return [
            over(x, lax.reduce_max),
            over(x, lax.reduce_min),
        ]

    compare(both, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_special_numbers(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        found = []
        for y in (x, x[::-1]):
            found += [lax.reduce_max(y, (0,)), lax.reduce_min(y, (0,))]
            found += [lax.cummax(y, 0), lax.cummin(y, 0), lax.cummax(y, 0, reverse=True)]
            found += [lax.argmax(y, 0, np.int32), lax.argmin(y, 0, np.int64)]
            found += [lax.reduce_sum(y, (0,)), lax.cumsum(y, 0)]
        return found

    compare(fn, special(dtype))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.int64])
def test_logical_reductions(dtype: Any) -> None:
    compare(
        lambda x: [over(x, reduce) for reduce in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)],
        numbers(dtype, 3, 5, 4),
    )


def test_reductions_of_nothing() -> None:
    empty = np.zeros((0, 3), np.float32)

    def fn(x: Any, i: Any) -> Any:
        found = [lax.reduce_sum(x, (0,)), lax.reduce_prod(x, (0,))]
        for y in (x, i):
            found += [lax.reduce_max(y, (0,)), lax.reduce_min(y, (0,))]
        found += [reduce(i, (0,)) for reduce in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)]
        return [*found, lax.cumsum(x, 0), lax.cummax(x, 0), lax.reduce_sum(x, (1,))]

    compare(fn, empty, empty.astype(np.int16))


@pytest.mark.parametrize("axis", [0, 1])
def test_long_sums_are_as_precise_as_those_of_xla(axis: int) -> None:
    x = np.random.default_rng(0).random((300_000, 3), np.float32)
    if axis:
        x = x.T
    exact = x.astype(np.float64).sum(axis)
    for given in (x, np.ascontiguousarray(x)):
        (found,) = stage(jax.make_jaxpr(lambda x: lax.reduce_sum(x, (axis,)))(x))(given)
        assert np.abs(found / exact - 1).max() < 5e-7
        (found,) = stage(jax.make_jaxpr(lambda x: lax.cumsum(x, axis))(x))(given)
        assert np.abs(found / x.astype(np.float64).cumsum(axis) - 1).max() < 5e-7


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((64, 64), (1,)),
        ((600, 8), (1,)),
        ((200, 203), (0, 1)),
        ((30, 20, 6, 5), (2, 3)),
        ((30, 20, 6, 5), (0, 2, 3)),
        ((3, 4096), (1,)),
        ((3, 50257), (1,)),
        ((1200, 4, 1024), (0, 2)),
        ((2, 3, 2053), (2,)),
        ((4, 1031), (1,)),
    ],
)
def test_large_sums_are_as_precise_wherever_they_are_computed(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    x = np.random.default_rng(0).random(shape, np.float32)
    program = stage(jax.make_jaxpr(lambda x: lax.reduce_sum(x, axes))(x))
    for given in (x, np.asfortranarray(x), x[::-1]):
        (found,) = program(given)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, given.astype(np.float64).sum(axes), rtol=5e-7)
    x.flat[7], x.flat[-1] = np.inf, np.nan
    (found,) = program(x)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(x.sum(axes)))


def test_large_sums_are_products_with_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(reductions, "dot", lambda x, y: asked.append(x.shape) or np.dot(x, y))
    for shape, axes in (
        ((64, 64), (1,)),
        ((200, 203), (0, 1)),
        ((30, 20, 6, 5), (0, 2, 3)),
        ((4, 8), (1,)),
    ):
        x = np.zeros(shape, np.float32)
        stage(jax.make_jaxpr(lambda x: lax.reduce_sum(x, axes))(x))(x)  # noqa: B023
    assert asked == [(64, 64), (39, 1024), (600, 30)]


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_sums_of_negative_zeros(dtype: Any) -> None:
    x = np.full((3, 2, 1), -0.0, dtype)
    compare(lambda x: [lax.reduce_sum(x, (0,)), lax.reduce_sum(x, (2,)), lax.cumsum(x, 0)], x)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_adds_in_float32(dtype: Any) -> None:
    compare(
        lambda x: [lax.reduce_sum(x, (0,)), lax.reduce_sum(x, (0, 1)), lax.cumsum(x, 0)[-1]],
        np.ones((2000, 2), dtype),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, BFLOAT16, np.complex64])
def test_running_sums_and_products(dtype: Any) -> None:
    x = numbers(dtype, 4, 5, seed=1)
    sign = np.where(x < 0, -1, 1).astype(dtype) if np.dtype(dtype).kind not in "iuc" else x
    fns = [(lax.cumsum, axis, back) for axis in (0, 1) for back in (False, True)]
    compare(lambda x: [f(x, axis=axis, reverse=back) for f, axis, back in fns], x)
    compare(lambda x: [lax.cumprod(x, axis=1, reverse=back) for back in (False, True)], sign)


@pytest.mark.parametrize("dtype", [np.bool_, *FLOATS, *INTS])
def test_places_and_running_extremes(dtype: Any) -> None:
    x = np.concatenate([numbers(dtype, 4, 5), numbers(dtype, 4, 5)], 1)  # with ties

    def fn(x: Any) -> Any:
        found = [
            f(x, axis, index)
            for f in (lax.argmax, lax.argmin)
            for axis in (0, 1)
            for index in (np.int32, np.int64)
        ]
        if x.dtype != bool:
            found += [
                f(x, axis, reverse=back)
                for f in (lax.cummax, lax.cummin)
                for axis in (0, 1)
                for back in (False, True)
            ]
        return found

    compare(fn, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_running_log_sum_exp(dtype: Any) -> None:
    x = np.array(
        [[0.5, -np.inf, -np.inf, np.inf], [1, -np.inf, 2, 0], [-700, -np.inf, np.nan, -np.inf]],
        dtype,
    )
    compare(lambda x: [lax.cumlogsumexp(x, 0), lax.cumlogsumexp(x, 0, reverse=True)], x, ulp=4)


def test_reduce_with_a_computation() -> None:
    def fn(x: Any, i: Any) -> Any:
        return [
            lax.reduce(x, np.float32(2), lambda a, b: b + a, (0,)),
            lax.reduce(x, np.float32(2), lax.mul, (0, 1)),
            lax.reduce(x, np.float32(0), lax.max, (1,)),
            lax.reduce(i, np.int32(5), lax.bitwise_xor, (1,)),
        ]

    compare(fn, numbers(np.float32, 3, 4), numbers(np.int32, 3, 4))
