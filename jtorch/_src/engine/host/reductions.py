"""Over axes: sums, products, extremes, their positions, running ones."""

from __future__ import annotations

import math
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import count_nonzero, dot
from .kinds import FLOAT32, identity, kind
from .rules import BYTE, CALL, Compute, Equation, Fixed, by_bytes, nbytes, rule, same

if TYPE_CHECKING:
    from ...facts.kinds import Operand
    from .recipes import Spec


#: NumPy adds up to so many float32 numbers one after another where it cannot add pairwise; more are
#: added in float64.
_NAIVE = 1024
#: From so many float32 numbers on, sums along the last dimensions of so many elements are BLAS's,
#: at most ``_NAIVE`` at a time.
_LARGE, _SHORTEST = 4096, 8

_EXTREMES = {"max": np.maximum, "min": np.minimum}
_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_LOGICAL = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "max": np.logical_or,
    "min": np.logical_and,
}


#: How long a byte of what is reduced takes, by copying's time: sums, products, and the others.
_SUM, _PRODUCT, _OTHER, _HALF = 0.3, 5.0, 1.0, 3.0


def _cost(e: Equation) -> float:
    each = (
        _HALF
        if kind(e.ins[0].dtype) == "h"
        else _SUM
        if "sum" in e.name
        else _PRODUCT
        if "prod" in e.name
        else _OTHER
    )
    return 1.5 * CALL + BYTE * nbytes(e.ins) * each


def ufunc_of(name: str, dtype: np.dtype) -> np.ufunc | None:
    """The ufunc that reduces ``dtype`` with "add", "mul", "max", "min", "and", "or" or "xor"."""
    k = kind(dtype)
    if k == "b":
        return _LOGICAL.get(name)
    if name in ("add", "mul"):
        return (np.add if name == "add" else np.multiply) if k else None
    if name in _EXTREMES:
        return _EXTREMES[name] if k not in ("", "c") else None
    return _BITWISE[name] if k in ("i", "u") and name in _BITWISE else None


def operation(recipe: Any) -> str | None:
    """The name of the associative operation that a recipe of two scalars is; None for another."""
    if recipe.constants or len(recipe.steps) != 1 or len(recipe.ins) != 2:
        return None
    (step,) = recipe.steps
    if recipe.outs != (step.out,) or set(step.ins) != {0, 1}:
        return None
    return step.name if step.name in ("add", "mul", "max", "min", "and", "or", "xor") else None


def _axis(axes: tuple[int, ...], ndim: int) -> int | tuple[int, ...] | None:
    """The form of ``axes`` that NumPy reads fastest."""
    if len(axes) == ndim:
        return None
    return axes[0] if len(axes) == 1 else tuple(axes)


def reducer(name: str, aval: Spec, axes: tuple[int, ...], shape: tuple[int, ...]) -> Compute | None:
    """What reduces an array like ``aval`` over ``axes`` to ``shape``."""
    dtype = np.dtype(aval.dtype)
    ufunc = ufunc_of(name, dtype)
    if ufunc is None:
        return None
    if all(aval.shape[i] == 1 for i in axes):
        # As it is, -0.0 included.
        return methodcaller("reshape", shape) if axes else same
    if 0 in aval.shape:
        constant = np.broadcast_to(np.asarray(identity(name, dtype), dtype), shape)
        return lambda *_: constant
    reduce, axis = ufunc.reduce, _axis(axes, aval.ndim)
    k = kind(dtype)
    if (
        k == "b"
        and axis is None
        and not shape
        and ufunc in (np.logical_and, np.logical_or)
        and aval.size <= _LARGE
    ):
        return _counted(ufunc is np.logical_and, aval.size)
    if k == "h":
        return lambda x: reduce(x.astype(FLOAT32), axis).astype(dtype)
    if name == "add" and dtype.itemsize == {"f": 4, "c": 8}.get(k):
        return _sum(aval, axes, axis)
    if k in "iu" and name in ("add", "mul"):
        # NumPy would make small integers larger.
        return Fixed(reduce, (axis, dtype), (axis, dtype, None, True))
    return Fixed(reduce, (axis,), (axis, None, None, True))


