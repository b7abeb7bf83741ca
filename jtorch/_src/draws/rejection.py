"""Random numbers whose drawing takes as many words as chance wants: gamma, Poisson and binomial
numbers, one after the other.

The same numbers as PyTorch draws on a CPU: uniform numbers of double precision are taken in the
same order and compared in the same precision. Parameters come in, and numbers go out, as flat
arrays in the order in which PyTorch visits them.

Sources: G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000; W.
Hoermann, "The transformed rejection method for generating Poisson random variables", 1993, and "The
generation of binomial random variates", 1993.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from ..facts.native import extension
from .mt19937 import Twister
from .sampling import listed_doubles, uniform64

_LARGEST_BLOCK = 1 << 14
#: Where no more numbers are expected they are drawn one by one: noting and restoring a state takes
#: as long as some fifty of them.
_ONE_BY_ONE = 64
#: The same loops in C (``native/rejection.c``), by kind of numbers; None without the extension.
_native: Any = getattr(extension(), "rejection", None)
_GAMMA, _POISSON, _BINOMIAL = range(3)


def _uniforms(twister: Twister, expected: int) -> Iterator[float]:
    """Uniform numbers of double precision. When it is closed, the twister stands as if only those
    taken had ever been drawn."""
    if expected <= _ONE_BY_ONE:
        word = twister.word
        while True:
            numbers, at = twister.of_block(listed_doubles)
            last = len(numbers)
            try:
                while at < last:
                    at += 2
                    yield numbers[at - 2]
            finally:
                twister.go_to(at)
            if at == last:  # one word is left
                yield (word() & 0x1FFFFF) * 2.0**-21 + word() * 2.0**-53
    block = max(4, min(expected, _LARGEST_BLOCK))
    while True:
        start, taken = twister.position(), 0
        try:
            for u in uniform64(twister, block).tolist():
                taken += 1
                yield u
        except GeneratorExit:
            twister.return_to(start, 2 * taken)
            raise


def _by_loop(
    kind: int, parameters: list[np.ndarray], expected: int, twister: Twister
) -> np.ndarray | None:
    """The numbers as the loop in C draws them, by the block of uniform numbers, or None if it is
    not worth it; ``expected`` is how many uniform numbers each may take."""
    if _native is None or expected * parameters[0].size <= _ONE_BY_ONE:
        return None
    table = np.stack(parameters).astype(np.float64)
    found = np.zeros(table.shape[1], np.float64)
    at, left, block = 0, np.empty(0), min(expected * found.size, _LARGEST_BLOCK)
    while at < found.size:
        start = twister.position()
        uniforms = np.concatenate([left, uniform64(twister, block)])
        at, used, twister.pending_normal = _native(
            kind, table, uniforms, found, at, twister.pending_normal
        )
        if at == found.size:
            # (Those left of the blocks before did not suffice: the last ones are of this block.)
            twister.return_to(start, 2 * (used - left.size))
        left = uniforms[used:]
        block = min(max(expected * (found.size - at), _ONE_BY_ONE), _LARGEST_BLOCK)
    return found


def _normals(twister: Twister, draw: Callable[[], float]) -> Callable[[], float]:
    """A function that gives standard normal numbers: pairs, whose second half the twister keeps."""
    sqrt, log1p, cos, sin, turn = math.sqrt, math.log1p, math.cos, math.sin, 2.0 * math.pi

    def normal() -> float:
        kept = twister.pending_normal
        if kept is not None:
            twister.pending_normal = None
            return kept
        angle = turn * draw()
        radius = sqrt(-2.0 * log1p(-draw()))
        twister.pending_normal = radius * sin(angle)
        return radius * cos(angle)

    return normal


# ---- gamma ---------------------------------------------------------------------------------------

#: PyTorch writes these in single precision.
_THIRD, _SQUEEZE = np.float32(1) / np.float32(3), float(np.float32(0.0331))


def gamma(twister: Twister, concentration: np.ndarray) -> np.ndarray:
    """Gamma numbers of rate 1, float64; the constants of the method have the precision of
    ``concentration``."""
    kind = concentration.dtype.type
    small = concentration < 1
    with np.errstate(all="ignore"):
        boost = np.where(small, kind(1) / concentration, kind(0)).astype(np.float64)
        d = (np.where(small, concentration + kind(1), concentration) - kind(_THIRD)).astype(
            np.float64
        )
        c = 1.0 / np.sqrt(9.0 * d)
    drawn = _by_loop(_GAMMA, [boost, d, c, concentration == 0], 3, twister)
    if drawn is not None:
        return drawn
    found = np.zeros(concentration.size, np.float64)
    nothing = (concentration == 0).tolist()
    log = math.log
    with closing(_uniforms(twister, 3 * concentration.size)) as uniforms:  # type: ignore[type-var]
        draw = uniforms.__next__
        normal = _normals(twister, draw)
        for i, (power, shape, slope) in enumerate(
            zip(boost.tolist(), d.tolist(), c.tolist(), strict=True)
        ):
            if nothing[i]:
                continue
            scale = 1.0
            if power:
                # no gamma number, and found so below
                scale = math.pow(1.0 - draw(), power) if power > 0 else draw() * math.nan
            while True:
                x = normal()
                y = 1.0 + slope * x
                if y <= 0:
                    continue
                v = y * y * y
                u = 1.0 - draw()
                square = x * x
                if u < 1.0 - _SQUEEZE * square * square or log(u) < 0.5 * square + shape * (
                    1.0 - v + log(v)
                ):
                    break
            found[i] = scale * shape * v
    return found


# ---- Poisson -------------------------------------------------------------------------------------


def _counted(rate: float, draw: Callable[[], float]) -> float:
    """A Poisson number of a small rate: how many uniform numbers may be multiplied before their
    product is too small."""
    limit, product, count = math.exp(-rate), draw(), 0
    while product > limit:
        product *= draw()
        count += 1
    return float(count)


def _transformed(rate: float, draw: Callable[[], float]) -> float:
    """A Poisson number of a rate of at least 10, by transformed rejection."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        if us == 0:  # the hat is infinite here, and so would the number be
            continue
        k = float(math.floor((2 * a / us + b) * u + rate + 0.43))
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = (
            (math.log(v) if v else -math.inf)
            + math.log(inverse_alpha)
            - math.log(a / (us * us) + b)
        )
        if left <= -rate + k * log_rate - math.lgamma(k + 1):
            return k


