"""Counting into bins: ``bincount``, ``histc`` and the histograms of any number of dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._axes import category
from ._declare import Array, guard, op, without_derivative
from ._extrema import extremum
from ._facts import schemas
from ._fitting import check_fits
from ._numeric import is_complex, scalar_name, unsupported
from .searching import list_text, ranks


@op(host=True, differentiable=False, out=True, aten="bincount", spelled={"out": ""})
@schemas("(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor ; =out")
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> np.ndarray:
    """Counts each value of a 1-D tensor of non-negative integers, or sums the ``weights`` of its
    occurrences.

    Shapes: input (n) -> (max(input.max() + 1, minlength)).
    Dtypes: uint8 to int64 -> int64; with float32 weights float32, with others float64.

    Raises:
        RuntimeError: if the input is not 1-D, an element or ``minlength`` is negative, or
            ``weights`` are of another length.
        NotImplementedError: for an input that is not integral.

    Example:
        >>> import jtorch as torch
        >>> torch.bincount(torch.tensor([0, 2, 2, 3]))
        tensor([1, 0, 2, 1])
        >>> torch.bincount(torch.tensor([0, 2, 2]), weights=torch.tensor([0.5, 1.0, 2.0]))
        tensor([0.5000, 0.0000, 3.0000])
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
    """The bin of each element by ``edges`` (n + 1): closed on the left, the last on both sides; n
    for those outside."""
    found = ranks(edges, x, right=True) - 1
    found = jnp.where(x == edges[n], n - 1, found)
    return jnp.where((x >= edges[0]) & (x <= edges[n]), found, n)


def _linear_bin_of(x: Array, low: Array, high: Array, n: int, dtype: object) -> Array:
    """The bin of each element among ``n`` of equal width; n for those outside. Steps are rounded as
    ``dtype`` rounds them, as in torch."""
    inside = (x >= low) & (x <= high)
    info = jnp.finfo(dtype)

    def rounded(y: Array) -> Array:
        return lax.reduce_precision(y, info.nexp, info.nmant)

    place = rounded(
        rounded(rounded(jnp.where(inside, x, low) - low) * n) / rounded(high - low)
    ).astype(np.int64)
    return jnp.where(inside, jnp.minimum(place, n - 1), n)


