"""Powers and roots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.layouts import contiguous_format
from . import _complex, _loops
from ._declare import Array, Number, Power, binary, defvjp, pointwise, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._fitting import check_fits
from ._nodes import Made
from ._numeric import (
    conj,
    inverse_sqrt,
    is_bool,
    is_complex,
    is_integral,
    quotient,
    require,
    unsupported,
    wide,
    zeros_where,
)

if TYPE_CHECKING:
    from ...core import Tensor


def _node_of_power(made: Made) -> str:
    if not made.is_tensor("exponent"):
        return "PowBackward0"
    return "PowBackward1" if made.is_tensor(next(iter(made.layout))) else "PowBackward2"


@binary(
    inplace=True,
    operators="**",
    saves=("input", "exponent"),
    aten="pow.Tensor_Tensor",
    node=_node_of_power,
    autocast="cuda float32",
)
@schemas(
    ".Tensor_Tensor ; _Tensor =Tensor_Tensor_out",
    ".Tensor_Scalar ; _Scalar =Tensor_Scalar_out",
    ".Scalar(Scalar self, Tensor exponent) -> Tensor ; =Scalar_out",
)
def pow(input: Array | Power, exponent: Array | Power) -> Array:
    """Raises ``input`` to the power ``exponent``. Small whole numbers and halves are compiled in:
    ``x**2`` is a product.

    Args:
        input: the base: a tensor or, as a function, a number.
        exponent: the exponent: a tensor or a number.

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; two bool tensors are refused (NotImplementedError).
    Gradient: 0 for ``input`` where ``exponent`` is 0, and for ``exponent`` where ``input`` is 0 and
    ``exponent`` is not negative.

    Raises:
        RuntimeError: for integers with a negative number as exponent.

    Example:
        >>> import jtorch as torch
        >>> torch.pow(torch.tensor([2.0, 3.0]), torch.tensor([3.0, -1.0]))
        tensor([8.0000, 0.3333])
        >>> torch.pow(2, torch.tensor([1, 10]))
        tensor([   2, 1024])
    """
    if not isinstance(exponent, (int, float, complex)):
        # NaN and infinities too
        if isinstance(input, (int, float, complex)) and input == 1 and is_complex(exponent):
            return jnp.ones_like(exponent)
        if isinstance(input, int) and is_integral(exponent):  # as other numbers, it wraps around
            input = np.asarray(input, np.int64).astype(exponent.dtype)
        return _pow_tensors(jnp.asarray(input, exponent.dtype), exponent)
    assert not isinstance(input, (int, float, complex))
    return _pow_number(input, exponent)


def _pow_number(x: Array, exponent: Number) -> Array:
    if isinstance(exponent, complex):
        return _pow_tensors(x, jnp.asarray(exponent, x.dtype))
    if is_bool(x):  # only with True or False as exponent
        return x if exponent else jnp.ones_like(x)
    if is_integral(x):
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        check_fits(exponent, x.dtype)
        return (
            lax.integer_pow(x, int(exponent))
            if exponent < 64
            else _pow_tensors(x, jnp.asarray(exponent, x.dtype))
        )
    # infinities, and both sides of the cut, as torch's formulas have them
    if is_complex(x) and exponent in (-2, -1, -0.5, 0.5):
        base = x * x if exponent == -2 else x if exponent == -1 else _complex.sqrt(x)
        return base if exponent == 0.5 else quotient(jnp.ones_like(x), base)
    if exponent == 0.5:
        return jnp.sqrt(x)
    if exponent == -0.5:
        return inverse_sqrt(wide(x)).astype(x.dtype)
    if exponent in (-2, -1, 0, 1, 2, 3):
        return lax.integer_pow(x, int(exponent))
    return _pow_tensors(x, jnp.asarray(exponent, x.dtype))


def _pow_tensors(x: Array, y: Array) -> Array:
    if is_bool(x):
        raise unsupported("pow", x)
    if is_integral(x):
        if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
            return _integer_power(x, y)
        # A negative power of an integer is rounded towards zero: only 1 and -1 keep a value.
        inverse = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(y % 2 == 0, 1, -1), 0)).astype(
            x.dtype
        )
        return jnp.where(y < 0, inverse, _integer_power(x, jnp.maximum(y, 0)))
    if not is_complex(x):
        return jnp.power(x, y)
    # By exponential and logarithm, which lose digits where the result is large: in double
    # precision.
    return _complex.power(
        *jnp.broadcast_arrays(x.astype(np.complex128), y.astype(np.complex128))
    ).astype(x.dtype)


def _integer_power(x: Array, y: Array) -> Array:
    """By squaring, for as many bits as the largest exponent has; overflow wraps."""
    x, y = jnp.broadcast_arrays(x, y)

    def square(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, base, left = state
        return jnp.where(left & 1 == 1, found * base, found), base * base, left >> 1

    return _loops.while_loop(lambda state: jnp.any(state[2] > 0), square, (jnp.ones_like(x), x, y))[
        0
    ]


def _pow_rule(
    g: Array, _: None, input: Array | Number, exponent: Array | Number
) -> tuple[object, object]:
    if not isinstance(exponent, (int, float, complex)):
        return _pow_tensor_rule(g, jnp.asarray(input, exponent.dtype), exponent)
    assert not isinstance(input, (int, float, complex))
    if exponent == 0:
        return jnp.zeros_like(g), None
    if exponent == 2:
        return g * conj(input + input), None
    factor = jnp.asarray(exponent, g.dtype)
    return g * conj(factor * _pow_number(input, exponent - 1)), None


def _pow_tensor_rule(g: Array, x: Array, y: Array) -> tuple[Array, Array]:
    none = y == 0
    by_base = zeros_where(none, g * conj(y * jnp.power(x, jnp.where(none, y, y - 1))))
    settled = (x == 0) & ((y.imag == 0) & (y.real >= 0) if is_complex(y) else y >= 0)
    by_exponent = g * conj(zeros_where(settled, _pow_tensors(x, y) * jnp.log(x)))
    return by_base, by_exponent


defvjp(pow, _pow_rule)


def _pow_scalar_formula(g: Tensor, self: Tensor, exponent: int) -> Tensor:
    if exponent == 0:
        return A.zeros_like.default(self, memory_format=contiguous_format)
    lower = exponent - 1 if isinstance(exponent, complex) else float(exponent) - 1
    inner = A.mul.Scalar(
        A.pow.Tensor_Scalar(self, lower),
        exponent if isinstance(exponent, complex) else float(exponent),
    )
    return A.mul.Tensor(g, D.conj(inner))


derivative(A.pow.Tensor_Scalar, self=_pow_scalar_formula)


def _pow_self_formula(g: object, self: object, exponent: object) -> object:
    inner = A.mul.Tensor(A.pow.Tensor_Tensor(self, A.sub.Scalar(exponent, 1)), exponent)
    found = A.mul.Tensor(g, D.conj(inner))
    zero = D.zero_of(g)
    return A.where.self(A.eq.Scalar(exponent, 0.0), zero, found)


def _pow_exponent_formula(g: object, self: object, exponent: object, result: object) -> object:
    positive = A.ge.Scalar(exponent, 0)
    at_zero = A.logical_and.default(A.eq.Scalar(self, 0), positive)
    slope = A.mul.Tensor(result, A.log.default(self))
    return A.mul.Tensor(g, D.conj(A.where.self(at_zero, D.zero_of(g), slope)))


derivative(A.pow.Tensor_Tensor, self=_pow_self_formula, exponent=_pow_exponent_formula)
derivative(
    A.pow.Scalar,
    exponent=lambda g, self, result: (
        A.mul.Tensor(g, A.mul.Scalar(result, math.log(self))) if self else D.zeros(g)
    ),
)


@pointwise(
    promote=None,
    saves=("input", "exponent"),
    aten="float_power.Tensor_Tensor",
    out_dtype="the output given to float_power has dtype {mine} but the operation's result "
    "requires dtype {its}",
    node="PowBackward1",
    implicit=True,
    unchecked=("input", "exponent"),
)
@schemas(
    ".Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor ; _Tensor =Tensor_Tensor_out",
    ".Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor ; _Scalar =Tensor_Scalar_out",
    ".Scalar(Scalar self, Tensor exponent) -> Tensor ; =Scalar_out",
)
def float_power(input: Array | float, exponent: Array | float) -> Array:
    """Raises ``input`` to the power ``exponent`` in double precision.

    Shapes: that of the operands, broadcast.
    Dtypes: any -> float64, or complex128 if an operand is complex.

    Example:
        >>> import jtorch as torch
        >>> torch.float_power(torch.tensor([2, 3]), -1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    double = np.complex128 if any(_holds_complex(v) for v in (input, exponent)) else np.float64
    base, power = (
        v if isinstance(v, (int, float, complex)) else v.astype(double) for v in (input, exponent)
    )
    if isinstance(power, complex) and not _holds_complex(base):
        base = jnp.asarray(base, double)
    return pow(base, power)


def _holds_complex(v: Array | Number) -> bool:
    return isinstance(v, complex) or (not isinstance(v, (int, float)) and is_complex(v))


def _float_power_rule(
    g: Array, _: None, input: Array | Number, exponent: Array | Number
) -> tuple[object, object]:
    base, power = (
        v if isinstance(v, (int, float, complex)) else v.astype(g.dtype) for v in (input, exponent)
    )
    return _pow_rule(g, None, base, power)


defvjp(float_power, _float_power_rule)


@unary(
    promote=None,
    inplace="both",
    saves=("input",),
    aten="square",
    node="PowBackward0",
    implicit=True,
)
def square(input: Array) -> Array:
    """``input * input``.

    Shapes: input (*) -> (*).
    Dtypes: bool -> int64, others -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.square(torch.tensor([-3, 4]))
        tensor([ 9, 16])
    """
    x = input.astype(np.int64) if is_bool(input) else input
    return x * x


def _square_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(input + input),)


