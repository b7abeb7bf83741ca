"""Sparse tensors rearranged: transposed, selected, joined, and indexed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch

from .._src.facts import layouts
from .._src.facts.errors import canonical_dim
from .._src.ops.views import moved_order
from ..core import Tensor
from ._make import batch_dims, canonical, compressed_to_coo, index_tensor
from ._tensor import (
    BLOCKED,
    COMPRESSED,
    NAMES,
    SparseTensor,
    become,
    coo,
    could_not_run,
    getter,
    host,
    make,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._whole import following

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Values


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch

_FLIPPED = {
    layouts.sparse_csr: layouts.sparse_csc, layouts.sparse_csc: layouts.sparse_csr,
    layouts.sparse_bsr: layouts.sparse_bsc, layouts.sparse_bsc: layouts.sparse_bsr,
}  # fmt: skip


@sparse_op("transpose")
@following(lambda whole, dim0, dim1: whole.transpose(dim0, dim1))
def transpose(input: SparseTensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    a, b = canonical(dim0, input), canonical(dim1, input)
    size = list(input._dims)
    size[a], size[b] = size[b], size[a]
    if input._kind in COMPRESSED:
        first = batch_dims(input)
        if {a, b} != {first, first + 1}:
            if a == b:
                return input
            raise RuntimeError(
                "transpose(): can only transpose the sparse dimensions of a tensor with layout "
                f"{NAMES[input._kind]}, but got {dim0} and {dim1}"
            )
        values = input._vals
        if input._kind in BLOCKED:
            values = values.transpose(first + 1, first + 2)
        return make(_FLIPPED[input._kind], input._at, values, size)
    s = sparse_dim(input)
    if a >= s or b >= s:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {s}, d0: {a}, "
            f"d1: {b}"
        )
    if a == b:
        return input
    order = list(range(s))
    order[a], order[b] = order[b], order[a]
    return coo(_reordered(input, order), input._vals, size)


def _reordered(input: SparseTensor, order: Sequence[int]) -> Tensor:
    return input._at[0].index_select(0, index_tensor(np.array(order, np.int64), input))


@sparse_op("t")
def t(input: SparseTensor) -> Tensor:
    """The transposed matrix."""
    if len(input._dims) > 2 or (input._kind is layouts.sparse_coo and sparse_dim(input) > 2):
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{len(input._dims)} sparse and 0 dense dimensions"
        )
    return transpose(input, 0, 1) if len(input._dims) == 2 else input


@getter("T")
def _T(input: Tensor) -> Tensor:
    return permute(input, *range(len(input._dims))[::-1])


@getter("mT")
def _mT(input: object) -> object:
    return transpose(input, -2, -1)


@getter("H")
def _H(input: object) -> object:
    return transpose(input, 0, 1).conj()


@getter("mH")
def _mH(input: object) -> object:
    return transpose(input, -2, -1).conj()


@sparse_op("permute")
def permute(input: SparseTensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Dimensions in another order, sparse and dense ones among themselves."""
    dims = (
        tuple(kwargs["dims"])
        if "dims" in kwargs
        else tuple(dims[0])
        if len(dims) == 1 and isinstance(dims[0], (tuple, list))
        else dims
    )
    n = len(input._dims)
    if len(dims) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {n} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    order = [canonical(d, input) for d in dims]
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if input._kind in COMPRESSED:
        if order == list(range(n)):
            return input
        if n == 2:
            return transpose(input, 0, 1)
        raise could_not_run("permute", input)
    s = sparse_dim(input)
    if any((d < s) is not (k < s) for k, d in enumerate(order)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed.Only transpositions within sparse and dense dimensions are supported."
        )
    if order == list(range(n)):
        return coo(input._at[0], input._vals, input._dims, input._sorted)
    values = input._vals.permute(0, *[d - s + 1 for d in order[s:]]) if s < n else input._vals
    same = order[:s] == list(range(s))
    return coo(
        input._at[0] if same else _reordered(input, order[:s]),
        values,
        [input._dims[d] for d in order],
        same and input._sorted,
    )


@sparse_op("movedim", "moveaxis")
def movedim(input: SparseTensor, source: Any, destination: Any) -> Tensor:
    """Dimensions at other places, sparse and dense ones among themselves."""
    return permute(input, moved_order(len(input._dims), source, destination))


@sparse_op("unsqueeze")
@following(lambda whole, dim: whole.unsqueeze(dim))
def unsqueeze(input: SparseTensor, dim: int) -> Tensor:
    """One dimension of size 1 more."""
    if input._kind in COMPRESSED:
        raise RuntimeError("Sparse CSR tensors do not have strides")
    n = len(input._dims)
    d = canonical_dim(int(dim), n + 1)
    size = [*input._dims[:d], 1, *input._dims[d:]]
    s = sparse_dim(input)
    if d > s:
        return coo(input._at[0], input._vals.unsqueeze(d - s + 1), size, input._sorted)
    row = (
        torch.zeros_like(input._at[0][:1])
        if s
        else torch.zeros((1, nnz(input)), dtype=torch.int64, device=input.device)
    )
    return coo(torch.cat([input._at[0][:d], row, input._at[0][d:]]), input._vals, size)


