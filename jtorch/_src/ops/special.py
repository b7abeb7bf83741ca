"""Special functions: the error function and its kin, the gamma function and its kin, and Hurwitz' zeta function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
from jax import lax

from ..engine import limits
from ..engine.host.direct import count_nonzero
from ..engine.host.rules import Compute
from ..facts import dtypes
from . import _loops
from ._declare import Array, Number, binary, defvjp, pointwise, unary
from ._facts import schemas
from ._hosted import by_scipy, hosted
from ._numeric import require, require_full, wide
from .indexing import check_fits

#: Functions that live in ``torch.special`` only.
_special = functools.partial(unary, namespace="special", method=False)

_SQRT_HALF = math.sqrt(0.5)


# ---- error function --------------------------------------------------------------------------------------------------------------


@unary(inplace="both", aliases=("special.erf",), saves=("input",), aten="erf")
@schemas(".", "special_erf. ; =out")
def erf(input: Array) -> Array:
    """The error function.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.erf(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.5205, 0.8427])
    """
    require("erf_vml_cpu", input)
    return lax.erf(input)


@unary(inplace="both", aliases=("special.erfc",), saves=("input",), aten="erfc")
@schemas(".", "special_erfc. ; =out")
def erfc(input: Array) -> Array:
    """``1 - erf(input)``, exact where that is small.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.erfc(torch.tensor([0.0, 1.0, 5.0]))
        tensor([1.0000e+00, 1.5730e-01, 1.5375e-12])
    """
    require("erfc_vml_cpu", input)
    return lax.erfc(input)


@unary(inplace=True, aliases=("special.erfinv",), saves=("input",), aten="erfinv", autocast="cuda float32")
@schemas(".", "special_erfinv. ; =out")
def erfinv(input: Array) -> Array:
    """The inverse of ``erf``: infinite at -1 and 1, NaN outside.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.erfinv(torch.tensor([0.0, 0.5, 1.0]))
        tensor([0.0000, 0.4769,    inf])
    """
    require("erfinv_vml_cpu", input)
    # In single precision XLA's polynomial is good to 3e-6 only.
    return lax.erf_inv(input.astype(np.float64)).astype(input.dtype) if input.dtype == np.float32 else lax.erf_inv(input)


@_special(saves=("input", "result"), aten="special_erfcx", node="SpecialErfcxBackward0")
def erfcx(input: Array) -> Array:
    """``exp(input**2) * erfc(input)``, without overflow on the way.

    Shapes: that of ``input``.

    Dtypes: float32 and float64, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.erfcx(torch.tensor([0.0, 1.0, 100.0]))
        tensor([1.0000, 0.4276, 0.0056])
    """
    require_full("erfcx_cpu", input)
    return _erfcx(input)


@hosted(by_scipy("erfcx"), ns=25)
def _erfcx(x: Array) -> Array:
    # JAX's function is 0 from where exp(-x**2) underflows until its asymptotic formula begins; Laplace's continued fraction covers that.
    far = jnp.maximum(x, 9)
    tail = far
    for k in range(16, 0, -1):
        tail = far + k / 2 / tail
    return jnp.where(x > 9, 1 / math.sqrt(math.pi) / tail, jsp.erfcx(jnp.minimum(x, 9)))


def _erfcx_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return (g * (2 * input * result - 2 / math.sqrt(math.pi)),)


defvjp(erfcx, _erfcx_rule)


@_special(saves=("input",), aten="special_ndtr", node="MulBackward1", implicit=True)
def ndtr(input: Array) -> Array:
    """The normal distribution's cumulative probability.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.ndtr(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([0.1587, 0.5000, 0.8413])
    """
    require("erf_vml_cpu", input)
    x = wide(input)
    return (0.5 * lax.erfc(-x * _SQRT_HALF)).astype(input.dtype)


@_special(saves=("result",), aten="special_ndtri", node="SpecialNdtriBackward0")
def ndtri(input: Array) -> Array:
    """The normal distribution's quantiles, the inverse of ``ndtr``: infinite at 0 and 1, NaN outside.

    Shapes: that of ``input``.

    Dtypes: float32 and float64, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.ndtri(torch.tensor([0.0, 0.5, 0.75]))
        tensor([  -inf, 0.0000, 0.6745])
    """
    require_full("ndtri_cpu", input)
    return _ndtri(input)


@hosted(by_scipy("ndtri"), ns=25)
def _ndtri(input: Array) -> Array:
    inside = (input > 0) & (input < 1)
    edge = jnp.where(input == 0, -jnp.inf, jnp.where(input == 1, jnp.inf, jnp.nan)).astype(input.dtype)
    return jnp.where(inside, jsp.ndtri(jnp.where(inside, input, jnp.asarray(0.5, input.dtype))), edge)


def _ndtri_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * math.sqrt(2 * math.pi) * jnp.exp(result * result / 2),)


defvjp(ndtri, _ndtri_rule)


@_special(saves=("input", "result"), aten="special_log_ndtr", node="SpecialLogNdtrBackward0")
def log_ndtr(input: Array) -> Array:
    """The logarithm of ``ndtr``, exact far out on both sides.

    Shapes: that of ``input``.

    Dtypes: float32 and float64, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.log_ndtr(torch.tensor([-100.0, 0.0, 1.0]))
        tensor([-5.0055e+03, -6.9315e-01, -1.7275e-01])
    """
    require_full("log_ndtr_cpu", input)
    return _log_ndtr(input)


@hosted(by_scipy("log_ndtr"), ns=25)
def _log_ndtr(input: Array) -> Array:
    scaled = input * _SQRT_HALF
    below = jnp.log(_erfcx(-scaled) / 2) - scaled * scaled
    return jnp.where(input < -1, below, jnp.log1p(-lax.erfc(scaled) / 2))


def _log_ndtr_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return (g / math.sqrt(2 * math.pi) * jnp.exp(-(result + input * input / 2)),)


defvjp(log_ndtr, _log_ndtr_rule)


# ---- logarithmic -----------------------------------------------------------------------------------------------------------------


@_special(saves=("input",), aten="special_entr", node="SpecialEntrBackward0")
def entr(input: Array) -> Array:
    """``-input * log(input)``: 0 at 0 and negative infinity below.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.entr(torch.tensor([-1.0, 0.0, 0.5]))
        tensor([  -inf, 0.0000, 0.3466])
    """
    require("entr_cpu", input)
    return _entr(wide(input)).astype(input.dtype)


@hosted(by_scipy("entr"), ns=10)
def _entr(x: Array) -> Array:
    return jnp.where(x > 0, -x * jnp.log(x), jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), x, -jnp.inf)))


def _entr_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * -(1 + jnp.log(input)),)


defvjp(entr, _entr_rule)


@unary(inplace="both", aliases=("special.logit",), saves=("input",), aten="logit")
@schemas(".", "special_logit. ; =out")
def logit(input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` first clamps ``input`` to ``[eps, 1 - eps]``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Gradient: without ``eps`` NaN outside [0, 1]; with it 0 where clamped.

    Raises:
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.logit(torch.tensor([0.25, 0.5, 1.0]))
        tensor([-1.0986,  0.0000,     inf])
        >>> torch.logit(torch.tensor([1.0]), eps=0.25)
        tensor([1.0986])
    """
    require("logit_cpu", input)
    if eps is not None:
        check_fits(float(eps), input.dtype)
    x = wide(input)
    if eps is not None:
        low, high = _ends(input, eps)
        x = wide(jnp.where(input < low, low, jnp.where(input > high, high, input)))
    return jnp.where(x == 1, jnp.inf, jnp.log(x / (1 - x))).astype(input.dtype)


