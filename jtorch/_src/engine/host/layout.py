"""Shapes: reshapes, broadcasts, transpositions, slices, padding, joins."""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING

import numpy as np

from .direct import concatenate
from .rules import Compute, Equation, by_bytes, is_whole, nbytes, over, rule, same, to_write

if TYPE_CHECKING:
    from ...facts.kinds import Function, Operand


#: Broadcasts of more bytes than this are views; making a view takes as long as writing so much.
_VIEW = 1 << 14


@rule("broadcast_in_dim", quiet=True, streams=is_whole)
def _broadcast_in_dim(e: Equation) -> Compute | None:
    if len(e.ins) != 1:
        return None
    (x,), shape, dtype = e.ins, tuple(e.out.shape), e.out.dtype
    spread = [1] * len(shape)
    for d, n in zip(e.params["broadcast_dimensions"], x.shape, strict=True):
        spread[d] = n
    spread = tuple(spread)
    if spread == shape:
        return same if spread == x.shape else methodcaller("reshape", shape)
    # Where x has the trailing dimensions NumPy inserts the others by itself.
    trailing = spread[len(spread) - x.ndim :] == x.shape
    if nbytes(e.outs) > _VIEW:
        broadcast_to = np.broadcast_to
        if trailing:
            return lambda x: broadcast_to(x, shape)
        return lambda x: broadcast_to(x.reshape(spread), shape)
    return Spread(shape, dtype, None if trailing else spread)


class Spread:
    """A small array with other dimensions, over which its elements come again; ``through``: what it
    is reshaped to before, if need be."""

    __slots__ = ("dtype", "shape", "through")
    anew = True

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype, through: tuple[int, ...] | None
    ) -> None:
        self.shape, self.dtype, self.through = shape, dtype, through

    def __call__(self, x: Operand) -> np.ndarray:
        """Writes it out."""
        found = np.empty(self.shape, self.dtype)
        found[...] = x if self.through is None else x.reshape(self.through)
        return found


def _reshaped(shape: tuple[int, ...], given: tuple[int, ...]) -> Compute:
    return same if shape == given else methodcaller("reshape", shape)


@rule("reshape", quiet=True)
def _reshape(e: Equation) -> Compute | None:
    order, shape = e.params.get("dimensions"), tuple(e.out.shape)
    if len(e.ins) != 1:
        return None
    if order is None or tuple(order) == tuple(range(len(order))):
        return _reshaped(shape, e.ins[0].shape)
    return lambda x: x.transpose(order).reshape(shape)


@rule("squeeze", "expand_dims", quiet=True)
def _squeeze(e: Equation) -> Compute | None:
    return _reshaped(tuple(e.out.shape), e.ins[0].shape)


@rule("transpose", quiet=True)
def _transpose(e: Equation) -> Compute | None:
    order = tuple(e.params["permutation"])
    return same if order == tuple(range(len(order))) else methodcaller("transpose", order)


@rule("rev", quiet=True)
def _rev(e: Equation) -> Compute | None:
    dimensions = e.params["dimensions"]
    back, all_of_it = slice(None, None, -1), slice(None)
    return (
        itemgetter(tuple([back if i in dimensions else all_of_it for i in range(e.out.ndim)]))
        if dimensions
        else same
    )


@rule("slice", quiet=True, streams=is_whole)
def _slice(e: Equation) -> Compute | None:
    if e.ins[0].shape == e.out.shape:
        return same
    starts, limits = e.params["start_indices"], e.params["limit_indices"]
    strides = e.params["strides"] or (1,) * len(starts)
    return itemgetter(tuple(map(slice, starts, limits, strides)))


def _clamped(shape: tuple[int, ...], sizes: tuple[int, ...]) -> Function:
    """From the operands that are starts, the slices of ``sizes`` that lie inside ``shape``."""
    limits = [(n - size, size) for n, size in zip(shape, sizes, strict=True)]

    def where(starts: tuple[Operand, ...]) -> tuple[slice, ...]:
        found = []
        for start, (last, size) in zip(starts, limits, strict=True):
            i = min(max(int(start), 0), last)
            found.append(slice(i, i + size))
        return tuple(found)

    return where


@rule("dynamic_slice", quiet=True)
def _dynamic_slice(e: Equation) -> Compute | None:
    shape, sizes = e.ins[0].shape, tuple(e.params["slice_sizes"])
    if shape == sizes:
        return lambda x, *_: x
    where = _clamped(shape, sizes)
    return lambda x, *starts: x[where(starts)]


@rule("dynamic_update_slice", weight=2, quiet=True, even=by_bytes(2))
def _dynamic_update_slice(e: Equation) -> Compute | None:
    shape, sizes = e.ins[0].shape, e.ins[1].shape
    if shape == sizes:
        return lambda _, update, *__: update
    where = _clamped(shape, sizes)

    def compute(x: np.ndarray, update: np.ndarray, *starts: np.generic | np.ndarray) -> Operand:
        found = to_write(x)
        found[where(starts)] = update
        return found

    return over(compute)


