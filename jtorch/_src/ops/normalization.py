"""Normalisation over features, channels, groups and batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._declare import Array, defvjp, op
from ._derivative_calls import unbroadcast
from ._facts import schemas
from ._kernel import cast
from ._numeric import inverse_sqrt, require, wide
from ._sizes import counted, fewer


def _check_normalized_shape(
    input: Array, normalized_shape: Sequence[int], star: str = "*, ", **params: Array | None
) -> tuple[int, ...]:
    """The dimensions that ``normalized_shape`` names: the last ones.

    Raises:
        RuntimeError: in torch's words, if they or a parameter's shape differ from it.
    """
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for name, param in params.items():
        if param is not None and param.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(param.shape)} and normalized_shape = {list(shape)}"
            )
    if input.ndim < len(shape) or input.shape[input.ndim - len(shape) :] != shape:
        wanted = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{wanted}], "
            f"but got input of size{list(input.shape)}"
        )
    return tuple(range(input.ndim - len(shape), input.ndim))


def _check_mixed(input: Array, params: Mapping[str, Array | None]) -> None:
    """Parameters have the dtype of the input, or are float32 beside a half-precision input."""
    for param in params.values():
        if (
            param is not None
            and param.dtype != input.dtype
            and (input.dtype.itemsize > 2 or param.dtype != np.float32)
        ):
            if param.dtype == np.float32:
                raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


@overload
def _like(param: Array, x: Array, dims: Sequence[int]) -> Array: ...


@overload
def _like(param: Array | None, x: Array, dims: Sequence[int]) -> Array | None: ...


def _like(param: Array | None, x: Array, dims: Sequence[int]) -> Array | None:
    """A parameter with the sizes of ``dims`` of ``x``, in its dtype and ready to broadcast over
    it."""
    if param is None:
        return None
    shape = [1] * x.ndim
    for d in dims:
        shape[d] = x.shape[d]
    return cast(param, x.dtype).reshape(shape)


def _affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def _moments(x: Array, dims: tuple[int, ...], eps: float) -> tuple[Array, Array]:
    """The mean and the reciprocal of the (biased) standard deviation over ``dims``, which are
    kept."""
    mean = jnp.mean(x, dims, keepdims=True)
    centered = x - mean
    return mean, inverse_sqrt(
        jnp.mean(centered * centered, dims, keepdims=True) + np.asarray(eps, x.dtype)
    )


def _param_grads(
    g: Array, normal: Array, weight: Array | None, bias: Array | None
) -> tuple[Array | None, Array | None]:
    """The gradients of ``normal * weight + bias`` with respect to the parameters, whose dimensions
    are the last ones."""
    grad_weight = None if weight is None else unbroadcast(g * normal, weight.shape, weight.dtype)
    return grad_weight, None if bias is None else unbroadcast(g, bias.shape, bias.dtype)


def _layer_norm_fwd(
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> tuple[Array, tuple[Array, ...]]:
    dims = _check_normalized_shape(input, normalized_shape, weight=weight, bias=bias)
    require("LayerNormKernelImpl", input)
    _check_mixed(input, {"weight": weight, "bias": bias})
    x = wide(input)
    mean, scale = _moments(x, dims, eps)
    return cast(
        _affine((x - mean) * scale, _like(weight, x, dims), _like(bias, x, dims)), input.dtype
    ), (mean, scale)


def _by_products(
    g: Array,
    x: Array,
    mean: Array,
    scale: Array,
    dims: tuple[int, ...],
    dtype: np.dtype,
    weight: Array | None,
    bias: Array | None,
) -> tuple[Array | None, ...]:
    """The gradients of a layer norm where sums over rows are products with the weight, which XLA
    computes as fast as memory is read.

    The barriers keep it from computing ``normal`` anew, and with the forward pass, in each of the
    loops that read it.
    """
    x, mean, scale = lax.optimization_barrier((x, mean, scale))
    normal = (x - mean) * scale
    along = lax.optimization_barrier(g * normal)
    shape = tuple([x.shape[d] for d in dims])
    factor = jnp.ones(shape, x.dtype) if weight is None else cast(weight, x.dtype)
    share = (
        np.asarray(1 / math.prod(shape), x.dtype) if math.prod(shape) else np.asarray(0, x.dtype)
    )

    def mean_of(a: Array) -> Array:
        found = lax.dot_general(a, factor, ((dims, tuple(range(len(dims)))), ((), ())))
        return lax.expand_dims(found * share, dims)

    along_mean, along_scale = lax.optimization_barrier((mean_of(g), mean_of(along)))
    weighted = g if weight is None else g * _like(weight, x, dims)
    grad_input = (weighted - along_mean - normal * along_scale) * scale
    grad_weight = None if weight is None else unbroadcast(along, weight.shape, weight.dtype)
    return (
        cast(grad_input, dtype),
        grad_weight,
        None if bias is None else unbroadcast(g, bias.shape, bias.dtype),
    )


def _layer_norm_rule(
    g: Array,
    residuals: tuple[Array, Array],
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> tuple[Array | None, ...]:
    mean, scale = residuals
    g, x = wide(g), wide(input)
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    if x.dtype == np.float32 and jax.default_backend() == "cpu":
        return _by_products(g, x, mean, scale, dims, input.dtype, weight, bias)
    normal = (x - mean) * scale
    weighted = g if weight is None else g * _like(weight, x, dims)
    along_mean = jnp.mean(weighted, dims, keepdims=True)
    along_scale = jnp.mean(weighted * normal, dims, keepdims=True)
    grad_input = (weighted - along_mean - normal * along_scale) * scale
    return cast(grad_input, input.dtype), *_param_grads(g, normal, weight, bias)


@op(
    namespace="nn.functional",
    aten="layer_norm",
    saves=("input", "weight"),
    native=False,
    node="NativeLayerNormBackward0",
    autocast="cuda float32",
    implicit=True,
)
@schemas(
    "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
    "eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
)
def layer_norm(
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Shifts and scales the last dimensions, which must be ``normalized_shape``, to mean 0 and
    (biased) variance 1, then by the parameters.

    Args:
        input: the tensor.
        normalized_shape: the sizes of the last dimensions, which are normalised.
        weight: a factor for each element of them, or None.
        bias: a summand for each, or None.
        eps: added to the variance.

    Shapes: (*, *normalized_shape) -> the same; weight and bias of ``normalized_shape``.

    Dtypes: real floating-point ones; the parameters may be float32 beside float16 and bfloat16
    inputs.

    Raises:
        RuntimeError: if a shape is not ``normalized_shape``, or the dtypes do not go together.
        NotImplementedError: for integers and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0], [10.0, 20.0]]), (2,))
        tensor([[-1.0000,  1.0000],
                [-1.0000,  1.0000]])
    """
    return _layer_norm_fwd(input, normalized_shape, weight, bias, eps)[0]


