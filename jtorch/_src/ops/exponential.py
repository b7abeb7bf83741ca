"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host.direct import count_nonzero
from ..engine.host.rules import Compute
from ..facts import dtypes
from . import _complex, _loops
from ._declare import Array, Number, Power, binary, defvjp, pointwise, unary
from ._hosted import by_scipy, hosted
from ._nodes import Made
from ._numeric import conj, inverse_sqrt, is_bool, is_complex, is_integral, require, rounded, unsupported, wide, zeros_where
from .indexing import check_fits

# ---- powers ----------------------------------------------------------------------------------------------------------------------


def _node_of_power(made: Made) -> str:
    if not made.is_tensor("exponent"):
        return "PowBackward0"
    return "PowBackward1" if made.is_tensor(next(iter(made.layout))) else "PowBackward2"


@binary(inplace=True, operators="**", saves=("input", "exponent"), aten="pow.Tensor_Tensor", node=_node_of_power, autocast="cuda float32")
def pow(input: Array | Power, exponent: Array | Power) -> Array:
    """Raises ``input`` to the power ``exponent``. Small whole numbers and halves are compiled in: ``x**2`` is a product.

    Args:
        input: the base: a tensor or, as a function, a number.
        exponent: the exponent: a tensor or a number.

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; two bool tensors are refused (NotImplementedError).
    Gradient: 0 for ``input`` where ``exponent`` is 0, and for ``exponent`` where ``input`` is 0 and ``exponent`` is not negative.

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
        return lax.integer_pow(x, int(exponent)) if exponent < 64 else _pow_tensors(x, jnp.asarray(exponent, x.dtype))
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
        inverse = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(y % 2 == 0, 1, -1), 0)).astype(x.dtype)
        return jnp.where(y < 0, inverse, _integer_power(x, jnp.maximum(y, 0)))
    if not is_complex(x):
        return jnp.power(x, y)
    # By exponential and logarithm, which lose digits where the result is large: in double precision.
    return _complex.power(*jnp.broadcast_arrays(x.astype(np.complex128), y.astype(np.complex128))).astype(x.dtype)


def _integer_power(x: Array, y: Array) -> Array:
    """By squaring, for as many bits as the largest exponent has; overflow wraps."""
    x, y = jnp.broadcast_arrays(x, y)

    def square(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, base, left = state
        return jnp.where(left & 1 == 1, found * base, found), base * base, left >> 1

    return _loops.while_loop(lambda state: jnp.any(state[2] > 0), square, (jnp.ones_like(x), x, y))[0]


def _pow_rule(g: Array, _: None, input: Array | Number, exponent: Array | Number) -> tuple[Any, Any]:
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
    by_base = zeros_where(y == 0, g * conj(y * jnp.power(x, y - 1)))
    settled = (x == 0) & ((y.imag == 0) & (y.real >= 0) if is_complex(y) else y >= 0)
    by_exponent = g * conj(zeros_where(settled, _pow_tensors(x, y) * jnp.log(x)))
    return by_base, by_exponent


defvjp(pow, _pow_rule)


@pointwise(
    promote=None,
    saves=("input", "exponent"),
    aten="float_power.Tensor_Tensor",
    out_dtype="the output given to float_power has dtype {mine} but the operation's result requires dtype {its}",
    node="PowBackward1",
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
    base, power = (v if isinstance(v, (int, float, complex)) else v.astype(double) for v in (input, exponent))
    if isinstance(power, complex) and not _holds_complex(base):
        base = jnp.asarray(base, double)
    return pow(base, power)


def _holds_complex(v: Array | Number) -> bool:
    return isinstance(v, complex) or (not isinstance(v, (int, float)) and is_complex(v))


def _float_power_rule(g: Array, _: None, input: Array | Number, exponent: Array | Number) -> tuple[Any, Any]:
    base, power = (v if isinstance(v, (int, float, complex)) else v.astype(g.dtype) for v in (input, exponent))
    return _pow_rule(g, None, base, power)


defvjp(float_power, _float_power_rule)


@unary(promote=None, inplace="both", saves=("input",), aten="square", node="PowBackward0", implicit=True)
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
    return inverse_sqrt(wide(input)).astype(input.dtype)


def _rsqrt_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (-0.5 * g * conj(result * result * result),)


defvjp(rsqrt, _rsqrt_rule)


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
    return 1 / input


def _reciprocal_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (-g * conj(result * result),)


defvjp(reciprocal, _reciprocal_rule)


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
    return _hypot(*jnp.broadcast_arrays(input, other))


@hosted(lambda: np.hypot, ns=8)
def _hypot(input: Array, other: Array) -> Array:
    x, y = (v.astype(np.float64) for v in (input, other))
    if input.dtype == np.float64:  # only there do the squares leave the range: a power of two brings them back, and costs no digit
        large = jnp.maximum(jnp.abs(x), jnp.abs(y))
        scale = jnp.where(large > 2.0**500, 2.0**-600, jnp.where(large < 2.0**-500, 2.0**600, 1.0))
        found = jnp.sqrt((x * scale) ** 2 + (y * scale) ** 2) / scale
    else:
        found = jnp.sqrt(x * x + y * y)
    infinite = jnp.isinf(x) | jnp.isinf(y)  # even beside NaN
    return jnp.where(infinite, jnp.asarray(np.inf, found.dtype), found).astype(input.dtype)


def _hypot_rule(g: Array, result: Array, input: Array, other: Array) -> tuple[Array, Array]:
    return g * (input / result), g * (other / result)


defvjp(hypot, _hypot_rule)


# ---- exponentials ----------------------------------------------------------------------------------------------------------------


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


@unary(inplace="both", aliases=("special.exp2",), saves=("result",), aten="exp2")
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


@hosted(by_scipy("exp2"), ns=12)  # exact for whole numbers, which NumPy's is not with every processor
def _exp2(x: Array) -> Array:
    """By the fraction alone, in [-1/2, 1/2]: XLA's own goes through ``exp(x * log(2))``, whose rounding grows with ``x``."""
    if is_complex(x):
        return jnp.exp2(x)
    info = jnp.finfo(x.dtype)
    whole = jnp.clip(jnp.round(x), 2 * info.minexp, 2 * info.maxexp - 2)
    whole = lax.stop_gradient(jnp.where(jnp.isnan(x), jnp.zeros((), x.dtype), whole))
    half = jnp.floor(whole / 2)  # two factors, as one alone cannot reach the smallest results
    return jnp.exp((x - whole) * math.log(2)) * _power_of_two(half) * _power_of_two(whole - half)


