"""MIOpen, which XLA does not use as torch does: its switches are remembered only."""

from __future__ import annotations

from ._flags import switches

__all__ = ["flags", "set_flags"]

immediate = False

flags, set_flags = switches(globals(), immediate=False)
