"""The MetadataTensor example runs under the runner and prints what it computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_metadata_tensor():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "jtorch", str(ROOT / "examples" / "metadata_tensor.py")]
    r = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (r.returncode, r.stderr) == (0, "")
    # The means of the five experiments, as published.
    assert (
        "tensor([299909.0000, 299856.0000, 299845.0000, 299820.5000, 299831.5000],\n"
        "       dtype=torch.float64)"
    ) in r.stdout
    assert r.stdout.count("unit: km/s") == 4 and "Michelson's result is 132 km/s above" in r.stdout
