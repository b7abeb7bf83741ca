"""Places in sorted sequences, and membership."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import dtypes
from ._axes import take_along
from ._declare import Array, Number, guard, op
from ._numeric import is_complex, scalar_name, unsupported
from ._order import argsort_along


def list_text(shape: Any) -> str:
    """A shape as torch's messages show it."""
    return f"[{', '.join(str(n) for n in shape)}]"


def _right(side: str | None, right: bool) -> bool:
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} while right was True")
    return side == "right"


def ranks(boundaries: Array, values: Array, right: bool) -> Array:
    """Where ``values`` (*A, m) belong in the rows of ``boundaries`` (*A, n), or in ``boundaries`` (n), which are sorted.

    A binary search over all values at once: each of its log2(n) + 1 steps is one gather. NaN belongs behind everything.
    """
    n = boundaries.shape[-1]
    low = jnp.zeros(values.shape, np.int64)
    if n == 0 or values.size == 0:
        return low
    high = jnp.full(values.shape, n, np.int64)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        at = jnp.minimum(middle, n - 1)
        found = boundaries[at] if boundaries.ndim == 1 else take_along(boundaries, at, boundaries.ndim - 1)
        # Written with "not", so that NaN goes to the end.
        before = ~(found > values) if right else ~(found >= values)
        before &= middle < high
        low = jnp.where(before, middle + 1, low)
        high = jnp.where(before, high, middle)
    return low


def _common(a: Array, b: Array) -> tuple[Array, Array]:
    entries = tuple((dtypes.from_np(x.dtype), dtypes.DIMENSIONED if x.ndim else dtypes.ZERO_DIM) for x in (a, b))
    target = dtypes.result_type_of(entries).np
    return a.astype(target), b.astype(target)


@op(method=False, out=True, differentiable=False, aten="searchsorted.Tensor")
def searchsorted(
    sorted_sequence: Array,
    input: Array | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """The places where ``input`` would be inserted into the innermost dimension of ``sorted_sequence`` to keep it sorted.

    Shapes: sorted_sequence (n) with any input, or (*A, n) with input (*A, m).
    ``right`` or ``side="right"`` chooses the last such place, else it is the first. ``sorter`` holds the order that sorts the sequence.
    """
    last = _right(side, right)
    name = "torch.searchsorted()"
    if sorted_sequence.ndim == 0:
        raise RuntimeError(f"{name}: boundaries tensor should have positive dimension, but got 0 dimension")
    if input.ndim == 0 and sorted_sequence.ndim != 1:
        raise RuntimeError(
            f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
            f"dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must "
            f"match, but we got boundaries tensor {list_text(sorted_sequence.shape)} and input value tensor {list_text(input.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor {list_text(sorted_sequence.shape)}and got "
                f"sorter tensor {list_text(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {scalar_name(sorter.dtype)}")
        guard((sorter < 0) | (sorter >= max(sorted_sequence.shape[-1], 1)), RuntimeError, f"{name}: sorter index out of range")
        index = jnp.clip(sorter, 0, max(sorted_sequence.shape[-1] - 1, 0))
        sorted_sequence = take_along(sorted_sequence, index, sorted_sequence.ndim - 1) if sorter.size else sorted_sequence
    if is_complex(sorted_sequence) or is_complex(input):
        raise unsupported("searchsorted_out_cpu", sorted_sequence)
    boundaries, values = _common(sorted_sequence, input)
    found = ranks(boundaries, values if values.ndim else values.reshape(1), last).reshape(input.shape)
    return found.astype(np.int32) if out_int32 else found


@op(method=False, out=True, differentiable=False, aten="bucketize.Tensor")
def bucketize(input: Array | Number, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Array:
    """The bucket of each element among those that the sorted ``boundaries`` (n) separate; ``right`` closes buckets on the left side."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op(out=True, method=False, differentiable=False, aten="isin.Tensor_Tensor")
def isin(elements: Array | Number, test_elements: Array | Number, *, assume_unique: bool = False, invert: bool = False) -> Array:
    """Whether each of ``elements`` is among ``test_elements`` (or is not, with ``invert``). ``assume_unique`` changes nothing."""
    for x in (elements, test_elements):
        if x.dtype == np.bool_ or is_complex(x):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {scalar_name(x.dtype)}")
    shape = elements.shape
    x, y = _common(elements.reshape(-1), test_elements.reshape(-1))
    if y.size <= 16:
        found = jnp.any(x[:, None] == y[None, :], axis=1)
    else:
        ordered = y[argsort_along(y, 0)]
        place = ranks(ordered, x, right=False)
        found = (place < y.size) & (ordered[jnp.minimum(place, y.size - 1)] == x)
    return (~found if invert else found).reshape(shape)
