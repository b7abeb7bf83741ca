"""Distinct elements, on the host: how many there are depends on values."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..errors import canonical_dim
from ._declare import Array, op
from ._numeric import is_complex, unsupported

#: The arrays are NumPy's.
_Found: TypeAlias = tuple[Any, Any, Any]


def _rows(input: Any, dim: int) -> tuple[Any, tuple[int, ...]]:
    """``input`` with ``dim`` in front and the rest flat, and the shape of the rest."""
    moved = np.moveaxis(input, dim, 0)
    return np.ascontiguousarray(moved).reshape(moved.shape[0], math.prod(moved.shape[1:])), moved.shape[1:]


def _check_rows(name: str, input: Any, axis: int) -> None:
    if input.shape[axis] == 0 and sum(n == 0 for n in input.shape) == 1:
        return
    if 0 in input.shape and input.shape[axis] != 0:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")


def _lexical_order(rows: Any) -> Any:
    """The stable order of rows compared from their first column on."""
    return np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(rows.shape[0])


def _runs(first: Any) -> tuple[Any, Any]:
    """From marks of where runs begin: the run of each place, and each run's length."""
    starts = np.flatnonzero(first)
    return np.cumsum(first) - 1, np.diff(np.append(starts, first.size))


def _first_of_runs(rows: Any) -> Any:
    first = np.ones(rows.shape[0], np.bool_)
    first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return first


def _check_unique(input: Any) -> None:
    if is_complex(input):
        raise unsupported("unique", input)


@op(namespace="_C", host=True, differentiable=False, aten="_unique2")
def _unique2(input: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> _Found:
    """The distinct elements in ascending order, where each element's value stands among them, and how often each occurs."""
    _check_unique(input)
    flat = input.reshape(-1)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    first = np.ones(flat.size, np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    run, counts = _runs(first)
    inverse = np.empty(flat.size, np.int64)
    inverse[order] = run
    return ordered[first], inverse.reshape(input.shape), counts.astype(np.int64)


@op(namespace="_C", host=True, differentiable=False, aten="unique_dim")
def _unique_dim(
    input: Array, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> _Found:
    """The distinct slices along ``dim`` in lexical order, where each slice stands among them, and how often each occurs."""
    axis = canonical_dim(dim, input.ndim)
    _check_unique(input)
    _check_rows("unique", input, axis)
    if input.ndim == 0:
        return input.reshape(1), np.zeros((), np.int64), np.ones(1, np.int64)
    rows, rest = _rows(input, axis)
    if rows.shape[0] == 0:
        return input.copy(), np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = _lexical_order(rows)
    ordered = rows[order]
    first = _first_of_runs(ordered)
    run, counts = _runs(first)
    inverse = np.empty(rows.shape[0], np.int64)
    inverse[order] = run
    distinct = ordered[first]
    return np.moveaxis(distinct.reshape(distinct.shape[0], *rest), 0, axis), inverse, counts.astype(np.int64)


@op(namespace="_C", host=True, differentiable=False, aten="unique_consecutive")
def _unique_consecutive(
    input: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> _Found:
    """The first of each run of equal elements (or slices along ``dim``), the run that each belongs to, and the runs' lengths."""
    _check_unique(input)
    if dim is None:
        flat = input.reshape(-1)
        first = _first_of_runs(flat.reshape(-1, 1))
        run, counts = _runs(first)
        return flat[first], run.reshape(input.shape).astype(np.int64), counts.astype(np.int64)
    axis = canonical_dim(dim, input.ndim)
    _check_rows("unique_consecutive", input, axis)
    if input.ndim == 0:
        return input.reshape(1), np.zeros((), np.int64), np.ones(1, np.int64)
    rows, rest = _rows(input, axis)
    first = _first_of_runs(rows)
    run, counts = _runs(first)
    distinct = rows[first]
    return np.moveaxis(distinct.reshape(distinct.shape[0], *rest), 0, axis), run.astype(np.int64), counts.astype(np.int64)
