"""Functions of complex numbers whose special values are those of C: signs of zeros, infinities and NaN, part by part.

XLA computes both parts by formulas that multiply zero by infinity there, and forgets on which side of a branch cut a zero lies.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array


def _with_derivative_of(plain: Callable[[Array], Array]) -> Callable[[Callable[[Array], Array]], Callable[[Array], Array]]:
    """Gives a function the derivative of ``plain``: a choice between parts has that of one side only, as at imaginary parts of 0."""

    def decorate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        made = jax.custom_jvp(function)
        made.defjvp(lambda primals, tangents: (made(*primals), jax.jvp(plain, primals, tangents)[1]))
        return made

    return decorate


def _parts(z: Array) -> tuple[Array, Array]:
    return lax.real(z), lax.imag(z)


def _zero(x: Array) -> np.ndarray:
    return np.zeros((), x.dtype)


@_with_derivative_of(jnp.exp)
def exp(z: Array) -> Array:
    """The exponential function."""
    a, b = _parts(z)
    size = jnp.exp(a)
    endless = jnp.isinf(a) & ~jnp.isfinite(b)
    real = jnp.where(endless, jnp.where(a > 0, a, _zero(a)), jnp.where(b == 0, size, size * jnp.cos(b)))
    imag = jnp.where(endless & (a < 0), _zero(a), jnp.where(b == 0, b, size * jnp.sin(b)))
    return lax.complex(real, imag)


@_with_derivative_of(jnp.sinh)
def sinh(z: Array) -> Array:
    """The hyperbolic sine."""
    a, b = _parts(z)
    turn = jnp.cos(b)
    real = jnp.where((a == 0) | (jnp.isinf(a) & ~jnp.isfinite(b)), jnp.where(turn < 0, -a, a), jnp.sinh(a) * turn)
    real = jnp.where(b == 0, jnp.sinh(a), real)
    return lax.complex(real, jnp.where(b == 0, b, jnp.cosh(a) * jnp.sin(b)))


@_with_derivative_of(jnp.cosh)
def cosh(z: Array) -> Array:
    """The hyperbolic cosine."""
    a, b = _parts(z)
    real = jnp.where(jnp.isinf(a) & ~jnp.isfinite(b), jnp.abs(a), jnp.cosh(a) * jnp.cos(b))
    real = jnp.where(b == 0, jnp.cosh(a), real)
    imag = jnp.where((a == 0) & ~jnp.isfinite(b), _zero(a), jnp.sinh(a) * jnp.sin(b))
    return lax.complex(real, jnp.where(b == 0, jnp.copysign(_zero(a), a) * jnp.copysign(np.ones((), b.dtype), b), imag))


@_with_derivative_of(jnp.tanh)
def tanh(z: Array) -> Array:
    """The hyperbolic tangent."""
    a, b = _parts(z)
    real, imag = _parts(jnp.tanh(z))
    return lax.complex(jnp.where(a == 0, a, real), jnp.where(b == 0, b, imag))


def _turned(z: Array) -> Array:
    """``i z``."""
    a, b = _parts(z)
    return lax.complex(-b, a)


def _turned_back(z: Array) -> Array:
    """``-i z``."""
    a, b = _parts(z)
    return lax.complex(b, -a)


@_with_derivative_of(jnp.sin)
def sin(z: Array) -> Array:
    """The sine."""
    return _turned_back(sinh(_turned(z)))


@_with_derivative_of(jnp.cos)
def cos(z: Array) -> Array:
    """The cosine."""
    return cosh(_turned(z))


@_with_derivative_of(jnp.tan)
def tan(z: Array) -> Array:
    """The tangent."""
    return _turned_back(tanh(_turned(z)))


@_with_derivative_of(jnp.sqrt)
def sqrt(z: Array) -> Array:
    """The square root; the sign of a zero tells on which side of the negative numbers it lies."""
    a, b = _parts(z)
    real, imag = _parts(jnp.sqrt(z))
    unknown = jnp.isinf(a) & jnp.isnan(b)
    real = jnp.where(jnp.isinf(b) | (unknown & (a > 0)), np.asarray(np.inf, a.dtype), jnp.abs(real))
    imag = jnp.where(jnp.isinf(b), b, jnp.where(unknown & (a < 0), np.asarray(np.inf, a.dtype), jnp.copysign(imag, b)))
    return lax.complex(real, imag)


@_with_derivative_of(jnp.abs)
def magnitude(z: Array) -> Array:
    """The absolute value: infinite if a part is, whatever the other."""
    a, b = _parts(z)
    return jnp.where(jnp.isinf(a) | jnp.isinf(b), np.asarray(np.inf, a.dtype), jnp.abs(z))


def logarithm(plain: Callable[[Array], Array], z: Array) -> Array:
    """A logarithm, ``plain`` for other numbers: its real part is infinite if a part of ``z`` is, whatever the other."""

    @_with_derivative_of(plain)
    def function(z: Array) -> Array:
        a, b = _parts(z)
        real, imag = _parts(plain(z))
        return lax.complex(jnp.where(jnp.isinf(a) | jnp.isinf(b), np.asarray(np.inf, a.dtype), real), imag)

    return function(z)