@sparse_op("select", "select_copy")
def select(input: Any, dim: int, index: int) -> Tensor:
    """The part at one index of a dimension; dense where no sparse dimension remains."""
    n = len(input._dims)
    if n == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = canonical(dim, input)
    size = input._dims[d]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input._dims)} at "
            f"dimension {d}"
        )
    index = int(index) % size
    rest = [*input._dims[:d], *input._dims[d + 1 :]]
    if input._kind in COMPRESSED:
        batch = batch_dims(input)
        if d < batch:
            parts = tuple(x.select(d, index) for x in input._at)
            return make(input._kind, parts, input._vals.select(d, index), rest)
        if input._kind in BLOCKED:
            raise could_not_run("select.int", input)
        return select(compressed_to_coo(input), dim, index)
    s = sparse_dim(input)
    if d >= s:
        return coo(input._at[0], input._vals.select(d - s + 1, index), rest, input._sorted)
    keep = np.nonzero(host(input._at[0])[d] == index)[0]
    chosen = index_tensor(keep, input)
    values = input._vals.index_select(0, chosen)
    if s == 1:
        return values.sum(0, dtype=input.dtype) if input.dtype is not torch.bool else values.any(0)
    rows = index_tensor(np.array([k for k in range(s) if k != d]), input)
    return coo(
        input._at[0].index_select(0, rows).index_select(1, chosen), values, rest, input._sorted
    )


@sparse_op("index_select")
def index_select(input: Any, dim: int, index: Tensor) -> SparseTensor:
    """The parts at several indices of a dimension."""
    if input._kind in COMPRESSED:
        raise could_not_run("index_select", input)
    if not input._dims:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    d = canonical(dim, input)
    if index.dim() != 1 or index.dtype not in (torch.int64, torch.int32):
        raise IndexError("index_select() argument index must be 1-D long-tensor.")
    wanted = host(index).astype(np.int64)
    size = input._dims[d]
    for i in wanted[(wanted < -size) | (wanted >= size)]:
        raise IndexError(
            f"index_select(): index contains {i} that is out of range for tensor of size "
            f"{list(input._dims)} at dimension {d}"
        )
    wanted = wanted % max(size, 1)
    shape = [*input._dims]
    shape[d] = len(wanted)
    s = sparse_dim(input)
    if d >= s:
        values = input._vals.index_select(d - s + 1, index_tensor(wanted, input))
        return coo(input._at[0], values, shape, input._sorted)
    have = host(input._at[0])[d]
    order = np.argsort(have, kind="stable")
    low, high = (
        np.searchsorted(have[order], wanted, "left"),
        np.searchsorted(have[order], wanted, "right"),
    )
    counts = high - low
    picked = order[np.repeat(low - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
    chosen = index_tensor(picked, input)
    indices = host(input._at[0])[:, picked].copy()
    indices[d] = np.repeat(np.arange(len(wanted)), counts)
    return coo(index_tensor(indices, input), input._vals.index_select(0, chosen), shape)


@sparse_op("narrow_copy")
def narrow_copy(input: Any, dim: int, start: int, length: int) -> SparseTensor:
    """A stretch of one dimension."""
    if input._kind in COMPRESSED:
        raise could_not_run("narrow_copy", input)
    if not 0 <= dim < len(input._dims):
        raise RuntimeError(
            f"Dimension {dim} out of range. Expecting 0 <= dim < {len(input._dims)}."
        )
    d = dim
    size = input._dims[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if start + length > size:
        raise RuntimeError(
            "Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
            f"{size})."
        )
    shape = [*input._dims]
    shape[d] = length
    s = sparse_dim(input)
    if d >= s:
        return coo(input._at[0], input._vals.narrow(d - s + 1, start, length), shape, input._sorted)
    indices = host(input._at[0])
    keep = np.nonzero((indices[d] >= start) & (indices[d] < start + length))[0]
    indices = indices[:, keep].copy()
    indices[d] -= start
    return coo(
        index_tensor(indices, input),
        input._vals.index_select(0, index_tensor(keep, input)),
        shape,
        input._sorted,
    )


@sparse_op("cat")
def cat(tensors: Values, dim: int = 0, *, out: object = None) -> SparseTensor:
    """Sparse tensors one after the other along a dimension."""
    for i, x in enumerate(tensors):
        if not isinstance(x, SparseTensor):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
            )
    first = tensors[0]
    if first._kind in COMPRESSED or out is not None:
        raise could_not_run("cat", first)
    d, s = canonical(dim, first), sparse_dim(first)
    for i, x in enumerate(tensors):
        if x.dim() != first.dim() or any(
            m != n for k, (m, n) in enumerate(zip(x._dims, first._dims, strict=False)) if k != d
        ):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first._dims)} (except in the "
                f"concatenating dimension), but found shape: {list(x._dims)}at position {i}"
            )
        if sparse_dim(x) != s:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {s}, "
                f"{len(first._dims) - s}, but tensor at position {i} has {sparse_dim(x)}, "
                f"{len(x._dims) - sparse_dim(x)}."
            )
    size = [*first._dims]
    size[d] = sum(x._dims[d] for x in tensors)
    parts, blocks, before = [], [], 0
    for x in tensors:
        indices = x._at[0]
        if d < s:
            if before:
                shift = np.zeros((s, 1), np.int64)
                shift[d] = before
                indices = indices + index_tensor(shift, x)
            blocks.append(x._vals)
        else:
            shape = [*x._vals.shape]
            at = d - s + 1
            blank = [
                x._vals.new_zeros([*shape[:at], n, *shape[at + 1 :]])
                for n in (before, size[d] - before - x._dims[d])
            ]
            blocks.append(torch.cat([blank[0], x._vals, blank[1]], at))
        parts.append(indices)
        before += x._dims[d]
    dtype = blocks[0].dtype
    for b in blocks:
        dtype = torch.promote_types(dtype, b.dtype)
    return coo(torch.cat(parts, 1), torch.cat([b.to(dtype) for b in blocks]), size)


