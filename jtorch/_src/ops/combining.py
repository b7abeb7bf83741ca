"""Combinations of three tensors by elements: ``lerp``, ``addcmul`` and ``addcdiv``."""

from __future__ import annotations

import jax.numpy as jnp

from ..facts import dtypes
from ._declare import Array, Number, defvjp, pointwise
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._matrix import cpp_name
from ._nodes import by_operand
from ._numeric import (
    conj,
    is_complex,
    require,
    wide,
)
from .pointwise import _scaled


def _admit_weight(given: dict[str, Array]) -> None:
    """Refuses weights of another dtype, but for those without dimensions, which count as
    numbers."""
    weight = given.get("weight")
    if (
        weight is not None
        and not weight.ndim
        and is_complex(weight)
        and not is_complex(given["input"])
    ):
        raise NotImplementedError(
            "torch.lerp is not offered for real tensors and a complex weight that is a tensor: "
            "convert the tensors"
        )
    if (
        given["end"].dtype == given["input"].dtype
        and weight is not None
        and weight.ndim
        and weight.dtype != given["input"].dtype
    ):
        raise RuntimeError(
            f"expected dtype {cpp_name(given['input'])} for `weight` but got dtype "
            f"{cpp_name(weight)}"
        )


@pointwise(
    promote=None,
    inplace=True,
    saves=("input", "end", "weight"),
    admits=_admit_weight,
    fits=("weight",),
    single=("weight",),
    aten="lerp.Tensor",
    node=by_operand("Lerp", "weight", 1, 0),
)
@schemas(".Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor ; _ =Scalar_out", ".Tensor")
def lerp(input: Array, end: Array, weight: Array | Number) -> Array:
    """Interpolates linearly: ``input + weight * (end - input)``.

    Shapes: those of the operands, broadcast.

    Dtypes: floating-point and complex ones, the same for all tensors.

    Raises:
        RuntimeError: if the dtypes differ, or the shapes do not broadcast.
        NotImplementedError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([1.0, 20.0]), 0.25)
        tensor([ 0.2500, 12.5000])
    """
    if end.dtype != input.dtype:
        raise RuntimeError(
            f"expected dtype {cpp_name(input)} for `end` but got dtype {cpp_name(end)}"
        )
    require("lerp_kernel_scalar" if weight.ndim == 0 else "lerp_kernel_tensor", input, "fc")
    if is_complex(weight) and not is_complex(input):
        raise RuntimeError(f"value cannot be converted to type {cpp_name(input)} without overflow")
    a, b = wide(input), wide(end)
    # a number, or a tensor without dimensions, is not rounded to half precision
    w = weight.astype(a.dtype)
    step = b - a
    # Seen from the nearer end, so that a weight of 1 gives exactly ``end``.
    return jnp.where(jnp.abs(w) < 0.5, a + w * step, b - step * (1 - w)).astype(input.dtype)


def _lerp_rule(
    g: Array, _: None, input: Array, end: Array, weight: Array
) -> tuple[Array, Array, Array]:
    by_weight = g * conj(end - input)
    if weight.ndim == 0:  # a number is used as it is
        weight, g, dtype = weight.astype(wide(g).dtype), wide(g), g.dtype
        return (g * conj(1 - weight)).astype(dtype), (g * conj(weight)).astype(dtype), by_weight
    weight = weight.astype(g.dtype)
    return g * conj(1 - weight), g * conj(weight), by_weight


defvjp(lerp, _lerp_rule)
derivative(
    A.lerp.Scalar,
    self=lambda g, weight: A.mul.Scalar(g, 1 - weight),
    end=lambda g, weight: A.mul.Scalar(g, weight),
)
derivative(
    A.lerp.Tensor,
    self=lambda g, weight: A.mul.Tensor(g, D.conj(D.one_minus(weight))),
    end=lambda g, weight: A.mul.Tensor(g, D.conj(weight)),
    weight=lambda g, self, end: A.mul.Tensor(g, D.conj(A.sub.Tensor(end, self))),
)


