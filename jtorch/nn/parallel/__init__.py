"""Data parallelism as PyTorch spells it. On JAX a batch is sharded over the devices instead; see
``torch.distributed.tensor``."""

from __future__ import annotations

import warnings
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
from .replicate import gather as gather
from .replicate import parallel_apply as parallel_apply
from .replicate import replicate as replicate
from .replicate import scatter as scatter

__all__ = [
    "replicate",
    "scatter",
    "parallel_apply",
    "gather",
    "data_parallel",
    "DataParallel",
    "DistributedDataParallel",
]


class DistributedDataParallelCPU(DistributedDataParallel):
    """The deprecated name of ``DistributedDataParallel``."""

    def __init__(self, *args: Any, **kwargs: object) -> None:
        warnings.warn(
            "`torch.nn.parallel.DistributedDataParallelCPU` is deprecated, please use "
            "`torch.nn.parallel.DistributedDataParallel` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


__getattr__ = _refusals.missing(__name__)
