"""NNPACK, which XLA does not use as torch does: its switches are remembered only."""

from __future__ import annotations

from ._flags import never as is_available
from ._flags import switches

__all__ = ["flags", "is_available", "set_flags"]

enabled = False

flags, set_flags = switches(globals(), enabled=False)