def _linear_edges(low: Array, high: Array, n: int) -> Array:
    """``n + 1`` evenly spaced edges, computed from the nearer end as torch's ``linspace`` does."""
    step = (high - low) / n
    k = jnp.arange(n + 1, dtype=low.dtype)
    return jnp.where(k < (n + 1) // 2, low + step * k, high - step * (n - k))


def _widened(low: Array, high: Array, by: float) -> tuple[Array, Array]:
    """The range, widened on either side if its ends are equal."""
    same = low == high
    return jnp.where(same, low - by, low), jnp.where(same, high + by, high)


def _count(
    places: Sequence[Array], weight: Array | None, sizes: Sequence[int], dtype: np.dtype | type
) -> Array:
    """Counts (or sums of weights) of points by their bin in each dimension; a bin past the last
    leaves a point out."""
    total = math.prod(sizes)
    place, inside = jnp.zeros(places[0].shape, np.int64), jnp.ones(places[0].shape, np.bool_)
    for p, n in zip(places, sizes, strict=True):
        place, inside = place * n + p, inside & (p < n)
    place = jnp.where(inside, place, total)
    one = jnp.ones(place.shape, dtype) if weight is None else weight.astype(dtype)
    counts = (
        jnp.zeros(total + 1, dtype)
        .at[place]
        .add(one, mode="promise_in_bounds", wrap_negative_indices=False)
    )
    return counts[:total].reshape(tuple(sizes))


@op(
    out=True,
    differentiable=False,
    aten="histc",
    out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got "
    "input {its_cpp} and hist {mine_cpp}",
)
@schemas("(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor ; =out")
def histc(input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """Counts the elements in ``bins`` bins of equal width between ``min`` and ``max`` or, if these
    are equal, the extremes of ``input``.

    Elements outside are not counted.

    Shapes: input (*) -> (bins).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: if ``bins`` is not positive, ``max`` is below ``min``, or the range is not
            finite.

    Example:
        >>> import jtorch as torch
        >>> torch.histc(torch.tensor([1.0, 2.0, 1.5, 9.0]), bins=4, min=0, max=4)
        tensor([0., 2., 1., 0.])
    """
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if is_complex(input) and min == max:
        raise unsupported("aminmax_cpu", input)
    if not (np.isfinite(min) and np.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{_shown(min)}, {_shown(max)}] is not finite")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if input.dtype == np.bool_:
        raise unsupported("linspace_cpu", input)
    check_fits(float(min), input.dtype)
    check_fits(float(max), input.dtype)
    if category(input.dtype) != dtypes.FLOATING:
        raise unsupported("histogram_cpu", input)
    wide = np.float64 if input.dtype == np.float64 else np.float32
    x = input.reshape(-1).astype(wide)
    if min == max and x.size:
        low, high = extremum(x, largest=False), extremum(x, largest=True)
        guard(
            ~(jnp.isfinite(low) & jnp.isfinite(high)),
            RuntimeError,
            "torch.histc: range of the input is not finite",
        )
    else:
        low, high = jnp.full((), min, wide), jnp.full((), max, wide)
    low, high = _widened(low, high, 1)
    place = _linear_bin_of(x, low, high, bins, input.dtype)
    return _count([place], None, [bins], wide).astype(input.dtype)


def _shown(bound: float) -> str:
    """A bound as torch prints it, which tells NaN of either sign."""
    return "-nan" if math.isnan(bound) and math.copysign(1.0, bound) < 0 else f"{bound:g}"


# ---- histograms ----------------------------------------------------------------------------------

_NAME = "torch.histogramdd"


def _check_points(points: Array, weight: Array | None) -> None:
    if points.dtype not in (np.float32, np.float64):
        raise unsupported("histogramdd", points)
    if weight is None:
        return
    if weight.shape != points.shape[:-1]:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided it should have the same shape as the input "
            "tensor excluding its innermost dimension, but got input with shape "
            f"{list_text(points.shape)} and weight with shape {list_text(weight.shape)}"
        )
    if weight.dtype != points.dtype:
        raise RuntimeError(
            f"{_NAME}: if weight tensor is provided, input tensor and weight tensor should have "
            f"the same dtype, but got input({scalar_name(points.dtype).lower()}), and "
            f"weight({scalar_name(weight.dtype).lower()})"
        )


def _check_edges(points: Array, edges: Sequence[Array]) -> None:
    n = points.shape[-1]
    if len(edges) != n:
        raise RuntimeError(
            f"{_NAME}: expected {n} sequences of bin edges for a {n}-dimensional histogram but got "
            f"{len(edges)}"
        )
    for d, e in enumerate(edges):
        if e.dtype != points.dtype:
            raise RuntimeError(
                f"{_NAME}: input tensor and bins tensors should have the same dtype, but got input "
                f"with dtype {scalar_name(points.dtype).lower()} and bins for dimension {d} with "
                f"dtype {scalar_name(e.dtype).lower()}"
            )
        if e.ndim != 1:
            raise RuntimeError(
                f"{_NAME}: bins tensor should have one dimension, but got {e.ndim} dimensions in "
                f"the bins tensor for dimension {d}"
            )
        if e.size == 0:
            raise RuntimeError(
                f"{_NAME}: bins tensor should have at least 1 element, but got 0 elements in the "
                f"bins tensor for dimension {d}"
            )
        _check_bins(e.size - 1, d)


def _check_bins(n: int, d: int) -> None:
    if n <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {d}")


def _density(hist: Array, edges: Sequence[Array]) -> Array:
    hist = hist / jnp.sum(hist)
    for d, e in enumerate(edges):
        hist = hist / (e[1:] - e[:-1]).reshape((1,) * d + (-1,) + (1,) * (hist.ndim - d - 1))
    return hist


def _by_edges(points: Array, edges: Sequence[Array], weight: Array | None, density: bool) -> Array:
    """Points (*A, d) counted between edges (n_i + 1) of each dimension."""
    _check_edges(points, edges)
    _check_points(points, weight)
    flat = points.reshape(-1, points.shape[-1])
    sizes = [e.size - 1 for e in edges]
    places = [_bin_of(flat[:, d], e, n) for d, (e, n) in enumerate(zip(edges, sizes, strict=True))]
    hist = _count(places, None if weight is None else weight.reshape(-1), sizes, points.dtype)
    return _density(hist, edges) if density else hist


def _ends(x: Array, d: int, given: tuple[float, ...] | None) -> tuple[Array, Array]:
    """The range of dimension ``d``: as given, or the extremes of ``x``."""
    if given is not None:
        low, high = float(given[2 * d]), float(given[2 * d + 1])
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"{_NAME}: dimension {d}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(
                f"{_NAME}: min should not exceed max, but got min {low:g} max {high:g} for "
                f"dimension {d}"
            )
        found = jnp.full((), low, x.dtype), jnp.full((), high, x.dtype)
    elif x.size:
        found = extremum(x, largest=False), extremum(x, largest=True)
        guard(
            ~(jnp.isfinite(found[0]) & jnp.isfinite(found[1])),
            RuntimeError,
            f"{_NAME}: dimension {d}'s range is not finite",
        )
    else:
        found = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    return _widened(*found, 0.5)


