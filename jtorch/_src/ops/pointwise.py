"""Arithmetic of elements: sums, products, quotients and remainders."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host import many
from ..facts import dtypes
from ..facts.devices import of_placement
from ..facts.layouts import strided
from ._declare import (
    UNLESS_ROUNDED,
    Array,
    Number,
    binary,
    defvjp,
    guard_range,
    unary,
    without_derivative,
)
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import hosted
from ._nodes import Made, by_operand
from ._numeric import (
    conj,
    is_bool,
    is_integral,
    quotient,
    require,
    rounded,
    wide,
)
from ._remainder import modulo, rem, whole_modulo, whole_quotient

if TYPE_CHECKING:
    from ...core import Tensor


NO_BOOL_MINUS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)
NO_MINUS_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)
NO_NEGATED_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead."
)


def _scaled(x: Array, alpha: Number | Array) -> Array:
    return x if isinstance(alpha, int) and alpha == 1 else x * alpha


def _plus(a: Array, b: Array, alpha: Array | int, sign: int = 1) -> Array:
    """``a + sign * alpha * b``, of halves rounded once."""
    plus = jnp.add if sign > 0 else jnp.subtract
    if isinstance(alpha, int) and alpha == 1:
        return plus(a, b)
    return plus(wide(a), wide(b) * wide(alpha)).astype(a.dtype)  # type: ignore[arg-type]


# ---- sums ----------------------------------------------------------------------------------------


@binary(
    inplace=True,
    operators="+",
    saves=(),
    aten="add.Tensor",
    old_orders=("input alpha other",),
    numbers_do=True,
    opaque=2,
    refused_as="arithmetic",
    wraps_numbers=True,
)
@schemas(
    ".Tensor ; _ =out",
    ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _ =Scalar_out",
)
def add(input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Adds ``alpha * other`` to ``input``; of bool operands it is the logical or.

    Args:
        input: the tensor.
        other: what is added: a tensor or a number.
        alpha: a factor for ``other``.

    Shapes: those of the operands, broadcast.

    Dtypes: any; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
        tensor([21, 42])
        >>> torch.tensor([1, 2]) + 0.5
        tensor([1.5000, 2.5000])
    """
    return _plus(input, other, alpha)


derivative(A.add.Tensor, self=lambda g: g, other=lambda g, alpha: D.times(g, D.conj(alpha)))
derivative(A.add.Scalar, self=lambda g: g)


def no_bools(kinds: list[dtypes.dtype]) -> None:
    """Refuses bool operands, before they are promoted."""
    bools = sum(kind is dtypes.bool_ for kind in kinds)
    if bools == 2:
        raise RuntimeError(NO_BOOL_MINUS)
    if bools:
        raise RuntimeError(NO_MINUS_BOOL)


