"""``torch.ops.quantized_decomposed``: quantising and its reverse on plain tensors, as importing
this module makes them known.

A quantised tensor is one of whole numbers here; its scale and zero point are arguments. Numbers are
rounded half to even.
"""

from __future__ import annotations

import math
from typing import Any

import jtorch as torch
from jtorch.library import Library

__all__ = ["quantized_decomposed_lib"]

quantized_decomposed_lib = Library("quantized_decomposed", "DEF")

_BOUNDS = {
    torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int16: (-(2**15), 2**15 - 1),
    torch.uint16: (0, 2**16 - 1), torch.int32: (-(2**31), 2**31 - 1),
    torch.float8_e5m2: (torch.finfo(torch.float8_e5m2).min, torch.finfo(torch.float8_e5m2).max),
    torch.float8_e4m3fn: (torch.finfo(torch.float8_e4m3fn).min,
                          torch.finfo(torch.float8_e4m3fn).max),
}  # fmt: skip
_EPS = torch.finfo(torch.float32).eps
_LEAST_SCALE = 1e-5


def _operator(schema: str) -> Any:
    """Defines an operator with the function below it as its kernel, with data and without."""

    def add(f: Any) -> Any:
        quantized_decomposed_lib.define(schema)
        quantized_decomposed_lib.impl(schema.partition("(")[0], f, "CompositeExplicitAutograd")
        return f

    return add


def _within(low: Any, high: Any, dtype: Any) -> None:
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    least, most = _BOUNDS[dtype]
    if low < least:
        raise AssertionError(
            f"quant_min out of bounds for dtype, quant_min_lower_bound: {least} quant_min: {low}"
        )
    if high > most:
        raise AssertionError(
            f"quant_max out of bounds for dtype, quant_max_upper_bound: {most} quant_max: {high}"
        )


def _single(input: Any) -> Any:
    """The input in single precision."""
    if input.dtype in (torch.float16, torch.bfloat16):
        input = input.to(torch.float32)
    if input.dtype is not torch.float32:
        raise AssertionError(
            f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}"
        )
    return input


def _of(input: Any, dtype: object) -> Any:
    if input.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")
    return input


def _one(what: str, t: torch.Tensor) -> Any:
    if t.numel() != 1:
        raise AssertionError(
            f"Expecting {what} tensor to be one element, but received : {t.numel()}"
        )
    return t.item()


# ---- whole tensors -------------------------------------------------------------------------------


@_operator(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
    "ScalarType dtype) -> Tensor"
)
def quantize_per_tensor(
    input: torch.Tensor,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: object,
) -> torch.Tensor:
    input = _single(input)
    _within(quant_min, quant_max, dtype)
    return torch.clamp(torch.round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(
        dtype
    )


@_operator(
    "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int "
    "quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor(
    input: object,
    scale: torch.Tensor,
    zero_point: torch.Tensor,
    quant_min: int,
    quant_max: int,
    dtype: object,
) -> torch.Tensor:
    return quantize_per_tensor(
        input, _one("scale", scale), _one("zero_point", zero_point), quant_min, quant_max, dtype
    )


@_operator(
    "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, "
    "Tensor quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor2(
    input: object,
    scale: object,
    zero_point: object,
    quant_min: torch.Tensor,
    quant_max: torch.Tensor,
    dtype: object,
) -> torch.Tensor:
    return quantize_per_tensor_tensor(
        input, scale, zero_point, quant_min.item(), quant_max.item(), dtype
    )


@_operator(
    "dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
    "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor(
    input: object,
    scale: float,
    zero_point: int,
    quant_min: int,
    quant_max: int,
    dtype: object,
    *,
    out_dtype: object = None,
) -> torch.Tensor:
    del quant_min, quant_max  # they say what the numbers may be, for those who match graphs
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (_of(input, dtype).to(out_dtype or torch.float32) - zero_point) * scale


@_operator(
    "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, "
    "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor(
    input: object,
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    dtype: object,
    *,
    out_dtype: object = None,
) -> torch.Tensor:
    scale, zero_point = _one("scale", scale), _one("zero_point", zero_point)
    return dequantize_per_tensor(
        input, scale, zero_point, quant_min, quant_max, dtype, out_dtype=out_dtype
    )


@_operator(
    "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor "
    "quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor2(
    input: object,
    scale: object,
    zero_point: object,
    quant_min: torch.Tensor,
    quant_max: torch.Tensor,
    dtype: object,
    *,
    out_dtype: object = None,
) -> torch.Tensor:
    return dequantize_per_tensor_tensor(
        input, scale, zero_point, quant_min.item(), quant_max.item(), dtype, out_dtype=out_dtype
    )


def _like_quantized(
    input: object,
    scale: object,
    zero_point: object,
    quant_min: object,
    quant_max: object,
    dtype: torch.dtype | None,
) -> torch.Tensor:
    del scale, zero_point, quant_min, quant_max
    return torch.empty_like(_single(input), dtype=dtype)


def _like_dequantized(
    input: object,
    scale: object,
    zero_point: object,
    quant_min: object,
    quant_max: object,
    dtype: object,
    *,
    out_dtype: Any = None,
) -> torch.Tensor:
    del scale, zero_point, quant_min, quant_max
    return torch.empty_like(_of(input, dtype), dtype=out_dtype or torch.float32)


for _name in ("tensor", "tensor2"):  # whose scales have no value there
    quantized_decomposed_lib.impl(f"quantize_per_tensor.{_name}", _like_quantized, "Meta")
    quantized_decomposed_lib.impl(f"dequantize_per_tensor.{_name}", _like_dequantized, "Meta")


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: torch.Tensor, dtype: object) -> torch.Tensor:
    return input.to(dtype)


