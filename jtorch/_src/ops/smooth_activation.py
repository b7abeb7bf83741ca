"""Smooth activation functions: sigmoids, exponential units, soft forms of the rectifier, and
gates."""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import canonical_dim
from ._bounds import check_bound, check_real
from ._declare import Array, Written, defvjp, unary
from ._derivatives import A, derivative
from ._facts import schemas
from ._fitting import single_of
from ._numeric import conj, default_float, is_bool, is_complex, require, rounded, unsupported, wide

_activation = functools.partial(
    unary, promote=None, out=False, namespace="nn.functional", method=False
)


# ---- sigmoids ------------------------------------------------------------------------------------


@unary(
    inplace="both",
    aliases=("nn.functional.sigmoid", "special.expit"),
    saves=("result",),
    aten="sigmoid",
    spelled={"nn.functional.sigmoid": {"out": ""}},
    ignored=("nn.functional.sigmoid",),
    opaque=True,
)
@schemas(".", "special_expit. ; =out")
def sigmoid(input: Array) -> Array:
    """``1 / (1 + exp(-input))``.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Example:
        >>> import jtorch as torch
        >>> torch.sigmoid(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0.2689, 0.5000, 0.8808])
    """
    return lax.logistic(wide(input)).astype(input.dtype)


def _sigmoid_rule(g: Array, result: Array, _: Array) -> tuple[Array]:
    if g.dtype == jnp.bfloat16:  # for float16 torch rounds in between
        y = wide(result)
        return ((wide(g) * (1 - y) * y).astype(g.dtype),)
    return (g * conj(1 - result) * conj(result),)


defvjp(sigmoid, _sigmoid_rule)
derivative(A.sigmoid, self=lambda g, result: A.sigmoid_backward.default(g, result))


