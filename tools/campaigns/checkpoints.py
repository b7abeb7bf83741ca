"""Reads checkpoints that were damaged or made to do harm: nothing may run, crash, hang or take the
memory, and the error must be clear.

    python -m tools.campaigns.checkpoints --count 10000

First come those made by hand, then those drawn at random. Each is read by a worker process with an
alarm that kills it, by a path and from memory, mapped and not. What a file costs is the highest
resident memory while it is read.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import _report

#: What a caller has to expect of a damaged file.
CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError)
#: What nothing that reads a file may do.
FORBIDDEN = (
    "exec", "compile", "import", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.",
    "socket.", "ctypes.dl", "shutil.",
)  # fmt: skip
#: Seconds of a processor that reading a file may take, and bytes: for each of the file's and beside
#: them.
SECONDS, TIMES, BESIDE = 5, 10, 96 << 20
_ROOT = Path(__file__).parents[2]


def _resident(field: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


class _Peak:
    """The resident memory that a block took at most; 0 where the system does not tell."""

    def __enter__(self) -> _Peak:
        self.bytes = 0
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")
            self.before = _resident("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.bytes = max(0, _resident("VmHWM") - self.before)


def _cases(part: str, seed: int, first: int) -> Iterator[tuple[int, str, bytes]]:
    from . import _mutants

    if part == "bombs":
        for i, (name, data) in enumerate(_mutants.bombs().items()):
            if i >= first:
                yield i, name, data
        return
    kinds = list(_mutants.kinds().items())
    i = first
    while True:
        kind, make = kinds[i % len(kinds)]
        yield i, kind, make(random.Random(f"{seed} {i}"))
        i += 1


def _readers(kind: str, path: str) -> dict[str, Callable[[bytes], Any]]:
    import jtorch as torch

    if kind == "safetensors":
        try:
            from safetensors import torch as form
        except ImportError:
            return {}
        return {"path": lambda _: form.load_file(path), "memory": form.load}
    return {
        "path": lambda _: torch.load(path),
        "memory": lambda data: torch.load(io.BytesIO(data), weights_only=True),
        "mapped": lambda _: torch.load(path, mmap=True),
        "names": lambda _: torch.serialization.get_unsafe_globals_in_checkpoint(path),
    }


def _work(part: str, seed: int, first: int, last: int, folder: str) -> None:
    """Reads the files, and prints a line of JSON for each: what came of it."""
    import jtorch as torch

    torch.install()
    events: list[str] = []
    watching = False
    # makes the package's own functions, on their first call
    generator = torch._src.keeping.code.__file__

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if (
            watching
            and event.startswith(FORBIDDEN)
            and sys._getframe(1).f_code.co_filename != generator
        ):
            events.append(f"{event} {str(args)[:200]}")

    sys.addaudithook(watch)
    path = os.path.join(folder, "file.pt")
    from . import _mutants

    with open(path, "wb") as file:
        file.write(_mutants.saved())
    for read in _readers("", path).values():  # imports and compiles what reading needs
        read(_mutants.saved())
    import encodings.raw_unicode_escape  # noqa: F401 (what pickletools needs for one opcode)

    # which JAX loads when it first compiles some operations
    from jaxlib.mlir.dialects import mhlo  # noqa: F401

    torch.load(io.BytesIO(_mutants.saved(torch.eye(2).to_sparse())))
    torch.load(io.BytesIO(_mutants.saved(torch.ones(2, device="meta"))))
    with contextlib.suppress(pickle.UnpicklingError):
        torch.load(io.BytesIO(_mutants.with_pickle(_mutants.saved(), b"\x80\x02cnone\nnone\n.")))
    clear = CLEAR
    with contextlib.suppress(ImportError):
        from safetensors import SafetensorError

        clear = (*CLEAR, SafetensorError)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_resident("VmSize") + (6 << 30), hard))
    for i, name, data in _cases(part, seed, first):
        if i >= last:
            break
        with open(path, "wb") as file:
            file.write(data)
        for how, read in _readers(name, path).items():
            print(json.dumps({"begins": i, "name": name, "how": how}), flush=True)
            allowed: tuple[type[Exception], ...] = (NotImplementedError,)
            if how == "names":  # not a checkpoint, or no pickle
                allowed = (NotImplementedError, ValueError, KeyError, IndexError)
            events.clear()
            started, peak, error = time.process_time(), _Peak(), ""
            signal.setitimer(signal.ITIMER_REAL, 12 * SECONDS)  # kills the process, also within C
            with warnings.catch_warnings(), peak:
                warnings.simplefilter("ignore")
                watching = True
                try:
                    read(data)
                    came = "loaded"
                except (*clear, *allowed) as caught:
                    came = "refused"
                    error = "" if str(caught).strip() else f"{type(caught).__name__} without words"
                except BaseException as caught:
                    came = "refused"
                    error = (
                        ""
                        if str(caught).startswith("Unknown endianness type")
                        else f"{type(caught).__name__}: {str(caught)[:200]}"
                    )
                finally:
                    watching = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            seconds = time.process_time() - started
            wrong = [error] if error else []
            wrong += [f"ran {events[0]}"] if events else []
            wrong += [f"took {seconds:.1f} s"] if seconds > SECONDS else []
            wrong += (
                [f"took {peak.bytes >> 20} MB for {len(data) >> 10} kB"]
                if peak.bytes > TIMES * len(data) + BESIDE
                else []
            )
            print(
                json.dumps({"index": i, "name": name, "how": how, "came": came, "wrong": wrong}),
                flush=True,
            )


def _read_all(report: _report.Report, part: str, seed: int, first: int, last: int) -> None:
    """Has workers read files: a new one where one dies."""
    while first < last:
        with tempfile.TemporaryDirectory() as folder:
            program = [
                sys.executable,
                "-m",
                "tools.campaigns.checkpoints",
                "--worker",
                part,
                str(seed),
                str(first),
                str(last),
                folder,
            ]
            worker = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=_ROOT)
            assert worker.stdout is not None
            begun: dict[str, Any] = {}
            for line in worker.stdout:
                told = json.loads(line)
                if "begins" in told:
                    begun = told
                    continue
                if told["index"] >= first:
                    first = told["index"] + 1
                    report.tried += 1
                report.seen[
                    f"{told['name'] if part == 'random' else 'by hand'}: {told['came']}"
                ] += 1
                for what in told["wrong"]:
                    report.fail(
                        f"{told['name']} ({part} {told['index']} of seed {seed}, {told['how']}): "
                        f"{what}"
                    )
            status = worker.wait()
        if not status:
            return
        if not begun:
            raise RuntimeError(f"the worker ended with status {status}")
        what = (
            f"hung for {12 * SECONDS} s"
            if status == -signal.SIGALRM
            else f"died with status {status}"
        )
        report.fail(
            f"{begun['name']} ({part} {begun['begins']} of seed {seed}, {begun['how']}): {what}"
        )
        if begun["begins"] >= first:
            report.tried += 1
        first = begun["begins"] + 1


def run(report: _report.Report, seed: int, by_hand: bool = True) -> None:
    """The campaign."""
    if by_hand:
        _read_all(report, "bombs", seed, 0, 10**6)
    at = 0
    report.tried, read = 0, collections.Counter(by_hand=report.tried)
    while report.goes_on():
        more = 2000 if report.count is None else min(2000, report.count - report.tried)
        _read_all(report, "random", seed, at, at + more)
        at += more
    report.seen["files made by hand"] = read["by_hand"]


def main() -> int:
    """Runs it as the command line asks."""
    parser = _report.options(__doc__, 10_000)
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        part, seed, first, last, folder = given.worker
        _work(part, int(seed), int(first), int(last), folder)
        return 0
    report = _report.report("checkpoints", given, 10_000)
    run(report, given.seed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
