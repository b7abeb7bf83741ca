"""Blocks above the C library's limit are used again by the next run instead of being mapped
anew."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import jax.numpy as jnp
import pytest

from jtorch._src.engine import Call, concrete, execution, heap, read, record, stats, values

PROGRAM = """
import resource
import jtorch as torch

x = torch.ones(3000, 3000)  # 36 MB
for _ in range(60):  # until it is settled how this runs
    y = x + 1
    y[0, 0].item()
    del y
rounds = []
# the least of several: what was compiled beside the program is given back at one of its runs, which
# maps blocks anew
for _ in range(6):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        y = x + 1
        y[0, 0].item()
        del y
    rounds.append((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
print(min(rounds))
"""


def _faults(**environment: str) -> int:
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("MALLOC_", "GLIBC_", "JTORCH_MALLOC"))
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**env, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only the GNU C library has the limit"
)
@pytest.mark.skipif(
    values.tier == "host", reason="NumPy asks for huge pages, of which there are few"
)
def test_large_blocks_are_used_again() -> None:
    pages = 36_000_000 // os.sysconf("SC_PAGE_SIZE")
    assert _faults() < pages // 5
    assert _faults(JTORCH_MALLOC="0") > pages // 2
    # who has set the library's own variables is respected
    assert _faults(MALLOC_TRIM_THRESHOLD_="131072") > pages // 2


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_what_compiling_took_is_given_back_once(monkeypatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(heap, "_trim", given.append)
    monkeypatch.setattr(heap, "due", 0)
    triple = Call("triple", lambda a: a * 3)

    def program(length: int) -> bool:
        """Whether the trace was compiled now."""
        before = stats.compiled
        v = concrete(jnp.ones(length, jnp.float32))
        for _ in range(6):
            v = record(triple, (v,))
        assert read(v)[0] == 729
        return stats.compiled > before

    with execution("deferred"):
        for length in (11, 13):
            assert any(program(length) for _ in range(5))
        assert given == []  # a new one, and the count begins anew
        for runs in range(1, 8):
            assert not program(11)
            assert given == ([0] if runs >= heap.REST else [])


def test_nothing_is_given_back_where_the_library_was_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(heap, "_trim", None)
    monkeypatch.setattr(heap, "due", 0)
    heap.compiled()
    assert heap.due == 0


def test_a_new_trace_is_waited_for(monkeypatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(heap, "_trim", given.append)
    heap.compiled()
    heap.one_run(False)
    heap.one_run(True)
    for _ in range(heap.REST - 1):
        heap.one_run(False)
    assert given == []
    heap.one_run(False)
    assert given == [0]
    assert heap.due == 0
