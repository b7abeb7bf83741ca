"""Reductions to truth and counts: ``all``, ``any``, ``count_nonzero``."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..facts.errors import canonical_dim, canonical_dims
from ._axes import to_dtype
from ._declare import Array, op, reduction
from ._facts import schemas
from .reductions import _counted


def _truth(input: Array, dim: int | tuple[int, ...] | None, keepdim: bool, how: str) -> Array:
    # Unlike other reductions, an empty list of dimensions reduces none.
    dims = canonical_dims(dim, input.ndim, empty_is_all=False)
    found = getattr(jnp, how)(to_dtype(input, np.bool_), axis=dims, keepdims=keepdim)
    return found.astype(np.uint8) if input.dtype == np.uint8 else found


@reduction(
    differentiable=False,
    aten="all.dims",
    out_dtype="all only supports bool tensor for result, got: {mine}",
    out_also="Byte Bool",
)
@schemas(
    "(Tensor self) -> Tensor ; =all_out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor ; =out",
    ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor ; =dims_out",
)
def all(input: Array, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Array:
    """Whether all elements over ``dim`` are true (not zero).

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.

    Shapes: the input's without the dimensions ``dim`` (all by default), which stay with size 1 if
    ``keepdim``.

    Dtypes: the result is bool, for uint8 inputs uint8.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.all(torch.tensor([[True, True], [True, False]]), dim=1)
        tensor([ True, False])
    """
    return _truth(input, dim, keepdim, "all")


@reduction(
    differentiable=False,
    aten="any.dims",
    out_dtype="any only supports bool tensor for result, got: {mine}",
    out_also="Byte Bool",
)
@schemas(
    "(Tensor self) -> Tensor ; =all_out",
    ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor ; =out",
    ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor ; =dims_out",
)
def any(input: Array, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Array:
    """Whether any element over ``dim`` is true (not zero).

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce; all if it is None.
        keepdim: whether reduced dimensions stay, with size 1.

    Shapes: the input's without the dimensions ``dim`` (all by default), which stay with size 1 if
    ``keepdim``.

    Dtypes: the result is bool, for uint8 inputs uint8.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.any(torch.tensor([[0, 0], [3, 0]]), dim=1)
        tensor([False,  True])
    """
    return _truth(input, dim, keepdim, "any")


@op(method=False, differentiable=False, aten="_is_all_true")
def _is_all_true(self: Array) -> Array:
    """Whether all elements of a bool tensor are true.

    Shapes: self (*) -> ().
    Dtypes: bool.

    Raises:
        RuntimeError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch._is_all_true(torch.tensor([True, False]))
        tensor(False)
    """
    if self.dtype != np.bool_:
        raise RuntimeError("Expected self.scalar_type() == at::kBool to be true, but got false.")
    return jnp.all(self)


@op(method=False, differentiable=False, aten="_is_any_true")
def _is_any_true(self: Array) -> Array:
    """Whether any element of a bool tensor is true.

    Shapes: self (*) -> ().
    Dtypes: bool.

    Raises:
        RuntimeError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch._is_any_true(torch.tensor([True, False]))
        tensor(True)
    """
    if self.dtype != np.bool_:
        raise RuntimeError("Expected self.scalar_type() == at::kBool to be true, but got false.")
    return jnp.any(self)


@reduction(differentiable=False, out=False, aten="count_nonzero")
@schemas(
    "(Tensor self, int? dim=None) -> Tensor ; =out",
    ".dim_IntList(Tensor self, int[] dim) -> Tensor ; =dim_IntList_out",
)
def count_nonzero(input: Array, dim: int | tuple[int, ...] | None = None) -> Array:
    """The number of elements over ``dim`` that are not zero, in int64.

    Shapes: the input's without the dimensions ``dim`` (all by default).

    Dtypes: any -> int64.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.count_nonzero(torch.tensor([[1, 0], [2, 3]]), dim=1)
        tensor([1, 2])
    """
    dims = tuple(
        canonical_dim(d, input.ndim)
        for d in ((dim,) if isinstance(dim, int) else dim or range(input.ndim))
    )
    return _counted(
        to_dtype(input, np.bool_), canonical_dims(dims, input.ndim) if input.ndim else (), False
    )
