"""Kills processes that save a checkpoint over an older one: the file must be the old or the new
one, whole, with little left beside it.

    python -m tools.campaigns.saving --count 200

Half of the kills come after a random time, the others just before a random one of the calls that
open, link, rename or remove a file. Writers are forked off this process, which has imported
everything; they save and do nothing else. Those of safetensors, for which the tensors have to be
computed, are processes of their own, one in ten.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import select
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jtorch

from . import _report

_ROOT = str(Path(__file__).parents[2])
_WORDS = 200_000
#: Calls that a writer may be killed before.
_CALLS = ("open", "os.rename", "os.link", "os.chmod", "os.remove", "os.truncate")
#: Names of temporary files: this package's, and those of safetensors.
_TEMPORARY = re.compile(r"\.(checkpoint.*\..*\.tmp|tmp[A-Za-z0-9]+)$")

Kind = tuple[str, Callable[[Any, str], None], Callable[[str], Any]]


def kinds() -> Iterator[Kind]:
    """Name of a format, and what writes and reads it."""

    def legacy(state: Any, path: str) -> None:
        jtorch.save(state, path, _use_new_zipfile_serialization=False)

    yield "zip", jtorch.save, jtorch.load
    yield (
        "zip with no folder",
        lambda state, path: jtorch.save(state, os.path.basename(path)),
        jtorch.load,
    )
    yield "legacy", legacy, jtorch.load
    with contextlib.suppress(ImportError):
        jtorch.install()
        from safetensors.torch import load_file, save_file

        yield "safetensors", save_file, load_file


def _state(number: int) -> dict[str, Any]:
    values = np.full(_WORDS, number, np.int32)
    return {name: jtorch.from_numpy(values[: _WORDS // (i + 1)]) for i, name in enumerate("abcd")}


def _number(state: dict[str, Any]) -> int:
    """Which of the states it is.

    Raises:
        ValueError: if it is a mixture.
    """
    found = {int(n) for t in state.values() for n in np.unique(t.numpy())}
    if len(found) != 1 or [t.numel() for t in state.values()] != [
        _WORDS // (i + 1) for i in range(4)
    ]:
        raise ValueError(f"a mixture of {sorted(found)[:5]}")
    return found.pop()


def _write_until_killed(
    save: Callable[[Any, str], None], path: str, number: int, done: int, calls: int
) -> None:
    """Saves one state after the other, and says so; kills itself before the last of ``calls``, if
    there are any."""
    left = calls

    def count(event: str, _: Any) -> None:
        nonlocal left
        if left and event in _CALLS:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    while True:
        save(_state(number), path)
        os.write(done, struct.pack("<q", number))
        number += 1


def _forked(
    read: int, save: Callable[[Any, str], None], path: str, number: int, write: int, calls: int
) -> int:
    """A process that saves states from ``number`` on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking with threads: the writer computes nothing
        pid = os.fork()
    if not pid:
        try:
            os.close(read)
            _write_until_killed(save, path, number, write, calls)
        finally:
            os._exit(3)
    return pid


def _one(kind: Kind, path: str, rng: random.Random, number: int) -> int:
    """Lets a writer save states from ``number`` on over the file, and kills it; the last state that
    it said was saved."""
    name, save, _ = kind
    # whose calls Python does not see
    calls = rng.randrange(1, 40) if rng.random() < 0.5 and name != "safetensors" else 0
    read, write = os.pipe()
    if name == "safetensors":
        program = [
            sys.executable,
            "-m",
            "tools.campaigns.saving",
            "--writer",
            path,
            str(number),
            str(write),
        ]
        pid = os.posix_spawn(sys.executable, program,
                             {**os.environ,
                              "PYTHONPATH": os.pathsep.join(p or _ROOT for p in sys.path)},
                             file_actions=[(os.POSIX_SPAWN_DUP2, write, write)])  # fmt: skip
    else:
        pid = _forked(read, save, path, number, write, calls)
    os.close(write)
    with open(read, "rb", buffering=0) as answers:
        if not calls:
            select.select([answers], [], [], 120)
            time.sleep(rng.random() * 0.03)
            os.kill(pid, signal.SIGKILL)
        timer = time.monotonic() + 60
        while time.monotonic() < timer:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                break
            time.sleep(0.001)
        else:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise RuntimeError("the writer did not get on")
        if not os.WIFSIGNALED(status):
            raise RuntimeError("the writer failed")
        said = answers.read()
    return struct.unpack("<q", said[-8:])[0] if said else number - 1


def run(report: _report.Report, seed: int) -> None:
    """The campaign."""
    rng = random.Random(seed)
    known = list(kinds())
    if len(known) < 4:
        report.seen["formats left out (safetensors is not installed)"] = 1
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        numbers = dict.fromkeys((k[0] for k in known), 0)
        while report.goes_on():
            kind = (
                known[3] if report.tried % 10 == 9 and len(known) > 3 else known[report.tried % 3]
            )
            name, save, load = kind
            path = os.path.join(folder, f"checkpoint {name}.pt")
            number = numbers[name]
            if not number:
                save(_state(0), path)
            report.tried += 1
            try:
                last = _one(kind, path, rng, number + 1)
                found = _number(load(path))
            except Exception as error:
                report.fail(
                    f"{name}, kill {report.tried} of seed {seed}: {type(error).__name__}: {error}"
                )
                numbers[name] = 0
                continue
            if found not in (last, last + 1):
                report.fail(
                    f"{name}, kill {report.tried} of seed {seed}: the file is {found}, not {last} "
                    f"or {last + 1}"
                )
            report.seen[f"{name}: {'new' if found > last else 'old'}"] += 1
            numbers[name] = found
            left = [f for f in os.listdir(folder) if not f.startswith("checkpoint")]
            if len(left) > 1 or not all(map(_TEMPORARY.fullmatch, left)):
                report.fail(f"{name}, kill {report.tried} of seed {seed}: left behind {left}")
            report.seen[f"{name}: temporary files left"] += len(left)
            for file in left:
                os.unlink(file)
        os.chdir("/")


def main() -> int:
    """Runs it as the command line asks."""
    parser = _report.options(__doc__, 200)
    parser.add_argument("--writer", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.writer:
        path, number, done = given.writer
        _write_until_killed(list(kinds())[3][1], path, int(number), int(done), 0)
    report = _report.report("saving", given, 200)
    run(report, given.seed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