defvjp(layer_norm, _layer_norm_rule, fwd=_layer_norm_fwd)


def _rms_norm_fwd(
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    eps: float | None = None,
) -> tuple[Array, tuple[Array, ...]]:
    dims = _check_normalized_shape(input, normalized_shape, "*", weight=weight)
    require("rms_norm", input, "fc")
    x = wide(input)
    smallest = float(jnp.finfo(x.dtype).eps) if eps is None else eps
    scale = inverse_sqrt(jnp.mean(x * x, dims, keepdims=True) + np.asarray(smallest, x.dtype))
    return cast(_affine(x * scale, _like(weight, x, dims), None), input.dtype), (scale,)


def _rms_norm_rule(
    g: Array,
    residuals: tuple[Array],
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    eps: float | None = None,
) -> tuple[Array | None, ...]:
    (scale,) = residuals
    g, x = wide(g), wide(input)
    by = weight
    if x.dtype.kind == "c":
        x, scale, by = x.conj(), scale.conj(), None if weight is None else weight.conj()
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    normal = x * scale
    weighted = g if by is None else g * _like(by, x, dims)
    grad_input = (weighted - normal * jnp.mean(weighted * normal, dims, keepdims=True)) * scale
    return cast(grad_input, input.dtype), _param_grads(g, normal, weight, None)[0]


