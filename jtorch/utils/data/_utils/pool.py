"""Worker processes as the main process sees them: started on demand, lent to iterators, kept while idle."""

from __future__ import annotations

import atexit
import os
import queue
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from jtorch import _kept_files
from jtorch.install import is_installed

from . import transport
from .worker import END

_START = "import sys; sys.path[:0] = {path!r}; from jtorch.utils.data._utils.worker import main; main({fd})"


class Worker:
    """One worker process. A thread reads its messages, so that it never waits for the main process to take them.

    Attributes:
        results: where messages go, as ``(worker, bytes)``; None instead of bytes when the process has gone.
        job: counts the iterators it served, to tell late results of one from those of the next.
    """

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        package_root = os.path.dirname(os.path.dirname(sys.modules["jtorch"].__file__ or ""))
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",  # the accelerator belongs to the main process
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip(),
        }
        if _kept_files.refused():
            environment["JTORCH_CACHE"] = "0"
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _START.format(path=[package_root], fd=theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self.connection = Connection(ours.detach())
        self.results: queue.SimpleQueue[tuple[Worker, bytes | None]] = queue.SimpleQueue()
        self.job = 0
        # A script's own folder is in sys.path as '' or relative in places; the worker starts in the same directory.
        self.send({"path": list(sys.path), "argv": list(sys.argv), "cwd": os.getcwd(), "install": is_installed()})
        self.reader = threading.Thread(target=self._read, daemon=True, name="jtorch-data-reader")
        self.reader.start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def send(self, message: Any) -> None:
        """Sends a message; a process that has gone is noticed by the reader."""
        try:
            self.connection.send_bytes(transport.dumps(message))
        except OSError:
            pass

    def send_packed(self, message: bytes) -> None:
        """Sends what ``transport.dumps`` made."""
        try:
            self.connection.send_bytes(message)
        except OSError:
            pass

    def _read(self) -> None:
        while True:
            try:
                message = self.connection.recv_bytes()
            except (EOFError, OSError):
                self.results.put((self, None))
                return
            self.results.put((self, message))

    def stop(self) -> None:
        """Ends the process."""
        if self.is_alive():
            self.process.terminate()
            try:
                self.process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.connection.close()


#: Who holds it may come by again: making a worker can collect an iterator, which gives its own workers back.
_lock = threading.RLock()
_idle: list[Worker] = []
_all: set[Worker] = set()
#: Workers beyond this number are ended when their iterator is.
MAX_IDLE = 16


def take(count: int, results: queue.SimpleQueue[tuple[Worker, bytes | None]]) -> list[Worker]:
    """``count`` workers that wait for a job, whose messages go to ``results``."""
    with _lock:
        taken = []
        while _idle and len(taken) < count:
            worker = _idle.pop()
            if worker.is_alive():
                taken.append(worker)
            else:
                _all.discard(worker)
        while len(taken) < count:
            worker = Worker()
            _all.add(worker)
            taken.append(worker)
    for worker in taken:
        worker.job += 1
        worker.results = results
    return taken


def give_back(worker: Worker, healthy: bool = True) -> None:
    """Keeps a worker for the next iterator, or ends it if it is not ``healthy`` or enough are idle.

    What it was still asked for it computes first; those late results are dropped by their job's number.
    """
    with _lock:
        if healthy and worker.is_alive() and len(_idle) < MAX_IDLE:
            worker.send(END)
            worker.results = queue.SimpleQueue()
            _idle.append(worker)
            return
        _all.discard(worker)
    worker.stop()


@atexit.register
def _stop_all() -> None:
    with _lock:
        workers = list(_all)
        _all.clear()
        _idle.clear()
    for worker in workers:
        worker.stop()
