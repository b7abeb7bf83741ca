"""Resizing of sequences, images and volumes: every mode of ``interpolate`` as a sparse table of
weights for each dimension.

A mode says which input elements an output element is made of, and in which parts. Along each
dimension that is a small table known when the kernel is traced; the gradient applies the transposed
table, so that neither direction needs a scatter.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.size import SYMBOLIC
from ._declare import Array, defvjp, op
from ._derivatives import A, derivative
from ._nodes import Made
from ._sizes import counted, counting, numbers, scaled, surely
from .adaptive_pooling import _adaptive_avg, _adaptive_avg_rule

if TYPE_CHECKING:
    from types import ModuleType


_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
#: Rows of a table with more elements than this are applied as a matrix product.
_MAX_TAPS = 12
#: Slices with steps stand for gathers where there are at most so many.
_MAX_SLICES = 8


@dataclasses.dataclass(frozen=True)
class Table:
    """For each output element, the places of its input elements and their weights: two arrays
    ``(out, taps)``; ``size`` inputs.

    Where a size varies, the arrays are values of the program.
    """

    places: np.ndarray
    weights: np.ndarray
    size: int

    @property
    def known(self) -> bool:
        """Whether the sizes are numbers."""
        return isinstance(self.places, np.ndarray)

    @property
    def weighs(self) -> bool:
        """Whether it does more than to pick elements."""
        return self.places.shape[1] > 1 or (self.known and bool((self.weights != 1).any()))

    def apply_to_bytes(self, x: Array, axis: int) -> Array:
        """``apply`` for bytes, in integers: weights of 16 bits with as many binary places as the
        largest of them leaves room for."""
        largest = float(max(self.weights.max(initial=0), 0))
        digits = 0
        while digits < 22 and int(0.5 + largest * (1 << (digits + 1))) < 1 << 15:
            digits += 1
        scaled = self.weights * (1 << digits)
        whole = dataclasses.replace(
            self, weights=np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32)
        )
        total = whole.apply(x.astype(np.int32), axis) + np.int32(1 << digits >> 1)
        return jnp.clip(total >> np.int32(digits), 0, 255).astype(np.uint8)

    def transposed(self) -> Table:
        """The table of the gradient."""
        out, taps = self.places.shape
        source = np.repeat(np.arange(out), taps)
        place, weight = self.places.reshape(-1), self.weights.reshape(-1)
        used = weight != 0
        source, place, weight = source[used], place[used], weight[used]
        order = np.argsort(place, kind="stable")
        source, place, weight = source[order], place[order], weight[order]
        counts = np.bincount(place, minlength=self.size)
        column = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = max(int(counts.max(initial=0)), 1)
        # An unused entry points where a used one of its row does, so that it cannot bring an
        # infinity in.
        first = np.zeros(self.size, np.int64)
        first[place[::-1]] = source[::-1]
        places, weights = (
            np.repeat(first[:, None], width, 1),
            np.zeros((self.size, width), self.weights.dtype),
        )
        places[place, column], weights[place, column] = source, weight
        return Table(places, weights, out)

    def apply(self, x: Array, axis: int) -> Array:
        """``x`` with its dimension ``axis`` made anew."""
        taps = self.places.shape[1]
        if taps > _MAX_TAPS:
            matrix = np.zeros((len(self.places), self.size), self.weights.dtype)
            np.add.at(matrix, (np.arange(len(self.places))[:, None], self.places), self.weights)
            # Sums of weighted bytes are exact in float64, whose matrix products are fast.
            d = np.dtype(np.float64) if x.dtype == np.int32 else x.dtype
            product = jnp.tensordot(x.astype(d), jnp.asarray(matrix, d), ((axis,), (1,)))
            return jnp.moveaxis(product.astype(x.dtype), -1, axis)
        regular = self.regular() if self.known else None
        if regular is None:
            return self._weighted(x, axis, slice(None), lambda t: _take(x, self.places[:, t], axis))
        offsets, down, blocks = regular
        up, out = len(offsets), len(self.places)

        def gathered(rows: slice) -> Array:
            return self._weighted(x, axis, rows, lambda t: _take(x, self.places[rows, t], axis))

        def sliced(p: int) -> Array:
            starts = blocks.start * down + offsets[p]
            size = (blocks.stop - blocks.start - 1) * down + 1
            return self._weighted(
                x,
                axis,
                slice(blocks.start * up + p, blocks.stop * up, up),
                lambda t: lax.slice_in_dim(x, starts[t], starts[t] + size, down, axis),
            )

        middle = [sliced(p) for p in range(up)]
        inner = (
            jnp.stack(middle, axis + 1).reshape(*x.shape[:axis], -1, *x.shape[axis + 1 :])
            if up > 1
            else middle[0]
        )
        parts = [inner]
        if blocks.start:
            parts.insert(0, gathered(slice(0, blocks.start * up)))
        if blocks.stop * up < out:
            parts.append(gathered(slice(blocks.stop * up, out)))
        return jnp.concatenate(parts, axis) if len(parts) > 1 else inner

    def _weighted(self, x: Array, axis: int, rows: slice, taken: Callable[[int], Array]) -> Array:
        """The sum of what ``taken`` gives for each column, by the weights of some rows."""
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        total = None
        for t in range(self.places.shape[1]):
            weight, term = self.weights[rows, t], taken(t)
            if not (self.known and (weight == 1).all()):
                term = term * jnp.asarray(weight.reshape(shape), x.dtype)
            total = term if total is None else total + term
        assert total is not None
        return total

    def regular(self) -> tuple[np.ndarray, int, slice] | None:
        """Where sizes have a simple ratio ``up / down``: the offsets ``(up, taps)`` with which row
        ``q * up + p`` takes the elements ``q * down + offsets[p]``, ``down``, and for which ``q``
        that holds, all but a few at the edges; None if rows are not so.

        Slices with steps are what compilers make loops of; gathers that are fused with others are
        computed anew for each use: sixteen for a pixel by bicubic interpolation.
        """
        out, taps = self.places.shape
        common = math.gcd(out, self.size)
        if common < 8 or out // common * taps > _MAX_SLICES or (taps == 1 and out >= self.size):
            return None
        down = self.size // common
        offsets = self.places.reshape(common, -1, taps) - (np.arange(common) * down)[:, None, None]
        usual = offsets[common // 2]
        holds = np.flatnonzero((offsets == usual).all((1, 2)))
        first, end = int(holds[0]), int(holds[-1]) + 1
        return (usual, down, slice(first, end)) if len(holds) == end - first > common // 2 else None


def _take(x: Array, places: np.ndarray, axis: int) -> Array:
    """``jnp.take``, without a gather where the places are the whole dimension or each several times
    over."""
    if not isinstance(places, np.ndarray):
        return jnp.take(x, places, axis, mode="clip")
    n, out = x.shape[axis], len(places)
    if out == n and (places == np.arange(n)).all():
        return x
    if out % n == 0 and (places == np.repeat(np.arange(n), out // n)).all():
        return jnp.repeat(x, out // n, axis)
    return jnp.take(x, places, axis)


# ------------------------------------------------------------------------------------------- tables


def _arrays(*sizes: object) -> ModuleType:
    """What computes tables: NumPy while the kernel is traced, or the program where a size
    varies."""
    return np if numbers(*sizes) else jnp


def _ratio(size: int, out: int, scale: float | None, precision: type) -> np.floating:
    """Input elements for one output element."""
    if scale is not None and scale > 0:
        return precision(1.0 / scale)
    return counted(size, np.dtype(precision)) / counted(out, np.dtype(precision))


def _nearest_table(size: int, out: int, scale: float | None, exact: bool) -> Table:
    at, xp = counting(out), _arrays(size, out)
    if exact:
        places = xp.floor(
            (at.astype(np.float32) + np.float32(0.5)) * _ratio(size, out, scale, np.float32)
        )
    elif out == size or out == 2 * size:
        places = at // (out // size)
    else:
        places = xp.floor(at.astype(np.float32) * _ratio(size, out, scale, np.float32))
    last = counted(size - 1, np.dtype(np.int64))
    return Table(
        xp.minimum(places.astype(np.int64), last)[:, None], xp.ones((out, 1), np.float32), size
    )


def _steps_of_corners(size: int, out: int, precision: type) -> object:
    steps, between = counted(size - 1, np.dtype(precision)), counted(out - 1, np.dtype(precision))
    if type(out) is int:
        return steps / between if out > 1 else precision(0)
    return jnp.where(between > 0, steps / jnp.maximum(between, precision(1)), precision(0))


def _sources(
    size: int, out: int, scale: float | None, align_corners: bool, precision: type
) -> np.ndarray:
    at = counting(out).astype(precision)
    if align_corners:
        return at * _steps_of_corners(size, out, precision)
    return _ratio(size, out, scale, precision) * (at + precision(0.5)) - precision(0.5)


def _linear_table(
    size: int, out: int, scale: float | None, align_corners: bool, precision: type
) -> Table:
    if size == out and numbers(size):
        return Table(np.arange(out)[:, None], np.ones((out, 1), precision), size)
    xp, last = _arrays(size, out), counted(size - 1, np.dtype(np.int64))
    source = xp.maximum(_sources(size, out, scale, align_corners, precision), precision(0))
    if xp is jnp:  # copied where the sizes turn out to be the same, whatever the scale says
        same = jnp.asarray(size, np.int64) == jnp.asarray(out, np.int64)
        source = jnp.where(same, counting(out).astype(precision), source)
    low = xp.minimum(source.astype(np.int64), last)
    part = xp.clip(source - low.astype(precision), precision(0), precision(1))
    high = xp.minimum(low + 1, last)
    return Table(xp.stack([low, high], 1), xp.stack([precision(1) - part, part], 1), size)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel."""
    xp = np if isinstance(x, np.ndarray) else jnp
    x = xp.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x <= 1, near, xp.where(x < 2, far, xp.zeros((), x.dtype)))


