"""Has other threads stop before the interpreter ends. Floor 1.

Python ends a daemon thread when it comes back from code that runs without the interpreter's lock, by unwinding its stack. Where that is
JAX's, in C++, the process is aborted with "FATAL: exception not rethrown". So threads that still compute when the program has come to its
end wait where they would run something next, and the end waits for those that are running.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import calls, values

#: Seconds that the end waits for threads that are inside this package or JAX.
PATIENCE = 5.0
_forever = threading.Lock()


def _wait(*_args: Any) -> None:
    if threading.get_ident() != threading.main_thread().ident:
        with _forever:
            pass


def _stopped(frame: FrameType | None) -> bool:
    """Whether a thread waits here, or does nothing that goes into JAX."""
    inside = False
    while frame is not None:
        if frame.f_code is _wait.__code__:
            return True
        inside = inside or frame.f_globals.get("__name__", "").partition(".")[0] in ("jtorch", "jax", "jaxlib")
        frame = frame.f_back
    return not inside


def _after_waiting(run: Callable[..., Any]) -> Callable[..., Any]:
    def waits(*args: Any) -> Any:
        _wait()
        return run(*args)

    return waits


def _at_exit() -> None:
    if threading.active_count() == 1 or values.lost is not None:
        return
    _forever.acquire()
    values.lost = _wait
    for call in list(calls.CALLS):
        for shapes in list(call.shapes.values()):
            shapes.quick = None
            shapes.run = _after_waiting(shapes.run)
    until = time.monotonic() + PATIENCE
    me = threading.get_ident()
    while not all(_stopped(frame) for ident, frame in sys._current_frames().items() if ident != me) and time.monotonic() < until:
        time.sleep(0.002)


def watch() -> None:
    """Has the end of the program looked after."""
    atexit.register(_at_exit)
