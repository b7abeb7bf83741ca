"""NNPACK, which XLA does not use as torch does: its switches are remembered only."""

from __future__ import annotations

from typing import Any

from ._flags import flags as _flags

enabled = False
deterministic = False
allow_tf32 = False
immediate = False
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Whether operations run on NNPACK: no."""
    return False


def flags(enabled: Any = None, deterministic: Any = None, allow_tf32: Any = None) -> Any:
    """A block in which the switches are set."""
    return _flags(globals(), {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32})


def set_flags(_enabled: bool) -> tuple[bool]:
    """Sets the switch, and gives what it was."""
    global enabled
    before, enabled = enabled, _enabled
    return (before,)


class verbose:
    """A block without effect."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
