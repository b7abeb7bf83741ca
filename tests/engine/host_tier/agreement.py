"""Compares what the host tier computes with what XLA computes for the same function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jtorch.engine.host import stage


def compare(fn: Callable[..., Any], *operands: Any, ulp: int = 0) -> None:
    """Asserts that NumPy and XLA give the same dtypes, shapes and numbers: equal, or within ``ulp`` units in the last place.

    NaN equals NaN, and zeros have the same sign.
    """
    arrays = [np.asarray(x) for x in operands]
    closed = jax.make_jaxpr(fn)(*arrays)
    kept = [a.copy() for a in arrays]
    program = stage(closed)
    with np.errstate(all="ignore"):
        # Twice step by step, and once as generated code.
        found = [program(*arrays), *(program(*arrays) for _ in range(6))]
    wanted = jax.tree.leaves(jax.jit(fn)(*arrays))
    for a, k in zip(arrays, kept, strict=True):
        assert a.tobytes() == k.tobytes(), "an operand was written into"
    for got in (found[0], found[-1]):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            equal(np.asarray(g), np.asarray(w), ulp)


def equal(g: np.ndarray, w: np.ndarray, ulp: int = 0) -> None:
    """Asserts that two arrays are the same, NaN and the signs of zeros included."""
    assert g.dtype == w.dtype, (g.dtype, w.dtype)
    assert g.shape == w.shape, (g.shape, w.shape)
    if g.dtype.kind == "c":
        equal(g.real, w.real, ulp)
        equal(g.imag, w.imag, ulp)
        return
    if g.dtype.kind in "biu":
        np.testing.assert_array_equal(g, w)
        return
    nan = np.isnan(w)
    np.testing.assert_array_equal(np.isnan(g), nan)
    g, w = g[~nan], w[~nan]
    if not ulp:
        np.testing.assert_array_equal(g.astype(np.float64), w.astype(np.float64))
    else:
        finite = np.isfinite(g) & np.isfinite(w)
        np.testing.assert_array_equal(g[~finite].astype(np.float64), w[~finite].astype(np.float64))
        g, w = g[finite], w[finite]
        unit = np.abs(np.nextafter(w, np.asarray(np.inf, w.dtype)) - w) if w.dtype.itemsize > 1 else np.zeros_like(w)
        assert (np.abs(g.astype(np.float64) - w.astype(np.float64)) <= ulp * unit.astype(np.float64)).all(), (g, w)
    zero = (w == 0) & (g == 0)
    np.testing.assert_array_equal(np.signbit(g[zero]), np.signbit(w[zero]))
