"""Random numbers of every distribution from the words of a ``Twister``: in NumPy, the same numbers
as PyTorch draws on a CPU.

Functions return flat arrays in the order in which PyTorch writes to memory.

PyTorch draws scalar by scalar, so each element takes one word (numbers of single precision) or two
(of double precision). Its one exception, taken on Intel processors only, is ``bernoulli_`` with a
number, which then uses Intel's MKL; here it draws as elsewhere.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..engine.host.direct import routine
from ..facts.native import extension
from .mt19937 import FEW, Twister

#: ``normal(words)`` in C, blocks of normal float32 (``native/draws.c``); None where there is no
#: extension.
_native_blocks = getattr(extension(), "normal", None)
_DOUBLE_BITS = 53
_24_BITS, _24_DIGITS = np.array(0xFFFFFF, np.uint32), np.array(2.0**-24, np.float32)
_53_BITS, _53_DIGITS = np.array([0x1FFFFF, 0xFFFFFFFF], np.uint64), np.array([2.0**-21, 2.0**-53])
_BLOCK = 1 << 12  # pairs of numbers at a time: temporaries stay in the cache
_FEW_PAIRS = 16  # up to so many Python is faster than NumPy
_LARGE = 1 << 19  # from this many normal numbers on XLA is worth its start
#: Seconds, about, that NumPy takes for normal numbers, for a call and for each; after how many
#: XLA's program of their size has paid.
_NORMAL_CALL, _NORMAL, _PRICE = 1e-4, 45e-9, 0.15
_SHORT = 1 << 7  # up to so many uniform numbers are taken from those made of all words at hand
_AHEAD = 1 << 8  # up to so many normal numbers are taken from those made of all words at hand
_FEW_WORDS = 1 << 9  # of so many one call of NumPy takes the remainders fastest
# from so many numbers on LAPACK, which SciPy has to load, shuffles faster than Python
_SWAPPED = 1 << 14

#: NumPy's functions without their look at operands for other libraries.
_copyto = getattr(np.copyto, "_implementation", np.copyto)
_dot = getattr(np.dot, "_implementation", np.dot)

# ---- uniform -------------------------------------------------------------------------------------


def uniform32(twister: Twister, n: int) -> np.ndarray:
    """float32 in [0, 1) of 24 random bits."""
    if 0 < n <= _SHORT and (found := twister.at_hand(n, 1, singles)) is not None:
        return found
    return _of_words(twister.words(n))


def singles(words: np.ndarray) -> np.ndarray:
    """The float32 in [0, 1) at each of some words."""
    return _of_words(words.astype(np.uint64))


def doubles(words: np.ndarray) -> np.ndarray:
    """The float64 in [0, 1) that begins at each of some words but the last."""
    found = (words[:-1] & np.uint32(0x1FFFFF)) * 2.0**-21
    found += words[1:] * 2.0**-_DOUBLE_BITS
    return found


def listed_doubles(words: np.ndarray) -> list[float]:
    """These as Python's numbers."""
    return doubles(words).tolist()


def _of_words(words: np.ndarray) -> np.ndarray:
    """The float32 in [0, 1) that their low 24 bits are. The words are overwritten."""
    words &= _24_BITS
    found = words.astype(np.float32)
    found *= _24_DIGITS
    return found


def uniform64(twister: Twister, n: int) -> np.ndarray:
    """float64 in [0, 1) of 53 random bits."""
    if 0 < n <= _SHORT and (found := twister.at_hand(n, 2, doubles)) is not None:
        return found
    if 2 * n <= FEW:
        pairs = twister.words(2 * n).reshape(n, 2)
        pairs &= _53_BITS
        return _dot(pairs, _53_DIGITS)  # exact, in whatever order it adds
    high, low = twister.halves(n)
    if n <= _BLOCK:
        return (high & np.uint32(0x1FFFFF)) * 2.0**-21 + low * 2.0**-_DOUBLE_BITS
    found = np.empty(n, np.float64)
    for at in range(0, n, _BLOCK):
        part, rest = found[at : at + _BLOCK], low[at : at + _BLOCK] * 2.0**-_DOUBLE_BITS
        np.multiply(high[at : at + _BLOCK] & np.uint32(0x1FFFFF), 2.0**-21, out=part)
        part += rest
    return found


def uniform(twister: Twister, n: int, low: float, high: float, dtype: np.dtype) -> np.ndarray:
    """Numbers in [low, high), of ``dtype``; of half precision through float32."""
    x = uniform64(twister, n) if dtype == np.float64 else uniform32(twister, n)
    if (low, high) != (0.0, 1.0):
        kind = x.dtype.type
        x = _mad(x, kind(high) - kind(low), kind(low))
    x = x.astype(dtype, copy=False)
    # rounding may reach the upper end, which is excluded
    if x.dtype.itemsize < 4 or (low, high) != (0.0, 1.0):
        x[x == np.asarray(high, dtype)] = low
    return x