@sparse_op("stack")
def stack(tensors: list[Tensor], dim: int = 0, *, out: object = None) -> Tensor:
    """Sparse tensors along a new dimension."""
    d = canonical_dim(int(dim), tensors[0].dim() + 1)
    for i, x in enumerate(tensors):
        if tuple(x.shape) != tuple(tensors[0].shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at "
                f"entry 0 and {list(x.shape)} at entry {i}"
            )
    return cat([x.unsqueeze(d) if isinstance(x, SparseTensor) else x for x in tensors], d, out=out)


@sparse_op("unbind")
def unbind(input: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension, as a tuple."""
    d = canonical(dim, input)
    return tuple(select(input, d, i) for i in range(input._dims[d]))


@sparse_op("__iter__")
def _iter(input: object) -> object:
    return iter(unbind(input))


@sparse_op("__len__")
def _len(input: Tensor) -> int:
    if not input._dims:
        raise TypeError("len() of a 0-d tensor")
    return input._dims[0]


def item_at(input: Tensor, index: object) -> Tensor:
    """``input[index]``: numbers and full slices; other indices have no kernel."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [p for p in parts if not isinstance(p, Tensor)]:
        at = next(k for k, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (
            len(input._dims) - len(parts) + 1 + sum(p is None for p in parts)
        )
    found, d = input, 0
    for p in parts:
        if isinstance(p, (bool, Tensor, list, np.ndarray)):
            if isinstance(p, Tensor) and p.dim() == 0 and p.dtype not in (torch.bool, torch.uint8):
                p = int(p)
            else:
                raise could_not_run("index.Tensor", input)
        if p is None:
            found = found.unsqueeze(d)
            d += 1
        elif isinstance(p, slice):
            if p == slice(None) or p.indices(found.shape[d]) == (0, found.shape[d], 1):
                if p != slice(None):
                    raise could_not_run("as_strided", input)
                d += 1
                continue
            raise could_not_run("as_strided", input)
        else:
            try:
                number = p.__index__()
            except (AttributeError, TypeError):
                raise could_not_run("index.Tensor", input) from None
            if d >= found.dim():
                raise IndexError(f"too many indices for tensor of dimension {len(input._dims)}")
            size = found.shape[d]
            if not -size <= number < size:
                raise IndexError(
                    f"index {number} is out of bounds for dimension {d} with size {size}"
                )
            found = found.select(d, number)
    return found


def _view(name: str, error: Function) -> None:
    def refuse(input: Tensor, *args: object, **kwargs: object) -> Any:
        raise error(input)

    sparse_op(name)(refuse)


for _name in ("reshape", "flatten", "ravel", "unflatten"):
    _view(_name, lambda input: RuntimeError("reshape is not implemented for sparse tensors"))
for _name in ("expand", "expand_as", "broadcast_to", "repeat"):
    _view(_name, lambda input: RuntimeError("expand is unsupported for Sparse tensors"))
for _name in ("squeeze", "narrow", "as_strided", "squeeze_"):
    _view(_name, lambda input: could_not_run("as_strided", input))
_view("view", lambda input: could_not_run("view", input))
_view("view_as", lambda input: could_not_run("view", input))
_view("contiguous", lambda input: RuntimeError("unsupported memory format option Contiguous"))


@sparse_op("view_as_real", "view_as_complex")
def _complex_view(input: SparseTensor) -> SparseTensor:
    real = input.dtype.is_complex
    values = torch.view_as_real(input._vals) if real else torch.view_as_complex(input._vals)
    size = (*input._dims, 2) if real else tuple(input._dims)[:-1]
    return coo(input._at[0], values, size, input._sorted)


@sparse_op("t_")
def t_(input: SparseTensor) -> SparseTensor:
    """``t`` in place."""
    return become(input, t(input))


@sparse_op("transpose_")
def transpose_(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """``transpose`` in place."""
    return become(input, transpose(input, dim0, dim1))