def _ends(input: Array, eps: float) -> tuple[Array, Array]:
    """The bounds that ``eps`` sets, rounded to the dtype one after the other."""
    low = jnp.asarray(eps, input.dtype)
    return low, jnp.ones((), input.dtype) - low


def _logit_rule(g: Array, _: None, input: Array, eps: float | None = None) -> tuple[Array]:
    low, high, outside = (0.0, 1.0, jnp.nan) if eps is None else (*_ends(input, eps), 0.0)
    inside = (input >= low) & (input <= high)
    return (jnp.where(inside, g / (input * (1 - input)), jnp.asarray(outside, g.dtype)),)


defvjp(logit, _logit_rule)


# ---- gamma function --------------------------------------------------------------------------------------------------------------


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
    return lax.lgamma(input.astype(np.float64)).astype(input.dtype) if input.dtype == np.float32 else lax.lgamma(input)


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
    at_pole = jnp.where(x == 0, jnp.copysign(jnp.asarray(jnp.inf, x.dtype), -x), jnp.asarray(jnp.nan, x.dtype))
    return jnp.where(pole, at_pole, lax.digamma(jnp.where(pole, jnp.ones((), x.dtype), x)))


def _trigamma_by_scipy() -> Compute:
    import scipy.special

    zeta = scipy.special.zeta

    def compute(x: np.ndarray) -> np.ndarray:
        reflected = np.less(x, 0.5)
        if not count_nonzero(reflected):
            return zeta(x.dtype.type(2), x)
        found = zeta(x.dtype.type(2), np.where(reflected, 1 - x, x))
        return np.where(reflected, np.square(math.pi / np.sin(math.pi * x)) - found, found)

    return compute


