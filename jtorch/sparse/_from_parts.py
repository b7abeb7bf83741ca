"""Sparse tensors from indices and values, or without any: what they must be, and the sizes that
follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch

from .._src.facts import dtypes, layouts
from ..autograd.grad_mode import MODE
from ..core import Tensor, requiring
from . import _checks
from ._make import batch_dims, dense_dim
from ._tensor import BLOCKED, BY_ROW, COMPRESSED, NAMES, SparseTensor, coo, host, make

# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch


def _index_tensor(data: object, device: jtorch.device) -> Tensor:
    made = data.detach() if isinstance(data, Tensor) else torch.tensor(data)
    if made.dtype not in (dtypes.int64, dtypes.int32):
        made = made.to(dtypes.int64)
    return made if device is None else made.to(device)


def _value_tensor(data: object, dtype: object, device: object) -> Tensor:
    if not isinstance(data, Tensor):
        return torch.tensor(data, dtype=dtype, device=device)
    if dtype is not None or device is not None:
        data = data.to(device=device, dtype=dtype)
    if data._rg and MODE.enabled:
        # The tensor made of it has a history of its own.
        data = data.view(data.shape)
        if data._node is not None:
            data._node.label = "SparseCooTensorWithDimsAndTensorsBackward0"
        return data
    return data.detach() if data._rg else data


def _finish(t: SparseTensor, requires_grad: bool) -> SparseTensor:
    if requires_grad and t._vals._node is None:
        t._vals = requiring(t._vals.detach())
    return t


def coo_tensor(
    indices: object,
    values: list[bool | complex | float] | Tensor,
    size: tuple[int, ...] | jtorch.Size | None,
    dtype: dtypes.dtype | None,
    device: Any,
    requires_grad: bool,
    check: bool | None,
    is_coalesced: bool | None,
) -> SparseTensor:
    """A COO tensor of indices ``(sparse_dim, nnz)`` and values ``(nnz, *dense)``; the size is found
    from the indices if not given."""
    v = _value_tensor(values, dtype, device)
    if device is None:
        device = v.device
    i = _index_tensor(indices, device).to(dtypes.int64)
    if v.dim() == 0:
        v = v.reshape(1) if i.numel() == 0 or i.shape[-1:] == (1,) else v
    if i.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(i.shape)}")
    s, count = i.shape
    if v.dim() == 0 or v.shape[0] != count:
        given = v.shape[0] if v.dim() else 0
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from "
            f"values: {given}"
        )
    if size is None:
        size = _smallest(i, v)
    else:
        size = tuple(int(n) for n in size)
        dense = v.dim() - 1
        if len(size) != s + dense:
            raise RuntimeError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
                f"sparse_dim = {s}, dense_dim = {dense}"
            )
        if tuple(v.shape[1:]) != size[s:]:
            raise RuntimeError(
                f"values has incorrect size, expected {[count, *size[s:]]}, got {list(v.shape)}"
            )
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in size if n < 0)}: "
            f"{list(size)}"
        )
    if _checks.wanted(check):
        _checks.coo(i, size, bool(is_coalesced))
    # What the program does to the sizes of its own tensors is not to be seen here. Tracked values
    # go on with their history.
    i, v = (
        x.detach() if x is given and not x._rg else x for x, given in ((i, indices), (v, values))
    )
    return _finish(coo(i, v, size, bool(is_coalesced)), requires_grad)


def _smallest(i: Tensor, v: Tensor) -> tuple[int, ...]:
    if not i.shape[1]:
        return (0,) * i.shape[0] + tuple(v.shape[1:])
    indices = host(i)
    for d in range(indices.shape[0]):
        if indices[d].min() < 0:
            raise RuntimeError(f"found negative index {indices[d].min()} for dim {d}")
    return tuple(int(n) + 1 for n in indices.max(1)) + tuple(v.shape[1:])


def compressed_tensor(
    name: str,
    first: list[int] | Tensor,
    second: list[int] | Tensor,
    values: list[object] | Tensor,
    size: tuple[int, ...] | jtorch.Size | None,
    kind: dtypes.layout,
    dtype: object,
    device: Any,
    requires_grad: bool,
    check: bool | None,
) -> SparseTensor:
    """A tensor of a compressed layout: where rows (columns) begin, the columns (rows) of the
    elements, and their values."""
    if kind not in COMPRESSED:
        raise RuntimeError(
            f"{name} expected sparse compressed tensor layout but got "
            f"{'none' if kind is None else NAMES[kind]}"
        )
    v = _value_tensor(values, dtype, device)
    if device is None:
        device = v.device
    starts, others = _index_tensor(first, device), _index_tensor(second, device)
    if starts.dtype is not others.dtype:
        a, b = (
            ("crow_indices", "col_indices") if kind in BY_ROW else ("ccol_indices", "row_indices")
        )
        raise RuntimeError(
            f"{a} and {b} dtype must be Int or Long, and must be equal, but got dtype "
            f"{starts.dtype.scalar_name} and {others.dtype.scalar_name}"
        )
    if size is None:
        size = _compressed_size(starts, others, v, kind)
    made = make(kind, (starts, others), v, tuple(int(n) for n in size))
    if _checks.wanted(check):
        _checks.compressed(made)
    return _finish(made, requires_grad)


def check_parts(
    first: Tensor, second: Tensor, values: Tensor, size: tuple[int, ...], kind: dtypes.layout
) -> None:
    """Checks that the parts of a compressed layout fit each other and the size, as
    ``check_invariants=True`` does.

    Raises:
        RuntimeError: if not, or if the layout is not compressed.
    """
    if kind not in COMPRESSED:
        found = NAMES.get(kind, "Strided")
        raise RuntimeError(
            "validate_sparse_compressed_tensor_args expected sparse compressed tensor layout but "
            f"got {found}"
        )
    _checks.in_pieces(first, second, kind)
    made = make(
        kind, (first.detach(), second.detach()), values.detach(), tuple(int(n) for n in size)
    )
    _checks.compressed(made)


def _compressed_size(
    starts: Tensor, others: Tensor, v: Tensor, kind: dtypes.layout
) -> tuple[int, ...]:
    batch = tuple(starts.shape[:-1])
    rows, cols = max(starts.shape[-1] - 1, 0), int(host(others).max()) + 1 if others.numel() else 0
    at = len(batch) + 1
    blocks = tuple(v.shape[at : at + 2]) if kind in BLOCKED else (1, 1)
    dense = tuple(v.shape[at + 2 :]) if kind in BLOCKED else tuple(v.shape[at:])
    pair = (rows, cols) if kind in BY_ROW else (cols, rows)
    return (*batch, pair[0] * blocks[0], pair[1] * blocks[1], *dense)


def empty_like(
    t: SparseTensor,
    kind: dtypes.layout,
    dtype: dtypes.dtype,
    device: jtorch.device,
    requires_grad: bool = False,
) -> SparseTensor:
    """A sparse tensor of the size of another without specified elements, in the same blocks."""
    if kind is t._kind and kind in COMPRESSED - BLOCKED:
        batch = batch_dims(t)
        starts = torch.zeros_like(t._at[0], device=device)
        values = torch.zeros(
            (*t._vals.shape[:batch], 0, *t._vals.shape[batch + 1 :]), dtype=dtype, device=device
        )
        return _finish(make(kind, (starts, starts[..., :0]), values, t._dims), requires_grad)
    if kind in BLOCKED and t._kind in BLOCKED:
        batch = batch_dims(t)
        blocks = t._vals.shape[batch + 1 : batch + 3]
        n = t._dims[batch] // blocks[0] if kind in BY_ROW else t._dims[batch + 1] // blocks[1]
        starts = torch.zeros((*t._dims[:batch], n + 1), dtype=dtypes.int64, device=device)
        values = torch.zeros(
            (*t._vals.shape[:batch], 0, *t._vals.shape[batch + 1 :]), dtype=dtype, device=device
        )
        return _finish(make(kind, (starts, starts[..., :0]), values, t._dims), requires_grad)
    return empty(tuple(t._dims), kind, dtype, device, dense_dim(t), requires_grad)


def empty(
    size: Sequence[int],
    kind: dtypes.layout,
    dtype: dtypes.dtype | None,
    device: jtorch.device | None,
    dense: int = 0,
    requires_grad: bool = False,
) -> SparseTensor:
    """A sparse tensor without specified elements; the last ``dense`` dimensions are dense."""
    size = tuple(int(n) for n in size)
    if kind is layouts.sparse_coo:
        s = len(size) - dense
        values = torch.zeros((0, *size[s:]), dtype=dtype, device=device)
        made = coo(torch.zeros((s, 0), dtype=dtypes.int64, device=device), values, size, True)
        return _finish(made, requires_grad)
    if kind in BLOCKED:
        raise RuntimeError(
            "empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
            f"{NAMES[kind]}"
        )
    if len(size) < 2:
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but "
            f"got size {list(size)}"
        )
    *batch, rows, cols = size[: len(size) - dense]
    n = rows if kind in BY_ROW else cols
    starts = torch.zeros((*batch, n + 1), dtype=dtypes.int64, device=device)
    others = torch.zeros((*batch, 0), dtype=dtypes.int64, device=device)
    values = torch.zeros((*batch, 0, *size[len(size) - dense :]), dtype=dtype, device=device)
    return _finish(make(kind, (starts, others), values, size), requires_grad)
