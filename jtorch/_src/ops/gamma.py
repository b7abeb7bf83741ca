"""The gamma function, its derivatives and its incomplete forms."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..engine.host.direct import count_nonzero, special
from ..engine.host.rules import Compute
from ..facts import dtypes
from ..facts.devices import of_placement
from ..facts.layouts import strided
from ._declare import Array, defvjp, pointwise, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import by_scipy, hosted
from ._numeric import require, wide
from .special import _zeta

if TYPE_CHECKING:
    from ...core import Tensor


@unary(inplace=True, aliases=("special.gammaln",), saves=("input",), aten="lgamma")
@schemas(".", "special_gammaln. ; =out")
def lgamma(input: Array) -> Array:
    """The logarithm of the gamma function's magnitude.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.lgamma(torch.tensor([0.5, 3.0, 4.0]))
        tensor([0.5724, 0.6931, 1.7918])
    """
    require("lgamma_vml_cpu", input)
    # In single precision XLA's formula has no correct digit near its zeros at 1 and 2.
    return (
        lax.lgamma(input.astype(np.float64)).astype(input.dtype)
        if input.dtype == np.float32
        else lax.lgamma(input)
    )


@unary(inplace=True, aliases=("special.digamma", "special.psi"), saves=("input",), aten="digamma")
@schemas(".", "special_digamma. ; =out", "special_psi. ; =out")
def digamma(input: Array) -> Array:
    """The derivative of ``lgamma``: infinite at 0 with the opposite sign, NaN at negative integers.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.digamma(torch.tensor([0.5, 1.0, -1.0]))
        tensor([-1.9635, -0.5772,     nan])
    """
    require("digamma", input)
    return _digamma(wide(input)).astype(input.dtype)


@hosted(by_scipy("psi"), ns=30)
def _digamma(x: Array) -> Array:
    pole = (x <= 0) & (x == jnp.trunc(x))
    at_pole = jnp.where(
        x == 0, jnp.copysign(jnp.asarray(jnp.inf, x.dtype), -x), jnp.asarray(jnp.nan, x.dtype)
    )
    return jnp.where(pole, at_pole, lax.digamma(jnp.where(pole, jnp.ones((), x.dtype), x)))


def _trigamma_by_scipy() -> Compute:
    zeta = special("_zeta", "zeta")  # the ufunc, and what asks for its second operand first

    def compute(x: np.ndarray) -> np.ndarray:
        reflected = np.less(x, 0.5)
        if not count_nonzero(reflected):
            return zeta(x.dtype.type(2), x)
        found = zeta(x.dtype.type(2), np.where(reflected, 1 - x, x))
        return np.where(reflected, np.square(math.pi / np.sin(math.pi * x)) - found, found)

    return compute


@hosted(_trigamma_by_scipy, ns=200, calls=3)
def _trigamma(x: Array) -> Array:
    """The second derivative of ``lgamma``: reflected to x >= 0.5, moved up by six, then its
    asymptotic series."""
    reflected = x < 0.5
    sine = jnp.sin(math.pi * x)
    y = jnp.where(reflected, 1 - x, x)
    found = jnp.zeros_like(y)
    for _ in range(6):
        found = found + 1 / (y * y)
        y = y + 1
    inverse = 1 / (y * y)
    series = jnp.zeros_like(y)
    for bernoulli in (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):
        series = (series + bernoulli) * inverse
    found = found + (1 + 1 / (2 * y) + series) / y
    return jnp.where(reflected, (math.pi / sine) ** 2 - found, found)


#: The logarithm from which on numbers are infinite.
_LARGEST = math.log(sys.float_info.max)


def _polygamma(n: int, x: Array) -> Array:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(x)
    require("trigamma" if n == 1 else "polygamma", x)
    y = wide(x)
    if n == 1:
        return _trigamma(y).astype(x.dtype)
    logarithm = math.lgamma(n + 1)
    factor = (1.0 if n % 2 else -1.0) * (math.exp(logarithm) if logarithm < _LARGEST else math.inf)
    return (factor * _zeta(jnp.full_like(y, n + 1), y)).astype(x.dtype)


@unary(aliases=("special.polygamma",), saves=("input",), aten="polygamma")
@schemas(
    "(int n, Tensor self) -> Tensor ; =out",
    "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
    "special_polygamma",
)
def polygamma(n: int, input: Array) -> Array:
    """The ``n``-th derivative of ``digamma``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if ``n`` is negative.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.polygamma(1, torch.tensor([1.0, 2.0]))
        tensor([1.6449, 0.6449])
    """
    return _polygamma(n, input)


@unary(
    namespace="Tensor",
    name="polygamma",
    out=False,
    inplace=True,
    saves=("input",),
    aten="polygamma",
)
@schemas()
def polygamma_method(input: Array, n: int) -> Array:
    """The ``n``-th derivative of ``digamma``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if ``n`` is negative.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449])
    """
    return _polygamma(n, input)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _slope(n: int, x: Array) -> Array:
    """``polygamma`` as rules have it: its derivatives are those of higher order, at poles and far
    out as well."""
    return _polygamma(n, x)


@_slope.defjvp
def _slope_jvp(n: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _slope(n, *primals), tangents[0] * _slope(n + 1, *primals)


def _digamma_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * _slope(1, input),)


def _polygamma_rule(g: Array, _: None, n: int, input: Array) -> tuple[Array]:
    return (g * _slope(n + 1, input),)


def _polygamma_method_rule(g: Array, _: None, input: Array, n: int) -> tuple[Array]:
    return (g * _slope(n + 1, input),)


def _lgamma_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * _slope(0, input),)


defvjp(lgamma, _lgamma_rule)
derivative(A.lgamma, self=lambda g, self: D.times_slope(A.digamma.default(self), g))


defvjp(digamma, _digamma_rule)
derivative(A.digamma, self=lambda g, self: D.times_slope(A.polygamma.default(1, self), g))


defvjp(polygamma, _polygamma_rule)
derivative(A.polygamma, self=lambda g, n, self: D.times_slope(A.polygamma.default(n + 1, self), g))


defvjp(polygamma_method, _polygamma_method_rule)


def _no_bool(kinds: list[dtypes.dtype]) -> None:
    if kinds[0] is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")


@unary(
    inplace=True,
    aliases=("special.multigammaln",),
    check=_no_bool,
    saves=("input",),
    aten="mvlgamma",
    strides="rows",
)
@schemas(".", "special_multigammaln. ; =out")
def mvlgamma(input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension ``p``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers become the default floating dtype.

    Raises:
        RuntimeError: if ``p`` is less than 1, or for bool tensors.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.mvlgamma(torch.tensor([1.0, 2.0]), 2)
        tensor([1.1447, 0.4516])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    require("arange_cpu", input)
    limits.check_size((p,), input.dtype.itemsize)
    limits.check_size((*input.shape, p), 8)
    x = input.astype(np.float64)  # the terms of the sum cancel
    found = jnp.sum(lax.lgamma(_halves_below(x, p)), -1) + p * (p - 1) / 4 * math.log(math.pi)
    return found.astype(input.dtype)


def _halves_below(x: Array, p: int) -> Array:
    """``x``, ``x - 1/2``, and so on, ``p`` of them along a new last dimension."""
    steps = lax.broadcasted_iota(x.dtype, (*x.shape, p), x.ndim)
    return x[..., None] - steps * np.asarray(0.5, x.dtype)


def _mvlgamma_rule(g: Array, _: None, input: Array, p: int) -> tuple[Array]:
    x = wide(input)
    return ((wide(g) * jnp.sum(_slope(0, _halves_below(x, p)), -1)).astype(g.dtype),)


defvjp(mvlgamma, _mvlgamma_rule)


def _mvlgamma_formula(g: object, self: Tensor, p: int) -> object:
    dtype, device = self._aval.torch_dtype, of_placement(self._aval.device)
    shifts = A.arange.start_step(
        -p / 2.0 + 0.5, 0.5, 0.5, dtype=dtype, layout=strided, device=device
    )
    return A.mul.Tensor(
        g,
        A.sum.dim_IntList(
            A.digamma_.default(A.add.Tensor(shifts, A.unsqueeze.default(self, -1))), [-1]
        ),
    )


derivative(A.mvlgamma, self=_mvlgamma_formula)


@pointwise(
    inplace=True,
    aliases=("special.gammainc",),
    saves=("input", "other"),
    aten="igamma",
    underived={"input": "igamma: input"},
)
@schemas(".", "special_gammainc. ; =out")
def igamma(input: Array, other: Array) -> Array:
    """The lower incomplete gamma function of order ``input``, regularised.

    Shapes: those of the operands, broadcast.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: if both are integers, or one is complex; in a backward pass that comes
            to ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.igamma(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        tensor([0.6321, 0.5940])
    """
    require("igamma_cpu", input)
    return _incomplete(lax.igamma, 1, input, other)


@pointwise(
    inplace=True,
    aliases=("special.gammaincc",),
    saves=("input", "other"),
    aten="igammac",
    underived={"input": "igammac: input"},
)
@schemas(".", "special_gammaincc. ; =out")
def igammac(input: Array, other: Array) -> Array:
    """The upper incomplete gamma function of order ``input``, regularised: ``1 - igamma``.

    Shapes: those of the operands, broadcast.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: if both are integers, or one is complex; in a backward pass that comes
            to ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.igammac(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        tensor([0.3679, 0.4060])
    """
    require("igammac_cpu", input)
    return _incomplete(lax.igammac, 0, input, other)


def _incomplete(
    function: Callable[[Array, Array], Array], at_zero_order: int, input: Array, other: Array
) -> Array:
    """``function`` with its limits for the orders 0 and infinity, which JAX gives as NaN."""
    a, x = _incomplete_operands(input, other)
    found = jnp.where((a == 0) & (x > 0), jnp.asarray(at_zero_order, a.dtype), function(a, x))
    found = jnp.where(
        (a == jnp.inf) & (x >= 0) & (x < jnp.inf), jnp.asarray(1 - at_zero_order, a.dtype), found
    )
    return found.astype(input.dtype)


def _incomplete_operands(a: Array, x: Array) -> tuple[Array, Array]:
    """In double precision: in single, the smaller of the two functions has three correct digits
    only, being 1 minus the other."""
    a, x = jnp.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    return a, x


@jax.custom_jvp
def _slope_by_order(a: Array, x: Array) -> Array:
    """The derivative of the lower function by its order; the second one is known by ``x`` alone,
    and NaN by the order."""
    return lax.igamma_grad_a(a, x)


@_slope_by_order.defjvp
def _(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    a, x = primals
    by_x = jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a)) * (jnp.log(x) - lax.digamma(a))
    return _slope_by_order(a, x), by_x * tangents[1] + tangents[0] * jnp.nan


def _igamma_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    a, x = _incomplete_operands(input, other)
    double = g.astype(np.float64)
    by_other = double * jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a))
    return (double * _slope_by_order(a, x)).astype(g.dtype), by_other.astype(g.dtype)


def _igammac_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    by_input, by_other = _igamma_rule(g, None, input, other)
    return -by_input, -by_other


defvjp(igamma, _igamma_rule)


defvjp(igammac, _igammac_rule)
