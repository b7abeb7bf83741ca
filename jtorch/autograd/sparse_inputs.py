"""Sparse inputs of ``gradcheck``: which elements of them are specified, where those stand in the
whole, and twins that specify all."""

from __future__ import annotations

import jtorch
from jtorch import Tensor

from .grad_mode import no_grad

_LAYOUTS = (
    jtorch.sparse_coo,
    jtorch.sparse_csr,
    jtorch.sparse_csc,
    jtorch.sparse_bsr,
    jtorch.sparse_bsc,
)
_BY_ROW = (jtorch.sparse_csr, jtorch.sparse_bsr)
_BLOCKED = (jtorch.sparse_bsr, jtorch.sparse_bsc)


def is_sparse(t: Tensor) -> bool:
    """Whether the layout is a sparse one."""
    return t.layout in _LAYOUTS


def dimensions(t: Tensor) -> tuple[int, int]:
    """How many dimensions are sparse, and how many of the elements are dense."""
    return t.sparse_dim(), t.dense_dim()


def values(t: Tensor) -> Tensor:
    """The memory of the specified elements; all elements of a tensor that is not sparse."""
    if not is_sparse(t):
        return t.data
    with no_grad():
        return (t._values() if t.layout is jtorch.sparse_coo else t.values()).data


def _indices(t: Tensor) -> tuple[Tensor, Tensor]:
    """The compressed and the plain indices."""
    return (
        (t.crow_indices(), t.col_indices())
        if t.layout in _BY_ROW
        else (t.ccol_indices(), t.row_indices())
    )


def _with(t: Tensor, own: Tensor) -> Tensor:
    """Other values at the positions of ``t``."""
    if t.layout is jtorch.sparse_coo:
        return jtorch.sparse_coo_tensor(t._indices(), own, t.shape, is_coalesced=t.is_coalesced())
    return jtorch.sparse_compressed_tensor(*_indices(t), own, t.shape, layout=t.layout)


def places(t: Tensor) -> Tensor:
    """Where each of ``values(t)`` stands among all elements, both in one dimension."""
    own = values(t)
    numbers = jtorch.arange(own.numel())
    if t.layout is not jtorch.sparse_coo:  # no two of them stand at one place
        at = _with(t, 1 + numbers.reshape(own.shape)).to_dense().reshape(-1)
        found = at.nonzero().reshape(-1)
        return jtorch.empty_like(numbers).index_copy_(0, at[found] - 1, found)
    rows = jtorch.zeros(own.shape[0], dtype=jtorch.int64)
    for row, size in zip(t._indices(), t.shape, strict=False):
        rows = rows * size + row
    each = max(1, own[:1].numel())
    return (rows.reshape(-1, 1) * each + jtorch.arange(each)).reshape(-1)[: own.numel()]


def whole(t: Tensor) -> Tensor:
    """A copy of a sparse tensor that specifies every element."""
    numbers = jtorch.arange(1, t.numel() + 1).reshape(t.shape)
    if t.layout is jtorch.sparse_coo:
        pattern = numbers.to_sparse(t.sparse_dim())
    else:
        blocks = tuple(t.values().shape[-2 - t.dense_dim() :][:2]) if t.layout in _BLOCKED else None
        pattern = numbers.to_sparse(
            layout=t.layout, blocksize=blocks, dense_dim=t.dense_dim() or None
        )
    own = values(pattern)
    made = _with(pattern, t.detach().to_dense().reshape(-1)[own.reshape(-1) - 1].reshape(own.shape))
    return made.requires_grad_(t.requires_grad)


def dense(t: Tensor) -> Tensor:
    """The elements of a gradient, whatever its layout."""
    return t.detach().to_dense() if is_sparse(t) else t
