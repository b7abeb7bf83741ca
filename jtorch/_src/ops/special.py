"""Special functions: the error function and its kin, logarithmic ones, and Hurwitz' zeta
function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from ..engine.host.direct import count_nonzero, special
from ..engine.host.rules import Compute
from . import _loops
from ._declare import Array, Number, binary, defvjp, unary
from ._derivatives import A, derivative
from ._facts import schemas
from ._fitting import check_fits
from ._hosted import by_scipy, hosted
from ._nodes import by_numbers
from ._numeric import require, require_full, wide

#: Functions that live in ``torch.special`` only.
_special = functools.partial(unary, namespace="special", method=False)

_SQRT_HALF = math.sqrt(0.5)
_SQRT_PI = math.sqrt(math.pi)


# ---- error function ------------------------------------------------------------------------------


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


def _bell(g: object, self: object, height: float) -> object:
    return A.mul.Tensor(
        A.mul.Scalar(A.exp.default(A.neg.default(A.pow.Tensor_Scalar(self, 2))), height), g
    )


derivative(A.erf, self=lambda g, self: _bell(g, self, 2 / math.sqrt(math.pi)))


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


derivative(A.erfc, self=lambda g, self: _bell(g, self, -2 / math.sqrt(math.pi)))


@unary(
    inplace=True,
    aliases=("special.erfinv",),
    saves=("input",),
    aten="erfinv",
    autocast="cuda float32",
)
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
    return (
        lax.erf_inv(input.astype(np.float64)).astype(input.dtype)
        if input.dtype == np.float32
        else lax.erf_inv(input)
    )


derivative(
    A.erfinv,
    self=lambda g, self: A.mul.Tensor(
        A.mul.Scalar(A.exp.default(A.pow.Tensor_Scalar(A.erfinv.default(self), 2)), 0.5 * _SQRT_PI),
        g,
    ),
)


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


def _by_erfc(x: Array) -> Array:
    """``exp(x * x) * erfc(x)``; the square is taken in two parts, as its rounding would show in the
    power."""
    near = jnp.round(jnp.maximum(x, -30) * 16) / 16
    return jnp.exp(near * near) * jnp.exp((x - near) * (x + near)) * jsp.erfc(x)


#: JAX's own is there from 0.10.1 on.
_erfcx_up_to_9: Callable[[Array], Array] = getattr(jsp, "erfcx", _by_erfc)


@hosted(by_scipy("erfcx"), ns=25)
def _erfcx(x: Array) -> Array:
    # JAX's function is 0 from where exp(-x**2) underflows until its asymptotic formula begins;
    # Laplace's continued fraction covers that.
    far = jnp.maximum(x, 9)
    tail = far
    for k in range(16, 0, -1):
        tail = far + k / 2 / tail
    return jnp.where(x > 9, 1 / math.sqrt(math.pi) / tail, _erfcx_up_to_9(jnp.minimum(x, 9)))


def _erfcx_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return (g * (2 * input * result - 2 / math.sqrt(math.pi)),)


defvjp(erfcx, _erfcx_rule)
derivative(
    A.special_erfcx,
    self=lambda g, self, result: A.mul.Tensor(
        A.sub.Scalar(A.mul.Tensor(A.mul.Scalar(self, 2), result), 2.0 / _SQRT_PI), g
    ),
)


@_special(
    saves=("input",), aten="special_ndtr", node="MulBackward1", implicit=True, unchecked=("input",)
)
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
    """The normal distribution's quantiles, the inverse of ``ndtr``: infinite at 0 and 1, NaN
    outside.

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
    edge = jnp.where(input == 0, -jnp.inf, jnp.where(input == 1, jnp.inf, jnp.nan)).astype(
        input.dtype
    )
    return jnp.where(
        inside, jsp.ndtri(jnp.where(inside, input, jnp.asarray(0.5, input.dtype))), edge
    )


def _ndtri_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    return (g * math.sqrt(2 * math.pi) * jnp.exp(result * result / 2),)


defvjp(ndtri, _ndtri_rule)
derivative(
    A.special_ndtri,
    self=lambda g, result: A.mul.Tensor(
        g,
        A.mul.Scalar(
            A.exp.default(A.div.Scalar(A.pow.Tensor_Scalar(result, 2), 2)), math.sqrt(2 * math.pi)
        ),
    ),
)


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


def _log_ndtr_formula(g: object, self: object, result: object) -> object:
    inner = A.add.Tensor(result, A.div.Scalar(A.pow.Tensor_Scalar(self, 2), 2))
    return A.mul.Tensor(
        A.div.Scalar(A.exp.default(A.neg.default(inner)), math.sqrt(2 * math.pi)), g
    )


