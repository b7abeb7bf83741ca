"""Finding places in sorted sequences, membership, and counting into bins."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import dtypes
from ._axes import category, take_along
from ._declare import Array, Number, guard, op
from ._numeric import is_complex, scalar_name, unsupported
from ._order import argsort_along


def _list(shape: Any) -> str:
    return f"[{', '.join(str(n) for n in shape)}]"


def _right(side: str | None, right: bool) -> bool:
    if side is None:
        return right
    if side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} while right was True")
    return side == "right"


def _ranks(boundaries: Array, values: Array, right: bool) -> Array:
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
    sorted_sequence: Array, input: Array | Number, *, out_int32: bool = False, right: bool = False, side: str | None = None, sorter: Array | None = None
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
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, "
            f"but we got boundaries tensor {_list(sorted_sequence.shape)} and input value tensor {_list(input.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor {_list(sorted_sequence.shape)}and got sorter tensor "
                f"{_list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {scalar_name(sorter.dtype)}")
        guard((sorter < 0) | (sorter >= max(sorted_sequence.shape[-1], 1)), RuntimeError, f"{name}: sorter index out of range")
        index = jnp.clip(sorter, 0, max(sorted_sequence.shape[-1] - 1, 0))
        sorted_sequence = take_along(sorted_sequence, index, sorted_sequence.ndim - 1) if sorter.size else sorted_sequence
    if is_complex(sorted_sequence) or is_complex(input):
        raise unsupported("searchsorted_out_cpu", sorted_sequence)
    boundaries, values = _common(sorted_sequence, input)
    found = _ranks(boundaries, values if values.ndim else values.reshape(1), last).reshape(input.shape)
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
        place = _ranks(ordered, x, right=False)
        found = (place < y.size) & (ordered[jnp.minimum(place, y.size - 1)] == x)
    return (~found if invert else found).reshape(shape)


# ---- counting --------------------------------------------------------------------------------------------------------------------


@op(host=True, differentiable=False, out=True, aten="bincount")
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """Counts each value of a 1-D tensor of non-negative integers, or sums the ``weights`` of its occurrences.

    Shapes: input (n) -> (max(input.max() + 1, minlength)).
    Dtypes: int64; float32 for float32 weights, else float64.
    """
    if category(input.dtype) != dtypes.INTEGRAL:
        raise unsupported("bincount_cpu", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(input, minlength=minlength).astype(np.int64)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.float32 if weights.dtype == np.float32 else np.float64
    return np.bincount(input, weights.astype(np.float64), minlength=minlength).astype(kind)


def _bin_of(x: Array, edges: Array, n: int) -> Array:
    """The bin of each element by ``edges`` (n + 1): closed on the left, the last on both sides; n for those outside."""
    found = _ranks(edges, x, right=True) - 1
    found = jnp.where(x == edges[n], n - 1, found)
    return jnp.where((x >= edges[0]) & (x <= edges[n]), found, n)


def _linear_bin_of(x: Array, low: Array, high: Array, n: int) -> Array:
    inside = (x >= low) & (x <= high)
    place = ((jnp.where(inside, x, low) - low) * (n / (high - low))).astype(np.int64)
    return jnp.where(inside, jnp.minimum(place, n - 1), n)


def _linear_edges(low: Array, high: Array, n: int) -> Array:
    """``n + 1`` evenly spaced edges, computed from the nearer end as torch's ``linspace`` does."""
    step = (high - low) / n
    k = jnp.arange(n + 1, dtype=low.dtype)
    return jnp.where(k < (n + 1) // 2, low + step * k, high - step * (n - k))


def _spread(low: Array, high: Array) -> tuple[Array, Array]:
    """A range with equal ends is widened by 1 on either side, as in NumPy but twice as far."""
    same = low == high
    return jnp.where(same, low - 1, low), jnp.where(same, high + 1, high)


def _count(place: Array, weight: Array | None, n: int, dtype: Any) -> Array:
    one = jnp.ones(place.shape, dtype) if weight is None else weight.astype(dtype)
    return jnp.zeros(n + 1, dtype).at[place].add(one, mode="promise_in_bounds", wrap_negative_indices=False)[:n]


@op(out=True, differentiable=False, aten="histc")
def histc(input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Counts the elements in ``bins`` bins of equal width between ``min`` and ``max``; if these are equal, between the extremes of ``input``.

    Elements outside are not counted. Dtypes: the input's.
    """
    if category(input.dtype) != dtypes.FLOATING:
        raise unsupported("linspace_cpu" if input.dtype == np.bool_ else "histogram_cpu", input)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    wide = np.float64 if input.dtype == np.float64 else np.float32
    x = input.reshape(-1).astype(wide)
    if min == max and x.size:
        low, high = jnp.min(x), jnp.max(x)
        guard(~(jnp.isfinite(low) & jnp.isfinite(high)), RuntimeError, "torch.histc: range of the input is not finite")
    else:
        if not (np.isfinite(min) and np.isfinite(max)):
            raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
        low, high = jnp.full((), min, wide), jnp.full((), max, wide)
    low, high = _spread(low, high)
    return _count(_linear_bin_of(x, low, high, bins), None, bins, wide).astype(input.dtype)


def _histogram_checks(input: Array, weight: Array | None) -> None:
    if input.dtype not in (np.float32, np.float64):
        raise unsupported("histogramdd", input)
    if weight is not None and weight.shape != input.shape:
        shapes = f"input with shape {_list((*([input.size] if input.ndim else [1]), 1))} and weight with shape {_list(weight.shape)}"
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, "
            f"but got {shapes}"
        )
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
            f"but got input {scalar_name(input.dtype).lower()}, and weight {scalar_name(weight.dtype).lower()}"
        )


def _density(count: Array, edges: Array, density: bool) -> Array:
    return count / (edges[1:] - edges[:-1]) / jnp.sum(count) if density else count


@op(namespace="_C", out=True, returns="histogram", fields=("hist", "bin_edges"), differentiable=False, aten="histogram.bins_tensor")
def _histogram_edges(input: Array, bins: Array, weight: Array | None = None, density: bool = False) -> tuple[Array, Array]:
    """Counts (or sums of weights) between given edges, and the edges."""
    _histogram_checks(input, weight)
    if bins.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins tensor for dimension 0"
        )
    if bins.size < 1:
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 elements, but got 0 elements in the bins tensor for dimension 0")
    if bins.dtype != input.dtype:
        raise RuntimeError(
            f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype {scalar_name(input.dtype).lower()} "
            f"and bins for dimension 0 with dtype {scalar_name(bins.dtype).lower()}"
        )
    n = bins.size - 1
    weight = None if weight is None else weight.reshape(-1)
    count = _count(_bin_of(input.reshape(-1), bins, n), weight, n, input.dtype) if n else jnp.zeros(0, input.dtype)
    return _density(count, bins, density), bins


@op(namespace="_C", out=True, returns="histogram", fields=("hist", "bin_edges"), differentiable=False, aten="histogram.bin_ct")
def _histogram_count(
    input: Array, bins: int, range: tuple[float, ...] | None = None, weight: Array | None = None, density: bool = False
) -> tuple[Array, Array]:
    """Counts (or sums of weights) in bins of equal width, and their edges."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    _histogram_checks(input, weight)
    x = input.reshape(-1)
    if range is not None:
        low, high = (float(v) for v in range)
        if low > high:
            raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite")
        start, end = jnp.full((), low, x.dtype), jnp.full((), high, x.dtype)
    elif x.size == 0:
        start, end = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    else:
        start, end = jnp.min(x), jnp.max(x)
        guard(~(jnp.isfinite(start) & jnp.isfinite(end)), RuntimeError, "torch.histogramdd: dimension 0's range is not finite")
    half = jnp.full((), 0.5, x.dtype)
    same = start == end
    start, end = jnp.where(same, start - half, start), jnp.where(same, end + half, end)
    edges = _linear_edges(start, end, bins)
    place = _linear_bin_of(x, start, end, bins)
    count = _count(_refined(place, x, edges, bins), None if weight is None else weight.reshape(-1), bins, x.dtype)
    return _density(count, edges, density), edges


def _refined(place: Array, x: Array, edges: Array, n: int) -> Array:
    """Bins found by division, put right by comparison with the edges themselves."""
    inside = place < n
    at = jnp.where(inside, place, 0)
    at = jnp.where((x < edges[at]) & (at > 0), at - 1, at)
    at = jnp.where((x >= edges[at + 1]) & (at < n - 1), at + 1, at)
    return jnp.where(inside, at, n)
