"""Normalisation that updates running statistics in place, and the spellings of the ``torch``
namespace."""

from __future__ import annotations

from typing import Any

from ...autograd.dual import has_tangent
from ...autograd.names import named
from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..bind.everything import _C, F, L, T
from ..facts.errors import canonical_dim, must_be_tensor
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas
from ..tensor.running import write_out

_PARAMS = ("input", "running_mean", "running_var", "weight", "bias")


def _swap(old: list[Tensor], new: list[object]) -> None:
    hooks.internals.get()._swap_(old, new)


@composite(namespace="nn.functional", operands=_PARAMS, native=False, implicit=True, opaque=True)
@schemas(
    "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
    "training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalises each channel (dimension 1) and applies its parameters: in training by the batch's
    own moments, towards which the running statistics are moved by ``momentum`` in place; else by
    the running statistics.

    Shapes: input (N, C, *), the others (C) -> that of ``input``.

    Dtypes: floating-point ones.

    Raises:
        ValueError: in training, if a channel holds a single value; for an ``eps`` that is not
            positive (in evaluation: negative).
        RuntimeError: if a size does not fit, or statistics are missing.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1.0], [3.0]])
        >>> torch.nn.functional.batch_norm(x, torch.tensor([2.0]), torch.tensor([4.0]), eps=0.0)
        tensor([[-0.5000],
                [ 0.5000]])
        >>> torch.nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    # in training PyTorch asks it for its size first, and finds no such method
    if not isinstance(input, Tensor) and not training:
        raise must_be_tensor("batch_norm", "input", 1, input)
    for place, (name, given) in enumerate(
        (
            ("weight", weight),
            ("bias", bias),
            ("running_mean", running_mean),
            ("running_var", running_var),
        ),
        2,
    ):
        if given is not None and not isinstance(given, Tensor):
            raise must_be_tensor("batch_norm", name, place, given)
    shape = input.shape
    if training:
        count = shape[0] if len(shape) else 1
        for n in shape[2:]:
            count *= n
        if count == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {shape}"
            )
        _check_statistics(running_mean, running_var)
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if input.numel() == 0:
        return _empty(input, weight, bias)
    if len(shape) < 2:
        canonical_dim(1, len(shape))
    if training:
        return _trained(input, running_mean, running_var, weight, bias, momentum, eps)
    if running_mean is None:
        raise RuntimeError("running_mean must be defined in evaluation mode")
    if running_var is None:
        raise RuntimeError("running_var must be defined in evaluation mode")
    return _evaluated(input, running_mean, running_var, weight, bias, eps)


