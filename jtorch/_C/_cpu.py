"""``torch._C._cpu``: questions about the processor."""

from __future__ import annotations

from ..cpu import _init_amx as _asked

__all__ = ["_get_cpu_capability", "_init_amx"]


def _get_cpu_capability() -> str:
    """``"DEFAULT"``: XLA compiles for the processor it finds, and does not tell."""
    return "DEFAULT"


def _init_amx() -> bool:
    """Whether the processor has tiles, where the operating system tells. They are not asked for
    here; XLA takes what it can use."""
    return _asked()
