"""The threads that record, as others see them, and the locks that a child process finds free."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from . import programs


def require_gil() -> None:
    """Refuses Python without its global lock: what threads share is changed in steps that no other
    can come between (decision 0015).

    Raises:
        RuntimeError: on free-threaded Python, unless it runs with the lock.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise RuntimeError(
            "jtorch does not support free-threaded Python yet: turn its global lock on, with "
            "PYTHON_GIL=1 or python -X gil=1"
        )


class Home:
    """A thread that records, as others see it.

    Attributes:
        lock: held while one of its traces runs, by whoever runs it. Recording needs no lock: a
            trace grows at its end, and its state is set last, so that others can run what was
            recorded by then (``run.run_for_another``).
        marks: whether its traces write into their inputs under which number they have them. That is
            the quickest way to know an input again, and only one thread can have it, the first; the
            others keep a dict.
    """

    __slots__ = ("lock", "marks", "__weakref__")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.marks = THREADS.joined(self)


class _Threads:
    """The threads that record, or whose values are pending.

    Attributes:
        many: whether there is more than one of them.
        came: how many there have been.
    """

    def __init__(self) -> None:
        self.many = False
        self.came = 0
        self.first: weakref.ref[Home] | None = None
        self.homes: dict[int, weakref.ref[Home]] = {}
        self.locks = []
        self.guard = self.new_lock()

    def joined(self, home: Home) -> bool:
        """Takes note of a thread; tells whether it may mark inputs."""
        number = id(home)
        with self.guard:
            self.homes[number] = weakref.ref(home, lambda _: self._left(number))
            self.many = len(self.homes) > 1
            self.came += 1
            marks = self.first is None or self.first() is None
            if marks:
                self.first = self.homes[number]
        return marks

    def _left(self, number: int) -> None:
        with self.guard:
            self.homes.pop(number, None)
            self.many = len(self.homes) > 1

    def new_lock(self) -> Any:
        """A lock that a child process finds free, whoever held it in the parent."""
        lock = threading.RLock()
        self.locks.append(lock)
        return lock

    def forked(self) -> None:
        """Frees, in a child process, the locks of threads that are not there."""
        for lock in (
            *self.locks,
            *[home.lock for found in list(self.homes.values()) if (home := found()) is not None],
        ):
            lock._at_fork_reinit()
        programs.forked()


THREADS = _Threads()