#: How torch's messages print the C++ type of these; the others by their name in lower case.
@pointwise(
    inplace=True,
    saves=("tensor1", "tensor2"),
    aten="addcmul",
    wide=True,
    single=("value",),
    truncates=True,
    autocast="cuda widest",
    old_orders=("input value tensor1 tensor2",),
)
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Adds ``value * tensor1 * tensor2`` to ``input``.

    Shapes: those of the operands, broadcast.

    Dtypes: any but bool; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for bool operands.

    Example:
        >>> import jtorch as torch
        >>> torch.addcmul(
        ...     torch.tensor([1.0, 1.0]),
        ...     torch.tensor([2.0, 3.0]),
        ...     torch.tensor([4.0, 5.0]),
        ...     value=10,
        ... )
        tensor([ 81., 151.])
    """
    require("addcmul_cpu_out", input, "ifc")
    return (wide(input) + _scaled(wide(tensor1), value) * wide(tensor2)).astype(input.dtype)


def _addcmul_rule(
    g: Array, _: None, input: Array, tensor1: Array, tensor2: Array, value: Number = 1
) -> tuple[Array, Array, Array]:
    scaled = g * value if isinstance(value, int) else g * conj(value)
    return g, scaled * conj(tensor2), scaled * conj(tensor1)


defvjp(addcmul, _addcmul_rule)
derivative(
    A.addcmul,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: A.mul.Tensor(g, D.conj(A.mul.Scalar(tensor2, value))),
    tensor2=lambda g, tensor1, value: A.mul.Tensor(g, D.conj(A.mul.Scalar(tensor1, value))),
)


def _no_integer_quotient(kinds: list[dtypes.dtype]) -> None:
    if all(kind.category < dtypes.FLOATING for kind in kinds[1:3]):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release "
            "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
            "behavior can be implemented as (input + value * torch.trunc(tensor1 / "
            "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter "
            "implementation: (input + value * tensor1 / tensor2), for all dtypes."
        )


@pointwise(
    inplace=True,
    check=_no_integer_quotient,
    saves=("tensor1", "tensor2"),
    aten="addcdiv",
    wide=True,
    single=("value",),
    autocast="cuda widest",
    old_orders=("input value tensor1 tensor2",),
)
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """Adds ``value * tensor1 / tensor2`` to ``input``.

    Shapes: those of the operands, broadcast.

    Dtypes: the operands' common one.

    Raises:
        RuntimeError: if both ``tensor1`` and ``tensor2`` are integers, or the shapes do not
            broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.addcdiv(
        ...     torch.tensor([1.0, 1.0]),
        ...     torch.tensor([1.0, 3.0]),
        ...     torch.tensor([2.0, 4.0]),
        ...     value=2,
        ... )
        tensor([2.0000, 2.5000])
    """
    return input + _scaled(tensor1, value) / tensor2


def _addcdiv_rule(
    g: Array, _: None, input: Array, tensor1: Array, tensor2: Array, value: Number = 1
) -> tuple[Array, Array, Array]:
    by_first = (g * value if isinstance(value, int) else g * conj(value)) / conj(tensor2)
    return g, by_first, -by_first * conj(tensor1 / tensor2)


defvjp(addcdiv, _addcdiv_rule)


def _one_over(x: object) -> object:
    """``1 / x``."""
    return A.div_.Tensor(D.full_like(x, 1), x)


def _addcdiv_second_formula(g: object, tensor1: object, tensor2: object, value: object) -> object:
    square = A.mul.Tensor(tensor2, tensor2)
    slope = D.conj(A.div.Tensor(A.mul.Scalar(tensor1, value), square))
    return A.mul.Tensor(A.neg.default(g), slope)


derivative(
    A.addcdiv,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: A.mul.Tensor(g, D.conj(D.times(_one_over(tensor2), value))),
    tensor2=_addcdiv_second_formula,
)
