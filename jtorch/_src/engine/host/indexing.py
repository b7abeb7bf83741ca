"""Gathers, scatters and slices at places that values give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from .direct import add_at, add_rows, count_nonzero, dot, where
from .kinds import kind
from .rules import BYTE, CALL, Compute, Equation, nbytes, over, rule, to_write

if TYPE_CHECKING:
    from ...facts.kinds import Function, Operand, Row


#: Operands with more bytes than this are not copied whole to look up some elements.
_COPIED = 1 << 16
#: Updates of rows with at most so many elements are accumulated as rows; flat places are faster for
#: more.
_FEW = 256
#: So many places are computed and looked up at a time.
_BLOCK = 1 << 15
#: From so many updates on SciPy adds them up; it is not loaded for fewer.
_MANY = 1 << 14
#: What it adds up as NumPy does.
_ADDED = "iuf"
_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


class Windows(NamedTuple):
    """Windows of an operand, at places that an array of indices gives: what gathers and scatters
    have in common.

    Attributes:
        shape: of the operand.
        sizes: of a window, for each dimension of the operand.
        kept: the dimensions of the operand that a window has; the others are indexed by one number.
        indexed: the dimensions of the operand that the columns of the indices belong to.
        batching: pairs of a dimension of the operand and the one of the indices that it runs along
            with.
        batch: the shape of the indices without their columns.
        drop: that windows which are not wholly inside count for nothing; otherwise they are moved
            inside.
        inside: that all are known to be inside, and ``bare``, ``wraps``: how the indices are given
            (see ``places.settled``).
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    kept: tuple[int, ...]
    indexed: tuple[int, ...]
    batching: tuple[tuple[int, int], ...]
    batch: tuple[int, ...]
    drop: bool
    inside: bool = False
    bare: bool = False
    wraps: bool = False

    @property
    def limits(self) -> list[int]:
        """The last places where windows are inside."""
        return [self.shape[o] - self.sizes[o] for o in self.indexed]

    @property
    def window(self) -> tuple[int, ...]:
        """The sizes of the kept dimensions."""
        return tuple([self.sizes[o] for o in self.kept])

    @property
    def rows(self) -> int:
        """The axis of which windows are rows: the only one indexed, while they have all of the
        others; -1 if it is otherwise."""
        if len(self.indexed) != 1 or self.batching:
            return -1
        (axis,) = self.indexed
        others = tuple([o for o in range(len(self.shape)) if o != axis])
        return (
            axis
            if self.kept == others
            and all(self.sizes[o] == self.shape[o] for o in others)
            and self.sizes[axis] == 1
            else -1
        )

    def inner(self) -> int:
        """How many of the last dimensions every window has whole."""
        n = 0
        for o in reversed(range(len(self.shape))):
            if o not in self.kept or o in self.indexed or self.sizes[o] != self.shape[o]:
                break
            n += 1
        return n


def _single(w: Windows) -> Callable[[np.ndarray], Row | None]:
    """From the indices of one window to the basic index of it; None if it is dropped."""
    template = [slice(0, w.sizes[o]) if o in w.kept else 0 for o in range(len(w.shape))]
    last = len(template) - w.inner()
    del template[max(last, 1) :]  # what is left out is taken whole
    columns = [(o, w.sizes[o], n, o in w.kept) for o, n in zip(w.indexed, w.limits, strict=True)]
    drop = w.drop
    if len(columns) == 1:
        ((o, size, limit, kept),) = columns
        before, after, wraps = tuple(template[:o]), tuple(template[o + 1 :]), w.wraps

        def place(i: np.ndarray) -> Row | None:
            start = i.item()
            if wraps and start < 0:
                start += limit + 1
            if not 0 <= start <= limit:
                if drop:
                    return None
                start = min(max(start, 0), limit)
            return (*before, slice(start, start + size) if kept else start, *after)

        return place

    def index(i: np.ndarray) -> Row | None:
        found = template.copy()
        for (o, size, limit, kept), start in zip(columns, i.ravel().tolist(), strict=True):
            at = min(max(start, 0), limit)
            if drop and at != start:
                return None
            found[o] = slice(at, at + size) if kept else at
        return tuple(found)

    return index