def _counted(every: bool, size: int) -> Compute:
    """Whether all of a few bools are true, or any: counting them takes a third of the time."""

    def counted(x: np.ndarray) -> Operand:
        return np.bool_(count_nonzero(x) == size if every else count_nonzero(x) != 0)

    counted.quiet = True  # type: ignore[attr-defined]
    return counted


def _sum(
    aval: Spec, axes: tuple[int, ...], axis: tuple[int, ...] | np.generic | int | None
) -> Compute:
    """Sums of float32 or complex64."""
    plain = _by_numpy(aval, axes, axis)
    if aval.dtype != FLOAT32 or aval.size < _LARGE:
        return plain
    last = aval.ndim
    while last - 1 in axes:
        last -= 1
    return _by_products(aval.shape, axes, last, plain) or plain


def _by_products(
    shape: tuple[int, ...], axes: tuple[int, ...], last: int, plain: Compute
) -> Compute | None:
    """Sums of float32 over the dimensions from ``last`` on, and others: products with a vector of
    ones, then sums of what these give.

    They take a third of the time, as NumPy does not use the widest vectors, and a tenth where rows
    are short.
    """
    run, add = math.prod(shape[last:]), np.add.reduce
    whole = len(axes) == len(shape)
    if whole and run < 4 * _LARGE:
        return None
    piece = (
        _NAIVE
        if whole
        else next((n for n in range(min(run, _NAIVE), _SHORTEST - 1, -1) if run % n == 0), 0)
    )
    if not piece or (piece < 128 and piece < run):
        if last != len(shape) - 1 or len(axes) > 1 or run < 2 * _NAIVE:
            return None
        piece = _NAIVE  # and what is left over
    ones = np.ones(piece, FLOAT32)
    ones.flags.writeable = False
    if whole:
        even = run // piece * piece
        total = (
            add if even // piece <= _NAIVE else lambda x: add(x, None, np.float64).astype(FLOAT32)
        )

        def summed(x: np.ndarray) -> object:
            if not x.flags.c_contiguous:
                return plain(x)
            x = x.reshape(-1)
            found = total(dot(x[:even].reshape(-1, piece), ones))
            return found if even == run else found + add(x[even:])

        return summed
    if run % piece:
        even, lead = run // piece * piece, shape[:last]

        def with_rest(x: np.ndarray) -> object:
            if not x.flags.c_contiguous:
                return plain(x)
            found = add(np.matmul(x[..., :even].reshape(*lead, -1, piece), ones), -1)
            found += add(x[..., even:], -1)
            return found

        return with_rest if even // piece <= _NAIVE else None
    rest = tuple([i for i in axes if i < last])
    parts = (*shape[:last], run // piece) if piece < run else shape[:last]
    over = (*rest, last) if piece < run else rest
    wide = math.prod([parts[i] for i in over]) > _NAIVE

    def rows(x: np.ndarray) -> np.ndarray:
        if not x.flags.c_contiguous:
            return plain(x)
        found = dot(x.reshape(-1, piece), ones).reshape(parts)
        if not over:
            return found
        return add(found, over, np.float64).astype(FLOAT32) if wide else add(found, over)

    return rows


def _by_numpy(aval: Spec, axes: tuple[int, ...], axis: Any) -> Compute:
    """Sums of float32 or complex64."""
    add, dtype = np.add.reduce, np.dtype(aval.dtype)
    count = math.prod([aval.shape[i] for i in axes])
    if count <= _NAIVE or aval.size == count:
        return Fixed(add, (axis,), (axis, None, None, True))
    wide = np.float64 if dtype.kind == "f" else np.complex128
    last = aval.ndim - 1
    if last not in axes or count // aval.shape[last] > _NAIVE:
        return lambda x: add(x, axis, wide).astype(dtype)

    def total(x: np.ndarray) -> Any:
        # Pairwise along the last axis, where that is the innermost one in memory.
        return (
            add(x, axis) if x.strides[last] == dtype.itemsize else add(x, axis, wide).astype(dtype)
        )

    return total


_REDUCTIONS = {
    "reduce_sum": "add",
    "reduce_prod": "mul",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_and": "and",
    "reduce_or": "or",
    "reduce_xor": "xor",
}


@rule(*_REDUCTIONS, cost=_cost)
def _reduction(e: Equation) -> Compute | None:
    return reducer(_REDUCTIONS[e.name], e.ins[0], tuple(e.params["axes"]), e.out.shape)


@rule("reduce", cost=_cost)
def _general(e: Equation) -> Compute | None:
    name = operation(e.params["jaxpr"])
    if name is None or len(e.ins) != 2:
        return None
    aval = e.ins[0]
    reduce, ufunc = (
        reducer(name, aval, tuple(e.params["dimensions"]), e.out.shape),
        ufunc_of(name, aval.dtype),
    )
    if reduce is None or ufunc is None:
        return None
    return lambda x, init: [ufunc(reduce(x), init)]


_along_rows = by_bytes(2)


def _cost_of_position(e: Equation) -> float:
    aval, (axis,) = e.ins[0], e.params["axes"]
    # NumPy looks at the numbers of each column one by one
    across = axis != aval.ndim - 1
    return _along_rows(e) + (5e-9 * aval.size if across else 0.0)


@rule("argmax", "argmin", cost=_cost_of_position)
def _position(e: Equation) -> Compute | None:
    (axis,) = e.params["axes"]
    k, dtype = kind(e.ins[0].dtype), np.dtype(e.params["index_dtype"])
    if k in ("", "c"):
        return None
    name = e.name
    method = np.ndarray.argmax if name == "argmax" else np.ndarray.argmin
    if k == "h":
        return lambda x: method(x.astype(FLOAT32), axis).astype(dtype)
    return lambda x: method(x, axis).astype(dtype)


_RUNNING = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}


