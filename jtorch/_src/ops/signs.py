"""Magnitude and sign, with the gradient that magnitudes have at zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from . import _complex
from ._declare import Array, Number, binary, defvjp, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import hosted
from ._nodes import by_operand
from ._numeric import (
    is_bool,
    is_complex,
    is_float,
    require,
    zeros_and_ones,
    zeros_where,
)

if TYPE_CHECKING:
    from ...core import Tensor


def _only_real(t: Tensor) -> None:
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
derivative(A.abs, self=lambda g, self: A.mul.Tensor(g, A.sgn.default(self)))


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
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead."
        )
    if is_bool(input):
        return input
    positive = zeros_and_ones(input > 0, input.dtype)
    return (
        positive
        if jnp.issubdtype(input.dtype, jnp.unsignedinteger)
        else positive - zeros_and_ones(input < 0, input.dtype)
    )


derivative(A.sign, self=lambda g: D.zeros(g))


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
    """Where complex numbers are 0, and their magnitudes in their own dtype with 1 in those
    places."""
    size = jnp.abs(x)
    return size == 0, jnp.where(size == 0, jnp.ones((), size.dtype), size).astype(x.dtype)


def _sgn_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if not is_complex(input):
        return (jnp.zeros_like(g),)
    at_zero, size = _sizes(input)
    unit = sgn(input)
    return (zeros_where(at_zero, (g - (g * lax.conj(unit)).real.astype(g.dtype) * unit) / size),)


defvjp(sgn, _sgn_rule)


def _sgn_formula(g: object, self: Tensor, result: object, grads: object, node: object) -> object:
    del result  # PyTorch saves it for complex numbers, and so for all
    if not self._aval.torch_dtype.is_complex:
        return D.made_zeros(self._aval.shape, g)
    return D.general(grads, node, self)


derivative(A.sgn, self=_sgn_formula)


@unary(
    promote=None,
    differentiable=False,
    aten="signbit",
    out_dtype="signbit does not support non-boolean outputs.",
)
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


@binary(
    promote="float",
    inplace=True,
    saves=("input", "other"),
    aten="copysign.Tensor",
    node=by_operand("Copysign", "other", 0, 1),
    unchecked=("other",),
)
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


def _copysign_formula(g: object, self: object, result: object) -> object:
    ratio = A.div.Tensor(result, self)
    return A.mul.Tensor(g, A.masked_fill_.Scalar(ratio, A.eq.Scalar(self, 0), 0))


derivative(
    A.copysign.Tensor,
    other__self=lambda g, self, other_, result: (
        D.made_zeros(other_.shape, g),
        _copysign_formula(g, self, result),
    ),
)


derivative(A.copysign.Scalar, self=_copysign_formula)
