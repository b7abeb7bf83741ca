"""What needs a process of its own: import time, cold start, peak memory. Each figure comes from
fresh interpreters, interleaved."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .contest import CLOCK, CONTESTANTS, Bar, Contest, Result, typical

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "digits_cnn.py"


def _environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **more}


def _seconds(arguments: Sequence[str], env: dict[str, str], cwd: str | None = None) -> float:
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], env=env, cwd=cwd, capture_output=True, text=True, check=False
    )
    spent, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if CLOCK is time.process_time:
        spent = now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return spent


# ---- import time ---------------------------------------------------------------------------------


def import_time(rounds: int = 5) -> Result:
    """``import jtorch`` beside ``import jax`` and ``import torch``, each in a fresh interpreter."""
    commands = {
        "deferred": "import jtorch",
        "torch": "import torch",
        "jnp": "import jax, jax.numpy",
    }
    if importlib.util.find_spec("torch") is None:
        del commands["torch"]
    found: dict[str, list[float]] = {who: [] for who in commands}
    with tempfile.TemporaryDirectory() as folder:
        env = _environment(PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=folder)
        # byte code, as installing writes it, and the disk's caches
        for command in commands.values():
            _seconds(["-c", command], env)
        for _ in range(rounds):
            for who, command in commands.items():
                found[who].append(_seconds(["-c", command], env))
    contest = Contest("import", {}, [Bar("deferred", 1.3, "jnp", plus=0.15)])
    return Result(contest, {who: typical(t) for who, t in found.items()}, found)


def first_import(rounds: int = 5) -> Result:
    """``import jtorch`` with empty caches and once more, byte code as installing writes it; time of
    a processor."""
    from . import fresh

    fresh.as_installed()
    found: dict[str, list[float]] = {"deferred": [], "later": []}
    for _ in range(rounds):
        with fresh.empty_folders() as (cache, scratch):
            for times in found.values():
                spent, _ = fresh.run(
                    [sys.executable, "-c", "import jtorch"], fresh.environment(cache), scratch
                )
                times.append(spent.cpu)
    contest = Contest(FIRST_IMPORT, {}, [Bar("deferred", 1.3, "later")])
    return Result(contest, {who: typical(t) for who, t in found.items()}, found)


FIRST_IMPORT = "first import, empty caches"

# ---- cold start ----------------------------------------------------------------------------------

#: Runs the script twice in one process; only the first one compiles. The start of the process is
#: part of both times.
_TWICE = """
import json, runpy, sys, time
import jtorch
jtorch.install()
script, started = sys.argv[1], float(sys.argv[2])
start = time.time() - started
sys.argv = sys.argv[1:2] + sys.argv[3:]
times = []
for _ in range(2):
    begun = time.perf_counter()
    runpy.run_path(script, run_name="__main__")
    times.append(time.perf_counter() - begun)
print(json.dumps({"start": start, "times": times}), file=sys.stderr)
"""


def cold_start(rounds: int = 1) -> Result:
    """``examples/digits_cnn.py`` with an empty and with a warm compilation cache, beside its time
    without any compiling."""
    found: dict[str, list[float]] = {"deferred": [], "without compiling": [], "empty cache": []}
    with tempfile.TemporaryDirectory() as folder:
        env = _environment(JTORCH_CACHE_DIR=os.path.join(folder, "cache"), MPLBACKEND="Agg")
        found["empty cache"].append(_seconds(["-m", "jtorch", str(EXAMPLE)], env, folder))
        for _ in range(rounds):
            found["deferred"].append(_seconds(["-m", "jtorch", str(EXAMPLE)], env, folder))
            command = [sys.executable, "-c", _TWICE, str(EXAMPLE), str(time.time())]
            done = subprocess.run(
                command, env=env, cwd=folder, capture_output=True, text=True, check=True
            )
            figures = json.loads(done.stderr.strip().splitlines()[-1])
            found["without compiling"].append(figures["start"] + figures["times"][1])
    found["empty cache"] *= rounds
    contest = Contest(
        "cold start of digits_cnn.py, second run", {}, [Bar("deferred", 2.0, "without compiling")]
    )
    return Result(contest, {who: typical(t) for who, t in found.items()}, found)


# ---- peak memory ---------------------------------------------------------------------------------

_MEMORY = """
import ctypes, gc, json, sys
from benchmarks import contest
from importlib import import_module