def _places(w: Windows, inner: int) -> Callable[..., tuple[np.ndarray, np.ndarray | None]]:
    """From indices to the places of what windows hold, and which windows count; None where all do.

    Places are counted in runs of the ``inner`` last dimensions; they have the shape of the batch,
    then of the window. The function has what the batch adds to them as ``base``, and takes that of
    a part of the batch with the indices of that part.
    """
    units = w.shape[: len(w.shape) - inner]
    strides = [math.prod(units[o + 1 :]) for o in range(len(units))]
    steps = np.array([strides[o] for o in w.indexed], np.int64)
    limits = np.array(w.limits, np.int64)
    window = tuple([o for o in w.kept if o < len(units)])
    spread = (*w.batch, *(1,) * len(window))
    base = np.zeros((1,) * len(w.batch), np.int64)
    for o, axis in w.batching:
        base = base + (np.arange(w.batch[axis]) * strides[o]).reshape(
            [-1 if i == axis else 1 for i in range(len(w.batch))]
        )
    within = np.zeros((1,) * len(window), np.int64)
    for k, o in enumerate(window):
        within = within + (np.arange(w.sizes[o]) * strides[o]).reshape(
            [-1 if i == k else 1 for i in range(len(window))]
        )
    shifted, wide, columns, drop, sure, bare, wraps = (
        bool(w.batching),
        within.size > 1,
        len(w.indexed),
        w.drop,
        w.inside,
        w.bare,
        w.wraps,
    )
    step = int(steps[0]) if columns == 1 else 0
    limit = int(limits[0]) if columns == 1 else 0

    inside = _inside(limit)

    def places(i: np.ndarray, base: np.ndarray = base) -> tuple[np.ndarray, np.ndarray | None]:
        if columns == 1:
            at = i if bare else i[..., 0]
            counts = inside(at) if drop else None
            if counts is not None and count_nonzero(counts) == counts.size:
                counts = None
            elif not sure:
                at = np.minimum(np.maximum(_wide(at), 0), limit)
            if wraps:
                at = where(at < 0, at + (limit + 1), at)
            found = at if at.dtype == np.int64 else at.astype(np.int64)
            if step != 1:
                found = found * step
        elif sure:
            counts, found = None, dot(i, steps)
        else:
            asked = _wide(i)
            at = np.minimum(np.maximum(asked, 0), limits)
            counts = (at == asked).all(-1) if drop else None
            if counts is not None and count_nonzero(counts) == counts.size:
                counts = None
            found = dot(at, steps)
        if shifted:
            found = found + base
        if wide:
            found = found.reshape(spread) + within
        elif window:
            found = found.reshape(spread)
        return found, counts

    places.base = base  # pyright: ignore[reportFunctionMemberAccess]
    return places


def _inside(limit: int) -> Callable[[np.ndarray], np.ndarray]:
    """What tells which indices are from 0 to ``limit``, by one comparison where possible: negative
    ones are large without a sign."""

    def inside(i: np.ndarray) -> np.ndarray:
        unsigned = _UNSIGNED.get(i.dtype)
        return (
            i.view(unsigned) <= limit
            if unsigned is not None and limit < 1 << 31
            else (i >= 0) & (i <= limit)
        )

    return inside


def _wide(i: np.ndarray) -> np.ndarray:
    """Indices as int64."""
    return (np.minimum(i, np.uint64(1 << 62)) if i.dtype == np.uint64 else i).astype(np.int64)


def _order(out: int, offsets: Sequence[int]) -> tuple[int, ...] | None:
    """The permutation that moves the last dimensions to the places ``offsets``; None if they are
    there."""
    first, last = iter(range(out - len(offsets))), iter(range(out - len(offsets), out))
    perm = tuple([next(last) if i in offsets else next(first) for i in range(out)])
    return None if perm == tuple(range(out)) else perm


def _fill(value: object, dtype: np.dtype) -> np.ndarray:
    if value is not None:
        return np.asarray(value).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return dtype.type(info.min if dtype.kind == "i" else info.max)
    return dtype.type(True if dtype.kind == "b" else np.nan)


def _known(e: Equation) -> dict[str, bool]:
    return {name: e.params.get(name, False) for name in ("inside", "bare", "wraps")}


def _gathered(e: Equation) -> Windows:
    operand, indices = e.ins
    d = e.params["dimension_numbers"]
    return Windows(
        shape=operand.shape,
        sizes=tuple(e.params["slice_sizes"]),
        kept=tuple(
            [
                o
                for o in range(operand.ndim)
                if o not in d.collapsed_slice_dims and o not in d.operand_batching_dims
            ]
        ),
        indexed=tuple(d.start_index_map),
        batching=tuple(zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True)),
        batch=indices.shape[: indices.ndim - (not e.params.get("bare"))],
        drop=e.params["mode"] is GatherScatterMode.FILL_OR_DROP and not e.params.get("inside"),
        **_known(e),
    )


