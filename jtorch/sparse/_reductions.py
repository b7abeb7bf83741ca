"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import jtorch

from .._src.bind.everything import _C
from .._src.facts import layouts
from .._src.facts.errors import canonical_dim, canonical_dims
from ._make import coalesce, compressed_to_coo, index_tensor, linear, to_compressed
from ._tensor import (
    COMPRESSED,
    SparseTensor,
    coo,
    could_not_run,
    expected,
    host,
    like,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._whole import through

# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch


def _dims(dim: int, ndim: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(ndim))
    return canonical_dims((dim,) if isinstance(dim, int) else tuple(dim), ndim)


@sparse_op("sum")
def sum(
    input: SparseTensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: jtorch.dtype | None = None,
    out: object = None,
) -> Any:
    """The sum of all elements (dense), or over dimensions (sparse if sparse dimensions remain)."""
    if out is not None:
        raise could_not_run("sum.IntList_out", input)
    if dim is None or not (isinstance(dim, int) or len(dim) or input._kind in COMPRESSED):
        size, own = tuple(input._dims), input.dtype
        return through(
            lambda s: s._vals.sum(dtype=dtype), input, lambda grad: grad.to(own).expand(size)
        )
    if input._kind in COMPRESSED:
        return _compressed_sum(input, dim, keepdim, dtype)
    found = sparse_sum(input, dim, dtype)
    if not keepdim:
        return found
    for d in sorted(_dims(dim, len(input._dims))):
        found = found.unsqueeze(d)
    return found


def sparse_sum(input: jtorch.Tensor, dim: int | None = None, dtype: object = None) -> jtorch.Tensor:
    """The sum over dimensions, or of all elements."""
    if not isinstance(input, SparseTensor):
        raise (
            expected("_sparse_sum", "sparse coordinate tensor", input)
            if dim is not None
            else RuntimeError("coalesce expected sparse coordinate tensor layout but got Strided")
        )
    if input._kind in COMPRESSED:
        raise expected("coalesce", "sparse coordinate tensor", input)
    if dim is None:
        return coalesce(input)._vals.sum(dtype=dtype)
    values = input._vals if dtype is None else input._vals.to(dtype)
    if dtype is None and input.dtype.np.kind in "biu" and isinstance(dim, int | tuple | list):
        values = values.to(torch.int64) if input.dtype is not torch.bool else values
    dims = _dims(dim, len(input._dims))
    s = sparse_dim(input)
    dense = [d - s + 1 for d in dims if d >= s]
    if dense:
        values = values.sum(dense)
    gone = [d for d in dims if d < s]
    size = [n for d, n in enumerate(input._dims) if d not in dims]
    if len(gone) == s:
        return values.sum(0)
    if not gone:
        return coo(input._at[0], values, size, input._sorted)
    kept = index_tensor(np.array([d for d in range(s) if d not in gone]), input)
    return coalesce(coo(input._at[0].index_select(0, kept), values, size))


def _compressed_sum(input: SparseTensor, dim: int, keepdim: bool, dtype: object) -> object:
    if input._kind is not layouts.sparse_csr:
        raise could_not_run("sum.dim_IntList", input)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    made = compressed_to_coo(input)
    for d in sorted(_dims(dim, 2)):
        made = sparse_sum_keeping(made, d, dtype)
    return to_compressed(made, input._kind)


def sparse_sum_keeping(made: jtorch.Tensor, d: int, dtype: object) -> jtorch.Tensor:
    """The sum over one sparse dimension, which stays with size 1."""
    values = made._vals if dtype is None else made._vals.to(dtype)
    indices = made._at[0].clone()
    indices[d] = 0
    size = list(made._dims)
    size[d] = 1
    return coalesce(coo(indices, values, size))


@sparse_op("norm", "native_norm", "functional.norm")
def norm(
    input: jtorch.Tensor,
    p: str = "fro",
    dim: int | None = None,
    keepdim: bool = False,
    out: object = None,
    dtype: object = None,
) -> jtorch.Tensor:
    """The norm of all elements."""
    if input._kind in COMPRESSED:
        raise could_not_run("norm.ScalarOpt_dim", input)
    if dim is not None and len(_dims(dim, len(input._dims))) != len(input._dims):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    values = coalesce(input)._vals.reshape(-1)
    return torch.linalg.vector_norm(values, 2 if p in ("fro", None) else p)


@sparse_op("any")
def any_(input: jtorch.Tensor, *dims: object, **kwargs: object) -> object:
    """Whether any element is not zero."""
    if dims or kwargs:
        raise could_not_run("any.dim", input)
    return input._vals.any()


@sparse_op("nn.functional.softmax", "softmax")
def _no_softmax(input: Any, *args: object, **kwargs: object) -> Any:
    raise could_not_run("_softmax", input)


@sparse_op("nn.functional.log_softmax", "log_softmax")
def _no_log_softmax(input: Any, *args: object, **kwargs: object) -> Any:
    raise could_not_run("_log_softmax", input)


def softmax(input: jtorch.Tensor, dim: int, dtype: object, log: bool) -> jtorch.Tensor:
    """Softmax over the specified elements along a dimension; the others count as minus infinity."""
    if not isinstance(input, SparseTensor):
        raise could_not_run("_sparse_log_softmax" if log else "_sparse_softmax", input)
    if input._kind in COMPRESSED:
        raise could_not_run("_sparse_log_softmax" if log else "_sparse_softmax", input)
    c = coalesce(input)
    if dtype is not None:
        c = like(c, c._vals.to(dtype))
    dim = canonical_dim(dim, len(c._dims))
    s = sparse_dim(c)
    if dim >= s:
        values = c._vals
        return like(c, (values.log_softmax if log else values.softmax)(dim - s + 1))
    if not nnz(c):
        return c
    indices = host(c._at[0])
    rest = [d for d in range(s) if d != dim]
    _, pools = np.unique(linear(indices[rest], [c._dims[d] for d in rest]), return_inverse=True)
    pools = pools.reshape(-1)
    count = int(pools.max()) + 1
    ids = index_tensor(pools, c)
    values = c._vals
    high = values.detach().new_full((count, *values.shape[1:]), float("-inf"))
    spread = ids.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    high = high.scatter_reduce(0, spread, values.detach(), "amax")
    shifted = values - high.index_select(0, ids)
    exps = shifted.exp()
    sums = _C._segment_sum(exps, ids, count)
    found = shifted - sums.log().index_select(0, ids) if log else exps / sums.index_select(0, ids)
    return like(c, found)
