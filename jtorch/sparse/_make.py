"""Sparse tensors from one layout to another, dense ones included, and the parts that they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch

from .._src.bind.arguments import whole
from .._src.bind.everything import _C
from .._src.facts import dtypes, layouts
from .._src.facts.errors import canonical_dim
from ..autograd.grad_mode import MODE
from ..core import Tensor, from_host
from ._tensor import (
    BLOCKED,
    BY_ROW,
    COMPRESSED,
    NAMES,
    SparseTensor,
    coo,
    could_not_run,
    expected,
    host,
    make,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._whole import following, through

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch

# ---- coalescing ----------------------------------------------------------------------------------


def linear(indices: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """Row-major positions of indices in the sparse dimensions."""
    found = np.zeros(indices.shape[1], np.int64)
    for d in range(indices.shape[0]):
        found = found * int(size[d]) + indices[d]
    return found


def unravel(places: np.ndarray, size: Sequence[int]) -> np.ndarray:
    """Indices of row-major positions."""
    rows = []
    for n in reversed(size):
        rows.append(places % max(int(n), 1))
        places = places // max(int(n), 1)
    return np.stack(rows[::-1]) if rows else np.zeros((0, len(places)), np.int64)


def index_tensor(array: np.ndarray, t: Tensor) -> Tensor:
    """Indices found on the host, where ``t`` lies."""
    return from_host(np.ascontiguousarray(array.astype(np.int64, copy=False)), t.device)


@sparse_op("coalesce")
@following()
def coalesce(input: Any) -> Tensor:
    """The tensor with indices sorted and unique, values of equal indices added up."""
    if input._kind is not layouts.sparse_coo:
        raise expected("coalesce", "sparse coordinate tensor", input)
    if input._sorted:
        return input
    size = input._dims[: sparse_dim(input)]
    places = linear(host(input._at[0]), size)
    unique, inverse = np.unique(places, return_inverse=True)
    if len(unique) == len(places):
        order = np.argsort(places, kind="stable")
        if (order[1:] > order[:-1]).all():
            return coo(input._at[0], input._vals, input._dims, True)
        chosen = index_tensor(order, input)
        return coo(
            input._at[0].index_select(1, chosen),
            input._vals.index_select(0, chosen),
            input._dims,
            True,
        )
    values = _C._segment_sum(input._vals, index_tensor(inverse.reshape(-1), input), len(unique))
    return coo(index_tensor(unravel(unique, size), input), values, input._dims, True)


# ---- to dense ------------------------------------------------------------------------------------


@sparse_op("to_dense", "Tensor._to_dense", "_to_dense")
def to_dense(
    input: SparseTensor, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """The same tensor with all its elements."""
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    if masked_grad is False:
        return through(to_dense, input, lambda grad: grad)
    if input._kind is layouts.sparse_coo:
        return _C._coo_dense(input._at[0], input._vals, tuple(input._dims))
    if input._kind in BLOCKED:
        return _blocks_dense(input)
    return to_dense(compressed_to_coo(input))


def rows_and_columns(t: SparseTensor) -> tuple[Tensor, Tensor]:
    """Row and column of each element (or block) of a matrix of a compressed layout without
    batches."""
    starts, others = t._at
    expanded = _C._rows_of(starts, others.shape[0])
    return (expanded, others) if t._kind in BY_ROW else (others, expanded)


def _unbatched(t: SparseTensor) -> list[SparseTensor]:
    """The matrices of a batch, in order."""
    starts, others = t._at
    batch = starts.dim() - 1
    count = math.prod(starts.shape[:batch])
    values = t._vals.reshape(count, *t._vals.shape[batch:]) if batch > 1 else t._vals
    a, b = starts.reshape(count, starts.shape[-1]), others.reshape(count, others.shape[-1])
    return [make(t._kind, (a[k], b[k]), values[k], t._dims[batch:]) for k in range(a.shape[0])]


def batch_dims(t: SparseTensor) -> int:
    """How many leading dimensions of a compressed tensor count matrices."""
    return t._at[0].dim() - 1


def compressed_to_coo(t: SparseTensor) -> SparseTensor:
    """The COO tensor of one of a compressed layout without blocks."""
    batch = batch_dims(t)
    if batch:
        parts = [compressed_to_coo(m) for m in _unbatched(t)]
        lead = np.stack(np.unravel_index(np.arange(len(parts)), tuple(t._dims[:batch])))
        indices = torch.cat([
            torch.cat([index_tensor(np.repeat(lead[:, k : k + 1], nnz(p), 1), t), p._at[0]]) for k,
            p in enumerate(parts)
        ], 1)  # fmt: skip
        return coo(indices, torch.cat([p._vals for p in parts]), t._dims, t._kind in BY_ROW)
    rows, columns = rows_and_columns(t)
    made = coo(torch.stack([rows, columns]).to(dtypes.int64), t._vals, t._dims, t._kind in BY_ROW)
    return made if t._kind in BY_ROW else coalesce(made)


def _blocks_dense(t: SparseTensor) -> Tensor:
    """A blocked tensor's elements: blocks are the dense part of a COO tensor of blocks, then laid
    side by side."""
    batch = batch_dims(t)
    if batch:
        parts = [_blocks_dense(m) for m in _unbatched(t)]
        return torch.stack(parts).reshape(tuple(t._dims))
    _, p, q, *dense = t._vals.shape
    rows, columns = rows_and_columns(t)
    m, n = t._dims[0] // p, t._dims[1] // q
    whole = _C._coo_dense(torch.stack([rows, columns]), t._vals, (m, n, p, q, *dense))
    return whole.permute(0, 2, 1, 3, *range(4, whole.dim())).reshape(tuple(t._dims))


# ---- to sparse -----------------------------------------------------------------------------------


def _dense_dims(name: str, t: Tensor, dense: int | None, batch: int = 0) -> int:
    dense = 0 if dense is None else int(dense)
    if not 0 <= dense <= t.dim() - 2 - batch:
        # torch counts no batch here
        raise RuntimeError(
            f"{name}: Dense dim must be in range [0, {t.dim() - 2}], but got {dense}"
        )
    return dense


@sparse_op("to_sparse", "to_sparse_coo")
@following()
def to_sparse(
    input: Tensor,
    *args: Any,
    layout: layouts.layout | None = None,
    blocksize: tuple[int, ...] | None = None,
    dense_dim: int | None = None,
    **kwargs: Any,
) -> Tensor:
    """The tensor in a sparse layout, COO unless told otherwise; ``to_sparse(sparse_dim)`` leaves
    the last dimensions dense."""
    sparse = kwargs.pop("sparse_dim", None) if not args else args[0]
    if sparse is not None:
        return _to_coo(input, canonical_sparse_dim(input, whole("to_sparse", "sparse_dim", sparse)))
    if layout is None or layout is layouts.sparse_coo:
        if blocksize is not None:
            raise RuntimeError(
                f"to_sparse: conversion from {_word(input)} to Sparse with blocksize argument "
                "given is not supported"
            )
        return _to_coo(input, input.dim() - (dense_dim or 0))
    if layout is layouts.strided:
        if blocksize is not None:
            raise RuntimeError(
                f"to_sparse: conversion from {_word(input)} to Strided with blocksize argument "
                "given is not supported"
            )
        if dense_dim is not None and not 0 <= dense_dim <= input.dim() - 2:
            raise RuntimeError(
                f"to_sparse: dense_dim argument must be in [0,{input.dim() - 2}] range, but "
                f"{dense_dim} is given"
            )
        return to_dense(input) if isinstance(input, SparseTensor) else input
    return to_compressed(input, layout, blocksize, dense_dim, asked="to_sparse")


def _word(t: object) -> str:
    return NAMES[t._kind] if isinstance(t, SparseTensor) else "Strided"


def canonical_sparse_dim(input: Tensor, s: int) -> int:
    """Checks the number of sparse dimensions."""
    if isinstance(input, SparseTensor):
        if input._kind is layouts.sparse_coo and s != sparse_dim(input):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
                "!=self.sparse_dim() is not supported"
            )
        return s
    if input.dim() > 0 and not 1 <= s <= input.dim():
        raise RuntimeError(
            f"to_sparse: sparse_dim argument must be in >0 and <={input.dim()}, but got {s}"
        )
    return s


def _to_coo(t: Tensor, s: int) -> SparseTensor:
    if isinstance(t, SparseTensor):
        if t._kind is layouts.sparse_coo:
            return t
        if t._kind in BLOCKED:
            return _to_coo(_blocks_dense(t), len(t._dims))
        return compressed_to_coo(t)
    if t.dim() == 0:
        filled = bool(host(t.detach()) != 0)
        count = 1 if filled else 0
        return coo(
            torch.zeros((0, count), dtype=dtypes.int64, device=t.device),
            t.reshape(1)[:count],
            t.shape,
            True,
        )
    array = host(t.detach())
    if array.dtype.kind not in "biufc":
        array = array.astype(np.float32)
    there = array != 0
    if s < array.ndim:
        there = there.any(tuple(range(s, array.ndim)))
    indices = index_tensor(np.stack(np.nonzero(there)), t)
    values = t[tuple(indices)] if indices.shape[1] else t.reshape(-1)[:0].reshape(0, *t.shape[s:])
    return coo(indices, values, t.shape, True)


def _where(input: Tensor, kind: dtypes.layout, asked: str) -> str:
    """What PyTorch calls the conversion in its errors."""
    if not isinstance(input, SparseTensor):
        return f"dense_{asked}"
    if input._kind is layouts.sparse_coo:
        return "sparse_coo_to_sparse" if asked == "to_sparse" else f"coo_{asked}"
    return asked if input._kind is kind else f"sparse_compressed_{asked}"


def _block(input: Tensor, kind: dtypes.layout, blocksize: Any, asked: str) -> tuple[int, ...]:
    """The sizes of blocks; one number is both.

    Raises:
        TypeError: if they are no whole numbers.
        RuntimeError: if they are not two, or not above zero.
    """
    if blocksize is None or isinstance(blocksize, bool):
        place = " (position 1)" if asked != "to_sparse" else ""
        raise TypeError(
            f"{asked}(): argument 'blocksize'{place} must be tuple of ints, not "
            f"{type(blocksize).__name__}"
        )
    sizes = (
        (int(blocksize),) * 2 if isinstance(blocksize, int) else tuple([int(b) for b in blocksize])
    )
    if len(sizes) != 2:
        raise RuntimeError(
            f"{_where(input, kind, asked)}: blocksize needs to be a tuple of size 2, but got "
            f"{len(sizes)}"
        )
    if min(sizes) <= 0:
        raise RuntimeError(
            f"{_where(input, kind, asked)}: blocksize needs to be positive, but got {list(sizes)}"
        )
    return sizes


def _refuse_conversion(
    input: SparseTensor,
    kind: dtypes.layout,
    blocksize: tuple[int, ...] | None,
    asked: str,
    name: str,
) -> None:
    """Refuses the conversions between sparse layouts that PyTorch does not have.

    Raises:
        RuntimeError: for COO tensors of other than two sparse dimensions, batches that are to have
            blocks, and blocks that are to be none, or to have another size.
    """
    of_coo = input._kind is layouts.sparse_coo
    words = f"{_where(input, kind, asked)}: conversion from {NAMES[input._kind]} to {NAMES[kind]}"
    if of_coo and sparse_dim(input) != 2:
        raise RuntimeError(f"{words} for input tensors with sparse_dim()!=2 is not supported")
    if input._kind in BLOCKED and kind not in BLOCKED:
        raise RuntimeError(
            f"sparse_compressed_{name}: expected SparseCsr or SparseCsc layout but got "
            f"{NAMES[input._kind]}"
        )
    if kind in BLOCKED and not of_coo and input._kind not in BLOCKED and batch_dims(input):
        raise RuntimeError(f"{words} for batched inputs is not supported")
    if input._kind in BLOCKED and blocksize is not None:
        at = batch_dims(input) + 1
        now, wanted = list(input._vals.shape[at : at + 2]), list(blocksize)
        if now != wanted:
            raise RuntimeError(
                f"{words} with blocksize changed from {now} to {wanted} is not supported"
            )


def to_compressed(
    input: Tensor,
    kind: dtypes.layout,
    blocksize: tuple[int, ...] | None = None,
    dense_dim: int | None = None,
    asked: str = "",
) -> SparseTensor:
    """The tensor in a compressed layout, with indices of the dtype that those of another one have.
    ``asked`` is the function that was called: what PyTorch's refuses is refused."""
    found = _compressed(input, kind, blocksize, dense_dim, asked)
    if (
        not isinstance(input, SparseTensor)
        or input._kind not in COMPRESSED
        or input._at[0].dtype is found._at[0].dtype
    ):
        return found
    return make(
        kind, tuple([x.to(input._at[0].dtype) for x in found._at]), found._vals, found._dims
    )


