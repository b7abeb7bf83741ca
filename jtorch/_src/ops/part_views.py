"""Views of a part of their parent: slices, one position, diagonals, windows, and several parts at
once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import canonical_dim
from ._declare import Array, Number, defvjp, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._sizes import surely
from .views import Ints, view

if TYPE_CHECKING:
    from ..aten.recording import OperatorNode


def _index(dim: int, ndim: int, index: object) -> tuple[object, ...]:
    return (slice(None),) * dim + (index,)


def _put_slice(parent: Array, value: Array, dim: int, start: int, stop: int, step: int) -> Array:
    if step == 1:
        return lax.dynamic_update_slice_in_dim(parent, value, start, dim)
    return parent.at[_index(dim, parent.ndim, slice(start, stop, step))].set(value)


def _geometry_slice(
    shape: Ints, strides: Ints, dim: int, start: int, stop: int, step: int
) -> tuple[Ints, int]:
    return (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]), strides[dim] * start


@view(_put_slice, _geometry_slice, namespace="_C", name="_slice", aten="slice.Tensor")
@schemas(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
    "-> Tensor(a)"
)
def _slice(input: Array, dim: int, start: int, stop: int, step: int) -> Array:
    """Elements ``start`` to ``stop`` (exclusive) by ``step`` of a dimension; the bounds are within
    it."""
    return lax.slice_in_dim(input, start, stop, step, dim)


derivative(
    A.slice.Tensor,
    self=lambda g, self_, dim, start, end, step: A.slice_backward.default(
        g,
        self_.shape,
        dim,
        0 if start is None else start,
        9223372036854775807 if end is None else end,
        step,
    ),
)
derivative(
    A.slice_backward,
    grad_output=lambda g, dim, start, end, step: A.slice.Tensor(g, dim, start, end, step),
)


def _put_slice_at(parent: Array, value: Array, dim: int, start: Number, length: int) -> Array:
    return lax.dynamic_update_slice_in_dim(parent, value, start, dim)


@view(
    _put_slice_at,
    lambda *a: None,
    namespace="_C",
    name="_slice_at",
    aten="slice.Tensor",
    node="SliceBackward0",
)
def _slice_at(input: Array, dim: int, start: Number, length: int) -> Array:
    """``_slice`` of step 1 whose start is an input of the program: a loop over minibatches compiles
    once."""
    return lax.dynamic_slice_in_dim(input, start, length, dim)


def _put_select(parent: Array, value: Array, dim: int, index: Number) -> Array:
    return lax.dynamic_update_index_in_dim(parent, value, index, dim)


def _geometry_select(shape: Ints, strides: Ints, dim: int, index: int) -> tuple[Ints, int]:
    return (*strides[:dim], *strides[dim + 1 :]), strides[dim] * index


@view(_put_select, _geometry_select, single=True, namespace="_C", name="_select", aten="select.int")
def _select(input: Array, dim: int, index: int) -> Array:
    """One element of a dimension, which disappears; ``index`` is within it."""
    return lax.index_in_dim(input, index, dim, keepdims=False)


derivative(
    A.select.int,
    self=lambda g, self_, dim, index: A.select_backward.default(g, self_.shape, dim, index),
)
derivative(A.select_backward, grad_output=lambda g, dim, index: A.select.int(g, dim, index))


@view(
    _put_select,
    lambda *a: None,
    single=True,
    namespace="_C",
    name="_select_at",
    aten="select.int",
    node="SelectBackward0",
)
def _select_at(input: Array, dim: int, index: Number) -> Array:
    """``_select`` whose index is an input of the program."""
    return lax.dynamic_index_in_dim(input, index, dim, keepdims=False)


def _diagonal_index(
    shape: Ints, offset: int, dim1: int, dim2: int
) -> tuple[int, int, int, int, int]:
    a, b = canonical_dim(dim1, len(shape)), canonical_dim(dim2, len(shape))
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length = max(min(shape[a], shape[b] - offset), 0)
    else:
        length = max(min(shape[a] + offset, shape[b]), 0)
    return a, b, length, max(-offset, 0), max(offset, 0)


def _geometry_diagonal(
    shape: Ints, strides: Ints, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> tuple[Ints, int]:
    a, b, length, row, column = _diagonal_index(shape, offset, dim1, dim2)
    rest = tuple(s for i, s in enumerate(strides) if i not in (a, b))
    return (*rest, strides[a] + strides[b]), (
        row * strides[a] + column * strides[b] if length else 0
    )


def _put_diagonal(
    parent: Array, value: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    a, b, length, row, column = _diagonal_index(parent.shape, offset, dim1, dim2)
    steps = lax.iota(np.int64, length)
    moved = jnp.moveaxis(parent, (a, b), (-2, -1))
    moved = moved.at[..., steps + row, steps + column].set(value)
    return jnp.moveaxis(moved, (-2, -1), (a, b))


@view(_put_diagonal, _geometry_diagonal, aliases=(), aten="diagonal.default")
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of two dimensions, put last; ``offset`` counts upwards from the main one. A
    view.

    Shapes: the input's without the two dimensions, then the diagonal's length.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if the two dimensions are the same.
        IndexError: if one is out of range.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.diagonal(x)
        tensor([1, 4])
        >>> torch.diagonal(x, 1)
        tensor([2])
    """
    a, b, _, _, _ = _diagonal_index(input.shape, offset, dim1, dim2)
    return jnp.diagonal(input, offset, a, b)


