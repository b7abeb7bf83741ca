"""Distributions of transformed random variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What transforms make of samples of ``base_distribution``, one after the other.

    Args:
        transforms: one or a list of them.

    Examples:
        >>> import jtorch as torch
        >>> from jtorch.distributions import (
        ...     AffineTransform,
        ...     SigmoidTransform,
        ...     TransformedDistribution,
        ...     Uniform,
        ... )
        >>> logistic = TransformedDistribution(
        ...     Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(1.0, 2.0)]
        ... )
        >>> logistic.log_prob(torch.tensor(1.0))
        tensor(-2.0794)
    """

    arg_constraints: dict[str, Constraint] = {}

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms: list[Any] = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        together = ComposeTransform(self.transforms)
        before, after = together.domain.event_dim, together.codomain.event_dim
        if len(shape) < before:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {before}, but got "
                f"{shape}."
            )
        # Transforms may broadcast their input; and what they take for one event must be one for the
        # base.
        forward = together.forward_shape(shape)
        needed = together.inverse_shape(forward)
        if shape != needed:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dims])
        if before > base_dims:
            base_distribution = Independent(base_distribution, before - base_dims)
        self.base_dist = base_distribution
        event_dim = max(after, base_dims + after - before)
        if len(forward) < event_dim:
            raise AssertionError(
                f"forward_shape length {len(forward)} must be >= event_dim {event_dim}"
            )
        cut = len(forward) - event_dim
        super().__init__(
            torch.Size(forward[:cut]), torch.Size(forward[cut:]), validate_args=validate_args
        )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = torch.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return self._finished(TransformedDistribution, new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Constraint:
        """Where the last transform leads to."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        """As of the base."""
        return self.base_dist.has_rsample

    def _transformed(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, found, y = len(self.event_shape), 0.0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            n += t.domain.event_dim - t.codomain.event_dim
            found = found - _sum_rightmost(t.log_abs_det_jacobian(x, y), n - t.domain.event_dim)
            y = x
        return found + _sum_rightmost(
            self.base_dist.log_prob(y), n - len(self.base_dist.event_shape)
        )

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """A probability, or its complement where the transforms decrease."""
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
