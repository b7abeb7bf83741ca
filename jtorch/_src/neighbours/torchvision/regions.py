"""Pooling over regions of feature maps, on arrays: ``roi_align``, ``roi_pool`` and the
position-sensitive ones.

``rois (K, 5)`` are an image's number and a box ``x1, y1, x2, y2``. Along each axis what a cell of
the result takes from a row of the map is a vector of weights, since bilinear samples, and means
over rectangles, are products of an axis each. Regions are gone through in chunks: the maps of all
of them at once may not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Array = Any
#: So many elements of a chunk's largest array at most.
_CHUNK = 1 << 22


def _check(input: Array, rois: Array, name: str = "input") -> None:
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise RuntimeError("rois must have shape as Tensor[K, 5]")
    if input.dtype != rois.dtype:
        raise RuntimeError(
            f"Expected tensor for {name} to have the same type as tensor for rois; but "
            f"{input.dtype} does not equal {rois.dtype}"
        )


def _channels(input: Array, pooled_height: int, pooled_width: int) -> int:
    if input.shape[1] % (pooled_height * pooled_width):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return input.shape[1] // (pooled_height * pooled_width)


def _mapping(count: int, channels: int, height: int, width: int) -> Array:
    """Which channel of the input each cell of a position-sensitive result is taken from."""
    one = jnp.arange(channels * height * width, dtype=jnp.int32).reshape(1, channels, height, width)
    return jnp.broadcast_to(one, (count, channels, height, width))


def _each(function: Callable[..., object], rois: Array, size: int) -> Any:
    """The function of one region, for all of them; ``size`` elements are the most that one
    needs."""
    count = rois.shape[0]
    chunk = max(1, min(count, _CHUNK // max(size, 1)))
    return (
        jax.vmap(function)(rois)
        if chunk >= count
        else jax.lax.map(function, rois, batch_size=chunk)
    )


def _rounded(x: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    return (jnp.sign(x) * jnp.floor(jnp.abs(x) + x.dtype.type(0.5))).astype(jnp.int32)


# ---- bilinear samples ----------------------------------------------------------------------------


def _corners(at: Array, size: int) -> tuple[Array, Array, Array, Array]:
    """The two rows that a coordinate lies between, and their weights: none outside of the map."""
    inside = (at >= -1) & (at <= size)
    at = jnp.clip(at, 0, size - 1)
    low = jnp.floor(at)
    part = at - low
    row = jnp.where(inside, low, 0).astype(jnp.int32)
    return (
        row,
        jnp.minimum(row + 1, size - 1),
        jnp.where(inside, 1 - part, 0),
        jnp.where(inside, part, 0),
    )


def _samples(start: Array, cell: Array, cells: int, number: int) -> Array:
    """Coordinates ``(cells, number)`` of the samples of each cell."""
    index = jnp.arange(cells, dtype=start.dtype)[:, None]
    inner = jnp.arange(number, dtype=start.dtype)[None] + start.dtype.type(0.5)
    return start + index * cell + inner * cell / start.dtype.type(number)


def _spread(low: Array, high: Array, near: Array, far: Array, size: int) -> Array:
    """Two rows with a weight each as weights of all rows, along a new last axis."""
    rows = [
        jax.nn.one_hot(row, size, dtype=near.dtype) * weight[..., None]
        for row, weight in ((low, near), (high, far))
    ]
    return rows[0] + rows[1]


def _weights(start: Array, length: Array, cells: int, size: int, number: int) -> Array:
    """Weights ``(cells, size)`` of the mean over a cell's samples: ``number`` of them, or one for
    each unit of length."""
    cell = length / start.dtype.type(cells)
    if number > 0:
        samples = _samples(start, cell, cells, number)
        low, high, near, far = _corners(samples, size)
        return _spread(low, high, near, far, size).mean(1)
    many = jnp.ceil(cell)
    index = jnp.arange(cells, dtype=start.dtype)

    def add(state: tuple[Array, Array]) -> tuple[Array, Array]:
        i, total = state
        low, high, near, far = _corners(
            start + index * cell + (i + start.dtype.type(0.5)) * cell / many, size
        )
        return i + 1, total + _spread(low, high, near, far, size)

    zero = jnp.zeros((), start.dtype)
    _, total = jax.lax.while_loop(
        lambda state: state[0] < many, add, (zero, jnp.zeros((cells, size), start.dtype))
    )
    return total / many


def roi_align(
    input: Array,
    rois: Array,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Array:
    """Means of bilinear samples: input (N, C, H, W) -> (K, C, pooled_height, pooled_width)."""
    _check(input, rois)
    _, channels, height, width = input.shape
    dtype = input.dtype
    offset = dtype.type(0.5 if aligned else 0.0)

    def axes(roi: Array) -> tuple[Array, Array, Array, Array]:
        x1, y1, x2, y2 = [roi[i] * dtype.type(spatial_scale) - offset for i in (1, 2, 3, 4)]
        tall, wide = y2 - y1, x2 - x1
        if not aligned:
            tall, wide = jnp.maximum(tall, 1), jnp.maximum(wide, 1)
        return y1, x1, tall, wide

    def gathered(roi: Array) -> Array:
        y1, x1, tall, wide = axes(roi)
        image = input[roi[0].astype(jnp.int32)]
        rows = _corners(
            _samples(y1, tall / dtype.type(pooled_height), pooled_height, sampling_ratio).reshape(
                -1
            ),
            height,
        )
        columns = _corners(
            _samples(x1, wide / dtype.type(pooled_width), pooled_width, sampling_ratio).reshape(-1),
            width,
        )
        total: Any = 0
        for row, down in ((rows[0], rows[2]), (rows[1], rows[3])):
            for column, across in ((columns[0], columns[2]), (columns[1], columns[3])):
                total = (
                    total
                    + image[:, row[:, None], column[None]] * (down[:, None] * across[None])[None]
                )
        return total.reshape(
            channels, pooled_height, sampling_ratio, pooled_width, sampling_ratio
        ).mean((2, 4))

    def weighted(roi: Array) -> Array:
        y1, x1, tall, wide = axes(roi)
        down = _weights(y1, tall, pooled_height, height, 0)
        across = _weights(x1, wide, pooled_width, width, 0)
        part = jnp.einsum("chw,qw->chq", input[roi[0].astype(jnp.int32)], across)
        # A region without extent has no samples, and the mean of none is 0 here.
        return (
            jnp.nan_to_num(jnp.einsum("chq,ph->cpq", part, down))
            if aligned
            else jnp.einsum("chq,ph->cpq", part, down)
        )

    if sampling_ratio > 0:
        return _each(gathered, rois, channels * pooled_height * pooled_width * sampling_ratio**2)
    return _each(weighted, rois, channels * height * width)


def _transposed(function: Callable[..., object], like: Array, grad: Array) -> Array:
    """The gradient of a linear function of a map."""
    return jax.vjp(function, like)[1](grad)[0]


def _zeros(grad: Array, *sizes: int) -> Array:
    return jnp.zeros(sizes, grad.dtype)


def roi_align_backward(
    grad: Array, rois: Array, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Array:  # fmt: skip
    """The gradient of ``roi_align`` with respect to the map."""
    _check(grad, rois, "grad")
    like = _zeros(grad, batch_size, channels, height, width)
    return _transposed(
        lambda x: roi_align(
            x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned
        ),
        like,
        grad,
    )


def _ps(
    input: Array,
    rois: Array,
    pooled_height: int,
    pooled_width: int,
    weights: Callable[[Array], tuple[Array, Array]],
) -> Array:
    """Each cell from a channel of its own, with weights ``(cells, size)`` along both axes."""
    _, channels, height, width = input.shape
    maps = input.reshape(
        -1,
        _channels(input, pooled_height, pooled_width),
        pooled_height,
        pooled_width,
        height,
        width,
    )

    def one(roi: Array) -> Array:
        down, across = weights(roi)
        part = jnp.einsum("cpqhw,qw->cpqh", maps[roi[0].astype(jnp.int32)], across)
        return jnp.einsum("cpqh,ph->cpq", part, down)

    return _each(one, rois, channels * height * width)


def _ps_align(
    input: Array,
    rois: Array,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> Array:
    def weights(roi: Array) -> tuple[Array, Array]:
        x1, y1, x2, y2 = [
            roi[i] * input.dtype.type(spatial_scale) - input.dtype.type(0.5) for i in (1, 2, 3, 4)
        ]
        down = _weights(y1, y2 - y1, pooled_height, input.shape[2], sampling_ratio)
        return down, _weights(x1, x2 - x1, pooled_width, input.shape[3], sampling_ratio)

    return _ps(input, rois, pooled_height, pooled_width, weights)


def ps_roi_align(
    input: Array,
    rois: Array,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Array, Array]:
    """As ``roi_align``, each cell from its own channel; and which it was, int32."""
    _check(input, rois)
    channels = _channels(input, pooled_height, pooled_width)
    out = _ps_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio)
    return out, _mapping(rois.shape[0], channels, pooled_height, pooled_width)


def ps_roi_align_backward(
    grad: Array, rois: Array, channel_mapping: Array, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int, width: int,
) -> Array:  # fmt: skip
    """The gradient of ``ps_roi_align`` with respect to the map."""
    del channel_mapping
    _check(grad, rois, "grad")
    like = _zeros(grad, batch_size, channels, height, width)
    return _transposed(
        lambda x: _ps_align(x, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio),
        like,
        grad,
    )


# ---- rectangles ----------------------------------------------------------------------------------


def _bounds(start: Array, length: Array, cells: int, last: int, dtype: Any) -> tuple[Array, Array]:
    """First row and row after the last of each cell, within 0 to ``last``."""
    cell = length.astype(dtype) / dtype.type(cells)
    index = jnp.arange(cells, dtype=dtype)
    low = jnp.floor(index * cell).astype(jnp.int32) + start
    high = jnp.ceil((index + 1) * cell).astype(jnp.int32) + start
    return jnp.clip(low, 0, last), jnp.clip(high, 0, last)


def _ps_pool(
    input: Array,
    rois: Array,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    short: int,
) -> Array:
    def along(start: Array, end: Array, cells: int, size: int) -> Array:
        low, high = _bounds(start, jnp.maximum(end - start, 1), cells, size - short, input.dtype)
        rows = jnp.arange(size, dtype=jnp.int32)[None]
        inside = (rows >= low[:, None]) & (rows < high[:, None])
        return inside.astype(input.dtype) / jnp.maximum(high - low, 1)[:, None].astype(input.dtype)

    def weights(roi: Array) -> tuple[Array, Array]:
        x1, y1, x2, y2 = [_rounded(roi[i] * input.dtype.type(spatial_scale)) for i in (1, 2, 3, 4)]
        return along(y1, y2, pooled_height, input.shape[2]), along(
            x1, x2, pooled_width, input.shape[3]
        )

    return _ps(input, rois, pooled_height, pooled_width, weights)


def ps_roi_pool(
    input: Array, rois: Array, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Array, Array]:
    """Means over rectangles, each cell from its own channel; and which it was, int32.

    As in torchvision the last row and column of the map are in no rectangle, but get a gradient.
    """
    _check(input, rois)
    channels = _channels(input, pooled_height, pooled_width)
    out = _ps_pool(input, rois, spatial_scale, pooled_height, pooled_width, 1)
    return out, _mapping(rois.shape[0], channels, pooled_height, pooled_width)


def ps_roi_pool_backward(
    grad: Array, rois: Array, channel_mapping: Array, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Array:  # fmt: skip
    """The gradient of ``ps_roi_pool`` with respect to the map."""
    del channel_mapping
    _check(grad, rois, "grad")
    like = _zeros(grad, batch_size, channels, height, width)
    return _transposed(
        lambda x: _ps_pool(x, rois, spatial_scale, pooled_height, pooled_width, 0), like, grad
    )


def roi_pool(
    input: Array, rois: Array, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Array, Array]:
    """Maxima over rectangles, and where in the map they are, int32: -1 for a rectangle without
    elements, whose maximum is 0."""
    _check(input, rois)
    _, channels, height, width = input.shape
    lowest = jnp.finfo(input.dtype).min
    rows, columns = jnp.arange(height, dtype=jnp.int32), jnp.arange(width, dtype=jnp.int32)

    def one(roi: Array) -> tuple[Array, Array]:
        x1, y1, x2, y2 = [_rounded(roi[i] * input.dtype.type(spatial_scale)) for i in (1, 2, 3, 4)]
        top, bottom = _bounds(y1, jnp.maximum(y2 - y1 + 1, 1), pooled_height, height, input.dtype)
        left, right = _bounds(x1, jnp.maximum(x2 - x1 + 1, 1), pooled_width, width, input.dtype)
        across = (columns[None] >= left[:, None]) & (columns[None] < right[:, None])
        down = (rows[None] >= top[:, None]) & (rows[None] < bottom[:, None])
        image = input[roi[0].astype(jnp.int32)][:, :, None]  # (C, H, 1, W)
        in_row = jnp.where(across[None, None], image, lowest)
        best_in_row, column = in_row.max(-1), in_row.argmax(-1)  # (C, H, pooled_width)
        # (C, pooled_height, H, pooled_width)
        candidates = jnp.where(down[None, :, :, None], best_in_row[:, None], lowest)
        # the first row that has the maximum, as the first element in order
        best, row = candidates.max(2), candidates.argmax(2)
        chosen = jnp.take_along_axis(column, row, axis=1).astype(jnp.int32)
        empty = ((bottom <= top)[:, None] | (right <= left)[None])[None]
        return jnp.where(empty, 0, best).astype(input.dtype), jnp.where(
            empty, -1, row.astype(jnp.int32) * width + chosen
        ).astype(jnp.int32)

    return _each(one, rois, channels * height * (width + pooled_height) * pooled_width)


def roi_pool_backward(
    grad: Array, rois: Array, argmax: Array, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Array:  # fmt: skip
    """The gradient of ``roi_pool`` with respect to the map, from where the maxima were."""
    del spatial_scale, pooled_height, pooled_width
    _check(grad, rois, "grad")
    flat = _zeros(grad, batch_size, channels, height * width)
    image = rois[:, 0].astype(jnp.int32)[:, None, None, None]
    channel = jnp.arange(channels, dtype=jnp.int32)[None, :, None, None]
    place = jnp.maximum(argmax, 0).astype(jnp.int32)
    return (
        flat.at[image, channel, place]
        .add(jnp.where(argmax < 0, 0, grad))
        .reshape(batch_size, channels, height, width)
    )