def poisson(twister: Twister, rate: np.ndarray) -> np.ndarray:
    """Poisson numbers, float64."""
    drawn = _by_loop(_POISSON, [rate], 2, twister)
    if drawn is not None:
        return drawn
    rates = rate.astype(np.float64).tolist()
    found = np.zeros(len(rates), np.float64)
    with closing(_uniforms(twister, 2 * len(rates))) as uniforms:  # type: ignore[type-var]
        draw = uniforms.__next__
        for i, one in enumerate(rates):
            if one == math.inf:
                # C++ turns what is no number into the smallest integer, after having drawn a pair.
                draw()
                draw()
                found[i] = -(2.0**63)
            elif one:
                found[i] = _transformed(one, draw) if one >= 10 else _counted(one, draw)
    return found


# ---- binomial ------------------------------------------------------------------------------------

#: What Stirling's approximation to log(k!) lacks, for the first numbers.
_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _tail(k: float) -> float:
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _by_gaps(count: float, log_miss: float, draw: Callable[[], float]) -> float:
    """A binomial number of a small mean: adds up the geometric gaps between successes until they
    exceed ``count``."""
    total, found = 0.0, 0
    while True:
        u = draw()
        total += math.ceil(math.log(u) / log_miss) if u else math.inf
        if total > count:
            return float(found)
        found += 1


def _btrs(
    count: float,
    p: float,
    spread: float,
    mean: float,
    odds: float,
    middle: float,
    draw: Callable[[], float],
) -> float:
    """A binomial number of a mean of at least 10, by transformed rejection with squeeze."""
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = mean + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    log = math.log
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = float(math.floor((2 * a / us + b) * u + c))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        v = v * alpha / (a / (us * us) + b)
        bound = (
            (middle + 0.5) * log((middle + 1) / (odds * (count - middle + 1)))
            + (count + 1) * log((count - middle + 1) / (count - k + 1))
            + (k + 0.5) * log(odds * (count - k + 1) / (k + 1))
            + _tail(middle)
            + _tail(count - middle)
            - _tail(k)
            - _tail(count - k)
        )
        if (log(v) if v else -math.inf) <= bound:
            return k


def binomial(twister: Twister, count: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Binomial numbers, float64; what depends on the parameters alone is computed in their
    precision, as PyTorch does. No number of trials gives none (PyTorch does not end)."""
    kind = count.dtype.type
    one, flipped = kind(1), p > kind(0.5)
    with np.errstate(all="ignore"):
        q = np.where(flipped, one - p, p)
        spread = np.sqrt(count * q * (one - q))
        parameters = [
            count, p, q, np.log1p(-q), spread, q / (one - q), np.floor((count + one) * q), count * q
        ]  # fmt: skip
    drawn = _by_loop(_BINOMIAL, parameters, 2, twister)
    if drawn is not None:
        return drawn
    rows = np.stack(parameters, 1).astype(np.float64).tolist()
    found = np.zeros(len(rows), np.float64)
    with closing(_uniforms(twister, 2 * len(rows))) as uniforms:  # type: ignore[type-var]
        draw = uniforms.__next__
        for i, (n, chance, small, miss, wide, odds, middle, mean) in enumerate(rows):
            if n <= 0 or chance <= 0:
                continue
            if chance != chance or n != n:
                found[i] = math.nan
            elif chance >= 1:
                found[i] = n
            else:
                if mean >= 10:
                    k = _btrs(n, small, wide, mean, odds, middle, draw)
                else:
                    k = _by_gaps(n, miss, draw)
                found[i] = n - k if chance > 0.5 else k
    return found
