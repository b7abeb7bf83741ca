"""Datasets, collation and loaders, with and without worker processes."""

from __future__ import annotations

import collections
import importlib
import multiprocessing
import os
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import values
from jtorch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
    get_worker_info,
)


class Squares(Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, i: int) -> Any:
        if i == 9:
            raise KeyError("nine is missing")
        return torch.tensor(i * i), i


class Stream(IterableDataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        first, every = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.n, every))


class Behaviour(Dataset):
    """Does what it is told in the worker."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        if self.what == "die":
            os._exit(3)
        if self.what == "sleep":
            time.sleep(30)
        if self.what == "info":
            info = get_worker_info()
            return [info.id, info.num_workers, info.seed, info.dataset is self, os.getpid()]
        if self.what == "random":
            import random

            return [random.random(), np.random.rand(), torch.rand(1).item()]
        if self.what == "unsendable":
            import threading

            return threading.Lock()
        return i


def first(batch: list[Any]) -> Any:
    return batch[0]


def test_rows_are_taken_at_once_with_the_same_result() -> None:
    x, y = torch.randn(10, 3), torch.arange(10)

    class Slow(TensorDataset):
        """Not a ``TensorDataset`` itself: takes the way of one row after the other."""

    for indices in ([[0, 3, 3], [9, -1]], [[2]]):
        fast = list(DataLoader(TensorDataset(x, y), batch_sampler=indices))
        slow = list(DataLoader(Slow(x, y), batch_sampler=indices))
        for a, b in zip(fast, slow, strict=True):
            assert type(a) is type(b) is list
            assert all(torch.equal(s, t) and s.dtype == t.dtype for s, t in zip(a, b, strict=True))
    nested = Subset(Subset(TensorDataset(x, y), [8, 6, 4, 2]), [3, 0])
    assert next(iter(DataLoader(nested, batch_size=2)))[1].tolist() == [2, 8]
    with pytest.raises(IndexError):
        list(DataLoader(TensorDataset(x, y), batch_sampler=[[10]]))


def test_rows_of_numpy_memory_are_read_when_asked_for() -> None:
    memory = np.zeros((4, 2), np.float32)
    loader = DataLoader(TensorDataset(torch.from_numpy(memory)), batch_size=4)
    memory[:] = 7
    (batch,) = next(iter(loader))
    assert batch.tolist() == [[7.0, 7.0]] * 4
    memory[:] = 8
    assert batch.tolist() == [[7.0, 7.0]] * 4


def test_rows_keep_their_history() -> None:
    x = torch.ones(4, 2, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(x), batch_size=2)))
    batch.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_collation_keeps_containers() -> None:
    Point = collections.namedtuple("Point", "x y")
    defaults = collections.defaultdict(int, a=1)
    batch = default_collate([(Point(1, 2.0), {"k": [1, "s"]}, defaults)] * 2)
    assert type(batch) is list
    assert type(batch[0]).__name__ == "Point"
    assert batch[0].y.dtype is torch.float64
    assert batch[1]["k"][1] == ("s", "s")
    assert type(batch[2]) is collections.defaultdict
    converted = default_convert((np.zeros(2), [np.float32(1)], "text"))
    assert isinstance(converted[0], torch.Tensor)
    assert converted[1][0].dtype is torch.float32
    assert converted[2] == "text"


def test_concatenation_counts_from_both_ends() -> None:
    both = ConcatDataset([[1, 2], [3]])
    assert [both[i] for i in (0, 2, -1, -3)] == [1, 3, 3, 1]
    with pytest.raises(
        ValueError, match="absolute value of index should not exceed dataset length"
    ):
        both[-4]


def test_streams_report_wrong_lengths() -> None:
    class Liar(Stream):
        def __len__(self) -> int:
            return 2

    loader = DataLoader(Liar(3), batch_size=1)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2"):
        assert len(list(loader)) == 3


def test_workers_give_batches_in_order() -> None:
    loader = DataLoader(Subset(Squares(), range(9)), batch_size=2, num_workers=2)
    assert [b[1].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]
    assert [b[0].tolist() for b in loader] == [[0, 1], [4, 9], [16, 25], [36, 49], [64]]


def test_functions_of_the_program_reach_workers() -> None:
    offset = 100
    loader = DataLoader(
        [1, 2, 3], batch_size=2, num_workers=1, collate_fn=lambda b: [x + offset for x in b]
    )
    assert list(loader) == [[101, 102], [103]]


def test_streams_in_workers() -> None:
    loader = DataLoader(Stream(7), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert sorted(x for b in loader for x in b.tolist()) == list(range(7))
    assert loader._iterator is not None
    loader._iterator._shutdown_workers()


def test_what_workers_know() -> None:
    torch.manual_seed(1)
    seen = list(DataLoader(Behaviour("info"), num_workers=2, collate_fn=first))
    assert [s[:2] for s in seen] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert seen[1][2] == seen[0][2] + 1
    assert all(s[3] for s in seen)
    assert os.getpid() not in {s[4] for s in seen}
    assert get_worker_info() is None
    again = list(DataLoader(Behaviour("info"), num_workers=2, collate_fn=first))
    assert {s[4] for s in again} == {s[4] for s in seen}  # the same processes
    assert again[0][2] != seen[0][2]  # with other seeds


def test_workers_random_numbers_follow_the_seed() -> None:
    def draw() -> list[Any]:
        torch.manual_seed(3)
        return list(DataLoader(Behaviour("random"), num_workers=2, collate_fn=first))

    once = draw()
    assert once == draw()
    assert len({x for row in once for x in row}) == 12


def test_worker_init_fn() -> None:
    def init(worker_id: int) -> None:
        info = get_worker_info()
        assert info is not None
        info.dataset.what = f"worker {worker_id}"

    class Shown(Behaviour):
        def __getitem__(self, i: int) -> Any:
            return self.what

    assert set(DataLoader(Shown(""), num_workers=2, collate_fn=first, worker_init_fn=init)) == {
        "worker 0",
        "worker 1",
    }

    def bad(worker_id: int) -> None:
        raise ValueError("no start")

    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0"):
        list(DataLoader(Behaviour(""), num_workers=1, worker_init_fn=bad))


def test_errors_come_with_their_traceback() -> None:
    loader = DataLoader(Squares(), batch_size=5, num_workers=1)
    batches = iter(loader)
    next(batches)
    with pytest.raises(KeyError) as caught:
        next(batches)
    text = str(caught.value)
    assert "Caught KeyError in DataLoader worker process 0." in text
    assert "nine is missing" in text
    assert "__getitem__" in text
    with pytest.raises(TypeError, match="pickle"):
        list(DataLoader(Behaviour("unsendable"), num_workers=1, collate_fn=first))


def test_death_and_sleep_of_workers() -> None:
    with pytest.raises(
        RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"
    ):
        list(DataLoader(Behaviour("die"), num_workers=1))
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(DataLoader(Behaviour("sleep"), num_workers=1, timeout=0.5))
    assert time.monotonic() - started < 20
    assert list(DataLoader(Behaviour(""), num_workers=1, collate_fn=first)) == [0, 1, 2, 3]


def test_an_iterator_left_early_does_not_spoil_the_next() -> None:
    loader = DataLoader(Subset(Squares(), range(9)), batch_size=1, num_workers=2, prefetch_factor=3)
    for _ in range(3):
        assert next(iter(loader))[1].tolist() == [0]
    assert [b[1].item() for b in loader] == list(range(9))


def test_too_many_workers_are_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="This DataLoader will create 1000 worker processes in total"
    ):
        DataLoader([1], num_workers=1000)


def test_a_script_without_main_guard(tmp_path: Path) -> None:
    """Workers do not run the script again, and end with it."""
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent("""
        import os
        import jtorch as torch
        print("once")
        class Mine(torch.utils.data.Dataset):
            def __len__(self): return 3
            def __getitem__(self, i): return torch.tensor(i), os.getpid()
        loader = torch.utils.data.DataLoader(Mine(), num_workers=1)
        pids = set()
        for x, pid in loader:
            print(x.tolist())
            pids.add(pid.item())
        print("worker", *pids)
        """)
    )
    root = str(Path(torch.__file__).parent.parent)
    out = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": root},
        check=True,
    ).stdout.split("\n")
    assert out[:4] == ["once", "[0]", "[1]", "[2]"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(out[4].split()[1]), 0)


@pytest.mark.parametrize("when", ["during a pass", "between passes"])
def test_kept_workers_that_died_are_replaced(when: str) -> None:
    data = Subset(Squares(), range(9))
    loader = DataLoader(data, num_workers=2, prefetch_factor=1, persistent_workers=True)
    expected = [str(batch) for batch in DataLoader(data)]
    iterator = iter(loader)
    if when == "between passes":
        assert [str(batch) for batch in iterator] == expected
        iterator._workers[1].process.kill()
        iterator._workers[1].process.wait()
    else:
        next(iterator)
        iterator._workers[0].process.kill()
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            list(iterator)
    again = iter(loader)
    assert [str(batch) for batch in again] == expected
    assert iter(loader) is again  # kept again


class Counted(Dataset):
    """Counts in memory that processes share by inheritance."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.seen = multiprocessing.Value("i", 0)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        with self.seen.get_lock():
            self.seen.value += 1
        return torch.arange(i, i + 2) * 2