def _by_count(
    points: Array,
    bins: tuple[int, ...],
    range: tuple[float, ...] | None,
    weight: Array | None,
    density: bool,
) -> tuple[Array, list[Array]]:
    """Points (*A, d) counted in ``bins`` bins of equal width of each dimension, and the edges."""
    n = points.shape[-1]
    if len(bins) != n:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    for d, size in enumerate(bins):
        _check_bins(size, d)
    _check_points(points, weight)
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"{_NAME}: for a {n}-dimensional histogram range should have {2 * n} elements, but got "
            f"{len(range)}"
        )
    flat = points.reshape(-1, n)
    places, edges = [], []
    for d, size in enumerate(bins):
        x = flat[:, d]
        low, high = _ends(x, d, range)
        edges.append(_linear_edges(low, high, size))
        places.append(_refined(_linear_bin_of(x, low, high, size, x.dtype), x, edges[-1], size))
    hist = _count(places, None if weight is None else weight.reshape(-1), bins, points.dtype)
    return (_density(hist, edges) if density else hist), edges


def _refined(place: Array, x: Array, edges: Array, n: int) -> Array:
    """Bins found by division, put right by comparison with the edges themselves."""
    inside = place < n
    at = jnp.where(inside, place, 0)
    at = jnp.where((x < edges[at]) & (at > 0), at - 1, at)
    at = jnp.where((x >= edges[at + 1]) & (at < n - 1), at + 1, at)
    return jnp.where(inside, at, n)


def _as_points(input: Array, weight: Array | None) -> tuple[Array, Array | None]:
    return input.reshape(-1, 1), None if weight is None else weight.reshape(-1)


_WORDS = {
    "hist": (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
        "input {its_cpp} and hist {mine_cpp}"
    ),
    "bin_edges": "torch.histogram: input tensor and bin_edges tensor should have the same dtype, "
    "but got input {its_cpp} and bin_edges {mine_cpp} for dimension 0",
}


@op(
    namespace="_C",
    out=True,
    returns="histogram",
    fields=("hist", "bin_edges"),
    aten="histogram.bins_tensor",
    out_dtype=_WORDS,
)
def _histogram_edges(
    input: Array, bins: Array, weight: Array | None = None, density: bool = False
) -> tuple[Array, Array]:
    """Counts (or sums of weights) between given edges, and the edges."""
    points, weight = _as_points(input, weight)
    return _by_edges(points, [bins], weight, density), bins


@op(
    namespace="_C",
    out=True,
    returns="histogram",
    fields=("hist", "bin_edges"),
    aten="histogram.bin_ct",
    out_dtype=_WORDS,
)
def _histogram_count(
    input: Array,
    bins: int,
    range: tuple[float, ...] | None = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:
    """Counts (or sums of weights) in bins of equal width, and their edges."""
    points, weight = _as_points(input, weight)
    hist, (edges,) = _by_count(points, (bins,), range, weight, density)
    return hist, edges


def _check_grid(input: Array) -> None:
    if input.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if input.ndim < 2:
        raise RuntimeError(f"{_NAME}: input tensor should have at least 2 dimensions")


@op(namespace="_C", aten="histogramdd.TensorList_bins")
def _histogramdd_edges(
    input: Array, bins: list[Array], weight: Array | None = None, density: bool = False
) -> Array:
    """Counts (or sums of weights) of points in a grid between given edges."""
    _check_grid(input)
    return _by_edges(input, bins, weight, density)


@op(namespace="_C", aten="histogramdd")
def _histogramdd_count(
    input: Array,
    bins: tuple[int, ...],
    range: tuple[float, ...] | None = None,
    weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, ...]:
    """Counts (or sums of weights) of points in a grid of bins of equal width, and the edges of each
    dimension."""
    _check_grid(input)
    hist, edges = _by_count(input, bins, range, weight, density)
    return hist, *edges


for _kernel, _name in (
    (bincount, "bincount"), (_histogram_edges, "histogram"),
    (_histogram_count, "histogram"), (_histogramdd_edges, "_histogramdd_from_bin_tensors"),
    (_histogramdd_count, "_histogramdd_from_bin_cts"),
):  # fmt: skip
    without_derivative(_kernel, RuntimeError(f"derivative for aten::{_name} is not implemented"))
