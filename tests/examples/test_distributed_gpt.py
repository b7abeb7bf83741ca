"""The distributed GPT trains on two processes, and goes on on one, from the checkpoint of the
two."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SMALL = [
    "--width",
    "16",
    "--layers",
    "1",
    "--heads",
    "2",
    "--context",
    "8",
    "--sample",
    "3",
    "--save-every",
    "2",
]


def trained(processes: int, steps: int, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    script = [str(ROOT / "examples" / "distributed_gpt.py"), f"--steps={steps}", *SMALL, *arguments]
    r = subprocess.run(
        [sys.executable, "-m", "jtorch", *launcher, *script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert r.returncode == 0, r.stderr
    return r.stdout


def test_goes_on_with_another_number_of_processes(tmp_path: Path) -> None:
    first = trained(2, 4, "--out", str(tmp_path / "a"))
    assert "2 processes, fsdp" in first and "step     4/4" in first
    again = trained(1, 6, "--out", str(tmp_path / "a"), "--parallel", "ddp")
    assert "going on from step 4" in again
    whole = trained(1, 6, "--out", str(tmp_path / "b"), "--parallel", "ddp")
    losses = [dict(re.findall(r"step +(\d+)/6 +loss ([\d.]+)", text)) for text in (again, whole)]
    assert abs(float(losses[0]["6"]) - float(losses[1]["6"])) < 2e-3
