"""The fast path of multi-head attention: there is one path, so the switch is remembered only."""

from __future__ import annotations

_state = {"fast": True}


def get_fastpath_enabled() -> bool:
    """What was last set."""
    return _state["fast"]


def set_fastpath_enabled(value: bool) -> None:
    """Remembered."""
    _state["fast"] = value
