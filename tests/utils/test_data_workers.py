"""Worker processes of loaders: the process that they are forked from, and what there is without
it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from jtorch.utils.data import DataLoader
from jtorch.utils.data._utils import nursery, pool


class Reports:
    """Says of the worker process what it is asked."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        return {
            "parent": os.getppid(),
            "variable": os.environ.get("OF_THE_PROGRAM"),
            "index": i,
            "pid": os.getpid(),
        }[self.what]


def first(batch: list[Any]) -> Any:
    return batch[0]


def ask(what: str, workers: int = 2) -> list[Any]:
    return list(DataLoader(Reports(what), num_workers=workers, collate_fn=first))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _new_workers() -> Any:
    """No worker of an earlier test serves."""
    pool._stop_all()
    yield
    pool._stop_all()


needs_nursery = pytest.mark.skipif(
    not nursery.can_be(), reason="workers are started one by one on this platform"
)


@needs_nursery
def test_workers_are_forks_of_a_process_that_their_loader_prepares() -> None:
    loader = DataLoader(Reports("parent"), num_workers=2, collate_fn=first)  # type: ignore[arg-type]
    prepared = pool._nursery
    assert prepared is not None
    assert list(loader) == [prepared.process.pid] * 2
    assert pool._nursery is prepared


@needs_nursery
def test_another_is_started_where_one_has_gone() -> None:
    (parent,) = set(ask("parent"))
    iterator = iter(DataLoader(Reports("pid"), num_workers=1, collate_fn=first))  # type: ignore[arg-type]
    pid = next(iterator)
    os.kill(parent, signal.SIGKILL)
    assert pool._nursery is not None
    pool._nursery.process.wait()
    assert next(iterator) == pid  # which goes on
    (worker,) = [w for w in pool._all if w.pid == pid]
    worker.kill()
    worker.join(60)
    assert not worker.is_alive()
    pool._idle.clear()
    (other,) = set(ask("parent"))
    assert other not in (parent, os.getpid())


@needs_nursery
def test_how_a_worker_ended() -> None:
    iterator = iter(DataLoader(Reports("index"), num_workers=1, collate_fn=first))  # type: ignore[arg-type]
    (lease,) = iterator._workers
    assert lease.exitcode is None
    with pytest.raises(subprocess.TimeoutExpired):
        lease.worker.process.wait(0.01)
    lease.kill()
    lease.worker.join(60)
    assert lease.exitcode == -signal.SIGKILL
    with pytest.raises(RuntimeError, match=f"{lease.pid}.* exited unexpectedly"):
        list(iterator)


def test_the_same_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nursery, "can_be", lambda: False)
    assert ask("parent") == [os.getpid()] * 2
    assert ask("index") == [0, 1]


def test_workers_have_the_variables_that_are_set_when_they_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loader = DataLoader(Reports("variable"), num_workers=1, collate_fn=first)  # type: ignore[arg-type]
    monkeypatch.setenv("OF_THE_PROGRAM", "set later")
    assert list(loader) == ["set later"] * 2


def readers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "jtorch-data-reader"}


def test_no_thread_stays_behind() -> None:
    before = readers()
    for _ in range(3):  # the later ones are served by workers that have rested
        loader = DataLoader(Reports("index"), num_workers=2, collate_fn=first, batch_size=1)  # type: ignore[arg-type]
        iterator = iter(loader)
        assert next(iterator) == 0 and len(readers() - before) == 2
        del iterator  # the rest comes late
        assert readers() == before
        assert list(loader) == [0, 1] and readers() == before


_FORKING = """
import os, sys
from torch.utils.data import DataLoader
def numbers():
    return [t.tolist() for t in DataLoader([1, 2, 3], num_workers=1)]
assert numbers() == [[1], [2], [3]]
from torch.utils.data._utils import pool
mine = {w.pid for w in pool._all}
child = os.fork()
if child == 0:
    assert not pool._all
    assert numbers() == [[1], [2], [3]]
    assert not mine & {w.pid for w in pool._all}
    pool._stop_all()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert numbers() == [[1], [2], [3]]
assert mine == {w.pid for w in pool._all}
print(*mine, pool._nursery.process.pid if pool._nursery else "")
"""


def test_a_fork_of_the_program_has_workers_of_its_own() -> None:
    run = [sys.executable, "-W", "ignore", "-c", "import jtorch; jtorch.install()\n" + _FORKING]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    for pid in map(int, done.stdout.split()):  # and none is left when the program has ended
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
