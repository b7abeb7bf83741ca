"""Has other threads stop before the interpreter ends. Floor 1.

Python ends a daemon thread when it comes back from code that runs without the interpreter's lock,
by unwinding its stack. Where that is JAX's, in C++, the process is aborted with "FATAL: exception
not rethrown". So threads that still compute when the program has come to its end wait where they
would run something next, and the end waits for those that are running.

It does not wait for the compiler (``ahead``), which nobody can stop: the process ends while that is
at work.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from . import ahead, calls, values

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Seconds that the end waits for threads that are inside this package or JAX.
PATIENCE = 5.0
#: And for the compiler.
MOMENT = 0.05
#: And the most that Python may take to end while another thread is inside XLA.
LAST = 60
_forever = threading.Lock()


def _wait(*_args: object) -> None:
    if threading.get_ident() != threading.main_thread().ident:
        with _forever:
            pass


def _stopped(frame: FrameType | None) -> bool:
    """Whether a thread waits here, or does nothing that goes into JAX."""
    inside = False
    while frame is not None:
        if frame.f_code is _wait.__code__ or ahead.waits(frame):
            return True
        inside = inside or frame.f_globals.get("__name__", "").partition(".")[0] in (
            "jtorch",
            "jax",
            "jaxlib",
        )
        frame = frame.f_back
    return not inside


def _after_waiting(run: Callable[..., object]) -> Function:
    def waits(*args: object) -> object:
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
    others = set(sys._current_frames()) - {threading.get_ident()}
    compiler = ahead.thread()
    if compiler in others and not _all_stopped({compiler}, MOMENT) and _left_alone():
        others.remove(compiler)
    _all_stopped(others, PATIENCE)


def _all_stopped(threads: set[int], seconds: float) -> bool:
    """Waits some time for threads to stop; whether they have."""
    until = time.monotonic() + seconds
    while not all(
        _stopped(frame) for ident, frame in sys._current_frames().items() if ident in threads
    ):
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True


def _left_alone() -> bool:
    """Sees to it that the process can end, with its own status, while a thread is inside XLA;
    whether that can be done here.

    When Python has ended, the process ends at once, before what that thread works with is taken
    apart. If it comes back while Python ends, its stack is unwound and it aborts (see above): then
    it stops for ever instead, and what the C++ library says of it on the error output is not shown;
    Python has its own way there. Should the thread that ends Python abort, for a reason of its own,
    it would stop as well: then the clock ends the process, with the status of SIGALRM.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "on_exit"):  # glibc's
        return False
    try:
        sys.stderr.flush()
        own = open(  # noqa: SIM115
            os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
        )
        if sys.stderr is sys.__stderr__:
            sys.stderr = own
        sys.__stderr__ = own
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    except (AttributeError, OSError, ValueError):  # no error output
        pass
    libc.fflush(None)
    end, stop = (ctypes.cast(f, ctypes.c_void_p) for f in (libc._exit, libc.pause))
    libc.on_exit(end, None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGABRT, stop)
    # What modules hold lives on: Python would free it, XLA's client as well, while that thread
    # works with it.
    held = [dict(getattr(module, "__dict__", ())) for module in list(sys.modules.values())]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
    signal.setitimer(signal.ITIMER_REAL, 0)  # a program's own alarm is past its end
    libc.signal(signal.SIGALRM, None)
    libc.alarm(LAST)
    return True


def watch() -> None:
    """Has the end of the program looked after."""
    atexit.register(_at_exit)
