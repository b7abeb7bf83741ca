"""Optimisers of distributed programs: the functional ones, which get gradients as arguments, are offered."""

from __future__ import annotations

from jtorch import _refusals

from .utils import as_functional_optim as as_functional_optim

__all__ = ["as_functional_optim"]
__getattr__ = _refusals.missing(__name__)
