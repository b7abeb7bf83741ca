"""The deformable convolution on arrays: its kernel reads the image at offsets that are operands."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = Any


def _read(image: Array, rows: Array, columns: Array) -> Array:
    """Bilinear samples of images (G, C, H, W) at (G, L) coordinates -> (G, C, L); outside of the
    image is 0."""
    height, width = image.shape[-2:]
    low_row, low_column = jnp.floor(rows), jnp.floor(columns)
    down, across = rows - low_row, columns - low_column
    low_row, low_column = low_row.astype(jnp.int32), low_column.astype(jnp.int32)
    flat = image.reshape(*image.shape[:2], height * width)
    # A sample that is a whole row outside gets nothing, nor does its offset.
    within = (rows > -1) & (rows < height) & (columns > -1) & (columns < width)
    total: Any = 0
    for row, part in ((low_row, 1 - down), (low_row + 1, down)):
        for column, other in ((low_column, 1 - across), (low_column + 1, across)):
            there = within & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = jnp.clip(row, 0, height - 1) * width + jnp.clip(column, 0, width - 1)
            total = (
                total
                + jnp.take_along_axis(flat, place[:, None], axis=2)
                * jnp.where(there, part * other, 0)[:, None]
            )
    return total


def deform_conv2d(
    input: Array, weight: Array, offset: Array, mask: Array, bias: Array, stride_h: int,
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
    offset_groups: int, use_mask: bool,
) -> Array:  # fmt: skip
    """The convolution.

    Shapes:
        input (N, C, H, W), weight (O, C / groups, kh, kw),
        offset (N, 2 * offset_groups * kh * kw, H', W') with a row and a column for each element of
        the kernel, mask (N, offset_groups * kh * kw, H', W') or anything without ``use_mask``,
        bias (O,) -> (N, O, H', W')
    """
    if input.ndim != 4 or offset.ndim != 4 or weight.ndim != 4:
        raise RuntimeError("input, offset and weight must have 4 dimensions")
    batch, channels, height, width = input.shape
    filters, _, kernel_h, kernel_w = weight.shape
    out_h = (height + 2 * pad_h - (dilation_h * (kernel_h - 1) + 1)) // stride_h + 1
    out_w = (width + 2 * pad_w - (dilation_w * (kernel_w - 1) + 1)) // stride_w + 1
    taps = kernel_h * kernel_w
    if weight.shape[1] * groups != channels:
        raise RuntimeError(
            f"the weight has {weight.shape[1]} channels for each of {groups} groups, the input has "
            f"{channels} channels"
        )
    if channels % offset_groups:
        raise RuntimeError(
            f"input channels ({channels}) must be a multiple of the offset groups ({offset_groups})"
        )
    if offset.shape != (batch, 2 * offset_groups * taps, out_h, out_w):
        raise RuntimeError(
            f"offset.shape is not valid: got {offset.shape} expected "
            f"{(batch, 2 * offset_groups * taps, out_h, out_w)}"
        )
    if use_mask and mask.shape != (batch, offset_groups * taps, out_h, out_w):
        raise RuntimeError(
            f"mask.shape is not valid: got {mask.shape} expected "
            f"{(batch, offset_groups * taps, out_h, out_w)}"
        )
    dtype = input.dtype
    tap_row, tap_column = jnp.divmod(jnp.arange(taps, dtype=jnp.int32), kernel_w)
    row = (tap_row * dilation_h - pad_h)[:, None] + (jnp.arange(out_h, dtype=jnp.int32) * stride_h)[
        None
    ]
    column = (tap_column * dilation_w - pad_w)[:, None] + (
        jnp.arange(out_w, dtype=jnp.int32) * stride_w
    )[None]
    moved = offset.reshape(batch * offset_groups, taps, 2, out_h, out_w)
    rows = (moved[:, :, 0] + row.astype(dtype)[None, :, :, None]).reshape(batch * offset_groups, -1)
    columns = (moved[:, :, 1] + column.astype(dtype)[None, :, None, :]).reshape(
        batch * offset_groups, -1
    )
    read = _read(
        input.reshape(batch * offset_groups, channels // offset_groups, height, width),
        rows,
        columns,
    )
    if use_mask:
        read = read * mask.reshape(batch * offset_groups, 1, -1)
    read = read.reshape(batch, groups, channels // groups, taps, out_h * out_w)
    kernel = weight.reshape(groups, filters // groups, channels // groups, taps)
    out = jnp.einsum("ngctl,goct->ngol", read, kernel).reshape(batch, filters, out_h, out_w)
    return out + bias.reshape(1, filters, 1, 1)


def deform_conv2d_backward(
    grad: Array, input: Array, weight: Array, offset: Array, mask: Array, bias: Array,
    stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int,
    groups: int, offset_groups: int, use_mask: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients with respect to input, weight, offset, mask and bias."""

    settings = (
        stride_h,
        stride_w,
        pad_h,
        pad_w,
        dilation_h,
        dilation_w,
        groups,
        offset_groups,
        use_mask,
    )

    def run(input: Array, weight: Array, offset: Array, mask: Array, bias: Array) -> Array:
        return deform_conv2d(input, weight, offset, mask, bias, *settings)

    return jax.vjp(run, input, weight, offset, mask, bias)[1](grad)
