"""Sliding blocks: taking them out and summing them back."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from ..common_types import _size_any_t
from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Sums sliding blocks into a tensor whose spatial size is ``output_size``.

    Args:
        output_size: the spatial size of the result.
        kernel_size: the size of the blocks.
        dilation: how far the elements of the window lie apart.
        padding: how much was added on both sides.
        stride: how far blocks lie apart.

    Shapes: ``input (N, C · prod(kernel_size), L)`` or without N -> ``(N, C, *output_size)``; L is
    the number of blocks.
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: _size_any_t,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C · prod(kernel_size), L)`` -> ``(N, C, *output_size)``."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Takes all sliding blocks out of a tensor.

    Args:
        kernel_size: the size of the blocks.
        dilation: how far the elements of the window lie apart.
        padding: how many zeros are added on both sides.
        stride: how far blocks lie apart.

    Shapes: ``input (N, C, *)`` or ``(C, *)`` -> ``(N, C · prod(kernel_size), L)``; L is the number
    of blocks.
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> ``(N, C · prod(kernel_size), L)``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )
