"""Pixel and channel shuffles, and patches (``unfold``/``fold``)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.dtypes import from_np
from ..facts.errors import canonical_dim
from ._declare import Array, guard_range, op, shape
from ._derivatives import A, derivative
from ._facts import schemas
from ._sizes import fewer, surely


def _sizes(x: Array) -> str:
    return str(list(x.shape))


@shape(
    aten="pixel_shuffle", aliases=("nn.functional.pixel_shuffle",), method=False, strides="image"
)
@schemas(". ; =out")
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """Turns channels into space, ``r = upscale_factor`` times finer in both directions.

    Shapes: (*, C * r**2, H, W) -> (*, C, H * r, W * r).

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, or channels
            that cannot be divided.

    Example:
        >>> import jtorch as torch
        >>> torch.pixel_shuffle(torch.tensor([[[1]], [[2]], [[3]], [[4]]]), 2)
        tensor([[[1, 2],
                 [3, 4]]])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(batch)
    split = input.reshape(*batch, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return split.transpose(order).reshape(*batch, c // (r * r), h * r, w * r)


derivative(
    A.pixel_shuffle, self=lambda g, upscale_factor: A.pixel_unshuffle.default(g, upscale_factor)
)


@shape(
    aten="pixel_unshuffle",
    aliases=("nn.functional.pixel_unshuffle",),
    method=False,
    strides="image",
)
@schemas(". ; =out")
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Turns space into channels, the inverse of ``pixel_shuffle`` with ``r = downscale_factor``.

    Shapes: (*, C, H * r, W * r) -> (*, C * r**2, H, W).

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, or sizes that
            cannot be divided.

    Example:
        >>> import jtorch as torch
        >>> torch.pixel_unshuffle(torch.tensor([[[1, 2], [3, 4]]]), 2).flatten()
        tensor([1, 2, 3, 4])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    for side, size, position in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, "
                f"but input.size({position})={size} is not divisible by {r}"
            )
    n = len(batch)
    split = input.reshape(*batch, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return split.transpose(order).reshape(*batch, c * r * r, h // r, w // r)


derivative(
    A.pixel_unshuffle, self=lambda g, downscale_factor: A.pixel_shuffle.default(g, downscale_factor)
)


@shape(
    aten="channel_shuffle",
    aliases=("nn.functional.channel_shuffle",),
    method=False,
    strides="image",
)
@schemas("(Tensor self, SymInt groups) -> Tensor ; =out")
def channel_shuffle(input: Array, groups: int) -> Array:
    """Interleaves ``groups`` equal groups of channels: g * c of them, seen as (g, c), are
    transposed to (c, g).

    Shapes: (N, C, *) of three dimensions at least -> the same.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer dimensions, no group, or channels that cannot be divided.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    if input.ndim <= 2:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {_sizes(input)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    n, c, *space = input.shape
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    return jnp.swapaxes(input.reshape(n, groups, c // groups, *space), 1, 2).reshape(input.shape)


derivative(
    A.channel_shuffle,
    self=lambda g, self_, groups: A.channel_shuffle.default(g, self_.shape[1] // groups),
)


@op(namespace="_C", differentiable=False, aten="one_hot")
def _one_hot(input: Array, num_classes: int) -> Array:
    """int64 rows that are 1 at the class and 0 elsewhere. The classes are checked."""
    guard_range(input, 0, None, RuntimeError, "Class values must be non-negative.")
    guard_range(
        input, None, num_classes - 1, RuntimeError, "Class values must be smaller than num_classes."
    )
    full = (*input.shape, num_classes)
    # long rows are nearly all zeros: only the places of the ones are worked out
    if not fewer(num_classes, 1 << 14):
        places = (*jnp.indices(input.shape, np.int64), input)
        return (
            jnp.zeros(full, np.int64)
            .at[places]
            .set(1, mode="promise_in_bounds", wrap_negative_indices=False)
        )
    return (lax.broadcasted_iota(np.int64, full, input.ndim) == input[..., None]).astype(np.int64)


def _pair(name: str, value: int | tuple[int, ...]) -> tuple[int, int]:
    if isinstance(value, int):
        return (value, value)
    if len(value) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return (value[0], value[1])


def _window(
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...],
    padding: int | tuple[int, ...],
    stride: int | tuple[int, ...],
):
    kernel, dilate = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    pad, step = _pair("padding", padding), _pair("stride", stride)
    for words, names, values in (
        ("kernel size", "kernel", kernel),
        ("stride", "stride", step),
        ("dilation", "dilation", dilate),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{words} should be greater than zero, but got {names}_height: {values[0]} "
                f"{names}_width: {values[1]}"
            )
    if min(pad) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {pad[0]} pad_width: {pad[1]}"
        )
    return kernel, dilate, pad, step


def _blocks(space: tuple[int, int], kernel, dilate, pad, step) -> tuple[int, int]:
    """How many positions the window has along each of the two dimensions."""
    made = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(space, kernel, dilate, pad, step, strict=True)
    ]
    return (made[0], made[1])


def _floating(kernel_name: str, x: Array) -> None:
    if x.dtype.kind in "iu":
        raise NotImplementedError(
            f"\"{kernel_name}\" not implemented for '{from_np(x.dtype).scalar_name}'"
        )


@shape(namespace="nn.functional", aten="im2col", native=False, node="Im2ColBackward0")
@schemas(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
    "Tensor ; =out"
)
def unfold(
    input: Array,
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Array:
    """Copies the sliding windows of images into columns.

    Shapes: (N, C, H, W) -> (N, C * kh * kw, L) for L window positions; without N on both sides too.

    Dtypes: floating-point and complex ones and bool, kept.

    Raises:
        RuntimeError: for more than 4 dimensions, or a window that does not fit.
        IndexError: for fewer than 3 dimensions.
        NotImplementedError: for integers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.unfold(torch.arange(6.0).reshape(1, 1, 2, 3), 2)
        tensor([[[0., 1.],
                 [1., 2.],
                 [3., 4.],
                 [4., 5.]]])
    """
    canonical_dim(2, input.ndim)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {_sizes(input)}"
        )
    kernel, dilate, pad, step = _window(kernel_size, dilation, padding, stride)
    _floating("im2col_out_cpu", input)
    x = input[None] if input.ndim == 3 else input
    n, c, h, w = x.shape
    oh, ow = _blocks((h, w), kernel, dilate, pad, step)
    if surely(lambda: oh < 1) or surely(lambda: ow < 1):
        raise RuntimeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, dilation={dilate}, "
            f"padding={pad}, calculated shape of the array of sliding blocks as ({oh}, {ow}), but "
            "its components must be at least one."
        )
    limits.check_size((n, c, h + 2 * pad[0], w + 2 * pad[1]), x.dtype.itemsize)
    x = jnp.pad(x, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])))
    # One axis after the other: kh + kw strided slices instead of kh * kw.
    rows = [
        lax.slice_in_dim(x, i * dilate[0], i * dilate[0] + (oh - 1) * step[0] + 1, step[0], axis=2)
        for i in range(kernel[0])
    ]
    x = jnp.stack(rows, axis=2)
    columns = [
        lax.slice_in_dim(x, j * dilate[1], j * dilate[1] + (ow - 1) * step[1] + 1, step[1], axis=4)
        for j in range(kernel[1])
    ]
    x = jnp.stack(columns, axis=3).reshape(n, c * kernel[0] * kernel[1], oh * ow)
    return x[0] if input.ndim == 3 else x


derivative(
    A.im2col,
    self=lambda g, self_, kernel_size, dilation, padding, stride: A.col2im.default(
        g, self_.shape[-2:], kernel_size, dilation, padding, stride
    ),
)


@shape(namespace="nn.functional", aten="col2im", native=False, node="Col2ImBackward0")
@schemas(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] "
    "padding, int[2] stride) -> Tensor ; =out"
)
def fold(
    input: Array,
    output_size: int | tuple[int, ...],
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Array:
    """Adds columns of windows back into images: the transpose of ``unfold``.

    Shapes: (N, C * kh * kw, L) for L window positions -> (N, C, *output_size); without N on both
    sides too.

    Dtypes: floating-point and complex ones and bool, kept.

    Raises:
        RuntimeError: if the sizes do not fit together.
        NotImplementedError: for integers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.fold(torch.ones(1, 2, 4), (2, 3), (1, 2))
        tensor([[[[1., 2., 1.],
                  [1., 2., 1.]]]])
    """
    out = _pair("output_size", output_size)
    kernel, dilate, pad, step = _window(kernel_size, dilation, padding, stride)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {_sizes(input)}"
        )
    x = input[None] if input.ndim == 2 else input
    n, columns, length = x.shape
    if columns % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={columns} and kernel_size={kernel}."
        )
    oh, ow = _blocks(out, kernel, dilate, pad, step)
    given = (
        f"Given output_size={out}, kernel_size={kernel}, dilation={dilate}, padding={pad}, "
        f"stride={step}"
    )
    if surely(lambda: oh * ow != length):
        raise RuntimeError(
            f"{given}, expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {oh} * {ow} = {oh * ow}, but got input.size(2)={length}."
        )
    if surely(lambda: oh < 1) or surely(lambda: ow < 1):
        raise RuntimeError(
            f"{given}, calculated shape of the array of sliding blocks as ({oh}, {ow}), which is "
            "too small (non-positive)"
        )
    _floating("col2im_out_cpu", input)
    c = columns // (kernel[0] * kernel[1])
    x = x.reshape(n, c, kernel[0], kernel[1], oh, ow)
    x = _overlap_add(x, 3, 5, out[1] + 2 * pad[1], dilate[1], step[1])
    x = _overlap_add(x, 2, 3, out[0] + 2 * pad[0], dilate[0], step[0])
    x = x[:, :, pad[0] : pad[0] + out[0], pad[1] : pad[1] + out[1]]
    return x[0] if input.ndim == 2 else x


derivative(
    A.col2im,
    self=lambda g, kernel_size, dilation, padding, stride: A.im2col.default(
        g, kernel_size, dilation, padding, stride
    ),
)


def _overlap_add(x: Array, window: int, axis: int, size: int, dilation: int, stride: int) -> Array:
    """Sums over dimension ``window``, element ``i`` of it spread along ``axis`` (to ``size``) from
    ``i * dilation`` in ``stride``s."""
    zero = jnp.zeros((), x.dtype)
    covered = (x.shape[axis] - 1) * stride + 1
    total = None
    for i in range(x.shape[window]):
        part = lax.index_in_dim(x, i, window, keepdims=False)
        start = i * dilation
        config = [(0, 0, 0)] * part.ndim
        config[axis - 1] = (start, size - start - covered, stride - 1)
        part = lax.pad(part, zero, config)
        total = part if total is None else total + part
    assert total is not None
    return total