@op(
    namespace="nn.functional",
    aten="rms_norm",
    aliases=("rms_norm",),
    saves=("input", "weight"),
    unchecked=("input",),
    native=("rms_norm",),
    node="MulBackward0",
    implicit=True,
)
@schemas(
    "(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"
)
def rms_norm(
    input: Array,
    normalized_shape: tuple[int, ...],
    weight: Array | None = None,
    eps: float | None = None,
) -> Array:
    """Divides the last dimensions, which must be ``normalized_shape``, by their root mean square,
    then multiplies by ``weight``.

    ``eps``, added to the mean square, is by default the machine epsilon of the dtype (float32 for
    half precision) in which it is computed.

    Shapes: (*, *normalized_shape) -> the same; weight of ``normalized_shape``.

    Dtypes: floating-point and complex ones; the result has that of ``input``.

    Raises:
        RuntimeError: if a shape is not ``normalized_shape``.
        NotImplementedError: for integers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.rms_norm(torch.tensor([3.0, 4.0]), (2,))
        tensor([0.8485, 1.1314])
    """
    return _rms_norm_fwd(input, normalized_shape, weight, eps)[0]


defvjp(rms_norm, _rms_norm_rule, fwd=_rms_norm_fwd)


@overload
def _channel(param: Array, x: Array) -> Array: ...


@overload
def _channel(param: Array | None, x: Array) -> Array | None: ...


def _channel(param: Array | None, x: Array) -> Array | None:
    return _like(param, x, (1,))


def _channel_sum(x: Array) -> Array:
    """The sum over all dimensions but the second, kept: first over what lies together in memory."""
    if x.ndim > 2:
        x = jnp.sum(x, tuple(range(2, x.ndim)), keepdims=True)
    return jnp.sum(x, 0, keepdims=True)


def _batch_norm_train_fwd(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    momentum: float,
    eps: float,
) -> tuple[tuple[Array, ...], tuple[Array, Array]]:
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    x = wide(input)
    count = x.size // max(x.shape[1], 1)
    n = counted(max(count, 1), x.dtype)
    mean = _channel_sum(x) / n
    centered = x - mean
    variance = _channel_sum(centered * centered) / n
    scale = inverse_sqrt(variance + np.asarray(eps, x.dtype))
    w = _channel(weight, x)
    out = _affine(centered * (scale if w is None else scale * w), None, _channel(bias, x))
    moments = []
    if running_mean is not None:
        moments.append(_moved(running_mean, mean, momentum, 1.0))
    if running_var is not None:
        moments.append(
            _moved(
                running_var, variance, momentum, count / (count - 1 if not fewer(count, 2) else 1)
            )
        )
    return (cast(out, input.dtype), *moments), (mean, scale)


def _moved(running: Array, new: Array, momentum: float, factor: float) -> Array:
    """A running statistic moved towards ``factor * new``."""
    share = jnp.asarray(momentum * factor, new.dtype)
    return cast(
        cast(running, new.dtype) * np.asarray(1 - momentum, new.dtype) + new.reshape(-1) * share,
        running.dtype,
    )


