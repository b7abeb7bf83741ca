"""Products over chosen dimensions: ``tensordot``, ``einsum``, chains of matrices, ``cross``,
``vecdot`` and ``bilinear``."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.warned_once import warn_once
from ._declare import Array, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._matrix import check_dot, cpp_name, product
from ._numeric import conj, is_bool, is_integral, scalar_name, unsupported
from ._sizes import fewer
from ._whole import whole_product

if TYPE_CHECKING:
    from ...core import Tensor


def _check_dims(a: object, b: object, dims: object = 2) -> None:
    """Looks at every call, since ``[1.0]`` equals ``[1]`` in what is remembered of calls."""
    if not isinstance(dims, (tuple, list)):
        return
    first, second = dims
    for position, given in ((3, first), (4, second)):
        where = (
            f"tensordot(): argument '{'dims_self' if position == 3 else 'dims_other'}' (position "
            f"{position}) must be tuple of ints"
        )
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"{where}, not {type(given).__name__}")
        for k, d in enumerate(given):
            if isinstance(d, (bool, float, tuple, list)):
                raise TypeError(f"{where}, but found element of type {type(d).__name__} at pos {k}")


def _dims_of(dims: Tensor) -> Any:
    """The dimensions that a tensor tells: how many, or those of both operands in its two rows."""
    if dims.numel() > 1:
        if dims.shape[0] != 2:
            raise AssertionError(
                f"dims tensor must have size 2 in first dimension, got {dims.shape[0]}"
            )
        _check_dims(None, None, told := dims.tolist())
        return told
    count = int(dims.item())
    if count < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    return tuple(range(-count, 0)), tuple(range(count))


@op(
    out=True,
    aten="tensordot",
    method=False,
    native=False,
    home="functional",
    out_dtype="tensordot: Expected the output tensor to have dtype {its}, but got an output tensor "
    "with dtype {mine}",
    node="ViewBackward0",
    autocast="cpu lower, cuda widest",
    spelled={"tensordot": {"out": "out/"}},
    implicit=True,
    before=_check_dims,
    listed={"dims": _dims_of},
)
@schemas("(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor ; =out")
def tensordot(a: Array, b: Array, dims: Any = 2) -> Array:
    """Sums the products over the last ``dims`` dimensions of ``a`` and the first of ``b``, or over
    two lists of dimensions.

    Shapes: the dimensions of ``a`` that are not summed over, then those of ``b``.

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if the dimensions to sum over differ in number or size, or the dtypes differ.
        NotImplementedError: for bool tensors.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.tensordot(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[5, 6], [7, 8]]), dims=1)
        tensor([[19, 22],
                [43, 50]])
        >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(4, 3), dims=((1, 2), (1, 0)))
        tensor([12., 12.])
    """
    if not isinstance(dims, (int, tuple)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = tuple(range(-dims, 0)), tuple(range(dims))
    else:
        dims_a, dims_b = dims
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    axes_a, axes_b = (
        [canonical_dim(d, a.ndim) for d in dims_a],
        [canonical_dim(d, b.ndim) for d in dims_b],
    )
    for i, j, given_a, given_b in zip(axes_a, axes_b, dims_a, dims_b, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        if a.shape[i] == 1:  # the sum of one operand's elements, times the other's single one
            b = jnp.sum(b, j, keepdims=True)
        elif b.shape[j] == 1:
            a = jnp.sum(a, i, keepdims=True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim "
                f"{given_a} and second has size {b.shape[j]} in dim {given_b}"
            )
    if is_bool(a):
        raise unsupported("dot" if a.ndim == b.ndim == 1 else "addmm_impl_cpu_", a)

    def multiply(a: Array, b: Array) -> Array:
        return lax.dot_general(a, b, ((axes_a, axes_b), ((), ())))

    if a.dtype.kind not in "iu":
        return multiply(a, b)
    left, right = [
        [n for i, n in enumerate(x.shape) if i not in axes]
        for x, axes in ((a, axes_a), (b, axes_b))
    ]
    return whole_product(
        multiply, a, b, math.prod([a.shape[i] for i in axes_a]), math.prod(left + right)
    )


@op(namespace="_C", aten="einsum", strides="contracted")
def _einsum(
    operands: list[Array], labels: tuple[tuple[int, ...], ...], output: tuple[int, ...]
) -> Array:
    """The sum of products over all labels that ``output`` lacks; each operand's dimensions carry
    ``labels``, sizes 1 broadcast.

    The order of contraction is the cheapest.
    """
    for x in operands[1:]:
        if x.dtype != operands[0].dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_name(operands[0].dtype)} but found "
                f"{scalar_name(x.dtype)}"
            )
    used = dict.fromkeys(name for names in labels for name in names)
    letters = {
        name: chr(ord("a") + i) if i < 26 else chr(ord("A") + i - 26) if i < 52 else chr(192 + i)
        for i, name in enumerate(used)
    }
    terms = ["".join(letters[name] for name in names) for names in (*labels, output)]
    equation = ",".join(terms[:-1]) + "->" + terms[-1]

    def multiply(*operands: Array) -> Array:
        return jnp.einsum(
            equation, *operands, optimize="optimal" if len(operands) < 8 else "greedy"
        )

    if (
        len(operands) != 2
        or operands[0].dtype.kind not in "iu"
        or any(type(n) is not int for x in operands for n in x.shape)
    ):
        return multiply(*operands)
    sizes = {
        name: max(
            x.shape[i]
            for x, names in zip(operands, labels, strict=True)
            for i, n in enumerate(names)
            if n == name
        )
        for name in used
    }
    results = math.prod([sizes[name] for name in output])
    terms = math.prod([n for name, n in sizes.items() if name not in output])
    return whole_product(multiply, operands[0], operands[1], terms, results)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_multi_dot",
    out_dtype="multi_dot(): expected out tensor to have dtype {its_cpp} but got {mine_cpp}",
    node="ViewBackward0",
    autocast="lower",
    implicit=True,
)
def multi_dot(tensors: list[Array]) -> Array:
    """The product of two or more matrices, in the order that takes the fewest multiplications.

    Shapes: (n, a), (a, b), ..., (y, m) -> (n, m); the first may be a vector (a) and the last one
    (y), whose dimension the result drops.

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if there are fewer than two, or a dimension, shape or dtype does not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.multi_dot(
        ...     [torch.tensor([1, 2]), torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1], [5]])]
        ... )
        tensor([7])
    """
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for i, x in enumerate(tensors):
        if i in (0, n - 1):
            if x.ndim not in (1, 2):
                place = "first" if i == 0 else "last"
                raise RuntimeError(
                    f"multi_dot(): the {place} tensor must be 1D or 2D but got {x.ndim}D"
                )
        elif x.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x.ndim}D")
        if x.dtype != tensors[0].dtype:
            names = f"tensor 0 is {cpp_name(tensors[0])} and tensor {i} {cpp_name(x)}"
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but {names}")
    matrices = list(tensors)
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        matrices[0] = matrices[0][None, :]
    if last:
        matrices[-1] = matrices[-1][:, None]
    for i, (x, y) in enumerate(itertools.pairwise(matrices)):
        if x.shape[1] != y.shape[0]:
            shapes = f"{list(tensors[i].shape)} and {list(tensors[i + 1].shape)}"
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {shapes} cannot be multiplied"
            )
    if is_bool(tensors[0]):
        raise unsupported("addmm_impl_cpu_", tensors[0])
    found = _chain(
        matrices, _splits([x.shape[0] for x in matrices] + [matrices[-1].shape[1]]), 0, n - 1
    )
    return found.reshape(() if first and last else (-1,) if first or last else found.shape)


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For matrices i to j of a chain with those inner sizes, the last matrix of the cheapest left
    part."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            for k in range(i, j):
                found = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if k == i or fewer(found, cost[i, j]):
                    cost[i, j], split[i, j] = found, k
    return split


def _chain(matrices: list[Array], split: dict[tuple[int, int], int], i: int, j: int) -> Array:
    if i == j:
        return matrices[i]
    k = split[i, j]
    return product(_chain(matrices, split, i, k), _chain(matrices, split, k + 1, j))


@op(
    namespace="linalg",
    name="cross",
    out=True,
    aten="linalg_cross",
    out_dtype="expected",
    out_apart="wholly",
    node="LinalgCrossBackward0",
)
def linalg_cross(input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross products of vectors of length 3 along ``dim``, over the broadcast of the other
    dimensions.

    Shapes: both with as many dimensions and size 3 at ``dim``, the others broadcast -> the
    broadcast shape.

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if a length is not 3, or the shapes or dtypes do not fit.
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = canonical_dim(dim, input.ndim)
    if input.ndim == 0 or input.shape[axis] != 3 or other.shape[axis] != 3:
        sizes = (input.shape[axis], other.shape[axis]) if input.ndim else (1, 1)
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and "
            f"{sizes[1]}"
        )
    shape = broadcast_shapes(input.shape, other.shape)
    if is_bool(input):
        raise unsupported("cross", input)
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input.dtype)} but found {scalar_name(other.dtype)}"
        )
    x, y = jnp.broadcast_to(input, shape), jnp.broadcast_to(other, shape)
    return _turned(x, axis, 1) * _turned(y, axis, 2) - _turned(x, axis, 2) * _turned(y, axis, 1)


derivative(
    A.linalg_cross,
    self=lambda g, other, dim: A.linalg_cross.default(D.conj(other), g, dim=dim),
    other=lambda g, self, dim: A.linalg_cross.default(g, D.conj(self), dim=dim),
)


def _turned(x: Array, axis: int, by: int) -> Array:
    return jnp.concatenate(
        [lax.slice_in_dim(x, by, 3, axis=axis), lax.slice_in_dim(x, 0, by, axis=axis)], axis
    )


def _warn_of_dim(dim: int | None) -> None:
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )


@op(
    out=True,
    aten="cross",
    out_dtype="expected",
    out_apart="wholly",
    node="LinalgCrossBackward0",
    autocast="cuda widest",
    through="linalg_cross",
    implicit=True,
    warns=_warn_of_dim,
)
def cross(input: Array, other: Array, dim: int | None = None) -> Array:
    """``linalg.cross`` along ``dim``, by default the first dimension of size 3.

    Shapes: both with as many dimensions and size 3 at ``dim``, the others broadcast -> the
    broadcast shape.

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if there is no such dimension, or the shapes or dtypes do not fit.
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.cross(torch.tensor([[1, 0, 0]]), torch.tensor([[0, 0, 1]]), dim=1)
        tensor([[ 0, -1,  0]])
    """
    if dim is None:
        if 3 not in input.shape and input.ndim == other.ndim:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input.shape.index(3) if 3 in input.shape else -1
    return linalg_cross(input, other, dim=dim)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_vecdot",
    out_dtype="linalg.vecdot: Expected out of dtype{its} but found {mine}",
    node=lambda made: "VdotBackward0" if made.ndims[:2] == [1, 1] else "SumBackward1",
    autocast="lower",
    implicit=True,
)
def vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    """The inner products along ``dim``, the elements of ``x`` conjugated, over the broadcast of the
    other dimensions.

    Shapes: both broadcast to (*, n, *) with n at ``dim`` -> (*, *).

    Dtypes: floating-point and complex ones, the same for both.

    Raises:
        RuntimeError: for integers, or if the dtypes differ or the shapes do not broadcast.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    if is_integral(x):
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(x.dtype)}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{scalar_name(x.dtype)} and y of type {scalar_name(y.dtype)} instead"
        )
    if x.ndim == y.ndim == 1:  # torch does not look at ``dim`` here
        check_dot(x, y)
        return jnp.sum(conj(x) * y)
    shape = broadcast_shapes(x.shape, y.shape)
    axis = canonical_dim(dim, len(shape))
    x, y = jnp.broadcast_to(x, shape), jnp.broadcast_to(y, shape)
    return conj(x) * y if not shape else jnp.sum(conj(x) * y, axis, dtype=x.dtype)


