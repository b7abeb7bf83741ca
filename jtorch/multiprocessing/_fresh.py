"""Processes as fresh as those of ``spawn``, forked from one that has imported jtorch and run
nothing (decision 0069).

What a process is given and cannot be sent is inherited: then it is a fork of the program, which
computes what NumPy can.
"""

from __future__ import annotations

import atexit
import io
import multiprocessing as _python
import os
import pickle
import signal
import sys
import threading
import warnings
from multiprocessing import context as _contexts
from multiprocessing import popen_fork, reduction, resource_tracker, spawn, util
from typing import Any

import numpy as np

from jtorch.utils.data._utils import nursery

#: What these variables say is read when modules are imported: processes that have others import
#: them anew.
_READ_EARLY = (
    "BLIS",
    "GOTO",
    "JAX",
    "JTORCH",
    "KMP",
    "LD_",
    "MKL",
    "NUMEXPR",
    "OMP",
    "OPENBLAS",
    "PYTHON",
    "TF_",
    "XLA",
)
#: How many of the open files that a process is handed are not its object's: what it reads, its
#: outputs, and two more.
_OWN_FILES = 5

_lock = threading.RLock()
_nursery: nursery.Nursery | None = None
_early: dict[str, str] = {}
#: In a process that was made here: the open files that its parent named.
_inherited: list[int] = []


def _read_early() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_READ_EARLY)}


def _source() -> nursery.Nursery | None:
    """The process that others are forked from; None where they must be started one by one."""
    global _nursery, _early
    if not nursery.can_be() or os.fsdecode(spawn.get_executable()) != sys.executable:
        return None
    with _lock:
        if _nursery is None or not _nursery.alive:
            root = os.path.dirname(os.path.dirname(sys.modules["jtorch"].__file__ or ""))
            command = (
                f"import sys; sys.path[:0] = {[root]!r}; from {__name__} import main; main({{fd}})"
            )
            _early = _read_early()
            _nursery = nursery.Nursery(
                command, dict(os.environ), util._args_from_interpreter_flags()
            )
            # after those that it made were waited for
            util.Finalize(_nursery, _nursery.close, exitpriority=-10)
        return _nursery if _early == _read_early() else None


def _in_fork() -> None:
    global _lock, _nursery
    _lock = threading.RLock()  # another thread may have held it
    if _nursery is not None:
        _nursery.leave()
        _nursery = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)


class _File:
    """An open file of the parent, by its place among those that were passed on."""

    def __init__(self, place: int) -> None:
        self.place = place

    def detach(self) -> int:
        """Its number in the process that asks."""
        return _inherited[self.place]


class _Popen(popen_fork.Popen):
    """A process that is forked from the nursery."""

    method = "spawn"
    DupFd = _File

    def __init__(self, process_obj: Any, source: nursery.Nursery) -> None:
        self._files: list[int] = []
        self._source = source
        super().__init__(process_obj)

    def duplicate_for_child(self, fd: int) -> int:
        """Passes an open file on; its place among those."""
        self._files.append(fd)
        return len(self._files) - 1

    def _launch(self, process_obj: Any) -> None:
        message = io.BytesIO()
        tracker: Any = resource_tracker.getfd()
        _contexts.set_spawning_popen(self)
        try:
            reduction.dump((dict(os.environ), os.getcwd()), message)
            reduction.dump(spawn.get_preparation_data(process_obj._name), message)
            reduction.dump(process_obj, message)
        except Exception as error:
            raise _CannotBeSent from error
        finally:
            _contexts.set_spawning_popen(None)
        if len(self._files) > nursery.MOST_FILES - _OWN_FILES:
            raise _CannotBeSent
        # the process holds the other end: this one is at its end when the process is
        ended, held = os.pipe()
        theirs, ours = os.pipe()
        try:
            self._child = self._source.fork(theirs, held, tracker, *self._files)
        except OSError:
            os.close(ended)
            os.close(ours)
            raise
        finally:
            os.close(held)
            os.close(theirs)
        self.sentinel = ended
        self.finalizer = util.Finalize(self, util.close_fds, (ended, ours))
        self.pid = self._child.pid
        try:
            with open(ours, "wb", closefd=False) as file:
                file.write(message.getbuffer())
        # it has ended already, which is for those to notice who wait for it
        except BrokenPipeError:
            pass

    def poll(self, flag: int = os.WNOHANG) -> int | None:
        """What the process ended with; None while it runs, unless ``flag`` is 0, which waits."""
        if self.returncode is None:
            self.returncode = self._child.poll() if flag == os.WNOHANG else self._child.wait()
        return self.returncode

    def _send_signal(self, sig: int) -> None:
        self._child.send_signal(sig)


class _CannotBeSent(Exception):
    pass


def start(process_obj: Any) -> Any:
    """Starts a process; what stands for it."""
    source = _source()
    if source is None:
        return _contexts.SpawnProcess._Popen(process_obj)
    try:
        return _Popen(process_obj, source)
    except OSError:  # the nursery has gone this moment
        source.close()
        return _contexts.SpawnProcess._Popen(process_obj)
    except _CannotBeSent:
        with warnings.catch_warnings():
            # JAX's: the fork leaves XLA alone
            warnings.filterwarnings("ignore", message=r".*fork\(\)")
            return popen_fork.Popen(process_obj)


class FreshProcess(_contexts.SpawnProcess):
    """A process of ``FreshContext``."""

    @staticmethod
    def _Popen(process_obj: object) -> object:
        return start(process_obj)


class FreshContext(_contexts.SpawnContext):
    """``spawn`` to those who ask, whose processes are forks of one that has run nothing."""

    Process = FreshProcess


# ---- in the nursery, and in the processes --------------------------------------------------------


def main(fd: int) -> None:
    """The life of the nursery whose socket to the program is ``fd``."""
    nursery.main(fd, _live)


def _live(files: list[int]) -> None:
    """The life of a process. It never comes back."""
    for file in files:
        os.set_inheritable(file, False)
    source, _held, tracker, *_inherited[:] = files
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource_tracker._resource_tracker._fd = tracker
    np.random.seed()  # Python's own generator has been seeded anew by the fork
    process: Any = _python.current_process()
    process._inheriting = True
    parent = os.dup(source)
    with open(source, "rb") as message:
        environment, folder = pickle.load(message)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        try:
            spawn.prepare(pickle.load(message))
            process_obj = pickle.load(message)
        finally:
            del process._inheriting
    code = process_obj._bootstrap(parent_sentinel=parent)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
