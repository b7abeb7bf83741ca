"""``torch.nn.init``: fills parameters in place. The draws follow torch's order, so that a seed
gives PyTorch's parameters."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import ParamSpec

import jtorch as torch
from jtorch import Tensor
from jtorch.overrides import handle_torch_function, has_torch_function_unary

from .._src.facts.warned_once import outside

__all__ = [
    "calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_",
    "eye_", "dirac_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
    "orthogonal_", "sparse_", "uniform", "normal", "constant", "eye", "dirac", "xavier_uniform",
    "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse",
]  # fmt: skip

_Given = ParamSpec("_Given")

_LINEAR = frozenset(
    ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
     "conv_transpose3d", "sigmoid")
)  # fmt: skip


def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """The recommended gain for a nonlinearity; ``param`` is the slope of ``leaky_relu`` (default
    0.01).

    Raises:
        ValueError: for an unknown name or a slope that is no number.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        # not the 1 that would preserve variance: keeps the self-normalizing gradient flow
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fills ``tensor`` with draws from U(a, b).

    Args:
        tensor: the tensor to fill.
        a: the lower end.
        b: the upper end.
        generator: where random numbers come from; the default generator if it is None.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.uniform_(torch.empty(3), -1.0, 1.0)
        tensor([-0.0075,  0.5364, -0.8230])
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(
            uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator
        )
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fills ``tensor`` with draws from N(mean, std²).

    Args:
        tensor: the tensor to fill.
        mean: the mean.
        std: the standard deviation.
        generator: where random numbers come from; the default generator if it is None.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.normal_(torch.empty(3), std=0.1)
        tensor([ 0.1541, -0.0293, -0.2179])
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(
            normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator
        )
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fills ``tensor`` with draws from N(mean, std²) restricted to [a, b], by rejection; ``a`` and
    ``b`` are absolute values.

    Inside ``jtorch.jax.with_key`` the distribution function's inverse makes them of uniform draws.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.trunc_normal_(torch.empty(3))
        tensor([ 1.5410, -0.2934, -1.3986])
    """
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=outside(),
        )

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / (std * math.sqrt(2.0)))) / 2.0

    with torch.no_grad():
        # rejection would look at numbers that may be JAX's tracers
        if generator is None and torch.random.key_now() is not None:
            tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1).erfinv_()
            return tensor.mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)
        if below(b) - below(a) > 0.3:
            return _truncate_normal_draws(tensor, mean, std, a, b, generator)
        return _truncate_uniform_draws(tensor, mean, std, a, b, generator)


def _truncate_normal_draws(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: torch.Generator | None
) -> Tensor:
    """Rejection from the normal distribution itself: most draws are inside the limits."""
    # as the tensor's dtype rounds them
    low, high = (tensor.new_tensor(limit, device="cpu").item() for limit in (a, b))
    result = tensor.normal_(mean, std, generator=generator)
    while (beyond := (result < low) | (result > high)).any():
        result = torch.where(
            beyond, torch.empty_like(result).normal_(mean, std, generator=generator), result
        )
    return tensor if result is tensor else tensor.copy_(result)


def _truncate_uniform_draws(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: torch.Generator | None
) -> Tensor:
    """Rejection from the uniform distribution on [a, b], for limits far out or close together."""
    # so that the mode is always accepted
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chance = torch.empty_like(tensor)

    def rejected(log_density: Tensor) -> Tensor:
        log_density.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chance.uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    candidates = torch.empty_like(tensor).copy_(tensor)
    pending = rejected(candidates)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        result = torch.where(pending, candidates, result)
        pending = torch.where(pending, rejected(candidates), pending)
    return tensor if result is tensor else tensor.copy_(result)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills ``tensor`` with ``val``.

    Args:
        tensor: the tensor to fill.
        val: the number.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.constant_(torch.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fills ``tensor`` with ones.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.ones_(torch.empty(2))
        tensor([1., 1.])
    """
    with torch.no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fills ``tensor`` with zeros.

    Args:
        tensor: the tensor to fill.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Makes the 2-dim ``tensor`` an identity matrix.

    Raises:
        ValueError: unless there are two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.eye_(torch.empty(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        return tensor.copy_(torch.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes a convolution's weight (3 to 5 dimensions) pass its input channels through, in each
    group as many as fit.

    Shapes: (out channels, in channels, *window) -> the same.

    Raises:
        ValueError: for another number of dimensions, or if the first size is not divisible by
            ``groups``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    ndim = tensor.ndimension()
    if ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    fan_out, fan_in, *window = tensor.shape
    field = math.prod(window)
    return fan_in * field, fan_out * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    valid_modes = ["fan_in", "fan_out"]
    if mode not in valid_modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid_modes}")
    return _calculate_fan_in_and_fan_out(tensor)[valid_modes.index(mode)]


def _xavier_std(tensor: Tensor, gain: float) -> float:
    return gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fills ``tensor`` with draws from U(-a, a), a = gain·sqrt(6 / (fan_in + fan_out)).

    Args:
        tensor: the tensor to fill, of two dimensions at least.
        gain: a factor, for what follows the layer.
        generator: where random numbers come from; the default generator if it is None.

    Raises:
        ValueError: for fewer than two dimensions.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks (2010).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.xavier_uniform_(torch.empty(1, 2))
        tensor([[-0.0106,  0.7586]])
    """
    a = math.sqrt(3.0) * _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.uniform_(-a, a, generator=generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Fills ``tensor`` with draws from N(0, std²), std = gain·sqrt(2 / (fan_in + fan_out)).

    Raises:
        ValueError: for fewer than two dimensions.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks (2010).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.xavier_normal_(torch.empty(1, 2))
        tensor([[ 1.2582, -0.2396]])
    """
    std = _xavier_std(tensor, gain)
    with torch.no_grad():
        return tensor.normal_(0.0, std, generator=generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fills ``tensor`` with draws from U(-b, b), b = gain·sqrt(3 / fan). ``a`` is the slope of
    leaky_relu.

    Args:
        tensor: the tensor to fill, of two dimensions at least.
        a: the negative slope of the leaky ReLU that follows.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: the function that follows, as in ``calculate_gain``.
        generator: where random numbers come from; the default generator if it is None.

    Raises:
        ValueError: for fewer than two dimensions, an unknown ``mode`` or ``nonlinearity``.

    Source: He et al., Delving deep into rectifiers (2015).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.kaiming_uniform_(torch.empty(1, 2), nonlinearity="relu")
        tensor([[-0.0130,  0.9291]])
    """
    if has_torch_function_unary(tensor):
        given = {
            "tensor": tensor,
            "a": a,
            "mode": mode,
            "nonlinearity": nonlinearity,
            "generator": generator,
        }
        return handle_torch_function(kaiming_uniform_, (tensor,), **given)
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=outside())
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fills ``tensor`` with draws from N(0, gain² / fan). ``a`` is the slope of leaky_relu.

    Args:
        tensor: the tensor to fill, of two dimensions at least.
        a: the negative slope of the leaky ReLU that follows.
        mode: ``"fan_in"`` keeps the variance forward, ``"fan_out"`` backward.
        nonlinearity: the function that follows, as in ``calculate_gain``.
        generator: where random numbers come from; the default generator if it is None.

    Raises:
        ValueError: for fewer than two dimensions, an unknown ``mode`` or ``nonlinearity``.

    Source: He et al., Delving deep into rectifiers (2015).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.nn.init.kaiming_normal_(torch.empty(1, 2), mode="fan_out")
        tensor([[ 2.1793, -0.4150]])
    """
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=outside())
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    with torch.no_grad():
        return tensor.normal_(0, std, generator=generator)


def orthogonal_(
    tensor: Tensor, gain: float = 1, generator: torch.Generator | None = None
) -> Tensor:
    """Makes ``tensor``, flattened to (size(0), -1), a (semi-)orthogonal matrix times ``gain``.

    Raises:
        ValueError: for fewer than two dimensions.

    Source: Saxe et al., Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks (2013).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> x = torch.nn.init.orthogonal_(torch.empty(2, 2))
        >>> torch.allclose(x @ x.T, torch.eye(2), atol=1e-6)
        True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with torch.no_grad():
        flat = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
        q, r = torch.linalg.qr(flat.t() if rows < cols else flat)
        q = q * torch.diag(r, 0).sign()  # makes the distribution uniform (Haar)
        if rows < cols:
            q = q.t()
        tensor.copy_(q.reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: torch.Generator | None = None
) -> Tensor:
    """Fills the 2-dim ``tensor`` from N(0, std²) and sets the share ``sparsity`` of each column to
    zero.

    Raises:
        ValueError: unless there are two dimensions.

    Source: Martens, Deep learning via Hessian-free optimization (2010).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> (torch.nn.init.sparse_(torch.empty(4, 3), sparsity=0.5) == 0).sum(0)
        tensor([2, 2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, cols = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[torch.randperm(rows)[:zeros], col] = 0
    return tensor


def _deprecated(function: Callable[_Given, Tensor]) -> Callable[_Given, Tensor]:
    new_name = function.__name__
    old_name = new_name.removesuffix("_")

    @functools.wraps(function)
    def old(*args: _Given.args, **kwargs: _Given.kwargs) -> Tensor:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = old_name
    old.__doc__ = f"The deprecated name of ``{new_name}``."
    return old


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)


# Names of PyTorch's inner functions, which code elsewhere calls.
def _no_grad_uniform_(
    tensor: Tensor, a: float, b: float, generator: torch.Generator | None = None
) -> Tensor:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(
    tensor: Tensor, mean: float, std: float, generator: torch.Generator | None = None
) -> Tensor:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with torch.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        return tensor.zero_()


def _no_grad_trunc_normal_(
    tensor: Tensor,
    mean: float,
    std: float,
    a: float,
    b: float,
    generator: torch.Generator | None = None,
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)
