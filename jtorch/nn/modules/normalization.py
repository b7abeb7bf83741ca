"""Layer, group, root-mean-square and local response normalization."""

from __future__ import annotations

import numbers

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["LocalResponseNorm", "CrossMapLRN2d", "LayerNorm", "GroupNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides by ``(k + alpha/size · sum of squares over size neighbouring channels) **
    beta``. Shapes: ``(N, C, *)`` -> the same.

    Args:
        size: how many neighbouring channels count.
        alpha: the factor of the mean of squares.
        beta: the power.
        k: what is added.
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """Local response normalization across the channels of images. Shapes: ``(N, C, H, W)`` -> the
    same.

    Args:
        size: how many neighbouring channels count.
        alpha: the factor of the mean of squares.
        beta: the power.
        k: what is added.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> the same."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        # the window is 2 · reach - 1 channels, also for an even size
        reach = int((self.size - 1) / 2 + 1)
        channels = input.shape[1]
        squares = F.pad(input.pow(2), (0, 0, 0, 0, reach - 1, reach - 1))
        total = squares[:, :channels]
        for i in range(1, 2 * reach - 1):
            total = total + squares[:, i : i + channels]
        # torch moves the window along, and never takes the first channel out again
        if channels > reach:
            total = total + F.pad(
                input[:, :1].pow(2).expand(-1, channels - reach, -1, -1), (0, 0, 0, 0, reach, 0)
            )
        return input * (self.k + self.alpha / self.size * total).pow(-self.beta)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _shape(normalized_shape: object) -> tuple[int, ...]:
    return (
        (normalized_shape,)
        if isinstance(normalized_shape, numbers.Integral)
        else tuple(normalized_shape)  # type: ignore[return-value]
    )


class LayerNorm(Module):
    """Normalizes over the last dimensions, whose sizes are ``normalized_shape``:
    ``(x - mean) / sqrt(var + eps) * weight + bias``.

    Args:
        normalized_shape: the last dimensions, over which to normalise: their sizes, or that of the
            last.
        eps: added to the variance.
        elementwise_affine: whether there is a weight, and a bias, for each element.
        bias: whether the affine part has a bias.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (*, *normalized_shape)`` -> the same. Source: Ba et al. (2016).
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: int | list[int] | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            made = (
                Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
                if wanted
                else None
            )
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """``(*, *normalized_shape)`` -> the same."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalizes each sample over groups of channels and all further dimensions.

    Args:
        num_groups: into how many groups the channels fall.
        num_channels: the number of channels.
        eps: added to the variance.
        affine: whether there is a weight, and a bias, for each channel.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        bias: whether the affine part has a bias.

    Shapes: ``input (N, num_channels, *)`` -> the same. Source: Wu and He (2018).
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name,
                Parameter(torch.empty(num_channels, device=device, dtype=dtype))
                if wanted
                else None,
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, num_channels, *)`` -> the same."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions:
    ``x / sqrt(mean(x²) + eps) * weight``; ``eps`` None: the dtype's.

    Args:
        normalized_shape: the last dimensions, over which to normalise: their sizes, or that of the
            last.
        eps: added to the mean of the squares; the smallest step of the input's dtype if None.
        elementwise_affine: whether there is a weight, and a bias, for each element.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (*, *normalized_shape)`` -> the same. Source: Zhang and Sennrich (2019).
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: int | list[int] | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = (
            Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype))
            if elementwise_affine
            else None
        )
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """``(*, *normalized_shape)`` -> the same."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