@pytest.mark.skipif(values.tier == "xla", reason="forked processes compile nothing")
def test_what_cannot_be_sent_is_inherited() -> None:
    torch.ones(2).sum().item()  # XLA may run by now
    data = Counted(6)
    for _ in range(2):
        assert torch.cat(list(DataLoader(data, batch_size=3, num_workers=2))).tolist() == [
            [2 * i, 2 * i + 2] for i in range(6)
        ]
    assert data.seen.value == 12
    loader = DataLoader(data, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == len(list(loader)) == 6
    workers = loader._iterator._workers  # type: ignore[union-attr]
    del loader
    for worker in workers:
        worker.join(20)
        assert not worker.is_alive()
        assert worker.exitcode == 0
    with pytest.raises(RuntimeError, match="inheritance"):
        list(DataLoader(data, num_workers=1, multiprocessing_context="spawn"))


@pytest.mark.parametrize("exhausted", [True, False])
def test_workers_of_an_iterator_end_with_it(exhausted: bool) -> None:
    iterator = iter(DataLoader(Subset(Squares(), range(9)), num_workers=2))
    workers = iterator._workers
    ids = {worker.pid for worker in workers}
    first = next(iterator)
    assert all(worker.is_alive() and worker.exitcode is None for worker in workers)
    if exhausted:
        list(iterator)
    del iterator
    for worker in workers:
        worker.join(20)
        worker.terminate()  # not theirs any more
        assert not worker.is_alive() and worker.exitcode == 0
    again = iter(DataLoader(Subset(Squares(), range(9)), num_workers=2))
    assert {worker.pid for worker in again._workers} & ids  # processes are used again
    assert str(next(again)) == str(first)


def test_forks_are_made_when_asked_for() -> None:
    class Where(Behaviour):
        def __getitem__(self, i: int) -> Any:
            return os.getppid(), torch.initial_seed(), get_worker_info().seed  # type: ignore[union-attr]

    found = list(
        DataLoader(Where(""), num_workers=2, multiprocessing_context="fork", collate_fn=first)
    )
    assert {parent for parent, _, _ in found} == {os.getpid()}
    assert all(a == b for _, a, b in found)
    assert found[1][1] == found[0][1] + 1
    with pytest.raises(
        RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"
    ):
        list(DataLoader(Behaviour("die"), num_workers=1, multiprocessing_context="fork"))
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(
            DataLoader(
                Behaviour("sleep"), num_workers=1, timeout=0.5, multiprocessing_context="fork"
            )
        )


@pytest.mark.parametrize("kind", ["made", "failing"])
def test_datasets_of_modules_that_workers_cannot_import(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"""
import sys
if getattr(sys, "_a_worker_{kind}", 1):
    raise ImportError("only where it was prepared")
from jtorch.utils.data import Dataset
class Found(Dataset):
    def __len__(self): return 5
    def __getitem__(self, i): return i
"""
    name = f"datasets_{kind}"
    monkeypatch.setattr(sys, f"_a_worker_{kind}", 0, raising=False)
    if kind == "made":
        made = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, made)
        exec(source, made.__dict__)
    else:
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        made = importlib.import_module(name)
    loader = DataLoader(made.Found(), num_workers=2)
    for _ in range(2):
        assert [b.item() for b in loader] == list(range(5))
