"""``synchronize`` waits until arrays are there, also where JAX computes on threads of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import jtorch as torch

x = torch.randn(700, 700)
step = torch.compile(lambda x: (((x @ x) @ x) @ x) @ x)
for _ in range(4):
    step(x).jax().block_until_ready()
late = 0
for _ in range(5):
    y = step(x).jax()
    late += not y.is_ready()
    torch.{name}()
    assert y.is_ready()
    y = step(x)
    torch.{name}()
    assert y._read().array.is_ready()
print("late", late)
"""


@pytest.mark.parametrize("name", ["synchronize", "cpu.synchronize"])
def test_arrays_are_there_afterwards(name):
    env = {**os.environ, "JTORCH_CPU_ASYNC": "1", "JTORCH_TIERS": "xla"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{name}", name)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout != "late 0\n"  # else nothing was to be waited for
