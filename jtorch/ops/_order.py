"""Sorting along one dimension with torch's order: NaN is larger than everything, -0. equals 0., equal elements keep their order."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import dtypes
from ..engine.host.direct import count_nonzero
from ..engine.intervals import in_range
from . import _loops
from ._axes import category, positions, take_along
from ._declare import Array
from ._hosted import FEW, REALS, hosted
from ._sizes import fewer


def _key32(x: Array) -> Array | None:
    """An int32 key of the same order for dtypes of up to 32 bits, else None."""
    kind = category(x.dtype)
    if kind == dtypes.FLOATING and x.dtype.itemsize <= 4:
        x = x.astype(np.float32)
        x = jnp.where(jnp.isnan(x), jnp.full((), np.nan, np.float32), jnp.where(x == 0, jnp.zeros((), np.float32), x))  # one NaN, one zero
        bits = lax.bitcast_convert_type(x, np.int32)
        return jnp.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    if kind <= dtypes.INTEGRAL and (x.dtype.itemsize < 4 or x.dtype == np.int32):
        return x.astype(np.int32)
    return None


def _flip(x: Array, axis: int) -> Array:
    return lax.rev(x, (axis,))


def argsort_along(x: Array, axis: int, descending: bool = False) -> Array:
    """The stable order of ``x`` along ``axis`` in int64."""
    order = _stable_order(x, axis=axis, descending=descending)
    return in_range(order, 0, x.shape[axis] - 1) if x.size else order


def _by_numpy(axis: int, descending: bool) -> Callable[[np.ndarray], np.ndarray]:
    argsort = functools.partial(np.ndarray.argsort, axis=axis, kind="stable")
    if not descending:
        return argsort
    back = (slice(None),) * axis + (slice(None, None, -1),)

    def order(x: np.ndarray) -> np.ndarray:  # of what is reversed, reversed: so equal elements stay in order
        return np.subtract(x.shape[axis] - 1, argsort(x[back])[back])

    return order


@hosted(_by_numpy, ns=70, calls=3, dtypes=REALS, elementwise=False, most=FEW)
def _stable_order(x: Array, *, axis: int, descending: bool) -> Array:
    """The stable order of ``x`` along ``axis`` in int64.

    Keys of 32 bits are packed with the positions into one int64 each: XLA sorts single integers on CPUs four to seven times faster than
    pairs.
    """
    n = x.shape[axis]
    key = _key32(x)
    if key is not None and n <= np.iinfo(np.int32).max:
        packed = (key.astype(np.int64) ^ (-1 if descending else 0)) << 32
        packed = lax.sort(packed | positions(x, axis).astype(np.int64), dimension=axis, is_stable=False)
        return packed & 0xFFFFFFFF
    if descending:  # reversing twice keeps equal elements in order
        return n - 1 - _flip(_stable_order(_flip(x, axis), axis=axis, descending=False), axis)
    return lax.sort((x, positions(x, axis)), dimension=axis, is_stable=True, num_keys=1)[1].astype(np.int64)


def sort_along(x: Array, axis: int, descending: bool = False) -> tuple[Array, Array]:
    """``x`` sorted along ``axis``, and the places its elements came from."""
    index = argsort_along(x, axis, descending)
    return take_along(x, index, axis), index


def sorted_values(x: Array, axis: int) -> Array:
    """``x`` sorted along ``axis``, without the order."""
    key = _key32(x)
    if key is None:
        return lax.sort(x, dimension=axis, is_stable=False)
    key = lax.sort(key, dimension=axis, is_stable=False)
    if category(x.dtype) < dtypes.FLOATING:
        return key.astype(x.dtype)
    bits = jnp.where(key < 0, key ^ np.int32(0x7FFFFFFF), key)
    return lax.bitcast_convert_type(bits, np.float32).astype(x.dtype)


#: From this length on an element is found by counting: 32 passes that vectorise, instead of sorting.
_COUNTED = 256


#: Ranks that depend on the elements: of the lower median, NaN if there is one, and of that of the numbers alone.
MEDIAN, MEDIAN_OF_NUMBERS = -1, -2


def selected(x: Array, axis: int, rank: int) -> tuple[Array, Array]:
    """The elements of ``rank`` (from 0, or ``MEDIAN``) in the order along ``axis``, which stays, and the first places where they stand."""
    index = in_range(_selected_place(x, axis=axis, rank=rank), 0, x.shape[axis] - 1)
    return take_along(x, index, axis), index


def _rank(x: Array, axis: int, rank: int) -> Array:
    """The rank along ``axis``: of a median, the lower middle of all, or of the numbers, or the first NaN."""
    n = x.shape[axis]
    if rank >= 0 or category(x.dtype) < dtypes.FLOATING:
        return jnp.full([1 if d == axis else s for d, s in enumerate(x.shape)], rank if rank >= 0 else (n - 1) // 2, np.int64)
    numbers = jnp.sum(~jnp.isnan(x), axis=axis, keepdims=True, dtype=np.int64)
    if rank == MEDIAN_OF_NUMBERS:
        return jnp.maximum((numbers - 1) // 2, 0)
    return jnp.where(numbers < n, numbers, (n - 1) // 2)


def _places_by_numpy(axis: int, rank: int) -> Callable[[np.ndarray], np.ndarray]:
    before = (slice(None),) * axis
    argmax = functools.partial(np.ndarray.argmax, axis=axis, keepdims=True)

    def element(ordered: np.ndarray, at: int) -> np.ndarray:
        return ordered[(*before, slice(at, at + 1))]

    def compute(x: np.ndarray) -> np.ndarray:
        n = x.shape[axis]
        ordered = x.copy()
        ordered.sort(axis)  # NaN comes last
        value = element(ordered, rank if rank >= 0 else (n - 1) // 2)
        if x.dtype.kind != "f":
            return argmax(x == value)
        last = element(ordered, n - 1)
        if count_nonzero(last != last):
            missing = x != x
            if rank < 0:
                numbers = np.sum(~missing, axis=axis, keepdims=True)
                middle = (numbers - 1) // 2
                at = np.maximum(middle, 0) if rank == MEDIAN_OF_NUMBERS else np.where(numbers < n, numbers, (n - 1) // 2)
                value = np.take_along_axis(ordered, at, axis)
            return argmax((x == value) | (missing & (value != value)))
        return argmax(x == value)

    return compute


@hosted(_places_by_numpy, ns=60, calls=6, dtypes=REALS, elementwise=False, most=FEW)
def _selected_place(x: Array, *, axis: int, rank: int) -> Array:
    return _place_of(x, axis, _rank(x, axis, rank))


def _place_of(x: Array, axis: int, rank: Array) -> Array:
    """The first places of the elements of ``rank`` (from 0; of size 1 along ``axis``) in the order along ``axis``."""
    n = x.shape[axis]
    key = _key32(x) if fewer(n, 2**31) and n >= _COUNTED else None
    if key is None:
        value = take_along(sorted_values(x, axis), rank, axis)
        equal = x == value
        if category(x.dtype) == dtypes.FLOATING:
            equal |= jnp.isnan(x) & jnp.isnan(value)
    else:
        equal = key == _key_of_rank(key, axis, rank)
    place = positions(x, axis)
    return jnp.min(jnp.where(equal, place, jnp.full((), n, place.dtype)), axis=axis, keepdims=True).astype(np.int64)


def _key_of_rank(key: Array, axis: int, rank: Array) -> Array:
    """The key of ``rank``, bit by bit from the highest: the largest that no more than ``rank`` keys lie below."""
    # Sums of float32 vectorise as those of integers do not, and are exact up to there.
    counts = np.float32 if key.shape[axis] <= 2**24 else np.int64
    rank = rank.astype(counts)

    def raise_by(k: Array, found: Array) -> Array:
        higher = found + lax.shift_left(np.int32(1), np.int32(31) - k)
        below = jnp.sum(key < higher, axis=axis, keepdims=True, dtype=counts)
        return jnp.where(below <= rank, higher, found)

    start = jnp.full([1 if d == axis else m for d, m in enumerate(key.shape)], np.iinfo(np.int32).min, np.int32)
    return _loops.fori_loop(np.int32(0), np.int32(32), raise_by, start)
