"""Reductions in columns: what XLA's loops for processors do not vectorise is reduced down the
columns of a table first.

XLA vectorises sums and extrema of floats along contiguous memory, but neither products nor
integers: those it takes one element at a time, 10 to 20 times slower. Down a column, every
operation is a vector operation. XLA would merge the two reductions again, hence the barrier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jax import lax
from jax import numpy as jnp

from ._declare import Array
from ._sizes import fewer, numbers

#: Smaller arrays are reduced at once.
SMALLEST = 16384
#: Columns of the table, and of each row's own table where only the last dimension is reduced.
WIDTH, ROW_WIDTH = 128, 32


def in_columns(
    reduce: Callable[..., Array], x: Array, dims: tuple[int, ...], keepdim: bool, rows: bool = False
) -> Array:
    """``reduce(x, axis=dims, keepdims=keepdim)``; ``rows`` says that this helps for the last
    dimension alone, too.

    Shapes: (*) -> (*) without ``dims``, which stay with size 1 if ``keepdim``.
    """

    def at_once(x: Array) -> Array:
        return reduce(x, axis=dims, keepdims=keepdim)

    def whole(x: Array) -> Array:
        flat = x.reshape(-1)
        full = flat.size // WIDTH * WIDTH
        parts = lax.optimization_barrier(
            reduce(flat[:full].reshape(-1, WIDTH), axis=0, keepdims=False)
        )
        if full < flat.size:
            parts = jnp.concatenate([parts, flat[full:].astype(parts.dtype)])
        return reduce(parts, axis=0, keepdims=False).reshape((1,) * x.ndim if keepdim else ())

    def last(x: Array) -> Array:
        table = x.reshape(*x.shape[:-1], -1, ROW_WIDTH)
        parts = lax.optimization_barrier(reduce(table, axis=-2, keepdims=False))
        return reduce(parts, axis=-1, keepdims=keepdim)

    if not numbers(x.size):
        return at_once(x)
    # halves: partial results would be rounded
    if fewer(x.size, SMALLEST) or np.dtype(x.dtype).kind == "c" or x.dtype.itemsize == 2:
        return at_once(x)
    if len(dims) == x.ndim:
        return lax.platform_dependent(x, cpu=whole, default=at_once)
    if (
        rows
        and dims == (x.ndim - 1,)
        and fewer(x.shape[-1] % ROW_WIDTH, 1)
        and not fewer(x.shape[-1], 8 * ROW_WIDTH)
    ):
        return lax.platform_dependent(x, cpu=last, default=at_once)
    return at_once(x)
