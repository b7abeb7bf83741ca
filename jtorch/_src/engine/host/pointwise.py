"""Element by element: arithmetic, comparisons, transcendental functions, complex numbers,
selection.

Results are those of XLA, or within 4 units in the last place for transcendental functions (2 of
NumPy's and 2 of XLA's), but for these:

- Numbers too small to be normal: XLA takes them for zero and gives zero for them, in float32,
  float64 and bfloat16; NumPy (as PyTorch) computes with them.
- Which zero the larger or the smaller of 0.0 and -0.0 is: XLA orders them, NumPy (as PyTorch) takes
  either.
- ``exp2``, ``sinh``, ``cosh``, and in float64 ``log1p`` and ``atanh`` near -0.4 and 0.4, and
  ``log`` of complex numbers near the unit circle: XLA's are off by up to some hundred units,
  NumPy's are not. In half precision ``exp2`` is off as in XLA, by a third at its largest.

Left to XLA: float8 and int4; of complex numbers ``pow``, ``rsqrt``, ``exp2``, ``log1p``, ``expm1``,
``logistic``, ``max``, ``min``, ``clamp``, the trigonometric and hyperbolic functions and their
inverses, which differ on infinities, NaN and the sides of branch cuts.
"""

from __future__ import annotations

import functools
import operator
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from . import many
from .direct import Chosen, count_nonzero, where
from .rules import (
    Compute,
    Equation,
    Fixed,
    Formula,
    Reordered,
    by_elements,
    chain,
    is_whole,
    rule,
    same,
)

if TYPE_CHECKING:
    from ...facts.kinds import Function, Operand


_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_HALVES = (np.dtype(np.float16), _BFLOAT16)
_REALS = (*_HALVES, np.dtype(np.float32), np.dtype(np.float64))
_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
_INTS = tuple(np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8))
_BOOL = np.dtype(np.bool_)
_NUMBERS = (*_INTS, *_REALS, *_COMPLEX)
_ORDERED = (_BOOL, *_INTS, *_REALS)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_EXTREMES = {"max": many.LARGER, "min": many.SMALLER}


