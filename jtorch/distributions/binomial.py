"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from ._binary import Binary
from .constraints import Constraint

__all__ = ["Binomial"]


def _clamp_by_zero(x: Tensor) -> Tensor:
    """``max(x, 0)`` with a derivative of 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Binary):
    """How many of ``total_count`` trials succeed, each with probability ``probs``.

    Args:
        total_count: the number of trials.
        probs: the probability of success.
        logits: its log odds, instead.
    """

    arg_constraints: dict[str, Constraint] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | float = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(
            self._set_with_count(total_count, probs, logits), validate_args=validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(
            Binomial, batch_shape, _instance, total_count=0, probs=0, logits=0, _param=0
        )

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Constraint:
        """The integers up to the number of trials."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        # n log(1 + e^logits), in a form that neither overflows nor cancels
        normalizer = (
            n * _clamp_by_zero(logits)
            + n * torch.log1p(torch.exp(-torch.abs(logits)))
            - torch.lgamma(n + 1)
        )
        return value * logits - torch.lgamma(value + 1) - torch.lgamma(n - value + 1) - normalizer

    def _one_count(self, name: str) -> int:
        largest = int(self.total_count.max())
        if not self.total_count.min() == largest:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return largest

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._counting(1 + self._one_count("enumerate_support"), expand)
