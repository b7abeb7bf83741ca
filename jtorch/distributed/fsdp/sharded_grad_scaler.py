"""``GradScaler`` for parameters that are sharded over processes."""

from __future__ import annotations

from typing import Any

import jtorch as torch

from ...amp.grad_scaler import GradScaler
from ...amp.grad_scaler import OptState as OptState
from ..collectives import all_reduce
from ..group import ProcessGroup as ProcessGroup


class ShardedGradScaler(GradScaler):
    """``torch.amp.GradScaler`` of which each process sees a part of the gradients: a step is
    skipped by all processes if one of them has found a number that is not finite.

    Args:
        device: the type of device whose gradients are scaled.
        init_scale, backoff_factor, growth_factor, growth_interval, enabled: as ``GradScaler`` has
            them.
        process_group: the processes that share the parameters; all if it is None.

    Unlike ``GradScaler`` it takes gradients in float16.
    """

    _takes_halves = True

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: torch.Tensor, found_inf: torch.Tensor, allow_fp16: bool
    ) -> dict[object, torch.Tensor]:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        for any_ in found.values():
            all_reduce(any_, group=self.process_group)
        return found