@hosted(_trigamma_by_scipy, ns=60, calls=3)
def _trigamma(x: Array) -> Array:
    """The second derivative of ``lgamma``: reflected to x >= 0.5, moved up by six, then its asymptotic series."""
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


def _polygamma(n: int, x: Array) -> Array:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(x)
    require("trigamma" if n == 1 else "polygamma", x)
    y = wide(x)
    if n == 1:
        return _trigamma(y).astype(x.dtype)
    factor = (1.0 if n % 2 else -1.0) * math.exp(math.lgamma(n + 1))
    return (factor * _zeta(lax.stop_gradient(jnp.full_like(y, n + 1)), y)).astype(x.dtype)


@unary(aliases=("special.polygamma",), saves=("input",), aten="polygamma")
@schemas("(int n, Tensor self) -> Tensor ; =out", "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", "special_polygamma")
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


@unary(namespace="Tensor", name="polygamma", out=False, inplace=True, saves=("input",), aten="polygamma")
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


def _digamma_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * _polygamma(1, input),)


def _polygamma_rule(g: Array, _: None, n: int, input: Array) -> tuple[Array]:
    return (g * _polygamma(n + 1, input),)


def _polygamma_method_rule(g: Array, _: None, input: Array, n: int) -> tuple[Array]:
    return (g * _polygamma(n + 1, input),)


def _lgamma_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * digamma(input),)


defvjp(lgamma, _lgamma_rule)
defvjp(digamma, _digamma_rule)
defvjp(polygamma, _polygamma_rule)
defvjp(polygamma_method, _polygamma_method_rule)


def _no_bool(kinds: list[dtypes.dtype]) -> None:
    if kinds[0] is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")


@unary(inplace=True, aliases=("special.multigammaln",), check=_no_bool, saves=("input",), aten="mvlgamma", strides="rows")
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
    return ((wide(g) * jnp.sum(digamma(_halves_below(x, p)), -1)).astype(g.dtype),)


defvjp(mvlgamma, _mvlgamma_rule)


@pointwise(inplace=True, aliases=("special.gammainc",), saves=("input", "other"), aten="igamma")
@schemas(".", "special_gammainc. ; =out")
def igamma(input: Array, other: Array) -> Array:
    """The lower incomplete gamma function of order ``input``, regularised.

    Shapes: those of the operands, broadcast.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: if both are integers, or one is complex.

    Differs from torch: ``input`` has a gradient.

    Example:
        >>> import jtorch as torch
        >>> torch.igamma(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        tensor([0.6321, 0.5940])
    """
    require("igamma_cpu", input)
    return _incomplete(lax.igamma, 1, input, other)


@pointwise(inplace=True, aliases=("special.gammaincc",), saves=("input", "other"), aten="igammac")
@schemas(".", "special_gammaincc. ; =out")
def igammac(input: Array, other: Array) -> Array:
    """The upper incomplete gamma function of order ``input``, regularised: ``1 - igamma``.

    Shapes: those of the operands, broadcast.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: if both are integers, or one is complex.

    Differs from torch: ``input`` has a gradient.

    Example:
        >>> import jtorch as torch
        >>> torch.igammac(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        tensor([0.3679, 0.4060])
    """
    require("igammac_cpu", input)
    return _incomplete(lax.igammac, 0, input, other)


