"""Complex numbers: conjugates, angles, and construction from parts or polar coordinates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.layouts import preserve_format
from . import _arcs, _sincos
from ._declare import Array, defvjp, pointwise, unary
from ._derivatives import A, D, derivative
from ._numeric import conj as _conj
from ._numeric import default_float, is_complex, is_float, scalar_name, zeros_where
from .pointwise import neg
from .signs import sgn
from .views import geometry_same, view

if TYPE_CHECKING:
    from ...core import Tensor


def _is_real(dtype: np.dtype) -> bool:
    return dtype.kind != "c"


@view(
    lambda parent, value: _conj(value),
    geometry_same,
    geometric=False,
    bits=lambda conj, neg: (not conj, neg),
    itself=_is_real,
    aten="conj",
)
def conj(input: Array) -> Array:
    """The complex conjugate, as a view of the same memory; a real tensor itself.

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.conj(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    return _conj(input)


@view(
    lambda parent, value: -value,
    geometry_same,
    geometric=False,
    bits=lambda conj, neg: (conj, not neg),
    method=True,
    aten="_neg_view",
    ignored=("Tensor._neg_view",),
)
def _neg_view(input: Array) -> Array:
    """The negative, as a view of the same memory.

    Shapes: input (*) -> (*).
    Dtypes: any but bool -> the same.

    Raises:
        RuntimeError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch._neg_view(torch.tensor([1, -2]))
        tensor([-1,  2])
    """
    return neg(input)


@unary(
    promote=None,
    inplace="both",
    saves=(),
    itself=_is_real,
    aten="conj_physical",
    out_dtype="found",
    through="_conj_physical",
    implicit=True,
    lazy="conj",
)
def conj_physical(input: Array) -> Array:
    """The complex conjugate; a real tensor itself, not a copy, unless ``out`` is given.

    Shapes: input (*) -> (*).
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.conj_physical(torch.tensor([1 + 2j, 3 - 1j]))
        tensor([1.-2.j, 3.+1.j])
    """
    return _conj(input)


def _conj_rule(g: Array, *_: object) -> tuple[Array]:
    return (_conj(g),)


defvjp(conj, _conj_rule)
derivative(A._conj, self=lambda g: D.conj(g))
defvjp(_neg_view, lambda g, *_: (-g,))
derivative(A._neg_view, self=lambda g: A.neg.default(g))
defvjp(conj_physical, _conj_rule)


@unary(saves=("input",), promote=None, aten="angle")
def angle(input: Array) -> Array:
    """The angle in the complex plane: of real numbers 0 or pi, and NaN for NaN.

    Shapes: input (*) -> (*).
    Dtypes: complex -> the real type of its parts; integers and bool become the default dtype; real
    floating-point -> the same.
    Gradient: 0 at 0 and for real tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.angle(torch.tensor([1j, -1 + 0j]))
        tensor([1.5708, 3.1416])
    """
    if is_complex(input):
        return _arcs.atan2(jnp.imag(input), jnp.real(input))
    x = default_float(input)
    return jnp.where(
        jnp.isnan(x), x, jnp.where(x < 0, jnp.asarray(math.pi, x.dtype), jnp.zeros((), x.dtype))
    )


def _angle_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if not is_complex(input):
        return (jnp.zeros_like(g),)
    size = input.real**2 + input.imag**2
    safe = jnp.where(size == 0, jnp.ones((), size.dtype), size).astype(input.dtype)
    return (zeros_where(size == 0, g.astype(input.dtype) * (1j * input) / safe),)


defvjp(angle, _angle_rule)


def _angle_formula(g: object, self: Tensor) -> object:
    if not self._aval.torch_dtype.is_complex:
        return A.zeros_like.default(self, memory_format=preserve_format)
    squared = A.pow.Tensor_Scalar(A.abs.default(self), 2)
    found = A.mul.Scalar(A.div.Tensor(A.mul.Tensor(g, self), squared), 1j)
    return A.where.self(A.eq.Scalar(self, 0.0), D.zero_of(found), found)


derivative(A.angle, self=_angle_formula)


def _check_parts(first: Array, second: Array) -> None:
    if not all(is_float(x) and x.dtype.name != "bfloat16" for x in (first, second)):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_name(first.dtype)} and {scalar_name(second.dtype)}"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_name(first.dtype)} but got scalar type "
            f"{scalar_name(second.dtype)} for second argument"
        )
    if first.dtype == np.float16:
        raise NotImplementedError(
            "complex tensors of half precision (torch.complex32) are not offered by jtorch: JAX "
            "has no such type"
        )


@pointwise(
    promote=None,
    method=False,
    saves=(),
    aten="complex",
    out_dtype="Expected object of scalar type {its} but got scalar type {mine} for argument 'out'",
)
def complex(real: Array, imag: Array) -> Array:
    """Complex numbers from their real and imaginary parts.

    Shapes: that of the operands, broadcast.
    Dtypes: float32 -> complex64, float64 -> complex128.

    Raises:
        RuntimeError: unless both are of one dtype, float32 or float64.

    Example:
        >>> import jtorch as torch
        >>> torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([0.0, -1.0]))
        tensor([1.+0.j, 2.-1.j])
    """
    _check_parts(real, imag)
    return lax.complex(*jnp.broadcast_arrays(real, imag))


def _complex_rule(g: Array, *_: object) -> tuple[Array, Array]:
    return g.real, g.imag


defvjp(complex, _complex_rule)


derivative(A.complex, real=lambda g: D.real(g), imag=lambda g: D.imag(g))


@pointwise(
    promote=None,
    method=False,
    saves=("result",),
    aten="polar",
    out_dtype="Expected object of scalar type {its} but got scalar type {mine} for argument 'out'",
    autocast="cpu float32",
)
def polar(abs: Array, angle: Array) -> Array:
    """Complex numbers of magnitude ``abs`` and direction ``angle``.

    Shapes: that of the operands, broadcast.
    Dtypes: float32 -> complex64, float64 -> complex128.

    Raises:
        RuntimeError: unless both are of one dtype, float32 or float64.

    Example:
        >>> import jtorch as torch
        >>> torch.polar(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]))
        tensor([1.0000+0.0000j, 1.0806+1.6829j])
    """
    _check_parts(abs, angle)
    return lax.complex(abs * _sincos.cos(angle), abs * _sincos.sin(angle))


def _polar_rule(g: Array, result: Array, *_: object) -> tuple[Array, Array]:
    # The magnitude's direction is the result's own, sgn(result); the angle's is that direction
    # turned left, i * result.
    unit = sgn(result)
    return (g * lax.conj(unit)).real, (g * lax.conj(1j * result)).real


defvjp(polar, _polar_rule)


def _polar_formula(g: object, result: object) -> object:
    turned = D.conj(g)
    size = D.real(A.mul.Tensor(turned, A.sgn.default(result)))
    return size, D.real(A.mul.Tensor(turned, A.mul.Scalar(result, 1j)))


derivative(A.polar, abs__angle=_polar_formula)
