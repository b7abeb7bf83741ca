"""Tensors spread over several devices of one process work with every function, and stay spread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


_PARTS = [
    "training",
    "operations",
    "writing",
    "moving",
    "under_jax",
    "derivatives_of_parts",
    "formulas_of_parts",
]
EXECUTIONS = pytest.mark.parametrize("execution", ["deferred", "immediate"])


def run(program: str, execution: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of this folder where the CPU is eight devices."""
    given = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent.parent),
        "JAX_PLATFORMS": "cpu",
        "JTORCH_EXECUTION": execution,
    }
    given["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    command = [sys.executable, "-W", "error", str(HERE / program)]
    return subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=300, check=False
    )


@EXECUTIONS
def test_several_devices(execution: str) -> None:
    done = run("several_devices.py", execution)
    assert (done.returncode, done.stdout.split()) == (0, _PARTS), done.stderr


@EXECUTIONS
def test_many_programs_that_nobody_waits_for(execution: str) -> None:
    """XLA's threads would wait for each other: without the bound on programs, most runs on two
    cores end in an abort after a minute."""
    done = run("many_programs.py", execution)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
