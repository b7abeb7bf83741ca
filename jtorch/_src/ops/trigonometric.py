"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from . import _arcs, _complex, _sincos
from ._declare import Array, defvjp, pointwise, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._numeric import conj, inverse_sqrt, is_complex, require, wide, zeros_where

# ---- circular ------------------------------------------------------------------------------------


@unary(inplace="both", saves=("input",), aten="sin")
def sin(input: Array) -> Array:
    """The sine.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.sin(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4794, 0.8415])
    """
    return (
        _complex.sin(input) if is_complex(input) else _sincos.sin(wide(input)).astype(input.dtype)
    )


def _sin_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(cos(input)),)


defvjp(sin, _sin_rule)
derivative(A.sin, self=lambda g, self: A.mul.Tensor(g, D.conj(A.cos.default(self))))


@unary(inplace="both", saves=("input",), aten="cos")
def cos(input: Array) -> Array:
    """The cosine.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.cos(torch.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 0.8776, 0.5403])
    """
    return (
        _complex.cos(input) if is_complex(input) else _sincos.cos(wide(input)).astype(input.dtype)
    )


def _cos_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (-g * conj(sin(input)),)


defvjp(cos, _cos_rule)
derivative(A.cos, self=lambda g, self: A.mul.Tensor(g, A.neg.default(D.conj(A.sin.default(self)))))


@unary(inplace="both", saves=("result",), aten="tan", autocast="cuda float32")
def tan(input: Array) -> Array:
    """The tangent.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.tan(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5463, 1.5574])
    """
    return _complex.tan(input) if is_complex(input) else _arcs.tan(input)


def _tan_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(1 + result * result),)


defvjp(tan, _tan_rule)
derivative(
    A.tan,
    self=lambda g, result: A.mul.Tensor(g, D.conj(A.add.Scalar(A.pow.Tensor_Scalar(result, 2), 1))),
)


@unary(inplace="both", aliases=("arcsin",), saves=("input",), aten="asin", autocast="cuda float32")
@schemas(".", "arcsin")
def asin(input: Array) -> Array:
    """The inverse sine, in [-pi/2, pi/2]; NaN outside [-1, 1] for real numbers.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.asin(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5236, 1.5708])
    """
    return _complex.asin(input) if is_complex(input) else _arcs.asin(input)


def _asin_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(inverse_sqrt(1 - input * input)),)


defvjp(asin, _asin_rule)
derivative(
    A.asin,
    self=lambda g, self: A.mul.Tensor(
        g, D.conj(A.rsqrt.default(A.add.Scalar(A.mul.Tensor(A.neg.default(self), self), 1)))
    ),
)


@unary(inplace="both", aliases=("arccos",), saves=("input",), aten="acos", autocast="cuda float32")
@schemas(".", "arccos")
def acos(input: Array) -> Array:
    """The inverse cosine, in [0, pi]; NaN outside [-1, 1] for real numbers.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.acos(torch.tensor([0.0, 0.5, 1.0]))
        tensor([1.5708, 1.0472, 0.0000])
    """
    return _complex.acos(input) if is_complex(input) else _arcs.acos(input)


def _acos_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (-g * conj(inverse_sqrt(1 - input * input)),)


defvjp(acos, _acos_rule)
derivative(
    A.acos,
    self=lambda g, self: A.mul.Tensor(
        g,
        D.conj(
            A.neg.default(A.rsqrt.default(A.add.Scalar(A.mul.Tensor(A.neg.default(self), self), 1)))
        ),
    ),
)


@unary(inplace="both", aliases=("arctan",), saves=("input",), aten="atan")
@schemas(".", "arctan")
def atan(input: Array) -> Array:
    """The inverse tangent, in (-pi/2, pi/2).

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.atan(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4636, 0.7854])
    """
    return _complex.atan(input) if is_complex(input) else _arcs.atan(input)


def _atan_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / conj(input * input + 1),)


defvjp(atan, _atan_rule)
derivative(
    A.atan, self=lambda g, self: A.div.Tensor(g, D.conj(A.add.Scalar(A.mul.Tensor(self, self), 1)))
)


