"""How XLA is told of the larger and the smaller of two on the CPU: as a choice.

Its own operations lose nan there where they are fused into a sum (decision 0110):
``maximum(x, 0).sum()`` of some thousand numbers is finite whatever they are. Comparisons and a
choice take as long by themselves, and twice as long where a sum follows. What JAX programs of the
same process say goes the same way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import mlir


def _chosen(
    x: jax.Array,
    y: jax.Array,
    *,
    compare: Callable[[jax.Array, jax.Array], jax.Array],
    **_: object,
) -> jax.Array:
    """``x`` where it is the one asked for or nan, else ``y``, which may be nan, too."""
    x, y = jnp.broadcast_arrays(x, y)  # one may be a number
    if np.issubdtype(x.dtype, np.complexfloating):  # by the real parts, then by the imaginary ones
        a, b = lax.real(x), lax.real(y)
        first = compare(a, b) | (lax.eq(a, b) & compare(lax.imag(x), lax.imag(y)))
    elif jnp.issubdtype(x.dtype, np.floating):
        first = compare(x, y) | lax.ne(x, x)
    else:
        first = compare(x, y)
    return lax.select(first, x, y)


def tell() -> None:
    """Has JAX lower both so from now on."""
    for primitive, compare in ((lax.max_p, lax.gt), (lax.min_p, lax.lt)):
        chosen = functools.partial(_chosen, compare=compare)
        mlir.register_lowering(
            primitive, mlir.lower_fun(chosen, multiple_results=False), platform="cpu"
        )
