"""Exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host import many
from ..engine.host.direct import count_nonzero
from ..engine.host.rules import Compute
from ..facts import dtypes
from . import _complex
from ._declare import Array, Number, binary, defvjp, pointwise, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import by_scipy, hosted
from ._nodes import by_numbers
from ._numeric import conj, is_complex, require, rounded, wide, zeros_where

if TYPE_CHECKING:
    from ..facts.kinds import Function


# ---- powers --------------------------------------------------------------------------------------


@unary(inplace="both", saves=("result",), aten="exp", autocast="cuda float32")
def exp(input: Array) -> Array:
    """The exponential function.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.exp(torch.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
    return _complex.exp(input) if is_complex(input) else jnp.exp(input)


def _exp_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(result),)


defvjp(exp, _exp_rule)
derivative(A.exp, self=lambda g, result: A.mul.Tensor(g, D.conj(result)))


@unary(inplace="both", aliases=("special.exp2",), saves=("result",), aten="exp2")
@schemas(".", "special_exp2. ; =out")
def exp2(input: Array) -> Array:
    """Two to the power of each element.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.exp2(torch.tensor([0, 3, -1]))
        tensor([1.0000, 8.0000, 0.5000])
    """
    return _exp2(wide(input)).astype(input.dtype)


# exact for whole numbers, which NumPy's is not with every processor
@hosted(by_scipy("exp2"), ns=12, many=many.exp2, of_many=1)
def _exp2(x: Array) -> Array:
    """By the fraction alone, in [-1/2, 1/2]: XLA's own goes through ``exp(x * log(2))``, whose
    rounding grows with ``x``."""
    if is_complex(x):
        return _complex.exp2(x)
    info = jnp.finfo(x.dtype)
    whole = jnp.clip(jnp.round(x), 2 * info.minexp, 2 * info.maxexp - 2)
    whole = lax.stop_gradient(jnp.where(jnp.isnan(x), jnp.zeros((), x.dtype), whole))
    half = jnp.floor(whole / 2)  # two factors, as one alone cannot reach the smallest results
    return jnp.exp((x - whole) * math.log(2)) * _power_of_two(half) * _power_of_two(whole - half)


def _power_of_two(n: Array) -> Array:
    """``2**n`` for whole numbers in the range of normal exponents, put together from bits."""
    info = jnp.finfo(n.dtype)
    kind = np.int32 if n.dtype == np.float32 else np.int64
    return lax.bitcast_convert_type(
        (n.astype(kind) + kind(1 - info.minexp)) << kind(info.nmant), n.dtype
    )


def _exp2_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(result) * math.log(2),)


defvjp(exp2, _exp2_rule)
derivative(
    A.exp2, self=lambda g, result: A.mul.Scalar(A.mul.Tensor(g, D.conj(result)), math.log(2))
)


@unary(
    inplace="both",
    aliases=("special.expm1",),
    saves=("result",),
    aten="expm1",
    autocast="cuda float32",
)
@schemas(".", "special_expm1. ; =out")
def expm1(input: Array) -> Array:
    """``exp(input) - 1``, exact near 0.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.expm1(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
    """
    return (
        _complex.expm1(input) if is_complex(input) else jnp.expm1(wide(input)).astype(input.dtype)
    )


def _expm1_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * (conj(result) + 1),)


defvjp(expm1, _expm1_rule)
derivative(A.expm1, self=lambda g, result: A.mul.Tensor(g, A.add.Scalar(D.conj(result), 1)))


@pointwise(promote="float", inplace="both", saves=("result", "other"), aten="ldexp.Tensor")
@schemas(".Tensor ; _default =out")
def ldexp(input: Array, other: Array) -> Array:
    """``input * 2**other``.

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; integers and bool become the default dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.ldexp(torch.tensor([1.0, 3.0]), torch.tensor([2, -1]))
        tensor([4.0000, 1.5000])
    """
    if is_complex(input):
        return input * _exp2(other)
    if input.dtype.itemsize > 2:
        return _scaled(*jnp.broadcast_arrays(input, other))
    return _times_power(wide(input), wide(other), input.dtype).astype(input.dtype)


def _times_power(x: Array, n: Array, dtype: np.dtype) -> Array:
    """``x * 2**n``, with the fraction of the power rounded to ``dtype``."""
    # The power by itself may be beyond the range of the dtype where the product is not: it is
    # multiplied in four parts.
    most = 4 * (jnp.finfo(x.dtype).maxexp - 8)
    whole = jnp.clip(jnp.round(n), -most, most)
    whole = lax.stop_gradient(jnp.where(jnp.isnan(n), jnp.zeros((), n.dtype), whole))
    quarter = jnp.trunc(whole / 4)
    power, rest = _power_of_two(quarter), _power_of_two(whole - 3 * quarter)
    fraction = jnp.where(jnp.isfinite(n), n - jnp.round(n), n)
    part = rounded(jnp.exp(fraction * math.log(2)), dtype).astype(x.dtype)
    return x * (part * rest) * power * power * power