def _power_of_two(n: Array) -> Array:
    """``2**n`` for whole numbers in the range of normal exponents, put together from bits."""
    info = jnp.finfo(n.dtype)
    kind = np.int32 if n.dtype == np.float32 else np.int64
    return lax.bitcast_convert_type((n.astype(kind) + kind(1 - info.minexp)) << kind(info.nmant), n.dtype)


def _exp2_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * conj(result) * math.log(2),)


defvjp(exp2, _exp2_rule)


@unary(inplace="both", aliases=("special.expm1",), saves=("result",), aten="expm1", autocast="cuda float32")
def expm1(input: Array) -> Array:
    """``exp(input) - 1``, exact near 0.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.expm1(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
    """
    return jnp.expm1(wide(input)).astype(input.dtype)


def _expm1_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * (conj(result) + 1),)


defvjp(expm1, _expm1_rule)


@pointwise(promote="float", inplace="both", saves=("result", "other"), aten="ldexp.Tensor")
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
    # The power by itself may be beyond the range of the dtype where the product is not: it is multiplied in four parts.
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
        return scale(x * scale(part, (whole - 3 * quarter).astype(np.int32)), (3 * quarter).astype(np.int32))

    return compute


@hosted(_scaled_by_numpy, ns=15, calls=4)
def _scaled(x: Array, n: Array) -> Array:
    return _times_power(x, n, np.dtype(x.dtype))


def _ldexp_rule(g: Array, result: Array, input: Array, other: Array) -> tuple[Array, Array]:
    return g * conj(exp2(other)), g * conj(result) * math.log(2)


