"""When parameters are averaged."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import jtorch as torch

from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters in some of its steps.

    Attributes:
        step: how many there were.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = (
            process_group if process_group is not None else torch.distributed.group.WORLD
        )
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """One step."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages in each ``period``-th step from ``warmup_steps`` on.

    Raises:
        ValueError: for negative numbers of steps.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: object = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing "
                "gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """One step, for parameters or an optimizer's groups: those that have a gradient."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
