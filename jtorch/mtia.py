"""Accelerators that JAX has no backend for: the questions are answered."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0
