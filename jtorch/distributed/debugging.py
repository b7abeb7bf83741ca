"""How much collectives are asked to check, which programs may read and set; nothing depends on it
here."""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.IntEnum):
    """What ``TORCH_DISTRIBUTED_DEBUG`` can be."""

    OFF = 0
    INFO = 1
    DETAIL = 2
    __str__ = enum.Enum.__str__


def _of_environment() -> DebugLevel:
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[name]


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """The level that was set last; at first that of the environment.

    Raises:
        ValueError: if the environment names no level.

    Example:
        >>> import jtorch as torch
        >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.INFO)
        >>> torch.distributed.get_debug_level().name
        'INFO'
        >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.OFF)
    """
    return _of_environment() if _level is None else _level


def set_debug_level(level: DebugLevel, /) -> None:
    """Sets the level.

    Raises:
        TypeError: if it is none.
    """
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(
            f"set_debug_level() takes a torch.distributed.DebugLevel, not {type(level).__name__}"
        )
    _level = level


def set_debug_level_from_env() -> None:
    """Sets the level to that of the environment.

    Raises:
        ValueError: if the environment names no level.
    """
    set_debug_level(_of_environment())