@binary(
    inplace=True,
    operators="-",
    aliases=("subtract",),
    saves=(),
    check=no_bools,
    aten="sub.Tensor",
    node=lambda made: "SubBackward0" if made.is_tensor("input") else "RsubBackward1",
    spelled={"subtract": {"alpha": "alpha/"}, "Tensor.subtract": {"alpha": "alpha/"}},
    old_orders=("input alpha other",),
    numbers_do=True,
    refused_as="arithmetic",
    wraps_numbers=("other",),
)
@schemas(
    ".Tensor ; _ =out",
    ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _ =Scalar_out",
    "subtract.Tensor ; _ =out",
    "subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _",
)
def sub(input: Array | Number, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Subtracts ``alpha * other`` from ``input``.

    Shapes: those of the operands, broadcast.

    Dtypes: any but bool; the result has the operands' common one.

    Raises:
        RuntimeError: for bool operands, or if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.sub(torch.tensor([10, 20]), torch.tensor([1, 2]), alpha=2)
        tensor([ 8, 16])
        >>> 1.5 - torch.tensor([1, 2])
        tensor([ 0.5000, -0.5000])
    """
    return _plus(input, other, alpha, -1)


derivative(
    A.sub.Tensor,
    self=lambda g: g,
    other=lambda g, alpha: (
        A.neg.default(g) if alpha == 1 else A.mul.Scalar(A.neg.default(g), alpha)
    ),
)
derivative(A.sub.Scalar, self=lambda g: g)


@binary(
    method=False,
    saves=(),
    out=False,
    check=no_bools,
    aten="rsub.Tensor",
    node=by_operand("Rsub", "other", 0, 1),
    spelled={"alpha": "alpha/"},
)
@schemas(
    ".Tensor ; =Tensor_out",
    ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; =Scalar_out",
)
def rsub(input: Array, other: Array | Number, *, alpha: Number = 1) -> Array:
    """Subtracts ``alpha * input`` from ``other``: ``sub`` with its operands exchanged.

    Shapes: those of the operands, broadcast.

    Dtypes: any but bool; the result has the operands' common one.

    Raises:
        RuntimeError: for bool operands, or if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.rsub(torch.tensor([1, 2]), 10, alpha=2)
        tensor([8, 6])
    """
    return sub(other, input, alpha=alpha)


derivative(A.rsub.Tensor, self=lambda g, alpha: D.times(A.neg.default(g), alpha), other=lambda g: g)
derivative(A.rsub.Scalar, self=lambda g, alpha: D.times(A.neg.default(g), alpha))


@unary(
    promote=None,
    inplace="both",
    operators="neg",
    aliases=("negative",),
    saves=(),
    aten="neg",
    out_dtype="found",
    lazy="neg_",
)
@schemas(".", "negative")
def neg(input: Array) -> Array:
    """Changes the sign.

    Shapes: that of ``input``.

    Dtypes: any but bool, kept.

    Raises:
        RuntimeError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.neg(torch.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
        >>> -torch.tensor([1, -2])
        tensor([-1,  2])
    """
    if is_bool(input):
        raise RuntimeError(NO_NEGATED_BOOL)
    return -input


derivative(A.neg, self=lambda g: A.neg.default(g))


def _not_bool(dtype: np.dtype) -> bool:
    return dtype.kind != "b"


@unary(
    promote=None,
    operators="pos",
    saves=(),
    out=False,
    itself=_not_bool,
    aten="positive",
    implicit=True,
)
@schemas("(Tensor(a) self) -> Tensor(a)")
def positive(input: Array) -> Array:
    """Returns ``input`` itself.

    Shapes: that of ``input``.

    Dtypes: any but bool, kept.

    Raises:
        RuntimeError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> +torch.tensor([1.0, -2.0])
        tensor([ 1., -2.])
    """
    if is_bool(input):
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


derivative(A.positive, self=lambda g: g)


# ---- products and quotients ----------------------------------------------------------------------


@binary(
    inplace=True,
    operators="*",
    aliases=("multiply",),
    saves=("input", "other"),
    aten="mul.Tensor",
    wide=True,
    numbers_do=True,
    wraps=True,
    opaque=1,
    refused_as="arithmetic",
    wraps_numbers=True,
)
@schemas(".Tensor ; _ =out", ".Scalar", "multiply.Tensor ; _ =out", "multiply.Scalar ; _")
def mul(input: Array | Number, other: Array | Number) -> Array:
    """Multiplies; of bool operands it is the logical and.

    Args:
        input: one factor.
        other: the other: a tensor or a number.

    Shapes: those of the operands, broadcast.

    Dtypes: any; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.mul(torch.tensor([[1], [2]]), torch.tensor([10, 20]))
        tensor([[10, 20],
                [20, 40]])
        >>> torch.tensor([True, True]) * torch.tensor([True, False])
        tensor([ True, False])
    """
    return jnp.multiply(input, other)


def _mul_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g * conj(other), g * conj(input)


defvjp(mul, _mul_rule)
derivative(
    A.mul.Tensor,
    self=lambda g, other: A.mul.Tensor(g, D.conj(other)),
    other=lambda g, self: A.mul.Tensor(g, D.conj(self)),
)
derivative(A.mul.Scalar, self=lambda g, other: A.mul.Scalar(g, D.conj(other)))


def _check_integer_divisor(input: Array, other: Array) -> None:
    if is_integral(other) and 0 not in jnp.broadcast_shapes(input.shape, other.shape):
        guard_range(other, None, None, RuntimeError, "ZeroDivisionError", hole=0)


def _node_of_quotient(made: Made) -> str:
    if made.given("rounding_mode"):
        return "DivBackward2"
    # a number divided: by the reciprocal
    return "DivBackward0" if made.is_tensor("input") else "MulBackward0"


@binary(
    promote=UNLESS_ROUNDED,
    inplace=True,
    operators="/",
    aliases=("divide",),
    saves=("input", "other"),
    aten="div.Tensor_mode",
    wide=True,
    node=_node_of_quotient,
    numbers_do=True,
    wraps=True,
    refused_as="arithmetic",
    wraps_numbers=True,
)
@schemas(
    ".Tensor(Tensor self, Tensor other) -> Tensor ; _ =out",
    ".Scalar(Tensor self, Scalar other) -> Tensor ; _ =Scalar_out",
    ".Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor ; _ =out_mode",
    ".Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor ; _ =Scalar_mode_out",
    "divide.Tensor(Tensor self, Tensor other) -> Tensor ; _ =out",
    "divide.Scalar(Tensor self, Scalar other) -> Tensor ; _",
    "divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor ; _ =out_mode",
    "divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor ; _",
)
def div(input: Array | Number, other: Array | Number, *, rounding_mode: str | None = None) -> Array:
    """Divides ``input`` by ``other``.

    Args:
        input: the dividend.
        other: the divisor.
        rounding_mode: ``None`` for the true quotient, ``"trunc"`` to round it towards zero,
            ``"floor"`` downwards.

    Shapes: those of the operands, broadcast.

    Dtypes: promoted; with ``rounding_mode=None`` integers become the default floating-point type.

    Raises:
        RuntimeError: for integers divided by zero with a rounding mode, an unknown mode, or shapes
            that do not broadcast.
        NotImplementedError: for bool and complex operands with a rounding mode.

    Example:
        >>> import jtorch as torch
        >>> torch.div(torch.tensor([7, -7]), 2)
        tensor([ 3.5000, -3.5000])
        >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
        tensor([ 3, -4])
        >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
        tensor([ 3, -3])
    """
    if rounding_mode is None:
        return quotient(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    require("div_trunc_cpu", input, "if")
    if is_integral(input):
        _check_integer_divisor(input, other)
        return lax.div(*jnp.broadcast_arrays(input, other))
    return lax.stop_gradient(jnp.trunc(rounded(wide(input) / wide(other), input.dtype)))


def _div_rule(
    g: Array, _: None, input: Array, other: Array, rounding_mode: str | None = None
) -> tuple[Array, Array]:
    if rounding_mode is not None:
        return jnp.zeros_like(g), jnp.zeros_like(g)
    input, other = input.astype(g.dtype), other.astype(g.dtype)
    by_input = g / conj(other)  # linear in g, as JAX must be able to see for second derivatives
    return by_input, -by_input * conj(input / other)


defvjp(div, _div_rule)


def _div_other_formula(g: object, self: object, other: object) -> object:
    quotient = A.div.Tensor(A.div.Tensor(self, other), other)
    return A.mul.Tensor(A.neg.default(g), D.conj(quotient))


derivative(
    A.div.Tensor, self=lambda g, other: A.div.Tensor(g, D.conj(other)), other=_div_other_formula
)
derivative(A.div.Scalar, self=lambda g, other: A.div.Scalar(g, D.conj(other)))


def _zeros_of(g: Tensor) -> object:
    return A.zeros_like.default(
        g, dtype=g._aval.torch_dtype, layout=strided, device=of_placement(g._aval.device)
    )


derivative(
    A.div.Tensor_mode,
    self=lambda g, other, rounding_mode: (
        _zeros_of(g) if rounding_mode else A.div.Tensor(g, D.conj(other))
    ),
    other=lambda g, self, other, rounding_mode: (
        _zeros_of(g) if rounding_mode else _div_other_formula(g, self, other)
    ),
)


@binary(
    promote="float",
    inplace=True,
    saves=("input", "other"),
    aten="true_divide.Tensor",
    node="DivBackward0",
    numbers_do=True,
    through="div",
    refused_as="arithmetic",
    wraps_numbers=True,
)
@schemas(".Tensor ; _ =out", ".Scalar ; _")
def true_divide(input: Array | Number, other: Array | Number) -> Array:
    """Divides ``input`` by ``other``.

    Shapes: those of the operands, broadcast.

    Dtypes: the operands' common one; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.true_divide(torch.tensor([1, 3]), torch.tensor([2, 4]))
        tensor([0.5000, 0.7500])
    """
    return quotient(input, other)


defvjp(true_divide, _div_rule)


@binary(
    inplace=True,
    operators="//",
    saves=(),
    aten="floor_divide",
    node="NotImplemented",
    numbers_do=True,
    wraps_numbers=True,
)
@schemas(". ; _Tensor =out", ".Scalar")
def floor_divide(input: Array | Number, other: Array | Number) -> Array:
    """Divides and rounds the quotient downwards.

    Shapes: those of the operands, broadcast.

    Dtypes: integers and real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: for integers divided by zero, or shapes that do not broadcast.
        NotImplementedError: for bool and complex operands.

    Gradient: a backward pass that comes to it raises, as in torch;
    ``div(..., rounding_mode="floor")`` has zeros.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([7, -7]) // 2
        tensor([ 3, -4])
        >>> torch.floor_divide(torch.tensor([7.0, -7.0]), 2)
        tensor([ 3., -4.])
    """
    require("div_floor_cpu", input, "if")
    if is_integral(input):
        _check_integer_divisor(input, other)
        return whole_quotient(*jnp.broadcast_arrays(input, other))
    return lax.stop_gradient(_floor_quotient(wide(input), wide(other)).astype(input.dtype))


def _floor_quotient(a: Array, b: Array) -> Array:
    """Python's rule for floats: from the remainder, since the rounded quotient can lie above the
    true one."""
    return _floored(*jnp.broadcast_arrays(a, b))


@hosted(lambda: np.floor_divide, ns=12, many=many.floor_divide)
def _floored(a: Array, b: Array) -> Array:
    mod = rem(a, b)
    quotient = (a - mod) / b
    quotient = jnp.where((mod != 0) & ((b < 0) != (mod < 0)), quotient - 1, quotient)
    floored = jnp.floor(quotient)
    floored = jnp.where(quotient - floored > 0.5, floored + 1, floored)
    floored = jnp.where(quotient == 0, jnp.copysign(jnp.zeros((), a.dtype), a / b), floored)
    return jnp.where(b == 0, a / b, floored)


without_derivative(
    floor_divide, RuntimeError("derivative for aten::floor_divide is not implemented")
)


def _remainder_bounds(operand: Callable[[int], tuple[float, float]]) -> tuple[float, float] | None:
    low, high = operand(1)
    if low > 0:
        return 0, high - 1
    return (low + 1, 0) if high < 0 else None


@binary(
    inplace=True,
    operators="%",
    saves=("input", "other"),
    aten="remainder.Tensor",
    bounds=_remainder_bounds,
    node=by_operand("Remainder", "other", 1, 0),
)
@schemas(".Tensor", ".Scalar", ".Scalar_Tensor ; =Scalar_Tensor_out")
def remainder(input: Array | Number, other: Array | Number) -> Array:
    """The remainder of the division rounded downwards: it has the sign of ``other``, as Python's
    ``%``.

    Shapes: those of the operands, broadcast.

    Dtypes: integers and real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: for integers divided by zero, or shapes that do not broadcast.
        NotImplementedError: for bool and complex operands.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([7, -7]) % 3
        tensor([1, 2])
        >>> torch.remainder(torch.tensor([7, -7]), -3)
        tensor([-2, -1])
    """
    require("remainder_cpu", input, "if")
    _check_integer_divisor(input, other)
    a, b = jnp.broadcast_arrays(wide(input), wide(other))
    return (whole_modulo if is_integral(a) else modulo)(a, b).astype(input.dtype)


def _remainder_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g, -g * floor_divide(input, other)


defvjp(remainder, _remainder_rule)


def _times_taken(rounding_mode: str) -> Callable[..., object]:
    """The gradient of a remainder's divisor: how often it was taken away."""

    def gradient(g: object, self: object, other: object) -> object:
        count = A.div.Tensor_mode(self, other, rounding_mode=rounding_mode)
        return A.mul.Tensor(A.neg.default(g), count)

    return gradient


derivative(A.remainder.Tensor, self=lambda g: g, other=_times_taken("floor"))


@binary(
    inplace=True,
    saves=("input", "other"),
    aten="fmod.Tensor",
    node=by_operand("Fmod", "other", 1, 0),
)
@schemas(".Tensor", ".Scalar")
def fmod(input: Array, other: Array | Number) -> Array:
    """The remainder of the division rounded towards zero: it has the sign of ``input``, as C's
    ``fmod``.

    Shapes: those of the operands, broadcast.

    Dtypes: integers and real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: for integers divided by zero, or shapes that do not broadcast.
        NotImplementedError: for bool and complex operands.

    Example:
        >>> import jtorch as torch
        >>> torch.fmod(torch.tensor([7, -7]), 3)
        tensor([ 1, -1])
    """
    require("fmod_cpu", input, "if")
    _check_integer_divisor(input, other)
    return rem(*jnp.broadcast_arrays(wide(input), wide(other))).astype(input.dtype)


def _fmod_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g, -g * lax.stop_gradient(jnp.trunc(input / other))


defvjp(fmod, _fmod_rule)
derivative(A.remainder.Scalar, A.fmod.Scalar, self=lambda g: g)
derivative(A.fmod.Tensor, self=lambda g: g, other=_times_taken("trunc"))