defvjp(ldexp, _ldexp_rule)


@hosted(lambda: lambda x: np.frexp(x)[0], ns=4)
def _mantissa(x: Array) -> Array:
    return jnp.where(jnp.isfinite(x), jnp.frexp(x)[0], x)


def _exponent_by_numpy() -> Compute:
    def compute(x: np.ndarray) -> np.ndarray:
        finite, found = np.isfinite(x), np.frexp(x)[1]
        return found if count_nonzero(finite) == x.size else np.where(finite, found, np.int32(0))  # C leaves it open

    return compute


@hosted(_exponent_by_numpy, ns=5, calls=2, keeps=False)
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
    """Splits into ``mantissa * 2**exponent`` with the mantissa's magnitude in [0.5, 1) and an ``int32`` exponent.

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


# ---- logarithms ------------------------------------------------------------------------------------------------------------------


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
    return _complex.logarithm(jnp.log2, input) if is_complex(input) else jnp.log2(wide(input)).astype(input.dtype)


def _log2_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) * math.log(2)),)


defvjp(log2, _log2_rule)


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
    return _complex.logarithm(jnp.log10, input) if is_complex(input) else jnp.log10(wide(input)).astype(input.dtype)


def _log10_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) * math.log(10)),)


defvjp(log10, _log10_rule)


@unary(inplace="both", aliases=("special.log1p",), saves=("input",), aten="log1p", autocast="cuda float32")
def log1p(input: Array) -> Array:
    """``log(1 + input)``, exact near 0.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.log1p(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
    return jnp.log1p(input)


def _log1p_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g / (conj(input) + 1),)


defvjp(log1p, _log1p_rule)


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
    """Seen from the operand with the larger real part, whose imaginary part is kept as it is, not wrapped into [-pi, pi]."""
    swap = x.real < y.real
    high, low = jnp.where(swap, y, x), jnp.where(swap, x, y)
    infinite = ~jnp.isfinite(low.real) & (low.real == high.real)
    limit = jnp.where(low.real < 0, low, jnp.log(jnp.exp(low) + jnp.exp(high)))
    return jnp.where(infinite, limit, high + jnp.log1p(jnp.exp(low - high)))


def _logaddexp_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return g / conj(1 + jnp.exp(other - input)), g / conj(1 + jnp.exp(input - other))


defvjp(logaddexp, _logaddexp_rule)


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


@binary(promote="float", inplace="both", aliases=("special.xlogy",), saves=("input", "other"), aten="xlogy.Tensor")
def xlogy(input: Array | Number, other: Array | Number) -> Array:
    """``input * log(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN).

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; integers and bool become the default dtype, complex numbers are refused (NotImplementedError).

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


def _times_log(x: Array, y: Array, log: Any) -> Array:
    return jnp.where(jnp.isnan(y), y, jnp.where(x == 0, jnp.zeros((), x.dtype), x * log(y)))


def _xlogy_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return zeros_where((input == 0) & (other <= 0), _times_log(g, other, jnp.log)), g * input / other


defvjp(xlogy, _xlogy_rule)


@binary(
    namespace="special", promote="float", method=False, saves=("input", "other"), aten="special_xlog1py", node="SpecialXlog1PyBackward0"
)
def xlog1py(input: Array | Number, other: Array | Number) -> Array:
    """``input * log1p(other)``, and 0 where ``input`` is 0 (unless ``other`` is NaN).

    Shapes: that of the operands, broadcast.
    Dtypes: promoted; integers and bool become the default dtype, complex numbers are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 2.0]))
        tensor([0.0000, 2.1972])
    """
    require("xlog1py_cpu", input)
    return _xlog1py(*jnp.broadcast_arrays(input, other))


@hosted(by_scipy("xlog1py"), ns=16)
def _xlog1py(x: Array, y: Array) -> Array:
    return _times_log(x, y, jnp.log1p)


def _xlog1py_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return zeros_where((input == 0) & (other <= -1), _times_log(g, other, jnp.log1p)), g * input / (other + 1)


defvjp(xlog1py, _xlog1py_rule)
