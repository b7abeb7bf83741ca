"""Worker processes as the main process sees them: started on demand, lent to iterators, kept while
idle."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import warnings
from multiprocessing.connection import Connection, wait
from typing import Any

from jtorch._src.keeping import files as _kept_files
from jtorch._src.start.install import is_installed

from . import nursery, transport
from .worker import END, Job, main_of_fork

_START = (
    "import sys; sys.path[:0] = {path!r}; from jtorch.utils.data._utils.{module} import main; "
    "main({{fd}})"
)


class _Lent:
    """What workers have in common. While one is lent, a thread reads its messages, so that it never
    waits for the main process.

    Attributes:
        results: where messages go, as ``(worker, message)``; None instead of it when the process
            has gone.
        job: counts the iterators it served, to tell late results of one from those of the next.
    """

    process: Any
    reusable = True

    def _begin(self, connection: Connection) -> None:
        self.connection = connection
        self.results: queue.SimpleQueue[tuple[Any, transport.Packed | None]] = queue.SimpleQueue()
        self.job = 0
        self.reader: threading.Thread | None = None
        self._bell, self._rope = multiprocessing.Pipe(duplex=False)

    def lend(self, results: queue.SimpleQueue[tuple[Any, transport.Packed | None]]) -> None:
        """Begins to read its messages, which go to ``results``."""
        self.job += 1
        self.results = results
        self.reader = threading.Thread(target=self._read, daemon=True, name="jtorch-data-reader")
        self.reader.start()

    def rest(self) -> None:
        """No longer reads its messages. The next one to whom it is lent gets those that are late,
        and drops them."""
        reader, self.reader = self.reader, None
        if reader is not None and reader.is_alive():
            self._rope.send_bytes(b"!")
            if reader is not threading.current_thread():  # which may have collected the iterator
                reader.join(1)

    def forget(self) -> None:
        """Closes what a fork of the main process has of it, since whoever holds an end keeps the
        other side from noticing its end."""
        for end in (self.connection, self._bell, self._rope):
            end.close()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    def send(self, message: tuple[object, ...] | dict[str, object] | str) -> None:
        """Sends a message; a process that has gone is noticed by the reader."""
        self.send_packed(transport.dumps(message))

    def send_packed(self, message: transport.Packed) -> None:
        """Sends what ``transport.dumps`` made."""
        try:
            transport.send(self.connection, message)
        except OSError:
            pass

    def _read(self) -> None:
        while True:
            try:
                if self._bell in wait([self.connection, self._bell]):
                    self._bell.recv_bytes()
                    return
                message = transport.receive(self.connection)
            except (EOFError, OSError, ValueError):
                self.results.put((self, None))
                return
            self.results.put((self, message))

    def is_alive(self) -> bool:
        """Whether the process runs."""
        raise NotImplementedError

    def join(self, timeout: float | None = None) -> None:
        """Waits for the process to end, for ``timeout`` seconds at most."""
        raise NotImplementedError

    def terminate(self) -> None:
        """Asks the process to end."""
        self.process.terminate()

    def kill(self) -> None:
        """Ends the process."""
        self.process.kill()

    def stop(self) -> None:
        """Ends the process."""
        if self.is_alive():
            self.terminate()
            self.join(2)
            if self.is_alive():
                self.kill()
                self.join()
        self.rest()
        self.connection.close()


class ForkedWorker(_Lent):
    """A worker that is a fork of this process, and so has its job without its being sent. It serves
    one iterator."""

    reusable = False

    def __init__(self, job: Job, number: int) -> None:
        ours, theirs = socket.socketpair()
        connection = Connection(ours.detach())
        with theirs, warnings.catch_warnings():
            # JAX's: the fork leaves XLA alone
            warnings.filterwarnings("ignore", message=r".*fork\(\)", category=RuntimeWarning)
            warnings.filterwarnings("ignore", message=r".*fork\(\)", category=DeprecationWarning)
            context: Any = multiprocessing.get_context("fork")
            others = [connection, *[worker.connection for worker in _all]]
            self.process = context.Process(
                target=main_of_fork, args=(theirs.fileno(), job, others), daemon=True
            )
            self.process.name = f"DataLoaderWorker-{number}"
            self.process.start()
        self._begin(connection)

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """Waits for the process to end, for ``timeout`` seconds at most."""
        self.process.join(timeout)

    @property
    def exitcode(self) -> int | None:
        """What the process ended with; None while it runs."""
        return self.process.exitcode


class Worker(_Lent):
    """A process that was started afresh, or forked from one that was."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = _environment()
        with theirs:
            self.process = _forked(theirs.fileno()) or subprocess.Popen(
                [sys.executable, "-c", _command("worker").format(fd=theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self._begin(Connection(ours.detach()))
        # A script's own folder is in sys.path as '' or relative in places; the worker starts in the
        # same directory.
        self.send(
            {
                "path": list(sys.path),
                "argv": list(sys.argv),
                "cwd": os.getcwd(),
                "environment": environment,
                "install": is_installed(),
                "authkey": bytes(multiprocessing.current_process().authkey),
            }
        )

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def join(self, timeout: float | None = None) -> None:
        """Waits for the process to end, for ``timeout`` seconds at most."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass

    @property
    def exitcode(self) -> int | None:
        """What the process ended with; None while it runs."""
        return self.process.poll()


def _environment() -> dict[str, str]:
    """The environment variables of workers."""
    found = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",  # the accelerator belongs to the main process
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip(),  # noqa: E501
    }
    if _kept_files.refused():
        found["JTORCH_CACHE"] = "0"
    return found


def _command(module: str) -> str:
    package_root = os.path.dirname(os.path.dirname(sys.modules["jtorch"].__file__ or ""))
    return _START.format(path=[package_root], module=module)


_nursery: nursery.Nursery | None = None


def prepare(count: int) -> None:
    """Starts the process that workers are forked from if fewer than ``count`` are idle: it imports
    what they need meanwhile."""
    global _nursery
    with _lock:
        if len(_idle) < count and (_nursery is None or not _nursery.alive) and nursery.can_be():
            if _nursery is not None:
                _nursery.close()
            _nursery = nursery.Nursery(_command("nursery"), _environment())


def _forked(fd: int) -> nursery.Child | None:
    """A fork of that process, which has the open file ``fd``; None where there is none."""
    prepare(len(_idle) + 1)
    if _nursery is None:
        return None
    try:
        return _nursery.fork(fd)
    except OSError:  # it has gone this moment
        _nursery.close()
        return None


class Lease:
    """What an iterator holds of a worker started afresh. It ends when the worker is given back,
    whose process may wait for the next one.

    Attributes:
        worker: who is lent; all that is not told here is asked of it.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._ended = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.worker, name)

    def end(self) -> None:
        """The worker is no longer this iterator's."""
        self._ended.set()

    def is_alive(self) -> bool:
        """Whether the worker serves the iterator."""
        return not self._ended.is_set() and self.worker.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """Waits for it to be given back, or to end, for ``timeout`` seconds at most."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.is_alive() and (deadline is None or time.monotonic() < deadline):
            self._ended.wait(0.05)

    @property
    def exitcode(self) -> int | None:
        """0 if it was given back; else what the process ended with, None while it runs."""
        return 0 if self._ended.is_set() else self.worker.exitcode

    def terminate(self) -> None:
        """Asks the process to end, while it is this iterator's."""
        if not self._ended.is_set():
            self.worker.terminate()

    def kill(self) -> None:
        """Ends the process, while it is this iterator's."""
        if not self._ended.is_set():
            self.worker.kill()


#: Who holds it may come by again: making a worker can collect an iterator, which gives its own
#: workers back.
_lock = threading.RLock()
_idle: list[Worker] = []
_all: set[_Lent] = set()
#: Workers beyond this number are ended when their iterator is.
MAX_IDLE = 16


def take(
    count: int, results: queue.SimpleQueue[tuple[_Lent, transport.Packed | None]]
) -> list[Lease]:
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
        worker.lend(results)
    return [Lease(worker) for worker in taken]


def fork(
    jobs: list[Job], results: queue.SimpleQueue[tuple[_Lent, transport.Packed | None]]
) -> list[_Lent]:
    """Workers that are forks of this process, one for each job, which they begin at once; their
    messages go to ``results``."""
    with _lock:
        taken: list[_Lent] = []
        for number, job in enumerate(jobs):
            worker = ForkedWorker(job, number)
            worker.lend(results)
            _all.add(worker)
            taken.append(worker)
    return taken


def give_back(lent: _Lent | Lease, healthy: bool = True) -> None:
    """Keeps a worker for the next iterator, or ends it if it is not ``healthy`` or enough are idle.

    What it was still asked for it computes first; those late results are dropped by their job's
    number.
    """
    worker: _Lent = lent.worker if isinstance(lent, Lease) else lent
    if healthy and worker.is_alive() and isinstance(lent, Lease):
        lent.end()
    worker.rest()
    with _lock:
        if healthy and worker.reusable and worker.is_alive() and len(_idle) < MAX_IDLE:
            worker.send(END)
            worker.results = queue.SimpleQueue()
            _idle.append(worker)  # type: ignore[arg-type]
            return
        _all.discard(worker)
    if healthy and worker.is_alive():
        worker.send(END)
        worker.join(5)
    worker.stop()


@atexit.register
def _stop_all() -> None:
    with _lock:
        workers = list(_all)
        _all.clear()
        _idle.clear()
    for worker in workers:
        worker.stop()
    if _nursery is not None:
        _nursery.close()


#: What a fork of the main process has of the main process's workers. It is none of its business,
#: and must not be waited for.
_inherited: list[object] = []


def _in_fork() -> None:
    global _lock, _nursery
    _lock = threading.RLock()  # another thread may have held it
    for worker in _all:
        worker.forget()
    _inherited.extend(_all)
    _all.clear()
    _idle.clear()
    if _nursery is not None:
        _nursery.leave()
        _inherited.append(_nursery)
        _nursery = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_fork)
