"""OpenMP, which XLA does not use as torch does."""

from __future__ import annotations

from ._flags import never as is_available

__all__ = ["is_available"]