def _scattered(e: Equation) -> Windows:
    operand, indices, updates = e.ins
    d = e.params["dimension_numbers"]
    kept = tuple(
        [
            o
            for o in range(operand.ndim)
            if o not in d.inserted_window_dims and o not in d.operand_batching_dims
        ]
    )
    sizes = [1] * operand.ndim
    for o, i in zip(kept, d.update_window_dims, strict=True):
        sizes[o] = updates.shape[i]
    return Windows(
        shape=operand.shape,
        sizes=tuple(sizes),
        kept=kept,
        indexed=tuple(d.scatter_dims_to_operand_dims),
        batching=tuple(zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True)),
        batch=indices.shape[: indices.ndim - (not e.params.get("bare"))],
        drop=e.params["mode"] is not GatherScatterMode.CLIP and not e.params.get("inside"),
        **_known(e),
    )


def _cost(e: Equation) -> float:
    gather = e.name == "gather"
    w = _gathered(e) if gather else _scattered(e)
    if math.prod(w.batch) == 1:
        return 4 * CALL + (0.0 if gather else BYTE * nbytes(e.outs))
    inner = w.inner() if gather or e.name == "scatter" or _adds_rows(w, e) else 0
    moved = e.out if gather else e.ins[2]
    looked = (
        moved.size
        if w.rows < 0 and not inner
        else moved.size // max(1, math.prod(w.shape[len(w.shape) - inner :]))
    )
    return 8 * CALL + BYTE * (nbytes([moved]) + (0 if gather else nbytes(e.outs))) + 3e-9 * looked


