"""Numbers added at places along one dimension, a block of rows at a time, so that their places stay
in the processor's caches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jax import lax

from ..engine.host.direct import add_at
from ..engine.host.rules import CALL, Equation
from ..facts.native import extension
from ._declare import Array
from ._hosted import REALS, hosted

#: From so many numbers on.
MANY = 1 << 14
#: ``add_along(x, positions, numbers, axis)`` in C (``native/adding.c``); None where there is no
#: extension.
_in_c = getattr(extension(), "add_along", None)
#: Places of a block, about.
_BLOCK = 1 << 17


def can_be_added(x: Array, positions: Array) -> bool:
    """Whether ``added_along`` is the faster way."""
    return (
        type(positions.size) is int
        and positions.size >= MANY
        and type(x.size) is int
        and x.dtype in REALS
    )


def grid(dim: int, positions: Array) -> tuple[Array, ...]:
    """The NumPy index of the elements that ``positions`` means along ``dim``: each one's own place
    in the other dimensions.

    Places in other dimensions have size 1 in all but their own, so that what is computed of them is
    small.
    """
    n, dtype = positions.ndim, positions.dtype
    columns = [
        tuple([size if e == d else 1 for e in range(n)]) for d, size in enumerate(positions.shape)
    ]
    return tuple(
        positions if d == dim else lax.broadcasted_iota(dtype, columns[d], d) for d in range(n)
    )


def _on_host(axis: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    if _in_c is None:
        return _by_scipy(axis)
    add = _in_c

    def added(x: np.ndarray, positions: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out = np.array(x, order="C")
        add(out, positions, numbers, axis)
        return out

    return added


def _by_scipy(axis: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    add = add_at() or np.add.at

    def added(x: np.ndarray, positions: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        out, count = np.array(x, order="C"), len(positions)
        strides = [s // out.itemsize for s in out.strides]
        dtype = np.int32 if out.size <= np.iinfo(np.int32).max else np.int64
        unsigned, last = f"u{np.dtype(dtype).itemsize}", x.shape[axis] - 1
        others = np.zeros((1,) * x.ndim, dtype)
        for d, n in enumerate(positions.shape):
            if d != axis:
                others = others + (np.arange(n, dtype=dtype) * strides[d]).reshape(
                    [-1 if e == d else 1 for e in range(x.ndim)]
                )
        rows = max(1, min(count, _BLOCK * count // positions.size))
        memory = np.empty((rows, *positions.shape[1:]), dtype)
        into = out.reshape(-1)
        for first in range(0, count, rows):
            block = positions[first : first + rows]
            places = memory[: len(block)]
            np.copyto(places, block, casting="unsafe")
            # an error is on its way, but memory must not suffer
            if not np.maximum.reduce(places.view(unsigned), None) <= last:
                np.clip(places, 0, last, places)
            if strides[axis] != 1:
                places *= strides[axis]
            places += others[first : first + rows] if axis else others
            add(
                into,
                places.reshape(-1),
                np.ascontiguousarray(numbers[first : first + rows]).reshape(-1),
            )
        return out

    return added


def _cost(e: Equation) -> float:
    return 20 * CALL + 2e-9 * e.ins[1].size + 0.5e-9 * e.out.size


@hosted(
    _on_host,
    elementwise=False,
    alike=False,
    mixed=True,
    cost=_cost,
    dtypes=REALS,
    kept=True,
    keeps=True,
)
def added_along(x: Array, positions: Array, numbers: Array, *, axis: int) -> Array:
    """``x`` with ``numbers`` added at ``positions`` along ``axis``, which are known to lie in
    range.

    Shapes: all have one rank; positions and numbers have one shape, which is not larger than that
    of ``x`` but along ``axis``.
    """
    index = grid(axis, positions)
    if x.size > np.iinfo(np.int32).max:
        return x.at[index].add(numbers, mode="promise_in_bounds", wrap_negative_indices=False)
    # One number for each position, instead of a row of them: that takes half the time.
    at = index[0].astype(np.int32)
    for size, i in zip(x.shape[1:], index[1:], strict=True):
        at = at * np.int32(size) + i.astype(np.int32)
    return (
        x.reshape(-1)
        .at[at]
        .add(numbers, mode="promise_in_bounds", wrap_negative_indices=False)
        .reshape(x.shape)
    )
