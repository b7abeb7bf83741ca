"""The host's processor."""

from __future__ import annotations

from jtorch._C._cpu import _get_cpu_capability


def get_cpu_capability() -> str:
    """``"DEFAULT"``: XLA compiles for the processor it finds, and does not tell."""
    return _get_cpu_capability()
