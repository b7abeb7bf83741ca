"""Running sums, products and extrema on the CPU: one pass over the rows of an array, with an
accumulator for each column.

XLA computes a running sum by log2(n) passes over the whole array, which is what an accelerator
needs. A processor does better with one loop along the dimension, whose steps are vectors over all
the other elements. Sums and products of floats are accumulated in float64, as PyTorch's are, so
that results are the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.native import extension
from . import _loops
from ._declare import Array
from ._hosted import INTEGERS, REALS, hosted
from ._sizes import fewer, numbers

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Smaller arrays are scanned by XLA: there is nothing to gain.
SMALLEST = 4096
#: With fewer columns than this, the dimension is cut into blocks, which are scanned side by side.
COLUMNS = 128

Combine = Callable[[Array, Array], Array]

#: ``running(x, axis, product, reverse)`` in C (``native/running.c``); None where there is no
#: extension.
_in_c = getattr(extension(), "running", None)
#: The dtypes that the host computes faster than XLA.
_HOSTED = INTEGERS if _in_c is None else REALS


def running(
    x: Array,
    axis: int,
    combine: Combine,
    scan: Callable[..., Array],
    total: Function | None = None,
    reverse: bool = False,
) -> Array:
    """``combine`` applied along an axis, from the first element to each; ``scan`` is XLA's function
    that does it, ``total`` its reduction.

    Shapes: (*) -> (*).
    """

    if (
        total is not None
        and type(x.size) is int
        and x.size >= SMALLEST
        and x.dtype in _HOSTED
        and (axis == x.ndim - 1 or _in_c is not None)
    ):
        return _along(x, axis=axis, product=int(combine is lax.mul), reverse=int(reverse))
    return _running(x, axis, combine, scan, total, reverse)


def _on_host(axis: int, product: int, reverse: int) -> Callable[[np.ndarray], np.ndarray]:
    accumulate = (np.multiply if product else np.add).accumulate
    whole = slice(None)
    back = (*[whole] * axis, slice(None, None, -1))

    def compute(x: np.ndarray) -> np.ndarray:
        if _in_c is not None and x.itemsize >= 4:
            return _in_c(x, axis, product, reverse)
        return accumulate(x[back], axis, x.dtype)[back] if reverse else accumulate(x, axis, x.dtype)

    return compute


@hosted(_on_host, ns=1.0, calls=2, dtypes=_HOSTED, elementwise=False, keeps=True, kept=True)
def _along(x: Array, *, axis: int, product: int, reverse: int) -> Array:
    """Running sums, or products: by the extension in C in half of the time of XLA's; of integers
    along the last dimension by NumPy in a fifth, as XLA turns the array around twice."""
    combine, scan, total = (
        (lax.mul, lax.cumprod, jnp.prod) if product else (lax.add, lax.cumsum, jnp.sum)
    )
    return _running(x, axis, combine, scan, total, bool(reverse))


def _running(
    x: Array, axis: int, combine: Combine, scan: Callable[..., Array], total: Any, reverse: bool
) -> Array:
    def by_xla(x: Array) -> Array:
        return scan(x, axis=axis, reverse=reverse)

    def precisely(x: Array) -> Array:
        return by_xla(x.astype(np.float64)).astype(x.dtype)

    accurate = total is not None and x.dtype.kind == "f" and x.dtype.itemsize < 8
    if _worthwhile(x, axis):
        return lax.platform_dependent(
            x,
            cpu=lambda x: _by_rows(x, axis, combine, scan, total, reverse, accurate),
            default=by_xla,
        )
    return lax.platform_dependent(x, cpu=precisely, default=by_xla) if accurate else by_xla(x)


def _worthwhile(x: Array, axis: int) -> bool:
    if (
        not numbers(x.size)
        or fewer(x.size, SMALLEST)
        or fewer(x.shape[axis], 8)
        or x.dtype.kind == "c"
    ):
        return False
    # turning wide elements around costs more than it brings
    return x.dtype.itemsize <= 4 or math.prod(x.shape[axis + 1 :]) > 1


def _by_rows(
    x: Array,
    axis: int,
    combine: Combine,
    scan: Callable[..., Array],
    total: Any,
    reverse: bool,
    accurate: bool,
) -> Array:
    n = x.shape[axis]
    moved = jnp.moveaxis(x, axis, 0)
    rows = moved.reshape(n, -1)
    columns = rows.shape[1]
    first = None
    blocks = 1
    neutral: Any = None
    if total is not None:
        neutral = total(jnp.zeros(0, x.dtype), axis=0, dtype=x.dtype)
        first = jnp.full(columns, neutral, np.dtype(np.float64) if accurate else x.dtype)
    if total is not None and columns < COLUMNS:
        blocks = min(-(-COLUMNS * 4 // columns), n // 8)
        length = -(-n // blocks)
        rest = jnp.full((length * blocks - n, columns), neutral, x.dtype)
        rows = jnp.concatenate([rest, rows] if reverse else [rows, rest])
        rows = rows.reshape(blocks, length, columns).swapaxes(0, 1).reshape(length, -1)
        rows = lax.optimization_barrier(rows)
        sums = total(rows, axis=0, dtype=np.dtype(np.float64) if accurate else rows.dtype).reshape(
            blocks, columns
        )
        before = scan(sums, axis=0, reverse=reverse)
        nothing = jnp.full((1, columns), neutral, before.dtype)
        first = jnp.concatenate(
            [before[1:], nothing] if reverse else [nothing, before[:-1]]
        ).reshape(-1)
    elif axis:
        rows = lax.optimization_barrier(rows)
    out = _loop(rows, combine, first, reverse, accurate)
    if blocks > 1:
        out = out.reshape(-1, blocks, columns).swapaxes(0, 1).reshape(-1, columns)
        out = out[-n:] if reverse else out[:n]
    return jnp.moveaxis(out.reshape(moved.shape), 0, axis)


def _loop(
    rows: Array, combine: Combine, first: Array | None, reverse: bool, accurate: bool
) -> Array:
    n = rows.shape[0]
    # Memory of its own, that nothing is copied into first: XLA would merge that copy with what
    # turns the array around, and do both slowly.
    empty = jnp.zeros(rows.shape, rows.dtype)

    def wide(row: Array) -> Array:
        return row.astype(np.float64) if accurate else row

    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        accumulated, out = state
        place = n - 1 - k if reverse else k
        accumulated = combine(accumulated, wide(lax.dynamic_index_in_dim(rows, place, 0, False)))
        return accumulated, lax.dynamic_update_index_in_dim(
            out, accumulated.astype(rows.dtype), place, 0
        )

    if first is None:
        start = rows[-1 if reverse else 0]
        return _loops.fori_loop(
            1,
            n,
            step,
            (
                wide(start),
                lax.dynamic_update_index_in_dim(empty, start, n - 1 if reverse else 0, 0),
            ),
        )[1]
    return _loops.fori_loop(0, n, step, (first, empty))[1]


def running_extremum(
    x: Array, axis: int, beats: Combine, elsewhere: Callable[[Array], tuple[Array, Array]]
) -> tuple[Array, Array]:
    """The running extremum along an axis and where it stands (the last of equal ones);
    ``beats(new, old)`` says which counts.

    Shapes: (*) -> (*), (*).
    """
    if (
        not _worthwhile(x, axis)
        or x.dtype.itemsize > 4
        or math.prod(x.shape) // x.shape[axis] < COLUMNS // 2
    ):
        return elsewhere(x)
    return lax.platform_dependent(
        x, cpu=lambda x: _extremum_by_rows(x, axis, beats), default=elsewhere
    )


def _extremum_by_rows(x: Array, axis: int, beats: Combine) -> tuple[Array, Array]:
    moved = jnp.moveaxis(x, axis, 0)
    rows = moved.reshape(x.shape[axis], -1)
    if axis:
        rows = lax.optimization_barrier(rows)

    def step(k: object, state: tuple[Array, ...]) -> tuple[Array, ...]:
        best, where, values, places = state
        row = lax.dynamic_index_in_dim(rows, k, 0, False)
        new = beats(row, best)
        best = jnp.where(new, row, best)
        where = jnp.where(new, jnp.asarray(k, np.int32), where)
        return (
            best,
            where,
            lax.dynamic_update_index_in_dim(values, best, k, 0),
            lax.dynamic_update_index_in_dim(places, where, k, 0),
        )

    nowhere = jnp.zeros(rows.shape[1], np.int32)
    _, _, values, places = _loops.fori_loop(
        1, rows.shape[0], step, (rows[0], nowhere, rows, jnp.zeros(rows.shape, np.int32))
    )
    values, places = [jnp.moveaxis(a.reshape(moved.shape), 0, axis) for a in (values, places)]
    if axis:
        places = lax.optimization_barrier(places)  # turned around first: half as many bytes
    return values, places.astype(np.int64)
