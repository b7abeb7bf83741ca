"""Functions of many elements where NumPy takes them one by one: in pieces that stay in the cache,
by its vector code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...facts.kinds import Operand


#: From this many elements on it pays, so many at a time.
MANY, AT_A_TIME = 1 << 14, 1 << 14
#: Quotients of float32 numbers below this lie on the right side of each whole number in float64,
#: and their products are exact there.
_SURE = 2.0**28
_FLOAT32, _BITS = np.dtype(np.float32), np.dtype(np.uint32)
_SIGN, _ONE = np.uint32(1 << 31), np.float32(1)


def _flat(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The elements of an operand one after the other; one of no dimensions where it has but one."""
    x = np.asarray(x)
    if x.size == 1:
        return x.reshape(())
    return np.ascontiguousarray(x if x.shape == shape else np.broadcast_to(x, shape)).reshape(-1)


class Extreme:
    """``maximum`` or ``minimum`` of an array and a number: NumPy has vector code for two arrays
    only."""

    __slots__ = ("ufunc",)
    anew = True

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc

    def __call__(self, x: Any, y: Any) -> Any:
        """Computes as the ufunc does."""
        if x.ndim == 0:
            x, y = y, x
        if y.ndim or x.size < MANY or not x.flags.c_contiguous:
            return self.ufunc(x, y)
        found = np.empty(x.shape, x.dtype)
        self.into(x, y, found)
        return found

    def into(self, x: np.ndarray, y: object, found: np.ndarray) -> None:
        """Computes it of an array in row-major order, into another one or itself."""
        whole = x.size // AT_A_TIME * AT_A_TIME
        given, out = x.reshape(-1), found.reshape(-1)
        many = np.full(AT_A_TIME, y, x.dtype)
        self.ufunc(
            given[:whole].reshape(-1, AT_A_TIME), many, out=out[:whole].reshape(-1, AT_A_TIME)
        )
        self.ufunc(given[whole:], many[: x.size - whole], out=out[whole:])


LARGER, SMALLER = Extreme(np.maximum), Extreme(np.minimum)


def clamped(low: Operand, x: np.ndarray, high: Operand) -> Any:
    """``minimum(maximum(x, low), high)``."""
    if low.ndim or high.ndim or x.size < MANY or not x.flags.c_contiguous:
        return np.minimum(np.maximum(x, low), high)
    found = np.empty(x.shape, x.dtype)
    LARGER.into(x, low, found)
    SMALLER.into(found, high, found)
    return found


def _rest(
    x: np.ndarray,
    y: np.ndarray,
    by: Operand,
    out: np.ndarray,
    wide: np.ndarray,
    quotient: np.ndarray,
) -> None:
    """``fmod`` of float32 numbers into ``out``; ``by`` is ``y`` in float64, the last two are
    room."""
    wide[...] = x
    np.divide(wide, by, out=quotient)
    np.trunc(quotient, out=quotient)
    sure = np.less(np.absolute(quotient), _SURE)
    np.multiply(quotient, by, out=quotient)
    np.subtract(wide, quotient, out=wide)
    np.copyto(out, wide, casting="same_kind")
    bits = out.view(_BITS)
    # zeros, too, have the sign of x
    np.bitwise_or(bits, np.bitwise_and(x.view(_BITS), _SIGN), out=bits)
    sure &= np.equal(out, out)  # an infinite divisor makes NaN of a quotient that is zero
    if np.count_nonzero(sure) != sure.size:
        at = np.flatnonzero(~sure)
        out[at] = np.fmod(x[at], y if not y.ndim else y[at])


def fmod(x: Any, y: Any) -> Any:
    """``numpy.fmod``, which calls the C library for each element: as exact."""
    return _in_pieces(x, y, np.fmod, None)


def modulo(x: Any, y: Any) -> Any:
    """``numpy.remainder``: the remainder with the sign of ``y``; zeros have either."""
    return _in_pieces(x, y, np.remainder, _downwards)


def floor_divide(x: Any, y: Any) -> Any:
    """``numpy.floor_divide``."""
    return _in_pieces(x, y, np.floor_divide, _quotient)


