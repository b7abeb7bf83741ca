"""Which dtypes rules are written for, and in which they compute."""

from __future__ import annotations

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT32 = np.dtype(np.float32)
HALVES = frozenset((BFLOAT16, np.dtype(np.float16)))
_ORDINARY = frozenset("biufc")


def kind(dtype: np.dtype) -> str:
    """One of "b", "i", "u", "f" (32 and 64 bits), "c"; "h" for float16 and bfloat16; "" for what
    NumPy only stores (float8, int4)."""
    dtype = np.dtype(dtype)
    if dtype in HALVES:
        return "h"
    # 2 marks the dtypes of other packages; a copy of an ordinary dtype, as they come out of what
    # was kept in a file, has 0.
    return dtype.kind if dtype.kind in _ORDINARY and dtype.isbuiltin != 2 else ""


def identity(name: str, dtype: np.dtype) -> np.generic:
    """What the reduction ``name`` of no elements gives, as a scalar of ``dtype``."""
    dtype = np.dtype(dtype)
    if name in ("max", "min"):
        sign = -1 if name == "max" else 1
        if dtype.kind == "b":
            return np.bool_(name == "min")
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return dtype.type(info.min if sign < 0 else info.max)
        return dtype.type(sign * np.inf)
    if name in ("prod", "mul"):
        return dtype.type(1)
    if name == "and":
        return dtype.type(1) if dtype.kind == "b" else np.invert(dtype.type(0))
    return dtype.type(0)