def _cubic_table(
    size: int, out: int, scale: float | None, align_corners: bool, precision: type
) -> Table:
    xp, last = _arrays(size, out), counted(size - 1, np.dtype(np.int64))
    source = _sources(size, out, scale, align_corners, precision)
    low = xp.floor(source)
    part = (source - low).astype(precision)
    offsets = np.arange(-1, 3)[None]
    weights = _cubic(part[:, None] - offsets.astype(precision), -0.75).astype(precision)
    return Table(xp.clip(low.astype(np.int64)[:, None] + offsets, 0, last), weights, size)


def _lanczos(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


_FILTERS: dict[str, tuple[int, Callable[[np.ndarray], np.ndarray]]] = {
    "bilinear": (2, lambda x: np.maximum(1 - np.abs(x), 0)),
    "bicubic": (4, lambda x: _cubic(x, -0.5)),
    "lanczos": (6, _lanczos),
}


def _byte_table(size: int, out: int, scale: float | None, align_corners: bool, mode: str) -> Table:
    """Weights for bytes: those of elements beyond an edge are added to the edge's."""
    taps, shape = (
        (2, _FILTERS["bilinear"][1]) if mode == "bilinear" else (4, lambda x: _cubic(x, -0.75))
    )
    source = _sources(size, out, scale, align_corners, np.float64)
    if mode == "bilinear":
        source = np.maximum(source, 0.0)
    first = np.floor(source).astype(np.int64) - taps // 2 + 1
    places = first[:, None] + np.arange(taps)
    parts, weights = shape(places - source[:, None]), np.zeros(places.shape)
    start = np.clip(first, 0, size - 1)[:, None]
    # The sums are rounded to integers, not what they are made of.
    np.add.at(weights, (np.arange(out)[:, None], np.clip(places, 0, size - 1) - start), parts)
    return Table(np.minimum(start + np.arange(taps), size - 1), weights, size)


def _antialias_table(
    size: int, out: int, scale: float | None, align_corners: bool, mode: str, precision: type
) -> Table:
    """Weights of a filter that is widened with the reduction, as in Pillow."""
    width, shape = _FILTERS[mode]
    # torch takes the step of aligned corners, but the places of unaligned ones.
    if align_corners:
        step = precision(size - 1) / precision(out - 1) if out > 1 else precision(0)
    else:
        step = _ratio(size, out, scale, precision)
    support = precision(width * 0.5) * max(step, precision(1))
    squeeze = precision(1) / step if step >= 1 else precision(1)
    places, weights = [], []
    taps = math.ceil(support) * 2 + 1
    for i in range(out):
        centre = step * (precision(i) + precision(0.5))
        begin = max(int(centre - support + precision(0.5)), 0)
        end = min(int(centre + support + precision(0.5)), size)
        at = np.arange(begin, max(end, begin))[:taps]
        parts = shape((at.astype(precision) - centre + precision(0.5)) * squeeze)
        total = parts.sum()
        parts = parts / total if total != 0 else parts
        filled = np.zeros(taps, precision)
        filled[: len(parts)] = parts
        weights.append(filled)
        places.append(np.concatenate([at, np.full(taps - len(at), min(begin, size - 1), np.int64)]))
    return Table(np.stack(places), np.stack(weights), size)


# ------------------------------------------------------------------------------------------- checks


def _output_size(
    input: Array,
    size: int | tuple[int, ...] | None,
    scale_factor: float | tuple[float, ...] | None,
    recompute: bool | None,
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The spatial size of the result, and the scales that place its elements."""
    n = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    place = f"input with spatial dimensions of {list(input.shape[2:])} and"
    if size is not None:
        if isinstance(size, tuple) and len(size) != n:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got "
                f"{place} output size of {size}. Please provide input tensor in (N, C, d1, d2, "
                "...,dK) format and output size in (o1, o2, ...,oK) format."
            )
        sizes = size if isinstance(size, tuple) else (size,) * n
        if not all(isinstance(s, int) or type(s) in SYMBOLIC for s in sizes):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(s) for s in sizes]}"
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, (None,) * n
    if isinstance(scale_factor, tuple) and len(scale_factor) != n:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got "
            f"{place} scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, "
            "d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    assert scale_factor is not None
    scales = (
        tuple(float(s) for s in scale_factor)
        if isinstance(scale_factor, tuple)
        else (float(scale_factor),) * n
    )
    # NaN too
    if not all(
        abs((k if type(k) is int else 1) * s) < 2.0**63
        for k, s in zip(input.shape[2:], scales, strict=True)
    ):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    sizes = tuple(scaled(k, s) for k, s in zip(input.shape[2:], scales, strict=True))
    return sizes, (None,) * n if recompute else scales


def _check_mode(input: Array, mode: str, align_corners: bool | None, antialias: bool) -> None:
    linear = mode in _LINEAR or mode == "bicubic" or mode == "lanczos"
    if align_corners is not None and not linear:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if antialias and not (mode in _FILTERS and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode == "lanczos" and input.ndim == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if input.ndim in (3, 4, 5) and _LINEAR.get(mode, input.ndim) != input.ndim:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input"
        )
    known = (
        mode in ("nearest", "nearest-exact", "area")
        or mode in _LINEAR
        or (mode in ("bicubic", "lanczos") and input.ndim == 4)
    )
    if input.ndim not in (3, 4, 5) or not known:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the "
            f"modes: {_MODES} (got {mode})"
        )


def _check_sizes(input: Array, sizes: tuple[int, ...], mode: str, antialias: bool) -> None:
    letters = "DHW"[-len(sizes) :]
    if any(surely(lambda s=s: s <= 0) for s in (*input.shape[2:], *sizes)):
        shown = [
            ", ".join(f"{a}: {s}" for a, s in zip(letters, values, strict=True))
            for values in (input.shape[2:], sizes)
        ]
        joint = " and" if len(sizes) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({shown[0]}){joint} "
            f"output ({shown[1]})"
        )
    if input.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes "
            f"{list(input.shape)}"
        )
    d = dtypes.from_np(input.dtype)
    whole = antialias and input.shape[2:] == sizes  # copied, whatever it is
    if not (
        whole
        or d.category == dtypes.FLOATING
        or (d is dtypes.uint8 and mode not in ("area", "linear", "trilinear"))
    ):
        if antialias:
            kernel = "compute_index_ranges_weights"
        elif len(sizes) == 2 and mode != "bicubic":
            kernel = f"upsample_{mode.removesuffix('-exact')}2d_channels_last"
        else:
            kernel = (
                "compute_indices_weights_"
                f"{'cubic' if mode == 'bicubic' else 'nearest' if mode.startswith('nearest') else 'linear'}"  # noqa: E501
            )
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{d.scalar_name}'")


def _tables(
    input, size, scale_factor, mode, align_corners, recompute, antialias
) -> list[Table] | tuple[int, ...]:
    """A table for each spatial dimension; the output size for the mode ``area``."""
    if input.ndim < 3:
        _check_mode(input, mode, align_corners, antialias)
    sizes, scales = _output_size(input, size, scale_factor, recompute)
    _check_mode(input, mode, align_corners, antialias)
    if mode == "area":
        return sizes
    _check_sizes(input, sizes, mode, antialias)
    align = bool(align_corners)
    bytes_in = input.dtype == np.uint8
    precision = np.float64 if bytes_in or input.dtype == np.float64 else np.float32
    if (antialias or (bytes_in and mode != "nearest")) and not numbers(*input.shape[2:], *sizes):
        raise NotImplementedError(
            "sizes that vary are not offered for bytes, nor with antialias=True"
        )
    found = []
    for n, out, scale in zip(input.shape[2:], sizes, scales, strict=True):
        if mode.startswith("nearest"):
            table = _nearest_table(n, out, scale, mode == "nearest-exact")
        elif n == out and (antialias or bytes_in):
            table = _nearest_table(n, out, None, False)  # whatever the scale says
        elif antialias:
            table = _antialias_table(n, out, scale, align, mode, precision)
        elif bytes_in:
            table = _byte_table(n, out, scale, align, mode)
        elif mode == "bicubic":
            table = _cubic_table(n, out, scale, align, precision)
        else:
            table = _linear_table(n, out, scale, align, precision)
        found.append(table)
    return found


def _resample(x: Array, tables: list[Table]) -> Array:
    """The tables applied from the last dimension on, in float32 for halves; bytes are rounded to
    bytes after each dimension."""
    wide = (
        x.astype(np.float32)
        if x.dtype in (np.float16, jnp.bfloat16) and any(t.weighs for t in tables)
        else x
    )
    for axis in reversed(range(2, x.ndim)):
        table = tables[axis - 2]
        wide = (
            table.apply_to_bytes(wide, axis)
            if x.dtype == np.uint8 and table.weighs
            else table.apply(wide, axis)
        )
    return wide.astype(x.dtype)


def _node_of_interpolation(made: Made) -> str:
    kinds = {
        "nearest": "Nearest",
        "nearest-exact": "NearestExact",
        "bilinear": "Bilinear",
        "bicubic": "Bicubic",
        "linear": "Linear",
    }
    mode, n = str(made.given("mode") or "nearest"), made.avals[0].ndim - 2
    if mode == "area":
        return "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0"
    antialias = "Aa" if made.given("antialias") else ""
    return f"Upsample{kinds.get(mode, mode.capitalize())}{n}D{antialias}Backward0"


@op(
    namespace="nn.functional",
    aten="upsample",
    strides="resized",
    native=False,
    node=_node_of_interpolation,
)
def interpolate(
    input: Array,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Array:
    """Resizes the spatial dimensions to ``size``, or by ``scale_factor``.

    ``mode`` is ``nearest``, ``nearest-exact``, ``area``, ``linear`` (3 dimensions), ``bilinear``,
    ``bicubic`` (4), ``trilinear`` (5) or ``lanczos`` (with ``antialias``).

    Args:
        input: a batch with channels.
        size: the new spatial size: a number, or one for each dimension.
        scale_factor: in its place, the factor: a number, or one for each dimension.
        mode: how values between are found.
        align_corners: whether the corners' centres are the outermost points, instead of the
            corners.
        recompute_scale_factor: find the factor anew from the rounded sizes.
        antialias: take the mean over what becomes one pixel, where the result is smaller.

    Shapes: input (N, C, *size) with one to three spatial dimensions -> (N, C, *new size).
    Dtypes: floating-point, and uint8 but for ``area``, ``linear`` and ``trilinear`` -> the same;
    others are refused (NotImplementedError).

    Raises:
        ValueError: if sizes and options do not fit together.
        RuntimeError: if a size is not positive.
        NotImplementedError: for a mode that has no such number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[[1.0, 3.0]]])
        >>> torch.nn.functional.interpolate(x, scale_factor=2)
        tensor([[[1., 1., 3., 3.]]])
        >>> torch.nn.functional.interpolate(x, size=4, mode="linear")
        tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    tables = _tables(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )
    if isinstance(tables, tuple):
        n = len(tables)
        return _adaptive_avg(f"adaptive_avg_pool{n}d", n, input, tables)
    return _resample(input, tables)