class Gathered:
    """What looks up windows.

    Attributes:
        windows, offsets: which, and the dimensions of the result that they have.
        fill: what stands for those that are not inside, if these count for nothing.
    """

    __slots__ = ("compute", "fill", "offsets", "windows")

    def __init__(
        self, compute: Compute, windows: Windows, offsets: tuple[int, ...], fill: np.ndarray | None
    ) -> None:
        self.compute, self.windows, self.offsets, self.fill = compute, windows, offsets, fill

    def __call__(self, a: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Looks them up."""
        return self.compute(a, i)


@rule("gather", cost=_cost, quiet=True)
def _gather(e: Equation) -> Compute | None:
    compute = _gatherer(e)
    if compute is None or 0 in e.out.shape:
        return compute
    w = _gathered(e)
    fill = _fill(e.params["fill_value"], np.dtype(e.ins[0].dtype)) if w.drop else None
    return Gathered(compute, w, tuple(e.params["dimension_numbers"].offset_dims), fill)


def _gatherer(e: Equation) -> Compute | None:
    operand = e.ins[0]
    p, dtype = e.params, np.dtype(operand.dtype)
    d, mode, shape = p["dimension_numbers"], p["mode"], e.out.shape
    w = _gathered(e)
    if mode is GatherScatterMode.ONE_HOT or not kind(dtype):
        return None
    if 0 in shape:
        nothing = np.empty(shape, dtype)
        return lambda *_: nothing
    fill = _fill(p["fill_value"], dtype) if w.drop else None
    order = _order(len(shape), d.offset_dims)
    if math.prod(w.batch) == 1:
        return _gather_one(
            w, order, np.broadcast_to(np.asarray(0 if fill is None else fill, dtype), shape)
        )
    if w.rows >= 0:
        return _gather_rows(w, fill, shape, tuple(d.offset_dims), nbytes([operand]) > _COPIED)
    inner = w.inner()
    places = _places(w, inner)
    run = math.prod(w.shape[len(w.shape) - inner :])
    natural = (*w.batch, *w.window)

    def gather(a: np.ndarray, i: np.ndarray) -> np.ndarray:
        at, counts = places(i)
        found = (
            a.reshape(-1).take(at, 0, None, "clip")
            if not inner
            else a.reshape(-1, run).take(at, 0, None, "clip").reshape(natural)
        )
        if counts is not None:
            found[~counts] = fill
        return found if order is None else found.transpose(order)

    if not w.kept and len(w.indexed) == 1 and e.out.size <= _FEW:
        return _gather_few(w, gather)
    if (
        not w.kept
        and order is None
        and w.batch
        and e.out.size >= 2 * _BLOCK
        and e.out.size // w.batch[0] <= _BLOCK
    ):
        return _gather_blocks(w, places, fill, shape, dtype)
    return gather


def _gather_blocks(
    w: Windows, places: Any, fill: object, shape: tuple[int, ...], dtype: np.dtype
) -> Compute:
    """Many single elements, in pieces whose places stay in the cache."""
    length = max(1, _BLOCK * w.batch[0] // math.prod(w.batch))
    base = places.base
    parts = [
        (k, base if len(base) == 1 else base[k : k + length]) for k in range(0, w.batch[0], length)
    ]

    def gather(a: np.ndarray, i: np.ndarray) -> np.ndarray:
        flat, found = a.reshape(-1), np.empty(shape, dtype)
        for k, own in parts:
            at, counts = places(i[k : k + length], own)
            part = found[k : k + length]
            flat.take(at, 0, part, "clip")
            if counts is not None:
                part[~counts] = fill
        return found

    return gather


def _gather_few(w: Windows, otherwise: Compute) -> Compute:
    """Single elements along one axis: fewer calls than flat places take, but more time for each
    element."""
    (axis,), (limit,), rank, bare = w.indexed, w.limits, len(w.batch), w.bare
    along = dict(w.batching)
    grid = [
        np.arange(w.shape[o]).reshape([-1 if k == along[o] else 1 for k in range(rank)])
        if o in along
        else 0
        for o in range(len(w.shape))
    ]
    before, after, inside = tuple(grid[:axis]), tuple(grid[axis + 1 :]), _inside(limit)
    if w.inside:
        if not bare:
            return lambda a, i: a[(*before, i[..., 0], *after)]
        if not before and not after:
            return lambda a, i: a.take(i)
        return lambda a, i: a[(*before, i, *after)]

    def gather(a: np.ndarray, i: np.ndarray) -> np.ndarray:
        at = i if bare else i[..., 0]
        counts = inside(at)
        if count_nonzero(counts) != counts.size:
            return otherwise(a, i)
        return a[(*before, at, *after)]

    return gather


def _gather_one(w: Windows, order: Any, missing: np.ndarray) -> Compute:
    """One window: a view of the operand."""
    index, spread = _single(w), (*w.batch, *w.window) if w.batch else None

    def gather(a: np.ndarray, i: np.ndarray) -> Operand:
        at = index(i)
        if at is None:
            return missing
        found = a[at]
        if spread is not None:
            found = found.reshape(spread)
        return found if order is None else found.transpose(order)

    return gather


def _gather_rows(
    w: Windows,
    fill: np.ndarray | None,
    shape: tuple[int, ...],
    offsets: tuple[int, ...],
    large: bool,
) -> Compute:
    """Rows along one axis, as of an embedding."""
    axis, last = w.rows, w.limits[0]
    before, nb = (slice(None),) * axis, len(w.batch)
    # NumPy puts the dimensions of the indices where the axis was.
    rest = [*range(axis), *range(axis + nb, len(shape))]
    batch = iter(range(axis, axis + nb))
    source = iter(rest)
    perm = tuple([next(source) if i in offsets else next(batch) for i in range(len(shape))])
    order, inside, bare, wraps = (
        None if perm == tuple(range(len(shape))) else perm,
        _inside(last),
        w.bare,
        w.wraps,
    )
    if w.inside and bare and order is None and not large:
        return (
            (lambda a, i: a.take(i, axis)) if wraps else lambda a, i: a.take(i, axis, None, "clip")
        )

    def gather(a: np.ndarray, i: np.ndarray) -> np.ndarray:
        if not bare:
            i = i[..., 0]
        if wraps:
            i = where(i < 0, i + (last + 1), i)
        if i.dtype == np.uint64:
            i = _wide(i)
        if large and not a.flags.c_contiguous:
            found = a[(*before, np.minimum(np.maximum(_wide(i), 0), last))]
        else:
            found = a.take(i, axis, None, "clip")
        if fill is not None:
            counts = inside(i)
            if count_nonzero(counts) != counts.size:
                found[(*before, ~counts)] = fill
        return found if order is None else found.transpose(order)

    return gather


_SCATTERS = {
    "scatter": None,
    "scatter-add": np.add,
    "scatter-sub": np.subtract,
    "scatter-mul": np.multiply,
    "scatter-min": np.minimum,
    "scatter-max": np.maximum,
}


@rule("scatter", cost=_cost, quiet=True)
@rule(*[name for name in _SCATTERS if name != "scatter"], cost=_cost)
def _scatter(e: Equation) -> Compute | None:
    operand, _, updates = e.ins
    p, ufunc = e.params, _SCATTERS[e.name]
    d, mode, k = p["dimension_numbers"], p["mode"], kind(operand.dtype)
    if (
        mode is GatherScatterMode.ONE_HOT
        or not k
        or (ufunc is None and p["update_jaxpr"] is not None)
    ):
        return None
    if ufunc in (np.minimum, np.maximum) and k == "c":
        return None
    w = _scattered(e)
    if 0 in updates.shape:
        return lambda a, *_: a
    lead = [i for i in range(updates.ndim) if i not in d.update_window_dims]
    perm = (*lead, *d.update_window_dims)
    order = None if perm == tuple(range(updates.ndim)) else perm
    if math.prod(w.batch) == 1:
        return _scatter_one(w, ufunc, order)
    if not w.indexed:
        # XLA takes only the last of updates that all go to the one place there is.
        return None
    if _adds_rows(w, e) and (together := add_rows()) is not None:
        return _added_rows(w, order, together)
    inner = w.inner() if ufunc is None or updates.size <= _FEW else 0
    places = _places(w, inner)
    run = math.prod(w.shape[len(w.shape) - inner :])
    window = w.window[: len(w.window) - inner]
    add = add_at() if ufunc is np.add and k in _ADDED and updates.size >= _MANY else None
    if add is not None:
        return _added(w, places, order, add)

    def scatter(a: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        at, counts = places(i)
        if order is not None:
            u = u.transpose(order)
        if counts is not None:
            at, u = at[counts], u[counts]
        out = _own(a)
        if inner:
            lines, u = (
                out.reshape(-1, run),
                u.reshape(*at.shape[: at.ndim - len(window)], *window, run),
            )
            if ufunc is None:
                lines[at] = u
            else:
                ufunc.at(lines, at, u)
        elif ufunc is None:
            out.reshape(-1)[at] = u
        else:
            ufunc.at(out.reshape(-1), at.ravel(), u.ravel())
        return out

    return over(_anew(scatter)) if ufunc is None else _anew(scatter)


def _anew(compute: Any) -> Compute:
    """Says of what computes a scatter that its result is memory of its own."""
    compute.anew = True
    return compute


def _adds_rows(w: Windows, e: Equation) -> bool:
    """Whether many whole rows are added to rows of a matrix, or of what is one with its last
    dimensions taken as one."""
    many = e.name == "scatter-add" and e.ins[2].size >= _MANY and kind(e.ins[0].dtype) in _ADDED
    return many and w.rows == 0 and math.prod(w.shape[1:]) > 1


def _added_rows(w: Windows, order: Any, add: Callable[..., None]) -> Compute:
    """Rows, added at their places one after another."""
    places, run = _places(w, len(w.shape) - 1), math.prod(w.shape[1:])

    def scatter(a: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        at, counts = places(i)
        if order is not None:
            u = u.transpose(order)
        if counts is not None:
            at, u = at[counts], u[counts]
        out = np.array(a, order="C")
        at, lines = np.ascontiguousarray(at).reshape(-1), np.ascontiguousarray(u).reshape(-1, run)
        # As in ``_added``.
        sure = not at.size or np.maximum.reduce(at.view(_UNSIGNED[at.dtype])) < len(out)
        (add if sure else np.add.at)(out.reshape(-1, run), at, lines)
        return out

    return _anew(scatter)


def _added(w: Windows, places: Function, order: Any, add: Callable[..., None]) -> Compute:
    """Many numbers, added at their places one after another."""
    as_given = w.inside and w.bare and not w.wraps and not w.batching and len(w.shape) == 1

    def scatter(a: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        at, counts = (i, None) if as_given and i.dtype in _UNSIGNED else places(i)
        if order is not None:
            u = u.transpose(order)
        if counts is not None:
            at, u = at[counts], u[counts]
        out = np.array(a, order="C")
        at = np.ascontiguousarray(at).reshape(-1)
        # What is promised to lie inside may not where an error is on its way: NumPy looks, and
        # raises.
        run = (
            add
            if not at.size or np.maximum.reduce(at.view(_UNSIGNED[at.dtype])) < out.size
            else np.add.at
        )
        run(out.reshape(-1), at, np.ascontiguousarray(u).reshape(-1))
        return out

    return _anew(scatter)


def _own(a: np.ndarray) -> np.ndarray:
    """A copy to write into. In place of one zero spread over many places come new zeros, which the
    system has without writing them."""
    if a.size > 1 << 16 and a.dtype.kind in "iub" and not any(a.strides) and not a[(0,) * a.ndim]:
        return np.zeros(a.shape, a.dtype)
    return to_write(a)


def _scatter_one(w: Windows, ufunc: np.ufunc | None, order: tuple[int, ...] | None) -> Compute:
    """One window."""
    index, window, spread = _single(w), w.window, bool(w.batch)

    def scatter(a: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        at = index(i)
        if at is None:
            return a
        if order is not None:
            u = u.transpose(order)
        if spread:
            u = u.reshape(window)
        out = _own(a)
        out[at] = u if ufunc is None else ufunc(out[at], u)
        return out

    return over(scatter) if ufunc is None else scatter