def _batch_norm_train_rule(
    g: tuple[Array, ...],
    residuals: tuple[Array, Array],
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    momentum: float,
    eps: float,
) -> tuple[Array | None, ...]:
    mean, scale = residuals
    grad, x = wide(g[0]), wide(input)
    n = counted(x.size // x.shape[1] if x.size else 1, x.dtype)
    w = _channel(weight, x)
    total = _channel_sum(grad)
    centered = x - mean
    along = _channel_sum(grad * centered)
    gain = scale if w is None else scale * w
    slope, shift = gain * scale * scale * along / n, gain * total / n
    grad_input = cast(grad * gain - centered * slope - shift, input.dtype)
    grad_weight = None if weight is None else cast((along * scale).reshape(-1), weight.dtype)
    return (
        grad_input,
        grad_weight,
        None if bias is None else cast(total.reshape(-1), bias.dtype),
        None,
        None,
    )


def _operator_of_statistics(input: Any, running_mean: Any, running_var: Any) -> str | None:
    """The operator that refuses running statistics with a history, unless their sizes are refused
    before."""
    fits = input.ndim > 1 and all(
        r is None or r.numel() == input.shape[1] for r in (running_mean, running_var)
    )
    return "native_batch_norm" if fits else None


_STATISTICS = dict.fromkeys(("running_mean", "running_var"), _operator_of_statistics)


@op(
    namespace="_C",
    aten="native_batch_norm",
    saves=("input", "weight"),
    strides="normalized",
    node="NativeBatchNormBackward0",
    underivable=_STATISTICS,
)
def _batch_norm_train(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    momentum: float,
    eps: float,
) -> tuple[Array, ...]:
    """Each channel (dimension 1) normalised by its own mean and biased variance, then the
    parameters applied; and the running statistics (those given) moved by ``momentum`` towards the
    mean and the unbiased variance, which get no gradient."""
    return _batch_norm_train_fwd(input, weight, bias, running_mean, running_var, momentum, eps)[0]


defvjp(_batch_norm_train, _batch_norm_train_rule, fwd=_batch_norm_train_fwd)


def _check_channels(input: Array, **params: Array | None) -> None:
    """Raises torch's errors for integers, and for per-channel parameters of another size or a wider
    dtype than the input."""
    require("batch_norm", input)
    for name, param in params.items():
        if param is not None and param.size != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {param.size}")
    _check_mixed(input, params)


@op(
    namespace="_C",
    aten="native_batch_norm",
    saves=("input", "running_mean", "running_var", "weight"),
    strides="normalized",
    node="NativeBatchNormBackward0",
    underivable=_STATISTICS,
)
def _batch_norm_eval(
    input: Array,
    running_mean: Array,
    running_var: Array,
    weight: Array | None,
    bias: Array | None,
    eps: float,
) -> Array:
    """Each channel (dimension 1) normalised by the given moments, then the parameters applied."""
    _check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    x = wide(input)
    scale = inverse_sqrt(cast(running_var, x.dtype) + np.asarray(eps, x.dtype))
    if weight is not None:
        scale = scale * cast(weight, x.dtype)
    return cast(
        _affine((x - _channel(running_mean, x)) * _channel(scale, x), None, _channel(bias, x)),
        input.dtype,
    )


@op(
    namespace="nn.functional",
    aten="group_norm",
    saves=("input", "weight"),
    strides="image",
    native=False,
    node="NativeGroupNormBackward0",
    autocast="cuda float32",
    implicit=True,
)
@schemas(
    "(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
    "eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
)
def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Normalises each sample's channels in ``num_groups`` groups to mean 0 and (biased) variance 1,
    then applies the channels' parameters.

    Shapes: input (N, C, *), weight and bias (C) -> (N, C, *).

    Dtypes: real floating-point ones; the parameters may be float32 beside float16 and bfloat16
    inputs.

    Raises:
        RuntimeError: if the channels cannot be divided or a parameter does not fit.
        ValueError: if a group would have a single element.
        NotImplementedError: for integers and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 20.0]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    return _group_norm_fwd(input, num_groups, weight, bias, eps)[0]


def _check_group_norm(input: Array, num_groups: int, **params: Array | None) -> None:
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    channels = input.shape[1]
    _check_count(
        input.shape, [input.shape[0] * channels // num_groups, num_groups, *input.shape[2:]]
    )
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, param in params.items():
        if param is not None and param.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(param.shape)} and input of shape "
                f"{list(input.shape)}"
            )


