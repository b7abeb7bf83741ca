"""``torch.cond`` where PyTorch has it, and its operator."""

from __future__ import annotations

from jtorch import cond as cond

from .operators import OPERATORS

__all__ = ["cond"]

cond_op = OPERATORS["cond"]