def _compressed(
    input: Tensor,
    kind: dtypes.layout,
    blocksize: tuple[int, ...] | None,
    dense_dim: int | None,
    asked: str,
) -> SparseTensor:
    name = {
        layouts.sparse_csr: "to_sparse_csr", layouts.sparse_csc: "to_sparse_csc",
        layouts.sparse_bsr: "to_sparse_bsr", layouts.sparse_bsc: "to_sparse_bsc",
    }[kind]  # fmt: skip
    if kind in BLOCKED and (blocksize is not None or asked not in ("", "to_sparse")):
        blocksize = _block(input, kind, blocksize, asked or name)
    if isinstance(input, SparseTensor):
        if input._kind is kind and blocksize is None and kind not in BLOCKED:
            return input
        if asked:
            _refuse_conversion(input, kind, blocksize, asked, name)
    if kind in BLOCKED:
        return _to_blocks(
            _where(input, kind, asked or name), name, input, kind, blocksize, dense_dim
        )
    if blocksize is not None:
        raise RuntimeError(
            f"{name}: conversion from {_word(input)} to {NAMES[kind]} with blocksize argument "
            "given is not supported"
        )
    if isinstance(input, SparseTensor):
        if input._kind in COMPRESSED and batch_dims(input):
            return _batched(
                kind,
                [coalesce(compressed_to_coo(m)) for m in _unbatched(input)],
                tuple(input._dims),
                name,
            )
        c = coalesce(compressed_to_coo(input) if input._kind in COMPRESSED else input)
        if sparse_dim(c) == 3:
            return _batched(kind, [c.select(0, k) for k in range(c._dims[0])], tuple(c._dims), name)
        return _compress(c, kind)
    if input.dim() < 2:
        raise RuntimeError(
            f"{name}: conversion from Strided to {NAMES[kind]} needs at least two dimensions, got "
            f"{input.dim()}"
        )
    dense = 0 if dense_dim is None else _dense_dims("dense_to_sparse_compressed", input, dense_dim)
    batch = input.dim() - 2 - dense
    if not batch:
        return _compress(_to_coo(input, 2), kind)
    flat = input.reshape(math.prod(input.shape[:batch]), *input.shape[batch:])
    return _batched(
        kind, [_to_coo(flat[k], 2) for k in range(flat.shape[0])], tuple(input.shape), name
    )


