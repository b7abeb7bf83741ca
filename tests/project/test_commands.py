"""The commands that the documents show: programs and folders that they name are there, and the
programs know the options."""

from __future__ import annotations

import functools
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
#: Programs of others: what their options are is not this package's to say. CI runs those that check
#: it.
OTHERS = {"ruff", "pyright", "gcloud", "cd", "mypy", "torchrun", "export"}
PROGRAMS = {"pip", "python", "jtorchrun", *OTHERS}
SETTING = re.compile(r"^[A-Z_]+=\S+$")


def _commands() -> list[tuple[str, list[str]]]:
    """The commands in blocks that are indented: the page, and the words without settings of
    variables."""
    found = []
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE):
            if not SETTING.match(first := line.split()[0]) and first not in PROGRAMS:
                continue  # no command
            words = shlex.split(line, comments=True)
            while words:
                part = words[: words.index("&&")] if "&&" in words else words
                words = words[len(part) + 1 :]
                while part and SETTING.match(part[0]):
                    del part[0]
                if part and part[0] in PROGRAMS:
                    found.append((page.name, part))
    return found


COMMANDS = _commands()


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 15
    assert {"README.md", "CONTRIBUTING.md", "processes.md", "typing.md"} <= {
        page for page, _ in COMMANDS
    }


@pytest.mark.parametrize("words", [w for _, w in COMMANDS if w[0] == "pip"], ids=" ".join)
def test_what_is_installed_is_declared(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words[2:]:
        if word.startswith("."):
            assert set(re.findall(r"\w+", word)) <= set(extras), word


@functools.cache
def _known(module: str) -> str:
    """What a module's ``--help`` prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _check_options(module: str, words: list[str]) -> None:
    if options := {w.partition("=")[0] for w in words if w.startswith("--")}:
        known = set(re.findall(r"--[\w-]+", _known(module)))
        assert options <= known | {o.replace("-", "_") for o in known}, options - known


@pytest.mark.parametrize(
    "words",
    [
        w
        for _, w in COMMANDS
        if w[:2] == ["python", "-m"] and w[2].split(".")[0] in ("benchmarks", "tools")
    ],
    ids=" ".join,
)
def test_tools_know_their_options(words: list[str]) -> None:
    assert importlib.util.find_spec(words[2]) is not None
    _check_options(words[2], words[3:])


@pytest.mark.parametrize(
    "words",
    [w for _, w in COMMANDS if w[0] == "jtorchrun" or w[3:4] == ["torch.distributed.run"]],
    ids=" ".join,
)
def test_the_launcher_takes_the_arguments(words: list[str]) -> None:
    from jtorch.distributed.run import get_args_parser

    rest = (
        words[1:] if words[0] == "jtorchrun" else words[words.index("torch.distributed.run") + 1 :]
    )
    parsed = get_args_parser().parse_args(rest)
    assert parsed.training_script.endswith(".py")


@pytest.mark.parametrize(
    "words", [w for _, w in COMMANDS if w[:3] == ["python", "-m", "jtorch"]], ids=" ".join
)
def test_jtorch_knows_what_it_is_told(words: list[str]) -> None:
    first = words[3]
    if first.endswith(".py"):
        assert first == "train.py" or (ROOT / first).exists()
    elif first != "-m":
        assert first in _known("jtorch")
    for option in [w for w in words[4:] if w.startswith("--")]:
        if not first.endswith(".py") and first != "-m":
            assert option in _known("jtorch")
