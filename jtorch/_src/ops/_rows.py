"""Rows that are taken and written at positions, in JAX's primitives: what ``x[i]`` and
``x.at[i].add`` become, without JAX's look at all that an index may be. That look takes most of
tracing such a kernel, and programs on graphs trace them for new sizes in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from ._sizes import fewer
from ._sizes import numbers as known

if TYPE_CHECKING:
    from ..facts.kinds import Row


Array = Any

_WRITTEN: dict[str, Callable[..., Array]] = {
    "set": lax.scatter,
    "add": lax.scatter_add,
    "multiply": lax.scatter_mul,
    "max": lax.scatter_max,
    "min": lax.scatter_min,
}


def positions_of_rows(x: Array, index: Row) -> Array | None:
    """The positions that ``index`` names rows of ``x`` by; None where it says more or is one
    number, or sizes are unknown or zero."""
    if len(index) != 1 or isinstance(index[0], slice) or not x.ndim or not index[0].ndim:
        return None
    sizes = (*x.shape, *index[0].shape)
    return index[0] if known(*sizes) and 0 not in sizes else None


def _places(x: Array, positions: Array) -> Array:
    """Positions as the primitives take them, counted in as few bits as JAX has for the sizes of
    ``x``."""
    return lax.expand_dims(lax.convert_element_type(positions, _kind(x)), (positions.ndim,))


def _kind(x: Array) -> Any:
    """The dtype of positions in ``x``."""
    return np.int32 if all(fewer(n, 2**31) for n in x.shape) else np.int64


def elements_added(x: Array, grid: Sequence[Array], values: Array) -> Array:
    """``x`` with ``values`` added to single elements at positions that lie in range: for each
    dimension an array of them, which may have size 1 where that of the values is another."""
    kind, n = _kind(x), values.ndim
    places = [
        lax.broadcast_in_dim(lax.convert_element_type(i, kind), (*values.shape, 1), range(n))
        for i in grid
    ]
    at = lax.concatenate(places, n)
    axes = tuple(range(x.ndim))
    numbers = lax.ScatterDimensionNumbers(
        (), inserted_window_dims=axes, scatter_dims_to_operand_dims=axes
    )
    return lax.scatter_add(x, at, values, numbers, mode="promise_in_bounds")


def rows(x: Array, positions: Array) -> Array:
    """``x[positions]``, which lie in range."""
    at = positions.ndim
    numbers = lax.GatherDimensionNumbers(
        tuple(range(at, at + x.ndim - 1)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return lax.gather(
        x, _places(x, positions), numbers, (1, *x.shape[1:]), mode="promise_in_bounds"
    )


def with_rows(x: Array, positions: Array, values: Array, how: str) -> Array:
    """``x`` with rows set, or added to, and so on, at positions that lie in range. Shapes: x (n,
    *), positions (p), values (p, *)."""
    at = positions.ndim
    numbers = lax.ScatterDimensionNumbers(
        tuple(range(at, at + x.ndim - 1)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
    )
    return _WRITTEN[how](x, _places(x, positions), values, numbers, mode="promise_in_bounds")
