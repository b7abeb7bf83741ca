"""Tensors spread over several devices of one process work with every function, and stay spread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("execution", ["deferred", "immediate"])
def test_several_devices(execution: str) -> None:
    given = {**os.environ, "PYTHONPATH": str(HERE.parent.parent), "JAX_PLATFORMS": "cpu", "JTORCH_EXECUTION": execution}
    given["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    command = [sys.executable, "-W", "error", str(HERE / "several_devices.py")]
    run = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["training", "operations", "writing", "moving", "under_jax"]), run.stderr