@rule("pad", weight=2, quiet=True, streams=is_whole)
def _pad(e: Equation) -> Compute | None:
    shape, dtype = e.out.shape, e.out.dtype
    source, target = [], []
    for n, (low, high, between) in zip(e.ins[0].shape, e.params["padding_config"], strict=True):
        step = between + 1
        # Those of the elements i that stay: 0 <= low + i * step < the length of the result.
        total = low + (n + (n - 1) * between if n else 0) + high
        first = max(0, -(low // step))
        last = min(n, (total - 1 - low) // step + 1) if total else 0
        count = max(0, last - first)
        source.append(slice(first, first + count))
        at = low + first * step
        target.append(slice(at, at + (count - 1) * step + 1, step) if count else slice(0, 0))
    take, put = tuple(source), tuple(target)
    whole = all(s == slice(0, n) for s, n in zip(source, e.ins[0].shape, strict=True))
    if whole and tuple(shape) == tuple(e.ins[0].shape):
        return lambda x, _: x
    if all(
        low <= 0 and high <= 0 and not between for low, high, between in e.params["padding_config"]
    ):
        return lambda x, _: x[take]
    return Padded(tuple(shape), dtype, None if whole else take, put)


class Padded:
    """A part of an array, or all of it, at places of a larger one that has a number everywhere
    else."""

    __slots__ = ("dtype", "put", "shape", "take")
    anew = True

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype,
        take: tuple[slice, ...] | None,
        put: tuple[slice, ...],
    ) -> None:
        self.shape, self.dtype, self.take, self.put = shape, dtype, take, put

    def __call__(self, x: Operand, value: np.generic | np.ndarray) -> np.ndarray:
        """Writes it."""
        found = np.empty(self.shape, self.dtype)
        found[...] = value
        found[self.put] = x if self.take is None else x[self.take]
        return found


@rule("concatenate", quiet=True, streams=is_whole)
def _concatenate(e: Equation) -> Compute | None:
    axis = e.params["dimension"]
    return Joined(axis) if len(e.ins) > 1 else same


class Joined:
    """Arrays one after the other along an axis."""

    __slots__ = ("axis",)
    anew = True

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def __call__(self, *operands: np.ndarray) -> np.ndarray:
        """Joins them."""
        return concatenate(operands, self.axis)


@rule("stack", quiet=True, streams=is_whole)
def _stack(e: Equation) -> Compute | None:
    return Stacked(tuple(e.out.shape), e.out.dtype, e.params["axis"])


class Stacked:
    """Arrays side by side along an axis of their own."""

    __slots__ = ("axis", "dtype", "shape")
    anew = True

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, axis: int) -> None:
        self.shape, self.dtype, self.axis = shape, dtype, axis

    def __call__(self, *operands: np.generic | np.ndarray) -> np.ndarray:
        """Writes them."""
        found, before = np.empty(self.shape, self.dtype), (slice(None),) * self.axis
        for i, x in enumerate(operands):
            found[(*before, i)] = x
        return found


@rule("unstack", quiet=True, streams=is_whole)
def _unstack(e: Equation) -> Compute | None:
    axis = e.params["axis"]
    places = [(slice(None),) * axis + (i,) for i in range(len(e.outs))]
    return lambda x: [x[place] for place in places]


@rule("split", quiet=True, streams=is_whole)
def _split(e: Equation) -> Compute | None:
    before = (slice(None),) * e.params["axis"]
    places = [(*before, slice(i, j)) for i, j in pairwise(accumulate(e.params["sizes"], initial=0))]
    return lambda x: [x[place] for place in places]


@rule("tile", weight=2, quiet=True)
def _tile(e: Equation) -> Compute | None:
    reps, (x,), shape = e.params["reps"], e.ins, e.out.shape
    apart = tuple([k for n in x.shape for k in (1, n)])
    spread = tuple([k for r, n in zip(reps, x.shape, strict=True) for k in (r, n)])
    return lambda x: np.broadcast_to(x.reshape(apart), spread).reshape(shape)


@rule("iota", quiet=True)
def _iota(e: Equation) -> Compute | None:
    if e.ins:
        return None
    shape, dtype, dimension = e.out.shape, e.out.dtype, e.params["dimension"]
    column = [1] * len(shape)
    column[dimension] = n = shape[dimension]

    def compute() -> Operand:
        return np.broadcast_to(np.arange(n).astype(dtype).reshape(column), shape)

    if n * dtype.itemsize > _VIEW:
        return compute
    found = compute()  # read-only, and the same for every call
    return lambda: found


@rule("empty", "empty2", quiet=True)
def _empty(e: Equation) -> Compute | None:
    shape, dtype = e.out.shape, e.out.dtype
    return lambda: np.zeros(shape, dtype)