def _running_cost(e: Equation) -> float:
    return 2 * CALL + e.out.size * (30e-9 if e.name == "cumlogsumexp" else 6e-9)


@rule(*_RUNNING, "cumlogsumexp", cost=_running_cost)
def _running(e: Equation) -> Compute | None:
    aval, axis = e.ins[0], e.params["axis"]
    dtype, k = np.dtype(aval.dtype), kind(aval.dtype)
    if 0 in aval.shape:
        return lambda x: x
    forward = _forward(e.name, aval, axis, dtype, k)
    if forward is None or not e.params["reverse"]:
        return forward
    back = (slice(None),) * axis + (slice(None, None, -1),)
    return lambda x: forward(x[back])[back]


def _forward(name: str, aval: Spec, axis: int, dtype: np.dtype, k: str) -> Compute | None:
    if name == "cumlogsumexp":
        if k not in ("f", "h"):
            return None
        accumulate = np.logaddexp.accumulate
        # In float64: each step rounds.
        return lambda x: accumulate(x, axis, np.float64).astype(dtype)
    ufunc = ufunc_of(_RUNNING[name], dtype)
    if ufunc is None:
        return None
    accumulate = ufunc.accumulate
    if k in "biu":
        return lambda x: accumulate(x, axis, dtype)
    if name in ("cummax", "cummin"):
        return (
            (lambda x: accumulate(x, axis))
            if k == "f"
            else lambda x: accumulate(x.astype(FLOAT32), axis).astype(dtype)
        )
    wide = (
        {"f": np.float64, "c": np.complex128}.get(k, np.float32)
        if k == "h" or aval.shape[axis] > 64
        else dtype
    )
    if name == "cumprod":
        return (
            (lambda x: accumulate(x, axis))
            if wide == dtype
            else (lambda x: accumulate(x, axis, wide).astype(dtype))
        )

    def sums(x: np.ndarray) -> np.ndarray:
        found = accumulate(x, axis, wide)
        found += 0  # sums begin with 0.0, so that none is -0.0
        return found if found.dtype == dtype else found.astype(dtype)

    return sums
