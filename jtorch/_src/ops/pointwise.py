"""Arithmetic of elements: sums, products, quotients, remainders, magnitudes and signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from . import _complex
from ._declare import UNLESS_ROUNDED, Array, Number, binary, defvjp, guard_range, unary, without_derivative
from ._facts import schemas
from ._hosted import hosted
from ._nodes import Made, by_operand
from ._numeric import (
    conj,
    is_bool,
    is_complex,
    is_float,
    is_integral,
    quotient,
    require,
    rounded,
    wide,
    zeros_and_ones,
    zeros_where,
)
from ._remainder import modulo, rem, whole_modulo, whole_quotient

NO_BOOL_MINUS = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
NO_MINUS_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
NO_NEGATED_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def _scaled(x: Array, alpha: Number | Array) -> Array:
    return x if isinstance(alpha, int) and alpha == 1 else x * alpha


def _plus(a: Any, b: Any, alpha: Any, sign: int = 1) -> Array:
    """``a + sign * alpha * b``, of halves rounded once."""
    plus = jnp.add if sign > 0 else jnp.subtract
    if isinstance(alpha, int) and alpha == 1:
        return plus(a, b)
    return plus(wide(a), wide(b) * wide(alpha)).astype(a.dtype)  # type: ignore[arg-type]


# ---- sums ------------------------------------------------------------------------------------------------------------------------


@binary(inplace=True, operators="+", saves=(), aten="add.Tensor", old_orders=("input alpha other",), numbers_do=True, opaque=2)
@schemas(".Tensor ; _ =out", ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; _ =Scalar_out")
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


@binary(
    method=False,
    saves=(),
    out=False,
    check=no_bools,
    aten="rsub.Tensor",
    node=by_operand("Rsub", "other", 0, 1),
    spelled={"alpha": "alpha/"},
)
@schemas(".Tensor ; =Tensor_out", ".Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor ; =Scalar_out")
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


@unary(promote=None, inplace="both", operators="neg", aliases=("negative",), saves=(), aten="neg", out_dtype="found")
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


def _not_bool(dtype: np.dtype) -> bool:
    return dtype.kind != "b"


@unary(promote=None, operators="pos", saves=(), out=False, itself=_not_bool, aten="positive", implicit=True)
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


# ---- products and quotients ------------------------------------------------------------------------------------------------------


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


def _check_integer_divisor(input: Array, other: Array) -> None:
    if is_integral(other) and 0 not in jnp.broadcast_shapes(input.shape, other.shape):
        guard_range(other, None, None, RuntimeError, "ZeroDivisionError", hole=0)


def _node_of_quotient(made: Made) -> str:
    if made.given("rounding_mode"):
        return "DivBackward2"
    return "DivBackward0" if made.is_tensor("input") else "MulBackward0"  # a number divided: by the reciprocal


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
        rounding_mode: ``None`` for the true quotient, ``"trunc"`` to round it towards zero, ``"floor"`` downwards.

    Shapes: those of the operands, broadcast.

    Dtypes: promoted; with ``rounding_mode=None`` integers become the default floating-point type.

    Raises:
        RuntimeError: for integers divided by zero with a rounding mode, an unknown mode, or shapes that do not broadcast.
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
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    require("div_trunc_cpu", input, "if")
    if is_integral(input):
        _check_integer_divisor(input, other)
        return lax.div(*jnp.broadcast_arrays(input, other))
    return lax.stop_gradient(jnp.trunc(rounded(wide(input) / wide(other), input.dtype)))


def _div_rule(g: Array, _: None, input: Array, other: Array, rounding_mode: str | None = None) -> tuple[Array, Array]:
    if rounding_mode is not None:
        return jnp.zeros_like(g), jnp.zeros_like(g)
    input, other = input.astype(g.dtype), other.astype(g.dtype)
    by_input = g / conj(other)  # linear in g, as JAX must be able to see for second derivatives
    return by_input, -by_input * conj(input / other)


defvjp(div, _div_rule)


@binary(
    promote="float", inplace=True, saves=("input", "other"), aten="true_divide.Tensor", node="DivBackward0", numbers_do=True, through="div"
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


@binary(inplace=True, operators="//", saves=(), aten="floor_divide", node="NotImplemented", numbers_do=True)
@schemas(". ; _Tensor =out", ".Scalar")
def floor_divide(input: Array | Number, other: Array | Number) -> Array:
    """Divides and rounds the quotient downwards.

    Shapes: those of the operands, broadcast.

    Dtypes: integers and real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: for integers divided by zero, or shapes that do not broadcast.
        NotImplementedError: for bool and complex operands.

    Gradient: a backward pass that comes to it raises, as in torch; ``div(..., rounding_mode="floor")`` has zeros.

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
    """Python's rule for floats: from the remainder, since the rounded quotient can lie above the true one."""
    return _floored(*jnp.broadcast_arrays(a, b))


@hosted(lambda: np.floor_divide, ns=12)
def _floored(a: Array, b: Array) -> Array:
    mod = rem(a, b)
    quotient = (a - mod) / b
    quotient = jnp.where((mod != 0) & ((b < 0) != (mod < 0)), quotient - 1, quotient)
    floored = jnp.floor(quotient)
    floored = jnp.where(quotient - floored > 0.5, floored + 1, floored)
    floored = jnp.where(quotient == 0, jnp.copysign(jnp.zeros((), a.dtype), a / b), floored)
    return jnp.where(b == 0, a / b, floored)


