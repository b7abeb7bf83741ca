"""Products of matrices and vectors: ``matmul`` and ``linear``, and their forms of fixed rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from ._declare import Array, defvjp, op
from ._derivative_calls import unbroadcast
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._matrix import (
    by_weight,
    check_bmm,
    check_dot,
    check_mm,
    check_mv,
    check_same_types,
    expanded,
    over_rows,
    product,
    rows,
    transposed,
    unrounded,
)
from ._nodes import Made
from ._numeric import conj, scalar_name

if TYPE_CHECKING:
    from ...core import Tensor


def _node_of_product(made: Made) -> str:
    (a, b), (left, right) = (v.shape for v in made.avals[:2]), made.needs[:2]
    if len(a) == 1 and len(b) == 1:
        return "DotBackward0"
    if len(a) == 2 and len(b) == 1:
        return "MvBackward0"
    if len(a) == 2 and len(b) == 2:
        return "MmBackward0"
    if len(a) == 1 and len(b) == 2:
        return "SqueezeBackward4"
    # A single matrix before a batch is multiplied with it folded and transposed, and the result is
    # copied into order.
    single = len(a) == 2 or (len(a) == 3 and a[0] == 1 and b[0] > 1)
    if single and len(b) > 2 and left:
        return "CloneBackward0" if right or 0 not in b else "TransposeBackward0"
    return "UnsafeViewBackward0"


@op(
    out=True,
    operators="@",
    aliases=("linalg.matmul",),
    aten="matmul",
    saves=("input", "other"),
    out_dtype="expected",
    node=_node_of_product,
    autocast="lower",
    implicit=True,
)
@schemas(".", "linalg_matmul")
def matmul(input: Array, other: Array) -> Array:
    """The matrix product of two tensors, over the broadcast of their leading dimensions.

    Args:
        input: the left factor.
        other: the right factor.

    Shapes: vectors ``(k) @ (k) -> ()``; a vector counts as a row on the left and a column on the
    right, and that dimension is dropped; ``(*A, n, k) @ (*B, k, m) -> (*broadcast(A, B), n, m)``.

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if the shapes or the dtypes do not fit, or an operand is 0-dimensional.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([1, 10])
        tensor([21, 43])
        >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
        torch.Size([5, 2, 4])
    """
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and "
            f"{other.ndim}D"
        )
    if input.ndim == 1 and other.ndim == 1:
        return dot(input, other)
    if input.ndim == 2 and other.ndim == 1:
        return mv(input, other)
    a, b = _as_matrices(input, other)
    _check_matmul(a, b, other)
    found = product(a, b)
    if other.ndim == 1:
        found = found.squeeze(-1)
    return found.squeeze(-2) if input.ndim == 1 else found


def _as_matrices(input: Array, other: Array) -> tuple[Array, Array]:
    return input[None, :] if input.ndim == 1 else input, other[
        :, None
    ] if other.ndim == 1 else other


def _check_matmul(a: Array, b: Array, other: Array) -> None:
    if other.ndim == 1:
        check_mv(rows(a), other)
    elif b.ndim == 2:
        check_mm(rows(a), b)
    else:
        count = math.prod(broadcast_shapes(a.shape[:-2], b.shape[:-2]))
        check_bmm(a, b, count, count)


def _matmul_rule(g: Array, result: Array, input: Array, other: Array) -> tuple[Array, Array]:
    if input.ndim == 1 and other.ndim == 1:
        return g * conj(other), g * conj(input)
    a, b = _as_matrices(input, other)
    if other.ndim == 1:
        g = g[..., None]
    if input.ndim == 1:
        g = g[..., None, :]
    # one weight for a whole stack: the sum over the stack happens inside the product
    if b.ndim == 2:
        grad_b = over_rows(conj(rows(a)), rows(g))
    else:
        grad_b = unbroadcast(product(transposed(a), g), b.shape, b.dtype)
    grad_a = unbroadcast(product(g, transposed(b)), a.shape, a.dtype)
    return grad_a.reshape(input.shape), grad_b.reshape(other.shape)


defvjp(matmul, _matmul_rule)


def _node_of_linear(made: Made) -> str:
    a, b = made.avals[0].ndim, made.avals[1].ndim
    if len(made.avals) > 2:
        return "AddmmBackward0" if a == 2 else "ViewBackward0"
    if b == 1:
        return {1: "DotBackward0", 2: "MvBackward0"}.get(a, "UnsafeViewBackward0")
    return {1: "SqueezeBackward4", 2: "MmBackward0"}.get(a, "UnsafeViewBackward0")


@op(
    namespace="nn.functional",
    aten="linear",
    saves=("input", "weight"),
    node=_node_of_linear,
    counts=("bias", "input", "weight"),
    autocast="lower",
    opaque=True,
)
@schemas("(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor ; =out")
def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """``input @ weight.T + bias``.

    Args:
        input: the batch, with the features last.
        weight: a matrix with a row for each output feature, or one row for one output.
        bias: a number for each output feature, or None.

    Shapes: input (*, in), weight (out, in), bias (out) -> (*, out); a weight (in) -> (*).

    Dtypes: any but bool, the same for all.

    Raises:
        RuntimeError: if the shapes or the dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.linear(
        ...     torch.tensor([1.0, 2.0]),
        ...     torch.tensor([[1.0, 1.0], [0.0, 3.0]]),
        ...     torch.tensor([10.0, 0.0]),
        ... )
        tensor([13.,  6.])
    """
    if input.ndim == 0 or weight.ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and "
            f"{weight.ndim}D"
        )
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if weight.ndim == 1:
        if bias is None:
            return matmul(input, weight)
        _check_addend(bias, weight)
        if input.ndim == 2 or bias.ndim:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        return matmul(input, weight) + bias
    flat = input[None, :] if input.ndim == 1 else rows(input)
    if bias is not None:
        check_same_types(bias, input, weight)
    check_mm(flat, weight.T)
    if bias is not None:
        expanded(bias, (flat.shape[0], weight.shape[0]))
    dtype = None if bias is None else unrounded(input)
    found = by_weight(input, weight, dtype)
    if bias is None:
        return found
    bias = (
        bias.reshape((1,) * (found.ndim - 1) + (-1,))
        if bias.ndim <= 1
        else bias.reshape(found.shape)
    )
    return (found + bias.astype(found.dtype)).astype(input.dtype)


def _linear_rule(
    g: Array, result: Array, input: Array, weight: Array, bias: Array | None = None
) -> tuple[Array | None, ...]:
    if weight.ndim == 1:
        return (*_matmul_rule(g, result, input, weight), None if bias is None else jnp.sum(g))
    rows = math.prod(g.shape[:-1])  # not -1: either width may be 0
    flat_g, flat_input = g.reshape(rows, g.shape[-1]), input.reshape(rows, input.shape[-1])
    # Contracting the rows of both operands where they lie beats a transposed copy, into which XLA
    # would fuse what produced g.
    grad_weight = over_rows(flat_g, conj(flat_input))
    grad_input = lax.dot_general(g, conj(weight), (((g.ndim - 1,), (0,)), ((), ())))
    if bias is None:
        return grad_input, grad_weight, None
    return grad_input, grad_weight, unbroadcast(flat_g, bias.shape, g.dtype)


defvjp(linear, _linear_rule)


@op(
    out=True,
    aten="mm",
    saves=("input", "mat2"),
    ranks=(2, 2),
    out_dtype="expected",
    autocast="lower",
    lazy="conj",
)
@schemas(".", ".dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor ; =dtype_out")
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices.

    Args:
        input: the left matrix.
        mat2: the right matrix.

    Shapes: (n, k), (k, m) -> (n, m).

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if one is no matrix, or shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.mm(torch.tensor([[1, 2]]), torch.tensor([[3], [4]]))
        tensor([[11]])
    """
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_mm(input, mat2)
    return product(input, mat2)