@_activation(
    out=True,
    saves=("input",),
    aten="log_sigmoid_forward",
    through="log_sigmoid",
    out_dtype="scalar type",
    node="LogSigmoidBackward0",
)
@schemas(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    "log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> "
    "(Tensor(a!), Tensor(b!))",
)
def logsigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, without overflow on the way.

    Args:
        input: the tensor.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.logsigmoid(torch.tensor([-100.0, 0.0, 2.0]))
        tensor([-100.0000,   -0.6931,   -0.1269])
    """
    require("log_sigmoid_cpu", input)
    x = wide(input)
    return (jnp.minimum(x, 0) - jnp.log1p(jnp.exp(-jnp.abs(x)))).astype(input.dtype)


def _logsigmoid_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return ((wide(g) * lax.logistic(-wide(input))).astype(g.dtype),)


defvjp(logsigmoid, _logsigmoid_rule)
derivative(
    A.log_sigmoid_forward,
    results=(0,),
    self=lambda g, self, result1: A.log_sigmoid_backward.default(g, self, result1),
)


@_activation(saves=("input",), aten="softsign", native=False, node="DivBackward0")
@schemas()
def softsign(input: Array) -> Array:
    """``input / (1 + abs(input))``.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers become the default floating dtype.

    Raises:
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.softsign(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.5000,  0.0000,  0.6667])
    """
    if is_bool(input):
        raise unsupported("abs_cpu", input)
    x = wide(default_float(input))
    dtype = default_float(input).dtype
    size = (1 + jnp.abs(x)).astype(x.dtype)
    return (x / wide(rounded(size, dtype))).astype(dtype)


def _softsign_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    if is_complex(input):
        pull = jax.vjp(softsign, input)[1]
        return (conj(pull(conj(g))[0]),)
    x = wide(input)
    size = 1 + jnp.where(x < 0, -x, jnp.where(x == 0, 0, x))
    return ((wide(g) / (size * size)).astype(g.dtype),)


defvjp(softsign, _softsign_rule)


@_activation(
    saves=("input",), aten="tanhshrink", native=False, node="SubBackward0", unchecked=("input",)
)
@schemas()
def tanhshrink(input: Array) -> Array:
    """``input - tanh(input)``.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept; integers become the default floating dtype.

    Raises:
        RuntimeError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.2384,  0.0000,  1.0360])
    """
    if is_bool(input):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    x = default_float(input)
    return x - jnp.tanh(x)


def _tanhshrink_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    squashed = jnp.tanh(input)
    return (g * conj(squashed * squashed),)


defvjp(tanhshrink, _tanhshrink_rule)


# ---- exponential units ---------------------------------------------------------------------------


def _tells_operand(alpha: float) -> bool:
    """Whether the result of an exponential unit is positive where its operand is: PyTorch's
    derivatives in place are taken from it."""
    return alpha >= 0


IN_PLACE_ELU = Written(
    "EluBackward1",
    tells=_tells_operand,
    words="In-place elu backward calculation is triggered with a negative slope which is not "
    "supported. This is caused by calling in-place forward function with a negative slope, "
    "please call out-of-place version instead.",
)
_IN_PLACE_CELU = dataclasses.replace(IN_PLACE_ELU, node="CeluBackward1")


def _elu(x: Array, alpha: float, scale: float = 1.0, input_scale: float = 1.0) -> Array:
    require("elu_cpu", x)
    check_bound(alpha, single_of(x.dtype))
    y = wide(x)
    below = jnp.expm1(jnp.minimum(y, 0) * input_scale) * (alpha * scale)
    return jnp.where(y < 0, below, y * scale).astype(x.dtype)


def _elu_rule(
    g: Array, x: Array, alpha: float, scale: float = 1.0, input_scale: float = 1.0
) -> tuple[Array]:
    y, wide_g = wide(x), wide(g)
    below = wide_g * jnp.exp(jnp.where(y >= 0, 0, y) * input_scale) * (alpha * scale * input_scale)
    return (jnp.where(y > 0, wide_g * scale, below).astype(g.dtype),)


@unary(
    name="scaled_elu",
    namespace="_C",
    promote=None,
    out=False,
    saves=("input",),
    node="EluBackward0",
)
@schemas()
def scaled_elu(input: Array, alpha: float, scale: float, input_scale: float) -> Array:
    """``scale * input`` where positive, else ``scale * alpha * expm1(input_scale * input)``: the
    operator that PyTorch makes others of."""
    return _elu(input, alpha, scale, input_scale)


def _scaled_elu_rule(
    g: Array, _: None, input: Array, alpha: float, scale: float, input_scale: float
) -> tuple[Array]:
    return _elu_rule(g, input, alpha, scale, input_scale)


defvjp(scaled_elu, _scaled_elu_rule)


@_activation(inplace=True, saves=("input",), aten="elu", native=False, in_place=IN_PLACE_ELU)
@schemas("(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor ; _ =out")
def elu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Array:
    """``input`` where positive, else ``alpha * expm1(input)``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.elu(torch.tensor([-1.0, 0.0, 2.0]), alpha=0.5)
        tensor([-0.3161,  0.0000,  2.0000])
    """
    return _elu(input, alpha)


def _plain_elu_rule(
    g: Array, _: None, input: Array, alpha: float = 1.0, inplace: bool = False
) -> tuple[Array]:
    return _elu_rule(g, input, alpha)


defvjp(elu, _plain_elu_rule)
derivative(
    A.elu,
    self=lambda g, self, alpha, scale, input_scale: A.elu_backward.default(
        g, alpha, scale, input_scale, False, self
    ),
)
# In place, the result tells what the operand was.
derivative(
    A.elu_,
    self=lambda g, result, alpha, scale, input_scale: A.elu_backward.default(
        g, alpha, scale, input_scale, True, result
    ),
)


def _celu(x: Array, alpha: float) -> Array:
    check_real(alpha, np.dtype(np.float64))
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(x, alpha, 1.0, 1.0 / alpha)


@unary(
    promote=None,
    out=False,
    method=False,
    inplace="both",
    saves=("input",),
    aten="celu",
    in_place=_IN_PLACE_CELU,
)
@schemas("(Tensor self, Scalar alpha=1.) -> Tensor ; _ =out")
def celu(input: Array, alpha: float = 1.0) -> Array:
    """``input`` where positive, else ``alpha * expm1(input / alpha)``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        RuntimeError: if ``alpha`` is 0.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.celu(torch.tensor([-1.0, 0.0, 2.0]), alpha=0.5)
        tensor([-0.4323,  0.0000,  2.0000])
    """
    return _celu(input, alpha)


@_activation(
    name="celu", inplace=True, saves=("input",), aten="celu", native=False, in_place=_IN_PLACE_CELU
)
@schemas()
def functional_celu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Array:
    """``input`` where positive, else ``alpha * expm1(input / alpha)``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        RuntimeError: if ``alpha`` is 0.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.celu(torch.tensor([-1.0, 0.0, 2.0]), alpha=0.5)
        tensor([-0.4323,  0.0000,  2.0000])
    """
    return _celu(input, alpha)


def _celu_rule(
    g: Array, _: None, input: Array, alpha: float = 1.0, inplace: bool = False
) -> tuple[Array]:
    return _elu_rule(g, input, alpha, 1.0, 1.0 / alpha)


defvjp(celu, _celu_rule)
derivative(
    A.celu,
    self=lambda g, self, alpha: A.elu_backward.default(g, alpha, 1, 1.0 / alpha, False, self),
)
derivative(
    A.celu_,
    self=lambda g, result, alpha: A.elu_backward.default(g, alpha, 1, 1.0 / alpha, True, result),
)
defvjp(functional_celu, _celu_rule)

#: Fixed point of mean 0 and variance 1 (Klambauer et al. 2017).
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@unary(
    promote=None,
    out=False,
    method=False,
    inplace="both",
    saves=("input",),
    aten="selu",
    node="EluBackward0",
    in_place=Written("EluBackward1"),
    dispatched="in parts",
)
def selu(input: Array) -> Array:
    """``scale * elu(input, alpha)`` with the constants that keep mean 0 and variance 1.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.selu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-1.1113,  0.0000,  2.1014])
    """
    return _elu(input, _SELU_ALPHA, _SELU_SCALE)


@_activation(
    name="selu",
    inplace=True,
    saves=("input",),
    aten="selu",
    native=False,
    node="EluBackward0",
    in_place=Written("EluBackward1"),
    dispatched="in parts",
)
@schemas()
def functional_selu(input: Array, inplace: bool = False) -> Array:
    """``scale * elu(input, alpha)`` with the constants that keep mean 0 and variance 1.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.selu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-1.1113,  0.0000,  2.1014])
    """
    return _elu(input, _SELU_ALPHA, _SELU_SCALE)


def _selu_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    return _elu_rule(g, input, _SELU_ALPHA, _SELU_SCALE)


defvjp(selu, _selu_rule)
defvjp(functional_selu, _selu_rule)


# ---- soft rectifiers -----------------------------------------------------------------------------


@_activation(out=True, saves=("input",), aten="softplus", autocast="cuda float32")
@schemas("(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor ; =out")
def softplus(input: Array, beta: float = 1, threshold: float = 20) -> Array:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` itself where ``beta * input`` exceeds
    ``threshold``.

    Args:
        input: the tensor.
        beta: how sharp the bend is.
        threshold: beyond this value of ``beta * input`` the result is ``input``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.softplus(torch.tensor([-1.0, 0.0, 30.0]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    require("softplus_cpu", input)
    x = wide(input)
    check_bound(beta, x.dtype)
    check_bound(threshold, x.dtype)
    scaled = x * beta
    beyond = scaled > threshold
    return jnp.where(beyond, x, jnp.log1p(jnp.exp(jnp.where(beyond, 0, scaled))) / beta).astype(
        input.dtype
    )


def _softplus_rule(
    g: Array, _: None, input: Array, beta: float = 1, threshold: float = 20
) -> tuple[Array]:
    scaled, wide_g = wide(input) * beta, wide(g)
    # curved below the threshold only
    slope = lax.logistic(jnp.where(scaled < threshold, scaled, lax.stop_gradient(scaled)))
    return (jnp.where(scaled > threshold, wide_g, wide_g * slope).astype(g.dtype),)


defvjp(softplus, _softplus_rule)

_SQRT_HALF = math.sqrt(0.5)


@_activation(out=True, saves=("input",), aten="gelu", opaque=True)
@schemas(". ; _ =out")
def gelu(input: Array, *, approximate: str = "none") -> Array:
    """``input * Phi(input)`` with the normal distribution's ``Phi``, or with ``approximate="tanh"``
    a formula near it.

    Args:
        input: the tensor.
        approximate: ``"none"`` for the error function, ``"tanh"`` for its approximation.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        RuntimeError: for another ``approximate``.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.1587,  0.0000,  1.9545])
        >>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 2.0]), approximate="tanh")
        tensor([-0.1588,  0.0000,  1.9546])
    """
    require("GeluKernelImpl", input)
    x = wide(input)
    if approximate == "none":
        return (x * (0.5 * (1 + lax.erf(x * _SQRT_HALF)))).astype(input.dtype)
    if approximate == "tanh":
        return (0.5 * x * (1 + jnp.tanh(_inner(x)))).astype(input.dtype)
    raise RuntimeError("approximate argument must be either none or tanh.")


def _inner(x: Array) -> Array:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)


def _gelu_rule(g: Array, _: None, input: Array, approximate: str = "none") -> tuple[Array]:
    x, wide_g = wide(input), wide(g)
    if approximate == "none":
        phi = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        slope = 0.5 * (1 + lax.erf(x * _SQRT_HALF)) + x * phi
    else:
        t = jnp.tanh(_inner(x))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (
            math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        )
    return ((wide_g * slope).astype(g.dtype),)


defvjp(gelu, _gelu_rule)


@_activation(saves=("input",), aten="silu", native=False)
@schemas(". ; _ =out")
def silu(input: Array, inplace: bool = False) -> Array:
    """``input * sigmoid(input)``, also called swish.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.2689,  0.0000,  1.7616])
    """
    require("silu_cpu", input, "fc")
    x = wide(input)
    return (x * lax.logistic(x)).astype(input.dtype)


def _silu_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    x, wide_g = wide(input), wide(g)
    s = lax.logistic(x)
    return ((wide_g * conj(s * (1 + x * (1 - s)))).astype(g.dtype),)


defvjp(silu, _silu_rule)


@_activation(saves=("input",), aten="mish", native=False)
@schemas(". ; _ =out")
def mish(input: Array, inplace: bool = False) -> Array:
    """``input * tanh(softplus(input))``.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones, kept.

    Raises:
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([-0.3034,  0.0000,  1.9440])
    """
    require("mish_cpu", input)
    x = wide(input)
    n = _mish_exponential(x)[1]
    return (x * (n / (n + 2))).astype(input.dtype)


def _mish_exponential(x: Array) -> tuple[Array, Array]:
    """``e = exp(x)`` and ``n = e * (e + 2)``: ``tanh(log(1 + e))`` is ``n / (n + 2)``, and 1 to the
    last digit beyond the clamp."""
    e = jnp.exp(jnp.minimum(x, 20))
    return e, e * (e + 2)


def _mish_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    x, wide_g = wide(input), wide(g)
    e, n = _mish_exponential(x)
    slope = n / (n + 2) + x * (e / (1 + e)) * (4 * (n + 1) / ((n + 2) * (n + 2)))
    return (jnp.where(x > 20, wide_g, wide_g * slope).astype(g.dtype),)


defvjp(mish, _mish_rule)


# ---- gates ---------------------------------------------------------------------------------------


@_activation(
    family="op", broadcast=False, saves=("input",), aten="glu", strides="order", native=False
)
@schemas(". ; =out")
def glu(input: Array, dim: int = -1) -> Array:
    """The first half along ``dim`` times the sigmoid of the second half.

    Shapes: (*, 2n, *) with 2n at ``dim`` -> (*, n, *).

    Dtypes: real floating-point ones, kept.

    Raises:
        RuntimeError: if the size of ``dim`` is odd, or ``input`` has no dimensions.
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 100.0]))
        tensor([0.5000, 2.0000])
    """
    a, b = _halves(input, dim)
    return (a * lax.logistic(b)).astype(input.dtype)


def _halves(x: Array, dim: int) -> tuple[Array, Array]:
    if x.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = canonical_dim(dim, x.ndim)
    n = x.shape[axis]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {n}")
    require("glu_cpu", x)
    first, second = jnp.split(wide(x), 2, axis)
    return first, second


def _glu_rule(g: Array, _: None, input: Array, dim: int = -1) -> tuple[Array]:
    a, b = _halves(input, dim)
    s, wide_g = lax.logistic(b), wide(g)
    by_first = wide_g * s
    return (
        jnp.concatenate([by_first, by_first * a * (1 - s)], canonical_dim(dim, input.ndim)).astype(
            g.dtype
        ),
    )


defvjp(glu, _glu_rule)
