"""Numbers of few bits with a scale and a zero point: how they are made, and products of them.

Products are added up exactly; scaling and rounding follow PyTorch's kernels step by step, so that
the integers come out the same.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Dtype, Number, op

_F, _D = np.float32, np.float64
#: More steps than any zero point takes back.
_FAR = 1 << 20
#: The smallest scale that is not made larger.
_LEAST = 6.1e-5
#: Products of eight bits with eight bits that single precision adds up without rounding.
_EXACT = (1 << 24) // (255 * 128)


def _placed(steps: Array, zero_point: Array, dtype: Dtype) -> Array:
    """Whole steps from the zero point, saturated."""
    bounds = np.iinfo(dtype)
    near = jnp.minimum(jnp.where(steps >= -_FAR, steps, np.float32(-_FAR)), np.float32(_FAR))
    found = near + zero_point.astype(_F)
    return jnp.clip(found, bounds.min, bounds.max).astype(dtype)


@op(namespace="_C", differentiable=False)
def _quantize_affine(
    input: Array,
    scale: Array | Number,
    zero_point: Array | Number,
    dtype: Dtype,
    after: bool = False,
) -> Array:
    """The integers of numbers: multiplied by the reciprocal of the scale, shifted and rounded half
    to even; ``after``: rounded before they are shifted, as PyTorch's vectorised kernels do it."""
    inverse = 1 / jnp.asarray(scale).astype(_F)
    zero_point = jnp.asarray(zero_point)
    if after:
        return _placed(jnp.rint(input * inverse), zero_point, dtype)
    if zero_point.dtype.kind == "f":
        inverse = jnp.where(jnp.isinf(inverse), np.float32(1), inverse)
    bounds = np.iinfo(dtype)
    found = jnp.rint(input * inverse + zero_point.astype(_F))
    if bounds.bits == 32:
        found = found.astype(_D)
    low = np.asarray(bounds.min, found.dtype)
    return jnp.minimum(jnp.where(found >= low, found, low), bounds.max).astype(dtype)


def _floats(input: Array, scale: Array, zero_point: Array, fused: bool) -> Array:
    scale, zero_point = jnp.asarray(scale), jnp.asarray(zero_point)
    if fused:  # as a multiplication and addition rounded once
        single = scale.astype(_F)
        shift = (single * -zero_point.astype(_F)).astype(_D)
        return (input.astype(_D) * single.astype(_D) + shift).astype(_F)
    if zero_point.dtype.kind == "f":
        return (input.astype(_F) - zero_point.astype(_F)) * scale.astype(_F)
    kind = np.int64 if input.dtype == np.int32 else np.int32
    return (input.astype(kind) - zero_point.astype(kind)).astype(_F) * scale.astype(_F)


@op(namespace="_C", differentiable=False)
def _dequantize_affine(
    input: Array, scale: Array | Number, zero_point: Array | Number, fused: bool = False
) -> Array:
    """The numbers that integers stand for; ``fused`` as PyTorch's vectorised kernels compute
    them."""
    return _floats(input, scale, zero_point, fused)


def _matrix_product(a: Array, b: Array) -> Array:
    """``a @ b.T`` of whole numbers for any leading dimensions of ``a``, exact, in single
    precision."""
    found = lax.dot_general(
        a.astype(_D),
        b.astype(_D),
        (((a.ndim - 1,), (1,)), ((), ())),
        precision=lax.Precision.HIGHEST,
    )
    return found.astype(_F)


def _centred(weight: Array, zero: Array) -> Array:
    """A weight's integers from their zero points, one or one for each of the first dimension."""
    zero = jnp.asarray(zero)
    return weight.astype(np.int32) - zero.astype(np.int32).reshape((-1,) + (1,) * (weight.ndim - 1))


