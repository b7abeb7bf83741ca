"""Kills worker processes of a ``DataLoader``, and processes that have such workers: an error, no
hang, no orphans, and one can go on.

    python -m tools.campaigns.loaders --count 40

Each try draws a loader (of a dataset or a stream, workers kept or not, prefetching, with a timeout
or not), kills one or all of its workers at a random moment, and then takes a whole pass from a new
iterator. One in eight kills a main process instead.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import jtorch as torch
from jtorch.utils.data import DataLoader, Dataset, IterableDataset

from . import _report

_ROOT = Path(__file__).parents[2]
#: Seconds after which what has not come is a hang.
HANG = 400
_ITEMS, _BATCH = 24, 2


class Numbers(Dataset[Any]):
    """Numbers that take a moment each."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return _ITEMS

    def __getitem__(self, i: int) -> Any:
        time.sleep(self.seconds)
        return torch.full((500,), float(i))


class Stream(IterableDataset[Any]):
    """The same, each worker its part."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __iter__(self) -> Any:
        info = torch.utils.data.get_worker_info()
        for i in range(info.id, _ITEMS, info.num_workers):
            time.sleep(self.seconds)
            yield torch.full((500,), float(i))


def _loader(rng: random.Random) -> tuple[DataLoader[Any], str]:
    options: dict[str, Any] = {
        "num_workers": 2,
        "batch_size": _BATCH,
        "persistent_workers": rng.random() < 0.5,
        "prefetch_factor": rng.choice((1, 2, 5)),
        "timeout": rng.choice((0, 0, 120)),
        "in_order": rng.random() < 0.8,
    }
    kind = rng.choice((Numbers, Stream))
    return DataLoader(kind(rng.choice((0.0, 0.002, 0.02))), **options), f"{kind.__name__} {options}"


def _whole_pass(iterator: Any) -> bool:
    return sorted(float(row[0]) for batch in iterator for row in batch) == [
        float(i) for i in range(_ITEMS)
    ]


def _kill_workers(report: _report.Report, rng: random.Random) -> str:
    """One try; what went wrong, or nothing."""
    loader, described = _loader(rng)
    iterator = iter(loader)
    if rng.random() < 0.7:
        next(iterator)  # the workers have started
    victims = [w.process for w in iterator._workers]
    victims = rng.sample(victims, rng.choice((1, 2)))
    idle = rng.random() < 0.2

    def kill() -> None:
        for process in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    if idle:
        kill()
        time.sleep(0.05)
    timer = threading.Timer(rng.random() * 0.3, kill)
    if not idle:
        timer.start()
    try:
        for _ in iterator:
            pass
        came = "was over"
    except RuntimeError as error:
        pids = [str(p.pid) for p in victims]
        came = (
            "error"
            if "exited unexpectedly" in str(error) and any(p in str(error) for p in pids)
            else ""
        )
        if not came:
            return f"{described}: {error}"
    if not idle:
        timer.join()
    for process in victims:
        process.wait()  # who is asked a moment before it dies cannot be told from one that lives
    report.seen[f"workers: {came}"] += 1
    if not _whole_pass(iter(loader)):
        return f"{described}: the next pass is not whole"
    if not _whole_pass(iter(DataLoader(Numbers(0.0), batch_size=_BATCH, num_workers=2))):
        return f"{described}: another loader's pass is not whole"
    return ""


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _kill_main(report: _report.Report, rng: random.Random) -> str:
    """One try: a process of its own that iterates, and is killed."""
    program = [
        sys.executable,
        "-m",
        "tools.campaigns.loaders",
        "--main",
        str(rng.randrange(1 << 30)),
    ]
    with subprocess.Popen(program, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        time.sleep(rng.random() * 0.5)
        process.kill()
    pids = [int(p) for p in line.split()]
    if not pids:
        return "the process did not start"
    # a worker that is just starting imports everything before it looks
    deadline = time.monotonic() + HANG
    while any(map(_alive, pids)):
        if time.monotonic() > deadline:
            return f"orphans after {HANG} s: {[p for p in pids if _alive(p)]}"
        time.sleep(0.01)
    report.seen["main processes: no orphans"] += 1
    return ""


def _iterate(seed: int) -> None:
    """The main process that is killed: says the ids of its workers, and iterates."""
    loader, _ = _loader(random.Random(seed))
    iterator = iter(loader)
    print(*[w.pid for w in iterator._workers], flush=True)
    while True:
        for _ in iterator:
            pass
        iterator = iter(loader)


def run(report: _report.Report, seed: int) -> None:
    """The campaign."""
    while report.goes_on():
        rng = random.Random(f"{seed} {report.tried}")
        kind = _kill_main if report.tried % 8 == 7 else _kill_workers
        found: list[str] = []
        thread = threading.Thread(
            target=lambda: found.append(_tried(kind, report, rng)),  # noqa: B023
            daemon=True,
        )
        thread.start()
        thread.join(HANG)
        report.tried += 1
        if thread.is_alive():
            report.fail(f"try {report.tried - 1} of seed {seed}: hung for {HANG} s")
        elif found[0]:
            report.fail(f"try {report.tried - 1} of seed {seed}: {found[0]}")


def _tried(kind: Any, report: _report.Report, rng: random.Random) -> str:
    try:
        return kind(report, rng)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> int:
    """Runs it as the command line asks."""
    parser = _report.options(__doc__, 40)
    parser.add_argument("--main", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.main is not None:
        _iterate(given.main)
    report = _report.report("loaders", given, 40)
    run(report, given.seed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