def _scaled_by_numpy() -> Compute:
    scale = np.ldexp

    def compute(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        whole = np.rint(n)
        most = 4 * (np.finfo(x.dtype).maxexp - 8)
        fits = np.less_equal(np.absolute(n), most)
        if count_nonzero(fits) != n.size:
            whole = np.where(np.isnan(n), 0, np.clip(whole, -most, most))
        elif count_nonzero(np.equal(whole, n)) == n.size:
            return scale(x, n.astype(np.int32))
        fraction = np.where(np.isfinite(n), n - np.rint(n), n)
        part = np.exp(fraction * x.dtype.type(math.log(2)))
        quarter = np.trunc(whole / 4)
        return scale(
            x * scale(part, (whole - 3 * quarter).astype(np.int32)), (3 * quarter).astype(np.int32)
        )

    return compute


@hosted(_scaled_by_numpy, ns=15, calls=4)
def _scaled(x: Array, n: Array) -> Array:
    return _times_power(x, n, np.dtype(x.dtype))


def _ldexp_rule(g: Array, result: Array, input: Array, other: Array) -> tuple[Array, Array]:
    return g * conj(exp2(other)), g * conj(result) * math.log(2)


defvjp(ldexp, _ldexp_rule)
derivative(
    A.ldexp.Tensor,
    self=lambda g, other: A.mul.Tensor(g, D.conj(A.pow.Scalar(2, other))),
    other=lambda g, result: A.mul.Scalar(A.mul.Tensor(g, D.conj(result)), math.log(2)),
)


@hosted(lambda: lambda x: np.frexp(x)[0], ns=4)
def _mantissa(x: Array) -> Array:
    return jnp.where(jnp.isfinite(x), jnp.frexp(x)[0], x)


def _exponent_by_numpy() -> Compute:
    def compute(x: np.ndarray) -> np.ndarray:
        finite, found = np.isfinite(x), np.frexp(x)[1]
        # C leaves it open
        return found if count_nonzero(finite) == x.size else np.where(finite, found, np.int32(0))

    return compute


@hosted(
    _exponent_by_numpy,
    ns=5,
    calls=2,
    keeps=False,
    shape=lambda x: x.shape,
    gives=np.dtype(np.int32),
)
def _exponent(x: Array) -> Array:
    return jnp.where(jnp.isfinite(x), jnp.frexp(x)[1], 0).astype(np.int32)


@unary(
    promote=None,
    returns="frexp",
    fields=("mantissa", "exponent"),
    saves=("result",),
    aten="frexp.Tensor",
    out_dtype={
        "mantissa": "torch.frexp() expects mantissa to have dtype {its_cpp} but got {mine_cpp}",
        "exponent": "torch.frexp() expects exponent to have int dtype but got {mine_cpp}",
    },
)
def frexp(input: Array) -> tuple[Array, Array]:
    """Splits into ``mantissa * 2**exponent`` with the mantissa's magnitude in [0.5, 1) and an
    ``int32`` exponent.

    Shapes: input (*) -> mantissa (*), exponent (*).
    Dtypes: real floating-point -> the same and int32.

    Raises:
        RuntimeError: for other than real floating-point tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.frexp(torch.tensor([10.0, -0.75]))
        torch.return_types.frexp(
        mantissa=tensor([ 0.6250, -0.7500]),
        exponent=tensor([4, 0], dtype=torch.int32))
    """
    if dtypes.from_np(input.dtype).category != dtypes.FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    x = wide(input)
    return _mantissa(x).astype(input.dtype), _exponent(x)


def _frexp_rule(g: tuple[Array, Array], result: tuple[Array, Array], _: Array) -> tuple[Array]:
    return (g[0] / jnp.exp2(result[1].astype(g[0].dtype)),)


defvjp(frexp, _frexp_rule)


# ---- logarithms ----------------------------------------------------------------------------------


@unary(inplace="both", saves=("input",), aten="log", autocast="cuda float32")
def log(input: Array) -> Array:
    """The natural logarithm; NaN for negative real numbers.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.log(torch.tensor([1.0, 10.0]))
        tensor([0.0000, 2.3026])
    """
    return _complex.logarithm(jnp.log, input) if is_complex(input) else jnp.log(input)


def _log_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / conj(input),)


defvjp(log, _log_rule)
derivative(A.log, self=lambda g, self: A.div.Tensor(g, D.conj(self)))


@unary(inplace="both", saves=("input",), aten="log2", autocast="cuda float32")
def log2(input: Array) -> Array:
    """The logarithm of base 2.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.log2(torch.tensor([1, 8, 10]))
        tensor([0.0000, 3.0000, 3.3219])
    """
    return (
        _complex.logarithm(jnp.log2, input)
        if is_complex(input)
        else jnp.log2(wide(input)).astype(input.dtype)
    )


