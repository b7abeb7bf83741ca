"""MKL, which XLA does not use as torch does: its switches are remembered only."""

from __future__ import annotations

from ._flags import never as is_available
from ._flags import verbose

__all__ = ["is_available", "verbose"]

VERBOSE_OFF, VERBOSE_ON = 0, 1
