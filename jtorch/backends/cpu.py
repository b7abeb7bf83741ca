"""The host's processor."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """``"DEFAULT"``: XLA compiles for the processor it finds, and does not tell."""
    return "DEFAULT"
