"""``nt[...]`` and ``nt[...] = value`` for jagged tensors."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import Tensor

from .compacting import compact
from .dims import dense, outer
from .jagged import TABLE
from .ragged import Cut, pack
from .tensor import Nested, NestedTensor, build
from .views import item, select, unsqueeze


@TABLE.implements("__getitem__")
def getitem(input: Tensor, index: Any) -> Tensor:
    """An item, a part of it, or the same part of the dense dimensions of all items."""
    if not isinstance(input, NestedTensor):
        raise NotImplementedError(
            "indexing with a nested tensor is not offered by jtorch: use its values()"
        )
    indices = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(i, (Tensor, list)) for i in indices):
        return _gathered(input, indices)
    taken = sum(i is not None and i is not Ellipsis and not isinstance(i, bool) for i in indices)
    if any(isinstance(i, bool) for i in indices):
        raise NotImplementedError("aten.index.Tensor")
    if taken > len(input._size):
        raise IndexError(f"too many indices for tensor of dimension {len(input._size)}")
    if Ellipsis in indices:
        place = indices.index(Ellipsis)
        indices[place : place + 1] = [_SKIP] * (len(input._size) - taken)
    if indices and isinstance(indices[0], int):
        found = item(input, indices[0])
        rest = tuple([slice(None) if i is _SKIP else i for i in indices[1:]])
        # One dimension in front, so that errors count dimensions as the caller does.
        return found.unsqueeze(0)[(0, *rest)] if rest else found
    nt, place = input, 0
    for i in indices:
        if i is _SKIP:
            place += 1
        elif i is None:
            nt, place = unsqueeze(nt, place), place + 1
        elif isinstance(i, slice):
            inside = dense(nt, place, "slice")
            nt = nt._like(nt._values[(slice(None),) * inside + (i,)])
            place += 1
        else:
            nt = select(nt, place, i)
    return nt


class _Skip:
    """Stands for a dimension that an ellipsis covers."""


_SKIP = _Skip()


def _gathered(nt: NestedTensor, indices: list[Tensor]) -> Tensor:
    """``nt[b, r]`` for tensors of items and of places in them (an extension), further indices as
    for dense tensors."""
    end = nt._ragged_idx + 1
    if (
        len(indices) < end
        or any(not isinstance(i, (int, Tensor)) for i in indices[:end])
        or any(_is_mask(i) for i in indices)
    ):
        raise NotImplementedError("aten.index.Tensor")
    return nt._values[_packed_index(nt, indices)]


def _is_mask(i: object) -> bool:
    return isinstance(i, Tensor) and i.dtype in (torch.bool, torch.uint8)


def _packed_index(nt: NestedTensor, indices: list[Tensor]) -> tuple[Tensor, ...]:
    """Indices of the batch and the ragged dimension as one of the packed dimension.

    Raises:
        RuntimeError: if a place is beyond the end of its item.
    """
    rows, places = indices[0], indices[nt._ragged_idx]
    at = nt._cut.offsets.device
    rows = rows if isinstance(rows, Tensor) else torch.tensor(rows, device=at)
    lengths = nt._cut.counts()[rows]
    if bool((places >= lengths).any()):
        raise RuntimeError("Some indices in the ragged dimension are out of bounds!")
    packed = nt._cut.offsets[rows] + places
    return (*indices[1 : nt._ragged_idx], packed, *indices[nt._ragged_idx + 1 :])


@TABLE.implements("__setitem__")
def setitem(input: object, index: object, value: Tensor | float) -> None:
    """Writes into an item, or into the same part of all items."""
    if not isinstance(input, NestedTensor):
        raise NotImplementedError(
            "writing a nested tensor into a dense one is not offered by jtorch: use "
            "to_padded_tensor()"
        )
    indices = index if isinstance(index, tuple) else (index,)
    if isinstance(index, NestedTensor) and index.dtype is torch.bool:
        if isinstance(value, Tensor) and value.dim():
            raise NotImplementedError("nt[mask] = tensor is not offered by jtorch: use where()")
        input.masked_fill_(index, value)
        return
    if any(isinstance(i, (Tensor, list)) for i in indices):
        index_put_(
            input,
            indices,
            value if isinstance(value, Tensor) else torch.tensor(value, dtype=input.dtype),
        )
        return
    target = getitem(input, index)
    if isinstance(value, Nested):
        if not isinstance(target, Nested):
            raise RuntimeError("an item of a nested tensor cannot be set to a nested tensor")
        target.copy_(value)
    elif isinstance(target, Nested):
        target._values.copy_(value) if isinstance(
            value, Tensor
        ) and value.dim() else target._values.fill_(value)
    elif isinstance(value, Tensor):
        target.copy_(value)
    else:
        target.fill_(value)


def _put(nt: NestedTensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """New values, with ``values`` at the indices."""
    given = list(indices)
    if len(given) > len(nt._size):
        raise AssertionError(
            f"Too many indices: got {len(given)} but tensor has {len(nt._size)} dimensions"
        )
    if len(given) < nt._ragged_idx + 1:
        if not nt.is_contiguous():
            raise RuntimeError(
                "index_put(): If ragged dimension is not part of indices, this only works on "
                "contiguous NJTs"
            )
        changed = nt._padded(0.0).index_put(tuple(given), values, accumulate)
        front = changed if nt._ragged_idx == 1 else changed.movedim(nt._ragged_idx, 1)
        return nt._from_rows(pack(front, nt._cut, nt._total()))._values
    return nt._values.index_put(_packed_index(nt, given), values, accumulate)


@TABLE.implements("index_put")
def index_put(
    input: NestedTensor, indices: object, values: Tensor, accumulate: bool = False
) -> NestedTensor:
    """A copy with ``values`` at places given by item, position and dense indices."""
    return input._like(_put(input, indices, values, accumulate))


@TABLE.implements("index_put_")
def index_put_(
    input: NestedTensor, indices: object, values: Tensor, accumulate: bool = False
) -> NestedTensor:
    """Writes ``values`` at places given by item, position and dense indices."""
    input._values.copy_(_put(input, indices, values, accumulate))
    return input


@TABLE.implements("bucketize")
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> NestedTensor:
    """The bucket of each element among those that dense ``boundaries`` separate."""
    if isinstance(boundaries, Nested):
        raise RuntimeError("bucketize(): the boundaries must not be nested")
    return input._like(torch.bucketize(input._values, boundaries, out_int32=out_int32, right=right))


@TABLE.implements("isin")
def isin(
    elements: Any, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among the others."""
    among = test_elements._values if isinstance(test_elements, Nested) else test_elements
    inside = elements._values if isinstance(elements, Nested) else elements
    found = torch.isin(inside, among, assume_unique=assume_unique, invert=invert)
    return elements._like(found) if isinstance(elements, Nested) else found


@TABLE.implements("index_select")
def index_select(input: NestedTensor, dim: int, index: Tensor) -> NestedTensor:
    """Places of a dense dimension, or items of the batch, by their numbers."""
    if outer(input, dim):
        return input._like(input._values.index_select(dense(input, dim, "index_select"), index))
    nt = compact(input)
    counts = nt._cut.counts().index_select(0, index)
    with torch.no_grad():
        ends = torch.nn.functional.pad(counts.cumsum(0), (1, 0))
        cut = Cut(ends)
        total = int(ends[-1])
        rows = cut.rows(total)
        places = nt._cut.offsets[index][rows] + torch.arange(total, device=ends.device) - ends[rows]
    return build(nt._values.index_select(nt._ragged_idx - 1, places), cut, nt._ragged_idx, type(nt))
