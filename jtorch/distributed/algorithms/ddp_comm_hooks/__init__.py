"""Ways in which ``DistributedDataParallel`` can combine gradients, and names for them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from . import debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks
from . import optimizer_overlap_hooks as optimizer_overlap_hooks

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Way:
    """What a member does when it is called with a model and a state."""

    def __init__(self, hook: Callable[..., object], rank: int | None = None) -> None:
        self.hook, self.rank = hook, rank

    def __call__(self, model: Any, state: object = None, start_powerSGD_iter: int = 1_000) -> None:
        """Registers the hook; of PowerSGD's the state is a process group."""
        if self.rank is not None:
            state = powerSGD_hook.PowerSGDState(state, self.rank, start_powerSGD_iter)
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(enum.Enum):
    """Names of hooks: ``DDPCommHookType.FP16_COMPRESS.value(model=model, state=process_group)``
    registers one."""

    ALLREDUCE = _Way(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Way(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Way(default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = _Way(quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = _Way(quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = _Way(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Way(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Way(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Way(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Way(debugging_hooks.noop_hook)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: object, state: object = None
) -> None:
    """Has a ``DistributedDataParallel`` combine its gradients in the way of a name.

    Args:
        comm_hook_type: which way.
        model: the module.
        state: the process group, or what else the hook is told.
    """
    comm_hook_type.value(model=model, state=state)
