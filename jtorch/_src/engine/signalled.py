"""Tells errors that signals' handlers raise from those of the ops that they interrupted. Floor 1.

A program may limit the time that something takes by a handler that raises ``TimeoutError``. Such an
error comes out of whatever was running, and must reach the program as it is: it says nothing about
the op, whose run is neither repeated in another way nor blamed.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from types import CodeType
from typing import Any


def is_signalled(error: BaseException) -> bool:
    """Whether an error came out of the handler of a signal."""
    frames = set()
    tb = error.__traceback__
    while tb is not None:
        frames.add(tb.tb_frame.f_code)
        tb = tb.tb_next
    return not frames.isdisjoint(_handlers())


def _handlers() -> Iterator[CodeType]:
    for number in signal.valid_signals():
        handler: Any = signal.getsignal(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        if handler is None or isinstance(handler, int):  # none of Python's
            continue
        code = getattr(handler, "__code__", None) or getattr(
            type(handler).__call__, "__code__", None
        )
        if code is not None:
            yield code
