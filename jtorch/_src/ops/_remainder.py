"""Quotients and remainders that are rounded downwards, and the remainder of float32 division on
CPU, where XLA calls the C library for one element at a time: as exact, vectorised."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host import many
from ..engine.intervals import Interval
from ._declare import Array
from ._hosted import INTEGERS, hosted


@hosted(lambda: np.fmod, ns=8, many=many.fmod)
def rem(a: Array, b: Array) -> Array:
    """``a - trunc(a / b) * b`` without rounding, with the sign of ``a``; operands of one shape."""
    if a.dtype != np.float32:
        return lax.rem(a, b)
    return lax.platform_dependent(a, b, cpu=_vectorised, default=lax.rem)


def _vectorised(a: Array, b: Array) -> Array:
    """In float64 a quotient of two float32 numbers below 2**29 lies on the right side of each whole
    number, and its product is exact."""
    wide, by = a.astype(np.float64), b.astype(np.float64)
    quotient = jnp.trunc(wide / by)
    size = jnp.abs(quotient)

    def exactly() -> Array:
        found = (wide - quotient * by).astype(np.float32)
        found = jnp.where(jnp.isinf(b) & jnp.isfinite(a), a, found)
        return jnp.where(found == 0, jnp.copysign(found, a), found)

    return lax.cond(jnp.any((size >= 2**29) & (size < np.inf)), lambda: lax.rem(a, b), exactly)


def _modulo_by_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _with_zeros(np.remainder(a, b), a)


def _modulo_of_many(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return _with_zeros(many.modulo(a, b), a)


def _with_zeros(found: np.ndarray, a: np.ndarray) -> np.ndarray:
    if np.count_nonzero(found) == found.size:
        return found
    # NumPy's zeros have the sign of the divisor
    return np.where(found == 0, np.copysign(found, a), found)


@hosted(lambda: _modulo_by_numpy, ns=10, calls=2, many=_modulo_of_many)
def modulo(a: Array, b: Array) -> Array:
    """The remainder of floats with the sign of ``b``; zeros have the sign of ``a``. Operands of one
    shape."""
    mod = rem(a, b)
    return jnp.where((mod != 0) & ((b < 0) != (mod < 0)), mod + b, mod)


def _moduli(eqn: object, ask: Callable[..., Interval], i: int) -> Interval | None:
    c, d = ask(1)
    if c <= 0 <= d or c == math.inf:
        return None
    return (0, d - 1) if c > 0 else (c + 1, 0)


def _quotients(eqn: object, ask: Callable[..., Interval], i: int) -> Interval | None:
    (a, b), (c, d) = ask(0), ask(1)
    if c <= 0 <= d or math.inf in (a, c):
        return None
    ends = [x // y for x in (a, b) for y in (c, d)]
    return min(ends), max(ends)


@hosted(lambda: np.remainder, ns=8, dtypes=INTEGERS, bounds=_moduli)
def whole_modulo(a: Array, b: Array) -> Array:
    """The remainder of integers with the sign of ``b``. Operands of one shape; of divisors that are
    0 nothing is promised."""
    return jnp.remainder(a, b)


@hosted(lambda: np.floor_divide, ns=8, dtypes=INTEGERS, bounds=_quotients)
def whole_quotient(a: Array, b: Array) -> Array:
    """The quotient of integers, rounded downwards. Operands of one shape; of divisors that are 0
    nothing is promised."""
    return jnp.floor_divide(a, b)
