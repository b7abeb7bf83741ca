"""Between dtypes: casts, bits, precision."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import ml_dtypes
import numpy as np

from .rules import Compute, Equation, rule, same

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FLOATS = (np.dtype(np.float16), _BFLOAT16, np.dtype(np.float32), np.dtype(np.float64))
_BOOL = np.dtype(np.bool_)


def _cast(source: Any, target: Any) -> Compute | None:
    """What converts one dtype to another; None where it is left to XLA."""
    if source == target:
        return same
    if source.kind == "c" and target.kind != "c":
        part = _cast(np.dtype(f"f{source.itemsize // 2}"), target)
        return None if part is None else lambda x: part(x.real)
    known = all(t in _FLOATS or t.kind in "biuc" for t in (source, target))
    if not known:
        return None
    if source in _FLOATS and target.kind in "iu":
        return _saturating(source, target)
    return methodcaller("astype", target)


def _saturating(source: Any, target: Any) -> Compute:
    """Floats to integers as XLA converts them: towards zero, to the nearest that there is, and NaN to 0."""
    info = np.iinfo(target)
    wide = source if source.itemsize >= 4 else np.dtype(np.float32)
    # The largest float that is not above the integers, and the first that is.
    above = wide.type(info.max) if wide.type(info.max) > info.max else np.nextafter(wide.type(info.max), wide.type(np.inf))
    # What lies between -1 and 0 becomes 0.
    low = wide.type(info.min) if info.min else wide.type(-1)
    high, least, most = above, target.type(info.min), target.type(info.max)
    zero = target.type(0)

    def compute(x: Any) -> Any:
        if source is not wide:
            x = x.astype(wide)
        found = x.astype(target)
        inside = np.logical_and(np.greater(x, low), np.less(x, high))
        if inside.all():
            return found
        found = np.where(inside, found, np.where(np.less(x, zero), least, most))
        return np.where(np.isnan(x), zero, found)

    return compute


@rule("convert_element_type")
def _convert(e: Equation) -> Compute | None:
    return _cast(e.ins[0].dtype, e.out.dtype)


@rule("bitcast_convert_type")
def _bitcast(e: Equation) -> Compute | None:
    x, out = e.ins[0], e.out
    if x.dtype == out.dtype:
        return same
    target, size = out.dtype, x.dtype.itemsize
    if target.itemsize == size:
        return methodcaller("view", target)
    shape = out.shape
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(target).reshape(shape)


@rule("reduce_precision", weight=6)
def _reduce_precision(e: Equation) -> Compute | None:
    dtype, exponent, mantissa = e.out.dtype, e.params["exponent_bits"], e.params["mantissa_bits"]
    if dtype not in _FLOATS:
        return None
    own = ml_dtypes.finfo(dtype)
    if (exponent, mantissa) == (own.nexp, own.nmant):
        return same
    for narrow in _FLOATS[:3]:
        info = ml_dtypes.finfo(narrow)
        if (exponent, mantissa) == (info.nexp, info.nmant) and narrow.itemsize < dtype.itemsize:
            return None
    return None


@rule("in_range", "optimization_barrier")
def _unchanged(_: Equation) -> Compute | None:
    return same


@rule("platform_index")
def _platform_index(e: Equation) -> Compute | None:
    for i, platforms in enumerate(e.params["platforms"]):
        if platforms is None or "cpu" in platforms:
            found = np.int32(i)
            return lambda: found
    return None
