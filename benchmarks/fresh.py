"""Programs in fresh interpreters: what they took, of a clock and of a processor, with caches of
their own. Nothing here imports a library.

A process' time on a processor counts its threads and the processes that it started and waited for;
other programs on the machine disturb it less than the clock.
"""

from __future__ import annotations

import compileall
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: Contestants of whole programs: how each runs a script.
RUNNERS = {"torch": [sys.executable], "jtorch": [sys.executable, "-m", "jtorch"]}
#: What belongs to a run of jtorch's own and must not come from outside.
_OWN = (
    "JTORCH_CACHE",
    "JTORCH_CACHE_DIR",
    "JAX_COMPILATION_CACHE_DIR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
)


class Spent(NamedTuple):
    """Seconds of one run, by the clock and of processors."""

    wall: float
    cpu: float

    def by(self, other: Spent) -> Spent:
        """The ratios to another run."""
        return Spent(self.wall / other.wall, self.cpu / other.cpu)


def environment(cache: str | None = None, **more: str) -> dict[str, str]:
    """The environment of a run whose caches lie in a folder; None for a run that keeps nothing."""
    env = {k: v for k, v in os.environ.items() if k not in _OWN}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env.update(
        {"JTORCH_CACHE": "0"} if cache is None else {"JTORCH_CACHE_DIR": os.path.join(cache, "xla")}
    )
    return {**env, "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", **more}


def run(
    command: Sequence[str], env: dict[str, str], cwd: str, timeout: float = 600
) -> tuple[Spent, str]:
    """Runs a program to its end; what it took, and its standard output.

    Raises:
        RuntimeError: with the end of its error output, if it fails or takes longer than ``timeout``
            seconds.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took longer than {timeout:g} s") from None
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["nothing on its error output"]
        raise RuntimeError(f"exit status {done.returncode}: {last[0]}")
    return Spent(
        wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ), done.stdout


def median(runs: Sequence[Spent]) -> Spent:
    """The medians of several runs, or of their ratios."""
    return Spent(statistics.median(r.wall for r in runs), statistics.median(r.cpu for r in runs))


def as_installed() -> None:
    """Writes this package's byte code, as installing it does, and has the disk's pages of what is
    compared in memory."""
    compileall.compile_dir(ROOT / "jtorch", quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        for who in ("torch", "jtorch"):
            with contextlib.suppress(RuntimeError):  # PyTorch is not installed, for example
                run([sys.executable, "-c", f"import {who}"], environment(), folder)


@contextlib.contextmanager
def empty_folders() -> Iterator[tuple[str, str]]:
    """A folder for caches and one to run in, both empty."""
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as scratch:
        yield cache, scratch
