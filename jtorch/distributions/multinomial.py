"""The multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor, inf

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .constraints import Constraint
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of K values comes up in ``total_count`` draws.

    Args:
        total_count: the number of draws.
        probs: non-negative numbers, (*, K), in proportion to the probabilities.
        logits: log probabilities up to a constant, instead.
    """

    arg_constraints: dict[str, Constraint] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(
            self._categorical.batch_shape,
            self._categorical.param_shape[-1:],
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = torch.Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = self._binomial.expand(batch_shape + self.event_shape)
        return self._finished(Multinomial, new, batch_shape)

    def _new(self, *args: object, **kwargs: object) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Constraint:
        """Counts whose sum is at most the number of draws."""
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The log probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> torch.Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        sample_shape = torch.Size(sample_shape)
        draws = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape)
        draws = draws.permute(*range(1, draws.dim()), 0)
        counts = torch.zeros(
            self._extended_shape(sample_shape), dtype=draws.dtype, device=draws.device
        )
        return counts.scatter_add_(-1, draws, torch.ones_like(draws)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = torch.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        log_factorials = torch.exp(self._binomial.log_prob(counts)) * torch.lgamma(counts + 1)
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + log_factorials.sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)  # 0 log 0 is 0
        return (
            torch.lgamma(value.sum(-1) + 1)
            - torch.lgamma(value + 1).sum(-1)
            + (logits * value).sum(-1)
        )
