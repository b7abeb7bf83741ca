"""Masks and reductions of sparse tensors: what a mask leaves of one, and what its specified
elements give along dimensions.

An element that is not specified is absent. One that the mask has and the tensor has not is a zero.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import jtorch as torch
from jtorch import Tensor

from ..._src.facts.errors import not_offered
from .identities import identity

_HALVES = (torch.float16, torch.bfloat16)


def is_compressed(t: Tensor) -> TypeGuard[Any]:
    """Whether a tensor is in CSR layout."""
    return t.layout is torch.sparse_csr


def _keys(indices: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Places as single numbers, in the order of a dense tensor."""
    found = indices.new_zeros(indices.size(1))
    for d, size in enumerate(sizes):
        found = found * size + indices[d]
    return found


def broadcast(mask: Any, size: tuple[int, ...]) -> Tensor:
    """A sparse mask in a larger shape, in the layout that it has.

    Raises:
        RuntimeError: if it does not broadcast to the shape.
    """
    if is_compressed(mask):
        return broadcast(mask.to_sparse_coo(), size).to_sparse_csr()
    mask = mask.coalesce()
    lead = len(size) - mask.dim()
    sizes = (1,) * lead + tuple(mask.shape)
    for d, (given, asked) in enumerate(zip(sizes, size, strict=True)):
        if given not in (1, asked):
            raise RuntimeError(
                f"The input's length {given} at dimension {d - lead} does not broadcast over the "
                f"requested shape of length {asked} at dimension {d}"
            )
    end = lead + mask.sparse_dim()
    indices, values = mask.indices(), mask.values()
    indices = torch.cat([indices.new_zeros(lead, indices.size(1)), indices])
    values = values.expand(values.size(0), *size[end:])
    for d in [d for d in range(end) if sizes[d] != size[d]]:
        every = torch.arange(size[d], device=indices.device).repeat(indices.size(1))
        indices = indices.repeat_interleave(size[d], 1)
        indices = torch.cat([indices[:d], every[None], indices[d + 1 :]])
        values = values.repeat_interleave(size[d], 0)
    return torch.sparse_coo_tensor(indices, values, size).coalesce()


def where(mask: Any, input: Any, fill: Tensor | None) -> Tensor:
    """The elements of a sparse tensor that a mask of its layout has; ``fill`` at what it lacks
    within dense dimensions.

    Raises:
        AssertionError: if they differ in layout, shape or number of dense dimensions.
    """
    if is_compressed(mask):
        kept = where(mask.to_sparse_coo(), input.to_sparse_coo(), fill)
        return kept.to_sparse_csr()
    for what, a, b in (
        ("layout", mask.layout, input.layout),
        ("shape", mask.shape, input.shape),
        ("dense_dim()", mask.dense_dim(), input.dense_dim()),
    ):
        if a != b:
            raise AssertionError(f"mask.{what} must match input.{what}: {a} vs {b}")
    input, present = input.coalesce(), mask.values()
    sizes = tuple(input.shape[: input.sparse_dim()])
    rows = present.flatten(1).any(1) if present.dim() > 1 else present
    indices, present = mask.indices()[:, rows], present[rows]
    values = input.values()
    if values.size(0):
        known, asked = _keys(input.indices(), sizes), _keys(indices, sizes)
        at = torch.searchsorted(known, asked).clamp(max=known.size(0) - 1)
        specified = (known[at] == asked).reshape(-1, *[1] * (values.dim() - 1))
        values = torch.where(specified, values[at], values.new_zeros(()))
    else:
        values = values.new_zeros(indices.size(1), *values.shape[1:])
    if fill is not None and present.dim() > 1:
        values = torch.where(present, values, fill)
    kept = torch.sparse_coo_tensor(indices, values, input.shape)
    kept._coalesced_(True)
    return kept


def _scattered(name: str, values: Tensor, groups: Tensor, count: int) -> Tensor:
    """Rows of one group reduced to one."""
    index = groups.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    # halves are added up in single precision
    wide = values.float() if values.dtype in _HALVES else values
    empty = wide.new_zeros(count, *values.shape[1:])
    found = empty.scatter_reduce(0, index, wide, name, include_self=False)
    return found.to(values.dtype)


def _all(name: str, values: Tensor) -> Tensor:
    """All rows reduced to one; the identity where there are none."""
    if values.size(0) == 0 and name in ("amax", "amin"):
        fill = identity(name, values)
        assert fill is not None
        return fill.expand(values.shape[1:])
    wide = values.float() if values.dtype in _HALVES else values
    return getattr(torch, name)(wide, dim=0).to(values.dtype)


def reduced(
    name: str, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: torch.dtype
) -> Tensor:
    """A reduction of the specified elements along dimensions, in the layout of the input. What is
    not specified in the result has no element.

    Raises:
        NotImplementedError: for other than sums along dense dimensions.
        RuntimeError, AssertionError: for CSR without ``keepdim``.
    """
    if is_compressed(input):
        return _compressed(name, input, dims, keepdim, dtype)
    values, indices, sparse = input._values().to(dtype), input._indices(), input.sparse_dim()
    size = [1 if d in dims else n for d, n in enumerate(input.shape) if keepdim or d not in dims]
    # (a tensor without dimensions may be reduced along the first)
    if dense := [d - sparse + 1 for d in dims if sparse <= d < input.dim()]:
        if name != "sum":
            raise not_offered(f"masked.{name} along a dense dimension", "nor does PyTorch have it")
        values = torch.sum(values, dense, keepdim)
    kept = [d for d in range(sparse) if d not in dims]
    if not kept:
        found = _all(name, values)
        return (found.reshape([1] * sparse + list(found.shape)) if keepdim else found).to_sparse()
    if keepdim:
        zeros = torch.zeros_like(indices[0])
        indices = torch.stack([zeros if d in dims else indices[d] for d in range(sparse)])
    else:
        indices = indices[kept]
    if indices.numel():
        indices, groups = torch.unique(indices, return_inverse=True, dim=1)
        values = _scattered(name, values, groups, indices.size(1))
    return torch.sparse_coo_tensor(indices, values, size, dtype=dtype)


def _compressed(
    name: str, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: torch.dtype
) -> Tensor:
    """``reduced`` for CSR tensors of two dimensions."""
    operator = name in ("sum", "prod")  # of PyTorch, where the others are written in Python
    if not keepdim:
        words = "reduction operations on CSR tensors with keepdim=False is unsupported"
        raise RuntimeError(words) if operator else AssertionError(words)
    values, rows, columns = input.values().to(dtype), input.crow_indices(), input.col_indices()
    if dims == (0,):
        columns, groups = torch.unique(columns, return_inverse=True)
        values = _scattered(name, values, groups, columns.size(0))
        rows, size = rows.new_tensor([0, columns.size(0)]), (1, input.size(1))
    elif dims == (1,):
        lengths = torch.diff(rows)
        filled = lengths != 0
        groups = torch.repeat_interleave(torch.cumsum(filled, 0) - 1, lengths)
        rows = torch.cat([rows.new_zeros(1), torch.cumsum(filled, 0).to(rows.dtype)])
        values = _scattered(name, values, groups, int(rows[-1]))
        columns, size = columns.new_zeros(values.size(0)), (input.size(0), 1)
    else:
        count = min(1, values.numel())
        values = _all(name, values)[None] if count else values
        columns, rows = columns.new_zeros(count), rows.new_tensor([0, count])
        size = (1, 1 if operator else count)
    return torch.sparse_csr_tensor(rows, columns, values, size, dtype=dtype)
