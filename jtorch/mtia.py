"""Accelerators that JAX has no backend for: the questions are answered."""

from __future__ import annotations

from ._src.refusals import stand_ins as _refusals

__path__: list[str] = []


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


__getattr__ = _refusals.missing(__name__)