#: Operators of Python that are ten times as fast as ufuncs where both operands are NumPy's scalars,
#: and the same otherwise.
_OPERATORS: dict[str, Compute] = {
    "add": operator.add,
    "add_any": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def _ufuncs(
    table: dict[str, np.ufunc],
    dtypes: tuple[np.dtype, ...],
    ns: float = 0.0,
    half: float = 1.5,
    kept: bool = False,
) -> None:
    """Declares primitives that are ufuncs of NumPy for these dtypes, and left to XLA for others.
    ``kept``: that XLA's code takes longer than NumPy's vector code."""

    @rule(
        *table,
        cost=by_elements(ns, half),
        broadcasts=True,
        streams=None if kept else is_whole,
        kept=is_whole if kept else False,
    )
    def _(e: Equation) -> Compute | None:
        if e.ins[0].dtype not in dtypes:
            return _of_complex(e)
        if e.params.get("out_dtype") not in (None, e.out.dtype):
            return None
        if e.name in _OPERATORS and not e.out.shape and e.ins[0].dtype != _BFLOAT16:
            return _OPERATORS[e.name]
        if e.name in ("max", "min") and not e.out.shape and e.out.dtype in _INTS:
            return max if e.name == "max" else min
        if e.name in _EXTREMES and e.out.size >= many.MANY and e.out.dtype in _FLOATS:
            return _EXTREMES[e.name]
        if ns and e.out.dtype == np.float32 and e.out.size <= _FEW:
            return rounded_once(table[e.name])
        return table[e.name]


#: Up to how many elements a function of single precision is computed in double precision: it costs
#: half a microsecond more.
_FEW = 256


@functools.cache
def rounded_once(function: Any) -> Compute:
    """A ufunc in double precision, rounded at the end: within half a unit of the last place, where
    NumPy's may be three off."""
    wide, narrow = np.dtype(np.float64), np.dtype(np.float32)
    # converted here in two thirds of the time that the ufunc takes with a buffer
    if function.nin == 1:
        return chain(
            (methodcaller("astype", wide), wide),
            (function, wide),
            (methodcaller("astype", narrow), narrow),
        )
    return lambda *operands: function(*operands, dtype=wide).astype(narrow)


_ufuncs(
    {"add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply}, (*_NUMBERS, _BOOL)
)
_ufuncs({"neg": np.negative}, _NUMBERS)
_ufuncs({"eq": np.equal, "ne": np.not_equal}, (*_ORDERED, *_COMPLEX))
_ufuncs({"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}, _ORDERED)
_ufuncs(
    {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not},
    (*_INTS, _BOOL),
)
_ufuncs({"max": np.maximum, "min": np.minimum}, _ORDERED)
_ufuncs({"shift_left": np.left_shift}, _INTS)
_ufuncs({"floor": np.floor, "ceil": np.ceil, "is_finite": np.isfinite, "sqrt": np.sqrt}, _REALS)
_ufuncs({"exp": np.exp, "log": np.log, "tanh": np.tanh}, _REALS, ns=0.3, half=12)
_ufuncs(
    {
        "log1p": np.log1p,
        "expm1": np.expm1,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "atan2": np.arctan2,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "cbrt": np.cbrt,
    },
    _REALS,
    ns=1,
    half=12,
    kept=True,
)


def _one(e: Equation) -> Operand:
    return e.out.dtype.type(1)


def _of_complex(e: Equation) -> Compute | None:
    """What computes a primitive of complex numbers, where it is not a ufunc; most are left to
    XLA."""
    return _OF_COMPLEX.get(e.name) if e.ins[0].dtype in _COMPLEX else None


def _is_float(dtype: np.dtype) -> bool:
    return dtype in _REALS


# ---- integers ------------------------------------------------------------------------------------


def _of_ints(dtype: np.dtype, compute: Function) -> Compute:
    """What computes integers without dimensions by Python's, and wraps them."""
    make, info = dtype.type, np.iinfo(dtype)
    least, count = int(info.min), 1 << info.bits
    return lambda x, y: make((compute(int(x), int(y)) - least) % count + least)


def _quotient(x: int, y: int) -> int:
    if y == 0:
        return -1
    return x // y if (x < 0) == (y < 0) else -(-x // y)


def _remainder(x: int, y: int) -> int:
    return x - y * _quotient(x, y) if y else x


def _all(x: np.ndarray) -> bool:
    return count_nonzero(x) == x.size


def _truncated(x: np.ndarray, y: np.ndarray) -> object:
    # Without its remainder x is a multiple of y, so the floor of the quotient is the quotient.
    found = np.floor_divide(np.subtract(x, np.fmod(x, y)), y)
    # by zero it is 0 in NumPy and -1 in XLA
    return found if _all(y) else np.subtract(found, np.equal(y, 0))


def _truncated_unsigned(x: np.ndarray, y: np.ndarray) -> object:
    found = np.floor_divide(x, y)
    return found if _all(y) else np.subtract(found, np.equal(y, 0))


_whole_quotients, _quotients = by_elements(5, 6, 5), by_elements(0.1, 2)


def _cost_of_div(e: Equation) -> float:
    return (_whole_quotients if e.out.dtype.kind in "iu" else _quotients)(e)


@rule("div", cost=_cost_of_div, broadcasts=True, streams=lambda e: e.out.dtype in _FLOATS)
def _div(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype.kind in "iu" and not e.out.shape:
        return _of_ints(dtype, _quotient)
    if dtype.kind == "i":
        return _truncated
    if dtype.kind == "u":
        return _truncated_unsigned
    return np.divide if _is_float(dtype) else _of_complex(e)


def _rest(x: np.ndarray, y: np.ndarray) -> object:
    found = np.fmod(x, y)
    return found if _all(y) else where(np.equal(y, 0), x, found)


@rule("rem", cost=by_elements(3, 6, 3), broadcasts=True, kept=lambda e: e.out.dtype == np.float32)
def _rem(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype.kind in "iu":
        return _rest if e.out.shape else _of_ints(dtype, _remainder)
    if dtype == np.float32 and e.out.size >= many.MANY:
        return many.fmod
    return np.fmod if _is_float(dtype) else None


@rule("mulhi", cost=by_elements(1, 1, 4), broadcasts=True)
def _mulhi(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype not in _INTS or dtype.itemsize == 8:
        return None
    wide, width = np.dtype(f"{dtype.kind}8"), 8 * dtype.itemsize
    amount = wide.type(width)
    return lambda x, y: np.right_shift(np.multiply(x.astype(wide), y.astype(wide)), amount).astype(
        dtype
    )


def _unsigned(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"u{dtype.itemsize}")


@rule("shift_right_logical", "shift_right_arithmetic", broadcasts=True)
def _shift_right(e: Equation) -> Compute | None:
    # Amounts that are negative or beyond the width give 0, or all bits the sign, in both.
    dtype = e.out.dtype
    if dtype not in _INTS:
        return None
    bits = np.dtype(f"{'u' if e.name == 'shift_right_logical' else 'i'}{dtype.itemsize}")
    return (
        np.right_shift
        if bits == dtype
        else lambda x, n: np.right_shift(x.view(bits), n.view(bits)).view(dtype)
    )


@rule("population_count", broadcasts=True)
def _population_count(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype not in _INTS:
        return None
    bits = _unsigned(dtype)
    return lambda x: np.bitwise_count(x.view(bits)).astype(dtype)


@rule("clz", cost=by_elements(8, 8, 16), broadcasts=True)
def _clz(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype not in _INTS:
        return None
    bits, width = _unsigned(dtype), 8 * dtype.itemsize
    shifts = [bits.type(1 << k) for k in range(width.bit_length() - 1)]
    all_bits = np.uint8(width)

    def compute(x: np.ndarray) -> Operand:
        x = x.view(bits)
        for n in shifts:  # every bit below the highest becomes 1
            x = np.bitwise_or(x, np.right_shift(x, n))
        return np.subtract(all_bits, np.bitwise_count(x)).astype(dtype)

    return compute


# ---- signs, rounding, powers ---------------------------------------------------------------------


@rule("sign", cost=by_elements(0.8, 2, 2), broadcasts=True)
def _sign(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype.kind in "iu":
        return np.sign
    if not _is_float(dtype):
        return _of_complex(e)
    # NumPy's of -0.0 is 0.0
    return Formula(1, (np.sign, dtype, (0,)), (np.copysign, dtype, (1, 0)))


@rule("abs", broadcasts=True, streams=is_whole)
def _abs(e: Equation) -> Compute | None:
    dtype = e.ins[0].dtype
    return np.absolute if dtype in _INTS or dtype in _COMPLEX or _is_float(dtype) else None


@rule("round", cost=by_elements(0.7, 12, 3), broadcasts=True)
def _round(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if not _is_float(dtype):
        return None
    if int(e.params["rounding_method"]) == 1:
        return np.rint
    # With the number below a half no other than halves and what is above them reaches the next
    # integer.
    below = np.nextafter(dtype.type(0.5), dtype.type(0))
    return lambda x: np.trunc(np.add(x, np.copysign(below, x)))


@rule("nextafter", cost=by_elements(12), broadcasts=True)
def _nextafter(e: Equation) -> Compute | None:
    # where equal NumPy's is the first operand in this dtype only: another zero
    if e.out.dtype == np.float16:
        return lambda x, y: where(np.equal(x, y), y, np.nextafter(x, y))
    return np.nextafter if _is_float(e.out.dtype) else None


@rule("square", broadcasts=True, streams=is_whole)
def _square(e: Equation) -> Compute | None:
    return np.square if e.out.dtype in _NUMBERS else None


@rule(
    "integer_pow",
    cost=by_elements(0, 6, 3),
    broadcasts=True,
    streams=lambda e: is_whole(e) and e.params["y"] in (2, 3),
)
def _integer_pow(e: Equation) -> Compute | None:
    dtype, y = e.out.dtype, e.params["y"]
    if dtype not in _NUMBERS:
        return None
    one = _one(e)
    divide = _complex_quotient if dtype in _COMPLEX else np.divide
    if y == 0:
        shape = e.out.shape
        return lambda _: np.full(shape, one, dtype)
    if y == 1:
        return same
    if y == 2:
        return np.square
    inverse = np.reciprocal if _is_float(dtype) else lambda x: divide(one, x)
    if y == -1:
        return inverse
    # The same products in the same order as XLA's.
    parts: list[Any] = []
    found, square, n = -1, 0, abs(y)
    while True:
        if n & 1:
            if found >= 0:
                parts.append((np.multiply, dtype, (found, square)))
            found = square if found < 0 else len(parts)
        n >>= 1
        if not n:
            break
        parts.append((np.multiply, dtype, (square, square)))
        square = len(parts)
    if y < 0:
        parts.append((inverse, dtype, (found,)))
    return Formula(1, *parts)


_powers, _double_powers = by_elements(1.5, 12), by_elements(15)


def _cost_of_pow(e: Equation) -> float:
    return (_double_powers if e.out.dtype == np.float64 else _powers)(e)


@rule("pow", cost=_cost_of_pow, broadcasts=True, kept=is_whole)
def _pow(e: Equation) -> Compute | None:
    dtype, power = e.out.dtype, e.ins[1].dtype
    if not _is_float(dtype):
        return None
    return np.power if power == dtype else lambda x, y: np.power(x, y.astype(dtype))


@rule("rsqrt", cost=by_elements(0.4, 6, 2), broadcasts=True)
def _rsqrt(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    return chain((np.sqrt, dtype), (np.reciprocal, dtype)) if _is_float(dtype) else None


@rule("exp2", cost=by_elements(1, 12, 2), broadcasts=True)
def _exp2(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    if dtype in _HALVES:
        # The product is rounded before it is raised, which in these dtypes is far from the power.
        log2 = dtype.type(np.log(2))
        return lambda x: np.exp(np.multiply(log2, x))
    return np.exp2 if _is_float(dtype) else None


@rule("logistic", cost=by_elements(0.8, 12, 4), broadcasts=True)
def _logistic(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    one = np.array(1, dtype) if e.out.shape else dtype.type(1)
    return (
        chain(
            (np.negative, dtype),
            (np.exp, dtype),
            (Fixed(np.add, (one,)), dtype),
            (np.reciprocal, dtype),
        )
        if _is_float(dtype)
        else None
    )


# ---- complex numbers -----------------------------------------------------------------------------
# Infinities with NaN, zeros with signs and poles are as in XLA, which is not as in NumPy (nor in
# PyTorch, whose kernels say what they want of them): so these are computed from their parts.


def _complex_of(re: np.ndarray, im: np.ndarray, dtype: np.dtype) -> np.ndarray:
    found = np.empty(re.shape, dtype)
    found.real = re
    found.imag = im
    return found


def _modulus(x: np.ndarray) -> Any:
    found = np.absolute(x)
    if _all(np.isfinite(found)):
        return found
    # that of inf+nanj is inf, of which XLA's functions know nothing
    return where(np.isnan(x), found.dtype.type(np.nan), found)


def _complex_sign(x: np.ndarray) -> object:
    size = _modulus(x)
    return where(np.equal(size, 0), x, _complex_of(x.real / size, x.imag / size, x.dtype))


def _complex_exp(x: np.ndarray) -> np.generic | np.ndarray:
    found = np.exp(x)
    # the imaginary part of XLA's is 0.0 where that of x is zero
    if _all(np.isfinite(found)) and _all(x.imag):
        return found
    size, angle = np.exp(x.real), x.imag
    return _complex_of(
        size * np.cos(angle),
        where(np.equal(angle, 0), angle.dtype.type(0), size * np.sin(angle)),
        x.dtype,
    )


def _complex_log(x: np.ndarray) -> np.generic | np.ndarray:
    found = np.log(x)
    if _all(np.isfinite(found)):
        return found
    return _complex_of(np.log(_modulus(x)), np.arctan2(x.imag, x.real), x.dtype)


def _complex_sqrt(x: np.ndarray) -> object:
    re, im = x.real, x.imag
    t = np.sqrt((np.absolute(re) + _modulus(x)) / 2)
    other = where(np.equal(t, 0), t, np.absolute(im) / (t + t))
    right, endless = (
        np.greater_equal(re, 0),
        np.logical_and(np.isinf(im), np.logical_not(np.isnan(re))),
    )
    along, across = where(right, t, other), where(right, other, t)
    across = where(np.less(im, 0), -across, across)
    return _complex_of(where(endless, np.absolute(im), along), where(endless, im, across), x.dtype)


def _complex_quotient(x: np.ndarray, y: np.ndarray) -> np.generic | np.ndarray:
    found = np.divide(x, y)
    if _all(np.isfinite(found)):
        return found
    # As in annex G of C: quotients by zero, of infinities and by infinities that NumPy makes NaN.
    a, b, c, d = x.real, x.imag, y.real, y.imag
    zero, endless = a.dtype.type(0), a.dtype.type(np.inf)

    def unit(v: Operand) -> Operand:
        return np.copysign(np.isinf(v).astype(v.dtype), v)

    lost = np.isnan(found.real) & np.isnan(found.imag)
    pole = (c == 0) & (d == 0) & ~(np.isnan(a) & np.isnan(b))
    large = lost & (np.isinf(a) | np.isinf(b)) & np.isfinite(c) & np.isfinite(d)
    small = lost & (np.isinf(c) | np.isinf(d)) & np.isfinite(a) & np.isfinite(b)
    at_pole, ua, ub, uc, ud = np.copysign(endless, c), unit(a), unit(b), unit(c), unit(d)
    cases = [pole, large, small]
    re = np.select(
        cases, [at_pole * a, endless * (ua * c + ub * d), zero * (a * uc + b * ud)], found.real
    )
    im = np.select(
        cases, [at_pole * b, endless * (ub * c - ua * d), zero * (b * uc - a * ud)], found.imag
    )
    return _complex_of(re, im, found.dtype)


_OF_COMPLEX: dict[str, Compute] = {
    "sign": _complex_sign,
    "exp": _complex_exp,
    "log": _complex_log,
    "sqrt": _complex_sqrt,
    "div": _complex_quotient,
    "square": np.square,
}


@rule("real", "imag", quiet=True)
def _part(e: Equation) -> Compute | None:
    return operator.attrgetter(e.name)


@rule("conj", broadcasts=True)
def _conj(e: Equation) -> Compute | None:
    dtype = e.out.dtype
    return np.conjugate if e.ins[0].dtype == dtype else lambda x: x.astype(dtype)


@rule("complex", broadcasts=True, quiet=True)
def _complex(e: Equation) -> Compute | None:
    shape, dtype, empty = e.out.shape, e.out.dtype, np.empty

    def compute(x: np.ndarray, y: np.ndarray) -> Operand:
        found = empty(shape, dtype)
        found.real = x
        found.imag = y
        return found

    return compute


# ---- order and selection -------------------------------------------------------------------------

_TOTAL = {"eq_to": np.equal, "lt_to": np.less, "le_to": np.less_equal}


@rule(*_TOTAL, cost=by_elements(2, 4, 9), broadcasts=True)
def _total_order(e: Equation) -> Compute | None:
    dtype, compare = e.ins[0].dtype, _TOTAL[e.name]
    if not _is_float(dtype):
        return compare if dtype in _ORDERED else None
    bits = np.dtype(f"i{dtype.itemsize}")
    greatest = np.iinfo(bits).max

    def key(x: np.ndarray) -> Any:
        # As integers the bits are in order but for negative numbers, which run backwards.
        x = x.view(bits)
        return where(np.less(x, 0), np.bitwise_xor(x, greatest), x)

    return lambda x, y: compare(key(x), key(y))


@rule("clamp", cost=by_elements(0.1, 2, 2), broadcasts=True)
def _clamp(e: Equation) -> Compute | None:
    if e.out.dtype not in _ORDERED:
        return None
    if not e.out.shape and e.out.dtype in _INTS:
        return lambda low, x, high: min(max(x, low), high)
    if e.out.size >= many.MANY and e.out.dtype in _FLOATS:
        return many.clamped
    return Formula(3, (np.maximum, e.out.dtype, (1, 0)), (np.minimum, e.out.dtype, (3, 2)))


#: From this many elements on choices are made by arithmetic on their bits, so many at a time, with
#: integers of the elements' size.
_MANY, _AT_A_TIME = 1 << 14, 1 << 15
_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class _ByBits:
    """``where`` of many elements: NumPy's branches at each, which takes eight times as long where
    no processor can foresee the branches."""

    __slots__ = ("bits", "shape")
    anew = True

    def __init__(self, shape: tuple[int, ...], bits: np.dtype) -> None:
        self.shape, self.bits = shape, bits

    def flat(self, x: np.ndarray) -> Operand:
        """The bits of an operand: of all elements one after the other, or of the only one; None
        where they lie otherwise."""
        if x.size == 1:
            return np.asarray(x).reshape(1).view(self.bits)[0]
        return (
            x.reshape(-1).view(self.bits)
            if x.shape == self.shape and x.flags.c_contiguous
            else None
        )

    def __call__(self, at: np.ndarray, yes: np.ndarray, no: np.ndarray) -> np.ndarray:
        """Computes as ``where`` does."""
        a, b = self.flat(yes), self.flat(no)
        if a is None or b is None or at.shape != self.shape or not at.flags.c_contiguous:
            return where(at, yes, no)
        found = np.empty(self.shape, yes.dtype)
        out, chosen = found.reshape(-1).view(self.bits), at.reshape(-1).view(np.uint8)
        for start in range(0, out.size, _AT_A_TIME):
            part = slice(start, start + _AT_A_TIME)
            into = out[part]
            other = b[part] if b.ndim else b
            np.bitwise_xor(a[part] if a.ndim else a, other, out=into)
            np.multiply(into, chosen[part], out=into)
            np.bitwise_xor(into, other, out=into)
        return found


@rule("select_n", cost=by_elements(0.4, 1), broadcasts=True, quiet=True)
def _select_n(e: Equation) -> Compute | Reordered | None:
    which, n, shape = e.ins[0], len(e.ins) - 1, e.out.shape
    if n == 1 or not which.shape:
        if n == 2 and which.dtype == _BOOL and not shape:
            return Chosen.chosen

        # Nothing is copied.
        def shaped(x: np.ndarray) -> object:
            return x if x.shape == shape else np.broadcast_to(x, shape)

        if n == 2 and which.dtype == _BOOL:
            return Chosen(shape)
        return lambda at, *cases: shaped(cases[min(max(int(at), 0), n - 1) if n > 1 else 0])
    if which.dtype == _BOOL:
        bits = _BITS.get(np.dtype(e.out.dtype).itemsize)
        return Reordered(
            where if bits is None or e.out.size < _MANY else _ByBits(shape, bits), (0, 2, 1)
        )

    def nested(at: Operand, *cases: object) -> object:
        found = cases[0]
        for i in range(1, n):
            found = where(np.less(at, i), found, cases[i])
        return found

    return nested


@rule("copy", "copy_p", "stop_gradient", "name", "stage")
def _same(_: Equation) -> Compute | None:
    return same


@rule("tie")
def _tie(_: Equation) -> Compute | None:
    return lambda _, x: x