defvjp(mm, _matmul_rule)


def _t(x: object) -> object:
    return A.t.default(D.conj(x))


def _by_columns(x: Any) -> bool:
    """Whether a matrix lies in memory column by column: its gradient then is computed so, too."""
    return x.stride() == [1, x.shape[0]]


def _mm_first(g: object, mat2: object, mat1_: object, alpha: object) -> object:
    """The gradient of the first factor of a matrix product."""
    if _by_columns(mat1_):
        return D.times(A.t.default(A.mm.default(D.conj(mat2), A.t.default(g))), D.conj(alpha))
    return D.times(A.mm.default(g, _t(mat2)), D.conj(alpha))


def _mm_second(g: Tensor, mat1: Tensor, mat2_: object, alpha: int) -> Tensor:
    """The gradient of the second factor of a matrix product."""
    if _by_columns(mat2_):
        return D.times(A.t.default(A.mm.default(A.t.default(g), D.conj(mat1))), D.conj(alpha))
    return D.times(A.mm.default(_t(mat1), g), D.conj(alpha))


derivative(
    A.mm,
    self=lambda g, mat2, self_: _mm_first(g, mat2, self_, 1),
    mat2=lambda g, self, mat2_: _mm_second(g, self, mat2_, 1),
)


@op(
    out=True,
    aten="bmm",
    saves=("input", "mat2"),
    ranks=(3, 3),
    out_dtype="expected",
    autocast="lower",
    lazy="conj",
)
@schemas(".", ".dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor ; =dtype_out")
def bmm(input: Array, mat2: Array) -> Array:
    """The products of two batches of matrices, one by one, without broadcasting.

    Args:
        input: a batch of left matrices.
        mat2: as many right matrices.

    Shapes: (b, n, k), (b, k, m) -> (b, n, m).

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if one has not 3 dimensions, or shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.bmm(
        ...     torch.tensor([[[1, 2]], [[3, 4]]]), torch.tensor([[[1], [0]], [[0], [1]]])
        ... ).flatten()
        tensor([1, 4])
    """
    _check_batches(input, mat2)
    return product(input, mat2)


