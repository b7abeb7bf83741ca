"""Views of a tensor in several pieces: ``split``, ``chunk``, ``unbind`` and their like."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import MODE
from ...autograd.names import named
from ...autograd.tape import Node
from ...core import Tensor, contiguous_strides, lazy_bits
from ..bind.arguments import whole
from ..bind.cores import composite
from ..engine import META, SPECIAL, Call, aval_of, limits, numbers_of, on_host, record, settled
from ..facts import dtypes
from ..facts.errors import canonical_dim, check_long, check_longs
from ..facts.size import SYMBOLIC, slice_bounds
from ..ops._declare import OPS
from ..ops._facts import schemas
from ..ops._kernel import Fixed, T, caches, call_of
from .aliases import wide
from .cells import Step
from .looking import small_view, unread, view
from .view_steps import dynamic_step, step_of
from .views import _SELECT, _SLICE, SELECT_AT, _check_tensor, is_data, slice_at

if TYPE_CHECKING:
    from ..facts.kinds import Operands, Tree


#: Splits by strides, dimension and sizes: the call, and each part's step, strides and offset.
_splits: dict[Any, tuple[Call, list[Step], list[tuple[int, ...]], list[int]]] = {}
caches.append(_splits)
_MOST_SPLITS = 1024


def _split_views(
    t: Tensor, d: int, sizes: tuple[int, ...], listed: bool = False
) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension as views of one operation."""
    strides = t._strides or contiguous_strides(t._aval.shape)
    key = (strides, d, sizes)
    known = _splits.get(key)
    if known is None:
        starts = (0, *itertools.accumulate(sizes))
        steps = [step_of(_SLICE, (d, a, a + n, 1)) for a, n in zip(starts, sizes, strict=False)]
        known = (
            _multi_call("_split", (sizes, d)),
            steps,
            [strides] * len(sizes),
            [strides[d] * a for a in starts[:-1]],
        )
        if len(_splits) < _MOST_SPLITS:
            _splits[key] = known
    made = _several(t, *known)
    return named(made, "SplitWithSizesBackward0") if listed else made


def _multi_call(name: str, statics: tuple[object, ...]) -> Call:
    op = OPS[f"_C.{name}"]
    return call_of(op, (T, *[Fixed(s) for s in statics]))


def _several(
    t: Tensor,
    call: Call,
    steps: Sequence[Step],
    strides: Sequence[tuple[int, ...]],
    offsets: Sequence[int],
) -> tuple[Tensor, ...]:
    al = t._al
    base_offset = al.offset if al is not None else 0
    if not t._rg and steps:
        small = [
            small_view(t, (s,), st, base_offset + o)
            for s, st, o in zip(steps, strides, offsets, strict=True)
        ]
        if all(r is not None for r in small):
            return _of_several(small)
    if al is not None and al.storage.host is not None and al.storage.lent() is not None:
        return tuple(
            [
                view(t, s, st, base_offset + o)
                for s, st, o in zip(steps, strides, offsets, strict=True)
            ]
        )
    apart = al is not None and al.value is None and wide(al)  # such views are not read as a whole
    v = t._v or (None if apart else t._read())
    al = t._al
    base_offset = al.offset if al is not None else 0
    if v is None or unread(t, v):
        made = tuple(
            [
                view(t, s, st, base_offset + o)
                for s, st, o in zip(steps, strides, offsets, strict=True)
            ]
        )
        return _of_several(made)
    values = record(call, (v,))
    node = None
    if t._rg and MODE.enabled and v.aval.differentiable and t._writes >= 0:
        node = Node(call, (v,), (t._edge(),), (), values)
    made = [
        view(t, s, st, base_offset + o, values[j], (node, j) if node is not None else None, v)
        for j, (s, st, o) in enumerate(zip(steps, strides, offsets, strict=True))
    ]
    return _of_several(made)


def _of_several(made: Operands) -> tuple[Tensor, ...]:
    """Views that one operation made, which torch does not let be written under autograd."""
    for r in made:
        if r._al.origin is None:
            r._al.origin = "multi"
    return tuple(made)