def _batched(
    kind: dtypes.layout, parts: list[Operand], size: tuple[int, ...], name: str
) -> SparseTensor:
    """A batch of matrices with as many elements each."""
    if not parts:
        raise RuntimeError(f"{name}: Expected product of batch dimensions to be non-zero.")
    counts = {nnz(p) for p in parts}
    if len(counts) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    made = [_compress(p, kind) for p in parts]
    lead = size[: len(size) - len(made[0]._dims)]
    starts = torch.stack([m._at[0] for m in made])
    others = torch.stack([m._at[1] for m in made])
    values = torch.stack([m._vals for m in made])
    if len(lead) > 1:
        starts, others, values = (
            x.reshape((*lead, *x.shape[1:])) for x in (starts, others, values)
        )
    return make(kind, (starts, others), values, size)


def _compress(c: SparseTensor, kind: dtypes.layout) -> SparseTensor:
    """A coalesced COO matrix with its rows (or columns) compressed."""
    indices = host(c._at[0])
    major, minor = (indices[0], indices[1]) if kind in BY_ROW else (indices[1], indices[0])
    n = c._dims[0] if kind in BY_ROW else c._dims[1]
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(major, minlength=n), out=starts[1:])
    values = c._vals
    if kind not in BY_ROW:
        order = np.argsort(major, kind="stable")
        minor = minor[order]
        values = values.index_select(0, index_tensor(order, c))
    return make(kind, (index_tensor(starts, c), index_tensor(minor, c)), values, c._dims)


