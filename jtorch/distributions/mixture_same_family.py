"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .categorical import Categorical
from .constraints import Constraint, MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: which component a sample comes from is drawn from a categorical distribution.

    Args:
        mixture_distribution: the probabilities of the components.
        component_distribution: the components, along its last batch dimension.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.distributions import Categorical, MixtureSameFamily, Normal
        >>> m = MixtureSameFamily(
        ...     Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 3.0]), torch.ones(2))
        ... )
        >>> m.mean
        tensor(1.)
    """

    arg_constraints: dict[str, Constraint] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        chosen, there = (
            mixture_distribution.logits.shape[-1],
            component_distribution.batch_shape[-1],
        )
        if chosen != there:
            raise ValueError(
                f"`mixture_distribution component` ({chosen}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({there})"
            )
        self._num_component = chosen
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape=batch, event_shape=event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        batch_shape = torch.Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finished(MixtureSameFamily, new, batch_shape)

    @constraints.dependent_property
    def support(self) -> Constraint:
        """The components'."""
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The probabilities of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _over_components(self, x: Tensor) -> Tensor:
        """The mean over components of one value each."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(probs * x, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._over_components(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The mean of the variances, and the variance of the means.
        inside = self._over_components(self.component_distribution.variance)
        return inside + self._over_components(
            (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        )

    def cdf(self, x: Tensor) -> Tensor:
        return torch.sum(
            self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1
        )

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_component = self.component_distribution.log_prob(self._pad(x))
        log_mixture = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(log_component + log_mixture, dim=-1)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            along = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + torch.Size([1] * (self._event_ndims + 1)))
            index = index.repeat(torch.Size([1] * (chosen.dim() + 1)) + self.event_shape)
            return torch.gather(drawn, along, index).squeeze(along)

    def _pad(self, x: Tensor) -> Tensor:
        """With a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """Probabilities in the shape of the components' events."""
        mixed = len(self.mixture_distribution.batch_shape)
        missing = 0 if mixed == 1 else len(self.batch_shape) - mixed
        return x.reshape(
            x.shape[:-1]
            + torch.Size(missing * [1])
            + x.shape[-1:]
            + torch.Size(self._event_ndims * [1])
        )

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
