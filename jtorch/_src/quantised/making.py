"""How quantised tensors are made, as the functions of ``composites/quantising.py`` ask for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import Tensor
from ..bind.everything import T
from ..facts import dtypes, layouts
from ..facts.errors import canonical_dim
from .methods import near as near
from .methods import stored
from .tensor import (
    QUANTISED,
    ManyGrids,
    OneGrid,
    QuantizedTensor,
    could_not_run,
    created,
    enter,
    is_quantised,
    rounded,
)

_LEAST = 6.1e-5


def _checked(input: Any, name: str) -> Tensor:
    if is_quantised(input):
        raise could_not_run(name)
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {input.dtype.scalar_name}")
    return input.detach()


def _within(name: str, zero: int, kind: dtypes.dtype) -> None:
    bounds = dtypes.iinfo(kind)
    for wrong, word in ((zero > bounds.max, "above upper"), (zero < bounds.min, "below lower")):
        if wrong:
            raise RuntimeError(f"{name} zero_point {zero} is {word} bound.")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: dtypes.dtype) -> Any:
    """One grid for a tensor; for each tensor of a list, one from each of the others."""
    if isinstance(input, list | tuple):
        return tuple(
            quantize_per_tensor(x, scale[i], zero_point[i], dtype) for i, x in enumerate(input)
        )
    kind = stored(dtype)
    values = _checked(input, "quantize_per_tensor")
    scale = float(scale)
    zero = int(zero_point)
    _within("quantize_tensor_per_tensor_affine", zero, kind)
    found = rounded(values, OneGrid(scale, zero), kind)
    return created(found._ints, found._grid)


def quantize_per_channel(
    input: Any, scales: Tensor, zero_points: Tensor, axis: int, dtype: dtypes.dtype
) -> Any:
    """A grid for each index of a dimension."""
    kind = stored(dtype)
    values = _checked(input, "quantize_per_channel")
    grid = channels(values, scales, zero_points, axis)
    if not zero_points.dtype.is_floating_point:
        for zero in grid.zeros.tolist():
            _within("quantize_tensor_per_channel_affine", zero, kind)
    found = rounded(values, grid, kind)
    return created(found._ints, found._grid)


def channels(of: Tensor, scales: Tensor, zero_points: Tensor, axis: int) -> ManyGrids:
    """The grids of a tensor's channels.

    Raises:
        RuntimeError: if there are not as many as channels.
    """
    if scales.dim() != 1 or zero_points.dim() != 1:
        which = "scale" if scales.dim() != 1 else "zero_points"
        raise RuntimeError(f"{which} tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    axis = canonical_dim(axis, of.dim())
    if of.shape[axis] != scales.numel():
        raise RuntimeError(
            f"length of scales must equal to channel, expected {of.shape[axis]} got, "
            f"{scales.numel()}"
        )
    floating = zero_points.dtype.is_floating_point
    scales = scales.detach().to(dtypes.float32 if floating else dtypes.float64)
    zeros = zero_points.detach().to(dtypes.float32 if floating else dtypes.int64)
    return ManyGrids(scales, zeros, axis)


def chosen(low: float, high: float, least: int, most: int, reduce: bool) -> tuple[float, int]:
    """Scale and zero point for a range of numbers, which is widened to 0, on a grid from ``least``
    to ``most``; on half of it for ``reduce``."""
    if reduce:
        least, most = math.trunc(least / 2), math.trunc(most / 2)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (most - least)
    single = float(T.tensor(scale, dtype=dtypes.float32).item())
    if single == 0 or 1 / single > 3.4028234663852886e38:
        scale = 0.1
    if scale < _LEAST:
        given, scale = scale, _LEAST
        if low == 0:
            high = scale * (most - least)
        elif high == 0:
            low = -scale * (most - least)
        else:
            low, high = low * (scale / given), high * (scale / given)
    from_low, from_high = least - low / scale, most - high / scale
    low_error = abs(least) + abs(low / scale)
    high_error = abs(most) + abs(high / scale)
    zero = from_low if low_error < high_error else from_high
    return scale, int(min(max(round(zero), least), most)) if math.isfinite(zero) else least


def quantize_per_tensor_dynamic(input: Any, dtype: dtypes.dtype, reduce_range: bool) -> Any:
    """One grid that holds the range of a tensor."""
    kind = stored(dtype)
    if kind is dtypes.int32:
        raise RuntimeError(
            "dtype QInt32 not supported in quantize_per_tensor_dynamic, only QInt8 and QUInt8 are"
        )
    values = _checked(input, "quantize_per_tensor_dynamic")
    low, high = (float(x) for x in T.aminmax(values)) if values.numel() else (0.0, 0.0)
    bounds = dtypes.iinfo(kind)
    scale, zero = chosen(low, high, bounds.min, bounds.max, reduce_range)
    return quantize_per_tensor(values, scale, zero, dtype)


@enter("_choose_qparams_per_tensor")
def choose_per_tensor(input: Any, reduce_range: bool = False) -> tuple[float, int]:
    """The grid of eight bits for the range of a tensor."""
    if type(input) is QuantizedTensor:
        input = input.dequantize()
    low, high = (float(x) for x in (T.min(input), T.max(input)))
    return chosen(low, high, 0, 255, reduce_range)


def make_per_tensor(input: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    """The quantised tensor of a copy of integers."""
    return created(_integers(input).clone(), OneGrid(float(scale), int(zero_point)))


def make_per_channel(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int
) -> QuantizedTensor:
    """The same with a grid for each channel."""
    return created(_integers(input).clone(), channels(input, scale, zero_point, axis))


def _integers(x: Tensor) -> Tensor:
    if x.dtype not in QUANTISED:
        raise NotImplementedError(
            f"\"per_tensor_affine_qtensor\" not implemented for '{x.dtype.scalar_name}'"
        )
    return x


def empty_affine(size: Sequence[int], scale: float, zero_point: int, options: Any) -> Any:
    """A tensor of undefined elements on one grid."""
    kind = stored(options.pop("dtype", None) or dtypes.ABSENT["quint8"])
    return created(_empty(size, kind, options), OneGrid(float(scale), int(zero_point)))


def empty_per_channel(
    size: Sequence[int], scales: Tensor, zero_points: Tensor, axis: int, options: Any
) -> Any:
    """The same with a grid for each channel."""
    kind = stored(options.pop("dtype", None) or dtypes.ABSENT["quint8"])
    ints = _empty(size, kind, options)
    return created(ints, channels(ints, scales, zero_points, axis))


def _empty(size: Sequence[int], kind: dtypes.dtype, options: Any) -> Tensor:
    layout = options.pop("layout", None)
    if layout not in (None, layouts.strided):
        raise RuntimeError("quantized tensors are strided")
    given = {n: x for n, x in options.items() if x not in (None, False)}
    return T.empty(tuple(size), dtype=kind, **given)