without_derivative(floor_divide, RuntimeError("derivative for aten::floor_divide is not implemented"))


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
    """The remainder of the division rounded downwards: it has the sign of ``other``, as Python's ``%``.

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


@binary(inplace=True, saves=("input", "other"), aten="fmod.Tensor", node=by_operand("Fmod", "other", 1, 0))
@schemas(".Tensor", ".Scalar")
def fmod(input: Array, other: Array | Number) -> Array:
    """The remainder of the division rounded towards zero: it has the sign of ``input``, as C's ``fmod``.

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


# ---- magnitude and sign ----------------------------------------------------------------------------------------------------------


def _only_real(t: Any) -> None:
    if t.is_complex():
        raise RuntimeError("In-place abs is not supported for complex tensors.")


@unary(
    promote=None,
    inplace=("abs",),
    operators="abs",
    aliases=("absolute",),
    saves=("input",),
    aten="abs",
    out_dtype="found of real",
    written=_only_real,
)
@schemas(".", "absolute")
def abs(input: Array) -> Array:
    """The absolute value; of complex numbers the magnitude, which is real.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: any but bool, kept; complex64 gives float32, complex128 float64.

    Gradient: 0 at 0.

    Raises:
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.abs(torch.tensor([-1, 2]))
        tensor([1, 2])
        >>> torch.abs(torch.tensor([3 + 4j]))
        tensor([5.])
    """
    if is_bool(input):
        require("abs_cpu", input, "ifc")
    return _complex.magnitude(input) if is_complex(input) else jnp.abs(input)


def _abs_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g.astype(input.dtype) * sgn(input),)


defvjp(abs, _abs_rule)


@unary(promote=None, inplace=True, saves=(), aten="sign", out_dtype="found")
def sign(input: Array) -> Array:
    """-1, 0 or 1 by the sign of each element; 0 for NaN.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: real ones and bool, kept.

    Raises:
        NotImplementedError: for complex tensors, whose sign is ``sgn``.

    Example:
        >>> import jtorch as torch
        >>> torch.sign(torch.tensor([-2.0, 0.0, 3.0, float("nan")]))
        tensor([-1.,  0.,  1.,  0.])
    """
    if is_complex(input):
        raise NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")
    if is_bool(input):
        return input
    positive = zeros_and_ones(input > 0, input.dtype)
    return positive if jnp.issubdtype(input.dtype, jnp.unsignedinteger) else positive - zeros_and_ones(input < 0, input.dtype)


@unary(promote=None, inplace=True, saves=("input",), aten="sgn", out_dtype="found")
def sgn(input: Array) -> Array:
    """``input / abs(input)``, and 0 at 0: the sign, also of complex numbers.

    Shapes: that of ``input``.

    Dtypes: any, kept.

    Example:
        >>> import jtorch as torch
        >>> torch.sgn(torch.tensor([3 + 4j, 0j]))
        tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if not is_complex(input):
        return sign(input)
    at_zero, size = _sizes(input)
    return zeros_where(at_zero, input / size)


def _sizes(x: Array) -> tuple[Array, Array]:
    """Where complex numbers are 0, and their magnitudes in their own dtype with 1 in those places."""
    size = jnp.abs(x)
    return size == 0, jnp.where(size == 0, jnp.ones((), size.dtype), size).astype(x.dtype)


def _sgn_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if not is_complex(input):
        return (jnp.zeros_like(g),)
    at_zero, size = _sizes(input)
    unit = sgn(input)
    return (zeros_where(at_zero, (g - (g * lax.conj(unit)).real.astype(g.dtype) * unit) / size),)


defvjp(sgn, _sgn_rule)


@unary(promote=None, differentiable=False, aten="signbit", out_dtype="signbit does not support non-boolean outputs.")
def signbit(input: Array) -> Array:
    """Whether each element's sign is negative; true of ``-0.`` too.

    Shapes: that of ``input``.

    Dtypes: real ones -> bool.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.signbit(torch.tensor([-1.0, 0.0, -0.0]))
        tensor([ True, False,  True])
    """
    if is_complex(input):
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    if is_float(input):
        return jnp.signbit(input)
    return jnp.zeros(input.shape, np.bool_) if is_bool(input) else input < 0


@binary(promote="float", inplace=True, saves=("input", "other"), aten="copysign.Tensor", node=by_operand("Copysign", "other", 0, 1))
@schemas(".Tensor ; _ =out", ".Scalar")
def copysign(input: Array, other: Array | Number) -> Array:
    """The magnitude of ``input`` with the sign of ``other``.

    Shapes: those of the operands, broadcast.

    Dtypes: the operands' common one, real; integers and bool become the default floating dtype.

    Gradient: 0 where ``input`` is 0, and for ``other``.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for complex operands.

    Example:
        >>> import jtorch as torch
        >>> torch.copysign(torch.tensor([1.0, -2.0]), torch.tensor([-0.0, 3.0]))
        tensor([-1.,  2.])
    """
    require("copysign_cpu", input)
    return _copysign(*jnp.broadcast_arrays(input, other))


@hosted(lambda: np.copysign, ns=1)
def _copysign(x: Array, y: Array) -> Array:
    return jnp.copysign(x, y)


def _copysign_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, None]:
    return g * zeros_where(input == 0, lax.stop_gradient(jnp.copysign(input, other) / input)), None


defvjp(copysign, _copysign_rule)