def _log2_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) * math.log(2)),)


defvjp(log2, _log2_rule)
derivative(A.log2, self=lambda g, self: A.div.Tensor(g, A.mul.Scalar(D.conj(self), math.log(2))))


@unary(inplace="both", saves=("input",), aten="log10", autocast="cuda float32")
def log10(input: Array) -> Array:
    """The logarithm of base 10.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.log10(torch.tensor([1.0, 50.0]))
        tensor([0.0000, 1.6990])
    """
    return (
        _complex.logarithm(jnp.log10, input)
        if is_complex(input)
        else jnp.log10(wide(input)).astype(input.dtype)
    )


def _log10_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) * math.log(10)),)


defvjp(log10, _log10_rule)
derivative(A.log10, self=lambda g, self: A.div.Tensor(g, A.mul.Scalar(D.conj(self), math.log(10))))


@unary(
    inplace="both",
    aliases=("special.log1p",),
    saves=("input",),
    aten="log1p",
    autocast="cuda float32",
)
@schemas(".", "special_log1p. ; =out")
def log1p(input: Array) -> Array:
    """``log(1 + input)``, exact near 0.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.log1p(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
    return _complex.log1p(input) if is_complex(input) else jnp.log1p(input)


def _log1p_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) + 1),)


defvjp(log1p, _log1p_rule)
derivative(A.log1p, self=lambda g, self: A.div.Tensor(g, D.conj(A.add.Scalar(self, 1))))


@pointwise(saves=("input", "other"), aten="logaddexp")
def logaddexp(input: Array, other: Array) -> Array:
    """``log(exp(input) + exp(other))``, without overflow on the way.

    Shapes: that of the operands, broadcast.
    Dtypes: floating-point and complex, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.logaddexp(torch.tensor([0.0, 200.0]), torch.tensor([0.0, 200.0]))
        tensor([  0.6931, 200.6931])
    """
    require("logaddexp_cpu", input, "fc")
    if is_complex(input):
        return _complex_logaddexp(*jnp.broadcast_arrays(input, other))
    return _logaddexp(*jnp.broadcast_arrays(wide(input), wide(other))).astype(input.dtype)


@hosted(lambda: np.logaddexp, ns=20)
def _logaddexp(x: Array, y: Array) -> Array:
    return jnp.logaddexp(x, y)


def _complex_logaddexp(x: Array, y: Array) -> Array:
    """Seen from the operand with the larger real part, whose imaginary part is kept as it is, not
    wrapped into [-pi, pi]."""
    swap = x.real < y.real
    high, low = jnp.where(swap, y, x), jnp.where(swap, x, y)
    infinite = ~jnp.isfinite(low.real) & (low.real == high.real)
    limit = jnp.where(low.real < 0, low, jnp.log(jnp.exp(low) + jnp.exp(high)))
    return jnp.where(infinite, limit, high + jnp.log1p(jnp.exp(low - high)))


def _logaddexp_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g / conj(1 + jnp.exp(other - input)), g / conj(1 + jnp.exp(input - other))


defvjp(logaddexp, _logaddexp_rule)


def _share(g: object, one: object, two: object, power: Callable[..., object]) -> Any:
    """The gradient of ``one`` in ``log(power(one) + power(two))``."""
    return A.div.Tensor(g, D.conj(A.add.Scalar(power(A.sub.Tensor(two, one)), 1)))


derivative(
    A.logaddexp,
    self=lambda g, self, other: _share(g, self, other, A.exp.default),
    other=lambda g, self, other: _share(g, other, self, A.exp.default),
)


@pointwise(saves=("input", "other"), aten="logaddexp2")
def logaddexp2(input: Array, other: Array) -> Array:
    """``log2(2**input + 2**other)``, without overflow on the way.

    Shapes: that of the operands, broadcast.
    Dtypes: real floating-point, promoted; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.logaddexp2(torch.tensor([0.0, 200.0]), torch.tensor([0.0, 200.0]))
        tensor([  1., 201.])
    """
    require("logaddexp2_cpu", input)
    return _logaddexp2(*jnp.broadcast_arrays(wide(input), wide(other))).astype(input.dtype)


@hosted(lambda: np.logaddexp2, ns=20)
def _logaddexp2(x: Array, y: Array) -> Array:
    return jnp.logaddexp2(x, y)


def _logaddexp2_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g / (1 + jnp.exp2(other - input)), g / (1 + jnp.exp2(input - other))


defvjp(logaddexp2, _logaddexp2_rule)


def _two_to(x: object) -> object:
    return A.pow.Scalar(2, x)


derivative(
    A.logaddexp2,
    self=lambda g, self, other: _share(g, self, other, _two_to),
    other=lambda g, self, other: _share(g, other, self, _two_to),
)


@binary(
    promote="float",
    inplace="both",
    aliases=("special.xlogy",),
    saves=("input", "other"),
    aten="xlogy.Tensor",
    node=by_numbers("Xlogy"),
)
@schemas(
    ".Tensor ; _ =OutTensor",
    ".Scalar_Other(Tensor self, Scalar other) -> Tensor ; _ =OutScalar_Other",
    ".Scalar_Self(Scalar self, Tensor other) -> Tensor ; =OutScalar_Self",
    "special_xlogy. ; =out",
    "special_xlogy.other_scalar ; =other_scalar_out",
    "special_xlogy.self_scalar ; =self_scalar_out",
)
def xlogy(input: Array | Number, other: Array | Number) -> Array:
    """``input * log(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN).

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; integers and bool become the default dtype, complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 3.0]))
        tensor([0.0000, 2.1972])
    """
    require("xlogy_cpu", input)
    return _xlogy(*jnp.broadcast_arrays(input, other))


@hosted(by_scipy("xlogy"), ns=12)
def _xlogy(x: Array, y: Array) -> Array:
    return _times_log(x, y, jnp.log)


def _times_log(x: Array, y: Array, log: Function, one: int = 1) -> Array:
    """``x * log(y)``, 0 where x is; ``one`` is what has the logarithm 0. JAX's derivatives at 0 are
    the logarithm, too."""
    zero = x == 0
    endless = (y <= one - 1) | (y == np.inf)
    product = x * log(jnp.where(zero & endless, jnp.asarray(one, y.dtype), y))
    nothing = product - lax.stop_gradient(product)  # 0, and never -0
    return jnp.where(jnp.isnan(y), y, jnp.where(zero, nothing, product))


def _xlogy_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return _slope_where_zero((input == 0) & (other <= 0), g, other, jnp.log, 1), g * input / other


def _slope_where_zero(
    none: Array, g: Array, y: Array, log: Callable[..., object], one: int
) -> Array:
    """``g * log(y)``, 0 where there is ``none``; so it is when ``g`` is a tangent and the product
    comes after the choice."""
    return zeros_where(none, _times_log(g, jnp.where(none, jnp.asarray(one, y.dtype), y), log, one))


defvjp(xlogy, _xlogy_rule)
derivative(
    A.xlogy.Scalar_Self, other=lambda g, self, other: A.div.Tensor(A.mul.Scalar(g, self), other)
)
derivative(
    A.xlogy.Scalar_Other, self=lambda g, other: A.mul.Scalar(g, math.log(other)) if other > 0 else g
)


def _xlogy_formula(g: object, self: object, other: object) -> object:
    found = A.xlogy.Tensor(g, other)
    low = A.le.Scalar(other, 0.0)
    return A.masked_fill.Scalar(found, A.bitwise_and.Tensor(A.eq.Scalar(self, 0.0), low), 0.0)


derivative(
    A.xlogy.Tensor,
    self=lambda g, self, other: _xlogy_formula(g, self, other),
    other=lambda g, self, other: A.div.Tensor(A.mul.Tensor(g, self), other),
)


@binary(
    namespace="special",
    promote="float",
    method=False,
    saves=("input", "other"),
    aten="special_xlog1py",
    node=by_numbers("SpecialXlog1Py"),
)
@schemas(".", ".other_scalar", ".self_scalar")
def xlog1py(input: Array | Number, other: Array | Number) -> Array:
    """``input * log1p(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN).

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; integers and bool become the default dtype, complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 2.0]))
        tensor([0.0000, 2.1972])
    """
    require("xlog1py_cpu", input)
    return _xlog1py(*jnp.broadcast_arrays(input, other))


@hosted(by_scipy("xlog1py"), ns=16)
def _xlog1py(x: Array, y: Array) -> Array:
    return _times_log(x, y, jnp.log1p, 0)


def _xlog1py_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return _slope_where_zero((input == 0) & (other <= -1), g, other, jnp.log1p, 0), g * input / (
        other + 1
    )


defvjp(xlog1py, _xlog1py_rule)


def _xlog1py_self_formula(g: object, self: object, other: object) -> object:
    found = A.special_xlog1py.default(g, other)
    low = A.le.Scalar(other, -1.0)
    return A.masked_fill.Scalar(found, A.bitwise_and.Tensor(A.eq.Scalar(self, 0.0), low), 0.0)


def _xlog1py_other_formula(g: object, self: object, other: object) -> object:
    below = A.add.Scalar(other, 1)
    return A.div.Tensor(A.mul.Tensor(g, self), below)


derivative(A.special_xlog1py, self=_xlog1py_self_formula, other=_xlog1py_other_formula)
