"""``torch.cond`` where PyTorch has it."""

from __future__ import annotations

from jtorch import cond as cond

__all__ = ["cond"]