def _check_count(shape: Sequence[int], grouped: Sequence[int]) -> None:
    if grouped[0] * math.prod(grouped[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}"
        )


def _group_norm_fwd(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> tuple[Array, tuple[Array, Array]]:
    _check_group_norm(input, num_groups, weight=weight, bias=bias)
    require("GroupNormKernelImpl", input)
    _check_mixed(input, {"weight": weight, "bias": bias})
    x = wide(input)
    grouped = _grouped(x, num_groups)
    mean, scale = _moments(grouped, (2, 3), eps)
    normal = ((grouped - mean) * scale).reshape(x.shape)
    return cast(_affine(normal, _channel(weight, x), _channel(bias, x)), input.dtype), (mean, scale)


def _grouped(x: Array, num_groups: int) -> Array:
    channels = x.shape[1] // num_groups
    return x.reshape(x.shape[0], num_groups, channels, math.prod(x.shape[2:]))


def _group_norm_rule(
    g: Array,
    residuals: tuple[Array, Array],
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> tuple[Array | None, ...]:
    mean, scale = residuals
    g, x = wide(g), wide(input)
    normal = (_grouped(x, num_groups) - mean) * scale
    weighted = _grouped(g if weight is None else g * _channel(weight, x), num_groups)
    along_mean = jnp.mean(weighted, (2, 3), keepdims=True)
    along_scale = jnp.mean(weighted * normal, (2, 3), keepdims=True)
    grad_input = ((weighted - along_mean - normal * along_scale) * scale).reshape(x.shape)
    flat = normal.reshape(x.shape)
    grad_weight = None if weight is None else cast(_channel_sum(g * flat).reshape(-1), weight.dtype)
    return (
        cast(grad_input, input.dtype),
        grad_weight,
        None if bias is None else cast(_channel_sum(g).reshape(-1), bias.dtype),
    )


defvjp(group_norm, _group_norm_rule, fwd=_group_norm_fwd)


@op(
    namespace="nn.functional",
    aten="local_response_norm",
    strides="preserve",
    native=False,
    node="DivBackward0",
)
@schemas()
def local_response_norm(
    input: Array, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Array:
    """Divides each element by ``(k + alpha * mean of the squares of size neighbouring channels) **
    beta``.

    Shapes: (N, C, *), of three dimensions at least -> the same.

    Dtypes: real floating-point ones, and int64, which becomes the default floating dtype.

    Raises:
        ValueError: if there are fewer dimensions.
        RuntimeError: unless ``size`` is positive.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
        tensor([[[0.5000],
                 [0.3333]]])
    """
    if input.ndim < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.ndim} dimensions)"
        )
    if input.size == 0:
        return input
    if input.dtype != np.int64:
        require("avg_pool2d", input)
    if size <= 0:
        rest = "kH: {} kW: 1" if input.ndim == 3 else "kT: {} kH: 1 kW: 1"
        raise RuntimeError(f"kernel size should be greater than zero, but got {rest.format(size)}")
    squares = input * input
    # beyond which a window holds all channels, wherever it stands
    reach = min(size, 2 * input.shape[1] + 1)
    window = (1, reach) + (1,) * (input.ndim - 2)
    padding = ((0, 0), (reach // 2, (reach - 1) // 2)) + ((0, 0),) * (input.ndim - 2)
    sums = lax.reduce_window(
        squares, np.zeros((), input.dtype), lax.add, window, (1,) * input.ndim, padding
    )
    # as in torch, whose means of integers are integers
    if dtypes.from_np(input.dtype).category < dtypes.FLOATING:
        real = dtypes.get_default_dtype().np
        means, input = (sums // size).astype(real), input.astype(real)
    else:
        real, means = input.dtype, sums / np.asarray(size, input.dtype)
    return input / (means * np.asarray(alpha, real) + np.asarray(k, real)) ** np.asarray(beta, real)