derivative(A.special_log_ndtr, self=_log_ndtr_formula)


# ---- logarithmic ---------------------------------------------------------------------------------


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
    return jnp.where(
        x > 0, -x * jnp.log(x), jnp.where(x == 0, 0, jnp.where(jnp.isnan(x), x, -jnp.inf))
    )


def _entr_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * -(1 + jnp.log(input)),)


defvjp(entr, _entr_rule)
derivative(
    A.special_entr,
    self=lambda g, self: A.mul.Tensor(g, A.neg.default(A.add.Scalar(A.log.default(self), 1))),
)


@unary(inplace="both", aliases=("special.logit",), saves=("input",), aten="logit")
@schemas(".", "special_logit. ; =out")
def logit(input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` first clamps ``input`` to
    ``[eps, 1 - eps]``.

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
    return (
        jnp.where(
            inside, g / jnp.where(inside, input * (1 - input), 1), jnp.asarray(outside, g.dtype)
        ),
    )


defvjp(logit, _logit_rule)


# ---- zeta function -------------------------------------------------------------------------------


@binary(
    namespace="special",
    promote="float",
    method=False,
    saves=("input", "other"),
    aten="special_zeta",
    node=by_numbers("SpecialZeta"),
    underived={"input": "zeta"},
)
@schemas(".", ".other_scalar", ".self_scalar")
def zeta(input: Array | Number, other: Array | Number) -> Array:
    """Hurwitz' zeta function: the sum of ``(other + k)**-input`` over all k from 0.

    Shapes: those of the operands, broadcast.

    Dtypes: float32 and float64, kept; integers and bool become the default floating dtype.

    Gradient: for ``other`` alone.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors; in a backward pass that
            comes to ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.special.zeta(torch.tensor([2.0, 4.0]), 1.0)
        tensor([1.6449, 1.0823])
    """
    require_full("zeta_cpu", input)
    return _zeta(*jnp.broadcast_arrays(input, other))


#: How many terms of negative base are summed at most; those further from the poles are below
#: rounding.
_ZETA_TERMS = 100_000


def _zeta_by_scipy() -> Compute:
    zeta = special("_zeta", "zeta")  # the ufunc, and what asks for its second operand first

    def compute(x: np.ndarray, q: np.ndarray) -> np.ndarray:
        found = zeta(x, q)
        large = np.greater(q, 1e8)
        # SciPy takes a limit there, which PyTorch does not know at infinity
        if count_nonzero(large):
            found = np.where(
                (large & np.isinf(x)) | (np.isposinf(q) & (x != 1)), x.dtype.type(np.nan), found
            )
        return found

    return compute


@hosted(_zeta_by_scipy, ns=150, calls=3)
def _hurwitz(x: Array, q: Array) -> Array:
    """The sum from where the base is positive, plus one term for each base before. These bases have
    real powers for whole ``x`` only."""
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
    found = _loops.fori_loop(jnp.asarray(0, np.int32), steps, body, jnp.zeros_like(q)) + lax.zeta(
        x, shifted
    )
    pole = (q <= 0) & (q == jnp.floor(q))
    undefined = (x < 1) | ((q < 0) & (x != jnp.floor(x))) | jnp.isnan(x) | jnp.isnan(q)
    found = jnp.where(undefined, jnp.asarray(jnp.nan, q.dtype), found)
    # At a pole PyTorch asks for the order below 1 only, so that NaN passes.
    return jnp.where(pole & ~(x < 1) | (x == 1), jnp.asarray(jnp.inf, q.dtype), found)


@jax.custom_jvp
def _zeta(x: Array, q: Array) -> Array:
    return _hurwitz(x, q)


def _zeta_jvp(primals: tuple[Array, Array], tangents: tuple[Any, Any]) -> tuple[Array, Any]:
    x, q = primals
    by_order, by_base = tangents
    # as not even a tangent of 0 would be 0 then
    given = [] if type(by_order) is SymbolicZero else [by_order * jnp.nan]
    if type(by_base) is not SymbolicZero:
        given.append(by_base * -x * _zeta(x + 1, q))
    return _zeta(x, q), functools.reduce(jnp.add, given) if given else by_base


_zeta.defjvp(_zeta_jvp, symbolic_zeros=True)


def _zeta_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    return jnp.full_like(g, jnp.nan), g * -input * zeta(input + 1, other)


defvjp(zeta, _zeta_rule)
