"""Shapes of jagged tensors: views that keep the batch in front and the ragged dimension whole,
splitting, joining."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .dims import dense, outer, require_jagged
from .jagged import TABLE
from .pointwise import _agrees, _mismatch, aligned
from .ragged import Cut, NestedInt
from .tensor import NestedTensor, build, structure_matches

if TYPE_CHECKING:
    from ..._src.engine.sized import Sized
    from ..._src.facts.kinds import Function, Values


def _packed(sizes: tuple[object, ...]) -> Values:
    """Sizes given one by one or as one sequence."""
    return (
        list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else list(sizes)
    )


# ---- orders of dimensions ------------------------------------------------------------------------


@TABLE.implements("transpose", "swapaxes", "swapdims")
def transpose(input: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    """Two dimensions exchanged, the ragged one too, the batch never."""
    nt = input
    first, second = outer(nt, dim0), outer(nt, dim1)
    if 0 in (first, second):
        if nt._ragged_idx in (first, second):
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        raise RuntimeError("transpose(): not supported for NestedTensor on dim=0")
    moved = {first: second, second: first}.get(nt._ragged_idx, nt._ragged_idx)
    return nt._like(nt._values.transpose(first - 1, second - 1), moved)


@TABLE.implements("permute")
def permute(input: NestedTensor, *dims: object) -> NestedTensor:
    """Dimensions in another order, the batch first."""
    nt, given = input, _packed(dims)
    if len(given) != len(nt._size):
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({len(nt._size)}) does not match "
            f"the length of the desired ordering of dimensions ({len(given)})."
        )
    order = [outer(nt, d) for d in given]
    if len(set(order)) != len(order):
        raise ValueError("permute(): duplicate dims are not allowed.")
    if nt._cut.lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return nt._like(nt._values.permute([d - 1 for d in order[1:]]), order.index(nt._ragged_idx))


@TABLE.implements("T.__get__", "H.__get__")
def reversed_dims(input: NestedTensor) -> Any:
    """Never possible: the batch would not be in front."""
    return permute(input, *range(len(input._size) - 1, -1, -1))


@TABLE.implements("mT.__get__", "mH.__get__", "adjoint")
def matrix_transpose(input: NestedTensor) -> NestedTensor:
    """The last two dimensions exchanged."""
    return transpose(input, -2, -1)


@TABLE.implements("movedim", "moveaxis")
def movedim(input: NestedTensor, source: Any, destination: Any) -> NestedTensor:
    """Dimensions moved to other places, the others in their order."""
    one = isinstance(source, int)
    sources = [outer(input, d) for d in ([source] if one else source)]
    places = [outer(input, d) for d in ([destination] if one else destination)]
    rest = iter([d for d in range(len(input._size)) if d not in sources])
    order = [
        sources[places.index(i)] if i in places else next(rest) for i in range(len(input._size))
    ]
    return permute(input, order)


# ---- sizes ---------------------------------------------------------------------------------------


@TABLE.implements("view", "_view_shape")
def view(input: NestedTensor, *size: object) -> NestedTensor:
    """The same data with other dense dimensions; batch and ragged size as they are, or -1."""
    nt, given = input, _packed(size)
    if len(given) == 1 and isinstance(given[0], torch.dtype):
        raise NotImplementedError(
            "view(dtype) of nested tensors is not offered by jtorch: the packed dimension could "
            "change its size"
        )
    return _viewed(nt, given, Tensor.view)


def _viewed(nt: NestedTensor, size: list[object], how: Function) -> NestedTensor:
    if tuple(nt._size) == tuple(size):
        return nt._like(nt._values.view_as(nt._values))
    if nt._ragged_idx != 1 and not _keeps_place(nt, size):
        raise RuntimeError(
            "view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is "
            f"({tuple(nt._size)}) and size is ({size})."
        )
    if (len(size) < 3 and len(nt._size) != len(size)) or not structure_matches(nt, size):
        raise RuntimeError(f"view(): cannot view shape {tuple(nt._size)} as {size}")
    inside = [nt._total() if i == nt._ragged_idx else n for i, n in enumerate(size)][1:]
    return nt._like(how(nt._values, inside))


def _keeps_place(nt: NestedTensor, size: list[object]) -> bool:
    """Whether the dimensions before and including the ragged one stay, so that only dense ones
    behind it change."""
    return (
        len(size) > nt._ragged_idx
        and structure_matches(nt, size)
        and -1 not in list(size[1 : nt._ragged_idx])
    )


@TABLE.implements("reshape")
def reshape(input: NestedTensor, *shape: object) -> NestedTensor:
    """As ``view``, with a copy where the memory needs one."""
    return _viewed(input, _packed(shape), Tensor.reshape)


@TABLE.implements("view_as")
def view_as(input: Tensor, other: Any) -> Any:
    """A view of the shape of another nested tensor."""
    return view(input, *other._size) if isinstance(input, NestedTensor) else input.view(other.shape)


@TABLE.implements("reshape_as")
def reshape_as(input: Any, other: Any) -> Any:
    """``reshape`` to the shape of another nested tensor."""
    return (
        reshape(input, *other._size)
        if isinstance(input, NestedTensor)
        else input.reshape(other.shape)
    )


@TABLE.implements("flatten")
def flatten(input: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    """Neighbouring dense dimensions as one."""
    start, end = (dense(input, d, "flatten") for d in (start_dim, end_dim))
    if start == end:
        return input
    if start < input._ragged_idx - 1 < end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    before = 0 if start > input._ragged_idx - 1 else end - start
    return input._like(input._values.flatten(start, end), input._ragged_idx - before)


@TABLE.implements("unflatten")
def unflatten(input: NestedTensor, dim: int, sizes: list[int]) -> NestedTensor:
    """A dense dimension as several."""
    place = outer(input, dim)
    if place in (0, input._ragged_idx):
        what = "ragged dim" if place else "dim=0"
        raise RuntimeError(f"unflatten(): not supported for NestedTensor on {what}")
    added = len(sizes) - 1 if place < input._ragged_idx else 0
    return input._like(input._values.unflatten(place - 1, sizes), input._ragged_idx + added)


@TABLE.implements("unsqueeze")
def unsqueeze(input: NestedTensor, dim: int) -> NestedTensor:
    """A new dimension of size 1, anywhere but before the batch."""
    place = outer(input, dim, 1)
    if place == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return input._like(
        input._values.unsqueeze(place - 1), input._ragged_idx + (place <= input._ragged_idx)
    )


@TABLE.implements("squeeze")
def squeeze(input: NestedTensor, dim: object = None) -> NestedTensor:
    """Dense dimensions of size 1 left out."""
    nt = input
    if dim is None:
        dims = [i for i, n in enumerate(nt._size) if i and i != nt._ragged_idx and n == 1]
    else:
        dims = [
            dense(nt, d, "squeeze") + 1 for d in (dim if isinstance(dim, (tuple, list)) else [dim])
        ]
        dims = [d for d in dims if nt._size[d] == 1]
    return nt._like(
        nt._values.squeeze(tuple(d - 1 for d in dims)),
        nt._ragged_idx - len([d for d in dims if d < nt._ragged_idx]),
    )


@TABLE.implements("expand")
def expand(input: NestedTensor, *size: object) -> NestedTensor:
    """Dense dimensions of size 1 repeated without a copy."""
    given = _packed(size)
    if len(given) != len(input._size) or not structure_matches(input, given):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(input._size)} -> {given}")
    return input._like(
        input._values.expand(
            [-1 if d == input._ragged_idx else given[d] for d in range(1, len(given))]
        )
    )


@TABLE.implements("expand_as")
def expand_as(input: Tensor, other: Any) -> Any:
    """Expanded to the shape of another; a dense tensor to the packed values of a nested one."""
    if isinstance(input, NestedTensor):
        return expand(input, *other._size)
    return other._like(input.expand_as(other._values))


@TABLE.implements("broadcast_to")
def broadcast_to(input: NestedTensor, size: Any) -> NestedTensor:
    """As ``expand``; missing leading sizes are kept."""
    given = list(size)
    if len(given) > len(input._size):
        raise ValueError(
            "broadcast_to(): broadcasting to a higher-dim shape is currently not supported for "
            "nested tensors with the jagged layout"
        )
    return expand(input, *([1] * (len(input._size) - len(given))), *given)


@TABLE.implements("broadcast_tensors")
def broadcast_tensors(*tensors: object) -> tuple[NestedTensor, ...]:
    """Nested tensors of one structure, and dense ones, with common dense sizes."""
    given = _packed(tensors)
    first = next(t for t in given if isinstance(t, NestedTensor))
    return tuple(_broadcast(given, first))


def _broadcast(given: Values, first: NestedTensor) -> list[NestedTensor]:
    inside = []
    for t in given:
        if isinstance(t, NestedTensor):
            if not _agrees(first, t):
                raise _mismatch(torch.add, first, t)
            inside.append(t._values)
        else:
            inside.append(aligned(t, first, torch.add))
    return [first._like(x) for x in torch.broadcast_tensors(*inside)]


@TABLE.implements("where")
def where(condition: Any, input: Any = None, other: Any = None) -> NestedTensor:
    """Elements of ``input`` where the condition holds, else of ``other``."""
    if input is None:
        raise NotImplementedError(
            "where(condition) of nested tensors is not offered by jtorch: use nonzero() of values()"
        )
    given = [condition, input, other]
    first = next(t for t in given if isinstance(t, NestedTensor))
    for t in given:
        if isinstance(t, NestedTensor) and not _agrees(first, t):
            raise _mismatch(torch.where, first, t)
    inside = [
        t._values
        if isinstance(t, NestedTensor)
        else aligned(t, first, torch.where)
        if isinstance(t, Tensor)
        else t
        for t in given
    ]
    return first._like(torch.where(*inside))


# ---- parts ---------------------------------------------------------------------------------------


@TABLE.implements("split", "unsafe_split")
def split(
    tensor: NestedTensor, split_size_or_sections: object = None, dim: int = 0, **spelled: object
) -> tuple[NestedTensor, ...]:
    """Parts of a dense dimension: of one size, or of the sizes given."""
    size = spelled.get("split_size", spelled.get("split_sizes", split_size_or_sections))
    name = "split_with_sizes" if isinstance(size, (tuple, list)) else "split"
    place = dense(tensor, dim, name)
    return tuple(tensor._like(x) for x in tensor._values.split(size, place))


@TABLE.implements("split_with_sizes", "unsafe_split_with_sizes")
def split_with_sizes(
    input: NestedTensor, split_sizes: Any, dim: int = 0
) -> tuple[NestedTensor, ...]:
    """Parts of a dense dimension, of the sizes given."""
    return split(input, list(split_sizes), dim)


@TABLE.implements("chunk", "unsafe_chunk")
def chunk(input: NestedTensor, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    """Equal parts of a dense dimension, or of the batch."""
    nt, place = input, outer(input, dim)
    if place:
        return tuple(nt._like(x) for x in nt._values.chunk(chunks, dense(nt, dim, "chunk")))
    require_jagged(nt, "chunk_default(self: jt, chunks: any, dim: any?)", "self")
    size = math.ceil(nt._cut.batch / chunks) or 1
    return tuple(
        _batch_part(nt, i, min(i + size, nt._cut.batch)) for i in range(0, nt._cut.batch, size)
    )


def _batch_part(nt: NestedTensor, start: int, stop: int) -> NestedTensor:
    """The items from ``start`` to before ``stop``, a view."""
    starts, lengths = nt._cut.host
    offsets = nt._cut.offsets[start : stop + 1]
    r = nt._ragged_idx - 1
    if nt._cut.lengths is not None:
        return build(
            nt._values,
            Cut(offsets.clone(), nt._cut.lengths[start:stop].clone()),
            nt._ragged_idx,
            type(nt),
        )
    first = starts[start] if start < len(starts) else nt._total()
    total = sum(lengths[start:stop])
    return build(nt._values.narrow(r, first, total), Cut(offsets - first), nt._ragged_idx, type(nt))


@TABLE.implements("tensor_split")
def tensor_split(
    input: NestedTensor, indices_or_sections: object = None, dim: int = 0, **spelled: object
) -> tuple[NestedTensor, ...]:
    """Parts of a dense dimension: so many, or cut at the indices."""
    where_ = spelled.get("sections", spelled.get("indices", indices_or_sections))
    place = dense(input, dim, "slice")
    return tuple(input._like(x) for x in input._values.tensor_split(where_, place))


@TABLE.implements("dsplit")
def dsplit(input: NestedTensor, indices_or_sections: object) -> tuple[NestedTensor, ...]:
    """``tensor_split`` of dimension 2."""
    if len(input._size) < 3:
        raise RuntimeError(
            "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with "
            f"{len(input._size)} dimensions!"
        )
    if isinstance(indices_or_sections, int) and input._size[2] % indices_or_sections:
        raise RuntimeError(
            "torch.dsplit attempted to split along dimension 2, but the size of the dimension "
            f"{input._size[2]} is not divisible by the split_size {indices_or_sections}!"
        )
    return tensor_split(input, indices_or_sections, 2)


@TABLE.implements("atleast_1d", "atleast_2d")
def at_least(*tensors: object) -> Any:
    """Nested tensors have two dimensions at least; dense ones beside them get theirs."""
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


@TABLE.implements("atleast_3d")
def atleast_3d(*tensors: object) -> Any:
    """A dimension of size 1 behind those of nested tensors of two."""
    found = [
        unsqueeze(t, 2) if isinstance(t, NestedTensor) and len(t._size) == 2 else t for t in tensors
    ]
    return found[0] if len(found) == 1 else tuple(found)


@TABLE.implements("unbind")
def unbind(input: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The items, as views of the packed values."""
    nt = input
    if dim != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    starts, lengths = nt._cut.host
    r, total = nt._ragged_idx - 1, nt._total()
    if sum(lengths) > total or any(s + n > total for s, n in zip(starts, lengths, strict=True)):
        raise RuntimeError(
            "unbind(): nested tensor offsets and lengths do not match ragged_idx dimension"
        )
    values = nt._values
    if nt._cut.lengths is None and sum(lengths) == total:
        return tuple(values.split(lengths, r))
    return tuple(values.narrow(r, s, n) for s, n in zip(starts, lengths, strict=True))


