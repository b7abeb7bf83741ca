"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor
from jtorch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._binary import Binary
from .constraints import Constraint
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(Binary):
    """How many trials fail before the first one that succeeds, each with probability ``probs``.

    Args:
        probs: the probability of success.
        logits: its log odds, instead.
    """

    arg_constraints: dict[str, Constraint] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support: Constraint = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._set_parameter(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not constraints._holds(valid):
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to be positive but found "
                    "invalid values:\n"
                    f"{value.data[~valid]}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(Geometric, batch_shape, _instance, probs=0, logits=0, _param=0)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        with torch.no_grad():
            u = self.probs.new(self._extended_shape(sample_shape)).uniform_(
                torch.finfo(self.probs.dtype).tiny, 1
            )
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        miss = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 log 0 is 0
        return value * (-miss).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
        )