def _evaluated(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor:
    if has_tangent(running_mean) or has_tangent(running_var):
        if any(t is not None and has_tangent(t) for t in (input, weight, bias)):
            raise RuntimeError(
                "batch_norm is not differentiable wrt running_mean and running_var, they cannot "
                "have forward grad defined"
            )
        running_mean, running_var = running_mean.detach(), running_var.detach()
    return _C._batch_norm_eval(input, running_mean, running_var, weight, bias, eps)


def _check_statistics(running_mean: object, running_var: object) -> None:
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def _empty(input: Tensor, weight: Any, bias: Any) -> Tensor:
    """What torch makes of an empty input: itself, connected to the parameters."""
    found = input.clone()
    if weight is not None:
        found = found * weight[0]
    return found if bias is None else found + bias[0]


def _trained(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: object,
    bias: object,
    momentum: float,
    eps: float,
) -> Tensor:
    found = _C._batch_norm_train(input, weight, bias, running_mean, running_var, momentum, eps)
    running = [r for r in (running_mean, running_var) if r is not None]
    if running:
        _swap(running, found[1:])
    return found[0]


@composite(namespace="torch", name="batch_norm", operands=_PARAMS, opaque=True)
def _torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.batch_norm``, without its check for single values.

    Shapes: input (N, C, *), the others (C) -> that of ``input``.

    Raises:
        RuntimeError: if a size does not fit, or statistics are missing.

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1)
        >>> torch.batch_norm(
        ...     torch.tensor([[1.0], [3.0]]), one, one, one, one, False, 0.1, 0.0, False
        ... )
        tensor([[1.],
                [3.]])
    """
    if training:
        return _trained(input, running_mean, running_var, weight, bias, momentum, eps)
    return F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)


@composite(namespace="nn.functional", operands=_PARAMS, native=False, implicit=True)
@schemas(
    "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
    "use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """Normalises each channel of each sample by its own moments and applies the channel's
    parameters.

    Running statistics, if given, are moved towards the moments' means over the samples; with
    ``use_input_stats=False`` they are used instead of the moments.

    Shapes: input (N, C, *), the others (C) -> that of ``input``.

    Dtypes: floating-point ones.

    Raises:
        ValueError: if a channel has one element.
        RuntimeError: if a size does not fit, or statistics are missing.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]])).round(
        ...     decimals=3
        ... )
        tensor([[[-1.,  1.],
                 [-1.,  1.]]])
    """
    shape = input.shape
    if use_input_stats:
        count = 1
        for n in shape[2:]:
            count *= n
        if count == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {shape}"
            )
        _check_statistics(running_mean, running_var)
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


def _instance_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> object:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    samples, channels = input.shape[0], input.shape[1]
    flat = input.contiguous().view(1, samples * channels, *input.shape[2:])
    mean, variance, scale, shift = [
        None if p is None else p.repeat(samples) for p in (running_mean, running_var, weight, bias)
    ]
    found = (
        _trained(flat, mean, variance, scale, shift, momentum, eps)
        if use_input_stats
        else F.batch_norm(flat, mean, variance, scale, shift, False, momentum, eps)
    )
    for running, repeated in ((running_mean, mean), (running_var, variance)):
        if use_input_stats and running is not None:
            _swap([running], [repeated.detach().reshape(samples, channels).mean(0)])
    return found.reshape(input.shape)


@composite(namespace="torch", name="instance_norm", operands=_PARAMS, dispatched="in parts")
def _torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """``nn.functional.instance_norm``, without its check for single elements.

    Shapes: input (N, C, *), the others (C) -> that of ``input``.

    Raises:
        RuntimeError: if a size does not fit, or statistics are missing.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[[1.0, 3.0], [10.0, 30.0]]])
        >>> torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False).round(decimals=3)
        tensor([[[-1.,  1.],
                 [-1.,  1.]]])
    """
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


@composite(
    namespace="torch",
    name="layer_norm",
    operands=("input", "weight", "bias"),
    autocast="cuda float32",
)
def _torch_layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:
    """``nn.functional.layer_norm``.

    Shapes: input (*, *normalized_shape), the parameters ``normalized_shape`` -> that of ``input``.

    Raises:
        RuntimeError: if ``normalized_shape`` is not that of the last dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.layer_norm(torch.tensor([[1.0, 3.0]]), (2,)).round(decimals=3)
        tensor([[-1.,  1.]])
    """
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


@composite(
    namespace="torch",
    name="group_norm",
    operands=("input", "weight", "bias"),
    autocast="cuda float32",
)
def _torch_group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """``nn.functional.group_norm``.

    Shapes: input (N, C, *), the parameters (C) -> that of ``input``.

    Raises:
        RuntimeError: if the channels are not divisible by ``num_groups``.

    Example:
        >>> import jtorch as torch
        >>> torch.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2).round(decimals=3)
        tensor([[-1.,  1., -1.,  1.]])
    """
    return F.group_norm(input, num_groups, weight, bias, eps)


@composite(namespace="torch", operands=("input", "weight", "bias"))
@schemas(
    "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor, Tensor, Tensor) ; =out:out0,out1,out2",
)
def native_layer_norm(
    input: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Any:
    """``nn.functional.layer_norm``, and the means and reciprocal standard deviations.

    Shapes: input (*A, *normalized_shape) -> that of ``input``; the other two (*A, 1, ...).

    Raises:
        RuntimeError: if ``normalized_shape`` is not that of the last dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
        (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    found = F.layer_norm(input, shape, weight, bias, eps)
    dims = tuple(range(-len(shape), 0))
    variance, mean = T.var_mean(input, dims, correction=0, keepdim=True)
    return found, mean.detach(), (variance + eps).rsqrt().detach()


derivative(
    A.native_layer_norm,
    results=(0,),
    input__weight__bias=lambda g, input, normalized_shape, result1, result2, weight, bias, wants: (
        A.native_layer_norm_backward.default(
            g, input, normalized_shape, result1, result2, weight, bias, wants
        )
    ),
)


@composite(namespace="torch", operands=("input", "weight", "bias"))
@schemas(
    "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float "
    "eps) -> (Tensor, Tensor, Tensor) ; =out:out0,out1,out2",
)
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Any:
    """``group_norm`` of ``N`` samples of ``C`` channels, and the groups' means and reciprocal
    standard deviations.

    Shapes: input (N, C, *) -> that of ``input``; the other two (N, group).

    Raises:
        RuntimeError: if the channels are not divisible by ``group``.

    Example:
        >>> import jtorch as torch
        >>> torch.native_group_norm(
        ...     torch.tensor([[1.0, 3.0, 10.0, 30.0]]), None, None, 1, 4, 1, 2, 0.0
        ... )
        (tensor([[-1.,  1., -1.,  1.]]), tensor([[ 2., 20.]]), tensor([[1.0000, 0.1000]]))
    """
    found = T.group_norm(input, group, weight, bias, eps)
    variance, mean = T.var_mean(input.reshape(N, group, C // group * HxW), 2, correction=0)
    return found, *named((mean, (variance + eps).rsqrt()), "NativeGroupNormBackward0")


derivative(
    A.native_group_norm,
    input__weight__bias=lambda g, input, result1, result2, weight, N, C, HxW, group, wants: (
        A.native_group_norm_backward.default(
            D.packed(g), input, result1, result2, weight, N, C, HxW, group, wants
        )
    ),
)


@composite(namespace="torch", operands=_PARAMS)
@schemas(
    "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
    "training, float momentum, float eps) -> (Tensor, Tensor, Tensor) ; "
    "=out:out,save_mean,save_invstd",
)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> Any:
    """``batch_norm``, and in training the means and reciprocal standard deviations.

    Shapes: input (N, C, *) -> that of ``input``; the other two (C), or empty in evaluation.

    Example:
        >>> import jtorch as torch
        >>> torch.native_batch_norm(
        ...     torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0
        ... )
        (tensor([[-1.],
                [ 1.]]), tensor([2.]), tensor([1.]))
    """
    if out is not None:
        found = native_batch_norm(
            input, weight, bias, running_mean, running_var, training, momentum, eps
        )
        return write_out(found, out, "native_batch_norm")
    if not training:
        found = F.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        return found, input.new_zeros((0,)), input.new_zeros((0,))
    _check_statistics(running_mean, running_var)
    if not input.numel():
        raise RuntimeError(
            "input tensor must have at least one element, but got input_sizes = "
            f"{list(input.shape)}"
        )
    dims = (0, *range(2, input.dim()))
    variance, mean = T.var_mean(input, dims, correction=0)
    return (
        _trained(input, running_mean, running_var, weight, bias, momentum, eps),
        mean.detach(),
        (variance + eps).rsqrt().detach(),
    )


derivative(
    A.native_batch_norm,
    results=(0,),
    input__weight__bias=lambda g, input, weight, running_mean, running_var, result1, result2, training, eps, wants: (  # noqa: E501
        A.native_batch_norm_backward.default(
            g, input, weight, running_mean, running_var, result1, result2, training, eps, wants
        )
    ),
)


@composite(namespace="nn.functional", operands=("input",), native=False, autocast="cuda float32")
def normalize(
    input: Tensor, p: Any = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    """Divides by the ``p``-norm over ``dim``, or by ``eps`` where the norm is smaller.

    Args:
        input: the tensor.
        p: the order of the norm; ``"fro"`` and None mean 2.
        dim: the dimension along which the norm becomes 1.
        eps: the least that is divided by.

    Shapes: that of ``input``.

    Dtypes: floating-point and complex ones.

    Raises:
        RuntimeError: for integers and bool.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    norm = (
        L.vector_norm(input, p, dim, keepdim=True)
        if isinstance(p, (int, float))
        else input.norm(p, dim, keepdim=True)
    )
    found = input / norm.clamp_min(eps).expand_as(input)
    return found if out is None else write_out(found, out, "normalize")