@pointwise(
    promote="float",
    inplace=True,
    aliases=("arctan2",),
    saves=("input", "other"),
    aten="atan2",
    autocast="cuda widest",
)
@schemas(".", "arctan2")
def atan2(input: Array, other: Array) -> Array:
    """The angle of the point with ordinate ``input`` and abscissa ``other``, in [-pi, pi].

    Shapes: those of the operands, broadcast.

    Dtypes: the operands' common one, real; integers and bool become the default floating dtype.

    Gradient: 0 at the origin.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for complex operands.

    Example:
        >>> import jtorch as torch
        >>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0]))
        tensor([ 0.7854, -2.3562])
    """
    require("atan2_cpu", input)
    return _arcs.atan2(*jnp.broadcast_arrays(input, other))


def _atan2_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    size = input * input + other * other
    scaled = zeros_where(size == 0, g / size)
    return scaled * other, scaled * -input


defvjp(atan2, _atan2_rule)


def _atan2_formula(g: object, self: object, other: object, wants: Any) -> object:
    length = A.add.Tensor(A.mul.Tensor(self, self), A.mul.Tensor(other, other))
    inverse = A.reciprocal.default(length)
    inverse = A.masked_fill.Scalar(inverse, A.eq.Scalar(length, 0), 0)
    first = A.mul.Tensor(A.mul.Tensor(g, other), inverse) if wants[0] else None
    return first, A.mul.Tensor(A.mul.Tensor(g, A.neg.default(self)), inverse) if wants[1] else None


derivative(A.atan2, self__other=_atan2_formula)


@unary(inplace="both", aliases=("special.sinc",), saves=("input",), aten="sinc")
@schemas(".", "special_sinc. ; =out")
def sinc(input: Array) -> Array:
    """``sin(pi * input) / (pi * input)``, and 1 at 0.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.sinc(torch.tensor([0.0, 0.25, 0.5]))
        tensor([1.0000, 0.9003, 0.6366])
    """
    x = wide(input)
    at_zero = x == 0
    angle = math.pi * jnp.where(at_zero, jnp.ones((), x.dtype), x)
    return jnp.where(at_zero, jnp.ones((), x.dtype), _sincos.sin(angle) / angle).astype(input.dtype)


def _sinc_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    x = wide(input)
    at_zero = x * x * math.pi == 0  # what is so near gives 0 / 0
    x = jnp.where(at_zero, jnp.ones((), x.dtype), x)
    angle = math.pi * x
    slope = (angle * _sincos.cos(angle) - _sincos.sin(angle)) / (angle * x)
    return (g * conj(zeros_where(at_zero, slope)).astype(g.dtype),)


defvjp(sinc, _sinc_rule)


def _sinc_formula(g: object, self: object) -> object:
    squared = A.mul.Tensor(A.mul.Scalar(self, math.pi), self)
    scaled = A.mul.Scalar(self, math.pi)
    sine = A.sin.default(scaled)
    top = A.sub.Tensor(A.mul.Tensor(A.cos.default(scaled), scaled), sine)
    found = A.mul.Tensor(g, D.conj(A.div.Tensor(top, squared)))
    zero = D.zero_of(g)
    return A.where.self(A.eq.Scalar(squared, 0.0), zero, found)


derivative(A.sinc, self=_sinc_formula)


# ---- hyperbolic ----------------------------------------------------------------------------------


@unary(inplace="both", saves=("input",), aten="sinh", autocast="cuda float32")
def sinh(input: Array) -> Array:
    """The hyperbolic sine.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.sinh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5211, 1.1752])
    """
    return _complex.sinh(input) if is_complex(input) else jnp.sinh(input)


def _sinh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(jnp.cosh(input)),)


defvjp(sinh, _sinh_rule)
derivative(A.sinh, self=lambda g, self: A.mul.Tensor(g, D.conj(A.cosh.default(self))))


@unary(inplace="both", saves=("input",), aten="cosh", autocast="cuda float32")
def cosh(input: Array) -> Array:
    """The hyperbolic cosine.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.cosh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([1.0000, 1.1276, 1.5431])
    """
    return _complex.cosh(input) if is_complex(input) else jnp.cosh(input)


def _cosh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(jnp.sinh(input)),)


defvjp(cosh, _cosh_rule)
derivative(A.cosh, self=lambda g, self: A.mul.Tensor(g, D.conj(A.sinh.default(self))))