def blocks_by_place(dense: Tensor, batch: int, p: int, q: int) -> Tensor:
    """A tensor with its matrices, which stand after ``batch`` dimensions, cut into blocks:
    ``(*batch, m // p, n // q, p, q, *dense)``."""
    (m, n), tail = dense.shape[batch : batch + 2], dense.shape[batch + 2 :]
    return dense.reshape(*dense.shape[:batch], m // p, p, n // q, q, *tail).transpose(
        batch + 1, batch + 2
    )


def _to_blocks(
    where: str,
    name: str,
    input: Tensor,
    kind: dtypes.layout,
    blocksize: Any,
    dense_dims: int | None,
) -> SparseTensor:
    """The tensor in blocks; its last ``dense_dims`` dimensions are those of the elements."""
    if blocksize is None:
        raise RuntimeError(
            f"{where}: conversion from {_word(input)} to {NAMES[kind]} without blocksize argument "
            "given is not supported"
        )
    if isinstance(input, SparseTensor):
        dense, tail = to_dense(input), dense_dim(input)
    else:
        dense, tail = (
            input,
            0
            if dense_dims is None
            else _dense_dims("dense_to_sparse_compressed", input, dense_dims),
        )
    batch, (p, q) = dense.dim() - 2 - tail, blocksize
    m, n = dense.shape[batch : batch + 2]
    if m % p or n % q:
        raise RuntimeError(
            f"{where}: tensor sparse size ({m},{n}) must be divisible by given blocksize ({p},{q})"
        )
    tiles = blocks_by_place(dense, batch, p, q)
    flat = tiles.reshape(math.prod(dense.shape[:batch]), *tiles.shape[batch:])
    # An element of the matrix of blocks is there if any of its block is: what COO does with dense
    # dimensions.
    parts = [_to_coo(flat[k], 2) for k in range(flat.shape[0])]
    if isinstance(input, SparseTensor) and not batch:
        parts = [_with_zeros(input, tiles, parts[0], p, q)]
    made = _batched(kind, parts, tuple(tiles.shape), name) if batch else _compress(parts[0], kind)
    return make(kind, made._at, made._vals, dense.shape)