@TABLE.implements("select")
def select(input: NestedTensor, dim: int, index: int) -> NestedTensor | Tensor:
    """One item, dense, or one place of a dense dimension, jagged."""
    nt, place = input, outer(input, dim)
    if place == 0:
        return item(nt, int(index))
    inside = dense(nt, dim, "select")
    if nt._cut.lengths is not None:
        raise ValueError(
            "select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes"
        )
    return nt._like(nt._values.select(inside, index), nt._ragged_idx - (place < nt._ragged_idx))


def item(nt: NestedTensor, index: int) -> Tensor:
    """The item at ``index``, a view.

    Raises:
        IndexError: if there is none.
    """
    starts, lengths = nt._cut.host
    if not -len(starts) <= index < len(starts):
        raise IndexError("tuple index out of range")
    return nt._values.narrow(nt._ragged_idx - 1, starts[index], lengths[index])


@TABLE.implements("nn.functional.pad", "constant_pad_nd")
def pad(
    input: NestedTensor,
    pad: tuple[int, ...],
    mode: str = "constant",
    value: bool | float | complex | int | None = None,
) -> NestedTensor:
    """Padding of the dense dimensions behind the ragged one."""
    if isinstance(mode, (int, float)):  # constant_pad_nd has the value there
        mode, value = "constant", mode
    if len(pad) // 2 > len(input._size) - 1 - input._ragged_idx:
        raise RuntimeError(
            "pad(): not supported for NestedTensor on ragged dim; use to_padded_tensor()"
        )
    return input._like(torch.nn.functional.pad(input._values, pad, mode, value))


