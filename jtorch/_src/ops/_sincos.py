"""Sine and cosine of float32 on CPU, where XLA calls the C library for one element at a time: the same accuracy, vectorised."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array
from ._hosted import hosted

#: 2 / pi in pieces of 29 bits, the first one's last bit worth 2**-29. Products with the 24 bits of a float32 are exact in float64, and
#: seven pieces reach far enough to reduce the largest float32 exactly.
_TWO_OVER_PI = (341782637, 423170132, 352195499, 488592205, 461485765, 90590992, 478285810)

# Source: Stephen L. Moshier, Cephes Mathematical Library, release 2.8: sinf.c, on [-pi/4, pi/4].
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)


def sine_and_cosine(x: Array, quarter_turns: int) -> tuple[Array, Array, Array]:
    """The sine and the cosine of what remains of ``x`` beyond whole quarter turns, and the number of those plus ``quarter_turns``."""
    double = x.astype(np.float64)
    turns = jnp.zeros_like(double)
    for i in range(len(_TWO_OVER_PI) - 1, -1, -1):
        product = double * math.ldexp(_TWO_OVER_PI[i], -29 * (i + 1))
        turns = turns + (product - 4 * jnp.round(product * 0.25))
    quarter = jnp.round(turns)
    r = ((turns - quarter) * (math.pi / 2)).astype(np.float32)
    z = r * r
    sine = ((_SINE[0] * z + _SINE[1]) * z + _SINE[2]) * z * r + r
    cosine = ((_COSINE[0] * z + _COSINE[1]) * z + _COSINE[2]) * z * z - 0.5 * z + 1
    return sine, cosine, jnp.where(jnp.isnan(quarter), 0, quarter).astype(np.int32) + quarter_turns


def _vectorised(x: Array, quarter_turns: int) -> Array:
    """The sine of ``x + quarter_turns * pi / 2``."""
    sine, cosine, quarter = sine_and_cosine(x, quarter_turns)
    found = jnp.where(quarter & 1 == 1, cosine, sine)
    found = jnp.where(quarter & 2 == 2, -found, found)
    return found if quarter_turns else jnp.where(x == 0, x, found)


def _by_platform(x: Array, quarter_turns: int, elsewhere: Any) -> Array:
    if x.dtype != np.float32:
        return elsewhere(x)
    return lax.platform_dependent(x, cpu=functools.partial(_vectorised, quarter_turns=quarter_turns), default=elsewhere)


@jax.custom_jvp
@hosted(lambda: np.sin, ns=4)
def sin(x: Array) -> Array:
    """The sine."""
    return _by_platform(x, 0, lax.sin)


@jax.custom_jvp
@hosted(lambda: np.cos, ns=4)
def cos(x: Array) -> Array:
    """The cosine."""
    return _by_platform(x, 1, lax.cos)


@sin.defjvp
def _sin_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return sin(*primals), cos(*primals) * tangents[0]


@cos.defjvp
def _cos_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return cos(*primals), -sin(*primals) * tangents[0]
