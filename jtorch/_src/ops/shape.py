"""Rearranging elements: flips, rolls, triangles, diagonals, pixel and channel shuffles, patches (``unfold``/``fold``)."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.dtypes import from_np
from ..facts.errors import canonical_dim, canonical_dims
from ._declare import Array, guard_range, op, reduction, shape
from ._facts import schemas
from ._numeric import is_bool, is_float, is_integral, scalar_name


def _sizes(x: Array) -> str:
    return str(list(x.shape))


@shape(varargs="dims", aten="flip", strides="preserve")
@schemas(". ; =out")
def flip(input: Array, dims: tuple[int, ...]) -> Array:
    """Reverses the order of elements along ``dims``.

    Args:
        input: the tensor.
        dims: the dimensions to reverse; as a method also spread.
        kwargs: as a method: ``dims`` by name.

    Shapes: that of ``input``.

    Dtypes: any, kept.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.flip(torch.tensor([[1, 2], [3, 4]]), (0, 1))
        tensor([[4, 3],
                [2, 1]])
    """
    return lax.rev(input, canonical_dims(tuple(dims), input.ndim, empty_is_all=False))


@shape(aten="fliplr", strides="preserve", node="FlipBackward0", implicit=True)
def fliplr(input: Array) -> Array:
    """Reverses the second dimension.

    Shapes: that of ``input``, of two dimensions at least.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return lax.rev(input, (1,))


@shape(aten="flipud", strides="preserve", node="FlipBackward0", implicit=True)
def flipud(input: Array) -> Array:
    """Reverses the first dimension.

    Shapes: that of ``input``, of one dimension at least.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for a 0-dimensional tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return lax.rev(input, (0,))


@shape(aten="rot90", strides="turned")
@schemas(". ; =out")
def rot90(input: Array, k: int = 1, dims: tuple[int, ...] = (0, 1)) -> Array:
    """Rotates by ``k`` quarter turns in the plane of ``dims``, from the first towards the second.

    Shapes: that of ``input`` with the two sizes exchanged for odd ``k``.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if ``dims`` are not two different dimensions, or ``input`` has fewer than two.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    a, b = canonical_dim(dims[0], input.ndim), canonical_dim(dims[1], input.ndim)
    turns = k % 4
    if turns == 0:
        return input
    if turns == 2:
        return lax.rev(input, (a, b))
    turned = jnp.swapaxes(input, a, b)
    return lax.rev(turned, (a,) if turns == 1 else (b,))


