"""What runs in a worker process: it waits for jobs, and in each job for indices whose batches it
sends back.

Processes are no forks of the main process, since a fork of a process that runs XLA is one without
XLA's threads: they are forks of one that has run nothing (``nursery.py``), or are started afresh.
They are kept for the next iterator, so that only the first epoch pays for their start. Their
messages are pickles; what the main program defined (classes and functions of ``__main__``, lambdas)
travels by value, so the program is not run again in the worker.

What cannot travel (locks, queues and values of ``multiprocessing``, classes of modules that nobody
else finds) is inherited: then the workers are forks, which compute what NumPy can.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from jtorch._src.tensor import shared_memory
from jtorch._utils import ExceptionWrapper

from . import pipes, transport
from .fetch import _DatasetKind


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, and its copy of the
    dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: object = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The ``WorkerInfo`` of the process that calls this, or None outside of workers."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent in place of a batch when a worker's stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Sent to a worker that packages write: the next epoch begins."""

    seed: int | None = None


class ManagerWatchdog:
    """What a worker asks whether the process that started it is still there."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """Whether it is."""
        return os.getppid() == self.manager_pid


class NotLoaded(ExceptionWrapper):
    """Sent in place of a batch by a worker that could not load its job: a module that it names
    cannot be imported there."""


@dataclass
class Job:
    """What a worker is to do for one iterator."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    worker_id: int
    num_workers: int
    shared_seed: int | None = None
    #: How many processes there are, and which of them this is a worker of.
    place: tuple[int, int] = (1, 0)
    #: How memory that processes share is passed on.
    sharing: str = shared_memory.STRATEGY[0]


#: Messages to a worker besides ``(number, indices)``: ``(RESUME, shared seed)`` and ``END``.
RESUME, END = "resume", "end"


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's generator in a worker."""
    import numpy as np

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in np.random.SeedSequence(words).generate_state(4)]


def seed_everything(base_seed: int, worker_id: int) -> int:
    """Seeds the generators of Python, jtorch and NumPy as PyTorch's workers do; returns the
    worker's seed."""
    import numpy as np

    import jtorch as torch

    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    np.random.seed(_generate_state(base_seed, worker_id))
    return seed


def run_job(connection: Connection, payload: transport.Packed | Job) -> bool:
    """Serves one iterator; False when the main process is gone."""
    global _worker_info
    job = None
    failure = fetcher = None
    kind, worker_id = -1, "?"

    def make_fetcher() -> Any:
        return _DatasetKind.create_fetcher(
            kind, job.dataset, job.auto_collation, job.collate_fn, job.drop_last
        )

    try:
        try:
            job = payload if isinstance(payload, Job) else transport.loads(payload)
        except Exception:
            failure = NotLoaded(where=f"in DataLoader worker process {worker_id}")
            raise
        kind, worker_id = job.kind, job.worker_id
        shared_memory.STRATEGY[0] = job.sharing
        seed = seed_everything(job.base_seed, worker_id)
        _worker_info = WorkerInfo(
            id=worker_id, num_workers=job.num_workers, seed=seed, dataset=job.dataset
        )
        if job.shared_seed is not None:
            pipes.sow(job.dataset, job.shared_seed)
        if pipes.is_pipe(job.dataset):
            processes, rank = job.place  # first over the processes, then over their workers
            pipes.shard(job.dataset, job.num_workers * processes, worker_id * processes + rank)
        if job.init_fn is not None:
            job.init_fn(worker_id)
        fetcher = make_fetcher()
    except Exception:
        failure = failure or ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
    ended = False
    while True:
        try:
            message = transport.loads(transport.receive(connection))
        except (EOFError, OSError):
            return False
        if message == END:
            _worker_info = None
            return True
        if message[0] == RESUME:
            ended = False
            try:
                if message[1] is not None:
                    pipes.sow(job.dataset, message[1])
                fetcher = make_fetcher()
            except Exception:
                failure = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
            continue
        number, index = message
        if ended:
            continue
        data: Any
        if failure is not None:
            data, failure = failure, None
        else:
            try:
                data = fetcher.fetch(index)
            except StopIteration:
                if kind == _DatasetKind.Iterable:
                    data, ended = _IterableDatasetStopIteration(worker_id), True  # type: ignore[arg-type]
                else:
                    data = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
            except Exception:
                data = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
        try:
            packed = transport.dumps((number, data))
        except Exception:  # a batch that cannot be sent
            packed = transport.dumps(
                (number, ExceptionWrapper(where=f"in DataLoader worker process {worker_id}"))
            )
        try:
            transport.send(connection, packed)
        except OSError:
            return False


def main_of_fork(fd: int, job: Job, others: list[Connection]) -> None:
    """The life of a forked worker process, which has its job from its parent; ``others`` are
    connections that are not its own."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # whoever holds an end keeps the other side from noticing that its process has gone
    for connection in others:
        connection.close()
    connection = Connection(fd)
    try:
        run_job(connection, job)
    finally:
        connection.close()


def main(fd: int) -> None:
    """The life of a worker process whose connection to the main process is ``fd``."""
    import signal

    # Ctrl-C is the main process's business; it ends the workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Connection(fd)
    try:
        setup = transport.loads(transport.receive(connection))
        os.environ.clear()
        os.environ.update(setup["environment"])
        sys.path[:] = setup["path"]
        sys.argv[:] = setup["argv"]
        os.chdir(setup["cwd"])
        multiprocessing.current_process().authkey = setup["authkey"]
        shared_memory.FIRST[0] = False
        if setup["install"]:
            import jtorch

            jtorch.install()
        while True:
            try:
                payload = transport.receive(connection)
            except (EOFError, OSError):
                break
            if not run_job(connection, payload):
                break
    finally:
        connection.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # threads of XLA need no farewell
