"""Resizing by interpolation."""

from __future__ import annotations

from typing import Any

from jtorch import Tensor

from .. import functional as F
from ..common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t
from .module import Module

__all__ = ["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"]


class Upsample(Module):
    """Resizes the spatial dimensions to ``size`` or by ``scale_factor``: nearest, linear, bilinear,
    bicubic, trilinear.

    Args:
        size: the spatial size of the result.
        scale_factor: by what the sizes are multiplied, one number or one for each dimension.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.
        align_corners: whether the outermost elements, instead of their outer edges, stay where they
            are.
        recompute_scale_factor: whether the factor is computed anew from the sizes that it gives.

    Shapes: ``(N, C, *)`` with 1 to 3 spatial dimensions -> ``(N, C, *size)``.
    """

    __constants__ = [
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "name",
        "recompute_scale_factor",
    ]

    def __init__(
        self,
        size: _size_any_t | None = None,
        scale_factor: _ratio_any_t | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> ``(N, C, *size)``."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` with nearest neighbours. Shapes: ``(N, C, H, W)``.

    Args:
        size: the spatial size of the result.
        scale_factor: by what the sizes are multiplied.
    """

    def __init__(
        self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` with bilinear interpolation and aligned corners. Shapes: ``(N, C, H, W)``.

    Args:
        size: the spatial size of the result.
        scale_factor: by what the sizes are multiplied.
    """

    def __init__(
        self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
