"""Compiling ahead: another thread, which changes neither numbers nor when what it compiles is used,
and is in nobody's way."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from jtorch._src.engine import ahead, tiers

_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
needs_cores = pytest.mark.skipif(_CORES < 2, reason="nothing is compiled ahead on one processor")
_TRAINING = """
import sys
import jtorch as torch
from jtorch._src.engine import ahead, stats, tiers
# soon
tiers.TRACE, tiers.TRACE_OP, tiers.EQUATION, tiers.LAUNCH_TRACE, tiers.APART, tiers.ARRAY = \
0.002, 0.0, 0.0, 0.0, 0.0, 0.0
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(9, 17), torch.nn.Tanh(), torch.nn.Linear(17, 3))
opt = torch.optim.Adam(net.parameters())
x = torch.randn(31, 9)
found = []
for i in range(60):
    opt.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    found.append((loss.item().hex(), stats.replayed))
print(hash(str(found)), found[-1])
print(stats.compiled, ahead._thread is not None, file=sys.stderr)
"""


def _run(code: str, cache: Path, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {
        k: v
        for k, v in os.environ.items()
        if k not in ("JTORCH_CACHE", "JTORCH_TIERS", "JTORCH_EXECUTION")
    }
    env = {**kept, "JTORCH_CACHE_DIR": str(cache), "PYTHONHASHSEED": "0", **env}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@needs_cores
def test_it_changes_neither_numbers_nor_when_a_program_is_used(tmp_path: Path) -> None:
    without = _run(_TRAINING, tmp_path / "a", JTORCH_COMPILE_AHEAD="0")
    cold = _run(_TRAINING, tmp_path / "b")
    warm = _run(_TRAINING, tmp_path / "b")
    assert without.stderr.split() == ["1", "False"], without.stderr
    assert cold.stderr.split() == ["1", "True"], cold.stderr
    assert warm.stderr.split() == ["1", "False"], warm.stderr
    assert without.stdout == cold.stdout == warm.stdout
    assert without.stdout


_ENDING = """
import atexit, sys, threading, time
# called after those that are registered later
atexit.register(lambda: print("last words", file=sys.stderr))
import jax, jax.numpy as jnp
import jtorch as torch
from jtorch._src.engine import ahead
torch.ones(3).sum().item()
def f(x):
    for _ in range(150):
        x = jnp.sin(x @ x) + jax.lax.cumsum(x)
    return x.sum()
lowered = jax.jit(jax.grad(f)).lower(jax.ShapeDtypeStruct((50, 50), "float32"))
began = threading.Event()
def make():
    began.set()
    lowered.compile()
    print("compiled", flush=True)
ahead.submit("", make)
began.wait()
time.sleep({})
print("ends", time.monotonic(), flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("after", [0.0, 0.3])
def test_a_process_ends_at_once_and_with_its_own_status(tmp_path: Path, after: float) -> None:
    done = _run(_ENDING.format(after), tmp_path)
    now = time.monotonic()
    assert (done.returncode, done.stderr) == (7, "last words\n")
    word, then = done.stdout.split()
    assert word == "ends"
    assert now - float(then) < 5


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="processes cannot be told where to run"
)
def test_it_ends_well_where_others_take_the_processor(tmp_path: Path) -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})" + _ENDING.format(
        0.0
    )
    env = {**os.environ, "JTORCH_CACHE_DIR": str(tmp_path), "JTORCH_TIERS": "auto"}
    all_at_once = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    ends = [(process.communicate(timeout=300)[1], process.returncode) for process in all_at_once]
    assert ends == [("last words\n", 7)] * 5


_FORKING = """
import os, time
import jtorch as torch
from jtorch._src.engine import ahead
x = torch.arange(5.0)
(x * 2).sum().item()
ahead.submit("a", lambda: time.sleep(0.3) or "made")
ahead.submit("b", lambda: "too")
time.sleep(0.1)
child = os.fork()
if not child:
    assert not ahead.possible()
    assert ahead.taken("a") is None and ahead.taken("b") is None
    os._exit(0 if (x * 3).sum().item() == 30 else 1)
assert os.waitpid(child, 0)[1] == 0
print(ahead.taken("a"), ahead.taken("b"), ahead._busy.locked())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_waits_for_what_is_being_compiled(tmp_path: Path) -> None:
    done = _run(_FORKING, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "made too False\n"


def test_what_fails_is_reported_once_and_made_again_by_who_needs_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "_reported", False)

    def fails() -> None:
        raise ValueError("no such instruction\nand more")

    with caplog.at_level(logging.WARNING, "jtorch"):
        for key in ("one", "two"):
            ahead.submit(key, fails)
            assert ahead.taken(key) is None
            assert not ahead.submitted(key)
    assert [r.getMessage() for r in caplog.records] == [
        (
            "compiling ahead of use failed (ValueError: no such instruction); compiling again "
            "where it is needed"
        )
    ]


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"),
    reason="no timers",
)
def test_who_waits_can_be_interrupted_and_wait_again() -> None:
    going_on = threading.Event()
    ahead.submit("slow", lambda: going_on.wait(60) and "made")

    def stop(*_: object) -> None:
        raise TimeoutError("stop")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError, match="stop"):
            ahead.taken("slow")
    finally:
        signal.signal(signal.SIGALRM, before)
    going_on.set()
    assert ahead.taken("slow") == "made"


def test_one_thread_does_all_and_results_nobody_asks_for_are_dropped() -> None:
    threads = []
    for k in range(3 * ahead.MANY):
        ahead.submit(f"unasked {k}", lambda: threads.append(threading.get_ident()))
    ahead.submit("last", lambda: "made")
    assert ahead.taken("last") == "made"
    ahead.submit("one more", lambda: "made")
    assert ahead.taken("one more") == "made"
    assert len(set(threads)) == 1
    assert len(ahead._jobs) <= ahead.MANY + 1
    ahead._jobs.clear()


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="nothing tells how many processors there are"
)
def test_not_on_one_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert ahead.possible()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert not ahead.possible()


def test_the_head_start_is_part_of_the_whole() -> None:
    assert 0 < tiers.HEAD_START < 1