defvjp(square, _square_rule)


@unary(inplace="both", saves=("result",), aten="sqrt")
def sqrt(input: Array) -> Array:
    """The square root; NaN for negative real numbers.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.sqrt(torch.tensor([4.0, 2.0, -1.0]))
        tensor([2.0000, 1.4142,    nan])
    """
    return _complex.sqrt(input) if is_complex(input) else jnp.sqrt(input)


def _sqrt_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g / conj(result + result),)


defvjp(sqrt, _sqrt_rule)
derivative(A.sqrt, self=lambda g, result: A.div.Tensor(g, A.mul.Scalar(D.conj(result), 2)))


@unary(inplace="both", saves=("result",), aten="rsqrt", autocast="cuda float32")
def rsqrt(input: Array) -> Array:
    """One over the square root.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.rsqrt(torch.tensor([4.0, 0.0]))
        tensor([0.5000,    inf])
    """
    if is_complex(input):
        return quotient(jnp.ones_like(input), _complex.sqrt(input))
    return inverse_sqrt(wide(input)).astype(input.dtype)


def _rsqrt_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (-0.5 * g * conj(result * result * result),)


defvjp(rsqrt, _rsqrt_rule)


def _times_after(right: object, g: object, factor: object) -> object:
    """``factor * g * right``, where ``right`` was computed first."""
    return A.mul.Tensor(A.mul.Scalar(g, factor), D.conj(right))


