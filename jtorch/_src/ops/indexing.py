"""Reading by position: ``gather``, ``index_select``, ``take``, ``nonzero``, masks, and the kernels
of ``t[index]``.

Positions are checked by ``guard``, so the gathers and scatters themselves may assume that they are
in range. Writing by position is in ``scattering.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.dtypes import from_np
from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.layouts import strided
from ._added import added_along, can_be_added, grid
from ._declare import Array, Number, defvjp, guard, guard_range, op, shape
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._fitting import fill_value
from ._hosted import INT64, REALS, hosted
from ._matrix import cpp_name
from ._nodes import by_operand
from ._numeric import wide
from ._rows import elements_added, positions_of_rows, rows
from ._sizes import counted, fewer

_BOUNDS = "index {{}} is out of bounds for dimension {dim} with size {size}"


def scalar_name(x: Array) -> str:
    """The dtype of ``x`` as torch's messages call it: ``Float``."""
    return from_np(x.dtype).scalar_name


def list_text(sizes: tuple[int, ...]) -> str:
    """Sizes as torch's messages write them: ``[2, 3]``."""
    return str(list(sizes))


def in_bounds(
    index: Array,
    size: int,
    exc_type: type[Exception],
    message: str,
    *,
    wrap: bool = False,
    of: Array | None = None,
) -> Array:
    """``index`` as positions in ``range(size)``, checked by a guard; negative ones count from the
    end if ``wrap``.

    ``of`` is the operand whose elements ``index`` has, if that is not the operand itself.
    """
    guard_range(index, -size if wrap else 0, size - 1, exc_type, message, of=of)
    # XLA's scatters are faster with 32-bit positions.
    if fewer(size, 2**31) and index.dtype == np.int64:
        index = index.astype(np.int32)
    if not wrap:
        return index
    # ``jnp.where`` in JAX's primitives, as this is traced for each new size
    kind = index.dtype.type
    high = (
        index + counted(size, index.dtype) if type(size) is not int else lax.add(index, kind(size))
    )
    return lax.select(lax.lt(index, kind(0)), high, index)


def at_dim(dim: int, positions: Array) -> tuple[slice | Array, ...]:
    """The NumPy index that applies ``positions`` to dimension ``dim`` alone."""
    return (slice(None),) * dim + (positions,)


def fetch(x: Array, index: tuple[slice | Array, ...]) -> Array:
    """``x[index]`` for positions known to lie in range."""
    dim = inner_dim(x, index)
    if dim is None:
        if (places := positions_of_rows(x, index)) is not None:
            return rows(x, places)
        return x.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)
    positions: Array = index[dim]  # type: ignore[assignment]
    return _inner(x, positions.reshape(-1), dim=dim).reshape(
        *x.shape[:dim], *positions.shape, *x.shape[dim + 1 :]
    )


def _by_take(dim: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda x, positions: x.take(positions, dim, None, "clip")


def _shape_of_inner(x: Array, positions: Array, *, dim: int) -> tuple[int, ...]:
    return (*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :])


@hosted(
    _by_take,
    ns=4.6,
    calls=4,
    dtypes=REALS,
    elementwise=False,
    alike=False,
    mixed=True,
    shape=_shape_of_inner,
)
def _inner(x: Array, positions: Array, *, dim: int) -> Array:
    """``x`` at a vector of positions along a dimension that others stand in front of."""
    folded, at = fold(x, dim, positions)
    return fetch(folded, (at,)).reshape(*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :])


def inner_dim(x: Array, index: tuple[slice | Array, ...]) -> int | None:
    """The dimension that is indexed, if it is the only one and others stand in front of it."""
    arrays = [d for d, item in enumerate(index) if not isinstance(item, slice)]
    if len(arrays) != 1 or x.size == 0 or math.prod(x.shape[: arrays[0]]) == 1:
        return None
    if index[arrays[0]].size == 0 or any(
        item != slice(None) for d, item in enumerate(index) if d != arrays[0]
    ):
        return None
    return arrays[0]


