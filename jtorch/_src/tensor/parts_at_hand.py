"""Parts of tensors at hand by ints, slices, None and Ellipsis: small views, made from what was
learnt of one like them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import MODE
from ...core import BIRTHS, Tensor, contiguous_strides
from ..engine import SPECIAL, Aval, shapes_of
from ..facts.size import slice_bounds
from ..ops._kernel import caches
from ..ops.views import VIEWS
from .cells import Step
from .looking import small_view
from .view_steps import dynamic_step, step_of
from .views import MOST_STEP, SELECT_AT, sliced_step

if TYPE_CHECKING:
    from ..facts.kinds import Row


_UNSQUEEZE = VIEWS["unsqueeze"]
#: Views by ints and slices: their steps, strides, offset and description, by what they are of and
#: where.
_parts: dict[Any, tuple[Any, ...]] = {}
caches.append(_parts)
_MOST_PARTS = 4096


def part_of(t: Tensor, index: object) -> Tensor | None:
    """``t[index]`` for ints that are in range, slices, None and Ellipsis, of a tensor at hand, as
    one view; None where it is not to be had so."""
    whole = t._v if t._al is None else t._al.storage.value
    if whole is None or type(whole.array) is not np.ndarray:
        return None
    aval, strides = t._aval, t._strides
    parts: Sequence[Any] | None
    if type(index) is int:  # the commonest
        parts, key = (index,), (aval, strides, index)
    else:
        parts = _parts_of(index)
        if parts is None:
            return None
        key = (aval, strides, *parts)
    known = _parts.get(key)
    if known is None:
        known = _learnt(t, aval, strides or contiguous_strides(aval.shape), parts)
        if known is None:
            return None
        if len(_parts) < _MOST_PARTS:
            _parts[key] = known
    steps, strides_, at, aval = known
    return small_view(t, steps, strides_, at if t._al is None else t._al.offset + at, aval)


def _parts_of(index: object) -> list[object] | None:
    """An index of ints, slices, None and Ellipsis as hashable items; None for another."""
    parts: list[Any] = []
    for item in index if type(index) is tuple else (index,):
        if type(item) is int:
            parts.append(item)
        elif type(item) is slice:
            start, stop, step = part = item.start, item.stop, item.step
            if (
                (start is not None and type(start) is not int)
                or (stop is not None and type(stop) is not int)
                or (step is not None and (type(step) is not int or step < 1))
            ):
                return None
            parts.append(part)
        elif item is None or item is Ellipsis:
            parts.append(item)
        else:
            return None
    return parts


def is_there(t: Tensor, index: tuple[object, ...] | Tensor | int, value: Tensor) -> bool:
    """Whether ``value`` is ``t[index]`` as it is, as Python writes it after ``t[index] += 1``: then
    that is counted, and all is done."""
    al, mine = value._al, t._al
    if (
        al is None
        or mine is None
        or al.storage is not mine.storage
        or not al.direct
        or t._rg
        or value._rg
        or t._state
    ):
        return False
    base, whole = al.base, al.storage.value
    if (
        base is None
        or base._rg
        or base._state
        or whole is None
        or whole.trace is SPECIAL
        or MODE.inference
        or BIRTHS
    ):
        return False
    if (
        al.counter is not mine.counter
        or al.counter.n < 0
        or al.origin is not None
        or 0 in al.strides
        or (parts := _parts_of(index)) is None
    ):
        return False
    known = _parts.get((t._aval, t._strides, *parts))
    if (
        known is None
        or known[3] is not al.aval
        or known[1] != al.strides
        or mine.offset + known[2] != al.offset
    ):
        return False
    al.counter.n += 1
    return True


def _learnt(t: Tensor, aval: Aval, strides: tuple[int, ...], parts: Sequence[Any]) -> Row | None:
    """The steps, strides, offset and description of a view by ints, slices, None and Ellipsis."""
    taken = sum([part is not None and part is not Ellipsis for part in parts])
    if taken > aval.ndim or sum([part is Ellipsis for part in parts]) > 1:
        return None
    steps: list[Step] = []
    shown: Any = aval
    at = dim = 0
    for part in parts:
        if part is Ellipsis:
            dim += aval.ndim - taken
            continue
        if part is None:
            geometry: Any = _UNSQUEEZE.geometry(shown.shape, strides, dim)
            strides, more = geometry
            steps.append(step_of(_UNSQUEEZE, (dim,)))
            shown = shapes_of(steps[-1].get, (shown,), aval.device).outs
            at, dim = at + more, dim + 1
            continue
        n = shown.shape[dim]
        if part == (None, None, None):
            dim += 1
            continue
        before, stride, after = strides[:dim], strides[dim], strides[dim + 1 :]
        if type(part) is int:
            if not -n <= part < n:
                return None
            start = part + n if part < 0 else part
            steps.append(dynamic_step(SELECT_AT, dim, start))
            strides = (*before, *after)
        else:
            start, stop, step = slice_bounds(slice(*part), n)
            if step > MOST_STEP:
                return None
            steps.append(sliced_step(t, dim, n, start, max(start, stop), step))
            strides = (*before, stride * step, *after)
            dim += 1
        at += start * stride
        shown = shapes_of(steps[-1].get, (shown,), aval.device).outs
    return (tuple(steps), strides, at, shown) if steps else None