def _with_zeros(
    source: SparseTensor, tiles: Tensor, found: SparseTensor, p: int, q: int
) -> SparseTensor:
    """Blocks that hold specified elements are kept where all of them are zero."""
    if source._kind in BLOCKED:
        return found
    c = coalesce(compressed_to_coo(source) if source._kind in COMPRESSED else source)
    size = tuple(tiles.shape[:2])
    places = np.unique(linear(host(c._at[0]) // np.array([[p], [q]]), size))
    if len(places) == nnz(found):
        return found
    indices = index_tensor(unravel(places, size), source)
    return coo(indices, tiles[tuple(indices)], found._dims, True)


@sparse_op("to_sparse_csr")
@following()
def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The tensor with compressed rows."""
    return to_compressed(input, layouts.sparse_csr, None, dense_dim, asked="to_sparse_csr")


@sparse_op("to_sparse_csc")
@following()
def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """The tensor with compressed columns."""
    return to_compressed(input, layouts.sparse_csc, None, dense_dim, asked="to_sparse_csc")


@sparse_op("to_sparse_bsr")
@following()
def to_sparse_bsr(
    input: Tensor, blocksize: tuple[int, ...], dense_dim: int | None = None
) -> SparseTensor:
    """The tensor in blocks with compressed rows of blocks."""
    return to_compressed(input, layouts.sparse_bsr, blocksize, dense_dim, asked="to_sparse_bsr")


@sparse_op("to_sparse_bsc")
@following()
def to_sparse_bsc(
    input: Tensor, blocksize: tuple[int, ...], dense_dim: int | None = None
) -> SparseTensor:
    """The tensor in blocks with compressed columns of blocks."""
    return to_compressed(input, layouts.sparse_bsc, blocksize, dense_dim, asked="to_sparse_bsc")


# ---- parts ---------------------------------------------------------------------------------------


def _alias(values: Tensor) -> Tensor:
    if values._rg and MODE.enabled:
        made = values.view(values.shape)
        if made._node is not None:
            made._node.label = "ValuesBackward0"
        return made
    return values


@sparse_op("indices")
def indices(input: Tensor) -> Tensor:
    """The indices of a coalesced COO tensor."""
    if input._kind is not layouts.sparse_coo:
        raise expected("indices", "sparse coordinate tensor", input)
    if not input._sorted:
        raise RuntimeError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
        )
    return input._at[0]


@sparse_op("values")
def values(input: Tensor) -> Any:
    """The values, with history."""
    if input._kind is layouts.sparse_coo and not input._sorted:
        raise RuntimeError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
        )
    return _alias(input._vals)


@sparse_op("_indices")
def _indices(input: Tensor) -> Tensor:
    if input._kind is not layouts.sparse_coo:
        raise could_not_run("_indices", input)
    return input._at[0]


@sparse_op("_values")
def _values(input: Tensor) -> Any:
    if input._kind is not layouts.sparse_coo:
        raise could_not_run("_values", input)
    return input._vals.detach() if input._vals._rg else input._vals


@sparse_op("is_coalesced")
def is_coalesced(input: Tensor) -> bool:
    """Whether indices are sorted and unique."""
    if input._kind is not layouts.sparse_coo:
        raise expected("is_coalesced", "sparse coordinate tensor", input)
    return input._sorted


@sparse_op("_coalesced_")
def _coalesced_(input: SparseTensor, coalesced: bool) -> object:
    if input._kind is not layouts.sparse_coo:
        raise could_not_run("_coalesced_", input)
    input._sorted = bool(coalesced)
    return input


sparse_op("_nnz")(nnz)
sparse_op("sparse_dim", "_dimI")(sparse_dim)


@sparse_op("dense_dim", "_dimV")
def dense_dim(input: SparseTensor) -> int:
    """How many of the last dimensions are dense."""
    if input._kind is layouts.sparse_coo:
        return input._vals.dim() - 1
    return input._vals.dim() - batch_dims(input) - (3 if input._kind in BLOCKED else 1)


def _part(name: str, by_row: bool, which: int) -> None:
    def part(input: Tensor) -> Tensor:
        if input._kind is layouts.sparse_coo or (input._kind in BY_ROW) is not by_row:
            raise expected(name, f"sparse {'row' if by_row else 'column'} compressed tensor", input)
        return input._at[which]

    sparse_op(name)(part)


_part("crow_indices", True, 0)
_part("col_indices", True, 1)
_part("ccol_indices", False, 0)
_part("row_indices", False, 1)


def canonical(dim: int, t: SparseTensor) -> int:
    """A dimension counted from the front."""
    return canonical_dim(int(dim), len(t._dims))
