"""``torch.while_loop`` where PyTorch has it."""

from __future__ import annotations

from jtorch import while_loop as while_loop

__all__ = ["while_loop"]