derivative(
    A.diagonal,
    self=lambda g, self_, offset, dim1, dim2: A.diagonal_backward.default(
        g, self_.shape, offset, dim1, dim2
    ),
)
derivative(
    A.diagonal_copy,
    self=lambda g, self_, offset, dim1, dim2: A.diagonal_backward.default(
        g, self_.shape, offset, dim1, dim2
    ),
)


def _unfold_dim(shape: Ints, dimension: int, size: int, step: int) -> tuple[int, int]:
    d = canonical_dim(dimension, len(shape))
    have = shape[d] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if surely(lambda: size > have):
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return d, (have - size) // step + 1


def _geometry_unfold(
    shape: Ints, strides: Ints, dimension: int, size: int, step: int
) -> tuple[Ints, int]:
    d, _ = _unfold_dim(shape, dimension, size, step)
    if not shape:
        return (1,), 0
    return (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]), 0


def _windows(n: int, size: int, step: int) -> Array:
    return lax.iota(np.int64, n)[:, None] * step + lax.iota(np.int64, size)[None, :]


def _put_unfold(parent: Array, value: Array, dimension: int, size: int, step: int) -> Array:
    if parent.ndim == 0:
        return value.reshape(()) if size else parent
    d, n = _unfold_dim(parent.shape, dimension, size, step)
    moved = jnp.moveaxis(parent, d, 0)
    windows = jnp.moveaxis(jnp.moveaxis(value, -1, 0), d + 1, 0)  # (n, size, rest)
    return jnp.moveaxis(moved.at[_windows(n, size, step)].set(windows), 0, d)


@view(
    _put_unfold,
    _geometry_unfold,
    repeats=lambda dimension, size, step: step < size,
    namespace="Tensor",
    aten="unfold.default",
)
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of ``size`` elements at distance ``step`` along a dimension; the window becomes
    the last dimension. A view.

    Args:
        dimension: the dimension to cut windows of.
        size: the length of a window.
        step: from the beginning of one window to that of the next.

    Shapes: (*A, n, *B) -> (*A, (n - size) // step + 1, *B, size).

    Dtypes: any, kept.

    Raises:
        RuntimeError: if the window is larger than the dimension, or ``step`` is not positive.
        IndexError: if the dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
        tensor([[1, 2],
                [2, 3],
                [3, 4]])
    """
    d, n = _unfold_dim(input.shape, dimension, size, step)
    if input.ndim == 0:
        return input.reshape((1,))[:size]
    moved = jnp.moveaxis(input, d, 0)[_windows(n, size, step)]  # (n, size, rest)
    return jnp.moveaxis(jnp.moveaxis(moved, 0, d + 1), 0, -1) if d else jnp.moveaxis(moved, 1, -1)


derivative(
    A.unfold,
    self=lambda g, self_, dimension, size, step: A.unfold_backward.default(
        g, self_.shape, dimension, size, step
    ),
)


@op(namespace="_C", name="_split", saves=(), aten="split_with_sizes.default")
def _split(input: Array, sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    """Consecutive parts of a dimension."""
    edges = [0, *itertools.accumulate(sizes)]
    return tuple(lax.slice_in_dim(input, a, b, 1, dim) for a, b in itertools.pairwise(edges))


@op(namespace="_C", name="_unbind", saves=(), aten="unbind.int")
def _unbind(input: Array, dim: int) -> tuple[Array, ...]:
    """Every element of a dimension, which disappears."""
    return tuple(lax.index_in_dim(input, i, dim, keepdims=False) for i in range(input.shape[dim]))


defvjp(_split, lambda g, result, input, sizes, dim: (jnp.concatenate(g, dim),), saves=())


def _missing(shape: list[int], like: object, stacked: bool) -> object:
    return A.expand.default(D.made_zeros([], like), shape) if stacked else D.made_zeros(shape, like)


def _joined(grads: list[object], node: OperatorNode, dim: int, stacked: bool) -> Any:
    like = next(g for g in grads if g is not None)
    filled = [
        _missing(node.about[j].shape, like, stacked) if g is None else g
        for j, g in enumerate(grads)
    ]
    return A.stack.default(filled, dim) if stacked else A.cat.default(filled, dim)


derivative(
    A.split.Tensor,
    A.split_with_sizes,
    self=lambda grads, node, dim: _joined(grads, node, dim, False),
)
derivative(
    A.unsafe_split.Tensor,
    A.unsafe_split_with_sizes,
    self=lambda grads, node, dim: _joined(grads, node, dim, False),
)


defvjp(_unbind, lambda g, result, input, dim: (jnp.stack(g, dim),), saves=())
derivative(A.unbind.int, self=lambda grads, node, dim: _joined(grads, node, dim, True))
