"""Optimizers whose state is spread over processes."""

from __future__ import annotations

from ... import _refusals
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

__getattr__ = _refusals.missing(__name__)
