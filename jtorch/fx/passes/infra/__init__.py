"""What passes are built on."""

from __future__ import annotations

from . import pass_base, pass_manager

__all__ = ["pass_base", "pass_manager"]