@op(
    namespace="nn.functional",
    aliases=("bilinear",),
    aten="bilinear",
    saves=("input1", "input2", "weight"),
    node=lambda made: "AddBackward0" if len(made.avals) > 3 else "ViewBackward0",
    autocast="cuda widest",
    implicit=True,
)
def bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """``input1 @ weight[k] @ input2 + bias[k]`` for every ``k``.

    Shapes: inputs (*, m) and (*, n), weight (out, m, n), bias (out) -> (*, out).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if a shape or a dtype does not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.bilinear(
        ...     torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.eye(2)[None]
        ... )
        tensor([11.])
    """
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    for i in range(input1.ndim - 1):
        if input1.shape[i] != input2.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got "
                f"{input1.shape[i]} and {input2.shape[i]}"
            )
    for i, x in enumerate((input1, input2), 1):
        if x.shape[-1] != weight.shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {x.shape[-1]} but "
                f"expected {weight.shape[i]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{weight.shape[0]}"
        )
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    kinds = {name: cpp_name(x) for name, x in given.items() if x is not None}
    if len(set(kinds.values())) > 1:
        raise RuntimeError(
            "All tensors must have the same dtype, got "
            f"{', '.join(f'{name}: {kind}' for name, kind in kinds.items())}"
        )
    if is_bool(input1):
        raise unsupported("bmm", input1)
    count = math.prod(input1.shape[:-1])
    a, b = input1.reshape(count, input1.shape[-1]), input2.reshape(count, input2.shape[-1])
    found = jnp.einsum("ni,oij,nj->no", a, weight, b, optimize="optimal")
    if bias is not None:
        found = found + bias[None, :]
    return found.reshape(*input1.shape[:-1], weight.shape[0])


derivative(
    A._trilinear,
    i1=lambda g, i2, i3, expand1, expand2, expand3, sumdim: A._trilinear.default(
        g, i2, i3, sumdim, expand2, expand3, expand1
    ),
    i2=lambda g, i1, i3, expand1, expand2, expand3, sumdim: A._trilinear.default(
        i1, g, i3, expand1, sumdim, expand3, expand2
    ),
    i3=lambda g, i1, i2, expand1, expand2, expand3, sumdim: A._trilinear.default(
        i1, i2, g, expand1, expand2, sumdim, expand3
    ),
)
