"""Optimisers of distributed programs: functional ones, which get gradients as arguments, and one
whose state is spread over processes."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from .apply_optimizer_in_backward import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
)
from .apply_optimizer_in_backward import _get_in_backward_optimizers as _get_in_backward_optimizers
from .post_localSGD_optimizer import PostLocalSGDOptimizer as PostLocalSGDOptimizer
from .utils import as_functional_optim as as_functional_optim
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "as_functional_optim"]

__getattr__ = _refusals.missing(__name__)
