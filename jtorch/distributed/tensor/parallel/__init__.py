"""Tensor parallelism: styles in which modules are spread over a dimension of a mesh."""

from __future__ import annotations

from .api import parallelize_module as parallelize_module
from .input_reshard import input_reshard as input_reshard
from .loss import loss_parallel as loss_parallel
from .style import ColwiseParallel as ColwiseParallel
from .style import ParallelStyle as ParallelStyle
from .style import PrepareModuleInput as PrepareModuleInput
from .style import PrepareModuleInputOutput as PrepareModuleInputOutput
from .style import PrepareModuleOutput as PrepareModuleOutput
from .style import RowwiseParallel as RowwiseParallel
from .style import SequenceParallel as SequenceParallel

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
    "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "parallelize_module",
    "loss_parallel",
]  # fmt: skip
