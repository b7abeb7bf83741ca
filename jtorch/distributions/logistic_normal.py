"""The logistic-normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors whose sum is 1: normal vectors of mean ``loc`` and standard deviation ``scale``,
    through stick breaking."""

    arg_constraints: dict[str, Constraint] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Constraint = constraints.simplex
    has_rsample = True  # type: ignore[assignment]
    base_dist: Independent[Normal]

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return super().expand(
            batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance)
        )

    @property
    def loc(self) -> Tensor:
        """The mean of the normal vectors."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal vectors."""
        return self.base_dist.base_dist.scale