def fold(x: Array, dim: int, positions: Array) -> tuple[Array, Array]:
    """``x`` with the dimensions in front of ``dim`` folded into it, and the ``positions`` there,
    for each of them.

    XLA gathers along an inner dimension into a transposed array and copies that, which takes ten
    times as long; so do its scatters.
    """
    lead, n = math.prod(x.shape[:dim]), x.shape[dim]
    flat = positions.reshape(1, -1).astype(np.int32 if fewer(x.size, 2**31) else np.int64)
    rows = lax.broadcasted_iota(flat.dtype, (lead, flat.size), 0) * counted(n, flat.dtype) + flat
    return x.reshape(lead * n, *x.shape[dim + 1 :]), rows.reshape(-1)


def as_vector(x: Array) -> Array:
    """A 0-dim array as a vector of one element; others as they are."""
    return x.reshape(1) if x.ndim == 0 else x


def along(x: Array, dim: int, positions: Array) -> Array:
    """``x`` at ``positions`` along ``dim``; ``positions`` may be smaller than ``x`` in the other
    dimensions."""
    limits = [x.shape[d] if d == dim else positions.shape[d] for d in range(x.ndim)]
    x = lax.slice(x, (0,) * x.ndim, limits)
    return jnp.take_along_axis(x, positions, dim, mode="promise_in_bounds")


