"""Moving channels into space and back."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearranges ``(*, C·r², H, W)`` to ``(*, C, H·r, W·r)``, r = ``upscale_factor``. Source: Shi
    et al. (2016).

    Args:
        upscale_factor: by what height and width grow.
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """``(*, C·r², H, W)`` -> ``(*, C, H·r, W·r)``."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of ``PixelShuffle``: ``(*, C, H·r, W·r)`` to ``(*, C·r², H, W)``, r =
    ``downscale_factor``.

    Args:
        downscale_factor: by what height and width shrink.
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """``(*, C, H·r, W·r)`` -> ``(*, C·r², H, W)``."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"downscale_factor={self.downscale_factor}"