def _check_addend(input: Array, other: Array, name: str = "self") -> None:
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"{name} and mat2 must have the same dtype, but got {scalar_name(input.dtype)} and "
            f"{scalar_name(other.dtype)}"
        )


def _check_batches(batch1: Array, batch2: Array) -> None:
    if batch1.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if batch2.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    check_bmm(batch1, batch2, batch1.shape[0], batch2.shape[0])


defvjp(bmm, _matmul_rule)


def _mT(x: object) -> object:
    return A.transpose.int(D.conj(x), 1, 2)


derivative(
    A.bmm,
    self=lambda g, mat2: A.bmm.default(g, _mT(mat2)),
    mat2=lambda g, self: A.bmm.default(_mT(self), g),
)


@op(out=True, aten="mv", saves=("input", "vec"), ranks=(2, 1), autocast="cuda lower")
def mv(input: Array, vec: Array) -> Array:
    """The product of a matrix and a vector.

    Shapes: (n, k), (k) -> (n).

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if dimensions, shapes or dtypes do not fit.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.mv(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 10]))
        tensor([21, 43])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    check_mv(input, vec)
    return lax.dot_general(input, vec, (((1,), (0,)), ((), ())))


# Of a matrix that is turned XLA makes a copy before it multiplies a vector by it, which takes 70
# times as long.
defvjp(mv, lambda g, _, input, vec: (g[:, None] * conj(vec)[None, :], g @ conj(input)))
derivative(
    A.mv,
    self=lambda g, vec: A.mul.Tensor(A.view.default(g, [g._aval.shape[0], 1]), D.conj(vec)),
    vec=lambda g, self: A.mv.default(_t(self), g),
)


@op(
    out=True,
    aten="dot",
    saves=("input", "tensor"),
    ranks=(1, 1),
    out_dtype="result dtype {mine} does not match input dtype {its}",
    autocast="cuda widest",
    lazy="conj",
)
def dot(input: Array, tensor: Array) -> Array:
    """The sum of the products of two vectors' elements, without conjugation.

    Shapes: (n), (n) -> ().

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if one is no vector, or sizes or dtypes differ.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.dot(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor(11)
    """
    check_dot(input, tensor)
    return lax.dot_general(input, tensor, (((0,), (0,)), ((), ())))


defvjp(dot, lambda g, _, input, tensor: (g * conj(tensor), g * conj(input)))
derivative(
    A.dot,
    self=lambda g, tensor: A.mul.Tensor(g, D.conj(tensor)),
    tensor=lambda g, self: A.mul.Tensor(g, D.conj(self)),
)


@op(
    out=True,
    aten="vdot",
    saves=("input", "other"),
    out_dtype="result dtype {mine} does not match input dtype {its}",
    autocast="cuda widest",
    lazy="conj",
)
def vdot(input: Array, other: Array) -> Array:
    """The sum of the products of two vectors' elements, those of ``input`` conjugated.

    Shapes: (n), (n) -> ().

    Dtypes: any but bool, the same for both.

    Raises:
        RuntimeError: if one is no vector, or sizes or dtypes differ.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.vdot(torch.tensor([1j, 2]), torch.tensor([1j, 1]))
        tensor(3.+0.j)
    """
    check_dot(input, other)
    return lax.dot_general(conj(input), other, (((0,), (0,)), ((), ())))


defvjp(vdot, lambda g, _, input, other: (conj(g) * other, g * input))


def _node_of_inner(made: Made) -> str:
    return "ViewBackward0" if made.avals[0].ndim and made.avals[1].ndim else "MulBackward0"


@op(
    out=True,
    aten="inner",
    saves=("input", "other"),
    strides="pointwise if not (input._aval.ndim and other._aval.ndim)",
    out_dtype="tensordot: Expected the output tensor to have dtype {its}, but got an output tensor "
    "with dtype {mine}",
    node=_node_of_inner,
    autocast="cpu matrices, cuda lower",
    implicit=True,
)
def inner(input: Array, other: Array) -> Array:
    """The inner products over the last dimension of both; with a scalar, the product.

    Shapes: (*A, k), (*B, k) -> (*A, *B); (), (*A) -> (*A).

    Dtypes: any but bool, the same for both; with a scalar, promoted.

    Raises:
        RuntimeError: if the last dimensions or the dtypes differ.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.inner(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1, 0], [1, 1]]))
        tensor([[1, 3],
                [3, 7]])
    """
    if input.ndim == 0 or other.ndim == 0:
        kinds = [
            (dtypes.from_np(x.dtype), dtypes.DIMENSIONED if x.ndim else dtypes.ZERO_DIM)
            for x in (input, other)
        ]
        common = dtypes.result_type_of(tuple(kinds)).np
        shape = input.shape or other.shape
        return jnp.broadcast_to(input.astype(common), shape) * jnp.broadcast_to(
            other.astype(common), shape
        )
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    if input.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if input.ndim == 1 and other.ndim == 1:
        return dot(input, other)
    return lax.dot_general(input, other, (((input.ndim - 1,), (other.ndim - 1,)), ((), ())))


@op(
    out=True,
    promote="common",
    aliases=("ger",),
    aten="outer",
    saves=("input", "vec2"),
    node="MulBackward0",
    implicit=True,
)
@schemas(".", "ger")
def outer(input: Array, vec2: Array) -> Array:
    """All products of an element of one vector and one of another.

    Shapes: (n), (m) -> (n, m).

    Dtypes: the operands' common one.

    Raises:
        RuntimeError: if one is no vector.

    Example:
        >>> import jtorch as torch
        >>> torch.outer(torch.tensor([1, 2]), torch.tensor([1, 10]))
        tensor([[ 1, 10],
                [ 2, 20]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    return input[:, None] * vec2[None, :]


defvjp(outer, lambda g, _, input, vec2: (g @ conj(vec2), conj(input) @ g))
