"""``DistributedDataParallel``: present by name, so that programs that test for it can be imported."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Averages gradients between processes; constructing one is refused.

    Differs from torch: not offered, as JAX computes gradients of a sharded batch in one program, with the reduction in it.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        raise NotImplementedError(
            "DistributedDataParallel is not offered by jtorch: gradients are not exchanged between processes; use one process and shard "
            "the batch over its devices (distribute_tensor)"
        )