@shape(
    saves=("index",),
    out=True,
    aten="gather",
    out_dtype="expected",
    out_apart="wholly",
    laid="sparse_grad",
)
def gather(input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """Takes elements along ``dim``: ``result[i][j] = input[index[i][j]][j]`` for ``dim=0`` of a
    matrix.

    Args:
        input: the tensor to take from.
        dim: the dimension along which ``index`` counts.
        index: int64 indices, of as many dimensions as ``input``.
        sparse_grad: whether the gradient is a sparse tensor.

    Shapes: ``index`` has as many dimensions as ``input`` and is not larger but in ``dim``; the
    result has its shape.
    Dtypes: that of ``input``; the index is int64 or int32.
    Gradient: with ``sparse_grad`` a COO tensor of the elements that were taken, each as often as it
    was.

    Raises:
        RuntimeError: if the shapes do not fit, the index is no int32 or int64 tensor, or a position
            is out of range or negative.

    Example:
        >>> import jtorch as torch
        >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    axis = canonical_dim(dim, input.ndim)
    if index.size == 0:
        return jnp.zeros(index.shape, input.dtype)
    if index.dtype not in (np.int32, np.int64):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    x, i = as_vector(input), as_vector(index)
    if x.ndim != i.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(x.ndim):
        if d != axis and i.shape[d] > x.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list_text(index.shape)} "
                f"to be no larger than self {list_text(input.shape)} apart from dimension {axis}"
            )
    i = in_bounds(
        i, x.shape[axis], RuntimeError, _BOUNDS.format(dim=axis, size=x.shape[axis]), of=index
    )
    return along(x, axis, i).reshape(index.shape)


derivative(
    A.gather,
    self=lambda g, self_, dim, index: A.scatter_add.default(
        A.new_zeros.default(g, self_.shape), dim, index, g
    ),
)


def _gather_rule(
    g: Array, result: None, input: Array, dim: int, index: Array, *, sparse_grad: bool = False
) -> tuple[Array, None]:
    zeros = jnp.zeros(input.shape, g.dtype)
    if index.size == 0:
        return zeros, None
    x, i, g = as_vector(zeros), as_vector(index), as_vector(g)
    axis = canonical_dim(dim, x.ndim)
    if can_be_added(x, i):
        return added_along(x, i, g, axis=axis).reshape(input.shape), None
    found = elements_added(wide(x), grid(axis, i), wide(g))
    return found.astype(g.dtype).reshape(input.shape), None


defvjp(gather, _gather_rule)


@shape(
    saves=("indices",),
    out=True,
    aten="take_along_dim",
    out_dtype="expected",
    node="GatherBackward0",
)
def take_along_dim(input: Array, indices: Array, dim: int | None = None) -> Array:
    """Takes elements along ``dim`` like ``gather``, but broadcasts the other dimensions; without
    ``dim``, from the flattened tensor.

    Shapes: that of input and indices, broadcast in all dimensions but ``dim``, along which it is
    that of indices.
    Dtypes: that of ``input``; indices are int64.

    Raises:
        RuntimeError: if the numbers of dimensions differ or the indices are not int64.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[3, 1, 2], [4, 6, 5]])
        >>> torch.take_along_dim(x, torch.argsort(x, 1), 1)
        tensor([[1, 2, 3],
                [4, 5, 6]])
    """
    if indices.dtype != np.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{scalar_name(indices)}"
        )
    if dim is None:
        flat = input.reshape(-1)
        i = in_bounds(
            indices.reshape(-1),
            flat.size,
            RuntimeError,
            _BOUNDS.format(dim=0, size=flat.size),
            of=indices,
        )
        return fetch(flat, (i,))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    axis = canonical_dim(dim, input.ndim, wrap_scalar=False)
    # torch wraps positions around the size instead of rejecting them.
    i = jnp.remainder(indices, np.int64(max(input.shape[axis], 1)))
    i_shape = broadcast_shapes(input.shape[:axis] + (1,) + input.shape[axis + 1 :], i.shape)
    x_shape = i_shape[:axis] + (input.shape[axis],) + i_shape[axis + 1 :]
    return jnp.take_along_axis(
        jnp.broadcast_to(input, x_shape),
        jnp.broadcast_to(i, i_shape),
        axis,
        mode="promise_in_bounds",
    )


def _take_along_dim_rule(
    g: Array, result: None, input: Array, indices: Array, dim: int | None = None
) -> tuple[Array, None]:
    """What meets in half precision is added up in single precision."""
    (found,) = jax.vjp(lambda x: take_along_dim(x, indices, dim), wide(input))[1](wide(g))
    return found.astype(g.dtype), None


defvjp(take_along_dim, _take_along_dim_rule)


@shape(
    saves=("index",),
    out=True,
    aten="index_select",
    out_dtype="index_select(): self and result must have the same scalar type",
    out_apart="wholly",
)
def index_select(input: Array, dim: int, index: Array) -> Array:
    """The slices of ``input`` along ``dim`` at the positions of the vector ``index``, in its order.

    Args:
        input: the tensor.
        dim: the dimension to select along.
        index: the indices: a tensor of integers with one dimension at most.

    Shapes: input (*) -> (*), with the number of positions along ``dim``.
    Dtypes: that of ``input``; the index is int64 or int32.

    Raises:
        IndexError: if the index has more than one dimension, or a position is out of range or
            negative.
        RuntimeError: if the index is no int32 or int64 tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))
        tensor([[3, 1],
                [6, 4]])
    """
    axis = canonical_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (np.int32, np.int64):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if input.ndim == 0 and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    x = as_vector(input)
    if index.size and not x.shape[axis]:
        if input.ndim == 1:
            raise IndexError("index out of range in self")
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    words: tuple[type[Exception], str] = IndexError, "index out of range in self"
    if axis == 1 or (input.ndim > 1 and not input.size):  # a kernel of its own, in PyTorch
        words = (
            RuntimeError,
            f"INDICES element is out of DATA bounds, id={{}} axis_dim={x.shape[axis]}",
        )
    i = in_bounds(index.reshape(-1), x.shape[axis], *words, of=index)
    taken = fetch(x, at_dim(axis, i))
    return taken.reshape(()) if input.ndim == 0 else taken


def _index_select_rule(
    g: Array, result: None, input: Array, dim: int, index: Array
) -> tuple[Array, None]:
    """What meets in half precision is added up in single precision, but in vectors, as PyTorch has
    it."""
    axis, positions = canonical_dim(dim, input.ndim), index.reshape(-1)
    x, wider = as_vector(input), wide if input.ndim > 1 else _same
    made = wider(g).reshape(*x.shape[:axis], positions.size, *x.shape[axis + 1 :])
    (found,) = jax.vjp(lambda x: fetch(x, at_dim(axis, positions)), wider(x))[1](made)
    return found.astype(g.dtype).reshape(input.shape), None


def _same(x: Array) -> Array:
    return x


defvjp(index_select, _index_select_rule)


def _index_select_formula(g: object, self_: Any, dim: int, index: object) -> object:
    made = A.new_zeros.default(
        g, self_.shape, dtype=self_.dtype, layout=strided, device=self_.device
    )
    return (A.index_add if D.in_modes() else A.index_add_).default(made, dim, index, g)


derivative(A.index_select, self=_index_select_formula)


@shape(
    saves=("index",),
    out=True,
    aten="take",
    out_dtype="take(): self and out expected to have the same dtype, but got self.dtype = {its} "
    "and out.dtype = {mine}",
    out_apart="wholly",
)
def take(input: Array, index: Array) -> Array:
    """The elements of the flattened ``input`` at the positions ``index``; negative ones count from
    the end.

    Shapes: that of ``index``.
    Dtypes: that of ``input``; the index is int64.

    Raises:
        RuntimeError: if the index is not int64.
        IndexError: if a position is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, -1]))
        tensor([1, 4])
    """
    if index.dtype != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if input.size == 0 and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return fetch(input.reshape(-1), (in_flat(index, input.size),))


derivative(
    A.take, self=lambda g, self, index: A.put.default(A.zeros_like.default(self), index, g, True)
)


def in_flat(index: Array, size: int) -> Array:
    """Positions in a flattened tensor, checked in the words of ``take`` and ``put_``."""
    message = f"out of range: tried to access index {{}} on a tensor of {size} elements."
    return in_bounds(index, size, IndexError, message, wrap=True)


def index_parts(input: Array, indices: list[Array | None]) -> tuple[slice | Array, ...]:
    """The index of ``t[...]`` with checked positions; None (all of a dimension) becomes a full
    slice.

    Raises:
        IndexError: in torch's words, if there are too many indices or their shapes do not
            broadcast.
    """
    if len(indices) > input.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})"
        )
    given = [i for i in indices if i is not None]
    try:
        common = broadcast_shapes(*(i.shape for i in given))
    except RuntimeError:
        shapes = ", ".join(list_text(i.shape) for i in given)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    # Where nothing is fetched, torch looks at no position.
    empty = any(
        n == 0 for d, n in enumerate(input.shape) if d >= len(indices) or indices[d] is None
    )
    parts: list[slice | Array] = []
    checked = 0  # torch's message counts the dimensions that are indexed
    for dim, i in enumerate(indices):
        if i is None:
            parts.append(slice(None))
            continue
        if i.dtype not in (np.int32, np.int64):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        size = input.shape[dim]
        if size == 0 and math.prod(common):
            raise IndexError("index is out of bounds for dimension with size 0")
        positions = (
            i
            if empty
            else in_bounds(i, size, IndexError, _BOUNDS.format(dim=checked, size=size), wrap=True)
        )
        checked += 1
        # Equal ranks, because nothing may lean on JAX's rank promotion.
        parts.append(positions.reshape((1,) * (len(common) - i.ndim) + i.shape))
    return tuple(parts)


@shape(namespace="_C", saves=("indices",), aten="index.Tensor")
@schemas("index.Tensor ; =Tensor_out")
def _index(input: Array, indices: list[Array | None]) -> Array:
    """``input[indices]`` for integer tensors; None takes all of a dimension.

    Shapes: the indices broadcast together, and their dimensions replace the indexed ones where
    these are adjacent, else they come first.
    """
    parts = index_parts(input, indices)
    return fetch(input, parts) if any(not isinstance(p, slice) for p in parts) else input


derivative(
    A.index.Tensor,
    self=lambda g, self_, indices: A.index_put.default(
        A.new_zeros.default(g, self_.shape, dtype=self_.dtype, layout=strided, device=self_.device),
        indices,
        g,
        True,
    ),
)


@shape(namespace="_C", saves=("positions",), aten="index.Tensor", node="IndexBackward0")
def _index_flat(input: Array, positions: Array, start: int, count: int) -> Array:
    """``input[:, ..., mask]``: slices at flat ``positions`` of the ``count`` dimensions from
    ``start``, which a mask has selected.

    The positions come from the mask, so they are not checked.
    """
    merged = (
        *input.shape[:start],
        math.prod(input.shape[start : start + count]),
        *input.shape[start + count :],
    )
    return fetch(input.reshape(merged), at_dim(start, positions))


@op(
    host=True,
    differentiable=False,
    out=True,
    aten="nonzero",
    strides="positions",
    out_dtype="nonzero: Expected out tensor to have scalar type {its} but got scalar type{mine}",
    out_of_one="nonzero does not support the out kwarg when as_tuple is True",
)
@schemas("(Tensor self) -> Tensor ; =out")
def nonzero(input: Array, *, as_tuple: bool = False) -> np.ndarray | tuple[np.ndarray, ...]:
    """The positions of all elements that are not zero, in row-major order; ``as_tuple`` gives one
    vector for each dimension.

    The shape depends on the values, so they are read on the host; ``nonzero_static`` is the
    alternative of known shape.

    Args:
        input: the tensor.
        as_tuple: give one tensor of indices for each dimension, instead of one with a row for each
            element.

    Shapes: input (*) of d dimensions -> (n, d), or d times (n).
    Dtypes: any -> int64.

    Example:
        >>> import jtorch as torch
        >>> torch.nonzero(torch.tensor([[0, 7], [5, 0]]))
        tensor([[0, 1],
                [1, 0]])
        >>> torch.nonzero(torch.tensor([True, False, True]), as_tuple=True)
        (tensor([0, 2]),)
    """
    if not as_tuple:
        return _rows_of_places(input)
    return tuple(i.astype(np.int64) for i in np.nonzero(np.atleast_1d(input)))


def _rows_of_places(x: Array) -> np.ndarray:
    """What ``np.argwhere`` gives, in row-major order."""
    if not x.ndim:
        return np.empty((np.count_nonzero(x), 0), np.int64)
    places = x.nonzero()
    found = np.empty((places[0].size, x.ndim), np.int64)
    for d, at in enumerate(places):
        found[:, d] = at
    return found


@op(host=True, differentiable=False, aten="argwhere", strides="positions", implicit=True)
@schemas("(Tensor self) -> Tensor")
def argwhere(input: Array) -> np.ndarray:
    """The positions of all elements that are not zero, one a row. Reads the values on the host.

    Shapes: input (*) of d dimensions -> (n, d).
    Dtypes: any -> int64.

    Example:
        >>> import jtorch as torch
        >>> torch.argwhere(torch.tensor([[0, 7], [5, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    return _rows_of_places(input)


@op(namespace="_C", host=True, differentiable=False, aten="nonzero")
def index_by_mask(mask: Array) -> np.ndarray:
    """The positions of the true elements of the flattened mask. (Errors name this op, so it is
    called by what users do.)"""
    return np.flatnonzero(mask).astype(np.int64, copy=False)


@op(
    differentiable=False,
    out=True,
    aten="nonzero_static",
    out_dtype="nonzero_static: Expected out tensor to have scalar type {its} but got scalar "
    "type{mine}",
)
@schemas("(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor ; =out")
def nonzero_static(input: Array, *, size: int, fill_value: int = -1) -> Array:
    """The first ``size`` positions of elements that are not zero; rows that are left over hold
    ``fill_value``.

    Shapes: input (*) of d dimensions -> (size, d).
    Dtypes: any -> int64.

    Raises:
        RuntimeError: if ``size`` is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.nonzero_static(torch.tensor([0, 7, 5]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if input.size == 0 or input.ndim == 0:
        return jnp.full((size, input.ndim), fill_value, np.int64)
    return (_first_places if type(size) is int else _first_formula)(
        input, size=size, fill_value=fill_value
    )


def _first_by_numpy(size: int, fill_value: int) -> Callable[[np.ndarray], np.ndarray]:
    def first(x: np.ndarray) -> np.ndarray:
        found = np.empty((size, x.ndim), np.int64)
        for d, places in enumerate(x.nonzero()):
            n = min(size, places.size)
            found[:n, d] = places[:n]
            found[n:, d] = fill_value
        return found

    return first


def _first_formula(x: Array, *, size: int, fill_value: int) -> Array:
    found = jnp.nonzero(x, size=size, fill_value=fill_value)
    return jnp.stack([i.astype(np.int64) for i in found], axis=1)


def _shape_of_first(x: Any, *, size: int, fill_value: int) -> tuple[int, ...]:
    del fill_value
    return size, x.ndim


_first_places = hosted(
    _first_by_numpy,
    ns=4,
    calls=8,
    dtypes=(np.dtype(np.bool_), *REALS),
    elementwise=False,
    shape=_shape_of_first,
    gives=INT64,
)(_first_formula)


@shape(
    inplace=True,
    unmixed=("mask",),
    saves=("mask",),
    aten="masked_fill.Scalar",
    repeats="tensor[mask] = scalar",
    node=by_operand("MaskedFill", "value", 1, 0),
    elementwise=True,
)
@schemas(
    ".Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor ; _ =Scalar_out",
    ".Tensor ; _ =Tensor_out",
)
def masked_fill(input: Array, mask: Array, value: Array | Number) -> Array:
    """``input`` with ``value`` wherever ``mask`` is true.

    Args:
        input: the tensor.
        mask: a tensor of bools, whose shape is broadcast.
        value: a number, or a tensor without dimensions.

    Shapes: that of ``input`` and ``mask``, broadcast; ``value`` is a number or a 0-dim tensor.
    Dtypes: that of ``input``; the mask is bool.

    Raises:
        RuntimeError: if the mask is not bool, or the value cannot be held by the dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.masked_fill(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]), 0)
        tensor([0, 2, 0])
    """
    if mask.dtype != np.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {cpp_name(mask)}"
        )
    filling = fill_value(value, input, "masked_fill_")
    full = broadcast_shapes(mask.shape, input.shape)
    return jnp.where(
        jnp.broadcast_to(mask, full), jnp.broadcast_to(filling, full), jnp.broadcast_to(input, full)
    )


derivative(A.masked_fill.Scalar, self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0))
derivative(
    A.masked_fill.Tensor,
    self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0),
    value=lambda g, mask: A.sum.default(A.where.self(mask, g, D.zero_of(g))),
)


@shape(inplace=True, saves=("mask",), aten="masked_scatter")
@schemas(". ; _ =out")
def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """``input`` with the elements of ``source``, in order, at the places where ``mask`` is true.

    Shapes: that of ``input`` and ``mask``, broadcast; ``source`` holds at least as many elements as
    the mask has true ones.
    Dtypes: that of ``input`` and ``source``; the mask is bool.

    Raises:
        RuntimeError: if the mask is not bool, the dtypes differ, or the source is too short.

    Example:
        >>> import jtorch as torch
        >>> torch.masked_scatter(
        ...     torch.tensor([1, 2, 3]), torch.tensor([True, False, True]), torch.tensor([10, 20])
        ... )
        tensor([10,  2, 20])
    """
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{scalar_name(mask)}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but "
            f"got{scalar_name(input)} and {scalar_name(source)}"
        )
    full = broadcast_shapes(input.shape, mask.shape)
    made, count = _placed(jnp.broadcast_to(input, full), jnp.broadcast_to(mask, full), source)
    guard(
        count > source.size, RuntimeError, "Number of elements of source < number of ones in mask"
    )
    return made


derivative(
    A.masked_scatter,
    self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0),
    source=lambda g, mask, source_: A.masked_scatter_backward.default(g, mask, source_.shape),
)


def _placed(input: Array, mask: Array, source: Array) -> tuple[Array, Array]:
    """``input`` with the first elements of ``source`` where ``mask`` is true, and the number of
    those places."""
    order = jnp.cumsum(mask.reshape(-1), dtype=np.int32 if fewer(mask.size, 2**31) else np.int64)
    count = order[-1].astype(np.int64) if mask.size else jnp.zeros((), np.int64)
    if source.size == 0 or mask.size == 0:
        return input, count
    placed = fetch(source.reshape(-1), (jnp.clip(order - 1, 0, source.size - 1),)).reshape(
        mask.shape
    )
    return jnp.where(mask, placed, input), count


@shape(namespace="_C", saves=("mask",), aten="index_put", node="IndexPutBackward0")
def _masked_write(input: Array, mask: Array, values: Array) -> Array:
    """``input[mask] = values`` for a mask of the input's shape and a vector of exactly as many
    values as it selects.

    Raises:
        RuntimeError: by a guard, if there are more or fewer.
    """
    made, count = _placed(input, mask, values)
    message = (
        f"shape mismatch: value tensor of shape {list_text(values.shape)} cannot be broadcast to "
        "indexing result of shape [{}]"
    )
    guard(count != values.size, RuntimeError, message, count)
    return made
