"""Comparisons, tests of elements, and logic. Results are bool."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from . import _complex
from ._declare import Array, Number, comparison, op, unary
from ._facts import schemas
from ._numeric import is_bool, is_complex, is_float, is_integral, require, scalar_name

# ---- order ---------------------------------------------------------------------------------------


@comparison(inplace=True, operators="==", aten="eq.Tensor")
@schemas(".Tensor", ".Scalar")
def eq(input: Array, other: Array | Number) -> Array:
    """Whether elements are equal.

    Shapes: that of the operands, broadcast.
    Dtypes: any, compared in their common dtype -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.eq(torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.5, 3.0]))
        tensor([ True, False,  True])
    """
    return jnp.equal(input, other)


@comparison(inplace=True, operators="!=", aliases=("not_equal",), aten="ne.Tensor")
@schemas(".Tensor", ".Scalar", "not_equal")
def ne(input: Array, other: Array | Number) -> Array:
    """Whether elements differ.

    Shapes: that of the operands, broadcast.
    Dtypes: any, compared in their common dtype -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.ne(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False,  True])
    """
    return jnp.not_equal(input, other)


@comparison(inplace=True, operators="<", aliases=("less",), aten="lt.Tensor")
@schemas(".Tensor", ".Scalar", "less")
def lt(input: Array, other: Array | Number) -> Array:
    """Whether ``input < other``.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, compared in their common dtype -> bool; complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.lt(torch.tensor([1, 2, 3]), 2)
        tensor([ True, False, False])
    """
    require("lt_cpu", input, "bif")
    return jnp.less(input, other)


@comparison(inplace=True, operators="<=", aliases=("less_equal",), aten="le.Tensor")
@schemas(".Tensor", ".Scalar", "less_equal")
def le(input: Array, other: Array | Number) -> Array:
    """Whether ``input <= other``.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, compared in their common dtype -> bool; complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.le(torch.tensor([1, 2, 3]), 2)
        tensor([ True,  True, False])
    """
    require("le_cpu", input, "bif")
    return jnp.less_equal(input, other)


@comparison(inplace=True, operators=">", aliases=("greater",), aten="gt.Tensor")
@schemas(".Tensor", ".Scalar", "greater")
def gt(input: Array, other: Array | Number) -> Array:
    """Whether ``input > other``.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, compared in their common dtype -> bool; complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.gt(torch.tensor([[1], [2]]), torch.tensor([1, 2]))
        tensor([[False, False],
                [ True, False]])
    """
    require("gt_cpu", input, "bif")
    return jnp.greater(input, other)


@comparison(inplace=True, operators=">=", aliases=("greater_equal",), aten="ge.Tensor")
@schemas(".Tensor", ".Scalar", "greater_equal")
def ge(input: Array, other: Array | Number) -> Array:
    """Whether ``input >= other``.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, compared in their common dtype -> bool; complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.ge(torch.tensor([1, 2, 3]), 2)
        tensor([False,  True,  True])
    """
    require("ge_cpu", input, "bif")
    return jnp.greater_equal(input, other)


# ---- closeness -----------------------------------------------------------------------------------


def _check_close(input: Array, other: Array, rtol: float, atol: float) -> None:
    if input.dtype != other.dtype:
        raise RuntimeError(f"{scalar_name(input.dtype)} did not match {scalar_name(other.dtype)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:  # NaN too
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")


@comparison(promote=None, out=False, aten="isclose")
def isclose(
    input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether ``abs(input - other) <= atol + rtol *
    abs(other)``. NaN is close to nothing, with ``equal_nan`` to NaN.

    Shapes: that of the operands, broadcast.
    Dtypes: any, the same for both -> bool.

    Raises:
        RuntimeError: if the dtypes differ, or a tolerance is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.isclose(torch.tensor([1.0, 1.0]), torch.tensor([1.000001, 1.1]))
        tensor([ True, False])
    """
    _check_close(input, other, rtol, atol)
    close = input == other
    if equal_nan and not is_integral(input):
        close |= jnp.isnan(input) & jnp.isnan(other)
    if rtol == 0 and atol == 0:
        return close
    if is_integral(input):
        input, other = (x.astype(dtypes.get_default_dtype().np) for x in (input, other))
    size = _complex.magnitude if is_complex(input) else jnp.abs
    allowed = atol + size(rtol * other)
    distance = size(input - other)
    return close | (jnp.isfinite(distance) & (distance <= allowed))


