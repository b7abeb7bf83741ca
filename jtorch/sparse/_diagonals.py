"""Sparse matrices of diagonals."""

from __future__ import annotations

import numpy as np

from .._src.facts import dtypes, layouts
from ..core import Tensor
from ._make import index_tensor, to_compressed
from ._tensor import coo, host


def spdiags(diagonals: Tensor, offsets: Tensor, shape: tuple[int, ...], layout: object) -> object:
    """The matrix whose diagonal ``offsets[k]`` is ``diagonals[k]``, an element in column ``j``
    being ``diagonals[k, j]``.

    Raises:
        RuntimeError: if shapes do not fit, an offset appears twice or lies outside.
    """
    d = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    o = offsets.unsqueeze(0) if offsets.dim() == 0 else offsets
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if layout not in (None, layouts.sparse_coo, layouts.sparse_csc, layouts.sparse_csr):
        given = "".join(part.title() for part in str(layout).removeprefix("torch.").split("_"))
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {given}"
        )
    if o.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if d.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if o.shape[0] != d.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({d.shape[0]}) does not match the number of offsets "
            f"({o.shape[0]})"
        )
    if o.dtype is not dtypes.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {o.dtype.scalar_name}")
    at = host(o)
    if len(np.unique(at)) != len(at):
        raise RuntimeError("Offset tensor contains duplicate values")
    m, n = (int(s) for s in shape)
    rows, columns, picks = [], [], []
    for k, offset in enumerate(at.tolist()):
        low, high = max(offset, 0), min(m + offset, n, d.shape[1])
        if high <= low:
            continue
        j = np.arange(low, high)
        rows.append(j - offset)
        columns.append(j)
        picks.append(k * d.shape[1] + j)
    indices = (
        np.stack([np.concatenate(rows), np.concatenate(columns)])
        if rows
        else np.zeros((2, 0), np.int64)
    )
    chosen = index_tensor(np.concatenate(picks) if picks else np.zeros(0, np.int64), d)
    made = coo(index_tensor(indices, d), d.reshape(-1).index_select(0, chosen), (m, n))
    return made if layout in (None, layouts.sparse_coo) else to_compressed(made, layout)