def _incomplete(function: Callable[[Array, Array], Array], at_zero_order: int, input: Array, other: Array) -> Array:
    """``function`` with its limits for the orders 0 and infinity, which JAX gives as NaN."""
    a, x = _incomplete_operands(input, other)
    found = jnp.where((a == 0) & (x > 0), jnp.asarray(at_zero_order, a.dtype), function(a, x))
    found = jnp.where((a == jnp.inf) & (x >= 0) & (x < jnp.inf), jnp.asarray(1 - at_zero_order, a.dtype), found)
    return found.astype(input.dtype)


def _incomplete_operands(a: Array, x: Array) -> tuple[Array, Array]:
    """In double precision: in single, the smaller of the two functions has three correct digits only, being 1 minus the other."""
    a, x = jnp.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    return a, x


def _igamma_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    a, x = _incomplete_operands(input, other)
    double = g.astype(np.float64)
    by_other = double * jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a))
    return (double * lax.igamma_grad_a(a, x)).astype(g.dtype), by_other.astype(g.dtype)


def _igammac_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    by_input, by_other = _igamma_rule(g, None, input, other)
    return -by_input, -by_other


defvjp(igamma, _igamma_rule)
defvjp(igammac, _igammac_rule)


@binary(
    namespace="special",
    promote="float",
    method=False,
    saves=("input", "other"),
    aten="special_zeta",
    node=lambda made: f"SpecialZetaBackward{0 if made.is_tensor('input') and made.is_tensor('other') else 1}",
)
@schemas(".", ".other_scalar", ".self_scalar")
def zeta(input: Array | Number, other: Array | Number) -> Array:
    """Hurwitz' zeta function: the sum of ``(other + k)**-input`` over all k from 0.

    Shapes: those of the operands, broadcast.

    Dtypes: float32 and float64, kept; integers and bool become the default floating dtype.

    Gradient: for ``other``; that for ``input`` is not known and given as NaN.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1.0)
        tensor([1.6449, 1.0823])
    """
    require_full("zeta_cpu", input)
    return _zeta(*jnp.broadcast_arrays(input, other))


#: How many terms of negative base are summed at most; those further from the poles are below rounding.
_ZETA_TERMS = 100_000


@jax.custom_jvp
def _zeta(x: Array, q: Array) -> Array:
    """The sum from where the base is positive, plus one term for each base before. These bases have real powers for whole ``x`` only."""
    before = jnp.maximum(jnp.ceil(-q), 0)
    before = jnp.where(jnp.isfinite(before), before, 0)
    first = jnp.maximum(before - _ZETA_TERMS, 0)

    def body(k: Array, total: Array) -> Array:
        at = first + k.astype(q.dtype)
        base = jnp.where(at < before, q + at, jnp.ones((), q.dtype))
        return total + jnp.where(at < before, jnp.power(base, -x), jnp.zeros((), q.dtype))

    steps = jnp.max(before - first, initial=0).astype(np.int32)
    shifted = jnp.where(q > 0, q, q + before)
    shifted = jnp.where(shifted > 0, shifted, jnp.ones((), q.dtype))
    found = _loops.fori_loop(jnp.asarray(0, np.int32), steps, body, jnp.zeros_like(q)) + lax.zeta(x, shifted)
    pole = (q <= 0) & (q == jnp.floor(q))
    undefined = (x < 1) | ((q < 0) & (x != jnp.floor(x))) | jnp.isnan(x) | jnp.isnan(q)
    found = jnp.where(undefined, jnp.asarray(jnp.nan, q.dtype), found)
    return jnp.where(pole & (x > 1) | (x == 1), jnp.asarray(jnp.inf, q.dtype), found)


@_zeta.defjvp
def _zeta_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    x, q = primals
    return _zeta(x, q), tangents[0] * jnp.nan + tangents[1] * -x * _zeta(x + 1, q)


def _zeta_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return jnp.full_like(g, jnp.nan), g * -input * zeta(input + 1, other)


defvjp(zeta, _zeta_rule)
