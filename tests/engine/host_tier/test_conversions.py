"""NumPy converts between dtypes as XLA does."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import Equation, Unstaged, stage
from jtorch._src.engine.host.rules import load
from jtorch._src.engine.intervals import in_range

from .agreement import FLOATS, INTS, compare, edges

EVERY = (*FLOATS, *INTS, np.bool_, np.complex64, np.complex128)


def between(dtype: Any) -> np.ndarray:
    """Numbers around which conversions from a dtype to integers and to narrower floats change."""
    found = edges(dtype, 50)
    if np.dtype(dtype).kind in "iu":
        # Near the middle between two float16 or bfloat16 numbers, where rounding twice is not
        # rounding once.
        halfway = [
            (1 << k) + (1 << k >> n)
            for k in range(8, np.iinfo(dtype).bits - 1)
            for n in (8, 11, 24)
        ]
        steps = [n + s for n in halfway for s in (-1, 0, 1)]
        return np.concatenate([found, np.array(steps).astype(dtype)])
    if dtype not in FLOATS:
        return found
    with np.errstate(over="ignore"):
        powers = np.array(
            [s * 2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64) for s in (-1, 1)]
        ).astype(dtype)
        around = [
            powers,
            np.nextafter(powers, np.zeros_like(powers)),
            np.nextafter(powers, powers + powers),
        ]
        others = [255.5, 256, -0.9, 65504, 65519, 65520]
        others += [
            1 + x
            for x in (2**-8, 2**-8 + 2**-30, 2**-11, 2**-11 + 2**-30, 2**-11 - 2**-40, 3 * 2**-9)
        ]
        # below the normal numbers of float16
        others += [2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 1e-6]
        return np.concatenate([found, *around, np.array(others).astype(dtype)])


@pytest.mark.parametrize("source", EVERY)
def test_casts(source: Any) -> None:
    def cast(x: Any, target: Any) -> Any:
        if x.dtype == np.float64 and target == np.float16:
            # as kernels do it: what XLA does at once depends on the processor
            x = lax.convert_element_type(x, np.float32)
        return lax.convert_element_type(x, target)

    def fn(x: Any, scalar: Any, empty: Any) -> Any:
        return [cast(v, t) for t in EVERY for v in (x, scalar, empty)]

    x = between(source)
    if x.dtype.kind == "c":
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
    compare(fn, x, x[2], x[:0], flushed=True)


def test_casts_of_halves_below_normal_numbers() -> None:
    # Each of them, with float16's subnormal numbers, which XLA keeps.
    every = np.arange(1 << 16, dtype=np.uint16)

    def fn(half: Any, brain: Any) -> Any:
        return [
            half.astype(t) for t in (np.float32, np.float64, ml_dtypes.bfloat16, np.int8)
        ], brain.astype(np.float16)

    brain = every.view(ml_dtypes.bfloat16)
    compare(
        fn, every.view(np.float16), np.where(np.abs(brain) < 1e-37, np.zeros_like(brain), brain)
    )


def test_casts_to_weak_types_are_the_same() -> None:
    compare(
        lambda x: (lax.convert_element_type(x, float), lax.convert_element_type(x, int)),
        np.float32([1.5, -2.5]),
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (np.float32, np.int32),
        (np.float64, np.uint64),
        (ml_dtypes.bfloat16, np.uint16),
        (np.float16, np.int16),
        (np.float32, np.uint8),
        (np.uint32, np.float16),
        (np.int64, np.float32),
        (np.float64, ml_dtypes.bfloat16),
        (np.int32, np.float32),
    ],
)
def test_bits(source: Any, target: Any) -> None:
    """Also between sizes, which makes or takes the last dimension."""
    s, t = np.dtype(source).itemsize, np.dtype(target).itemsize
    n = max(t // s, 1)
    # Patterns that are no NaN in either: those may lose their payload on the way.
    x = np.arange(4 * 3 * n, dtype=np.uint8).repeat(s).reshape(3, 4, n, s)
    x = np.ascontiguousarray(x).view(source)[..., 0]
    x = x if n > 1 else x[..., 0]

    def fn(x: Any, y: Any) -> Any:
        return (
            lax.bitcast_convert_type(x, target),
            lax.bitcast_convert_type(y, target),
            lax.bitcast_convert_type(x, source),
        )

    compare(fn, x, x[1, 1])
    compare(fn, np.asarray(x.swapaxes(0, 1), order="C").swapaxes(0, 1), x[1, 1])
    compare(fn, x[::-1], x[1, 1])


@pytest.mark.parametrize("dtype", FLOATS)
def test_precision(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        return [
            lax.reduce_precision(x, e, m)
            for e, m in (
                (8, 23),
                (5, 10),
                (8, 7),
                (11, 52),
                (4, 3),
                (5, 2),
                (2, 1),
                (8, 0),
                (3, 12),
            )
        ]

    compare(fn, between(dtype), flushed=True)


def test_what_changes_nothing_is_no_step() -> None:
    def fn(x: Any) -> Any:
        x = lax.optimization_barrier((in_range(x, 0, 9), x))[0]
        return lax.stop_gradient(lax.reshape(x, (2, 3))).astype(np.int32)

    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert not stage(jax.make_jaxpr(fn)(x)).steps
    compare(fn, x)


def test_the_platform_is_the_cpu() -> None:
    def fn(x: Any) -> Any:
        return lax.platform_dependent(
            x, cuda=lambda x: x, cpu=lambda x: x + 1, default=lambda x: x - 1
        )

    (index, *_) = [
        e
        for e in jax.make_jaxpr(fn)(np.float32(1)).jaxpr.eqns
        if e.primitive.name == "platform_index"
    ]
    found = load()["platform_index"].make(
        Equation("platform_index", (), tuple(v.aval for v in index.outvars), index.params, None)
    )()
    assert found == index.params["platforms"].index(("cpu",))
    assert found.dtype == index.outvars[0].aval.dtype


FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


@pytest.mark.parametrize("name", FLOAT8)
def test_float8(name: str) -> None:
    dtype = getattr(ml_dtypes, name)
    every = np.arange(256, dtype=np.uint8).view(dtype)
    wide = every.astype(np.float64)
    wide = np.sort(wide[np.isfinite(wide)])
    middle = (wide[1:] + wide[:-1]) / 2
    some = np.concatenate(
        [
            wide,
            middle,
            middle * (1 + 1e-6),
            middle * (1 - 1e-6),
            [np.inf, -np.inf, np.nan, 1e30, -500],
        ]
    )
    targets = (
        np.float32,
        np.float64,
        np.float16,
        ml_dtypes.bfloat16,
        np.int8,
        np.int32,
        np.uint8,
        np.bool_,
    )

    def fn(x: Any, single: Any, brain: Any, half: Any, whole: Any) -> Any:
        return [lax.convert_element_type(x, t) for t in targets], [
            lax.convert_element_type(v, dtype).astype(np.float32)
            for v in (single, brain, half, whole)
        ]

    with np.errstate(all="ignore"):
        operands = [some.astype(t) for t in (np.float32, ml_dtypes.bfloat16, np.float16)]
    compare(fn, every, *operands, np.arange(-600, 600, 7), flushed=True)


def test_float8_is_computed_with_by_the_compiler() -> None:
    x = np.ones(2, ml_dtypes.float8_e5m2)
    for fn in (lambda x: x + x, lambda x: x.astype(ml_dtypes.float8_e4m3fn)):
        with pytest.raises(Unstaged):
            stage(jax.make_jaxpr(fn)(x))
