"""Enumerations that stand for C++'s: members are no ints, and give their numbers where one is asked
for."""

from __future__ import annotations

import enum


class Numbered(enum.Enum):
    """A base without members."""

    def __int__(self) -> int:
        return self.value

    __index__ = __int__
