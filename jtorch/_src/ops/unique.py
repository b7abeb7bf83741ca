"""Distinct elements, on the host: how many there are depends on values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..facts.errors import canonical_dim
from ._declare import Array, op, without_derivative
from ._facts import schemas
from ._numeric import is_complex, unsupported

if TYPE_CHECKING:
    from ..facts.kinds import Operand


#: The arrays are NumPy's.
_Found: TypeAlias = tuple[Any, Any, Any]


def _rows(input: Operand, dim: int) -> tuple[Any, tuple[int, ...]]:
    """``input`` with ``dim`` in front and the rest flat, and the shape of the rest."""
    moved = np.moveaxis(input, dim, 0)
    return np.ascontiguousarray(moved).reshape(
        moved.shape[0], math.prod(moved.shape[1:])
    ), moved.shape[1:]


def _check_rows(name: str, input: Operand, axis: int) -> None:
    if input.shape[axis] == 0 and sum(n == 0 for n in input.shape) == 1:
        return
    if 0 in input.shape and input.shape[axis] != 0:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )


def _lexical_order(rows: np.ndarray) -> np.ndarray:
    """The stable order of rows compared from their first column on."""
    if not rows.shape[1]:
        return np.arange(rows.shape[0])
    if rows.shape[1] == 1:
        return np.argsort(_sortable(rows[:, 0]), kind="stable")
    keys = np.ascontiguousarray(_bytes_in_order(rows))
    return np.argsort(keys.view(f"V{keys.itemsize * keys.shape[1]}").reshape(-1), kind="stable")


def _sortable(x: Operand) -> np.ndarray:
    """What sorts as ``x`` should, NaN last: NumPy does not know where to put that of bfloat16 and
    others that are not its own."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _bytes_in_order(x: np.ndarray) -> np.ndarray:
    """Big-endian integers whose bytes compare as the elements do, NaN as largest: sorting rows
    takes one comparison of bytes each."""
    x = _sortable(x)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    top = unsigned.type(1 << (8 * unsigned.itemsize - 1))
    if x.dtype.kind == "f":
        bits = np.where(np.isnan(x), x.dtype.type(np.nan), x + x.dtype.type(0)).view(unsigned)
        bits = np.where(bits & top, ~bits, bits | top)
    else:
        bits = x.view(unsigned) ^ (top if x.dtype.kind == "i" else unsigned.type(0))
    return bits.astype(unsigned.newbyteorder(">"))


def _runs(first: np.ndarray) -> tuple[Any, Any]:
    """From marks of where runs begin: the run of each place, and each run's length."""
    return np.cumsum(first) - 1, _lengths(first)


def _lengths(first: np.ndarray) -> np.ndarray:
    return np.diff(np.append(np.flatnonzero(first), first.size))


def _first_of_runs(rows: Operand) -> np.ndarray:
    first = np.ones(rows.shape[0], np.bool_)
    differs = rows[1:] != rows[:-1]
    first[1:] = differs if rows.ndim == 1 else differs.any(axis=1)
    return first


def _check_unique(input: Array, kernel: str = "unique") -> None:
    if is_complex(input):
        raise unsupported(kernel, input)


@op(namespace="_C", host=True, differentiable=False, aten="_unique2")
@schemas(
    "(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
    "(Tensor, Tensor, Tensor) ; =out:out0,out1,out2",
)
def _unique2(
    input: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> _Found:
    """The distinct elements in ascending order, where each element's value stands among them, and
    how often each occurs."""
    _check_unique(input)
    flat = input.reshape(-1)
    found = _by_counting(flat, return_inverse) if flat.dtype.kind in "iu" and flat.size else None
    if found is None and return_inverse:
        order = np.argsort(_sortable(flat), kind="stable")
        ordered = flat[order]
        first = _first_of_runs(ordered)
        run, counts = _runs(first)
        inverse = np.empty(flat.size, np.int64)
        inverse[order] = run
        found = ordered[first], inverse, counts
    elif found is None:
        ordered = np.sort(_sortable(flat)).astype(flat.dtype, copy=False)
        first = _first_of_runs(ordered)
        found = ordered[first], None, _lengths(first) if return_counts else _NOTHING
    values, inverse, counts = found
    return (
        values,
        _NOTHING if inverse is None else inverse.reshape(input.shape),
        counts.astype(np.int64),
    )


#: In place of what was not asked for.
_NOTHING = np.zeros(0, np.int64)


def _by_counting(flat: Any, return_inverse: bool) -> tuple[Any, Any, Any] | None:
    """``_unique2`` of integers in a range that is not much larger than their number; None for
    others."""
    low, high = flat.min(), flat.max()
    if int(high) - int(low) > max(2 * flat.size, 256):
        return None
    offsets = (flat if flat.dtype.itemsize == 8 else flat.astype(np.int64)) - low
    counts = np.bincount(offsets.astype(np.int64, copy=False))
    present = counts > 0
    values = (np.flatnonzero(present).astype(offsets.dtype) + low).astype(flat.dtype)
    inverse = (np.cumsum(present) - 1)[offsets] if return_inverse else None
    return values, inverse, counts[present]


@op(namespace="_C", host=True, differentiable=False, aten="unique_dim", strides="first:0")
@schemas(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool "
    "return_counts=False) -> (Tensor, Tensor, Tensor) ; =out:out0,out1,out2",
)
def _unique_dim(
    input: Array,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> _Found:
    """The distinct slices along ``dim`` in lexical order, where each slice stands among them, and
    how often each occurs."""
    axis = canonical_dim(dim, input.ndim, wrap_scalar=False)
    _check_unique(input, "unique_dim")
    _check_rows("unique", input, axis)
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
    return (
        np.moveaxis(distinct.reshape(distinct.shape[0], *rest), 0, axis),
        inverse,
        counts.astype(np.int64),
    )


@op(
    namespace="_C",
    host=True,
    differentiable=False,
    aten="unique_consecutive",
    strides="first:0 if dim is not None",
)
def _unique_consecutive(
    input: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> _Found:
    """The first of each run of equal elements (or slices along ``dim``), the run that each belongs
    to, and the runs' lengths."""
    _check_unique(input, "unique" if dim is None else "unique_dim")
    if dim is None:
        flat = input.reshape(-1)
        first = _first_of_runs(flat)
        run = (
            (np.cumsum(first) - 1).reshape(input.shape).astype(np.int64)
            if return_inverse
            else _NOTHING
        )
        return flat[first], run, _lengths(first).astype(np.int64) if return_counts else _NOTHING
    axis = canonical_dim(dim, input.ndim, wrap_scalar=False)
    _check_rows("unique_consecutive", input, axis)
    rows, rest = _rows(input, axis)
    first = _first_of_runs(rows)
    run, counts = _runs(first)
    distinct = rows[first]
    return (
        np.moveaxis(distinct.reshape(distinct.shape[0], *rest), 0, axis),
        run.astype(np.int64),
        counts.astype(np.int64),
    )


for _kernel, _name in (
    (_unique2, "_unique2"),
    (_unique_dim, "unique_dim"),
    (_unique_consecutive, "unique_consecutive"),
):
    without_derivative(
        _kernel, NotImplementedError(f"the derivative for '{_name}' is not implemented.")
    )