def _requantised(
    total: Array,
    shape: tuple[int, ...],
    scales: tuple[Array, Array, Array],
    bias: Array | None,
    zero: Array,
    low_is_zero: bool,
    shifted: bool,
    dtype: Dtype,
) -> Array:
    """Sums of products as integers of another scale. ``shifted``: rounded after the zero point was
    added, as oneDNN does it; FBGEMM adds it afterwards."""
    step, weight_step, out = (jnp.asarray(s).astype(_F) for s in scales)
    product = (step * weight_step).reshape(
        shape if jnp.ndim(weight_step) and weight_step.shape != (1,) else (1,) * len(shape)
    )
    zero = jnp.asarray(zero).astype(_F)
    bounds = np.iinfo(dtype)
    if shifted:
        found = total * product
        if bias is not None:
            found = found + bias.astype(_F).reshape(shape)
        found = jnp.rint(found * (1 / out) + zero)
        low = zero if low_is_zero else jnp.float32(bounds.min)
        return jnp.clip(found, low, bounds.max).astype(dtype)
    if bias is not None:
        # one scale is multiplied by, several are divided by
        bias = bias.astype(_F).reshape(shape)
        total = total + (bias / product if product.size > 1 else bias * (1 / product))
    found = _placed(jnp.rint(total * (product / out)), zero, dtype)
    return jnp.maximum(found, zero.astype(dtype)) if low_is_zero else found


@op(namespace="_C", differentiable=False)
def _quantized_linear(
    input: Array,
    scale: Array | Number,
    zero_point: Array | Number,
    weight: Array,
    weight_scale: Array | Number,
    weight_zero: Array | Number,
    bias: Array | None,
    out_scale: Array | Number,
    out_zero: Array | Number,
    relu: bool,
    shifted: bool,
) -> Array:
    """``input @ weight.T + bias`` of integers, as integers of another scale."""
    a = input.astype(np.int32) - jnp.asarray(zero_point).astype(np.int32)
    total = _matrix_product(a, _centred(weight, weight_zero))
    shape = (1,) * (input.ndim - 1) + (-1,)
    scales = (scale, weight_scale, out_scale)
    return _requantised(total, shape, scales, bias, out_zero, relu, shifted, input.dtype)


def _grid_of(input: Array, reduce: bool) -> tuple[Array, Array]:
    """Scale and zero point of eight bits for the range of numbers and 0; seven for ``reduce``."""
    high_number = 127 if reduce else 255
    low = jnp.minimum(jnp.min(input, initial=0.0), 0).astype(_D)
    high = jnp.maximum(jnp.max(input, initial=0.0), 0).astype(_D)
    scale = (high - low) / high_number
    nothing = (scale.astype(_F) == 0) | jnp.isinf(1 / scale.astype(_F))
    scale = jnp.where(nothing, 0.1, scale)
    small = scale < _LEAST
    given, scale = scale, jnp.where(small, _LEAST, scale)
    low = jnp.where(small & (low != 0), jnp.where(high == 0, -scale * high_number,
                                                  low * (scale / given)), low)  # fmt: skip
    high = jnp.where(small & (high != 0), jnp.where(low == 0, scale * high_number,
                                                    high * (scale / given)), high)  # fmt: skip
    from_low, from_high = -low / scale, high_number - high / scale
    low_error = jnp.abs(low / scale)
    high_error = high_number + jnp.abs(high / scale)
    zero = jnp.where(low_error < high_error, from_low, from_high)
    return scale, jnp.clip(jnp.rint(zero), 0, high_number)


def _dynamic(input: Array, reduce: bool) -> tuple[Array, Array, Array]:
    """Numbers as integers from their zero point, with the scale."""
    scale, zero = _grid_of(input, reduce)
    placed = jnp.rint(input.astype(_F) * (1 / scale.astype(_F)) + zero.astype(_F))
    whole = jnp.minimum(jnp.where(placed >= 0, placed, np.float32(0)), 255).astype(np.int32)
    return whole - zero.astype(np.int32), scale.astype(_F), zero


