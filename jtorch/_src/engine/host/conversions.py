"""Between dtypes: casts, bits, precision.

As XLA does it, but that XLA gives zero where a float becomes one too small to be normal in float32
or bfloat16. Left to XLA: casts from one float8 to another, float4 and int4.
"""

from __future__ import annotations

from math import isfinite
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from .direct import count_nonzero, where
from .rules import Compute, Equation, by_elements, is_whole, rule, same

if TYPE_CHECKING:
    from ...facts.kinds import Operand


_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FLOATS = (np.dtype(np.float16), _BFLOAT16, np.dtype(np.float32), np.dtype(np.float64))
_FLOAT8 = tuple(
    [np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes) if name.startswith("float8_")]
)


def _cast(source: np.dtype, target: np.dtype) -> Compute | None:
    """What converts one dtype to another; None where it is left to XLA."""
    if source == target:
        return same
    if source.kind == "c" and target.kind != "c":
        part = _cast(np.dtype(f"f{source.itemsize // 2}"), target)
        return None if part is None else lambda x: part(x.real)
    if not all(t in _FLOATS or t in _FLOAT8 or t.kind in "biuc" for t in (source, target)):
        return None
    if source in _FLOAT8 and target in _FLOAT8:
        return None
    if target.kind in "iu" and (source in _FLOATS or source in _FLOAT8):
        return Saturating(source, target)
    if (source, target) == (np.float64, np.float16):
        # rounded twice, as by XLA (and PyTorch)
        return lambda x: x.astype(np.float32).astype(target)
    return methodcaller("astype", target)


class Saturating:
    """Floats to integers as XLA converts them: towards zero, to the nearest that there is, and NaN
    to 0."""

    __slots__ = ("high", "least", "low", "most", "target", "wide")

    def __init__(self, source: Any, target: Any) -> None:
        info = np.iinfo(target)
        self.wide, self.target = source if source.itemsize >= 4 else np.dtype(np.float32), target
        # What lies between -1 and 0 becomes 0 without a sign, too; the first number beyond the
        # others is a power of two, and so exact.
        self.low, self.high = (
            self.wide.type(info.min or -1),
            self.wide.type(info.max // 2 + 1) * self.wide.type(2),
        )
        self.least, self.most = target.type(info.min), target.type(info.max)

    def __call__(self, x: Operand) -> np.ndarray:
        """Converts."""
        if x.dtype != self.wide:
            x = x.astype(self.wide)
        # Nearly always all are inside.
        inside = (
            np.less(np.absolute(x), self.high)
            if self.least
            else np.logical_and(np.greater(x, self.low), np.less(x, self.high))
        )
        if count_nonzero(inside) == x.size:
            return x.astype(self.target)
        found = where(
            inside,
            x.astype(self.target),
            where(np.less(x, self.wide.type(0)), self.least, self.most),
        )
        return where(np.isnan(x), self.target.type(0), found)


def _scalar(source: np.dtype, target: np.dtype) -> Compute | None:
    """What converts one number, where Python's numbers are a shorter way."""
    make = target.type
    if target.kind in "iu" and source in _FLOATS:
        info = np.iinfo(target)
        least, most = int(info.min), int(info.max)

        def compute(x: Operand) -> Operand:
            x = float(x)
            if not isfinite(x):
                return make(0 if x != x else most if x > 0 else least)
            return make(min(max(int(x), least), most))

        return compute
    if (
        source.kind in "iub"
        and (target in (np.float32, np.float64) or target.kind in "iu")
        and np.can_cast(source, target)
    ):
        return lambda x: make(int(x))
    return None


def _streams(e: Equation) -> bool:
    return is_whole(e) and (e.out.dtype.kind not in "iu" or e.ins[0].dtype.kind in "biu")


_plain, _halves, _whole = by_elements(0), by_elements(3), by_elements(1)


def _cost(e: Equation) -> float:
    source, target = e.ins[0].dtype, e.out.dtype
    if np.float16 in (source, target):
        return _halves(e)
    # between whole and other numbers: NumPy has no vector code for it, and tells apart what is
    # beyond the range
    return (_whole if (source.kind in "iu") != (target.kind in "iu") else _plain)(e)


@rule("convert_element_type", cost=_cost, streams=_streams)
def _convert(e: Equation) -> Compute | None:
    source, target = e.ins[0].dtype, e.out.dtype
    return (_scalar(source, target) if not e.out.shape else None) or _cast(source, target)


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
    if exponent >= own.nexp and mantissa >= own.nmant:
        return same
    if (dtype, exponent, mantissa) == (np.float32, 8, 7):
        return lambda x: x.astype(_BFLOAT16).astype(dtype)
    return _rounded_bits(dtype, own.nmant - mantissa, own.nexp - exponent)


def _rounded_bits(dtype: np.dtype, fewer: int, narrower: int) -> Compute:
    """What rounds off ``fewer`` bits of the mantissa, to even, and makes infinite or zero what an
    exponent with ``narrower`` bits less cannot tell.

    In integers: as XLA does it.
    """
    bits, info = np.dtype(f"u{dtype.itemsize}"), ml_dtypes.finfo(dtype)
    sign, infinite = (
        bits.type(1 << (8 * dtype.itemsize - 1)),
        bits.type(((1 << info.nexp) - 1) << info.nmant),
    )
    middle = (1 << (info.nexp - 1)) - 1
    reach = (1 << (info.nexp - narrower - 1)) - 1 if narrower > 0 else 0
    greatest, least = (
        bits.type(min(middle + reach, 2 * middle + 1) << info.nmant),
        bits.type(max(middle - reach, 0) << info.nmant),
    )
    last = bits.type(1 << max(fewer, 0))
    half, kept = (
        bits.type((1 << max(fewer - 1, 0)) - 1),
        bits.type((1 << (8 * dtype.itemsize)) - int(last)),
    )
    shift = bits.type(max(fewer, 0))

    def compute(x: np.ndarray) -> Operand:
        given = x.view(bits)
        found = given
        if fewer > 0:
            odd = np.right_shift(np.bitwise_and(found, last), shift)
            found = np.bitwise_and(np.add(found, np.add(odd, half)), kept)
        if narrower > 0:
            power, zero = np.bitwise_and(found, infinite), np.bitwise_and(found, sign)
            found = where(np.greater(power, greatest), np.bitwise_or(zero, infinite), found)
            found = where(np.less_equal(power, least), zero, found)
        return where(np.isnan(x), given, found).view(dtype)

    return compute


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