derivative(A.rsqrt, self=lambda g, result: _times_after(A.pow.Tensor_Scalar(result, 3), g, -0.5))


@unary(inplace="both", saves=("result",), aten="reciprocal", autocast="cuda float32")
def reciprocal(input: Array) -> Array:
    """One over each element.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.reciprocal(torch.tensor([4, -2]))
        tensor([ 0.2500, -0.5000])
    """
    return quotient(jnp.ones_like(input), input) if is_complex(input) else 1 / input


def _reciprocal_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (-g * conj(result * result),)


defvjp(reciprocal, _reciprocal_rule)


def _reciprocal_formula(g: object, result: object) -> object:
    square = D.conj(A.mul.Tensor(result, result))
    return A.mul.Tensor(A.neg.default(g), square)


derivative(A.reciprocal, self=_reciprocal_formula)


@pointwise(inplace=True, saves=("result", "input", "other"), aten="hypot")
def hypot(input: Array, other: Array) -> Array:
    """The hypotenuse ``sqrt(input**2 + other**2)``, without overflow on the way.

    Shapes: that of the operands, broadcast.
    Dtypes: real floating-point, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.hypot(torch.tensor([3.0, 5.0]), torch.tensor([4.0, 12.0]))
        tensor([ 5., 13.])
    """
    require("hypot_cpu", input)
    return _complex.hypotenuse(*jnp.broadcast_arrays(input, other))


def _hypot_rule(g: Array, result: Array, input: Array, other: Array) -> tuple[Array, Array]:
    return g * (input / result), g * (other / result)


defvjp(hypot, _hypot_rule)
derivative(
    A.hypot,
    self=lambda g, self, result: A.div.Tensor(A.mul.Tensor(g, self), result),
    other=lambda g, other, result: A.div.Tensor(A.mul.Tensor(g, other), result),
)


# ---- exponentials --------------------------------------------------------------------------------
