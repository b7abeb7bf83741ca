"""The generalized Pareto distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor, inf, nan

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .utils import _batch_of, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Numbers above ``loc`` with tails that fall like a power (``concentration`` above 0),
    exponentially (0), or end (below 0)."""

    arg_constraints: dict[str, Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(
            _batch_of(self.loc, loc, scale, concentration), validate_args=validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(
            GeneralizedPareto, batch_shape, _instance, loc=0, scale=0, concentration=0
        )

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self.icdf(
            torch.rand(
                self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
            )
        )

    def _split(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with 1 in those places."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, c) = self._z(value), self._split()
        y = 1 / c + torch.ones_like(z)
        power = torch.where(y == 0, y, y * torch.log1p(c * z))
        return -self.scale.log() - torch.where(zero, z, power)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of numbers above ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, c) = self._z(value), self._split()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of numbers up to ``value``."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        zero, c = self._split()
        log_rest = torch.log1p(-value)
        power = self.loc + self.scale / c * torch.expm1(-c * log_rest)
        return torch.where(zero, self.loc - self.scale * log_rest, power)

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        return torch.where(
            exists, self.loc + self.scale / (1 - torch.where(exists, self.concentration, 0.5)), nan
        )

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        c = torch.where(exists, self.concentration, 0.25)
        return torch.where(exists, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), nan)

    def entropy(self) -> Tensor:
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        """From ``loc`` to where the tail ends."""
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, inf)
        return constraints.interval(self.loc, end)
