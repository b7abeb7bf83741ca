"""What type checkers see: ordinary code is accepted, mistakes are reported, ``import torch`` is
known."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch._src.start import typings as _typings

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parents[1] / "typing"


def run(*command: str, cwd: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A user's project: programs that say ``import torch``, the stubs, and no settings but where
    this package lies."""
    folder = tmp_path_factory.mktemp("project")
    assert "wrote" in run("-m", "jtorch", "typings", cwd=folder)
    for program in PROGRAMS.glob("*.py"):
        (folder / program.name).write_text(program.read_text())
    (folder / "page.py").write_text(
        "\n".join(["import torch", "from torch import nn", *page_lines()])
    )
    (folder / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{ROOT}"], "pythonVersion": "3.11"}}'
    )
    return folder


def lines_that_say_wrong():
    return {
        n
        for n, line in enumerate((PROGRAMS / "mistakes.py").read_text().splitlines(), 1)
        if "# wrong" in line
    }


def page_lines():
    """The mistakes that the page shows, each with what pyright says of it."""
    text = (ROOT / "docs" / "typing.md").read_text()
    found = re.search(
        r"(?:^    .*# .*\n|^    x = .*\n)+", text[text.index("    x = torch.rand") :], re.MULTILINE
    )
    assert found is not None
    return [line.removeprefix("    ") for line in found[0].splitlines()]


def reported(output: str, program: str) -> set[int]:
    return {int(n) for n in re.findall(rf"{program}:(\d+):.*error", output)}


def test_there_are_enough_of_both():
    assert len((PROGRAMS / "ordinary.py").read_text().splitlines()) >= 200
    assert len(lines_that_say_wrong()) >= 40


def test_the_ordinary_program_runs(tmp_path):
    output = run(
        "-m",
        "jtorch",
        str(PROGRAMS / "ordinary.py"),
        "--out",
        str(tmp_path / "model.pt"),
        cwd=tmp_path,
    )
    assert "head.weight" in output
    assert "Error" not in output


def test_the_larger_program_runs(tmp_path):
    output = run("-m", "jtorch", str(PROGRAMS / "training.py"), cwd=tmp_path)
    assert "torch.Size([3, 10])" in output
    assert "Error" not in output


def test_pyright(project):
    pytest.importorskip("pyright")
    output = run(
        "-m",
        "pyright",
        "--pythonpath",
        sys.executable,
        "ordinary.py",
        "training.py",
        "mistakes.py",
        "page.py",
        cwd=project,
    )
    assert "errors, " in output
    lines = page_lines()
    assert len(lines) >= 6
    for number, line in enumerate(lines, 3):
        told = re.findall(rf"page\.py:{number}:\d+ - error: (.*)", output)
        comment = line.partition("# ")[2]
        assert bool(told) == bool(comment) and all(comment in t for t in told[:1]), (line, told)
    assert reported(output, "ordinary.py") | reported(output, "training.py") == set(), output
    assert reported(output, "mistakes.py") == lines_that_say_wrong(), output


def test_mypy(project):
    pytest.importorskip("mypy")
    # What mypy is told of this package as installed: its signatures count, its bodies are not gone
    # through.
    options = [
        "--config-file",
        "",
        "--follow-imports",
        "silent",
        "--cache-dir",
        str(project / "cache"),
    ]
    command = ["-m", "mypy", *options, "ordinary.py", "training.py", "mistakes.py"]
    env = {**os.environ, "PYTHONPATH": "", "MYPYPATH": f"typings:{ROOT}"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert reported(done.stdout, "ordinary.py") | reported(done.stdout, "training.py") == set(), (
        done.stdout
    )
    assert reported(done.stdout, "mistakes.py") == lines_that_say_wrong(), done.stdout


def test_the_package_says_that_it_holds_its_types():
    assert (ROOT / "jtorch" / "py.typed").is_file()


def test_the_stubs_name_what_is_there():
    stubs = _typings.stubs()
    assert "from jtorch.nn import Linear as Linear\n" in stubs["torch/nn/__init__.pyi"]
    assert "from . import functional as functional\n" in stubs["torch/nn/__init__.pyi"]
    assert "from jtorch.nn.functional import relu as relu\n" in stubs["torch/nn/functional.pyi"]
    assert "from jtorch import randn as randn\n" in stubs["torch/__init__.pyi"]
    assert "np as np" not in stubs["torch/nn/__init__.pyi"]
    assert (
        "from jtorch.nn.utils import weight_norm as weight_norm\n"
        in stubs["torch/nn/utils/__init__.pyi"]
    )
    # the function hides the module
    assert "from . import weight_norm" not in stubs["torch/nn/utils/__init__.pyi"]
    assert not any(path.startswith(("torch/engine", "torch/ops/")) for path in stubs)


def test_the_command_writes_where_it_is_told_and_overwrites_nothing_of_others(tmp_path, capsys):
    assert _typings.run([str(tmp_path / "a")]) == 0
    first = tmp_path / "a" / "torch" / "__init__.pyi"
    stale = first.parent / "gone.pyi"
    stale.write_text(first.read_text())
    assert _typings.run([str(tmp_path / "a")]) == 0
    assert not stale.exists()
    first.write_text("x: int\n")
    assert _typings.run([str(tmp_path / "a")]) == 1
    assert "was not written by this command" in capsys.readouterr().err
    assert first.read_text() == "x: int\n"
    assert _typings.run(["--what"]) == 2
