"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor
from jtorch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._binary import Binary, one_of
from .constraints import Constraint
from .exp_family import ExponentialFamily
from .utils import _batch_of, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Numbers between 0 and 1 with density in proportion to
    ``probs ** x * (1 - probs) ** (1 - x)``.

    Near ``probs == 0.5`` all formulas divide zero by zero, and Taylor polynomials take their place.

    Args:
        probs: between 0 and 1.
        logits: the log odds, instead.
        lims: between these probabilities Taylor polynomials are used.

    Source: G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli", 2019.
    """

    arg_constraints: dict[str, Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support: Constraint = constraints.unit_interval
    _mean_carrier_measure = 0  # type: ignore[assignment]
    has_rsample = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        one_of(probs, logits)
        if probs is not None:
            (given,) = broadcast_all(probs)
            # Clamping hides what is invalid, so it is looked for before.
            if validate_args is not None and not constraints._holds(
                self.arg_constraints["probs"].check(given)
            ):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(given)  # type: ignore[assignment,arg-type]
            self._param = self.probs
        else:
            (self.logits,) = broadcast_all(logits)
            self._param = self.logits
        self._lims = lims
        super().__init__(
            _batch_of(self._param, logits if probs is None else probs), validate_args=validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._expanded(
            ContinuousBernoulli, batch_shape, _instance, probs=0, logits=0, _param=0
        )
        new._lims = self._lims
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, off 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return torch.le(self.probs, self._lims[0]) | torch.gt(self.probs, self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, those near 1/2 moved to where formulas hold."""
        return torch.where(
            self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs)
        )

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what normalises the density."""
        p = self._cut_probs()
        below = torch.where(torch.le(p, 0.5), p, torch.zeros_like(p))
        above = torch.where(torch.ge(p, 0.5), p, torch.ones_like(p))
        distance = torch.where(
            torch.le(p, 0.5), torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0)
        )
        exact = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - distance
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(
            self._outside_unstable_region(),
            exact,
            math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x,
        )

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return torch.where(
            self._outside_unstable_region(),
            exact,
            0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x,
        )

    @property
    def stddev(self) -> Tensor:
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(
            torch.log1p(-p) - torch.log(p), 2
        )
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(
            self._outside_unstable_region(),
            exact,
            1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x,
        )

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self.icdf(
            torch.rand(
                self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device
            )
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return (
            -binary_cross_entropy_with_logits(logits, value, reduction="none")
            + self._cont_bern_log_norm()
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut_probs()
        exact = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._outside_unstable_region(), exact, value)
        upper = torch.where(torch.ge(value, 1.0), torch.ones_like(value), inside)
        return torch.where(torch.le(value, 0.0), torch.zeros_like(value), upper)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        miss = torch.log1p(-p)
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - miss) / (torch.log(p) - miss)
        return torch.where(self._outside_unstable_region(), exact, value)

    def entropy(self) -> Tensor:
        log_miss, log_hit = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log_miss - log_hit) - self._cont_bern_log_norm() - log_miss

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = torch.le(x, low) | torch.gt(x, high)
        cut = torch.where(outside, x, low * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(
            outside, exact, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0
        )