def below(twister: Twister, n: int, p: float) -> np.ndarray:
    """Whether each of ``n`` uniform float64 is less than ``p``: Bernoulli trials. Integers are
    compared, high words first."""
    if p >= 1.0:
        twister.bits32(2 * n)
        return np.ones(n, np.bool_)
    if n <= FEW // 2:
        return uniform64(twister, n) < p
    limit = math.ceil(p * 2.0**_DOUBLE_BITS)  # u < p exactly if the 53 bits are less than this
    high, low = twister.halves(n)
    high = high & np.uint32(0x1FFFFF)
    top, rest = limit >> 32, limit & 0xFFFFFFFF
    found = high < np.uint32(top)
    tied = np.flatnonzero(high == np.uint32(top))
    if tied.size:
        found[tied] = low[tied] < np.uint32(rest)
    return found


def below_each(twister: Twister, p: np.ndarray) -> np.ndarray:
    """Bernoulli trials with a probability each: float64 ones take uniform float64, others
    float32."""
    if p.dtype == np.float64:
        return uniform64(twister, p.size) < p
    return uniform32(twister, p.size) < p.astype(np.float32)


# ---- integers ------------------------------------------------------------------------------------

#: Largest integer up to which floating-point types hold all integers.
_EXACT = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}


@functools.cache  # NumPy makes a dtype's name, and its limits, anew each time
def largest_whole(dtype: np.dtype) -> int:
    """The largest number that ``random_`` gives in ``dtype``."""
    if dtype == np.bool_:
        return 1
    return _EXACT[dtype.name] if dtype.name in _EXACT else int(np.iinfo(dtype).max)


def integers(twister: Twister, n: int, low: int, span: int, dtype: np.dtype) -> np.ndarray:
    """Numbers in [low, low + span): remainders of words, of 64 bits from a span of 2**28 on. A span
    of 2**64 is all there is."""
    if span == 1 << 64:
        return twister.bits64(n).view(np.int64).astype(dtype)
    if span >= 1 << 28:
        found = _remainders(twister.bits64(n), span).view(np.int64)
    else:
        found = _remainders(twister.bits32(n), span).astype(np.int64)
    if low:
        with np.errstate(over="ignore"):
            found += np.int64(low)
    return found.astype(dtype, copy=False)


def _remainders(words: np.ndarray, span: int) -> np.ndarray:
    """``words % span`` in their place. NumPy divides by a number many at a time, but takes
    remainders one by one."""
    if not span & (span - 1):
        words &= words.dtype.type(span - 1)
        return words
    if words.size <= _FEW_WORDS:
        return words % words.dtype.type(span)
    for at in range(0, words.size, 4 * _BLOCK):
        part = words[at : at + 4 * _BLOCK]
        quotients = part // words.dtype.type(span)
        quotients *= words.dtype.type(span)
        part -= quotients
    return words


def whole_range(twister: Twister, n: int, dtype: np.dtype) -> np.ndarray:
    """``random_()``: all non-negative integers that ``dtype`` holds exactly."""
    if dtype in (np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)):
        return _remainders(
            twister.bits64(n), largest_whole(dtype) + 1 if dtype != np.uint64 else 1 << 63
        ).astype(dtype)
    limit = largest_whole(dtype) + 1
    words = twister.bits32(n)
    return (_remainders(words, limit) if limit < 1 << 32 else words).astype(dtype)


