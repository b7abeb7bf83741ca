"""Joining and repeating tensors: ``cat``, ``stack`` and their relatives, ``repeat``, ``tile``,
``repeat_interleave``, ``block_diag``."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.dtypes import (
    DIMENSIONED,
    ZERO_DIM,
    from_np,
    get_default_dtype,
    promote_types,
    result_type_of,
)
from ..facts.errors import canonical_dim
from ._declare import Array, defvjp, guard, guard_range, op, shape
from ._derivatives import A, D, derivative
from ._facts import schemas

if TYPE_CHECKING:
    from ...core import Tensor


def _common_dtype(tensors: list[Array]) -> np.dtype:
    return functools.reduce(promote_types, [from_np(t.dtype) for t in tensors]).np


def _at_least(x: Array, ndim: int) -> Array:
    """``x`` with at least ``ndim`` dimensions, as ``atleast_1d`` to ``atleast_3d`` place them."""
    if x.ndim >= ndim:
        return x
    if ndim == 3:
        return x.reshape((1, x.size, 1) if x.ndim < 2 else (*x.shape, 1))
    return x.reshape((1,) * (ndim - x.ndim) + x.shape)


def _join(tensors: list[Array], dim: int) -> Array:
    dtype = _common_dtype(tensors)
    return lax.concatenate([lax.convert_element_type(t, dtype) for t in tensors], dim)


def _shape_text(shape: tuple[int, ...]) -> str:
    return str(list(shape))


@shape(
    aliases=("concat", "concatenate"),
    out=True,
    aten="cat",
    strides="images",
    out_apart="wholly",
    autocast="widest",
)
@schemas(".", "concat", "concatenate")
def cat(tensors: list[Array], dim: int = 0) -> Array:
    """Joins tensors along an existing dimension. One-dimensional empty tensors are skipped,
    whatever the others' shapes.

    Args:
        tensors: a sequence of tensors that have equal sizes but along ``dim``; empty ones of one
            dimension are skipped.
        dim: the dimension along which they follow each other.

    Shapes: all equal but for size ``dim``, in which they add up.
    Dtypes: the common result type.

    Raises:
        ValueError: for no tensors.
        RuntimeError: if the other sizes or the numbers of dimensions differ, or one tensor is
            0-dim.

    Example:
        >>> import jtorch as torch
        >>> torch.cat([torch.tensor([[1, 2]]), torch.tensor([[3, 4], [5, 6]])])
        tensor([[1, 2],
                [3, 4],
                [5, 6]])
        >>> torch.cat([torch.tensor([1]), torch.tensor([2.5])])
        tensor([1.0000, 2.5000])
    """
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, t in enumerate(tensors):
        if t is None:
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got NoneType"
            )
        if t.ndim == 0:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    kept = [(position, t) for position, t in enumerate(tensors) if t.shape != (0,)]
    if not kept:
        return jnp.zeros((0,), _common_dtype(tensors))
    first = kept[0][1]
    axis = canonical_dim(dim, first.ndim)
    for position, t in kept[1:]:
        if t.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}"
            )
        for d, (expected, size) in enumerate(zip(first.shape, t.shape, strict=True)):
            if d != axis and expected != size:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{expected} but got size {size} for tensor number {position} in the list."
                )
    dtype = _common_dtype(tensors)
    return lax.concatenate([lax.convert_element_type(t, dtype) for _, t in kept], axis)


@shape(out=True, aten="stack", out_apart="wholly", autocast="widest")
def stack(tensors: list[Array], dim: int = 0) -> Array:
    """Joins tensors of one shape along a new dimension ``dim``.

    Args:
        tensors: a sequence of tensors of equal shapes.
        dim: where the new dimension goes; negative ones count from behind the last.

    Shapes: n times (*) -> (*) with n inserted at ``dim``.
    Dtypes: the common result type.

    Raises:
        RuntimeError: for no tensors, or if a shape differs from the first one's.

    Example:
        >>> import jtorch as torch
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], 1)
        tensor([[1, 3],
                [2, 4]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    axis = canonical_dim(dim, first.ndim + 1)
    for position, t in enumerate(tensors):
        if t.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {_shape_text(first.shape)} "
                f"at entry 0 and {_shape_text(t.shape)} at entry {position}"
            )
    return _join([lax.expand_dims(t, (axis,)) for t in tensors], axis)


def _cat_rule(
    g: Array, result: None, tensors: list[Array], dim: int = 0
) -> tuple[list[Array | None]]:
    axis = canonical_dim(dim, g.ndim)
    grads: list[Array | None] = []
    start = 0
    for t in tensors:
        if t.ndim != g.ndim:  # a one-dimensional empty one, which was skipped
            grads.append(None)
            continue
        stop = start + t.shape[axis]
        grads.append(lax.slice_in_dim(g, start, stop, 1, axis))
        start = stop
    return (grads,)


def _stack_rule(g: Array, result: None, tensors: list[Array], dim: int = 0) -> tuple[list[Array]]:
    axis = canonical_dim(dim, g.ndim)
    return ([lax.index_in_dim(g, i, axis, keepdims=False) for i in range(len(tensors))],)


defvjp(cat, _cat_rule, saves=())


def _cat_formula(g: Tensor, node: Any, dim: int) -> object:
    found: dict[int, Any] = {}
    at = 0
    ndim = g._aval.ndim
    dim = dim % ndim
    for (_, k, aval), edge in zip(node.slots, node.edges, strict=True):
        if aval.shape == (0,) and ndim != 1:
            found[k] = A.new_zeros.default(g, [0]) if edge is not None else None
            continue
        n = aval.shape[dim]
        # of operands without a history, too, as PyTorch takes it
        part = A.slice.Tensor(g, dim, at, at + n)
        found[k] = part if edge is not None else None
        at += n
    return found


derivative(A.cat, tensors=_cat_formula)
defvjp(stack, _stack_rule, saves=())
derivative(
    A.stack,
    tensors=lambda g, node, dim: {
        k: A.select.int(g, dim, k) if e is not None else None
        for (_, k, _), e in zip(node.slots, node.edges, strict=True)
    },
)


def _stacked(name: str, tensors: list[Array], ndim: int, dim: int) -> Array:
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return cat([_at_least(t, ndim) for t in tensors], dim)


@shape(out=True, aten="hstack", node="CatBackward0", implicit=True)
def hstack(tensors: list[Array]) -> Array:
    """Joins tensors along the second dimension, or the first if they are one-dimensional. 0-dim
    tensors count as one element.

    Shapes: all equal but for that dimension, in which they add up.
    Dtypes: the common result type.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.hstack([torch.tensor([1, 2]), torch.tensor(3)])
        tensor([1, 2, 3])
    """
    return _stacked("hstack", tensors, 1, 0 if tensors and tensors[0].ndim <= 1 else 1)


@shape(aliases=("row_stack",), out=True, aten="vstack", node="CatBackward0", implicit=True)
@schemas(".", "row_stack")
def vstack(tensors: list[Array]) -> Array:
    """Joins tensors along the first dimension; vectors are rows, 0-dim tensors rows of one element.

    Shapes: all equal but for that dimension, in which they add up.
    Dtypes: the common result type.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([[3, 4], [5, 6]])])
        tensor([[1, 2],
                [3, 4],
                [5, 6]])
    """
    return _stacked("vstack", tensors, 2, 0)


@shape(out=True, aten="dstack", node="CatBackward0", implicit=True)
def dstack(tensors: list[Array]) -> Array:
    """Joins tensors along the third dimension, which is appended where missing.

    Shapes: (a, b) counts as (a, b, 1), (b) as (1, b, 1); all equal but for the third dimension, in
    which they add up.
    Dtypes: the common result type.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])
    """
    return _stacked("dstack", tensors, 3, 2)


@shape(out=True, aten="column_stack", node="CatBackward0", implicit=True)
def column_stack(tensors: list[Array]) -> Array:
    """Joins tensors along the second dimension; one-dimensional ones are columns.

    Shapes: all equal but for that dimension, in which they add up.
    Dtypes: the common result type.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([[3, 4], [5, 6]])])
        tensor([[1, 3, 4],
                [2, 5, 6]])
    """
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return cat([t.reshape((t.size, 1)) if t.ndim <= 1 else t for t in tensors], 1)


@shape(varargs="tensors", aten="block_diag", native=False, home="functional")
@schemas(". ; =out")
def block_diag(tensors: list[Array]) -> Array:
    """A matrix with the given matrices along its diagonal and zeros elsewhere; vectors count as
    rows.

    Shapes: (a, b), (c, d), ... -> (a + c + ..., b + d + ...).
    Dtypes: the common result type, in which tensors without dimensions count as in arithmetic.

    Raises:
        RuntimeError: if a tensor has more than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([[3], [4]]))
        tensor([[1, 2, 0],
                [0, 0, 3],
                [0, 0, 4]])
    """
    if not tensors:
        return jnp.zeros((1, 0), get_default_dtype().np)
    for position, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{position} has {t.ndim} dimensions"
            )
    dtype = result_type_of(
        tuple([(from_np(t.dtype), DIMENSIONED if t.ndim else ZERO_DIM) for t in tensors])
    ).np
    blocks = [lax.convert_element_type(_at_least(t, 2), dtype) for t in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows, column = [], 0
    for b in blocks:
        rows.append(
            lax.pad(b, jnp.zeros((), dtype), ((0, 0, 0), (column, width - column - b.shape[1], 0)))
        )
        column += b.shape[1]
    return lax.concatenate(rows, 0)


def _block_diag_formula(g: object, node: Any) -> object:
    found: dict[int, Any] = {}
    row = column = 0
    for (_, k, aval), edge in zip(node.slots, node.edges, strict=True):
        height, width = {0: (1, 1), 1: (1, *aval.shape)}.get(len(aval.shape), aval.shape)
        part = None
        if edge is not None:
            part = A.slice.Tensor(
                A.slice.Tensor(g, 0, row, row + height), 1, column, column + width
            )
            if len(aval.shape) < 2:
                part = (
                    A.view.default(part, list(aval.shape))
                    if not aval.shape
                    else A.squeeze.dim(part, 0)
                )
        found[k] = part
        row, column = row + height, column + width
    return found


derivative(A.block_diag, tensors=_block_diag_formula)


def _vector(x: Array) -> None:
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {_shape_text(x.shape)}")


@shape(
    varargs="tensors",
    aten="cartesian_prod",
    native=False,
    home="functional",
    node="StackBackward0",
    dispatched="in parts",
)
def cartesian_prod(tensors: list[Array]) -> Array:
    """All ways to take one element of each vector, one way a row; a single vector is returned as it
    is.

    Shapes: (a), (b), ... of k vectors -> (a * b * ..., k).
    Dtypes: one for all operands.

    Raises:
        RuntimeError: if an operand is no vector, or the dtypes differ.

    Example:
        >>> import jtorch as torch
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    for t in tensors:
        _vector(t)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if len({t.dtype for t in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len(tensors) == 1:
        return tensors[0]
    sizes = tuple(t.size for t in tensors)
    columns = [lax.broadcast_in_dim(t, sizes, (i,)).reshape(-1, 1) for i, t in enumerate(tensors)]
    return lax.concatenate(columns, 1)


@shape(method=False, aten="combinations", node="StackBackward0", dispatched="in parts")
def combinations(input: Array, r: int = 2, with_replacement: bool = False) -> Array:
    """All ways to choose ``r`` elements of a vector, in the order of ``itertools.combinations``,
    one a row.

    Shapes: input (n) -> (m, r), m the number of ways.
    Dtypes: any -> the same.

    Raises:
        RuntimeError: if the input is no vector or ``r`` is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
        >>> torch.combinations(torch.tensor([1, 2]), with_replacement=True)
        tensor([[1, 1],
                [1, 2],
                [2, 2]])
    """
    _vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return jnp.zeros((0,), input.dtype)
    n = input.shape[0]
    count = math.comb(n + r - 1, r) if with_replacement and n else math.comb(n, r)
    limits.check_size((count, r), input.dtype.itemsize)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    index = np.fromiter(
        itertools.chain.from_iterable(choose(range(n), r)), np.int64, count * r
    ).reshape(-1, r)
    return input.at[index].get(mode="promise_in_bounds")


@shape(namespace="Tensor", varargs="repeats", aten="repeat")
@schemas("(Tensor self, SymInt[] repeats) -> Tensor ; =out")
def repeat(input: Array, repeats: tuple[int, ...]) -> Array:
    """Copies the tensor ``repeats[i]`` times along dimension ``i``; more repeats than dimensions
    add dimensions in front.

    Args:
        repeats: how often each dimension is repeated, spread or in one tuple.
        kwargs: ``repeats`` by name.

    Shapes: input (*) -> each size times its repeats.
    Dtypes: any -> the same.

    Raises:
        RuntimeError: if there are fewer repeats than dimensions, or a negative one.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2]]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    sizes = (1,) * (len(repeats) - input.ndim) + input.shape
    result = tuple(n * s for n, s in zip(repeats, sizes, strict=True))
    for n, s in zip(repeats, result, strict=True):
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {s}: {_shape_text(result)}"
            )
    # One broadcast of interleaved (repeat, size) pairs, so that the gradient is one reduction.
    spread = tuple(itertools.chain.from_iterable(zip(repeats, sizes, strict=True)))
    offset = len(sizes) - input.ndim
    axes = tuple(2 * (offset + i) + 1 for i in range(input.ndim))
    return lax.broadcast_in_dim(input, spread, axes).reshape(result)


