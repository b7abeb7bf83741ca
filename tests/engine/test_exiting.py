"""The end of a program while threads compute."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

import pytest


def test_threads_that_compute_at_the_end_of_the_program():
    program = """
import threading
import jtorch as torch

begun = threading.Barrier(3)

def work():
    x = torch.ones(64, 64)
    for n in range(1 << 60):
        x = (x @ x) / 64
        x.sum().item()
        if n == 3:
            begun.wait()

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
print(torch.ones(2).tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 1.0]\n", "")


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "on_exit"), reason="the C library has no on_exit"
)
def test_a_process_that_aborts_while_the_compiler_works_does_not_hang():
    program = (
        "from jtorch._src.engine import exiting\n"
        "import os\n"
        "exiting.LAST = 1\n"
        "assert exiting._left_alone()\n"
        "os.abort()"
    )
    found = subprocess.run([sys.executable, "-c", program], timeout=300, check=False)
    assert found.returncode == -signal.SIGALRM
