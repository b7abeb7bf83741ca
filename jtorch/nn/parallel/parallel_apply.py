"""``parallel_apply``, in torch's place."""

from __future__ import annotations

from .replicate import parallel_apply as parallel_apply

__all__ = ["parallel_apply"]
