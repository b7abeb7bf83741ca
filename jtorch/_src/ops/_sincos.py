"""Sine and cosine: XLA's, and NumPy's on the host."""

from __future__ import annotations

import jax
import numpy as np
from jax import Array, lax

from ._hosted import hosted


@jax.custom_jvp
@hosted(lambda: np.sin, ns=1, kept=True)
def sin(x: Array) -> Array:
    """The sine."""
    return lax.sin(x)


@jax.custom_jvp
@hosted(lambda: np.cos, ns=1, kept=True)
def cos(x: Array) -> Array:
    """The cosine."""
    return lax.cos(x)


@sin.defjvp
def _sin_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return sin(*primals), cos(*primals) * tangents[0]


@cos.defjvp
def _cos_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return cos(*primals), -sin(*primals) * tangents[0]