@unary(
    inplace="both",
    aliases=("nn.functional.tanh",),
    saves=("result",),
    aten="tanh",
    spelled={"nn.functional.tanh": {"out": ""}},
    ignored=("nn.functional.tanh",),
    opaque=True,
)
def tanh(input: Array) -> Array:
    """The hyperbolic tangent.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.tanh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4621, 0.7616])
    """
    return _complex.tanh(input) if is_complex(input) else jnp.tanh(input)


def _tanh_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    y = wide(result)
    return ((wide(g) * conj(1 - y * y)).astype(g.dtype),)


defvjp(tanh, _tanh_rule)
derivative(A.tanh, self=lambda g, result: A.tanh_backward.default(g, result))


@unary(inplace="both", aliases=("arcsinh",), saves=("input",), aten="asinh")
@schemas(".", "arcsinh")
def asinh(input: Array) -> Array:
    """The inverse hyperbolic sine.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.asinh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4812, 0.8814])
    """
    return (
        _complex.asinh(input) if is_complex(input) else jnp.arcsinh(wide(input)).astype(input.dtype)
    )


def _asinh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(inverse_sqrt(input * input + 1)),)


defvjp(asinh, _asinh_rule)
derivative(
    A.asinh,
    self=lambda g, self: A.mul.Tensor(
        g, D.conj(A.rsqrt.default(A.add.Scalar(A.pow.Tensor_Scalar(self, 2), 1)))
    ),
)


@unary(inplace="both", aliases=("arccosh",), saves=("input",), aten="acosh")
@schemas(".", "arccosh")
def acosh(input: Array) -> Array:
    """The inverse hyperbolic cosine; NaN below 1 for real numbers.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.acosh(torch.tensor([1.0, 1.5, 2.0]))
        tensor([0.0000, 0.9624, 1.3170])
    """
    return (
        _complex.acosh(input) if is_complex(input) else jnp.arccosh(wide(input)).astype(input.dtype)
    )


def _acosh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if is_complex(input):
        return (g * conj(inverse_sqrt(input + 1) * inverse_sqrt(input - 1)),)
    return (g * inverse_sqrt(input * input - 1),)


defvjp(acosh, _acosh_rule)
derivative(
    A.acosh,
    self=lambda g, self: A.mul.Tensor(
        g, D.conj(A.rsqrt.default(A.sub.Scalar(A.mul.Tensor(self, self), 1)))
    ),
)


@unary(inplace="both", aliases=("arctanh",), saves=("input",), aten="atanh")
@schemas(".", "arctanh")
def atanh(input: Array) -> Array:
    """The inverse hyperbolic tangent: infinite at -1 and 1, NaN outside for real numbers.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.atanh(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5493,    inf])
    """
    return (
        _complex.atanh(input) if is_complex(input) else jnp.arctanh(wide(input)).astype(input.dtype)
    )


def _atanh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / conj(1 - input * input),)


defvjp(atanh, _atanh_rule)


def _atanh_formula(g: object, self: object) -> object:
    slope = D.conj(D.one_minus(A.pow.Tensor_Scalar(self, 2)))
    return A.div.Tensor(A.mul.Scalar(g, 1), slope)


derivative(A.atanh, self=_atanh_formula)


# ---- units of angle ------------------------------------------------------------------------------


@unary(inplace="both", saves=(), aten="deg2rad")
def deg2rad(input: Array) -> Array:
    """Degrees to radians.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.deg2rad(torch.tensor([90.0, 180.0]))
        tensor([1.5708, 3.1416])
    """
    return _scaled("deg2rad", input, math.pi / 180)


derivative(A.deg2rad, self=lambda g: A.mul.Scalar(g, math.pi / 180))


@unary(inplace="both", saves=(), aten="rad2deg")
def rad2deg(input: Array) -> Array:
    """Radians to degrees.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.rad2deg(torch.tensor([0.5, 1.0]))
        tensor([28.6479, 57.2958])
    """
    return _scaled("rad2deg", input, 180 / math.pi)


derivative(A.rad2deg, self=lambda g: A.mul.Scalar(g, 180 / math.pi))


def _scaled(name: str, x: Array, factor: float) -> Array:
    if is_complex(x):
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return (wide(x) * factor).astype(x.dtype)
