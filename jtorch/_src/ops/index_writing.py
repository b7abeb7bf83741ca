"""Writing of slices at a vector of positions along one dimension: ``index_add`` and its
relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import CPP_NAMES, canonical_dim
from ..facts.warned_once import warn_once
from ._declare import Array, Number, defvjp, shape
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._fitting import fill_value
from ._nodes import by_operand
from ._numeric import require
from .indexing import (
    _BOUNDS,
    as_vector,
    at_dim,
    fetch,
    in_bounds,
    list_text,
    scalar_name,
)
from .scattering import _reduce_at, _reduce_gradients, write, write_rounded_once

if TYPE_CHECKING:
    from ..facts.kinds import Row


def _vector_index(name: str, index: Array, *, long: bool = False) -> None:
    if index.ndim > 1:
        raise IndexError(
            f"{name}: Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{scalar_name(index)} and size: {list_text(index.shape)}"
        )
    if long and index.dtype != np.int64:
        raise RuntimeError(
            f"{name}: Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if index.dtype not in (np.int32, np.int64):
        raise RuntimeError(
            f"{name}: Expected dtype int32/int64 for index but got: {scalar_name(index)}"
        )


def _added_slices(
    name: str, input: Array, dim: int, index: Array, source: Array
) -> tuple[Array, int, Array, Array]:
    """The operands of ``index_add`` and ``index_reduce``: input, dimension, checked positions and
    source, at least vectors."""
    axis = canonical_dim(dim, input.ndim)
    _vector_index(name, index)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"{name}: self ({scalar_name(input)}) and source ({scalar_name(source)}) must have the "
            "same scalar type"
        )
    size = source.shape[axis] if axis < source.ndim else 1
    if input.ndim and index.size != size:
        raise RuntimeError(
            f"{name}: Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({size}), for dim: {axis}"
        )
    fits = source.ndim == input.ndim and all(
        d == axis or a == b for d, (a, b) in enumerate(zip(input.shape, source.shape, strict=True))
    )
    if not fits:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list_text(input.shape)} source.shape = {list_text(source.shape)}"
        )
    x, s, i = as_vector(input), as_vector(source), index.reshape(-1)
    if input.ndim <= 1 or name != "index_add_()":
        i = in_bounds(i, x.shape[axis], IndexError, "index out of range in self", of=index)
    else:
        i = in_bounds(
            i, x.shape[axis], RuntimeError, _BOUNDS.format(dim=axis, size=x.shape[axis]), of=index
        )
    return x, axis, i, s


@shape(
    inplace=True,
    unshared=("index", "source"),
    out=True,
    saves=("index",),
    aten="index_add",
    out_dtype="expected",
    out_apart="partly",
    truncates=True,
    refused_as="name",
)
def index_add(input: Array, dim: int, index: Array, source: Array, *, alpha: Number = 1) -> Array:
    """Adds ``alpha`` times the slices of ``source`` to the slices of ``input`` along ``dim`` at the
    positions ``index``.

    Shapes: index (n), source as ``input`` but for size n along ``dim``.

    Dtypes: any, the same for ``input`` and ``source``; ``index`` int64 or int32. Half precision is
    added up in float32 and rounded once, in vectors number by number.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or a position is out of range or negative.
        IndexError: for such a position in a vector, or an index that is no vector.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(3).index_add(
        ...     0, torch.tensor([0, 2, 2]), torch.tensor([1.0, 2.0, 3.0]), alpha=10
        ... )
        tensor([10.,  0., 50.])
    """
    x, axis, i, s = _added_slices("index_add_()", input, dim, index, source)
    if jnp.iscomplexobj(alpha) and s.dtype != np.bool_ and not jnp.iscomplexobj(s):
        kind = dtypes.from_np(s.dtype).scalar_name
        raise RuntimeError(
            f"value cannot be converted to type {CPP_NAMES.get(kind, kind)} without overflow"
        )
    alpha = jnp.asarray(alpha).astype(s.dtype)
    scaled = s & alpha if s.dtype == np.bool_ else s * alpha
    if s.dtype.kind == "c":  # of which infinities times one are NaN
        scaled = jnp.where(alpha == 1, s, scaled)
    add = write if input.ndim < 2 else write_rounded_once  # as PyTorch has it
    return add(x, at_dim(axis, i), scaled, "add").reshape(input.shape)


def _selected(g: object, source_: Any, dim: int, index: object) -> object:
    if not source_.ndim:
        return A.index_select.default(g, dim, A.squeeze.dim(index, 0))
    return A.expand.default(A.index_select.default(g, dim, index), source_.shape)


derivative(
    A.index_add,
    self=lambda g: g,
    source=lambda g, source_, dim, index, alpha: D.times(_selected(g, source_, dim, index), alpha),
)


def _warn_of_beta() -> None:
    warn_once("index_reduce() is in beta and the API may change at any time.")


@shape(
    inplace=True,
    unshared=("index", "source"),
    out=True,
    saves=("input", "index", "source", "result"),
    aten="index_reduce",
    out_apart="partly",
    refused_as="name",
    warns=_warn_of_beta,
)
def index_reduce(
    input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduces the slices of ``source`` into those of ``input`` at positions along ``dim``:
    ``"prod"``, ``"mean"``, ``"amax"``, ``"amin"``.

    Shapes: index (n), source as ``input`` but for size n along ``dim``.

    Dtypes: real ones, the same for ``input`` and ``source``; ``index`` int64 or int32.

    Gradient: equal maxima or minima share theirs.

    Raises:
        RuntimeError: if ``reduce`` is unknown, or shapes or dtypes do not fit.
        IndexError: if a position is out of range or negative, or the index is no vector.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.ones(2).index_reduce(0, torch.tensor([0, 0]), torch.tensor([3.0, 4.0]), "prod")
        tensor([12.,  1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    x, axis, i, s = _added_slices("index_reduce_()", input, dim, index, source)
    require("index_func_", input, "if")
    return _reduce_at(x, at_dim(axis, i), s, reduce, include_self, write).reshape(input.shape)


def _index_reduce_rule(g, result, input, dim, index, source, reduce, *, include_self=True):
    x, axis, i, s = _added_slices("index_reduce_()", input, dim, index, source)
    gx, gs = _reduce_gradients(
        g.reshape(x.shape), result.reshape(x.shape), x, at_dim(axis, i), s, reduce, include_self
    )
    return (gx.reshape(g.shape), None, gs.reshape(source.shape))


defvjp(index_reduce, _index_reduce_rule)


@shape(
    inplace=True,
    unshared=("index", "source"),
    out=True,
    saves=("index",),
    aten="index_copy",
    out_dtype="expected",
    out_apart="partly",
    autocast="cpu widest",
)
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """Writes the slices of ``source`` over those of ``input`` along ``dim`` at the positions
    ``index``.

    Shapes: index (n), source as ``input`` but for size n along ``dim``.

    Dtypes: any, the same for ``input`` and ``source``; ``index`` int64.

    Raises:
        RuntimeError: if dtypes or slice shapes do not fit.
        IndexError: if the number of positions does not fit, or one is out of range or negative.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 2).index_copy(0, torch.tensor([1]), torch.tensor([[5.0, 6.0]]))
        tensor([[0., 0.],
                [5., 6.]])
    """
    axis = canonical_dim(dim, input.ndim)
    name = "index_copy_()"
    if index.ndim > 1:
        raise IndexError(f"{name}: Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            f"{name}: When source is scalar, index should have one element (got {index.size})"
        )
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            f"{name}: When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({input.ndim})"
        )
    if index.dtype != np.int64:
        raise RuntimeError(
            f"{name}: Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"{name}: self and source expected to have the same dtype, but got (self) "
            f"{scalar_name(input)} and (source) {scalar_name(source)}"
        )
    rest = input.shape[:axis] + input.shape[axis + 1 :]
    source_rest = source.shape[:axis] + source.shape[axis + 1 :]
    if rest != source_rest:
        raise RuntimeError(
            f"{name}: Source/destination tensor must have same slice shapes. Destination slice "
            f"shape: {_plain(rest)} at dimension {axis} and source slice shape: "
            f"{_plain(source_rest)} at dimension 0."
        )
    if source.ndim and index.size != source.shape[axis]:
        raise IndexError(
            f"{name}: Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[axis]})"
        )
    x, at = _copy_places(input, axis, index)
    return write(x, at, source.reshape(*x.shape[:axis], index.size, *x.shape[axis + 1 :])).reshape(
        input.shape
    )


def _plain(sizes: tuple[int, ...]) -> str:
    return " ".join(map(str, sizes))


def _copy_places(input: Array, axis: int, index: Array) -> tuple[Array, Row]:
    x = as_vector(input)
    message = f"index_copy_(): {_BOUNDS.format(dim=axis, size=x.shape[axis])}"
    return x, at_dim(
        axis, in_bounds(index.reshape(-1), x.shape[axis], IndexError, message, of=index)
    )


def _index_copy_rule(g, result, input, dim, index, source):
    axis = canonical_dim(dim, g.ndim)
    gx, at = _copy_places(g, axis, index)
    gs = fetch(gx, at)
    return (
        write(gx, at, jnp.zeros(gs.shape, g.dtype)).reshape(g.shape),
        None,
        gs.reshape(source.shape),
    )


defvjp(index_copy, _index_copy_rule)
derivative(
    A.index_copy,
    self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0),
    source=lambda g, source_, dim, index: _selected(g, source_, dim, index),
)


@shape(
    inplace=True,
    unshared=("index",),
    saves=("index",),
    aten="index_fill.int_Scalar",
    strides="preserve",
    repeats="tensor[mask] = scalar",
    node=by_operand("IndexFill", "value", 1, 0),
    refused_as="name",
)
@schemas(
    ".int_Tensor ; _ =int_Tensor_out",
    ".int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor ; _ =int_Scalar_out",
)
def index_fill(input: Array, dim: int, index: Array, value: Array | Number) -> Array:
    """Fills the slices of ``input`` along ``dim`` at the positions ``index`` with ``value``;
    negative positions count from the end.

    Shapes: index (n) or () -> that of ``input``.

    Dtypes: any, kept; ``value``, a number or a tensor without dimensions, is cast; ``index`` int64.

    Raises:
        RuntimeError: if the index has more than one dimension, or the value cannot be held by the
            dtype.
        IndexError: if a position is out of range or the index is not int64.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).index_fill(1, torch.tensor([0, -1]), 7.0)
        tensor([[7., 0., 7.],
                [7., 0., 7.]])
    """
    axis = canonical_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if jnp.asarray(value).dtype.kind == "c" and input.dtype.kind != "c":
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    filling = fill_value(value, input, "index_fill_")
    x = as_vector(input)
    i = in_bounds(
        index.reshape(-1),
        x.shape[axis],
        IndexError,
        _BOUNDS.format(dim=axis, size=x.shape[axis]),
        wrap=True,
        of=index,
    )
    chosen = jnp.zeros(x.shape[axis], bool).at[i].set(True, mode="promise_in_bounds")
    # A mask over one dimension and a select fuse with their surroundings, and differentiate as
    # cheaply.
    return jnp.where(lax.broadcast_in_dim(chosen, x.shape, (axis,)), filling, x).reshape(
        input.shape
    )


derivative(
    A.index_fill.int_Scalar, self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0)
)
derivative(
    A.index_fill.int_Tensor,
    self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0),
    value=lambda g, dim, index: A.sum.default(
        A.index_select.default(g, dim, A._unique.default(index, False)[0])
    ),
)
