"""The inverse gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma number of this ``concentration`` and ``rate``."""

    arg_constraints: dict[str, Constraint] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support: Constraint = constraints.positive
    has_rsample = True  # type: ignore[assignment]
    base_dist: Gamma

    def __init__(
        self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return super().expand(
            batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance)
        )

    @property
    def concentration(self) -> Tensor:
        """The concentration."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), torch.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return torch.where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), torch.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
