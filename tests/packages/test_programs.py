"""Programs over other packages give PyTorch's numbers: those that it gives here where it is
installed, else those that were kept.

They take minutes, so they run where ``JTORCH_PACKAGES`` is set and the packages are installed;
``.ci/packages`` sees to both.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import package_programs

wanted = pytest.mark.skipif(
    not os.environ.get("JTORCH_PACKAGES"),
    reason="programs over packages take minutes: set JTORCH_PACKAGES=1",
)


def result(program: str, to: Path, *start: str) -> Any:
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"),
    }
    command = [sys.executable, *start, "-m", "tools.package_programs", program, "--to", str(to)]
    root = package_programs.FOLDER.parents[1]
    ran = subprocess.run(
        command,
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert to.exists(), ran.stderr[-3000:]
    return json.loads(to.read_text())


@wanted
@pytest.mark.parametrize("program", package_programs.names())
def test_programs(program: str, tmp_path: Path) -> None:
    lacking = package_programs.missing(program)
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    if importlib.util.find_spec("torch") is not None:
        expected = result(program, tmp_path / "torch.json")
    else:
        expected = json.loads((package_programs.NUMBERS / f"{program}.json").read_text())
        here = package_programs.versions(program)
        others = {
            name: version
            for name, version in expected["versions"].items()
            if name != "torch" and here.get(name) != version
        }
        if others:
            pytest.skip(f"the kept numbers are of {others}, and PyTorch is not installed")
    given = result(program, tmp_path / "jtorch.json", "-m", "jtorch")
    assert not {
        part: found
        for part, found in package_programs.differences(expected, given).items()
        if found
    }


def test_numbers_are_kept_for_every_part() -> None:
    assert (
        sorted(path.stem for path in package_programs.NUMBERS.glob("*.json"))
        == package_programs.names()
    )
    for program in package_programs.names():
        kept = json.loads((package_programs.NUMBERS / f"{program}.json").read_text())
        needs, text = package_programs.about(program)
        assert needs and text and set(needs) <= set(kept["versions"])
        source = (package_programs.FOLDER / "programs" / f"{program}.py").read_text()
        assert [f"def {part}(" in source for part in kept["parts"]] == [True] * len(kept["parts"])
        assert not [
            part
            for part, value in kept["parts"].items()
            if isinstance(value, dict) and "error" in value
        ]


def test_differences() -> None:
    expected = {"parts": {"a": [1.0, {"k": "x"}], "b": True, "c": 2.0, "d": float("nan")}}
    alike = {"parts": {"a": [1.00001, {"k": "x"}], "b": True, "c": 2.0, "d": float("nan")}}
    assert not any(package_programs.differences(expected, alike).values())
    other = {"parts": {"a": [1.1, {"k": "y"}], "b": 1, "d": 0.0}}
    found = package_programs.differences(expected, other)
    assert found["a"] == ["a[0]: 1.1 instead of 1.0", "a[1]['k']: 'y' instead of 'x'"]
    assert found["b"] and found["c"] == ["c: None instead of 2.0"] and found["d"]
