"""What other packages get in place of their own functions once ``import torch`` means jtorch."""

from __future__ import annotations

from types import ModuleType

from jtorch._src.neighbours import lightning as _launching_again


def test_what_starts_python_anew_starts_jtorch() -> None:
    module = ModuleType("subprocess_script")
    module._basic_subprocess_cmd = lambda: ["python", "train.py", "--steps", "2"]
    module._hydra_subprocess_cmd = lambda rank: (
        ["python", "-m", "train", f"job={rank}"],
        "/folder",
    )
    _launching_again.adapt(module)
    assert module._basic_subprocess_cmd() == ["python", "-m", "jtorch", "train.py", "--steps", "2"]
    assert module._hydra_subprocess_cmd(1) == (
        ["python", "-m", "jtorch", "-m", "train", "job=1"],
        "/folder",
    )
