"""Parts of ``DataLoader`` that packages build loaders of their own with."""

from __future__ import annotations

import os
import queue
import threading

import pytest

import jtorch as torch
from jtorch.utils.data._utils import (
    HAS_NUMPY,
    MP_STATUS_CHECK_INTERVAL,
    pin_memory,
    python_exit_status,
    signal_handling,
)
from jtorch.utils.data._utils.worker import ManagerWatchdog, _ResumeIteration
from jtorch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn


def test_facts_that_loaders_ask() -> None:
    assert HAS_NUMPY is True
    assert python_exit_status is False
    assert MP_STATUS_CHECK_INTERVAL == 5.0
    assert _ResumeIteration().seed is None
    assert _ResumeIteration(3) == _ResumeIteration(seed=3)
    assert ManagerWatchdog().is_alive()


def test_iterators_of_packages_find_the_state_of_ours() -> None:
    class Own(_BaseDataLoaderIter):
        def _next_data(self) -> object:
            return (
                self._next_index(),
                self._pin_memory,
                self._pin_memory_device,
                self._world_size,
                self._rank,
            )

    assert next(Own(torch.utils.data.DataLoader(list(range(4)), batch_size=2))) == (
        [0, 1],
        False,
        None,
        1,
        0,
    )


def test_workers_are_known_once() -> None:
    with pytest.raises(TypeError, match="expects a tuple for child_pids, but got int"):
        signal_handling._set_worker_pids(-1, 3)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="Cannot find worker information for _BaseDataLoaderIter with id -1"
    ):
        signal_handling._remove_worker_pids(-1)
    signal_handling._set_worker_pids(-1, (os.getpid(),))
    try:
        with pytest.raises(ValueError, match="should be called only once"):
            signal_handling._set_worker_pids(-1, ())
        # a process that is no child of this one says nothing
        signal_handling._error_if_any_worker_fails()
    finally:
        signal_handling._remove_worker_pids(-1)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("exit 3", "exited unexpectedly with exit code 3"),
        ("kill -9 $$", "is killed by signal: Killed"),
    ],
)
def test_the_death_of_a_worker_is_told_once(end: str, words: str) -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", end], dict(os.environ))
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    signal_handling._set_worker_pids(-2, (pid,))
    try:
        with pytest.raises(RuntimeError, match=f"DataLoader worker \\(pid {pid}\\) {words}"):
            signal_handling._error_if_any_worker_fails()
        signal_handling._error_if_any_worker_fails()
    finally:
        signal_handling._remove_worker_pids(-2)
        os.waitpid(pid, 0)  # it was left for us


def test_a_thread_that_pins_passes_batches_on() -> None:
    given: queue.Queue[object] = queue.Queue()
    taken: queue.Queue[object] = queue.Queue()
    done = threading.Event()
    thread = threading.Thread(
        target=pin_memory._pin_memory_loop, args=(given, taken, 0, done, None)
    )
    thread.start()
    try:
        given.put((7, [[1, 2]]))
        number, (batch,) = taken.get(timeout=60)  # type: ignore[misc]
        assert number == 7
        assert batch == [1, 2]
    finally:
        done.set()
        given.put((8, []))
        thread.join(timeout=60)
    assert not thread.is_alive()


def test_sharding_asks_for_a_worker() -> None:
    with pytest.raises(AssertionError, match="Worker info is None"):
        _sharding_worker_init_fn(None, 1, 0, 0)


def test_names_of_threads() -> None:
    found = []

    def name_and_ask() -> None:
        torch.multiprocessing._set_thread_name("jt_named")
        found.append(torch.multiprocessing._get_thread_name())

    thread = threading.Thread(target=name_and_ask)
    thread.start()
    thread.join()
    assert found == (["jt_named"] if os.path.exists("/proc/thread-self/comm") else [""])


def test_vitals_are_deprecated() -> None:
    with pytest.warns(UserWarning, match="'set_vital' is deprecated, please do not call"):
        assert torch.set_vital("Dataloader", "enabled", "True") is None