def _extent(input: torch.Tensor, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The least and largest element, between which there is 0."""
    if input.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        raise AssertionError(
            f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}"
        )
    if not low <= 0 <= high or low == high:
        raise AssertionError("Used-specified quantization range must include 0.")
    least, most = torch.aminmax(input)
    return torch.clamp(least, max=0.0), torch.clamp(most, min=0.0)


@_operator(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType "
    "dtype) -> (Tensor, Tensor)"
)
def choose_qparams(
    input: torch.Tensor, quant_min: int, quant_max: int, eps: float, dtype: object
) -> tuple[torch.Tensor, torch.Tensor]:
    del dtype
    least, most = _extent(input, quant_min, quant_max)
    scale = torch.clamp((most - least) / float(quant_max - quant_min), min=eps)
    zero_point = torch.clamp(quant_min - torch.round(least / scale), quant_min, quant_max)
    return scale.reshape(1).to(torch.float64), zero_point.reshape(1).to(torch.int64)


@_operator(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
    "ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric(
    input: torch.Tensor, quant_min: int, quant_max: int, eps: float, dtype: object
) -> tuple[torch.Tensor, torch.Tensor]:
    least, most = _extent(input, quant_min, quant_max)
    scale = torch.clamp(torch.maximum(-least, most) / (float(quant_max - quant_min) / 2), min=eps)
    zero_point = torch.full((1,), 128 if dtype is torch.uint8 else 0, dtype=torch.int64)
    return scale.reshape(1).to(torch.float64), zero_point


# ---- rows ----------------------------------------------------------------------------------------


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(
    input: torch.Tensor, dtype: object
) -> tuple[torch.Tensor, torch.Tensor]:
    if dtype is not torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = input.abs().amax(dim=-1, keepdim=True)
    scales = (scales.float() if scales.dtype is torch.float16 else scales).clamp(
        min=_LEAST_SCALE
    ) / 127
    return scales, torch.zeros_like(scales)


@_operator(
    "choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_per_token_asymmetric(
    input: torch.Tensor, dtype: object
) -> tuple[torch.Tensor, torch.Tensor]:
    del dtype  # it is eight bits
    low, high = -128, 127
    least, most = torch.aminmax(input, dim=-1, keepdim=True)
    least, most = torch.clamp(least, max=0.0), torch.clamp(most, min=0.0)
    scale = ((most - least) / float(high - low)).clamp(min=_EPS)
    below, above = least / scale, most / scale
    zero_point = torch.where(low + below + high + above > 0, low - below, high - above)
    zero_point = torch.clamp(zero_point, low, high).round()
    return scale.to(torch.float64), zero_point.to(torch.int64)


@_operator(
    "_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)"
)
def _choose_qparams_per_token_asymmetric_impl(
    input: object, dtype: object
) -> tuple[torch.Tensor, torch.Tensor]:
    return choose_qparams_per_token_asymmetric(input, dtype)


def _per_token_quant_qparam_dim_check(input: Any, scales: Any, zero_points: Any) -> None:
    """Refuses scales and zero points that are not as many as there are tokens: rows of the last
    dimension."""
    tokens = math.prod(input.shape[:-1])
    for name, given in (("scales", scales), ("zero_points", zero_points)):
        if given.numel() != tokens:
            raise AssertionError(f"num_tokens: {tokens} {name}: {given.size()}")


@_operator(
    "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
    "quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_token(
    input: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor,
    quant_min: int,
    quant_max: int,
    dtype: object,
) -> Any:
    _within(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return (input * (1.0 / scales) + zero_points).round().clamp(quant_min, quant_max).to(dtype)


@_operator(
    "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
    "quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Any,
    scales: object,
    zero_points: Any,
    quant_min: int,
    quant_max: int,
    dtype: object,
    output_dtype: object,
) -> Any:
    del quant_min, quant_max, dtype
    return ((input - zero_points) * scales).to(output_dtype)


def _groups(input: Any, scales: Any, zero_points: Any, size: int) -> tuple[Any, Any, Any]:
    """Groups of neighbours as rows, each with its scale and zero point."""
    if size <= 1:
        raise AssertionError("group_size must be > 1")
    if size > input.shape[-1] and scales.shape[-1] == 1:
        size = input.shape[-1]
    if input.shape[-1] % size != 0:
        raise AssertionError("input.shape[-1] must be divisible by group_size")
    return (
        input.reshape(-1, size),
        scales.reshape(-1, 1),
        None if zero_points is None else zero_points.reshape(-1, 1),
    )


@_operator(
    "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, "
    "int quant_max, ScalarType dtype, int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: torch.Tensor,
    scales: torch.Tensor,
    zero_points: object,
    quant_min: int,
    quant_max: int,
    dtype: object,
    group_size: int,
) -> Any:
    rows, scales, zero_points = _groups(input, scales, zero_points, group_size)
    return (
        (rows * (1.0 / scales) + zero_points)
        .round()
        .clamp(quant_min, quant_max)
        .to(dtype)
        .reshape(input.shape)
    )


@_operator(
    "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, "
    "int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Any,
    scales: object,
    zero_points: object,
    quant_min: int,
    quant_max: int,
    dtype: object,
    group_size: int,
    output_dtype: object,
) -> Any:
    del quant_min, quant_max, dtype
    rows, scales, zero_points = _groups(input, scales, zero_points, group_size)
    wide = rows if zero_points is None else rows - zero_points
    return (wide * scales).reshape(input.shape).to(output_dtype)


# ---- channels ------------------------------------------------------------------------------------


def _along(t: Any, axis: int, ndim: int) -> Any:
    """One number for each place along an axis, to be broadcast."""
    shape = [1] * ndim
    shape[axis] = -1
    return t.reshape(shape)


@_operator(
    "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
    "quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_channel(
    input: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: object,
) -> torch.Tensor:
    input = _single(input)
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _within(quant_min, quant_max, dtype)
    scales, zero_points = _along(scales, axis, input.dim()), _along(zero_points, axis, input.dim())
    return torch.clamp(torch.round(input * (1.0 / scales)) + zero_points, quant_min, quant_max).to(
        dtype
    )


@_operator(
    "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int "
    "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_channel(
    input: Any,
    scales: object,
    zero_points: object,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: object,
    *,
    out_dtype: object = None,
) -> torch.Tensor:
    _of(input, dtype)
    if axis >= input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    _within(quant_min, quant_max, dtype)
    scales = _along(scales, axis, input.dim())
    wide = input if zero_points is None else input - _along(zero_points, axis, input.dim())
    return (wide * scales).to(out_dtype or torch.float32)