# ---- joining -------------------------------------------------------------------------------------


@TABLE.implements("cat", "concat", "concatenate")
def cat(tensors: list[Tensor], dim: int = 0) -> NestedTensor:
    """Nested tensors of one structure (and dense ones, expanded) joined along a dense dimension."""
    given = list(tensors)
    first = next(t for t in given if isinstance(t, NestedTensor))
    place = dense(first, dim, "cat")
    given = [
        t if isinstance(t, NestedTensor) else first._like(t.expand(first._values.shape))
        for t in given
    ]
    for t in given:
        if not structure_matches(t, first._size) or t._ragged_idx != first._ragged_idx:
            raise RuntimeError(
                "cat(): expected all nested tensors to have the same nested structure: "
                f"{_sizes(given)}"
            )
    return given[0]._like(torch.cat([t._values for t in given], place))


def _sizes(given: list[NestedTensor]) -> str:
    return ", ".join(str(tuple(t._size)) for t in given)


@TABLE.implements("stack")
def stack(tensors: Values, dim: int = 0) -> NestedTensor:
    """Nested tensors of one structure along a new dense dimension behind the ragged one."""
    first = tensors[0]
    for t in tensors:
        if not isinstance(t, NestedTensor):
            raise RuntimeError("stack(): expected all nested tensors inputs")
        if len(t._size) != len(first._size):
            raise RuntimeError("stack(): expected all nested tensors to have the same dim")
        if not structure_matches(t, first._size):
            raise RuntimeError(
                "stack(): expected all nested tensors to have the same nested structure"
            )
    place = dense(first, dim, "stack", 1)
    return first._like(
        torch.stack([t._values for t in tensors], place),
        first._ragged_idx + (place < first._ragged_idx - 1),
    )


