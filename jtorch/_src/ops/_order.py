"""Sorting along one dimension with torch's order: NaN is larger than everything, -0. equals 0.,
equal elements keep their order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host.direct import count_nonzero, sorted_by_digit
from ..engine.host.rules import CALL, Equation
from ..engine.intervals import in_range
from ..facts import dtypes
from . import _loops
from ._axes import category, positions, take_along
from ._declare import Array
from ._hosted import FEW, INT64, REALS, hosted, reduced
from ._sizes import fewer


def _key32(x: Array) -> Array | None:
    """An int32 key of the same order for dtypes of up to 32 bits, else None."""
    kind = category(x.dtype)
    if kind == dtypes.FLOATING and x.dtype.itemsize <= 4:
        x = x.astype(np.float32)
        # one NaN, one zero
        x = jnp.where(
            jnp.isnan(x),
            jnp.full((), np.nan, np.float32),
            jnp.where(x == 0, jnp.zeros((), np.float32), x),
        )
        bits = lax.bitcast_convert_type(x, np.int32)
        return jnp.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    if kind <= dtypes.INTEGRAL and (x.dtype.itemsize < 4 or x.dtype == np.int32):
        return x.astype(np.int32)
    return None


def _flip(x: Array, axis: int) -> Array:
    return lax.rev(x, (axis,))


def argsort_along(x: Array, axis: int, descending: bool = False) -> Array:
    """The stable order of ``x`` along ``axis`` in int64."""
    if x.dtype == np.bool_:
        x = x.astype(np.uint8)
    order = _stable_order(x, axis=axis, descending=descending)
    return in_range(order, 0, x.shape[axis] - 1) if x.size else order


def _by_numpy(axis: int, descending: bool) -> Callable[[np.ndarray], np.ndarray]:
    argsort = functools.partial(np.ndarray.argsort, axis=axis, kind="stable")
    back = (slice(None),) * axis + (slice(None, None, -1),)

    def order(x: np.ndarray) -> np.ndarray:
        if (
            x.shape[axis] == x.size >= _COUNTED_PLACES
            and (counted := _by_counting(x.reshape(-1), descending)) is not None
        ):
            return counted.reshape(x.shape)
        packed = None if x.size <= FEW else _packed(x, axis, descending)
        if packed is not None:
            packed.sort(axis)
            packed &= (1 << _bits(x.shape[axis])) - 1
            return packed
        if not descending:
            return argsort(x)
        # of what is reversed, reversed: so equal elements stay in order
        return np.subtract(x.shape[axis] - 1, argsort(x[back])[back])

    return order


#: From so many elements in a single row on, they are sorted by their digits, of so many bits at
#: most.
_COUNTED_PLACES, _DIGIT = 1 << 15, 16


def _by_counting(x: np.ndarray, descending: bool) -> np.ndarray | None:
    """The stable order of a vector by its digits, from the last to the first; None where that takes
    longer.

    A sparse matrix with one element in each row, in the column that its digit says, holds the rows
    in their order when it is turned around.
    """
    ranks = _ranks(x, descending)
    if ranks is None or x.size > np.iinfo(np.int32).max:
        return None
    rank, span = ranks
    digits = -(-span.bit_length() // _DIGIT)
    if digits > 3:
        return None
    ordered = sorted_by_digit()
    each = -(-span.bit_length() // digits) if digits else 0
    order: np.ndarray | None = None
    for k in range(digits):
        digit = rank if order is None else rank.take(order)
        digit = ((digit >> (k * each)) & ((1 << each) - 1)).astype(np.int32)
        turned = ordered(digit, 1 << each)
        order = turned if order is None else order.take(turned)
    return np.arange(x.size) if order is None else order.astype(np.int64)


def _bits(n: int) -> int:
    """Bits that the positions below ``n`` take."""
    return max(n - 1, 1).bit_length()


def _ranks(x: np.ndarray, descending: bool) -> tuple[np.ndarray, int] | None:
    """Integers from 0 on in the order of the elements, and the largest of them; None for
    float64."""
    if x.dtype.kind == "f":
        if x.itemsize > 4:
            return None
        # one NaN, one zero
        bits = np.where(np.isnan(x), np.float32(np.nan), x + np.float32(0)).view(np.int32)
        x = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    low, high = int(x.min()), int(x.max())
    found = (
        np.subtract(high, x, dtype=x.dtype) if descending else np.subtract(x, low, dtype=x.dtype)
    )
    if found.dtype.kind == "i":  # differences wrap around where their dtype is too small for them
        found = found.view(f"u{found.itemsize}")
    return found, high - low


def _packed(x: np.ndarray, axis: int, descending: bool) -> np.ndarray | None:
    """Each element's rank and position in one number, which sort twice as fast; None if 64 bits
    have no room for them."""
    n = x.shape[axis]
    ranks = _ranks(x, descending)
    if ranks is None or ranks[1] >> (63 - _bits(n)):
        return None
    found = ranks[0].astype(np.int64)
    found <<= _bits(n)
    found |= np.arange(n).reshape([n if d == axis else 1 for d in range(x.ndim)])
    return found


@hosted(
    _by_numpy,
    ns=30,
    calls=3,
    dtypes=REALS,
    elementwise=False,
    kept=True,
    shape=lambda x, **_: x.shape,
    gives=INT64,
)
def _stable_order(x: Array, *, axis: int, descending: bool) -> Array:
    """The stable order of ``x`` along ``axis`` in int64.

    Keys of 32 bits are packed with the positions into one int64 each: XLA sorts single integers on
    CPUs four to seven times faster than pairs.
    """
    n = x.shape[axis]
    key = _key32(x)
    if key is not None and fewer(n, np.iinfo(np.int32).max + 1):
        packed = (key.astype(np.int64) ^ (-1 if descending else 0)) << 32
        packed = lax.sort(
            packed | positions(x, axis).astype(np.int64), dimension=axis, is_stable=False
        )
        return packed & 0xFFFFFFFF
    if (
        type(x.size) is int
        and x.size > FEW
        and x.dtype.itemsize == 8
        and x.dtype.kind in "iuf"
        and n <= np.iinfo(np.int32).max
    ):
        pairs = functools.partial(_by_pairs, axis=axis, descending=descending)
        return lax.platform_dependent(
            x, cpu=functools.partial(_by_halves, axis=axis, descending=descending), default=pairs
        )
    return _by_pairs(x, axis, descending)


def _by_pairs(x: Array, axis: int, descending: bool) -> Array:
    if descending:  # reversing twice keeps equal elements in order
        return x.shape[axis] - 1 - _flip(_by_pairs(_flip(x, axis), axis, False), axis)
    return lax.sort((x, positions(x, axis)), dimension=axis, is_stable=True, num_keys=1)[1].astype(
        np.int64
    )


def _by_halves(x: Array, axis: int, descending: bool) -> Array:
    """The order of elements of 64 bits: packed with their positions if there is room, else by their
    lower, then by their upper halves."""
    place = positions(x, axis).astype(np.int64)
    mask = np.int64(0xFFFFFFFF)
    if x.dtype.kind == "f":
        x = jnp.where(
            jnp.isnan(x),
            jnp.full((), np.nan, x.dtype),
            jnp.where(x == 0, jnp.zeros((), x.dtype), x),
        )
        key = lax.bitcast_convert_type(x, np.int64)
        key = jnp.where(key < 0, key ^ np.int64(np.iinfo(np.int64).max), key)
    else:
        key = x.astype(np.int64) ^ np.int64(np.iinfo(np.int64).min if x.dtype.kind == "u" else 0)
    key ^= np.int64(-1 if descending else 0)

    def at_once(key: Array) -> Array:
        bits = _bits(key.shape[axis])
        packed = ((key - jnp.min(key)) << bits) | place
        return lax.sort(packed, dimension=axis, is_stable=False) & np.int64((1 << bits) - 1)

    def twice(key: Array) -> Array:
        low = (((key & mask) - np.int64(1 << 31)) << 32) | place
        first = lax.sort(low, dimension=axis, is_stable=False) & mask
        high = ((take_along(key, first, axis) >> 32) << 32) | place
        return take_along(first, lax.sort(high, dimension=axis, is_stable=False) & mask, axis)

    if x.dtype.kind == "f":
        return twice(key)
    span = lax.bitcast_convert_type(jnp.max(key), np.uint64) - lax.bitcast_convert_type(
        jnp.min(key), np.uint64
    )
    return lax.cond(span < np.uint64(1 << (63 - _bits(key.shape[axis]))), at_once, twice, key)


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


#: From this length on an element is found by counting: 32 passes that vectorise, instead of
#: sorting.
_COUNTED = 256


#: Ranks that depend on the elements: of the lower median, NaN if there is one, and of that of the
#: numbers alone.
MEDIAN, MEDIAN_OF_NUMBERS = -1, -2


def leading(x: Array, k: int, axis: int, descending: bool) -> Array:
    """The first ``k`` places of the stable order of ``x`` along ``axis``, in int64."""
    if x.dtype in REALS and type(x.size) is int and 0 < k <= x.shape[axis] // 8:
        return in_range(_leading(x, k=k, axis=axis, descending=descending), 0, x.shape[axis] - 1)
    return lax.slice_in_dim(argsort_along(x, axis, descending), 0, k, axis=axis)


def _leading_by_numpy(k: int, axis: int, descending: bool) -> Callable[[np.ndarray], np.ndarray]:
    def compute(x: np.ndarray) -> np.ndarray:
        moved = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        n = moved.shape[-1]
        key = _whole(moved).reshape(-1, n)
        if descending:
            key = ~key
        flat = key.reshape(-1)
        # more than k of a row where some are equal
        at = np.flatnonzero(key <= np.partition(key, k - 1, -1)[:, k - 1 : k])
        rows = at // n
        first = np.searchsorted(rows, np.arange(len(key)))
        found = at[np.lexsort((flat[at], rows))[first[:, None] + np.arange(k)]] % n
        return np.moveaxis(found.reshape(*moved.shape[:-1], k), -1, axis)

    return compute


def _whole(x: np.ndarray) -> np.ndarray:
    """Integers in the order of the elements, in which NaN is the largest and zeros are equal."""
    if x.dtype.kind != "f":
        return x
    bits = np.where(np.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0)).view(f"i{x.itemsize}")
    return bits ^ ((bits >> (8 * x.itemsize - 1)) & np.iinfo(bits.dtype).max)


def _cost_of_parting(e: Equation) -> float:
    return 12 * CALL + 10e-9 * e.ins[0].size


def _shape_of_leading(x: Any, *, k: int, axis: int, descending: bool) -> tuple[int, ...]:
    del descending
    return tuple([k if d == axis else n for d, n in enumerate(x.shape)])


@hosted(
    _leading_by_numpy,
    cost=_cost_of_parting,
    dtypes=REALS,
    elementwise=False,
    kept=True,
    shape=_shape_of_leading,
    gives=INT64,
)
def _leading(x: Array, *, k: int, axis: int, descending: bool) -> Array:
    return lax.slice_in_dim(_stable_order(x, axis=axis, descending=descending), 0, k, axis=axis)


def selected(x: Array, axis: int, rank: int) -> tuple[Array, Array]:
    """The elements of ``rank`` (from 0, or ``MEDIAN``) in the order along ``axis``, which stays,
    and the first places where they stand."""
    place = _selected_place_of_wide if x.dtype.itemsize > 4 else _selected_place
    index = in_range(place(x, axis=axis, rank=rank), 0, x.shape[axis] - 1)
    return take_along(x, index, axis), index


def _rank(x: Array, axis: int, rank: int) -> Array:
    """The rank along ``axis``: of a median, the lower middle of all, or of the numbers, or the
    first NaN."""
    n = x.shape[axis]
    if rank >= 0 or category(x.dtype) < dtypes.FLOATING:
        return jnp.full(
            [1 if d == axis else s for d, s in enumerate(x.shape)],
            rank if rank >= 0 else (n - 1) // 2,
            np.int64,
        )
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
        ordered, usual = x.copy(), rank if rank >= 0 else (n - 1) // 2
        if x.size > FEW and not (x.dtype.kind == "f" and np.isnan(x).any()):
            ordered.partition(usual, axis)
            return argmax(x == element(ordered, usual))
        ordered.sort(axis)  # NaN comes last
        value = element(ordered, usual)
        if x.dtype.kind != "f":
            return argmax(x == value)
        last = element(ordered, n - 1)
        if count_nonzero(last != last):
            missing = x != x
            if rank < 0:
                numbers = np.sum(~missing, axis=axis, keepdims=True)
                middle = (numbers - 1) // 2
                at = (
                    np.maximum(middle, 0)
                    if rank == MEDIAN_OF_NUMBERS
                    else np.where(numbers < n, numbers, (n - 1) // 2)
                )
                value = np.take_along_axis(ordered, at, axis)
            return argmax((x == value) | (missing & (value != value)))
        return argmax(x == value)

    return compute


@hosted(
    _places_by_numpy,
    ns=60,
    calls=6,
    dtypes=REALS,
    elementwise=False,
    most=FEW,
    shape=reduced,
    gives=INT64,
)
def _selected_place(x: Array, *, axis: int, rank: int) -> Array:
    return _place_of(x, axis, _rank(x, axis, rank))


@hosted(
    _places_by_numpy,
    cost=_cost_of_parting,
    dtypes=REALS,
    elementwise=False,
    kept=True,
    shape=reduced,
    gives=INT64,
)
def _selected_place_of_wide(x: Array, *, axis: int, rank: int) -> Array:
    """The same of 64 bits, which XLA sorts."""
    return _place_of(x, axis, _rank(x, axis, rank))


def _place_of(x: Array, axis: int, rank: Array) -> Array:
    """The first places of the elements of ``rank`` (from 0; of size 1 along ``axis``) in the order
    along ``axis``."""
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
    return jnp.min(
        jnp.where(equal, place, jnp.full((), n, place.dtype)), axis=axis, keepdims=True
    ).astype(np.int64)


def _key_of_rank(key: Array, axis: int, rank: Array) -> Array:
    """The key of ``rank``, bit by bit from the highest: the largest that no more than ``rank`` keys
    lie below."""
    # Sums of float32 vectorise as those of integers do not, and are exact up to there.
    counts = np.float32 if key.shape[axis] <= 2**24 else np.int64
    rank = rank.astype(counts)

    def raise_by(k: Array, found: Array) -> Array:
        higher = found + lax.shift_left(np.int32(1), np.int32(31) - k)
        below = jnp.sum(key < higher, axis=axis, keepdims=True, dtype=counts)
        return jnp.where(below <= rank, higher, found)

    start = jnp.full(
        [1 if d == axis else m for d, m in enumerate(key.shape)], np.iinfo(np.int32).min, np.int32
    )
    return _loops.fori_loop(np.int32(0), np.int32(32), raise_by, start)
