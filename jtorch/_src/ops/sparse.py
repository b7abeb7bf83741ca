"""Kernels of sparse layouts: sums by position, matrix products and look-ups on index and value
arrays."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Number, defvjp, guard, op
from ._facts import schemas
from ._kernel import cast
from ._numeric import wide
from .optim import _as, _exact
from .searching import ranks


def _added(shape: tuple[int, ...], at: tuple[Array, ...] | Array, values: Array) -> Array:
    """Zeros of ``shape`` with ``values`` added at positions; bool elements are true where any of
    theirs is. Half precision adds wide."""
    if values.dtype == np.bool_:
        return (
            jnp.zeros(shape, np.bool_).at[at].max(values, mode="drop", wrap_negative_indices=False)
        )
    terms = wide(values)
    return cast(
        jnp.zeros(shape, terms.dtype).at[at].add(terms, mode="drop", wrap_negative_indices=False),
        values.dtype,
    )


def _check(indices: Array, size: tuple[int, ...]) -> None:
    if indices.shape[1]:
        for d in range(indices.shape[0]):
            low, high = jnp.min(indices[d]), jnp.max(indices[d])
            guard(low < 0, RuntimeError, f"found negative index {{}} for dim {d}", low)
            message = (
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found "
                "index {}"
            )
            guard(high >= size[d], RuntimeError, message, high)


@op(namespace="_C", aten="_to_dense", saves=("indices",), node="ToDenseBackward0")
@schemas("_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor ; =out")
def _coo_dense(indices: Array, values: Array, size: tuple[int, ...]) -> Array:
    """The dense tensor of ``size`` that has ``values`` at ``indices``, added up where indices
    repeat.

    Shapes: indices ``(s, n)``, values ``(n, *dense)`` give ``size``, whose first ``s`` dimensions
    are indexed.
    """
    if not indices.shape[0]:
        return (
            jnp.any(values, 0)
            if values.dtype == np.bool_
            else jnp.sum(values, 0, dtype=values.dtype)
        )
    _check(indices, size)
    return _added(size, tuple(indices), values)


def _picked(dense: Array, indices: Array) -> Array:
    if not indices.shape[0]:
        return jnp.broadcast_to(dense[None], (indices.shape[1], *dense.shape))
    if 0 in dense.shape:
        return jnp.zeros((indices.shape[1], *dense.shape[indices.shape[0] :]), dense.dtype)
    return dense.at[tuple(indices)].get(mode="clip", wrap_negative_indices=False)


def _coo_dense_rule(
    g: Array, result: None, indices: Array, values: Array, size: tuple[int, ...]
) -> tuple[None, Array]:
    return None, _picked(g, indices)


defvjp(_coo_dense, _coo_dense_rule)


@op(namespace="_C", aten="sparse_mask", saves=("indices",), node="SparseMaskBackward0")
def _coo_pick(dense: Array, indices: Array) -> Array:
    """The elements (or dense blocks) of ``dense`` at ``indices``."""
    return _picked(dense, indices)


@op(namespace="_C", aten="add.Tensor", saves=("indices",))
def _coo_add(dense: Array, indices: Array, values: Array) -> Array:
    """``dense`` with ``values`` added at ``indices``."""
    if not indices.shape[0]:
        return dense + jnp.sum(values, 0, dtype=values.dtype)
    _check(indices, dense.shape)
    if dense.dtype == np.bool_:
        return dense.at[tuple(indices)].max(values, mode="drop", wrap_negative_indices=False)
    return dense.at[tuple(indices)].add(values, mode="drop", wrap_negative_indices=False)


@op(namespace="_C", differentiable=False)
def _sparse_adam(
    param: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    indices: Array,
    values: Array,
    *,
    step_size: Number,
    beta1: Number,
    beta2: Number,
    eps: Number,
) -> tuple[Array, ...]:
    """One step of Adam at the places of a gradient, which differ: the new parameter, average and
    average of squares."""
    _check(indices, param.shape)
    at = tuple(indices)
    average, square = _picked(exp_avg, indices), _picked(exp_avg_sq, indices)
    average = average + (values - average) * _as(1 - _exact(beta1), values)
    square = square + (values * values - square) * _as(1 - _exact(beta2), values)
    update = (
        average / (jnp.sqrt(square) + _as(_exact(eps), values)) * _as(-_exact(step_size), values)
    )
    new = _picked(param, indices) + update
    pairs = ((param, new), (exp_avg, average), (exp_avg_sq, square))
    return tuple([x.at[at].set(y, mode="drop", wrap_negative_indices=False) for x, y in pairs])


@op(namespace="_C", aten="segment_sum", saves=("ids",))
def _segment_sum(values: Array, ids: Array, count: int) -> Array:
    """Sums of the rows of ``values`` that have the same number in ``ids``; the result has ``count``
    rows."""
    return _added((count, *values.shape[1:]), ids, values)


def _segment_sum_rule(
    g: Array, result: None, values: Array, ids: Array, count: int
) -> tuple[Array, None]:
    return (jnp.take(g, ids, axis=0, mode="clip") if count else jnp.zeros_like(values)), None


defvjp(_segment_sum, _segment_sum_rule)


@op(namespace="_C", aten="mm", saves=("rows", "columns", "values", "dense"))
def _spmm(rows: Array, columns: Array, values: Array, dense: Array, count: int) -> Array:
    """The product of a sparse matrix of ``count`` rows, given by its elements, and a dense one.

    Shapes: rows, columns, values ``(n)``, dense ``(k, m)`` give ``(count, m)``.
    """
    if dense.shape[0] == 0:
        return jnp.zeros((count, dense.shape[1]), values.dtype)
    terms = wide(values)[:, None] * wide(jnp.take(dense, columns, axis=0, mode="clip"))
    return cast(
        jnp.zeros((count, dense.shape[1]), terms.dtype)
        .at[rows]
        .add(terms, mode="drop", wrap_negative_indices=False),
        values.dtype,
    )


def _spmm_rule(
    g: Array, result: None, rows: Array, columns: Array, values: Array, dense: Array, count: int
) -> tuple[None, None, Array, Array]:
    if dense.shape[0] == 0 or count == 0:
        return None, None, jnp.zeros_like(values), jnp.zeros_like(dense)
    there = wide(jnp.take(g, rows, axis=0, mode="clip"))
    to_values = jnp.sum(there * jnp.conj(wide(jnp.take(dense, columns, axis=0, mode="clip"))), 1)
    terms = jnp.conj(wide(values))[:, None] * there
    to_dense = (
        jnp.zeros(dense.shape, terms.dtype)
        .at[columns]
        .add(terms, mode="drop", wrap_negative_indices=False)
    )
    return None, None, cast(to_values, values.dtype), cast(to_dense, dense.dtype)


defvjp(_spmm, _spmm_rule)


@op(namespace="_C", aten="_convert_indices_from_csr_to_coo", differentiable=False)
def _rows_of(compressed: Array, count: int) -> Array:
    """The row of each of ``count`` elements, from the places where rows begin."""
    return ranks(compressed, lax.iota(compressed.dtype, count), True).astype(
        compressed.dtype
    ) - np.asarray(1, compressed.dtype)
