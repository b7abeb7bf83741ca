"""Rounding, integer divisors, steps, neighbours, and replacement of what is not finite."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, defvjp, pointwise, unary, without_derivative
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import INTEGERS, hosted
from ._loops import while_loop
from ._numeric import is_complex, is_integral, require, wide, zeros_where


@unary(promote=None, inplace="both", saves=(), aten="ceil", out_dtype="found")
def ceil(input: Array) -> Array:
    """The smallest integer that is not less.

    Shapes: that of ``input``.

    Dtypes: real ones, kept.

    Raises:
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.ceil(torch.tensor([1.25, -1.25]))
        tensor([ 2., -1.])
    """
    _check_roundable("ceil", input)
    return input if is_integral(input) else jnp.ceil(input)


@unary(promote=None, inplace="both", saves=(), aten="floor", out_dtype="found")
def floor(input: Array) -> Array:
    """The largest integer that is not greater.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: real ones, kept.

    Raises:
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.floor(torch.tensor([1.25, -1.25]))
        tensor([ 1., -2.])
    """
    _check_roundable("floor", input)
    return input if is_integral(input) else jnp.floor(input)


@unary(promote=None, inplace="both", aliases=("fix",), saves=(), aten="trunc", out_dtype="found")
@schemas(".", "fix")
def trunc(input: Array) -> Array:
    """The integer part: rounds towards zero.

    Shapes: that of ``input``.

    Dtypes: real ones, kept.

    Raises:
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.trunc(torch.tensor([1.75, -1.75]))
        tensor([ 1., -1.])
    """
    _check_roundable("trunc", input)
    return input if is_integral(input) else _trunc(input)


derivative(A.floor, A.ceil, A.round, A.trunc, self=lambda g: D.zeros(g))


@hosted(lambda: np.trunc, ns=1)
def _trunc(x: Array) -> Array:
    return jnp.trunc(x)


def _check_roundable(name: str, x: Array) -> None:
    if is_complex(x):
        raise NotImplementedError(f"{name} is not supported for complex inputs")
    require(f"{name}_vml_cpu", x, "if")


@unary(
    promote=None,
    inplace="both",
    aliases=("special.round",),
    saves=(),
    aten="round",
    out_dtype="found",
    node=lambda made: f"RoundBackward{1 if made.given('decimals') else 0}",
)
@schemas(
    "(Tensor self) -> Tensor ; _ =out",
    ".decimals(Tensor self, *, int decimals) -> Tensor ; _ =decimals_out",
    "special_round. ; =out",
)
def round(input: Array, *, decimals: int = 0) -> Array:
    """Rounds to the nearest integer, halves to the even one; with ``decimals`` to that many decimal
    places.

    Args:
        input: the tensor.
        decimals: how many places behind the point stay; negative ones round before it.

    Shapes: that of ``input``.

    Dtypes: real ones, kept; only floating-point ones with ``decimals``.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.round(torch.tensor([0.5, 1.5, -2.75]))
        tensor([ 0.,  2., -3.])
        >>> torch.round(torch.tensor([0.125, 127.0]), decimals=-1)
        tensor([  0., 130.])
    """
    if decimals == 0:
        require("round_vml_cpu", input, "if")
        return input if is_integral(input) else jnp.round(input)
    require("round_cpu", input)
    x = wide(input)
    scale = x.dtype.type(10.0 ** min(decimals if decimals > 0 else -decimals, 308))
    rounded = jnp.round(x * scale) / scale if decimals > 0 else jnp.round(x / scale) * scale
    return rounded.astype(input.dtype)


derivative(A.round.decimals, self=lambda g: D.zeros(g))


@unary(promote=None, inplace="both", saves=(), aten="frac", out_dtype="found")
def frac(input: Array) -> Array:
    """What ``trunc`` takes away: the part behind the decimal point, with the sign of ``input``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.frac(torch.tensor([1.25, -2.75]))
        tensor([ 0.2500, -0.7500])
    """
    require("frac_cpu", input)
    return input - _trunc(input)


def _pass_rule(g: Array, *_: object) -> tuple[Array]:
    return (g,)


defvjp(frac, _pass_rule)
derivative(A.frac, self=lambda g: g)


# ---- integers ------------------------------------------------------------------------------------


@pointwise(inplace="both", differentiable=False, node="NotImplemented", aten="gcd")
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor, never negative.

    Shapes: those of the operands, broadcast.

    Dtypes: integers; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.gcd(torch.tensor([12, -4]), torch.tensor([18, 6]))
        tensor([6, 2])
    """
    require("gcd_cpu", input, "i")
    return _gcd(*jnp.broadcast_arrays(input, other))