def _repeat(g: object, shape: list[int], repeats: Sequence[int]) -> object:
    lead = len(repeats) - len(shape)
    if not shape:
        return A.sum.default(g)
    if lead:
        g = A.sum.dim_IntList(g, list(range(lead)))
    sizes: list[int] = []
    dims: list[int] = []
    for n, r in zip(shape, repeats[lead:], strict=True):
        if r != 1:
            dims.append(len(sizes))
            sizes.append(r)
        sizes.append(n)
    if not dims:
        return g
    return A.sum.dim_IntList(D.reshaped(g, sizes), dims)


derivative(A.repeat, self=lambda g, self_, repeats: _repeat(g, self_.shape, repeats))


@shape(varargs="dims", aten="tile", node="RepeatBackward0", implicit=True)
@schemas("(Tensor self, SymInt[] dims) -> Tensor")
def tile(input: Array, dims: tuple[int, ...]) -> Array:
    """Copies the tensor ``dims[i]`` times along dimension ``i``, counted from the last one; missing
    counts are 1.

    Shapes: input (*) -> each size times its count; more counts than dimensions add dimensions in
    front.
    Dtypes: any -> the same.

    Raises:
        RuntimeError: for a negative count.

    Example:
        >>> import jtorch as torch
        >>> torch.tile(torch.tensor([[1, 2], [3, 4]]), (2,))
        tensor([[1, 2, 1, 2],
                [3, 4, 3, 4]])
    """
    return repeat(input, (1,) * (input.ndim - len(dims)) + tuple(dims))


