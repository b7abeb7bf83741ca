"""Distances and similarities of vectors."""

from __future__ import annotations

from jtorch import Tensor

from .. import functional as F
from .module import Module

__all__ = ["PairwiseDistance", "CosineSimilarity"]


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps`` over the last dimension. Shapes: ``(N, D)`` or ``(D)`` each
    -> ``(N)``, ``(N, 1)`` if keepdim.

    Args:
        p: the power of the norm.
        eps: added to differences, so that the distance can be differentiated.
        keepdim: whether the last dimension stays, with size 1.
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """``(N, D)`` and ``(N, D)`` -> ``(N)``."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``x1·x2 / max(|x1||x2|, eps)`` along ``dim``. Shapes: ``x1`` and ``x2`` broadcast; the result
    lacks ``dim``.

    Args:
        dim: along which the vectors lie.
        eps: the smallest product of their lengths that is divided by.
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """``(*, D, *)`` and ``(*, D, *)`` -> ``(*, *)``."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
