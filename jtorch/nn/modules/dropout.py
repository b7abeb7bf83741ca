"""Dropout: random zeros in training, the identity in evaluation."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from .module import Module

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zeroes elements with probability ``p`` and scales the others by 1/(1-p). Shapes: any.

    Args:
        p: the probability with which an element is set to zero.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zeroes whole channels with probability ``p``. Shapes: ``(N, C, L)`` or ``(C, L)``.

    Args:
        p: the probability with which a channel is set to zero.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, L)`` -> the same."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zeroes whole channels with probability ``p``. Shapes: ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        p: the probability with which a channel is set to zero.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> the same."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zeroes whole channels with probability ``p``. Shapes: ``(N, C, D, H, W)`` or
    ``(C, D, H, W)``.

    Args:
        p: the probability with which a channel is set to zero.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, D, H, W)`` -> the same."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout for SELU networks: keeps mean 0 and variance 1 by setting elements to SELU's negative
    limit and rescaling.

    Args:
        p: the probability with which an element is dropped.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(*)`` -> ``(*)``."""
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """``AlphaDropout`` on whole channels. Shapes: ``(N, C, *)``.

    Args:
        p: the probability with which a channel is dropped.
        inplace: whether the input is overwritten by the result.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same."""
        return F.feature_alpha_dropout(input, self.p, self.training)