# ---- narrowing, with the generalised arguments ---------------------------------------------------


@TABLE.implements("narrow")
def narrow(
    input: NestedTensor, dim: tuple[int, ...] | int, start: Sized, length: Any
) -> NestedTensor:
    """A stretch of a dense dimension; as an extension, of the ragged one and of several at once.

    ``dim``, ``start`` and ``length`` may be tuples of the same number of entries, one for each
    dimension. For the ragged dimension an entry is an int for all items, or a sequence (or tensor)
    with one number for each; the result is a view whose items lie apart. For the batch dimension it
    selects items.

    Examples:
        >>> import jtorch as torch
        >>> nt = torch.nested.nested_tensor(
        ...     [torch.arange(3.0), torch.arange(5.0)], layout=torch.jagged
        ... )
        >>> torch.narrow(nt, 1, (0, 2), (2, 3)).unbind()
        (tensor([0., 1.]), tensor([2., 3., 4.]))
        >>> torch.narrow(nt, (0, 1), (1, 1), (1, 2)).unbind()
        (tensor([1., 2.]),)
    """
    if isinstance(dim, (tuple, list)):
        if not len(dim) == len(start) == len(length):
            raise ValueError(
                f"narrow(): {len(dim)} dims, {len(start)} starts and {len(length)} lengths were "
                "given; they must be as many"
            )
        # the batch last: entries are for all its items
        order = sorted(range(len(dim)), key=lambda i: outer(input, dim[i]) == 0)
        return functools.reduce(
            lambda nt, i: _narrowed(nt, dim[i], start[i], length[i]), order, input
        )
    plain = (
        isinstance(start, (int, Tensor))
        and isinstance(length, int)
        and not (isinstance(start, Tensor) and start.dim())
    )
    if plain:
        place = dense(input, dim, "narrow")
        return input._like(input._values.narrow(place, start, length))
    return _narrowed(input, dim, start, length)