def _scaled(
    total: Array, product: Array, shape: tuple[int, ...], bias: Array | None, relu: bool
) -> Array:
    """Sums of products as floats, with a bias, rounded once."""
    product = product.reshape(shape if jnp.ndim(product) and product.size > 1 else ()).astype(_D)
    found = total.astype(_D) * product
    if bias is not None:
        found = found + bias.astype(_F).astype(_D).reshape(shape)
    found = found.astype(_F)
    return jnp.maximum(found, 0) if relu else found


@op(namespace="_C", differentiable=False)
def _quantized_linear_dynamic(
    input: Array,
    weight: Array,
    weight_scale: Array | Number,
    weight_zero: Array | Number,
    bias: Array | None,
    reduce: bool,
    relu: bool,
) -> Array:
    """``input @ weight.T + bias``, where ``input`` is rounded to eight bits by its own range."""
    a, scale, _ = _dynamic(input, reduce)
    total = _matrix_product(a, _centred(weight, weight_zero))
    product = scale * jnp.asarray(weight_scale).astype(_F)
    return _scaled(total, product, (1,) * (input.ndim - 1) + (-1,), bias, relu)


def _windows(
    a: Array,
    weight: Array,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Array:
    """The convolution of whole numbers, exact, in single precision: over so few channels at a time
    that nothing is rounded."""
    spatial = "DHW"[3 - len(stride) :]
    numbers = lax.conv_dimension_numbers(
        a.shape, weight.shape, (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}")
    )

    def part(a: Array, weight: Array) -> Array:
        return lax.conv_general_dilated(
            a.astype(_F),
            weight.astype(_F),
            stride,
            [(p, p) for p in padding],
            rhs_dilation=dilation,
            dimension_numbers=numbers,
            feature_group_count=groups,
            precision=lax.Precision.HIGHEST,
        )

    inner = weight.shape[1]
    window = math.prod(weight.shape[2:])
    step = max(_EXACT // window, 1)
    if inner <= step:
        return part(a, weight)
    split = a.reshape(a.shape[0], groups, inner, *a.shape[2:])
    found = None
    for start in range(0, inner, step):
        end = min(start + step, inner)
        some = lax.slice_in_dim(split, start, end, axis=2).reshape(
            a.shape[0], groups * (end - start), *a.shape[2:]
        )
        there = part(some, lax.slice_in_dim(weight, start, end, axis=1)).astype(np.int32)
        found = there if found is None else found + there
    assert found is not None
    return found.astype(_F)


@op(namespace="_C", differentiable=False)
def _quantized_conv(
    input: Array,
    scale: Array | Number,
    zero_point: Array | Number,
    weight: Array,
    weight_scale: Array | Number,
    weight_zero: Array | Number,
    bias: Array | None,
    out_scale: Array | Number,
    out_zero: Array | Number,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    relu: bool,
    shifted: bool,
) -> Array:
    """A convolution of integers, as integers of another scale."""
    a = input.astype(np.int32) - jnp.asarray(zero_point).astype(np.int32)
    total = _windows(a, _centred(weight, weight_zero), stride, padding, dilation, groups)
    shape = (1, -1) + (1,) * (input.ndim - 2)
    scales = (scale, weight_scale, out_scale)
    return _requantised(total, shape, scales, bias, out_zero, relu, shifted, input.dtype)


@op(namespace="_C", differentiable=False)
def _quantized_conv_dynamic(
    input: Array,
    weight: Array,
    weight_scale: Array | Number,
    weight_zero: Array | Number,
    bias: Array | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    reduce: bool,
) -> Array:
    """A convolution where ``input`` is rounded to eight bits by its own range."""
    a, scale, _ = _dynamic(input, reduce)
    total = _windows(a, _centred(weight, weight_zero), stride, padding, dilation, groups)
    product = scale * jnp.asarray(weight_scale).astype(_F)
    return _scaled(total, product, (1, -1) + (1,) * (input.ndim - 2), bias, False)