@composite(namespace="Tensor", name="split", operands=("self",), native=False)
@schemas(
    ".Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    ".sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
)
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Views of consecutive parts: of ``split_size`` elements each (the last may be smaller), or of
    the sizes listed.

    Args:
        split_size: the size of each part but the last, or a list with the size of each.
        dim: the dimension that is cut.

    Shapes: that of the tensor but for size ``dim``.

    Raises:
        RuntimeError: if the sizes do not sum to the dimension's, or are negative.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return split(self, split_size, dim)


@composite(operands=("tensor",), native=False, home="functional", implicit=("split.sizes",))
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Views of consecutive parts of a dimension: of one size each (the last may be smaller), or of
    the sizes listed.

    Args:
        tensor: the tensor.
        split_size_or_sections: the size of each part but the last, or a list with the size of each.
        dim: the dimension that is cut.

    Shapes: that of ``tensor`` but for size ``dim``.

    Raises:
        RuntimeError: if the sizes do not sum to the dimension's, or are negative.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.split(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    _check_tensor("split", tensor)
    shape = tensor._aval.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = canonical_dim(whole("split", "dim", dim), len(shape))
    n = shape[d]
    if isinstance(split_size_or_sections, (list, tuple)):
        return _split_views(tensor, d, _sections(split_size_or_sections, n, shape), True)
    size = whole("split", "split_size", split_size_or_sections)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0:
        if n:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        return _split_views(tensor, d, (0,))
    limits.check_count(-(-n // size))
    sizes = [min(size, n - a) for a in range(0, n, size)] or [0]
    return _split_views(tensor, d, tuple(sizes))


def _sections(sizes: Sequence[int], n: int, shape: Sequence[int]) -> tuple[int, ...]:
    check_longs("split_with_sizes", "split_sizes", sizes)
    found = tuple([whole("split_with_sizes", "split_sizes", s) for s in sizes])
    for s in found:
        if s < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={list(found)}"
            )
    if sum(found) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {list(shape).index(n)}), but got split_sizes={list(found)}"
        )
    return found


