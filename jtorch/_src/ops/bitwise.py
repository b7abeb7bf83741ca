"""Operations on the bits of integers; of bool tensors they are logic."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, Number, binary, unary
from ._facts import schemas
from ._hosted import INTEGERS, hosted
from ._numeric import is_bool, require


@binary(
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators="&",
    aten="bitwise_and.Tensor",
)
@schemas(
    ".Tensor",
    ".Scalar",
    ".Scalar_Tensor ; =Scalar_Tensor_out",
    "__and__.Scalar ;",
    "__and__.Tensor ;",
)
def bitwise_and(input: Array | Number, other: Array | Number) -> Array:
    """The bits set in both.

    Shapes: that of the operands, broadcast.
    Dtypes: integers and bool, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_and(torch.tensor([12, 10]), 6)
        tensor([4, 2])
    """
    require("bitwise_and_cpu", input, "bi")
    return input & other


@binary(
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators="|",
    aten="bitwise_or.Tensor",
)
@schemas(
    ".Tensor",
    ".Scalar",
    ".Scalar_Tensor ; =Scalar_Tensor_out",
    "__or__.Tensor ;",
    "__or__.Scalar ;",
)
def bitwise_or(input: Array | Number, other: Array | Number) -> Array:
    """The bits set in one or both.

    Shapes: that of the operands, broadcast.
    Dtypes: integers and bool, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_or(torch.tensor([12, 10]), 6)
        tensor([14, 14])
    """
    require("bitwise_or_cpu", input, "bi")
    return input | other


@binary(
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators="^",
    aten="bitwise_xor.Tensor",
)
@schemas(
    ".Tensor",
    ".Scalar",
    ".Scalar_Tensor ; =Scalar_Tensor_out",
    "__xor__.Tensor ;",
    "__xor__.Scalar ;",
)
def bitwise_xor(input: Array | Number, other: Array | Number) -> Array:
    """The bits set in exactly one.

    Shapes: that of the operands, broadcast.
    Dtypes: integers and bool, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_xor(torch.tensor([12, 10]), 6)
        tensor([10, 12])
    """
    require("bitwise_xor_cpu", input, "bi")
    return input ^ other


@unary(
    promote=None,
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators="invert",
    aten="bitwise_not",
    out_dtype="found",
)
def bitwise_not(input: Array) -> Array:
    """All bits turned; of bool tensors the logical not.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_not(torch.tensor([0, 5]))
        tensor([-1, -6])
    """
    require("bitwise_not_cpu", input, "bi")
    return ~input


@binary(
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators="<<",
    aten="bitwise_left_shift.Tensor",
)
@schemas(
    ".Tensor",
    ".Tensor_Scalar",
    ".Scalar_Tensor ; =Scalar_Tensor_out",
    "__lshift__.Tensor ; =Tensor_out",
    "__lshift__.Scalar ; =Scalar_out",
)
def bitwise_left_shift(input: Array | Number, other: Array | Number) -> Array:
    """Moves bits up by ``other`` places: 0 if that is negative or as many as there are bits.

    Shapes: that of the operands, broadcast.
    Dtypes: integers, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_left_shift(torch.tensor([1, 3]), torch.tensor([4, 1]))
        tensor([16,  6])
    """
    require("lshift_cpu", input, "i")
    return _shift_left(*jnp.broadcast_arrays(input, other))


# NumPy, too, gives zero, or all bits the sign, for amounts that are negative or beyond the width.
@hosted(lambda: np.left_shift, ns=1, dtypes=INTEGERS)
def _shift_left(x: Array, by: Array) -> Array:
    x, by, outside = _shift(x, by)
    return jnp.where(outside, jnp.zeros((), x.dtype), lax.shift_left(x, by))


@binary(
    inplace=True,
    differentiable=False,
    node="NotImplemented",
    operators=">>",
    aten="bitwise_right_shift.Tensor",
)
@schemas(
    ".Tensor",
    ".Tensor_Scalar",
    ".Scalar_Tensor ; =Scalar_Tensor_out",
    "__rshift__.Tensor ; =Tensor_out",
    "__rshift__.Scalar ; =Scalar_out",
)
def bitwise_right_shift(input: Array | Number, other: Array | Number) -> Array:
    """Moves bits down by ``other`` places, keeping the sign; only the sign is left if that is
    negative or as many as there are bits.

    Shapes: that of the operands, broadcast.
    Dtypes: integers, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.bitwise_right_shift(torch.tensor([9, -9]), 1)
        tensor([ 4, -5])
    """
    require("rshift_cpu", input, "i")
    return _shift_right(*jnp.broadcast_arrays(input, other))


@hosted(lambda: np.right_shift, ns=1, dtypes=INTEGERS)
def _shift_right(x: Array, by: Array) -> Array:
    x, by, outside = _shift(x, by)
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return jnp.where(outside, jnp.zeros((), x.dtype), lax.shift_right_logical(x, by))
    # XLA's own result for too many places is not the sign on every platform.
    sign = jnp.where(x < 0, -1, 0).astype(x.dtype)
    return jnp.where(outside, sign, lax.shift_right_arithmetic(x, by))


def _shift(x: Array, by: Array) -> tuple[Array, Array, Array]:
    assert not is_bool(x)
    outside = (by < 0) | (by >= x.dtype.itemsize * 8)
    return x, jnp.where(outside, jnp.zeros((), by.dtype), by), outside
