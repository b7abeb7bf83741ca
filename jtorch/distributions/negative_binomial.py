"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
import jtorch.nn.functional as F
from jtorch import Tensor

from . import constraints
from ._binary import Binary
from .constraints import Constraint
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Binary):
    """How many trials succeed, each with probability ``probs``, before ``total_count`` have failed.

    Args:
        total_count: non-negative, not necessarily an integer.
        probs: the probability of success, below 1.
        logits: its log odds, instead.
    """

    arg_constraints: dict[str, Constraint] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support: Constraint = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(
            self._set_with_count(total_count, probs, logits), validate_args=validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(
            NegativeBinomial, batch_shape, _instance, total_count=0, probs=0, logits=0, _param=0
        )

    @property
    def mean(self) -> Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(
            concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False
        )

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        normalizer = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        # nothing can happen, and that is certain
        normalizer = normalizer.masked_fill(n + value == 0.0, 0.0)
        return n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits) - normalizer