def _narrowed(nt: NestedTensor, dim: int, start: object, length: int) -> NestedTensor:
    place = outer(nt, dim)
    if place == 0:
        if not isinstance(start, int) or not isinstance(length, int):
            raise TypeError("narrow(): start and length of the batch dimension must be ints")
        first = start + nt._cut.batch if start < 0 else start
        if first < 0 or length < 0 or first + length > nt._cut.batch:
            raise RuntimeError(
                f"start ({start}) + length ({length}) exceeds dimension size ({nt._cut.batch})."
            )
        return _batch_part(nt, first, first + length)
    if place != nt._ragged_idx:
        return nt._like(nt._values.narrow(place - 1, start, length))
    _, have = nt._cut.host
    starts = _each(start, have, "start")
    starts = [s + n if s < 0 else s for s, n in zip(starts, have, strict=True)]
    lengths = _each(length, have, "length")
    for i, (s, n, size) in enumerate(zip(starts, lengths, have, strict=True)):
        if s < 0 or n < 0 or s + n > size:
            raise RuntimeError(
                f"start ({s}) + length ({n}) exceeds dimension size ({size}) of item {i}."
            )
    at = nt._cut.offsets.device
    with torch.no_grad():
        offsets = nt._cut.offsets + torch.nn.functional.pad(
            torch.tensor(starts, dtype=torch.int64, device=at), (0, 1)
        )
        cut = Cut(offsets, torch.tensor(lengths, dtype=torch.int64, device=at))
    cut.ragged.know(min(lengths, default=0), max(lengths, default=0))
    return build(nt._values, cut, nt._ragged_idx, type(nt))


def _each(given: Any, have: list[int], name: str) -> list[int]:
    """One number for each item."""
    if isinstance(given, NestedInt):
        return list(have)
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, int):
        return [given] * len(have)
    if len(given) != len(have):
        raise RuntimeError(f"narrow(): {len(given)} numbers in {name} for {len(have)} items")
    return [int(n) for n in given]
