"""The distribution of Lewandowski, Kurowicka and Joe of correlation matrices, as Cholesky
factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .beta import Beta
from .constraints import Constraint
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of ``dim x dim`` correlation matrices ``M``, with density in proportion to
    ``det(M) ** (concentration - 1)``.

    Rows are drawn by the onion method: a direction on a sphere, and how much of the row's length is
    off the diagonal.

    Source: D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based
    on vines and extended onion method", 2009.
    """

    arg_constraints: dict[str, Constraint] = {"concentration": constraints.positive}
    support: Constraint = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = torch.cat([torch.zeros((1,), **like), torch.arange(dim - 1, **like)])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return self._finished(LKJCholesky, new, batch_shape)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = torch.randn(
            self._extended_shape(sample_shape), dtype=y.dtype, device=y.device
        ).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # the first row has nothing off the diagonal
        w = torch.sqrt(y) * direction
        diagonal = torch.clamp(1 - torch.sum(w**2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
        return w + torch.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rest = self.dim - 1
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        alpha = self.concentration + 0.5 * rest
        normalizer = (
            0.5 * rest * math.log(math.pi)
            + torch.mvlgamma(alpha - 0.5, rest)
            - torch.lgamma(alpha) * rest
        )
        return torch.sum(order * diagonal.log(), dim=-1) - normalizer
