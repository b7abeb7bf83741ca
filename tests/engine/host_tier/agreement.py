"""Compares what the host tier computes with what XLA computes for the same function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

from jtorch._src.engine.host import stage
from jtorch._src.engine.host.staging import CODE_AFTER

FLOATS = (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def compare(
    fn: Callable[..., Any],
    *operands: Any,
    ulp: Any = 0,
    least: float = 0.0,
    flushed: bool = False,
    names: Any = None,
    pointwise: bool = False,
) -> None:
    """Asserts that NumPy and XLA give the same dtypes, shapes and numbers: equal, or within ``ulp``
    units in the last place.

    NaN equals NaN, and zeros have the same sign.

    Args:
        fn: the function, of arrays; may return several.
        operands: arrays or scalars.
        ulp: how many units in the last place results may differ; one number, or one for each
            result. The parts of complex results: units of the modulus.
        least: those of smaller results are those of this number.
        flushed: that XLA may give zero for numbers too small to be normal: it sets the processor
            so, and NumPy does not.
        names: of the results, for messages.
        pointwise: that every element of the results depends on those at its place in the operands:
            scalars, strided and empty arrays are tried, too, against the same results of XLA.
    """
    arrays = [np.asarray(x) for x in operands]
    found = run(fn, *arrays)
    wanted = [np.asarray(w) for w in jax.tree.leaves(jax.jit(fn)(*arrays))]
    bounds = np.broadcast_to(ulp, len(wanted))

    def check(found: list[Any], wanted: list[np.ndarray]) -> None:
        assert len(found) == len(wanted)
        for i, (g, w) in enumerate(zip(found, wanted, strict=True)):
            equal(np.asarray(g), w, int(bounds[i]), least, flushed, names[i] if names else i)

    check(found, wanted)
    if pointwise:
        for place in (
            slice(None, None, -2),
            slice(0, 0),
            *range(0, arrays[0].shape[0], max(1, arrays[0].shape[0] // 7)),
        ):
            check(run(fn, *[a[place].T for a in arrays]), [w[place].T for w in wanted])


def run(fn: Callable[..., Any], *arrays: Any) -> list[Any]:
    """What NumPy gives for ``fn``: step by step at first, then as generated code, which must be the
    same.

    But for operands laid out in another way than row by row, which small ones never are outside of
    tests: NumPy has other code for them, where steps that are one call have them copied first.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        program = stage(jax.make_jaxpr(fn)(*arrays))
    kept = [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        first, *_, last = [program(*arrays) for _ in range(CODE_AFTER + 2)]
    for a, k in zip(arrays, kept, strict=True):
        assert a.tobytes() == k.tobytes(), "an operand was written into"
    units = 0 if all(a.flags.c_contiguous for a in arrays) else 4
    for x, y in zip(first, last, strict=True):
        equal(np.asarray(x), np.asarray(y), units)
    return last


def equal(
    g: np.ndarray,
    w: np.ndarray,
    ulp: int = 0,
    least: Any = 0.0,
    flushed: bool = False,
    name: Any = "",
) -> None:
    """Asserts that two arrays are the same, NaN and the signs of zeros included."""
    assert g.dtype == w.dtype, (name, g.dtype, w.dtype)
    assert g.shape == w.shape, (name, g.shape, w.shape)
    if g.dtype.kind == "c":
        with np.errstate(all="ignore"):
            size = np.abs(w)
        least = np.where(np.isfinite(size), size, 0) if ulp else 0.0
        equal(g.real, w.real, ulp, least, flushed, f"{name}.real")
        equal(g.imag, w.imag, ulp, least, flushed, f"{name}.imag")
        return
    if g.dtype.kind in "biu":
        np.testing.assert_array_equal(g, w, err_msg=str(name))
        return
    with np.errstate(all="ignore"):
        if flushed:
            # What rounds to the smallest normal number is flushed, too, and so is what comes of a
            # number below it on the way.
            g = np.where(
                (w == 0) & (np.abs(g) <= 4 * ml_dtypes.finfo(g.dtype).smallest_normal),
                np.copysign(np.zeros_like(g), g),
                g,
            )
        both = np.isnan(g) & np.isnan(w)
        off = np.where(both, 0, distance(g, w))
        near = np.abs(g.astype(np.float64) - w.astype(np.float64)) <= ulp * float(
            ml_dtypes.finfo(w.dtype).eps
        ) * np.asarray(least)
        bad = np.asarray(
            (off > ulp) & ~near | (np.isnan(g) ^ np.isnan(w)) | (np.isinf(w) & (off > 0))
        )
        # Zeros of both signs are no distance apart.
        bad |= (g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w))
        if bad.any():
            at = tuple(np.argwhere(bad)[0])
            raise AssertionError(
                f"{name}: {int(bad.sum())} of {bad.size} {w.dtype} differ, first at {at}: "
                f"{g[at]!r}, XLA {w[at]!r}, {off[at]} apart; worst {off[bad].max()}"
            )


def distance(g: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How many numbers of the dtype lie between."""
    bits, whole = np.dtype(f"i{g.dtype.itemsize}"), np.dtype(f"u{g.dtype.itemsize}")
    a, b = (
        np.where(x < 0, np.iinfo(bits).min - x, x)
        for x in (np.array(g, order="C").view(bits), np.array(w, order="C").view(bits))
    )
    return np.where(a > b, a - b, b - a).view(whole).astype(np.uint64)


def edges(dtype: Any, n: int = 0) -> np.ndarray:
    """Numbers of a dtype on which functions are likely to differ; for floats none that is too small
    to be normal."""
    dtype = np.dtype(dtype)
    r = np.random.default_rng(0)
    if dtype == np.bool_:
        return np.array([False, True, True, False])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = [0, 1, 2, 3, 5, 7, 8, 16, 31, 33, 63, 64, 65, 100]
        found += [info.max, info.max - 1, info.max // 2, info.min, info.min + 1, info.min // 2]
        found += [-1, -2, -3, -7] if dtype.kind == "i" else []
        more = r.integers(info.min, info.max, n, dtype, endpoint=True)
        return np.concatenate([np.array(found, dtype), more])
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        few = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan], part)
        found = np.empty((7, 7), dtype)
        found.real, found.imag = few[:, None], few
        more = r.standard_normal((n, 2)) * 3
        return np.concatenate([found.ravel(), (more[:, 0] + 1j * more[:, 1]).astype(dtype)])
    info = ml_dtypes.finfo(dtype)
    most, least, eps = float(info.max), float(info.smallest_normal), float(info.eps)
    found = [0.0, -0.0, np.inf, -np.inf, np.nan, most, -most, least, -least, 2 * least]
    found += [1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2, 3, -3, 0.1, -0.1, -1e-3, np.pi, -np.pi / 2]
    found += [
        1 - eps / 2,
        1 + eps,
        -1 + eps / 2,
        -1 - eps,
        0.5 - eps / 4,
        10,
        -20,
        30,
        88,
        -87,
        100,
        127.5,
        1e4,
    ]
    more = [
        r.standard_normal(n) * 3,
        r.uniform(-1, 1, n),
        np.exp(r.uniform(np.log(least), np.log(most), n)) * r.choice([-1, 1], n),
    ]
    with np.errstate(over="ignore"):
        found = np.concatenate([found, *more]).astype(dtype)
    return found[(np.abs(found) >= least) | (found == 0) | np.isnan(found)]