def _interpolate_rule(
    g: Array,
    _result: None,
    input: Array,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> tuple[Array]:
    tables = _tables(
        input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
    )
    if not isinstance(tables, tuple) and not all(table.known for table in tables):
        return jax.vjp(lambda x: _resample(x, tables), input)[1](g)
    if isinstance(tables, tuple):
        n = len(tables)
        return _adaptive_avg_rule(f"adaptive_avg_pool{n}d", n)(g, None, input, tables)
    wide = g.astype(np.float32) if g.dtype.itemsize < 4 else g
    for axis in range(2, g.ndim):
        wide = tables[axis - 2].transposed().apply(wide, axis)
    return (wide.astype(g.dtype),)


defvjp(interpolate, _interpolate_rule, saves=())
derivative(
    A.upsample_nearest1d,
    self=lambda g, self_, output_size, scales: A.upsample_nearest1d_backward.default(
        g, output_size, self_.shape, scales
    ),
)
derivative(
    A.upsample_nearest2d,
    self=lambda g, self_, output_size, scales_h, scales_w: A.upsample_nearest2d_backward.default(
        g, output_size, self_.shape, scales_h, scales_w
    ),
)
derivative(
    A.upsample_nearest3d,
    self=lambda g, self_, output_size, scales_d, scales_h, scales_w: (
        A.upsample_nearest3d_backward.default(
            g, output_size, self_.shape, scales_d, scales_h, scales_w
        )
    ),
)
derivative(
    A._upsample_nearest_exact1d,
    self=lambda g, self_, output_size, scales: A._upsample_nearest_exact1d_backward.default(
        g, output_size, self_.shape, scales
    ),
)
derivative(
    A._upsample_nearest_exact2d,
    self=lambda g, self_, output_size, scales_h, scales_w: (
        A._upsample_nearest_exact2d_backward.default(
            g, output_size, self_.shape, scales_h, scales_w
        )
    ),
)
derivative(
    A._upsample_nearest_exact3d,
    self=lambda g, self_, output_size, scales_d, scales_h, scales_w: (
        A._upsample_nearest_exact3d_backward.default(
            g, output_size, self_.shape, scales_d, scales_h, scales_w
        )
    ),
)
derivative(
    A.upsample_linear1d,
    self=lambda g, self_, output_size, align_corners, scales: A.upsample_linear1d_backward.default(
        g, output_size, self_.shape, align_corners, scales
    ),
)
derivative(
    A.upsample_trilinear3d,
    self=lambda g, self_, output_size, align_corners, scales_d, scales_h, scales_w: (
        A.upsample_trilinear3d_backward.default(
            g, output_size, self_.shape, align_corners, scales_d, scales_h, scales_w
        )
    ),
)


def _of_planes(name: str) -> None:
    back = getattr(A, f"{name}_backward").default
    derivative(
        getattr(A, name),
        self=lambda g, self_, output_size, align_corners, scales_h, scales_w: back(
            g, output_size, self_.shape, align_corners, scales_h, scales_w
        ),
    )


for _name in (
    "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
):  # fmt: skip
    _of_planes(_name)
