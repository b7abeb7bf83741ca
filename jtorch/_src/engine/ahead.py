"""Compiling ahead: one other thread compiles what will be wanted soon, while the program goes on as
it was. Floor 1.

What is compiled, and when it is taken into use, follows from counts alone (``tiers``): who comes to
that point before the compiler is done waits there. So this thread changes how long a program takes
and nothing else. It runs XLA only, which needs no lock of Python's; what has to be traced and
lowered the program's own thread hands over. There is no such thread where the process has one
processor, or may not compile.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import values

#: Results that nobody has asked for yet, of which the oldest are dropped: they are on disk, too.
MANY = 8
#: Seconds that a fork waits for what is being compiled.
PATIENCE = 30.0


class Job:
    """Something to be made. ``result`` waits for it; None if it could not be made, which is
    nobody's fault until it is tried again."""

    __slots__ = ("_made", "done", "make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make: Callable[[], Any] | None = make
        self.done = threading.Event()
        self._made = None

    def run(self) -> None:
        """Makes it."""
        make, self.make = self.make, None
        try:
            assert make is not None
            self._made = make()
        except Exception as error:
            _report(error)
        finally:
            self.done.set()

    def result(self) -> Any:
        """What was made, once it is."""
        self.done.wait()
        return self._made


_jobs: dict[str, Job] = {}
_queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
_thread: threading.Thread | None = None
#: Held while something is being compiled, and while the process forks.
_busy = threading.Lock()
_paused: list[bool] = []
_reported = False


def possible() -> bool:
    """Whether there is a processor for it."""
    if (
        values.alone is not None
        or values.lost is not None
        or os.environ.get("JTORCH_COMPILE_AHEAD", "1") == "0"
    ):
        return False
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ) > 1


def submit(key: str, make: Callable[[], object]) -> None:
    """Has something made by the other thread, to be asked for under a key."""
    global _thread
    if key in _jobs:
        return
    finished = [k for k, job in list(_jobs.items()) if job.done.is_set()]
    for k in finished[: max(0, len(finished) - MANY)]:
        _jobs.pop(k, None)
    _jobs[key] = job = Job(make)
    _queue.put(job)
    if _thread is None or not _thread.is_alive():
        # daemon: nobody waits for it to end
        _thread = threading.Thread(target=_work, name="jtorch compiler", daemon=True)
        _thread.start()


def taken(key: str) -> Any:
    """What was submitted under a key, waiting for it; None if nothing was, or it could not be
    made."""
    job = _jobs.get(key)
    if job is None:
        return None
    found = job.result()
    _jobs.pop(key, None)
    return found


def submitted(key: str) -> bool:
    """Whether something was submitted under a key that nobody has taken."""
    return key in _jobs


def _work() -> None:
    while True:
        job = _next()
        with _busy:
            if values.lost is not None:  # the program has come to its end
                continue
            job.run()
        del job


def _next() -> Job:
    while True:
        job = _queue.get()
        if values.lost is None:
            return job


def waits(frame: FrameType) -> bool:
    """Whether a thread's frame is that of the compiler with nothing to do."""
    return frame.f_code is _next.__code__


def thread() -> int | None:
    """The identity of the thread that compiles."""
    return None if _thread is None else _thread.ident


def _report(error: Exception) -> None:
    """Says once that something could not be compiled ahead: it is compiled where it is needed, and
    raises there what it raises."""
    global _reported
    if not _reported:
        _reported = True
        text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        logging.getLogger("jtorch").warning(
            "compiling ahead of use failed (%s); compiling again where it is needed", text
        )


def pause() -> None:
    """Before a fork: lets what is being compiled come to its end, and nothing new begin, so that no
    lock of the compiler's is held."""
    _paused.append(_thread is not None and _busy.acquire(timeout=PATIENCE))


def resume() -> None:
    """After a fork, in the parent."""
    if _paused and _paused.pop():
        _busy.release()


def forked() -> None:
    """Forgets, in a child process, the thread that is not there, and what it was to do."""
    global _thread, _busy, _queue
    _thread, _busy, _queue = None, threading.Lock(), queue.SimpleQueue()
    _paused.clear()
    with contextlib.suppress(RuntimeError):
        _jobs.clear()
