"""A debugger on one process while the others wait."""

from __future__ import annotations

import datetime
import importlib
import sys
import traceback
from collections import Counter
from types import FrameType
from typing import Any

from .barriers import barrier
from .group import STATE, get_rank

__all__ = ["breakpoint"]

#: How often a line was passed that skips its first times.
_passed: Counter[str] = Counter()


def _debugger() -> Any:
    """A debugger that reads the terminal also where the process was started without it."""
    debugger = importlib.import_module("pdb").Pdb  # loaded for those who debug

    class Terminal(debugger):
        def interaction(self, *args: object, **kwargs: object) -> None:
            before = sys.stdin
            try:
                with open("/dev/stdin") as sys.stdin:
                    super().interaction(*args, **kwargs)
            finally:
                sys.stdin = before

    return Terminal()


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float | None = 3600) -> None:
    """Stops in the debugger on one process; all others wait until that goes on.

    Args:
        rank: the process.
        skip: how many times this line is passed before it stops.
        timeout_s: how many seconds collectives of all groups may take from now on, so that none
            ends the session; None to leave it.
    """
    caller: FrameType = sys._getframe(1)
    if skip > 0:
        line = "".join(traceback.format_stack(caller, 1))
        _passed[line] += 1
        if _passed[line] <= skip:
            return
    if timeout_s is not None:
        for group in STATE.groups:
            group.set_timeout(datetime.timedelta(seconds=timeout_s))
    if get_rank() == rank:
        debugger = _debugger()
        debugger.message(
            "\nAll other processes wait. 'up' leads to the line that called "
            f"dist.breakpoint(rank={rank})\n"
        )
        debugger.set_trace()
    barrier()
