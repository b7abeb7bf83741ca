"""Functions of complex numbers whose special values are those of C: signs of zeros, infinities and
NaN, part by part.

XLA computes both parts by formulas that multiply zero by infinity there, and forgets on which side
of a branch cut a zero lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array
from ._hosted import hosted


def _with_derivative_of(
    plain: Callable[[Array], Array],
) -> Callable[[Callable[[Array], Array]], Callable[[Array], Array]]:
    """Gives a function the derivative of ``plain``: a choice between parts has that of one side
    only, as at imaginary parts of 0."""

    def decorate(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
        made = jax.custom_jvp(function)
        made.defjvp(
            lambda primals, tangents: (made(*primals), jax.jvp(plain, primals, tangents)[1])
        )
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
    real = jnp.where(
        endless, jnp.where(a > 0, a, _zero(a)), jnp.where(b == 0, size, size * jnp.cos(b))
    )
    imag = jnp.where(endless & (a < 0), _zero(a), jnp.where(b == 0, b, size * jnp.sin(b)))
    return lax.complex(real, imag)


@_with_derivative_of(jnp.exp2)
def exp2(z: Array) -> Array:
    """Two to the power of ``z``."""
    return exp(lax.complex(*(v * _number(math.log(2), v) for v in _parts(z))))


@_with_derivative_of(jnp.expm1)
def expm1(z: Array) -> Array:
    """``exp(z) - 1``, exact near 0; infinite or NaN beside a zero is NaN in the imaginary part, as
    in torch."""
    a, b = _parts(z)
    half = jnp.sin(b / 2)
    return lax.complex(jnp.expm1(a) * jnp.cos(b) - 2 * half * half, jnp.exp(a) * jnp.sin(b))


@_with_derivative_of(jnp.log1p)
def log1p(z: Array) -> Array:
    """``log(1 + z)``, exact near 0, and near -1 too; NaN beside an infinity is NaN, as in torch."""
    a, b = _parts(z)
    near = jnp.log1p(a * (a + 2) + b * b) / 2
    real = jnp.where(magnitude(z) < 0.5, jnp.where(z == 0, a, near), jnp.log(hypotenuse(a + 1, b)))
    return lax.complex(
        jnp.where(jnp.isnan(z), np.asarray(np.nan, a.dtype), real), jnp.arctan2(b, a + 1)
    )


@_with_derivative_of(jnp.sinh)
def sinh(z: Array) -> Array:
    """The hyperbolic sine."""
    a, b = _parts(z)
    turn = jnp.cos(b)
    real = jnp.where(
        (a == 0) | (jnp.isinf(a) & ~jnp.isfinite(b)), jnp.where(turn < 0, -a, a), jnp.sinh(a) * turn
    )
    real = jnp.where(b == 0, jnp.sinh(a), real)
    return lax.complex(real, jnp.where(b == 0, b, jnp.cosh(a) * jnp.sin(b)))


@_with_derivative_of(jnp.cosh)
def cosh(z: Array) -> Array:
    """The hyperbolic cosine."""
    a, b = _parts(z)
    real = jnp.where(jnp.isinf(a) & ~jnp.isfinite(b), jnp.abs(a), jnp.cosh(a) * jnp.cos(b))
    real = jnp.where(b == 0, jnp.cosh(a), real)
    imag = jnp.where((a == 0) & ~jnp.isfinite(b), _zero(a), jnp.sinh(a) * jnp.sin(b))
    return lax.complex(
        real,
        jnp.where(b == 0, jnp.copysign(_zero(a), a) * jnp.copysign(np.ones((), b.dtype), b), imag),
    )


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


def _number(value: float, x: Array) -> np.ndarray:
    return np.asarray(value, x.dtype)


@_with_derivative_of(jnp.arcsinh)
def asinh(z: Array) -> Array:
    """The inverse hyperbolic sine; signs of zeros tell on which side of the cuts along the
    imaginary axis a number lies."""
    a, b = _parts(z)
    real, imag = _parts(jnp.arcsinh(z))
    real = jnp.where(jnp.isnan(a) & jnp.isfinite(b), a, jnp.copysign(real, a))
    return lax.complex(real, jnp.where(jnp.isnan(a) & (b == 0), b, jnp.copysign(imag, b)))


@_with_derivative_of(jnp.arccosh)
def acosh(z: Array) -> Array:
    """The inverse hyperbolic cosine; the sign of a zero tells on which side of the cut below 1 a
    number lies."""
    a, b = _parts(z)
    real, imag = _parts(jnp.arccosh(z))
    unknown = jnp.isnan(b)
    real = jnp.where(unknown & jnp.isfinite(a), b, real)
    return lax.complex(
        real, jnp.where(unknown & (a == 0), _number(np.pi / 2, a), jnp.copysign(imag, b))
    )


@_with_derivative_of(jnp.arctanh)
def atanh(z: Array) -> Array:
    """The inverse hyperbolic tangent; signs of zeros tell on which side of the cuts beyond -1 and 1
    a number lies."""
    a, b = _parts(z)
    real, imag = _parts(jnp.arctanh(z))
    # Next to 1, where the square of a small distance is 0.
    near = (jnp.log(jnp.hypot(_number(2, b), b)) - jnp.log(jnp.abs(b))) / 2
    real = jnp.copysign(jnp.where((jnp.abs(a) == 1) & (b != 0) & jnp.isfinite(b), near, real), a)
    imag = jnp.copysign(imag, b)
    nowhere = np.asarray(np.nan, a.dtype)
    real = jnp.where(
        jnp.isnan(b),
        jnp.where(jnp.isinf(a), jnp.copysign(_zero(a), a), jnp.where(a == 0, a, nowhere)),
        real,
    )
    real = jnp.where(
        jnp.isnan(a), jnp.where(jnp.isinf(b), jnp.copysign(_zero(a), a), nowhere), real
    )
    imag = jnp.where(jnp.isnan(b) | (jnp.isnan(a) & ~jnp.isinf(b)), nowhere, imag)
    return lax.complex(real, imag)


@_with_derivative_of(jnp.arcsin)
def asin(z: Array) -> Array:
    """The inverse sine."""
    return _turned_back(asinh(_turned(z)))


@_with_derivative_of(jnp.arccos)
def acos(z: Array) -> Array:
    """The inverse cosine; in double precision torch subtracts the imaginary part from zero, so that
    one of zero is positive."""
    a, b = _parts(z)
    real, imag = _parts(jnp.arccos(z))
    unknown = jnp.isnan(b) & jnp.isfinite(a)
    real = jnp.where(unknown, jnp.where(a == 0, _number(np.pi / 2, a), b), real)
    imag = jnp.copysign(imag, b)
    return lax.complex(
        real, jnp.where(unknown, b, -imag if z.dtype == np.complex64 else _zero(b) - imag)
    )


@_with_derivative_of(jnp.arctan)
def atan(z: Array) -> Array:
    """The inverse tangent."""
    return _turned_back(atanh(_turned(z)))


@_with_derivative_of(jnp.sqrt)
def sqrt(z: Array) -> Array:
    """The square root; the sign of a zero tells on which side of the negative numbers it lies."""
    a, b = _parts(z)
    real, imag = _parts(jnp.sqrt(z))
    unknown = jnp.isinf(a) & jnp.isnan(b)
    real = jnp.where(jnp.isinf(b) | (unknown & (a > 0)), np.asarray(np.inf, a.dtype), jnp.abs(real))
    imag = jnp.where(
        jnp.isinf(b),
        b,
        jnp.where(unknown & (a < 0), np.asarray(np.inf, a.dtype), jnp.copysign(imag, b)),
    )
    return lax.complex(real, imag)


@hosted(lambda: np.hypot, ns=8)
def hypotenuse(input: Array, other: Array) -> Array:
    """``sqrt(input**2 + other**2)``, rounded once, or nearly so in double precision."""
    x, y = (v.astype(np.float64) for v in (input, other))
    # only there do the squares leave the range: a power of two brings them back, and costs no digit
    if input.dtype == np.float64:
        large = jnp.maximum(jnp.abs(x), jnp.abs(y))
        scale = jnp.where(large > 2.0**500, 2.0**-600, jnp.where(large < 2.0**-500, 2.0**600, 1.0))
        found = jnp.sqrt((x * scale) ** 2 + (y * scale) ** 2) / scale
    else:
        found = jnp.sqrt(x * x + y * y)
    infinite = jnp.isinf(x) | jnp.isinf(y)  # even beside NaN
    return jnp.where(infinite, jnp.asarray(np.inf, found.dtype), found).astype(input.dtype)


@_with_derivative_of(jnp.abs)
def magnitude(z: Array) -> Array:
    """The absolute value: infinite if a part is, whatever the other."""
    return hypotenuse(*_parts(z))


@jax.custom_jvp
def quotient(x: Array, y: Array) -> Array:
    """``x / y``, with the larger part of the divisor divided out first, as in torch."""
    (a, b), (c, d) = _parts(x), _parts(y)
    left = jnp.abs(c) >= jnp.abs(d)
    ratio = jnp.where(left, d / c, c / d)
    scale = 1 / jnp.where(left, c + d * ratio, c * ratio + d)
    real = jnp.where(left, a + b * ratio, a * ratio + b) * scale
    imag = jnp.where(left, b - a * ratio, b * ratio - a) * scale
    none = (c == 0) & (d == 0)
    return lax.complex(jnp.where(none, a / jnp.abs(c), real), jnp.where(none, b / jnp.abs(d), imag))


@quotient.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    found = quotient(x, y)
    return found, (dx - found * dy) / y


def logarithm(plain: Callable[[Array], Array], z: Array) -> Array:
    """A logarithm, ``plain`` for other numbers: its real part is infinite if a part of ``z`` is,
    whatever the other."""

    @_with_derivative_of(plain)
    def function(z: Array) -> Array:
        a, b = _parts(z)
        real, imag = _parts(plain(z))
        return lax.complex(
            jnp.where(jnp.isinf(a) | jnp.isinf(b), np.asarray(np.inf, a.dtype), real), imag
        )

    return function(z)


def _recovered(x: Array, y: Array, found: Array) -> Array:
    """A product in which infinite factors stand, and that came out as NaN: the infinity that C's
    rules make of it."""
    (a, b), (c, d) = _parts(x), _parts(y)

    def boxed(v: Array) -> Array:
        return jnp.copysign(jnp.isinf(v).astype(v.dtype), v)

    def without_nan(v: Array, where: Array) -> Array:
        return jnp.where(where & jnp.isnan(v), jnp.copysign(_zero(v), v), v)

    first, second = jnp.isinf(a) | jnp.isinf(b), jnp.isinf(c) | jnp.isinf(d)
    overflow = (
        ~first
        & ~second
        & (jnp.isinf(a * c) | jnp.isinf(b * d) | jnp.isinf(a * d) | jnp.isinf(b * c))
    )
    a, b = (without_nan(jnp.where(first, boxed(v), v), second | overflow) for v in (a, b))
    c, d = (without_nan(jnp.where(second, boxed(v), v), first | overflow) for v in (c, d))
    endless = np.asarray(np.inf, a.dtype)
    lost = jnp.isnan(lax.real(found)) & jnp.isnan(lax.imag(found)) & (first | second | overflow)
    return jnp.where(lost, lax.complex(endless * (a * c - b * d), endless * (a * d + b * c)), found)


@jax.custom_jvp
def power(x: Array, y: Array) -> Array:
    """``x ** y`` as C defines it: the exponential of ``y`` times the logarithm of ``x``."""
    (a, b), (c, d) = _parts(y), _parts(logarithm(jnp.log, x))
    return exp(_recovered(y, lax.complex(c, d), lax.complex(a * c - b * d, a * d + b * c)))


@power.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    return power(*primals), jax.jvp(jnp.power, primals, tangents)[1]
