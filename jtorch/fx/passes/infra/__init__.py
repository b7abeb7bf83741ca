"""What passes are built on."""

from __future__ import annotations

from . import partitioner, pass_base, pass_manager

__all__ = ["partitioner", "pass_base", "pass_manager"]