def _turned(rest: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where a remainder is not on the side of the divisor."""
    turned = np.not_equal(np.signbit(rest), np.signbit(y))
    turned &= np.not_equal(rest, 0)
    return turned


def _downwards(rest: np.ndarray, _: np.ndarray, y: np.ndarray) -> None:
    turned, bits = np.add(rest, y).view(_BITS), rest.view(_BITS)
    np.bitwise_xor(turned, bits, out=turned)
    np.multiply(turned, _turned(rest, y).view(np.uint8), out=turned)
    np.bitwise_xor(bits, turned, out=bits)


def _quotient(rest: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    turned = _turned(rest, y)
    found = np.divide(np.subtract(x, rest), y)
    np.subtract(found, turned.view(np.uint8), out=found)
    np.floor(found, out=rest)
    np.add(rest, np.greater(np.subtract(found, rest), 0.5).view(np.uint8), out=rest)
    plain = np.not_equal(found, 0)
    plain &= np.not_equal(y, 0)
    if np.count_nonzero(plain) != plain.size:
        at = np.flatnonzero(~plain)
        rest[at] = np.floor_divide(x[at], y if not y.ndim else y[at])


def _in_pieces(x: np.ndarray, y: np.ndarray, few: Callable[..., object], finish: Any) -> object:
    shape = np.broadcast_shapes(x.shape, y.shape)
    if x.dtype != _FLOAT32 or y.dtype != _FLOAT32 or math.prod(shape) < MANY:
        return few(x, y)
    found = np.empty(shape, _FLOAT32)
    a, b, out = _flat(x, shape), _flat(y, shape), found.reshape(-1)
    wide, quotient = np.empty((2, AT_A_TIME))
    by = None if b.ndim else b.astype(np.float64)
    numbers = np.full(0 if a.ndim else AT_A_TIME, a if not a.ndim else 0, _FLOAT32)
    for start in range(0, out.size, AT_A_TIME):
        part = slice(start, start + AT_A_TIME)
        into = out[part]
        n = into.size
        given, other = (a[part] if a.ndim else numbers[:n]), (b[part] if b.ndim else b)
        _rest(given, other, other if by is None else by, into, wide[:n], quotient[:n])
        if finish is not None:
            finish(into, given, other)
    return found


def exp2(x: Operand) -> Any:
    """Two to the power of many float32: ``numpy.exp2``, exact for whole numbers, which that is not
    with every processor."""
    given = np.ascontiguousarray(x).reshape(-1)
    found = np.exp2(given)
    for start in range(0, given.size, AT_A_TIME):
        part = given[start : start + AT_A_TIME]
        whole = np.equal(np.rint(part), part)
        if np.count_nonzero(whole):
            whole &= np.less(np.absolute(part), 2000)
            found[start : start + AT_A_TIME][whole] = np.ldexp(_ONE, part[whole].astype(np.int32))
    return found.reshape(x.shape)


#: So many columns are written at a time, half a line of the cache each of four bytes; and where
#: that pays: lines that are read for a row lie so many bytes apart, of which few have room in the
#: cache if that is a multiple of it, and are so many.
_STRIP, _APART, _FEW_LINES, _MANY_LINES = 8, 1 << 10, 32, 512


def in_order(x: np.ndarray) -> np.ndarray:
    """A copy in row-major order. NumPy, which writes row after row, reads of a large matrix that is
    turned a line of the cache for each element, and has lost it when it comes to the next."""
    last = x.ndim - 1
    if x.size < MANY or last < 1:
        return x.copy()
    step, count = abs(x.strides[last]), x.shape[last]
    if step < _APART or count < (_MANY_LINES if step % _APART else _FEW_LINES):
        return x.copy()
    near = min([abs(x.strides[d]) for d in range(last) if x.shape[d] > _STRIP], default=step)
    if not 0 < near < 64:
        return x.copy()
    found = np.empty(x.shape, x.dtype)
    before = (slice(None),) * last
    for start in range(0, count, _STRIP):
        part = (*before, slice(start, start + _STRIP))
        found[part] = x[part]
    return found