@composite(method=True, operands=("input",))
@schemas("(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")
def split_with_sizes(input: Tensor, split_sizes: tuple[int, ...], dim: int = 0) -> Any:
    """Views of consecutive parts of the sizes listed.

    Shapes: that of ``input`` but for size ``dim``.

    Raises:
        RuntimeError: if the sizes do not sum to the dimension's, or are negative.

    Example:
        >>> import jtorch as torch
        >>> torch.split_with_sizes(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    d = canonical_dim(dim, input.dim())
    return _split_views(
        input, d, _sections(split_sizes, input._aval.shape[d], input._aval.shape), True
    )


@composite(method=True, operands=("input",))
@schemas("(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """At most ``chunks`` views of equal size along a dimension (the last may be smaller).

    Args:
        input: the tensor.
        chunks: how many parts there are at most.
        dim: the dimension that is cut.

    Shapes: that of ``input`` but for size ``dim``, which is the quotient rounded up.

    Raises:
        RuntimeError: if ``chunks`` is not positive, or the tensor has no dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.chunk(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    _check_tensor("chunk", input)
    if not input.dim():
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    check_long(chunks)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = canonical_dim(dim, input.dim())
    n = input._aval.shape[d]
    if is_multiple(n, chunks):
        return _split_views(input, d, (n // chunks,) * chunks, True)
    size = -(-n // chunks)
    limits.check_count(chunks if size == 0 else -(-n // size))
    if size == 0:
        return _split_views(input, d, (0,) * chunks, True)
    return _split_views(input, d, tuple(min(size, n - a) for a in range(0, n, size)))


def is_multiple(n: int, count: int) -> bool:
    """Whether a size that is not known is a multiple of a number, whatever it is."""
    if type(n) not in SYMBOLIC:
        return False
    rest = n // count * count - n
    return type(rest) not in SYMBOLIC and not rest


def _parts(name: str, *given: object) -> Tree:
    """The parts asked for, under whichever name."""
    found = [x for x in given if x is not None]
    if len(found) != 1:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: it takes either sections or "
            "indices"
        )
    return found[0]


@composite(method=True, operands=("input", "indices_or_sections", "tensor_indices_or_sections"))
@schemas(
    ".sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
    ".indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    ".tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int "
    "dim=0) -> Tensor(a)[]",
)
def tensor_split(
    input: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    sections: Any = None,
    indices: Any = None,
    tensor_indices_or_sections: Any = None,
) -> Any:
    """Views of a dimension's parts: ``indices_or_sections`` nearly equal ones, or cut at the
    positions listed.

    Shapes: that of ``input`` but for size ``dim``.

    Raises:
        RuntimeError: if the number of parts is not positive, or the tensor has no dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor_split(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> torch.tensor_split(torch.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    indices_or_sections = _parts(
        "tensor_split", indices_or_sections, sections, indices, tensor_indices_or_sections
    )
    _check_tensor("tensor_split", input)
    if not input.dim():
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    d = canonical_dim(dim, input.dim())
    n = input._aval.shape[d]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {indices_or_sections.dim()} dims"
            )
        if indices_or_sections.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{indices_or_sections.dtype.scalar_name}"
            )
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, (tuple, list)):
        indices_or_sections = whole("tensor_split", "sections", indices_or_sections)
        if indices_or_sections <= 0:
            raise RuntimeError(
                f"number of sections must be larger than 0, got {indices_or_sections}"
            )
        limits.check_count(indices_or_sections)
        small, more = divmod(n, indices_or_sections)
        edges = np.cumsum([0] + [small + (i < more) for i in range(indices_or_sections)]).tolist()
    else:
        edges = [
            0,
            *[
                slice_bounds(slice(0, whole("tensor_split", "indices", i)), n)[1]
                for i in indices_or_sections
            ],
            n,
        ]
    # Views of one operation each, unlike those of split: they may be changed in place.
    return tuple([slice_at(input, d, a, max(a, b), 1) for a, b in itertools.pairwise(edges)])


@composite(method=True, operands=("input",), implicit=True)
@schemas(
    ".int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    ".array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
)
def hsplit(
    input: Tensor,
    indices_or_sections: int | tuple[int, ...] | None = None,
    *,
    sections: int | None = None,
    indices: tuple[int, ...] | None = None,
) -> Any:
    """``tensor_split`` along columns (along the only dimension of a vector).

    Shapes: that of ``input`` but for the size of the dimension.

    Raises:
        RuntimeError: if the tensor has no dimension, or cannot be cut into equal parts.

    Example:
        >>> import jtorch as torch
        >>> torch.hsplit(torch.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
    """
    if not input.dim():
        raise RuntimeError(
            "torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 "
            "dimensions!"
        )
    return _even_split(
        "hsplit",
        input,
        _parts("hsplit", indices_or_sections, sections, indices),
        0 if input.dim() == 1 else 1,
    )


@composite(method=True, operands=("input",), implicit=True)
@schemas(
    ".int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    ".array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
)
def vsplit(
    input: Tensor,
    indices_or_sections: int | tuple[int, ...] | None = None,
    *,
    sections: int | None = None,
    indices: tuple[int, ...] | None = None,
) -> Any:
    """``tensor_split`` along rows.

    Shapes: that of ``input`` but for the first size.

    Raises:
        RuntimeError: if the tensor has fewer than two dimensions, or cannot be cut into equal
            parts.

    Example:
        >>> import jtorch as torch
        >>> torch.vsplit(torch.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    if input.dim() < 2:
        raise RuntimeError(
            "torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with "
            f"{input.dim()} dimensions!"
        )
    return _even_split("vsplit", input, _parts("vsplit", indices_or_sections, sections, indices), 0)


@composite(method=True, operands=("input",), implicit=True)
@schemas(
    ".int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
    ".array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
)
def dsplit(
    input: Tensor,
    indices_or_sections: int | tuple[int, ...] | None = None,
    *,
    sections: int | None = None,
    indices: tuple[int, ...] | None = None,
) -> Any:
    """``tensor_split`` along the third dimension.

    Shapes: that of ``input`` but for the third size.

    Raises:
        RuntimeError: if the tensor has fewer than three dimensions, or cannot be cut into equal
            parts.

    Example:
        >>> import jtorch as torch
        >>> [part.shape for part in torch.dsplit(torch.zeros(1, 2, 4), [1])]
        [torch.Size([1, 2, 1]), torch.Size([1, 2, 3])]
    """
    if input.dim() < 3:
        raise RuntimeError(
            "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with "
            f"{input.dim()} dimensions!"
        )
    return _even_split("dsplit", input, _parts("dsplit", indices_or_sections, sections, indices), 2)


def _even_split(name: str, t: Tensor, parts: tuple[int, ...] | int, dim: int) -> object:
    n = t._aval.shape[dim]
    if isinstance(parts, int) and (parts <= 0 or n % parts):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{n} is not divisible by the split_size {parts}!"
        )
    return tensor_split(t, parts, dim)


@composite(method=True, operands=("input",))
@schemas(".int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(input: Tensor, dim: int = 0) -> Any:
    """A tuple of views, one for each index of a dimension.

    Args:
        input: the tensor.
        dim: the dimension that is removed.

    Shapes: that of ``input`` without dimension ``dim``.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    _check_tensor("unbind", input)
    shape = input._aval.shape
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = canonical_dim(whole("unbind", "dim", dim), len(shape))
    limits.check_count(shape[d])
    strides = input._strides or contiguous_strides(shape)
    rest = (*strides[:d], *strides[d + 1 :])
    if shape[d] > _MANY and not input._rg and (rows := _rows(input, d)) is not None:
        return rows
    # one small program for any index, rather than one for each length
    if is_data(input) and not input._rg:
        at, stride = input._al.offset if input._al is not None else 0, strides[d]
        return tuple(
            [
                _multi(view(input, dynamic_step(SELECT_AT, d, i), rest, at + stride * i))
                for i in range(shape[d])
            ]
        )
    steps = [step_of(_SELECT, (d, i)) for i in range(shape[d])]
    if not steps:
        return ()
    return _several(
        input,
        _multi_call("_unbind", (d,)),
        steps,
        [rest] * len(steps),
        [strides[d] * i for i in range(shape[d])],
    )


#: From how many parts on they are cut from the numbers themselves: a program with as many results
#: takes long to make.
_MANY = 64


def _rows(t: Tensor, d: int) -> tuple[Tensor, ...] | None:
    """The parts that ``unbind`` gives, cut from what is in memory; None where that is not the
    host's, or not to be read now."""
    al = t._al
    if al is not None and (
        lazy_bits(t) != (False, False)
        or (al.storage.host is not None and al.storage.lent() is not None)
    ):
        return None
    if al is not None and al.value is None and wide(al):
        return None
    v = t._v or t._read()
    if v.trace is SPECIAL or v.aval.device == META or not on_host(v.aval.device):
        return None
    strides = t._strides or contiguous_strides(t._aval.shape)
    rest, start = (*strides[:d], *strides[d + 1 :]), 0 if t._al is None else t._al.offset
    parts = np.moveaxis(numbers_of(v), d, 0).copy()
    aval = aval_of(parts.shape[1:], parts.dtype, v.aval.device)
    made = []
    for i in range(parts.shape[0]):
        step = dynamic_step(SELECT_AT, d, i)
        made.append(
            _multi(
                view(t, step, rest, start + strides[d] * i, settled(parts[i, ...], aval), None, v)
            )
        )
    return tuple(made)


def _multi(t: Tensor) -> Tensor:
    t._al.origin = t._al.origin or "multi"
    return t
