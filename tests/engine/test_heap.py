"""Blocks above the C library's limit are used again by the next run instead of being mapped anew."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import jtorch as torch

x = torch.ones(3000, 3000)  # 36 MB
for _ in range(60):  # until it is settled how this runs
    y = x + 1
    y[0, 0].item()
    del y
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    y = x + 1
    y[0, 0].item()
    del y
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 10)
"""


def _faults(**environment: str) -> int:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_", "JTORCH_MALLOC"))}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**env, **environment}, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library has the limit")
def test_large_blocks_are_used_again() -> None:
    pages = 36_000_000 // os.sysconf("SC_PAGE_SIZE")
    assert _faults() < pages // 5
    assert _faults(JTORCH_MALLOC="0") > pages // 2
    assert _faults(MALLOC_TRIM_THRESHOLD_="131072") > pages // 2  # who has set the library's own variables is respected