@pointwise(inplace="both", differentiable=False, node="NotImplemented", aten="lcm")
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple, never negative.

    Shapes: those of the operands, broadcast.

    Dtypes: integers; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.lcm(torch.tensor([4, -3]), torch.tensor([6, 5]))
        tensor([12, 15])
    """
    require("lcm_cpu", input, "i")
    # of a product that wrapped around too
    return jnp.abs(_lcm(*jnp.broadcast_arrays(input, other)))


@hosted(lambda: np.gcd, ns=60, dtypes=INTEGERS)
def _gcd(x: Array, y: Array) -> Array:
    return _common(_magnitude(x), _magnitude(y)).astype(x.dtype)


@hosted(lambda: np.lcm, ns=60, dtypes=INTEGERS)
def _lcm(x: Array, y: Array) -> Array:
    a, b = _magnitude(x), _magnitude(y)
    divisor = _common(a, b)
    return (a // jnp.where(divisor == 0, 1, divisor) * b).astype(x.dtype)


def _magnitude(x: Array) -> Array:
    """The absolute value as a number without a sign, which that of the smallest integer is, too:
    ``jnp.gcd`` never ends for that one."""
    unsigned = jnp.dtype(f"u{x.dtype}") if x.dtype.kind == "i" else x.dtype
    a = x.astype(unsigned)
    return jnp.where(x < 0, jnp.zeros_like(a) - a, a)


def _common(a: Array, b: Array) -> Array:
    """Euclid's algorithm, for all elements until the last has come to zero."""

    def step(ab: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = ab
        left = b != 0
        return jnp.where(left, b, a), jnp.where(left, lax.rem(a, jnp.where(left, b, 1)), 0)

    return while_loop(lambda ab: (ab[1] != 0).any(), step, (a, b))[0]


# ---- steps and neighbours ------------------------------------------------------------------------


@pointwise(
    promote=None,
    inplace=True,
    aten="heaviside",
    out_dtype="heaviside is not yet implemented for {kind}.",
)
def heaviside(input: Array, values: Array) -> Array:
    """The unit step: 0 for negative elements, 1 for positive ones, and ``values`` at 0.

    Shapes: those of the operands, broadcast.

    Dtypes: real ones and bool, the same for both.

    Raises:
        RuntimeError: if the dtypes differ, for complex tensors, or shapes that do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.heaviside(torch.tensor([-1.5, 0.0, 2.0]), torch.tensor(0.5))
        tensor([0.0000, 0.5000, 1.0000])
    """
    if is_complex(input) or is_complex(values):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    zero = jnp.zeros((), input.dtype)
    return jnp.where(input == zero, values, (input > zero).astype(input.dtype))


without_derivative(heaviside, RuntimeError("derivative for aten::heaviside is not implemented"))


@pointwise(inplace=True, saves=("input", "other"), aten="nextafter")
def nextafter(input: Array, other: Array) -> Array:
    """The next representable number after ``input`` in the direction of ``other``.

    Shapes: those of the operands, broadcast.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 1.0], dtype=torch.float64)
        >>> torch.nextafter(x, torch.tensor([2.0, 1.0], dtype=torch.float64)) > x
        tensor([ True, False])
    """
    require("nextafter_cpu", input)
    if input.dtype.itemsize < 4:
        return _next_half(*jnp.broadcast_arrays(input, other))
    return jnp.nextafter(input, other)


def _next_half(x: Array, y: Array) -> Array:
    """``nextafter`` of 16-bit floats, on their bits: numbers of one sign are ordered as the
    integers they are stored as."""
    bits = lax.bitcast_convert_type(x, np.int16)
    away = (y > x) == (x > 0)
    stepped = lax.bitcast_convert_type(
        jnp.where(away, bits + np.int16(1), bits - np.int16(1)), x.dtype
    )
    smallest = lax.bitcast_convert_type(jnp.ones(x.shape, np.int16), x.dtype)
    stepped = jnp.where(x == 0, jnp.where(y > 0, smallest, -smallest), stepped)
    return jnp.where(jnp.isnan(x) | jnp.isnan(y), x + y, jnp.where(x == y, y, stepped))


def _nextafter_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, None]:
    return zeros_where(input == other, g), None


defvjp(nextafter, _nextafter_rule)
derivative(
    A.nextafter,
    self=lambda g, self, other: A.where.self(A.ne.Tensor(self, other), g, D.zero_of(g)),
    other=lambda g: D.zeros(g),
)


# ---- replacing -----------------------------------------------------------------------------------


@unary(
    promote=None,
    inplace="both",
    saves=("input",),
    aten="nan_to_num",
    out_dtype="nan_to_num: dtype of out: {mine} should be same as input: {its}",
)
def nan_to_num(
    input: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Replaces NaN by ``nan`` (0), and infinities by ``posinf`` and ``neginf`` (the dtype's largest
    and smallest finite numbers).

    Args:
        input: the tensor.
        nan: what takes the place of NaN, 0 by default.
        posinf: what takes the place of infinity, the largest number by default.
        neginf: what takes the place of minus infinity, the lowest number by default.

    Shapes: that of ``input``.

    Dtypes: any, kept.

    Gradient: 0 where ``input`` is not finite.

    Example:
        >>> import jtorch as torch
        >>> torch.nan_to_num(torch.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
        tensor([1., 0., 9.])
    """
    if is_integral(input):
        return input
    if is_complex(input):
        return lax.complex(
            *(nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag))
        )
    limits = jnp.finfo(input.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    found = jnp.where(jnp.isnan(input), jnp.asarray(0 if nan is None else nan, input.dtype), input)
    found = jnp.where(input == jnp.inf, jnp.asarray(high, input.dtype), found)
    return jnp.where(input == -jnp.inf, jnp.asarray(low, input.dtype), found)


def _nan_to_num_rule(
    g: Array, _: None, input: Array, *replacements: object, **named: object
) -> tuple[Array]:
    return (zeros_where(~jnp.isfinite(input), g),)


defvjp(nan_to_num, _nan_to_num_rule)


def _finite(g: object, self: object) -> object:
    bounded = A.ne.Scalar(A.abs.default(self), math.inf)
    return A.mul.Tensor(g, A.mul.Tensor(A.eq.Tensor(self, self), bounded))


derivative(A.nan_to_num, self=lambda g, self: _finite(g, self))
