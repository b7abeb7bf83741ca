"""Sums of the rows of a table in bags, without the rows being put together before they are
added."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host.direct import weighted_rows
from ..engine.host.rules import CALL, Equation
from ._declare import Array
from ._hosted import hosted
from .searching import ranks

#: XLA adds up to so many columns at once, each element's sums in registers, and for more columns
#: reads the indices again.
_AT_ONCE = 16
#: So many at a time if there are more, and no more than this in all: compiling takes 5 ms a column.
_AT_A_TIME, _MOST = 8, 64


def sums_of_bags(table: Array, indices: Array) -> Array:
    """The sums of the rows of ``table`` that each row of ``indices`` names, which must be in range.

    Shapes: (n, d), (b, w) -> (b, d).
    """
    return (_sums if table.shape[1] <= _AT_ONCE else _sums_of_many)(table, indices)


#: Rows of no more elements altogether are put together: loading SciPy's loops takes 5 ms.
_FEW = 1 << 12


def _by_scipy() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def sums(table: np.ndarray, indices: np.ndarray) -> np.ndarray:
        (count, width), last = indices.shape, table.shape[0] - 1
        if 0 < indices.size * table.shape[1] <= _FEW:
            return np.add.reduce(table.take(indices, 0, None, "clip"), axis=1, initial=0)
        # Wrong ones come here too, where an error is on its way; SciPy's loop would read whatever
        # memory they name.
        if (
            indices.size
            and not np.maximum.reduce(indices.view(f"u{indices.itemsize}"), None) <= last
        ):
            indices = np.clip(indices, 0, last)
        ends = np.arange(count + 1, dtype=indices.dtype) * indices.dtype.type(width)
        ones = np.ones(indices.size, table.dtype)
        return weighted_rows()(table, indices.reshape(-1), ends, ones)

    return sums


def _cost(e: Equation) -> float:
    return 25 * CALL + e.ins[1].size * (3e-9 + 0.1e-9 * e.ins[0].shape[1])


def _formula(table: Array, indices: Array) -> Array:
    def whole(table: Array, indices: Array) -> Array:
        return jnp.sum(jnp.take(table, indices, axis=0, mode="clip"), axis=1)

    columns = table.shape[1]
    if columns > _MOST:
        return whole(table, indices)
    at_a_time = _AT_ONCE if columns <= _AT_ONCE else _AT_A_TIME
    return lax.platform_dependent(
        table, indices, cpu=functools.partial(_by_columns, at_a_time=at_a_time), default=whole
    )


def _by_columns(table: Array, indices: Array, at_a_time: int) -> Array:
    """The same as reductions of several columns each: one of rows would look up each index once for
    each of its elements."""
    sums: list[Array] = []
    for first in range(0, table.shape[1], at_a_time):
        columns = [
            jnp.take(table[:, k], indices, mode="clip")
            for k in range(first, min(first + at_a_time, table.shape[1]))
        ]
        zeros = [np.zeros((), table.dtype)] * len(columns)
        sums += lax.reduce(
            columns, zeros, lambda a, b: [x + y for x, y in zip(a, b, strict=True)], (1,)
        )
    return jnp.stack(sums, axis=1)


def _shape(table: Array, indices: Array) -> tuple[int, ...]:
    return indices.shape[0], table.shape[1]


_sums = hosted(_by_scipy, elementwise=False, alike=False, mixed=True, cost=_cost, shape=_shape)(
    _formula
)


@hosted(_by_scipy, elementwise=False, alike=False, mixed=True, cost=_cost, kept=True, shape=_shape)
def _sums_of_many(table: Array, indices: Array) -> Array:
    return _formula(table, indices)


def bag_of_each(offsets: Array, n: int) -> Array:
    """The bag that each of ``n`` positions belongs to: the last one whose offset is not beyond
    it."""
    return ranks(offsets, lax.iota(offsets.dtype, n), True).astype(np.int32) - np.int32(1)


def sums_of_unequal_bags(
    table: Array, indices: Array, offsets: Array, weights: Array | None, last: bool, padding: int
) -> Array:
    """The sums of the rows of ``table`` in bags that begin at ``offsets``, of which the last one
    ends the last bag if ``last``.

    Each row is multiplied by its one of ``weights``, if there are any; the row ``padding`` counts
    for nothing.

    Shapes: (n, d), (i), (b), (i) -> (b, d), or (b - 1, d) if ``last``.
    """
    options = {"last": int(last), "padding": padding}
    return (
        _unequal(table, indices, offsets, **options)
        if weights is None
        else _weighted(table, indices, offsets, weights, **options)
    )


def _by_offsets(last: int, padding: int) -> Callable[..., np.ndarray]:
    def sums(
        table: np.ndarray,
        indices: np.ndarray,
        offsets: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        # What is wrong comes here too, where an error is on its way: then it must only be inside.
        ends = np.minimum(np.maximum.accumulate(offsets.astype(np.int64)), indices.size)
        ends = np.maximum(ends, 0) if last else np.append(np.maximum(ends, 0), indices.size)
        if padding >= 0:
            used = indices != padding
            ends = np.append(0, np.cumsum(used))[ends]
            indices, weights = indices[used], None if weights is None else weights[used]
        if indices.size and not np.maximum.reduce(indices.view(f"u{indices.itemsize}"), None) < len(
            table
        ):
            indices = np.clip(indices, 0, len(table) - 1)
        factors = np.ones(indices.size, table.dtype) if weights is None else weights
        begin = int(ends[0])  # not 0 only if an error is on its way
        return weighted_rows()(table, indices[begin:], ends - begin, factors[begin:])

    return sums


def _unequal_cost(e: Equation) -> float:
    return 30 * CALL + e.ins[1].size * (3e-9 + 0.1e-9 * e.ins[0].shape[1])


def _by_scattering(
    table: Array, indices: Array, offsets: Array, weights: Array | None, last: int, padding: int
) -> Array:
    count, bag = offsets.shape[0] - last, bag_of_each(offsets, indices.shape[0])
    used = (indices != padding) & (bag >= 0) & (bag < count)
    rows = jnp.take(table, indices, axis=0, mode="clip")
    if weights is not None:
        rows = rows * weights[:, None]
    rows = jnp.where(used[:, None], rows, np.zeros((), rows.dtype))
    return (
        jnp.zeros((count, table.shape[1]), table.dtype)
        .at[bag]
        .add(rows, mode="drop", wrap_negative_indices=False)
    )


@hosted(_by_offsets, elementwise=False, alike=False, mixed=True, cost=_unequal_cost, kept=True)
def _unequal(table: Array, indices: Array, offsets: Array, *, last: int, padding: int) -> Array:
    """Without weights."""
    return _by_scattering(table, indices, offsets, None, last, padding)


@hosted(_by_offsets, elementwise=False, alike=False, mixed=True, cost=_unequal_cost, kept=True)
def _weighted(
    table: Array, indices: Array, offsets: Array, weights: Array, *, last: int, padding: int
) -> Array:
    """With weights."""
    return _by_scattering(table, indices, offsets, weights, last, padding)
