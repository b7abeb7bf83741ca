"""``torch.while_loop`` where PyTorch has it, and its operator."""

from __future__ import annotations

from jtorch import while_loop as while_loop

from .operators import OPERATORS

__all__ = ["while_loop"]

while_loop_op = OPERATORS["while_loop"]