@shape(namespace="_C", aten="repeat_interleave.self_int", node="ViewBackward0")
def _repeat_interleave_each(input: Array, repeats: int, dim: int) -> Array:
    """Repeats every slice along ``dim`` the same number of times."""
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    spread = (*input.shape[: axis + 1], repeats, *input.shape[axis + 1 :])
    axes = tuple(range(axis + 1)) + tuple(range(axis + 2, input.ndim + 1))
    return lax.broadcast_in_dim(input, spread, axes).reshape(
        *input.shape[:axis], input.shape[axis] * repeats, *input.shape[axis + 1 :]
    )


def check_repeats(repeats: Array) -> None:
    """Raises torch's errors for a tensor of repeats of a wrong rank or dtype."""
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype not in (np.int32, np.int64):
        raise NotImplementedError(
            f"\"repeat_interleave_cpu\" not implemented for '{from_np(repeats.dtype).scalar_name}'"
        )


@op(namespace="_C", host=True, differentiable=False, aten="repeat_interleave.Tensor")
def _repeat_positions(repeats: Array) -> np.ndarray:
    """Position ``i`` written ``repeats[i]`` times. The shape depends on the values, so it is
    computed on the host."""
    check_repeats(repeats)
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats.reshape(-1))


@op(namespace="_C", differentiable=False, aten="repeat_interleave.Tensor")
def _repeat_positions_sized(repeats: Array, output_size: int) -> Array:
    """Position ``i`` written ``repeats[i]`` times where the caller knows that this gives
    ``output_size`` of them."""
    check_repeats(repeats)
    guard_range(repeats, 0, None, RuntimeError, "repeats can not be negative")
    guard(repeats.sum() != output_size, RuntimeError, "allocated size does not match required size")
    positions = jnp.arange(repeats.size, dtype=repeats.dtype)
    return jnp.repeat(positions, repeats.reshape(-1), total_repeat_length=output_size)