@shape(aten="roll", strides="image")
@schemas("(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor ; =out")
def roll(input: Array, shifts: int | tuple[int, ...], dims: int | tuple[int, ...] | None = ()) -> Array:
    """Moves elements by ``shifts`` along ``dims``; what leaves at one end enters at the other. Without ``dims``, of the flattened tensor.

    Shapes: that of ``input``.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if there are not as many shifts as dims.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.roll(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, dims=1)
        tensor([[3, 1, 2],
                [6, 4, 5]])
        >>> torch.roll(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1)
        tensor([[6, 1, 2],
                [3, 4, 5]])
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return _rolled(input.reshape(-1), shifts[0], 0).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims, strict=True):
        input = _rolled(input, shift, canonical_dim(dim, input.ndim, wrap_scalar=False))
    return input


def _rolled(x: Array, shift: int, axis: int) -> Array:
    size = x.shape[axis]
    start = size - shift % size if size else 0
    if start == size or size == 0:
        return x
    return lax.concatenate([lax.slice_in_dim(x, start, size, axis=axis), lax.slice_in_dim(x, 0, start, axis=axis)], axis)


def _triangle(name: str, x: Array, keep: str, diagonal: int) -> Array:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    row = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 2)
    column = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    # Clipped, so that any int64 diagonal fits the int32 comparison.
    offset = np.int32(min(max(diagonal, -x.shape[-2] - 1), x.shape[-1] + 1))
    kept = column <= row + offset if keep == "lower" else column >= row + offset
    return jnp.where(kept, x, jnp.zeros((), x.dtype))


@shape(inplace=True, out=True, aten="tril", out_dtype="expected", repeats="silently")
@schemas("(Tensor self, SymInt diagonal=0) -> Tensor ; _ =out")
def tril(input: Array, diagonal: int = 0) -> Array:
    """The lower triangle of each matrix, up to the given diagonal; the rest is zero.

    Shapes: (*, n, m) -> the same.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.tril(torch.ones(3, 3), diagonal=-1)
        tensor([[0., 0., 0.],
                [1., 0., 0.],
                [1., 1., 0.]])
    """
    return _triangle("tril", input, "lower", diagonal)


@shape(inplace=True, out=True, aten="triu", out_dtype="expected", repeats="silently")
@schemas("(Tensor self, SymInt diagonal=0) -> Tensor ; _ =out")
def triu(input: Array, diagonal: int = 0) -> Array:
    """The upper triangle of each matrix, from the given diagonal on; the rest is zero.

    Args:
        input: a matrix, or a batch of them.
        diagonal: the first diagonal that stays.

    Shapes: (*, n, m) -> the same.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.triu(torch.ones(2, 3))
        tensor([[1., 1., 1.],
                [0., 1., 1.]])
    """
    return _triangle("triu", input, "upper", diagonal)


@reduction(saves=(), out=False, aten="trace", autocast="cpu float32")
@schemas(". ; =out")
def trace(input: Array) -> Array:
    """The sum of a matrix' diagonal.

    Shapes: (n, m) -> ().

    Dtypes: any but bool; integers are summed in int64.

    Raises:
        RuntimeError: if the input is no matrix.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
        tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype == np.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    wide = np.int64 if input.dtype.kind in "iu" else input.dtype
    return jnp.sum(jnp.diagonal(input), dtype=wide)


@shape(aten="diag_embed")
@schemas(". ; =out")
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices, in dimensions ``dim1`` and ``dim2`` of the result, with the last dimension of ``input`` along the given diagonal.

    Shapes: (*, n) -> (*, n + abs(offset), n + abs(offset)), the last two moved to ``dim1`` and ``dim2``.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if the two dimensions are the same.
        IndexError: if one is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.diag_embed(torch.tensor([1, 2]), offset=1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    ndim = input.ndim + 1
    a, b = canonical_dim(dim1, ndim, wrap_scalar=False), canonical_dim(dim2, ndim, wrap_scalar=False)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if input.ndim == 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)")
    if a > b:
        # Swapping the two dimensions mirrors the matrices, so the diagonal is the opposite one.
        a, b, offset = b, a, -offset
    size = input.shape[-1] + abs(offset)
    low, high = max(-offset, 0), max(offset, 0)
    zero = jnp.zeros((), input.dtype)
    by_row = lax.pad(input, zero, [(0, 0, 0)] * (input.ndim - 1) + [(low, high, 0)])
    full = (*input.shape[:-1], size, size)
    on_diagonal = lax.broadcasted_iota(np.int64, full, ndim - 1) == lax.broadcasted_iota(np.int64, full, ndim - 2) + offset
    made = jnp.where(on_diagonal, lax.broadcast_in_dim(by_row, full, tuple(range(ndim - 1))), zero)
    return jnp.moveaxis(made, (ndim - 2, ndim - 1), (a, b))


