"""Signals of worker processes, for loaders that packages write themselves: the deaths of workers
are told in the main process.

The workers of this package's ``DataLoader`` are watched through their connections instead.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

_PIDS: dict[int, tuple[int, ...]] = {}
_handler_set = False


def _set_worker_signal_handlers() -> None:
    """Does nothing: Python tells of fatal signals by itself, ``faulthandler.enable`` where."""


def _set_worker_pids(loader_id: int, child_pids: tuple[int, ...]) -> None:
    """Says which processes work for an iterator.

    Raises:
        TypeError: if they are no tuple.
        ValueError: if the iterator's are known already.
    """
    if not isinstance(child_pids, tuple):
        raise TypeError(
            f"_set_worker_pids expects a tuple for child_pids, but got {type(child_pids).__name__}."
        )
    if loader_id in _PIDS:
        raise ValueError(
            "_set_worker_pids should be called only once for each _BaseDataLoaderIter."
        )
    _PIDS[loader_id] = child_pids


def _remove_worker_pids(loader_id: int) -> None:
    """Forgets the processes of an iterator.

    Raises:
        ValueError: if none are known.
    """
    if _PIDS.pop(loader_id, None) is None:
        raise ValueError(
            f"Cannot find worker information for _BaseDataLoaderIter with id {loader_id}"
        )


def _error_if_any_worker_fails() -> None:
    """Looks whether a worker has died; its status is left for whoever waits for it.

    Raises:
        RuntimeError: if one has.
    """
    for loader_id, pids in list(_PIDS.items()):
        for pid in pids:
            try:
                end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                continue
            if end is None or (end.si_code == os.CLD_EXITED and end.si_status == 0):
                continue
            _PIDS[loader_id] = ()  # it is told once
            if end.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code "
                    f"{end.si_status}. Details are lost due to multiprocessing. Rerunning with "
                    "num_workers=0 may give better error trace."
                )
            raise RuntimeError(
                f"DataLoader worker (pid {pid}) is killed by signal: "
                f"{signal.strsignal(end.si_status)}. "
            )


def _set_SIGCHLD_handler() -> None:
    """Has the deaths of workers looked at when they happen; in the main thread, once."""
    global _handler_set
    if _handler_set or threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGCHLD)

    def handler(signum: int, frame: Any) -> None:
        _error_if_any_worker_fails()
        if callable(before):
            before(signum, frame)

    signal.signal(signal.SIGCHLD, handler)
    _handler_set = True
