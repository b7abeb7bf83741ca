"""Processes that begin as forks of one that has imported jtorch alone."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import multiprocessing as mp
from jtorch._src.engine import values
from jtorch.multiprocessing import _fresh
from jtorch.utils.data._utils import nursery

pytestmark = pytest.mark.skipif(
    not nursery.can_be(), reason="processes are started one by one on this platform"
)
CONTEXT = _fresh.FreshContext()


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    if _fresh._nursery is not None:
        _fresh._nursery.close()


def tell(pipe: Any, given: Any) -> None:
    pipe.send(
        (
            os.getppid(),
            os.environ.get("OF_THE_PROGRAM"),
            os.getcwd(),
            (given @ given).item(),
            random.random(),
            np.random.rand(),
        )
    )
    sys.stdout.write("of the process\n")
    sys.exit(7)


def asked(target: Any = tell) -> tuple[Any, ...]:
    """What a process says, and what it ended with."""
    ours, theirs = mp.Pipe()
    process = CONTEXT.Process(target=target, args=(theirs, torch.full((2,), 2.0)))
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    return (*found, process.exitcode)


def test_they_are_forks_of_one_process_and_have_what_the_program_has_now(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    parent, variable, _, product, *drawn, code = asked()
    assert _fresh._nursery is not None and parent == _fresh._nursery.process.pid
    assert (variable, product, code) == (
        None,
        8.0,
        7,
    ) and capfd.readouterr().out == "of the process\n"
    monkeypatch.setenv("OF_THE_PROGRAM", "set later")
    monkeypatch.chdir(tmp_path)
    again, variable, folder, _, *others, _ = asked()
    assert (again, variable, folder) == (parent, "set later", str(tmp_path))
    assert drawn[0] != others[0] and drawn[1] != others[1]


def test_variables_that_are_read_early_have_a_process_import_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked()
    monkeypatch.setenv("JAX_ENABLE_CHECKS", "1")
    parent, *_, code = asked()
    assert (parent, code) == (os.getpid(), 7)


@pytest.mark.skipif(values.tier == "xla", reason="forked processes compile nothing")
def test_what_cannot_be_sent_is_inherited() -> None:
    kept = torch.ones(3, requires_grad=True) * 2

    def local(pipe: Any, given: Any) -> None:
        pipe.send((os.getppid(), (kept + given.sum()).tolist()))

    assert asked(local) == (os.getpid(), [6.0, 6.0, 6.0], 0)


def test_how_they_end_and_that_another_nursery_follows_one_that_has_gone() -> None:
    parent = asked()[0]
    process = CONTEXT.Process(target=signal.pause)
    process.start()
    assert process.is_alive() and process.exitcode is None
    process.terminate()
    process.join()
    assert process.exitcode == -signal.SIGTERM and not process.is_alive()
    os.kill(parent, signal.SIGKILL)
    assert _fresh._nursery is not None
    _fresh._nursery.process.wait()
    assert asked()[-1] == 7
    assert asked()[0] not in (parent, os.getpid())


def test_who_starts_one_without_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (torch.ones(2) @ torch.ones(2)).item() == 2
    torch.ones(2).jax()
    monkeypatch.setattr(mp._default, "_actual_context", None)
    monkeypatch.setattr(
        "multiprocessing.context.DefaultContext.get_start_method", lambda *_, **__: None
    )
    monkeypatch.setattr("multiprocessing.get_start_method", lambda *_, **__: None)
    assert type(mp.get_context()) is _fresh.FreshContext and mp.get_start_method() == "spawn"
    with mp.Pool(2) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2]
