"""The level of the launcher's loggers."""

from __future__ import annotations

__all__ = ["get_log_level"]


def get_log_level() -> str:
    """The level where ``LOGLEVEL`` says none."""
    return "WARNING"
