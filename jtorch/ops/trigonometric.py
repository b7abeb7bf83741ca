"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from . import _sincos
from ._declare import Array, defvjp, pointwise, unary
from ._numeric import conj, is_complex, require, wide, zeros_where

# ---- circular --------------------------------------------------------------------------------------------------------------------


@unary(inplace=True, saves=("input",), aten="sin")
def sin(input: Array) -> Array:
    """The sine."""
    return _sincos.sin(wide(input)).astype(input.dtype)


def _sin_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(cos(input)),)


defvjp(sin, _sin_rule)


@unary(inplace=True, saves=("input",), aten="cos")
def cos(input: Array) -> Array:
    """The cosine."""
    return _sincos.cos(wide(input)).astype(input.dtype)


def _cos_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (-g * conj(sin(input)),)


defvjp(cos, _cos_rule)


@unary(inplace=True, saves=("result",), aten="tan")
def tan(input: Array) -> Array:
    """The tangent."""
    return jnp.tan(input)


def _tan_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(1 + result * result),)


defvjp(tan, _tan_rule)


@unary(inplace=True, aliases=("arcsin",), saves=("input",), aten="asin")
def asin(input: Array) -> Array:
    """The inverse sine, in [-pi/2, pi/2]."""
    return jnp.arcsin(input)


def _asin_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(lax.rsqrt(1 - input * input)),)


defvjp(asin, _asin_rule)


@unary(inplace=True, aliases=("arccos",), saves=("input",), aten="acos")
def acos(input: Array) -> Array:
    """The inverse cosine, in [0, pi]."""
    return jnp.arccos(input)


def _acos_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (-g * conj(lax.rsqrt(1 - input * input)),)


defvjp(acos, _acos_rule)


@unary(inplace=True, aliases=("arctan",), saves=("input",), aten="atan")
def atan(input: Array) -> Array:
    """The inverse tangent, in (-pi/2, pi/2)."""
    return jnp.arctan(input)


def _atan_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / conj(input * input + 1),)


defvjp(atan, _atan_rule)


@pointwise(promote="float", inplace=True, aliases=("arctan2",), saves=("input", "other"), aten="atan2")
def atan2(input: Array, other: Array) -> Array:
    """The angle of the point with ordinate ``input`` and abscissa ``other``, in [-pi, pi].

    Gradient: 0 at the origin.
    """
    require("atan2_cpu", input)
    return jnp.arctan2(input, other)


def _atan2_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    size = input * input + other * other
    scaled = zeros_where(size == 0, g / size)
    return scaled * other, scaled * -input


defvjp(atan2, _atan2_rule)


@unary(inplace=True, aliases=("special.sinc",), saves=("input",), aten="sinc")
def sinc(input: Array) -> Array:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""
    x = wide(input)
    at_zero = x == 0
    angle = math.pi * jnp.where(at_zero, jnp.ones((), x.dtype), x)
    return jnp.where(at_zero, jnp.ones((), x.dtype), _sincos.sin(angle) / angle).astype(input.dtype)


def _sinc_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    x = wide(input)
    at_zero = x == 0
    x = jnp.where(at_zero, jnp.ones((), x.dtype), x)
    angle = math.pi * x
    slope = (angle * _sincos.cos(angle) - _sincos.sin(angle)) / (angle * x)
    return (g * conj(zeros_where(at_zero, slope)).astype(g.dtype),)


defvjp(sinc, _sinc_rule)


# ---- hyperbolic ------------------------------------------------------------------------------------------------------------------


@unary(inplace=True, saves=("input",), aten="sinh")
def sinh(input: Array) -> Array:
    """The hyperbolic sine."""
    return jnp.sinh(input)


def _sinh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(jnp.cosh(input)),)


defvjp(sinh, _sinh_rule)


@unary(inplace=True, saves=("input",), aten="cosh")
def cosh(input: Array) -> Array:
    """The hyperbolic cosine."""
    return jnp.cosh(input)


def _cosh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(jnp.sinh(input)),)


defvjp(cosh, _cosh_rule)


@unary(inplace=True, aliases=("nn.functional.tanh",), saves=("result",), aten="tanh")
def tanh(input: Array) -> Array:
    """The hyperbolic tangent."""
    return jnp.tanh(input)


def _tanh_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(1 - result * result),)


defvjp(tanh, _tanh_rule)


@unary(inplace=True, aliases=("arcsinh",), saves=("input",), aten="asinh")
def asinh(input: Array) -> Array:
    """The inverse hyperbolic sine."""
    return jnp.arcsinh(input)


def _asinh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * conj(lax.rsqrt(input * input + 1)),)


defvjp(asinh, _asinh_rule)


@unary(inplace=True, aliases=("arccosh",), saves=("input",), aten="acosh")
def acosh(input: Array) -> Array:
    """The inverse hyperbolic cosine."""
    return jnp.arccosh(input)


def _acosh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if is_complex(input):
        return (g * conj(lax.rsqrt(input + 1) * lax.rsqrt(input - 1)),)
    return (g * lax.rsqrt(input * input - 1),)


defvjp(acosh, _acosh_rule)


@unary(inplace=True, aliases=("arctanh",), saves=("input",), aten="atanh")
def atanh(input: Array) -> Array:
    """The inverse hyperbolic tangent."""
    return jnp.arctanh(input)


def _atanh_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / conj(1 - input * input),)


defvjp(atanh, _atanh_rule)


# ---- units of angle --------------------------------------------------------------------------------------------------------------


@unary(inplace=True, saves=(), aten="deg2rad")
def deg2rad(input: Array) -> Array:
    """Degrees to radians."""
    return _scaled("deg2rad", input, math.pi / 180)


@unary(inplace=True, saves=(), aten="rad2deg")
def rad2deg(input: Array) -> Array:
    """Radians to degrees."""
    return _scaled("rad2deg", input, 180 / math.pi)


def _scaled(name: str, x: Array, factor: float) -> Array:
    if is_complex(x):
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return (wide(x) * factor).astype(x.dtype)