@op(namespace="_C", name="_allclose", family="pointwise", broadcast=True, differentiable=False)
def allclose(
    input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether all elements are close; the public function reads the answer."""
    return jnp.all(isclose(input, other, rtol, atol, equal_nan))


@op(namespace="_C", name="_equal", family="pointwise", differentiable=False)
def equal(input: Array, other: Array) -> Array:
    """Whether all elements of two tensors of one shape are equal; the public function reads the
    answer."""
    if input.dtype != other.dtype:
        common = dtypes.promote_types(dtypes.from_np(input.dtype), dtypes.from_np(other.dtype)).np
        input, other = input.astype(common), other.astype(common)
    return jnp.all(input == other)


# ---- tests of elements ---------------------------------------------------------------------------


@unary(promote=None, differentiable=False, out=False, aten="isnan")
@schemas(". ; =out")
def isnan(input: Array) -> Array:
    """Whether elements are NaN.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.isnan(torch.tensor([1.0, float("nan")]))
        tensor([False,  True])
    """
    return _never(input) if is_integral(input) else jnp.isnan(input)


@unary(promote=None, differentiable=False, out=False, aten="isinf")
@schemas(". ; =out")
def isinf(input: Array) -> Array:
    """Whether elements are infinite.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.isinf(torch.tensor([1.0, -float("inf"), float("nan")]))
        tensor([False,  True, False])
    """
    return _never(input) if is_integral(input) else jnp.isinf(input)


@unary(promote=None, differentiable=False, out=False, aten="isfinite", implicit=True)
def isfinite(input: Array) -> Array:
    """Whether elements are neither infinite nor NaN.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.isfinite(torch.tensor([1.0, -float("inf"), float("nan")]))
        tensor([ True, False, False])
    """
    return ~_never(input) if is_integral(input) else jnp.isfinite(input)


@unary(
    promote=None,
    differentiable=False,
    aten="isposinf",
    out_dtype="isposinf does not support non-boolean outputs.",
)
def isposinf(input: Array) -> Array:
    """Whether elements are positive infinity.

    Shapes: input (*) -> (*).
    Dtypes: real ones -> bool.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.isposinf(torch.tensor([1.0, float("inf"), -float("inf")]))
        tensor([False,  True, False])
    """
    return _is_infinity("isposinf", input, np.inf)


@unary(
    promote=None,
    differentiable=False,
    aten="isneginf",
    out_dtype="isneginf does not support non-boolean outputs.",
)
def isneginf(input: Array) -> Array:
    """Whether elements are negative infinity.

    Shapes: input (*) -> (*).
    Dtypes: real ones -> bool.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.isneginf(torch.tensor([1.0, float("inf"), -float("inf")]))
        tensor([False, False,  True])
    """
    return _is_infinity("isneginf", input, -np.inf)


def _is_infinity(name: str, x: Array, infinity: float) -> Array:
    if is_complex(x):
        raise RuntimeError(f"{name} does not support complex inputs.")
    return x == infinity if is_float(x) else _never(x)


@unary(promote=None, differentiable=False, out=False, aten="isreal", dispatched="in parts")
def isreal(input: Array) -> Array:
    """Whether elements have no imaginary part.

    Shapes: input (*) -> (*).
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.isreal(torch.tensor([1 + 1j, 2 + 0j]))
        tensor([False,  True])
    """
    return input.imag == 0 if is_complex(input) else ~_never(input)


def _never(x: Array) -> Array:
    return jnp.zeros(x.shape, np.bool_)


# ---- logic ---------------------------------------------------------------------------------------


@comparison(inplace=True, unrecorded=True, aten="logical_and")
def logical_and(input: Array, other: Array) -> Array:
    """Whether both elements are nonzero.

    Shapes: that of the operands, broadcast.
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.logical_and(torch.tensor([0, 1, 2]), torch.tensor([True, True, False]))
        tensor([False,  True, False])
    """
    return _nonzero(input) & _nonzero(other)


@comparison(inplace=True, unrecorded=True, aten="logical_or")
def logical_or(input: Array, other: Array) -> Array:
    """Whether one of the elements is nonzero.

    Shapes: that of the operands, broadcast.
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.logical_or(torch.tensor([0, 1, 2]), torch.tensor([False, True, False]))
        tensor([False,  True,  True])
    """
    return _nonzero(input) | _nonzero(other)


@comparison(inplace=True, unrecorded=True, aten="logical_xor")
def logical_xor(input: Array, other: Array) -> Array:
    """Whether exactly one of the elements is nonzero.

    Shapes: that of the operands, broadcast.
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.logical_xor(torch.tensor([0, 1, 2]), torch.tensor([False, True, False]))
        tensor([False, False,  True])
    """
    return _nonzero(input) ^ _nonzero(other)


@unary(promote=None, inplace=True, differentiable=False, unrecorded=True, aten="logical_not")
def logical_not(input: Array) -> Array:
    """Whether elements are zero.

    Shapes: input (*) -> (*).
    Dtypes: any -> bool.

    Example:
        >>> import jtorch as torch
        >>> torch.logical_not(torch.tensor([0.0, 0.5]))
        tensor([ True, False])
    """
    return ~_nonzero(input)


def _nonzero(x: Array) -> Array:
    return x if is_bool(x) else x != 0