def permutation(twister: Twister, n: int) -> np.ndarray:
    """The numbers below ``n`` in random order, shuffled from the front."""
    if n < 2:
        return np.arange(n)
    places = twister.bits32(n - 1) % np.arange(n, 1, -1, dtype=np.uint32)
    places += np.arange(n - 1, dtype=np.uint32)
    if n >= _SWAPPED and n <= 1 << 31:
        return _swapped(n, places.astype(np.int32))
    order = list(range(n))
    for i, j in enumerate(places.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _swapped(n: int, places: np.ndarray) -> np.ndarray:
    """The numbers below ``n``, of which each in turn has changed places with the one at ``places``.

    Which is what LAPACK does with the rows of a matrix that a factorisation has put into another
    order: here rows of one number.
    """
    single = n <= 1 << 24  # float32 tells all numbers apart
    rows = np.arange(n, dtype=np.float32 if single else np.float64).reshape(n, 1)
    swap = routine("laswp", rows.dtype)
    return swap(rows, places, overwrite_a=1)[:, 0].astype(np.int64)


# ---- normal --------------------------------------------------------------------------------------


def normal(
    twister: Twister, n: int, mean: float, std: float, dtype: np.dtype, contiguous: bool = True
) -> np.ndarray:
    """Normal numbers of ``dtype``. PyTorch fills contiguous memory of 16 elements and more in
    blocks, everything else one by one."""
    if n < 16 or not contiguous:
        return _mad(normal_serial(twister, n), np.float64(std), np.float64(mean)).astype(dtype)
    if dtype == np.float64:
        blocks, draw = _wide_blocks, uniform64
    else:
        blocks, draw = _blocks, Twister.bits32
    rest = n % 16
    found = (
        twister.ahead(n, _blocks)
        if n <= _AHEAD and draw is Twister.bits32 and _native_blocks is None
        else None
    )
    if found is not None:
        pass
    # the last 16 are drawn again, to make a block; half precision does not draw the first time what
    # is then overwritten
    elif rest:
        drawn = draw(twister, n if dtype.itemsize > 2 else n - rest)
        found = blocks(np.concatenate([drawn[: n - rest], draw(twister, 16)]))
        found = np.concatenate([found[: n - 16], found[n - rest :]])
    else:
        found = blocks(draw(twister, n))
    if (mean, std) != (0.0, 1.0):
        found = _mad(found, found.dtype.type(std), found.dtype.type(mean))
    return found.astype(dtype, copy=False)


def normal_serial(twister: Twister, n: int) -> np.ndarray:
    """Standard normal float64 in pairs (Box-Muller); the second of a pair that is not needed is
    kept for the next call."""
    kept = twister.pending_normal
    if kept is not None and n:
        twister.pending_normal = None
        found = np.concatenate(([kept], _pairs(twister, n // 2)))
    else:
        found = _pairs(twister, (n + 1) // 2)
    if found.size > n:
        twister.pending_normal = float(found[n])
    return found[:n]


def _pairs(twister: Twister, pairs: int) -> np.ndarray:
    """Pairs of standard normal float64, one after the other: each a radius and an angle from two
    uniform numbers, the angle drawn first."""
    if pairs <= _FEW_PAIRS:
        numbers = iter(uniform64(twister, 2 * pairs).tolist())
        few: list[float] = []
        sqrt, log1p, cos, sin, turn = math.sqrt, math.log1p, math.cos, math.sin, 2.0 * math.pi
        for part in numbers:
            angle = turn * part
            radius = sqrt(-2.0 * log1p(-next(numbers)))
            few += radius * cos(angle), radius * sin(angle)
        return np.array(few, np.float64)
    u = uniform64(twister, 2 * pairs).reshape(pairs, 2)
    radius, angle = np.sqrt(-2.0 * np.log1p(-u[:, 1])), 2.0 * np.pi * u[:, 0]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


# Box-Muller in blocks of 16: eight radii from the first half, eight angles from the second; cosines
# come first.


def _wide_blocks(u: np.ndarray) -> np.ndarray:
    """Blocks of normal float64 from uniform ones."""
    blocks = u.reshape(-1, 16)
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - blocks[:, :8])), 2.0 * np.pi * blocks[:, 8:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def _blocks(words: np.ndarray) -> np.ndarray:
    """Blocks of normal float32 from words, which may be overwritten."""
    if _native_blocks is not None:
        return _native_blocks(words)
    if words.size >= _LARGE or _has_paid(words.size):
        from . import box_muller as _box_muller

        found = _box_muller.normal(words)
        if found is not None:
            return found
    return _blocks_of_numpy(words)


#: Rows of 16 words that XLA's programs take at once, by up to how many rows a tensor has; the
#: seconds that NumPy has spent on each kind.
_SIZES = ((1 << 6, 1 << 6), (1 << 12, 1 << 9), (math.inf, 1 << 13))
_spent = [0.0] * len(_SIZES)


def _kind(words: int) -> int:
    """Which of the sizes is for so many words."""
    for k, (rows, _) in enumerate(_SIZES):
        if words <= 16 * rows:
            return k
    raise AssertionError


def _has_paid(words: int) -> bool:
    """Whether NumPy has taken so long for normal numbers by now that compiling what makes them
    would have paid. No clock is asked."""
    kind = _kind(words)
    _spent[kind] += _NORMAL_CALL + _NORMAL * words
    return _spent[kind] > _PRICE


def _blocks_of_numpy(words: np.ndarray) -> np.ndarray:
    blocks = _of_words(words).reshape(-1, 16)
    found = np.empty_like(blocks)
    rows = _BLOCK // 8
    for at in range(0, len(blocks), rows):
        part = blocks[at : at + rows].astype(np.float64)
        radius = _log(1.0 - part[:, :8])
        radius *= -2.0
        np.sqrt(radius, out=radius)
        radius = _single(radius)
        sine, cosine = _sine_cosine(_single(_TWO_PI * part[:, 8:]))
        found[at : at + rows, :8] = np.multiply(radius, cosine, out=cosine)
        found[at : at + rows, 8:] = np.multiply(radius, sine, out=sine)
    return found.reshape(-1)


# Cephes' single-precision logarithm and sine (S. Moshier) with multiplications and additions fused
# into one rounding, as processors with such an instruction compute them. Numbers of single
# precision are held in float64 arrays: these hold products of two exactly, so that one rounding
# after a product and a sum does what the fused instruction does.


def _constants(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(v)) for v in values)


_LOG = _constants(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LOG2_LOW, _LOG2_HIGH = _constants(-2.12194440e-4, 0.693359375)  # their sum is log(2)
# their sum is -pi/4
_PI4 = _constants(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_COS = _constants(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_SIN = _constants(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_4_BY_PI, _SQRT_HALF, _TWO_PI = _constants(4 / np.pi, math.sqrt(0.5), 2 * np.pi)


def _single(x: np.ndarray) -> np.ndarray:
    """Rounds a float64 array to single precision, in place."""
    _copyto(x, x.astype(np.float32))
    return x


def _mad(a: np.ndarray, b: np.floating, c: np.floating) -> np.ndarray:
    """``a * b + c`` with one rounding, in the precision of ``a``; for float64 as nearly as the
    platform's longest type allows."""
    longer = np.longdouble if a.dtype == np.float64 else np.float64
    if a.ndim != 1 or a.size <= _BLOCK:
        return (a.astype(longer) * b + c).astype(a.dtype)
    found = np.empty_like(a)
    for at in range(0, a.size, _BLOCK):
        found[at : at + _BLOCK] = a[at : at + _BLOCK].astype(longer) * b + c
    return found


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Horner's scheme, one rounding a step."""
    y = x * coefficients[0]
    for c in coefficients[1:-1]:
        y += c
        _single(y)
        y *= x
    y += coefficients[-1]
    return _single(y)


def _log(x: np.ndarray) -> np.ndarray:
    m, e = np.frexp(x)
    small = m < _SQRT_HALF
    e = e - small.astype(np.float64)
    m += m * small
    m -= 1.0
    square = _single(m * m)
    y = _polynomial(m, _LOG)
    y *= m
    _single(y)
    y *= square
    y += _single(e * _LOG2_LOW)
    _single(y)
    square *= 0.5
    y -= square
    m += _single(y)
    e *= _LOG2_HIGH
    e += _single(m)
    return _single(e)


def _sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    octant = (_single(x * _4_BY_PI).astype(np.int32) + 1) & ~1
    turns = octant.astype(np.float64)
    for part in _PI4:
        x = _single(turns * part + x)
    square = _single(x * x)
    cosine = _polynomial(square, _COS)
    cosine *= square
    _single(cosine)
    cosine *= square
    cosine -= square * 0.5
    _single(cosine)
    cosine += 1.0
    _single(cosine)
    sine = _polynomial(square, _SIN)
    sine *= square
    _single(sine)
    sine *= x
    sine += x
    _single(sine)
    crossed = (octant & 2) != 0
    s, c = np.where(crossed, cosine, sine), np.where(crossed, sine, cosine)
    np.negative(s, out=s, where=(octant & 4) != 0)
    np.negative(c, out=c, where=((octant + 2) & 4) != 0)
    return s, c


# ---- others --------------------------------------------------------------------------------------


def exponential(twister: Twister, n: int, rate: float) -> np.ndarray:
    """Exponential float64."""
    found = uniform64(twister, n)
    np.negative(found, found)
    np.log1p(found, found)
    found *= -1.0 / rate
    return found


def geometric(twister: Twister, n: int, p: float) -> np.ndarray:
    """The number of Bernoulli trials up to the first success, float64."""
    found = uniform64(twister, n)
    with np.errstate(divide="ignore"):
        np.log(found, found)
    found /= math.log1p(-p)
    return np.ceil(found, found)


def cauchy(twister: Twister, n: int, median: float, sigma: float) -> np.ndarray:
    """Cauchy float64."""
    found = uniform64(twister, n)
    found -= 0.5
    found *= np.pi
    np.tan(found, found)
    if sigma != 1.0:
        found *= sigma
    if median:  # (none of these is -0.0)
        found += median
    return found


def log_normal(twister: Twister, n: int, mean: float, std: float) -> np.ndarray:
    """Numbers whose logarithms are normal, float64."""
    return np.exp(normal_serial(twister, n) * std + mean)


def categories(twister: Twister, p: np.ndarray, samples: int) -> np.ndarray:
    """For each row of probabilities ``samples`` categories, drawn with replacement."""
    found = np.empty((p.shape[0], samples), np.int64)
    u = uniform64(twister, p.shape[0] * samples).reshape(found.shape)
    for row, at, out in zip(p, u, found, strict=True):
        total = np.cumsum(row, dtype=row.dtype)
        total = total / total[-1]
        total[-1] = 1
        out[:] = np.searchsorted(total.astype(np.float64), at, side="left")
    return found
