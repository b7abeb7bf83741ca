"""Interleaving groups of channels."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Splits the channels into ``groups`` and interleaves them. Shapes: ``(N, C, *)`` -> the same.
    Source: Zhang et al. (2017).

    Args:
        groups: into how many groups channels fall before they are mixed.
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, *)`` -> the same."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return f"groups={self.groups}"