@shape(
    out=True,
    aten="diag",
    out_dtype="expected",
    node=lambda made: "DiagEmbedBackward0" if made.ndims[0] == 1 else "DiagonalBackward0_copy",
    implicit=True,
)
def diag(input: Array, diagonal: int = 0) -> Array:
    """A square matrix with the vector ``input`` on its diagonal, or the diagonal of the matrix ``input`` as a new vector.

    Args:
        input: a vector or a matrix.
        diagonal: which diagonal: above the main one if it is positive.

    Shapes: (n) -> (n + abs(diagonal), n + abs(diagonal)); (n, m) -> the diagonal's length.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for other numbers of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.diag(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> torch.diag(torch.tensor([[1, 2], [3, 4]]), 1)
        tensor([2])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    return jnp.diagonal(input, diagonal)


@shape(aten="diagflat", node="DiagEmbedBackward0", dispatched="in parts")
def diagflat(input: Array, offset: int = 0) -> Array:
    """A square matrix with all elements of ``input``, in order, on the given diagonal.

    Shapes: n elements in any shape -> (n + abs(offset), n + abs(offset)).

    Dtypes: any, kept.

    Example:
        >>> import jtorch as torch
        >>> torch.diagflat(torch.tensor([[1, 2]]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


@op(promote="expanded", out=True, aten="kron", out_apart="partly", node="UnsafeViewBackward0", implicit=True)
def kron(input: Array, other: Array) -> Array:
    """The Kronecker product: every element of ``input`` multiplies a copy of ``other``.

    Shapes: both are given the same number of dimensions by leading ones; sizes multiply.

    Dtypes: any; the result has the operands' common one.

    Example:
        >>> import jtorch as torch
        >>> torch.kron(torch.eye(2, dtype=torch.int64), torch.tensor([[1, 2]]))
        tensor([[1, 2, 0, 0],
                [0, 0, 1, 2]])
    """
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + input.shape
    b = (1,) * (ndim - other.ndim) + other.shape
    left = input.reshape([s for size in a for s in (size, 1)])
    right = other.reshape([s for size in b for s in (1, size)])
    return (left * right).reshape([m * n for m, n in zip(a, b, strict=True)])


def _powers(x: Array, n: int) -> Array:
    if n == 0:
        return jnp.zeros((*x.shape, 0), x.dtype)
    ones = jnp.ones((*x.shape, 1), x.dtype)
    if n == 1:
        return ones
    repeated = lax.broadcast_in_dim(x, (*x.shape, n - 1), tuple(range(x.ndim)))
    return lax.concatenate([ones, jnp.cumprod(repeated, axis=-1)], x.ndim)


def _vander_dtype(x: Array) -> Array:
    return x.astype(np.int64) if x.dtype.kind in "biu" else x


@op(aliases=(), method=False, aten="vander", node="CatBackward0", dispatched="in parts", ignored=True)
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix of a vector: columns are powers of ``x``, from the highest down unless ``increasing``.

    Shapes: (n) -> (n, N), N being n by default.

    Dtypes: any; integers and bool become int64.

    Raises:
        RuntimeError: if ``x`` is no vector or ``N`` is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.vander(torch.tensor([2, 3]), 3)
        tensor([[4, 2, 1],
                [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.size if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    made = _powers(_vander_dtype(x), n)
    return made if increasing else lax.rev(made, (1,))


@op(name="vander", namespace="linalg", aten="linalg_vander", node="CatBackward0", dispatched="in parts")
@schemas("(Tensor x, *, SymInt? N=None) -> Tensor")
def linalg_vander(x: Array, *, N: int | None = None) -> Array:
    """Vandermonde matrices of the vectors in the last dimension of ``x``: column ``j`` holds ``x ** j``.

    Shapes: (*, n) -> (*, n, N), N being n by default.

    Dtypes: integers become int64; float32, float64 and complex ones are kept.

    Raises:
        RuntimeError: if ``N`` is below 2, or for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    x = x.reshape(1) if x.ndim == 0 else x
    if is_bool(x) or (is_float(x) and x.dtype.itemsize < 4):
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {scalar_name(x.dtype)}")
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(_vander_dtype(x), n)


@op(inplace=True, out=True, aten="renorm", out_dtype="expected", out_apart="partly", autocast="cuda float32")
@schemas("(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor ; _ =out")
def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Scales every slice along ``dim`` whose ``p``-norm exceeds ``maxnorm`` down to that norm; the others stay.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept.

    Raises:
        RuntimeError: if ``p`` is not positive, ``maxnorm`` is negative, for fewer than two dimensions, or integers.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.5, 0.0]]), p=2, dim=0, maxnorm=1.0)
        tensor([[0.6000, 0.8000],
                [0.5000, 0.0000]])
    """
    if not p > 0:  # NaN too
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    axis = canonical_dim(dim, input.ndim)
    if is_integral(input):
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {scalar_name(input.dtype)}")
    others = tuple(d for d in range(input.ndim) if d != axis)
    # Half types are summed in float32.
    wide = input if input.dtype.itemsize > 2 else input.astype(np.float32)
    size = jnp.abs(wide)
    if math.isinf(p):
        norm = jnp.max(size, axis=others, keepdims=True, initial=0)
    else:
        total = jnp.sum(size**p, axis=others, keepdims=True)
        # The root's slope at 0 is infinite, and such slices are left alone anyway.
        norm = jnp.where(total > 0, jnp.where(total > 0, total, 1) ** (1 / p), 0)
    over = norm > maxnorm
    factor = jnp.where(over, maxnorm / (jnp.where(over, norm, 1) + 1e-7), 1)
    return (wide * factor.astype(wide.dtype)).astype(input.dtype)


@shape(aten="pixel_shuffle", aliases=("nn.functional.pixel_shuffle",), method=False, strides="image")
@schemas(". ; =out")
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """Turns channels into space, ``r = upscale_factor`` times finer in both directions.

    Shapes: (*, C * r**2, H, W) -> (*, C, H * r, W * r).

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, or channels that cannot be divided.

    Example:
        >>> import jtorch as torch
        >>> torch.pixel_shuffle(torch.tensor([[[1]], [[2]], [[3]], [[4]]]), 2)
        tensor([[[1, 2],
                 [3, 4]]])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(batch)
    split = input.reshape(*batch, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return split.transpose(order).reshape(*batch, c // (r * r), h * r, w * r)


@shape(aten="pixel_unshuffle", aliases=("nn.functional.pixel_unshuffle",), method=False, strides="image")
@schemas(". ; =out")
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Turns space into channels, the inverse of ``pixel_shuffle`` with ``r = downscale_factor``.

    Shapes: (*, C, H * r, W * r) -> (*, C * r**2, H, W).

    Dtypes: any, kept.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, or sizes that cannot be divided.

    Example:
        >>> import jtorch as torch
        >>> torch.pixel_unshuffle(torch.tensor([[[1, 2], [3, 4]]]), 2).flatten()
        tensor([1, 2, 3, 4])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)")
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


@shape(aten="channel_shuffle", aliases=("nn.functional.channel_shuffle",), method=False, strides="image")
@schemas("(Tensor self, SymInt groups) -> Tensor ; =out")
def channel_shuffle(input: Array, groups: int) -> Array:
    """Interleaves ``groups`` equal groups of channels: g * c of them, seen as (g, c), are transposed to (c, g).

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
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {_sizes(input)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *space = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return jnp.swapaxes(input.reshape(n, groups, c // groups, *space), 1, 2).reshape(input.shape)


@op(namespace="_C", differentiable=False, aten="one_hot")
def _one_hot(input: Array, num_classes: int) -> Array:
    """int64 rows that are 1 at the class and 0 elsewhere. The classes are checked."""
    guard_range(input, 0, None, RuntimeError, "Class values must be non-negative.")
    guard_range(input, None, num_classes - 1, RuntimeError, "Class values must be smaller than num_classes.")
    full = (*input.shape, num_classes)
    return (lax.broadcasted_iota(np.int64, full, input.ndim) == input[..., None]).astype(np.int64)


def _pair(name: str, value: int | tuple[int, ...]) -> tuple[int, int]:
    if isinstance(value, int):
        return (value, value)
    if len(value) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return (value[0], value[1])


def _window(
    kernel_size: int | tuple[int, ...], dilation: int | tuple[int, ...], padding: int | tuple[int, ...], stride: int | tuple[int, ...]
):
    kernel, dilate = _pair("kernel_size", kernel_size), _pair("dilation", dilation)
    pad, step = _pair("padding", padding), _pair("stride", stride)
    for words, names, values in (
        ("kernel size", "kernel", kernel),
        ("stride", "stride", step),
        ("dilation", "dilation", dilate),
    ):
        if min(values) <= 0:
            raise RuntimeError(f"{words} should be greater than zero, but got {names}_height: {values[0]} {names}_width: {values[1]}")
    if min(pad) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {pad[0]} pad_width: {pad[1]}")
    return kernel, dilate, pad, step


def _blocks(space: tuple[int, int], kernel, dilate, pad, step) -> tuple[int, int]:
    """How many positions the window has along each of the two dimensions."""
    made = [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, d, p, t in zip(space, kernel, dilate, pad, step, strict=True)]
    return (made[0], made[1])


def _floating(kernel_name: str, x: Array) -> None:
    if x.dtype.kind in "iu":
        raise NotImplementedError(f"\"{kernel_name}\" not implemented for '{from_np(x.dtype).scalar_name}'")


@shape(namespace="nn.functional", aten="im2col", native=False, node="Im2ColBackward0")
@schemas("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor ; =out")
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
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {_sizes(input)}"
        )
    kernel, dilate, pad, step = _window(kernel_size, dilation, padding, stride)
    _floating("im2col_out_cpu", input)
    x = input[None] if input.ndim == 3 else input
    n, c, h, w = x.shape
    oh, ow = _blocks((h, w), kernel, dilate, pad, step)
    if oh < 1 or ow < 1:
        raise RuntimeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, dilation={dilate}, padding={pad}, "
            f"calculated shape of the array of sliding blocks as ({oh}, {ow}), but its components must be at least one."
        )
    limits.check_size((n, c, h + 2 * pad[0], w + 2 * pad[1]), x.dtype.itemsize)
    x = jnp.pad(x, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])))
    # One axis after the other: kh + kw strided slices instead of kh * kw.
    rows = [lax.slice_in_dim(x, i * dilate[0], i * dilate[0] + (oh - 1) * step[0] + 1, step[0], axis=2) for i in range(kernel[0])]
    x = jnp.stack(rows, axis=2)
    columns = [lax.slice_in_dim(x, j * dilate[1], j * dilate[1] + (ow - 1) * step[1] + 1, step[1], axis=4) for j in range(kernel[1])]
    x = jnp.stack(columns, axis=3).reshape(n, c * kernel[0] * kernel[1], oh * ow)
    return x[0] if input.ndim == 3 else x


@shape(namespace="nn.functional", aten="col2im", native=False, node="Col2ImBackward0")
@schemas("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor ; =out")
def fold(
    input: Array,
    output_size: int | tuple[int, ...],
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Array:
    """Adds columns of windows back into images: the transpose of ``unfold``.

    Shapes: (N, C * kh * kw, L) for L window positions -> (N, C, *output_size); without N on both sides too.

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
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, "
            f"but got: {_sizes(input)}"
        )
    x = input[None] if input.ndim == 2 else input
    n, columns, length = x.shape
    if columns % (kernel[0] * kernel[1]):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={columns} and kernel_size={kernel}."
        )
    oh, ow = _blocks(out, kernel, dilate, pad, step)
    if oh * ow != length or min(oh, ow) < 1:
        raise RuntimeError(
            f"Given output_size={out}, kernel_size={kernel}, dilation={dilate}, padding={pad}, stride={step}, "
            f"expected size of input's dimension 2 to match the calculated number of sliding blocks {oh} * {ow} = {oh * ow}, "
            f"but got input.size(2)={length}."
        )
    _floating("col2im_out_cpu", input)
    c = columns // (kernel[0] * kernel[1])
    x = x.reshape(n, c, kernel[0], kernel[1], oh, ow)
    x = _overlap_add(x, 3, 5, out[1] + 2 * pad[1], dilate[1], step[1])
    x = _overlap_add(x, 2, 3, out[0] + 2 * pad[0], dilate[0], step[0])
    x = x[:, :, pad[0] : pad[0] + out[0], pad[1] : pad[1] + out[1]]
    return x[0] if input.ndim == 2 else x


def _overlap_add(x: Array, window: int, axis: int, size: int, dilation: int, stride: int) -> Array:
    """Sums over dimension ``window``, element ``i`` of it spread along ``axis`` (to ``size``) from ``i * dilation`` in ``stride``s."""
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
