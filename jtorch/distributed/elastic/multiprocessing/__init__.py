"""Processes of the launcher: what they report."""

from __future__ import annotations

import enum

from ...._src.refusals import stand_ins as _refusals
from ....multiprocessing.spawn import ProcessContext as PContext
from .errors import ProcessFailure as ProcessFailure
from .errors import record as record


class Std(enum.IntFlag):
    """Which of a process's outputs are meant."""

    NONE, OUT, ERR, ALL = 0, 1, 2, 3

    @classmethod
    def from_str(cls, text: str) -> Std | dict[int, Std]:
        """One number for all local ranks, or ``"0:3,1:1"``, some of theirs.

        Raises:
            ValueError: for anything else.
        """
        if text.isdigit():
            return cls(int(text))
        found = {}
        for part in text.split(","):
            rank, colon, value = part.partition(":")
            if not (colon and rank.isdigit() and value.isdigit()):
                raise ValueError(f"{text} does not match: <int>|<int:int,int:int,...>")
            found[int(rank)] = cls(int(value))
        return found


class SignalException(Exception):
    """The launcher got a signal that ends it."""

    def __init__(self, msg: str, sigval: int) -> None:
        super().__init__(msg)
        self.sigval = sigval


__all__ = ["PContext", "ProcessFailure", "SignalException", "Std", "record"]

__getattr__ = _refusals.missing(__name__)
