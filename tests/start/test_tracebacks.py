"""Errors that nobody catches are reported with the user's line last but one, and nothing else about
them changes."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._src.start import tracebacks as _tracebacks

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys, threading, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Conv2d(1, 1, 3))
    def forward(self, x):
        return self.body(x)  # user
def inplace():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    y.sum().backward()  # user
def hooked():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: 1 / 0)  # user
    x.sum().backward()
def threaded():
    thread = threading.Thread(target=lambda: torch.ones(2) @ torch.ones(3))  # user
    thread.start()
    thread.join()
def chained():
    try:
        torch.ones(2) + torch.ones(3)
    except RuntimeError as error:
        raise KeyError("mine") from error  # user
cases = dict(
    add=lambda: torch.ones(2) + torch.ones(3),  # user
    module=lambda: Net()(torch.ones(2, 3)),
    index=lambda: torch.ones(3)[torch.tensor([5])],  # user
    argument=lambda: nn.Linear("a", 2),  # user
    file=lambda: torch.load("/nonexistent"),  # user
    vmap=lambda: torch.vmap(lambda a: a + torch.ones(7))(torch.ones(2, 3)),  # user
    inplace=inplace, hooked=hooked, threaded=threaded, chained=chained,
)
for case in sys.argv[1:]:
    child = os.fork()  # each case ends a process of its own, without another import
    if not child:
        cases[case]()
        sys.exit()
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.stderr, flush=True)
"""

#: Case -> how many frames of ours come after the last of the user's.
OURS = {"add": 1, "module": 2, "index": 1, "argument": 1, "file": 1, "vmap": 1, "inplace": 1,
        "hooked": 0, "threaded": 1, "chained": 0}  # fmt: skip


def reports(folder: Path, *names: str, **environment: str) -> dict[str, str]:
    """Case -> what its process writes to stderr until it ends as it should."""
    path = folder / "program.py"
    path.write_text(PROGRAM)
    given = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **environment}
    run = subprocess.run(
        [sys.executable, "-m", "jtorch", str(path), *names],
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    written = re.split(r"^ended (\d+)\n", run.stderr, flags=re.MULTILINE)
    assert written[1::2] == ["0" if case == "threaded" else "1" for case in names], run.stderr
    return dict(zip(names, written[::2], strict=False))


@pytest.fixture(scope="module")
def of_all(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return reports(tmp_path_factory.mktemp("programs"), *OURS)


@pytest.mark.parametrize("case", OURS)
def test_the_users_line_comes_last_but_one(of_all: dict[str, str], case: str) -> None:
    lines = [line for line in of_all[case].splitlines() if line.startswith("  File")]
    users = [i for i, line in enumerate(lines) if "program.py" in line]
    assert len(lines) - 1 - users[-1] == OURS[case]
    last = int(lines[users[-1]].split("line ")[1].split(",")[0])
    assert PROGRAM.splitlines()[last - 1].endswith("# user")
    inside = [
        line
        for line in lines[: users[-1]]
        if "/jtorch/" in line or "<torch" in line or "<jtorch" in line
    ]
    assert len(inside) == (1 if case == "chained" else 0)  # the error that it came from has its own
    assert "JAX has removed" not in "".join(lines)


def test_all_frames_on_request(tmp_path) -> None:
    assert "running.py" in reports(tmp_path, "add", JTORCH_TRACEBACK="full")["add"]
    assert "running.py" not in reports(tmp_path, "add", JTORCH_TRACEBACK="short")["add"]
    path = tmp_path / "empty.py"
    path.write_text("import torch")
    given = {**os.environ, "PYTHONPATH": str(ROOT), "JTORCH_TRACEBACK": "some"}
    run = subprocess.run(
        [sys.executable, "-m", "jtorch", str(path)],
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        run.returncode == 1 and "JTORCH_TRACEBACK must be short or full, got 'some'" in run.stderr
    )


def test_caught_errors_are_whole_and_without_notes() -> None:
    with pytest.raises(RuntimeError) as caught:
        nn.Linear(3, 4)(torch.ones(5))
    names = [entry.name for entry in caught.traceback]
    assert "apply" in names and not getattr(caught.value, "__notes__", [])


def test_a_hook_that_the_program_has_set_is_asked(monkeypatch) -> None:
    seen = []
    hook = _tracebacks._excepthook(lambda *given: seen.append(given))
    try:
        torch.ones(2) + torch.ones(3)
    except RuntimeError as error:
        hook(type(error), error, error.__traceback__)
    kind, value, tb = seen[0]
    assert kind is RuntimeError and value.__traceback__ is tb and tb.tb_next.tb_next is None
    error = ValueError("without a traceback")
    hook(ValueError, error, None)
    assert seen[1] == (ValueError, error, None)


def test_ipython_shows_it_too(monkeypatch) -> None:
    shown = []

    class Shell:
        custom_exceptions = ()

        def set_custom_exc(self, kinds, handler):
            self.handler = handler

        def showtraceback(self, given, tb_offset=None):
            shown.append((given, tb_offset))

    class Module:
        shell = Shell()

        @classmethod
        def get_ipython(cls):
            return cls.shell

    monkeypatch.setitem(sys.modules, "IPython", Module)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("threading.excepthook", _tracebacks.threading.excepthook)
    _tracebacks.install()
    try:
        torch.ones(2) + torch.ones(3)
    except RuntimeError as error:
        Module.shell.handler(Module.shell, RuntimeError, error, error.__traceback__, tb_offset=1)
    (((kind, _, tb), offset),) = shown
    assert kind is RuntimeError and tb.tb_next.tb_next is None and offset == 1


CELLS = """
import jtorch as torch
def mine(x):
    return torch.nn.Linear(2, 3)(x)

mine(torch.ones(4, 5))
torch.add(torch.ones(2), "a")
1 / 0
"""


@pytest.mark.skipif(
    importlib.util.find_spec("IPython") is None, reason="IPython is not installed (extra 'dev')"
)
@pytest.mark.parametrize(("traceback", "ours"), [("short", [2, 1, 0]), ("full", None)])
def test_in_ipython_itself(traceback, ours, tmp_path) -> None:
    given = {**os.environ,
             "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
             "JAX_PLATFORMS": "cpu", "IPYTHONDIR": str(tmp_path),
             "JTORCH_TRACEBACK": traceback}  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--colors=NoColor",
        "--no-banner",
        "--quick",
    ]
    run = subprocess.run(
        command, input=CELLS, env=given, capture_output=True, text=True, timeout=200, check=False
    )
    reports = run.stdout.split("Traceback (most recent call last)")[1:]
    errors = [
        "mat1 and mat2 shapes cannot be multiplied",
        "argument 'other' (position 2) must be Tensor, not str",
        "division by zero",
    ]
    assert len(reports) == 3, run.stdout + run.stderr
    for report, words in zip(reports, errors, strict=True):
        assert "Cell In[" in report and words in report
    assert "----> 2     return torch.nn.Linear(2, 3)(x)" in reports[0]
    counts = [report.count("\nFile ") for report in reports]
    if ours is None:
        assert counts[0] > 2 and counts[2] == 0
    else:
        assert counts == ours
