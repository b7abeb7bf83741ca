"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .exp_family import ExponentialFamily
from .utils import _all_numbers, _batch_of, _standard_normal, broadcast_all

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """Normal numbers of mean ``loc`` and standard deviation ``scale``.

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: whether arguments and samples are checked; as the class says if it is None.

    Examples:
        >>> import jtorch as torch
        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)
    """

    arg_constraints: dict[str, Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Constraint = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_batch_of(self.loc, loc, scale), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(Normal, batch_shape, _instance, loc=0, scale=0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        eps = _standard_normal(
            self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
        )
        return self.loc + eps * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_scale = math.log(self.scale) if _all_numbers(self.scale) else self.scale.log()
        return (
            -((value - self.loc) ** 2) / (2 * self.scale**2)
            - log_scale
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)
