"""Activation functions of ``torch.nn.functional`` made of kinks: linear pieces, thresholds, and
gates by a sign.

``inplace=True`` writes the result into ``input``; the binding does that, kernels never see it.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

from ._bounds import check_bound, check_real
from ._declare import Array, Number, Written, defvjp, unary
from ._derivatives import A, derivative
from ._facts import schemas
from ._fitting import number_as
from ._numeric import is_bool, is_complex, require, scalar_name, unsupported, wide, zeros_where

#: Pointwise functions that take element types as they come.
_activation = functools.partial(
    unary, promote=None, out=False, namespace="nn.functional", method=False
)


# ---- rectifiers ----------------------------------------------------------------------------------


@unary(promote=None, out=False, inplace="both", saves=("result",), aten="relu", opaque=True)
@schemas(". ; _ =out")
def relu(input: Array) -> Array:
    """``max(input, 0)``; NaN stays NaN.

    Args:
        input: the tensor.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same.
    Gradient: 0 at 0.

    Raises:
        RuntimeError: for bool.
        NotImplementedError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.relu(torch.tensor([-1.5, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    if is_bool(input):
        raise RuntimeError("Boolean inputs not supported for relu")
    _refuse_complex(input)
    return jnp.maximum(input, jnp.zeros((), input.dtype))


def _relu_rule(g: Array, result: Array, *_: object, **__: object) -> tuple[Array]:
    return (zeros_where(result <= 0, g),)


defvjp(relu, _relu_rule)
derivative(A.relu, self=lambda g, result: A.threshold_backward.default(g, result, 0))


@_activation(name="relu", inplace=True, saves=("result",), aten="relu", native=False, opaque=True)
@schemas()
def functional_relu(input: Array, inplace: bool = False) -> Array:
    """``max(input, 0)``; NaN stays NaN. ``inplace`` writes the result into ``input``.

    Args:
        input: the tensor.
        inplace: whether to write into ``input``.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same.
    Gradient: 0 at 0.

    Raises:
        RuntimeError: for bool.
        NotImplementedError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.relu(torch.tensor([-3, 0, 2]))
        tensor([0, 0, 2])
    """
    return relu(input)


defvjp(functional_relu, _relu_rule)


def _refuse_complex(x: Array) -> None:
    if is_complex(x):
        raise NotImplementedError("clamp is not supported for complex types")


def _check_bounds(min_val: float, max_val: float) -> None:
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")


@_activation(inplace=True, saves=("input",), aten="hardtanh", native=False, before=_check_bounds)
@schemas("(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor ; _ =out")
def hardtanh(
    input: Array, min_val: int | float = -1.0, max_val: int | float = 1.0, inplace: bool = False
) -> Array:
    """Moves elements into ``[min_val, max_val]``. ``inplace`` writes the result into ``input``.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same.
    Gradient: 0 at both edges, unlike that of ``clamp``.

    Raises:
        ValueError: if ``min_val`` exceeds ``max_val``, where ``hardtanh_`` writes ``max_val``.
        RuntimeError: for bool, and for unsigned integers with a negative ``min_val``.
        NotImplementedError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5, 3.0]), -1.0, 2.0)
        tensor([-1.0000,  0.5000,  2.0000])
    """
    if is_bool(input):
        raise RuntimeError("Bool inputs not supported for hardtanh")
    _refuse_complex(input)
    if jnp.issubdtype(input.dtype, jnp.integer):
        for bound in (min_val, max_val):
            check_bound(bound, np.dtype(np.int64))
        # torch takes integers for the bounds of integers
        min_val, max_val = int(min_val), int(max_val)
        if min_val < 0 and jnp.issubdtype(input.dtype, jnp.unsignedinteger):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    for bound in (min_val, max_val):
        check_bound(bound, input.dtype)
    low, high = (jnp.asarray(np.asarray(v).astype(input.dtype)) for v in (min_val, max_val))
    return jnp.minimum(jnp.maximum(input, low), high)


def _hardtanh_rule(
    g: Array,
    _: None,
    input: Array,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
) -> tuple[Array]:
    return (zeros_where(~((input > min_val) & (input < max_val)), g),)


defvjp(hardtanh, _hardtanh_rule)
derivative(
    A.hardtanh_,
    self=lambda g, result, min_val, max_val: A.hardtanh_backward.default(
        g, result, min_val, max_val
    ),
)


@_activation(saves=("input",), aten="relu6", native=False, node="HardtanhBackward0", implicit=True)
@schemas(". ; _")
def relu6(input: Array, inplace: bool = False) -> Array:
    """Moves elements into [0, 6]. ``inplace`` writes the result into ``input``.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same.
    Gradient: 0 at both edges.

    Raises:
        RuntimeError: for bool.
        NotImplementedError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.relu6(torch.tensor([-1.0, 4.0, 9.0]))
        tensor([0., 4., 6.])
    """
    return hardtanh(input, 0.0, 6.0)


def _relu6_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    return _hardtanh_rule(g, None, input, 0.0, 6.0)


defvjp(relu6, _relu6_rule)


#: PyTorch takes the derivative in place from the result, which must be positive where its operand
#: is.
IN_PLACE_LEAKY = Written(
    "LeakyReluBackward1",
    tells=lambda negative_slope: negative_slope >= 0,
    words="In-place leakyReLu backward calculation is triggered with a negative slope which is not "
    "supported. This is caused by calling in-place forward function with a negative slope, "
    "please call out-of-place version instead. File an issue at "
    "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
    "backward calculation with negative slope",
)


@_activation(
    inplace=True,
    saves=("input",),
    aten="leaky_relu",
    native=False,
    single=("negative_slope",),
    in_place=IN_PLACE_LEAKY,
)
@schemas(". ; _ =out")
def leaky_relu(input: Array, negative_slope: Number = 0.01, inplace: bool = False) -> Array:
    """``input`` where positive, else ``negative_slope * input``. ``inplace`` writes the result into
    ``input``.

    Shapes: input (*) -> (*).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.leaky_relu(torch.tensor([-2.0, 3.0]), 0.5)
        tensor([-1.,  3.])
    """
    require("leaky_relu_cpu", input)
    x = wide(input)
    return jnp.where(x > 0, x, x * _as(negative_slope, x)).astype(input.dtype)


def _leaky_relu_rule(
    g: Array, _: None, input: Array, negative_slope: Number | Array = 0.01, inplace: bool = False
) -> tuple[Array]:
    wide_g = wide(g)
    return (jnp.where(input > 0, wide_g, wide_g * _as(negative_slope, wide_g)).astype(g.dtype),)


defvjp(leaky_relu, _leaky_relu_rule)
derivative(
    A.leaky_relu,
    self=lambda g, self, negative_slope: A.leaky_relu_backward.default(
        g, self, negative_slope, False
    ),
)
derivative(
    A.leaky_relu_,
    self=lambda g, result, negative_slope: A.leaky_relu_backward.default(
        g, result, negative_slope, True
    ),
)


def _as(number: Number | Array, x: Array) -> Array:
    """A number in the dtype of ``x``: as it comes from the caller it is a double."""
    check_real(number, x.dtype)
    return jnp.asarray(number).astype(x.dtype)


@unary(
    name="rrelu_with_noise",
    namespace="_C",
    promote=None,
    out=False,
    saves=("input", "noise"),
    aten="rrelu_with_noise",
    strides="rows",
)
@schemas(
    "(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
    "training=False, Generator? generator=None) -> Tensor ; _ =out",
)
def rrelu_with_noise(input: Array, noise: Array) -> Array:
    """``input`` where positive, else ``noise * input``: what ``rrelu`` computes in training with
    slopes drawn as ``noise``."""
    require("rrelu_with_noise_out_cpu", input)
    return jnp.where(input <= 0, input * noise, input)


def _rrelu_with_noise_rule(g: Array, _: None, input: Array, noise: Array) -> tuple[Array, None]:
    return jnp.where(input <= 0, g * noise, g), None


defvjp(rrelu_with_noise, _rrelu_with_noise_rule)
derivative(
    A.rrelu_with_noise,
    self=lambda g, self, noise, lower, upper, training: A.rrelu_with_noise_backward.default(
        g, self, noise, lower, upper, training, False
    ),
)


@unary(
    promote=None,
    broadcast=False,
    out=False,
    saves=("input", "weight"),
    aliases=("nn.functional.prelu",),
    aten="prelu",
    node="PreluKernelBackward0",
    autocast="lower",
    opaque=True,
    implicit=True,
)
def prelu(input: Array, weight: Array) -> Array:
    """``input`` where positive, else ``weight * input``; one weight, or one for each channel
    (dimension 1).

    Shapes: input (*) or (N, C, *), weight (), (1) or (C) -> that of ``input``.
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: if the dtypes differ or the number of weights does not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.prelu(torch.tensor([[-2.0, -2.0]]), torch.tensor([0.5, 0.25]))
        tensor([[-1.0000, -0.5000]])
    """
    require("prelu_cpu", input)
    return jnp.where(input > 0, input, _channel_weight(input, weight) * input)


def _channel_weight(x: Array, weight: Array) -> Array:
    if x.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {scalar_name(x.dtype)} and "
            f"{scalar_name(weight.dtype)}"
        )
    if weight.size != 1:
        if x.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {weight.size} and channel size = {channels}."
            )
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if weight.size == 1:
        return weight.reshape((1,) * x.ndim)
    return weight.reshape([weight.size if i == 1 else 1 for i in range(x.ndim)])


def _prelu_rule(g: Array, _: None, input: Array, weight: Array) -> tuple[Array, Array]:
    w = _channel_weight(input, weight)
    axes = tuple(i for i in range(input.ndim) if w.shape[i] == 1)
    by_weight = jnp.sum(zeros_where(input >= 0, g * input), axis=axes).reshape(weight.shape)
    return jnp.where(input > 0, g, g * w), by_weight


defvjp(prelu, _prelu_rule)
derivative(
    A._prelu_kernel,
    self__weight=lambda g, self, weight: A._prelu_kernel_backward.default(g, self, weight),
)


@unary(name="irreversible", namespace="_C", promote=None, out=False, saves=())
def irreversible(input: Array, words: str) -> Array:
    """``input``, whose derivative is refused with ``words``: what an in-place form wrote that does
    not tell its operand."""
    return input


def _irreversible_rule(g: Array, _: None, input: None, words: str) -> tuple[Array]:
    raise RuntimeError(words)


defvjp(irreversible, _irreversible_rule)


@unary(name="underived", namespace="_C", promote=None, out=False, saves=())
def underived(input: Array, operand: str) -> Array:
    """``input``, an operand that nobody knows the derivative of: ``operand`` says of which
    function, as the refusal words it."""
    return input


def _underived_rule(g: Array, _: None, input: None, operand: str) -> tuple[Array]:
    raise NotImplementedError(f"the derivative for '{operand}' is not implemented.")


defvjp(underived, _underived_rule)


# ---- thresholds ----------------------------------------------------------------------------------


_threshold = functools.partial(
    unary,
    promote=None,
    method=False,
    saves=("input",),
    aten="threshold",
    repeats="silently",
    single=("threshold",),
    in_place=Written("ThresholdBackward1"),
)


@_threshold(inplace="both")
def threshold(input: Array, threshold: Number, value: Number) -> Array:
    """``input`` where it exceeds ``threshold``, else ``value``.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.threshold(torch.tensor([0.5, 1.0, 2.0]), 1.0, -1.0)
        tensor([-1., -1.,  2.])
    """
    if is_bool(input) or is_complex(input):
        raise unsupported("threshold_cpu", input)
    if input.dtype.kind in "iu":
        return jnp.where(
            input <= number_as(threshold, input.dtype), number_as(value, input.dtype), input
        )
    x = wide(input)
    return jnp.where(x <= _as(threshold, x), _as(value, input), input)


def _threshold_rule(
    g: Array, _: None, input: Array, threshold: Number, *rest: object
) -> tuple[Array]:
    x = wide(input)
    return (zeros_where(x <= _as(threshold, x), g),)


defvjp(threshold, _threshold_rule)
derivative(
    A.threshold, self=lambda g, self, threshold: A.threshold_backward.default(g, self, threshold)
)
derivative(
    A.threshold_,
    self=lambda g, result, threshold: A.threshold_backward.default(g, result, threshold),
)


@_threshold(name="threshold", namespace="nn.functional", inplace=True, out=False, native=False)
@schemas()
def functional_threshold(
    input: Array, threshold: Number, value: Number, inplace: bool = False
) -> Array:
    """``input`` where it exceeds ``threshold``, else ``value``. ``inplace`` writes the result into
    ``input``.

    Shapes: input (*) -> (*).
    Dtypes: integers and real floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.threshold(torch.tensor([1, 2, 3]), 1, 20)
        tensor([20,  2,  3])
    """
    return _threshold_kernel(input, threshold, value)


_threshold_kernel = threshold
defvjp(functional_threshold, _threshold_rule)


@unary(
    promote=None,
    method=True,
    aliases=("nn.functional.hardshrink",),
    saves=("input",),
    aten="hardshrink",
)
def hardshrink(input: Array, lambd: int | float = 0.5) -> Array:
    """0 within ``[-lambd, lambd]``, ``input`` outside.

    Shapes: input (*) -> (*).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.hardshrink(torch.tensor([-2.0, -0.5, 0.3, 1.0]))
        tensor([-2.,  0.,  0.,  1.])
    """
    require("hardshrink_cpu", input)
    check_bound(lambd, input.dtype)
    return zeros_where((input >= -lambd) & (input <= lambd), input)


def _shrink_rule(g: Array, _: None, input: Array, lambd: float = 0.5) -> tuple[Array]:
    return (zeros_where(~((input < -lambd) | (input > lambd)), g),)


defvjp(hardshrink, _shrink_rule)


@_activation(out=True, saves=("input",), aten="softshrink")
def softshrink(input: Array, lambd: int | float = 0.5) -> Array:
    """Moves elements towards 0 by ``lambd``, and those within it to 0.

    Shapes: input (*) -> (*).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Raises:
        RuntimeError: if ``lambd`` is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.softshrink(torch.tensor([-2.0, 0.3, 1.0]))
        tensor([-1.5000,  0.0000,  0.5000])
    """
    require("softshrink_check", input)
    check_real(lambd, np.dtype(np.float64))
    if not 0 <= lambd <= float(jnp.finfo(input.dtype).max):
        raise RuntimeError(
            f"lambda must be in range [0, {float(jnp.finfo(input.dtype).max):g}] for input dtype "
            f"{scalar_name(input.dtype)}, but found {lambd:g}"
        )
    return jnp.where(
        input > lambd, input - lambd, jnp.where(input < -lambd, input + lambd, input * 0)
    )


defvjp(softshrink, _shrink_rule)


# ---- hard forms of smooth functions --------------------------------------------------------------


@_activation(saves=("input",), aten="hardsigmoid", native=False, ignored=True)
@schemas(". ; _ =out")
def hardsigmoid(input: Array, inplace: bool = False) -> Array:
    """The sigmoid in three straight pieces: ``clamp(input + 3, 0, 6) / 6``. ``inplace`` writes the
    result into ``input``.

    Shapes: input (*) -> (*).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).
    Gradient: 0 at -3 and 3.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    require("hardsigmoid_cpu", input)
    x = wide(input)
    return (jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6).astype(input.dtype)


def _hardsigmoid_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    return (zeros_where(~((input > -3) & (input < 3)), g / 6),)


defvjp(hardsigmoid, _hardsigmoid_rule)


@_activation(saves=("input",), aten="hardswish", native=False, ignored=True)
@schemas(". ; _ =out")
def hardswish(input: Array, inplace: bool = False) -> Array:
    """``input * hardsigmoid(input)``. ``inplace`` writes the result into ``input``.

    Shapes: input (*) -> (*).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 1.5, 4.0]))
        tensor([-0.0000, 1.1250, 4.0000])
    """
    require("hardswish_cpu", input)
    x = wide(input)
    return (x * jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6).astype(input.dtype)


def _hardswish_rule(g: Array, _: None, input: Array, inplace: bool = False) -> tuple[Array]:
    x, wide_g = wide(input), wide(g)
    return (
        jnp.where(x <= -3, 0, jnp.where(x >= 3, wide_g, wide_g * (x / 3 + 0.5))).astype(g.dtype),
    )


defvjp(hardswish, _hardswish_rule)
