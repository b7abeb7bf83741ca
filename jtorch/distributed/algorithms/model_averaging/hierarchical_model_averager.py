"""Averages of parameters within groups of several sizes, the larger ones less often."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import jtorch as torch

from . import averagers, utils

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages within the group of the longest period that divides the number of the step, from
    ``warmup_steps`` on.

    Args:
        period_group_size_dict: each period with the size of its groups, from the shortest to the
            longest; that one's is the size of all.
        warmup_steps: how many steps nothing is averaged.
        process_group: all processes that take part; the default group if it is None.

    Raises:
        ValueError: for no periods, a period that is not positive, a last size that is not the
            group's, or negative numbers of steps.
    """

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: object = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError(
                "The minimum period in arg ``period_group_size_dict`` must be a positive value."
            )
        if self._periods[-1] == 1:
            warnings.warn(
                "When the maximum period in arg ``period_group_size_dict`` is 1, no need to use "
                "model averaging because the communication cost of all-reducing parameters will be "
                "no less than the cost of all-reducing gradients by DistributedDataParallel in the "
                "backward pass. Therefore, only DistributedDataParallel should be used for this "
                "case.",
                stacklevel=2,
            )
        whole, last = (
            torch.distributed.get_world_size(self.process_group),
            list(period_group_size_dict.values())[-1],
        )
        if last != whole:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the "
                f"size of arg ``process_group`` {whole}."
            )
        self.period_process_group_dict = {
            period: self.process_group
            if size == whole
            else torch.distributed.new_subgroups(size, self.process_group)[0]
            for period, size in period_group_size_dict.items()
        }
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """One step, for parameters or an optimizer's groups: those that have a gradient."""
        if self.step >= self.warmup_steps:
            due = [period for period in self._periods if self.step % period == 0]
            if due:
                utils.average_parameters_or_parameter_groups(
                    params, self.period_process_group_dict[due[-1]]
                )
        self.step += 1