def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024

def trim():
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except OSError:
        pass

who, program = sys.argv[1:]
with contest.mode_of(who):
    if who == "torch":
        import torch
        torch.ones(8).sum().item()
    else:
        import jax.numpy as jnp
        if who in ("deferred", "immediate"):
            import jtorch
        jnp.ones(8).sum().item()
    trim()
    before = status("VmRSS")
    builders = import_module("benchmarks.programs." + program).contest().builders
    if who not in builders:
        sys.exit(print("null"))
    step = builders[who]()
    for n in range(200):  # by counts: a clock would end earlier on a busy machine
        stepped = contest.op_by_op()
        step.run()
        if n >= 5 and contest.op_by_op() == stepped:
            break
    for _ in range(5):  # what the first compiled steps have taken is given back
        step.run()
    trim()
    warming = status("VmHWM")
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    for _ in range(5):
        step.run()
    print(json.dumps({"before": before, "warming": warming, "peak": status("VmHWM")}))
"""


def peak_memory(
    who: Sequence[str] = CONTESTANTS, program: str = "gpt"
) -> dict[str, tuple[int, int, int]]:
    """Bytes of the process before the model is made, at most during its steps once they are hot,
    and at most until then, when they are compiled; one process each."""
    found = {}
    for name in who:
        if name == "torch" and importlib.util.find_spec("torch") is None:
            continue
        done = subprocess.run(
            [sys.executable, "-c", _MEMORY, name, program],
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"peak memory of {name} failed:\n{done.stderr[-2000:]}")
        figures = json.loads(done.stdout.strip().splitlines()[-1])
        if figures is not None:  # the program is not written for this one
            found[name] = (figures["before"], figures["peak"], figures["warming"])
    return found


# ---- runs of whole loops in fresh processes ------------------------------------------------------


def _loops(name: str, module: str, second: bool, limit: float) -> Callable[[], Result]:
    """A module that prints the seconds of its loop, under each contestant in a process of its own;
    of jtorch the run with empty caches or the one after it. By time of processors."""

    def run(rounds: int = 2) -> Result:
        from . import fresh

        fresh.as_installed()
        found: dict[str, list[float]] = {"deferred": [], "torch": []}
        if importlib.util.find_spec("torch") is None:
            del found["torch"]
        results: set[str] = set()
        for _ in range(rounds):
            with fresh.empty_folders() as (cache, scratch):
                for who, times in found.items():
                    for again in range(1 + second):
                        _, text = fresh.run(
                            [sys.executable, "-m", module, who], fresh.environment(cache), scratch
                        )
                        _, used, *more = json.loads(text.splitlines()[-1])
                        if again == second:
                            times.append(used)
                            results.update(f"{x:.4g}" for x in more)
        if len(results) > 1:
            raise AssertionError(f"{name}: results differ: {results}")
        return Result(
            Contest(name, {}, [Bar("deferred", limit, "torch")]),
            {w: typical(t) for w, t in found.items()},
            found,
        )

    return run


@contextlib.contextmanager
def neighbours(busy: bool) -> Iterator[None]:
    """While another process, if ``busy``, computes on each core that this one may use, with a
    working set as large as a cache."""
    if not busy:
        yield
        return
    program = "x = bytearray(1 << 22)\nwhile True:\n    x = x[1:] + x[:1]\n    sum(range(50000))"
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    started = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(cores)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


#: Peak memory deferred by the others', at most.
MEMORY_BARS = {"jit": 1.3, "torch": 1.2}

ROWS: dict[str, Callable[[], Result]] = {
    "import": import_time,
    FIRST_IMPORT: first_import,
    "cold start of digits_cnn.py, second run": cold_start,
    **{
        name: _loops(name, module, second, limit)
        for name, module, second, limit in (
            ("generation, second run of a process", "benchmarks.programs.generation", True, 1.0),
            (
                "inference over 64 lengths, each twice, first run",
                "benchmarks.programs.inference",
                False,
                1.2,
            ),
            (
                "inference over 64 lengths, each twice, second run",
                "benchmarks.programs.inference",
                True,
                1.2,
            ),
        )
    },
}
#: Rows, and the programs whose step they are about.
MEMORY_ROWS = {"peak memory of the GPT step": "gpt", "peak memory of the ResNet step": "resnet"}
