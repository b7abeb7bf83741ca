"""Tangent and inverse trigonometric functions of float32 on CPU, where XLA takes one element at a
time: accurate to two units, vectorised.

The polynomials were fitted for the least relative error; each is ``f(a) = a + a**3 * p(a**2)`` on
the interval it is used on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array
from ._hosted import hosted

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Of the arc tangent, up to tan(pi / 8).
_ATAN = (0.08060279507207099, -0.13879839952648332, 0.19977925030501636, -0.3333295522118995)
#: Of the arc sine, up to 1 / 2.
_ASIN = (
    0.04221850699953535,
    0.024147632558604394,
    0.04547709373480937,
    0.07495241792651386,
    0.16666753928324896,
)
_EIGHTH = math.tan(math.pi / 8)


def _odd(a: Array, coefficients: tuple[float, ...], z: Array) -> Array:
    p = jnp.full_like(z, coefficients[0])
    for c in coefficients[1:]:
        p = p * z + c
    return a + a * (z * p)


def _arc_of_ratio(small: Array, large: Array) -> Array:
    """The arc tangent of ``small / large``, both positive; in two halves, with one division."""
    upper = small > large * _EIGHTH
    t = jnp.where(upper, small - large, small) / jnp.where(upper, small + large, large)
    p = _odd(t, _ATAN, t * t)
    return jnp.where(upper, p + math.pi / 4, p)


def _atan(x: Array) -> Array:
    a = jnp.abs(x)
    p = _arc_of_ratio(jnp.minimum(a, 1), jnp.maximum(a, 1))
    p = jnp.where(a > 1, math.pi / 2 - p, p)
    return jnp.where(x == 0, x, jnp.where(x < 0, -p, p))


def _atan2(y: Array, x: Array) -> Array:
    b, a = jnp.abs(y), jnp.abs(x)
    small, large = jnp.minimum(a, b), jnp.maximum(a, b)
    one = jnp.ones_like(small)
    both_infinite = small == np.inf
    # Their sum must not overflow, nor their difference be too small.
    scale = jnp.where(large > 1e38, 0.25 * one, jnp.where(large < 1e-25, 2.0**60 * one, one))
    small = jnp.where(both_infinite, one, small * scale)
    large = jnp.where(both_infinite | (large == 0), one, large * scale)
    p = _arc_of_ratio(small, large)
    p = jnp.where(b > a, math.pi / 2 - p, p)
    p = jnp.where(jnp.signbit(x), math.pi - p, p)
    return jnp.copysign(p, y)


def _asin(x: Array) -> Array:
    a = jnp.abs(x)
    near_one = a > 0.5
    z = jnp.where(near_one, (1 - a) * 0.5, a * a)
    p = _odd(jnp.where(near_one, jnp.sqrt(z), a), _ASIN, z)
    p = jnp.where(near_one, math.pi / 2 - 2 * p, p)
    return jnp.where(x == 0, x, jnp.where(x < 0, -p, p))


def _acos(x: Array) -> Array:
    a = jnp.abs(x)
    near_one = a > 0.5
    z = jnp.where(near_one, (1 - a) * 0.5, a * a)
    p = _odd(jnp.where(near_one, jnp.sqrt(z), x), _ASIN, z)
    return jnp.where(near_one, jnp.where(x < 0, math.pi - 2 * p, 2 * p), math.pi / 2 - p)


def _tan(x: Array) -> Array:
    return jnp.where(x == 0, x, lax.sin(x) / lax.cos(x))


def _function(
    vectorised: Callable[..., Array], elsewhere: np.ufunc, jvp: Function
) -> Callable[..., Array]:
    """The function that ``vectorised`` computes for float32 on CPU, and JAX's of the ufunc's name
    otherwise; the ufunc does on the host."""
    others: Callable[..., Array] = getattr(jnp, elsewhere.__name__)

    def by_platform(*operands: Array) -> Array:
        if operands[0].dtype != np.float32:
            return others(*operands)
        return lax.platform_dependent(*operands, cpu=vectorised, default=others)

    by_platform.__name__ = elsewhere.__name__
    full = hosted(lambda: elsewhere, ns=1, kept=True)(by_platform)

    def function(*operands: Array) -> Array:
        dtype = operands[0].dtype
        if dtype.itemsize < 4 and jnp.issubdtype(dtype, jnp.floating):  # rounded once, at the end
            return full(*[a.astype(np.float32) for a in operands]).astype(dtype)
        return full(*operands)

    found = jax.custom_jvp(function)
    found.defjvp(jvp)
    return found


def _atan2_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    y, x = primals
    square = x * x + y * y
    return atan2(y, x), tangents[0] * (x / square) - tangents[1] * (y / square)


def _tan_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    found = tan(*primals)
    return found, tangents[0] * (1 + found * found)


#: The functions themselves, of one array (``atan2``: of two of the same shape).
atan = _function(_atan, np.arctan, lambda p, t: (atan(*p), t[0] / (1 + p[0] * p[0])))
atan2 = _function(_atan2, np.arctan2, _atan2_jvp)
asin = _function(_asin, np.arcsin, lambda p, t: (asin(*p), t[0] * lax.rsqrt(1 - p[0] * p[0])))
acos = _function(_acos, np.arccos, lambda p, t: (acos(*p), -t[0] * lax.rsqrt(1 - p[0] * p[0])))
tan = _function(_tan, np.tan, _tan_jvp)
