"""Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor, inf, nan

from . import constraints
from .chi2 import Chi2
from .constraints import Constraint
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A standard normal number divided by the root mean square of ``df`` others, scaled by
    ``scale`` and shifted by ``loc``."""

    arg_constraints: dict[str, Constraint] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Constraint = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._expanded(StudentT, batch_shape, _instance, df=0, loc=0, scale=0)
        new._chi2 = self._chi2.expand(new._batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = torch.where(finite, self.df, 3.0)
        elsewhere = torch.full_like(self.df, inf).masked_fill(self.df <= 1, nan)
        return torch.where(finite, self.scale.pow(2) * df / (df - 2), elsewhere)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        x = _standard_normal(
            self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device
        )
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * torch.rsqrt(z / self.df))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y, half = (value - self.loc) / self.scale, 0.5 * (self.df + 1.0)
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(half)
        )
        return -half * torch.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(more)
        return (
            self.scale.log()
            + more * (torch.digamma(more) - torch.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
