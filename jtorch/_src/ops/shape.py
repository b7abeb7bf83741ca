"""Rearranging elements: flips, rolls, triangles, diagonals, products of their own powers."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.dtypes import int64
from ..facts.errors import canonical_dim, canonical_dims
from ..facts.layouts import strided
from ._declare import Array, op, reduction, shape
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._numeric import is_bool, is_float, is_integral, number, scalar_name


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


derivative(A.flip, self=lambda g, dims: A.flip.default(g, dims))


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
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    a, b = canonical_dim(dims[0], input.ndim), canonical_dim(dims[1], input.ndim)
    turns = k % 4
    if turns == 0:
        return input
    if turns == 2:
        return lax.rev(input, (a, b))
    turned = jnp.swapaxes(input, a, b)
    return lax.rev(turned, (a,) if turns == 1 else (b,))


derivative(A.rot90, self=lambda g, k, dims: A.rot90.default(g, -k, dims))


@shape(aten="roll", strides="image")
@schemas("(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor ; =out")
def roll(
    input: Array, shifts: int | tuple[int, ...], dims: int | tuple[int, ...] | None = ()
) -> Array:
    """Moves elements by ``shifts`` along ``dims``; what leaves at one end enters at the other.
    Without ``dims``, of the flattened tensor.

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
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    for shift, dim in zip(shifts, dims, strict=True):
        input = _rolled(input, shift, canonical_dim(dim, input.ndim, wrap_scalar=False))
    return input


derivative(
    A.roll,
    self=lambda g, shifts, dims: A.roll.default(
        g, [-s for s in reversed(shifts)], list(reversed(dims))
    ),
)


def _rolled(x: Array, shift: int, axis: int) -> Array:
    size = x.shape[axis]
    start = size - shift % size if size else 0
    if start == size or size == 0:
        return x
    return lax.concatenate(
        [lax.slice_in_dim(x, start, size, axis=axis), lax.slice_in_dim(x, 0, start, axis=axis)],
        axis,
    )


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


derivative(A.tril, self=lambda g, diagonal: A.tril.default(g, diagonal))


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


derivative(A.triu, self=lambda g, diagonal: A.triu.default(g, diagonal))


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


def _trace_formula(g: object, self_: Any) -> object:
    rows, columns = self_.shape
    made = D.made_zeros([rows * columns], g)
    places = A.arange.start_step(
        0,
        min(rows, columns) * (columns + 1),
        columns + 1,
        dtype=int64,
        layout=strided,
        device=self_.device,
    )
    return A.view.default(A.index_fill.int_Tensor(made, 0, places, g), [rows, columns])


derivative(A.trace, self=_trace_formula)


@shape(aten="diag_embed")
@schemas(". ; =out")
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices, in dimensions ``dim1`` and ``dim2`` of the result, with the last dimension of
    ``input`` along the given diagonal.

    Shapes: (*, n) -> (*, n + abs(offset), n + abs(offset)), the last two moved to ``dim1`` and
    ``dim2``.

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
    a, b = (
        canonical_dim(dim1, ndim, wrap_scalar=False),
        canonical_dim(dim2, ndim, wrap_scalar=False),
    )
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
    on_diagonal = (
        lax.broadcasted_iota(np.int64, full, ndim - 1)
        == lax.broadcasted_iota(np.int64, full, ndim - 2) + offset
    )
    made = jnp.where(on_diagonal, lax.broadcast_in_dim(by_row, full, tuple(range(ndim - 1))), zero)
    return jnp.moveaxis(made, (ndim - 2, ndim - 1), (a, b))


derivative(
    A.diag_embed, self=lambda g, offset, dim1, dim2: A.diagonal.default(g, offset, dim1, dim2)
)


@shape(
    out=True,
    aten="diag",
    out_dtype="expected",
    node=lambda made: "DiagEmbedBackward0" if made.ndims[0] == 1 else "DiagonalBackward0_copy",
    implicit=True,
)
def diag(input: Array, diagonal: int = 0) -> Array:
    """A square matrix with the vector ``input`` on its diagonal, or the diagonal of the matrix
    ``input`` as a new vector.

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


@op(
    promote="expanded",
    out=True,
    aten="kron",
    out_apart="partly",
    node="UnsafeViewBackward0",
    implicit=True,
    unchecked=("input", "other"),
)
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


@op(
    aliases=(),
    method=False,
    aten="vander",
    node="CatBackward0",
    dispatched="in parts",
    ignored=True,
)
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix of a vector: columns are powers of ``x``, from the highest down unless
    ``increasing``.

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


@op(
    name="vander",
    namespace="linalg",
    aten="linalg_vander",
    node="CatBackward0",
    dispatched="in parts",
)
@schemas("(Tensor x, *, SymInt? N=None) -> Tensor")
def linalg_vander(x: Array, *, N: int | None = None) -> Array:
    """Vandermonde matrices of the vectors in the last dimension of ``x``: column ``j`` holds
    ``x ** j``.

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
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{scalar_name(x.dtype)}"
        )
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(_vander_dtype(x), n)


@op(
    inplace=True,
    out=True,
    aten="renorm",
    out_dtype="expected",
    out_apart="partly",
    autocast="cuda float32",
)
@schemas("(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor ; _ =out")
def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Scales every slice along ``dim`` whose ``p``-norm exceeds ``maxnorm`` down to that norm; the
    others stay.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept.

    Raises:
        RuntimeError: if ``p`` is not positive, ``maxnorm`` is negative, for fewer than two
            dimensions, or integers.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.5, 0.0]]), p=2, dim=0, maxnorm=1.0)
        tensor([[0.6000, 0.8000],
                [0.5000, 0.0000]])
    """
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:  # NaN too
        raise RuntimeError("renorm: non-positive-norm not supported")
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if not maxnorm >= 0:  # NaN too
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    axis = canonical_dim(dim, input.ndim)
    if is_integral(input):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(input.dtype)}"
        )
    others = tuple(d for d in range(input.ndim) if d != axis)
    # Half types are summed in float32.
    wide = input if input.dtype.itemsize > 2 else input.astype(np.float32)
    size = jnp.abs(wide)
    # one element's norm is its magnitude, where its power would be out of range too
    if all(input.shape[d] == 1 for d in others):
        norm = size
    elif math.isinf(p):
        norm = jnp.max(size, axis=others, keepdims=True, initial=0)
    else:
        # So may be that of a power: magnitudes of 0 have none.
        powers = size**p if p > 1 else jnp.where(size > 0, jnp.where(size > 0, size, 1) ** p, 0)
        total = jnp.sum(powers, axis=others, keepdims=True)
        # The root's slope at 0 is infinite, and such slices are left alone anyway.
        norm = jnp.where(total > 0, jnp.where(total > 0, total, 1) ** (1 / p), 0)
    limit = number(maxnorm, norm)
    over = norm > limit
    factor = jnp.where(over, limit / (jnp.where(over, norm, 1) + 1e-7), 1)
    return (wide * factor.astype(wide.dtype)).astype(input.dtype)
