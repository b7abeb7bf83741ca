"""Interrupts, errors of signals' handlers and failing programs: nothing that a program had is lost,
and it can go on."""

from __future__ import annotations

import importlib.util
import signal
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import (
    OutOfMemoryError,
    execution,
    flush,
    programs,
    run,
    stats,
    trie,
    values,
)


def _campaign():
    path = Path(__file__).parent.parent.parent / "tools" / "campaigns" / "interrupts.py"
    spec = importlib.util.spec_from_file_location("campaign_of_interrupts", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


campaign = _campaign()


@pytest.fixture(autouse=True)
def _deferred(monkeypatch):
    with execution("deferred"):
        flush()
        yield
        flush()


def _loop(seed=0):
    """A step that overwrites its parameter, after which one stands in the values that ``known``
    gives."""
    p = torch.nn.Parameter(torch.full((32, 32), float(seed)))
    optimizer = torch.optim.SGD([p], 1.0)

    def step():
        optimizer.zero_grad()
        (p * 1.0).sum().backward()
        optimizer.step()

    return p, step


compiled = pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")


def _settled():
    """A loop whose program gives its parameters' memory away: JAX knows it."""
    p, step = _loop()
    before = stats.compiled
    for n in range(1, 13):
        step()
        plans = _plans()
        if plans and not plans[-1].wary and not plans[-1].cold:
            assert stats.compiled > before
            return p, step, n, plans[-1]
    if values.tier == "host":
        pytest.skip("nothing is compiled")
    pytest.fail("no step was compiled")


def _plans():
    """The compiled programs that overwrite inputs, the latest used last."""
    found, stack = [], [trie.ROOT]
    while stack:
        node = stack.pop()
        stack.extend(node.next.values())
        found += [plan for plan in (node.plans or {}).values() if plan.donated]
    return sorted(found, key=lambda plan: plan.used)


@pytest.fixture
def settled():
    trie.clear()
    return _settled()


# --------------------------------------------------------------------------------------- all places


@pytest.mark.parametrize("reads", [False, True], ids=["stops", "reads"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_handler_anywhere_in_the_engine(optimizer, reads):
    loop = campaign.Loop("deferred", optimizer)
    trials = campaign.every(
        loop,
        stride=83,
        begin=1 + 7 * reads,
        most=1000,
        reads=reads,
        within="jtorch._src.engine",
        fresh=False,
    )
    wrong = [(what, wrong) for what, wrong in trials if wrong is not None]
    assert not wrong


@pytest.mark.parametrize("scene", ["compiled", "immediate", "hooks"])
def test_a_handler_anywhere_that_stops(scene):
    loop = campaign.Loop(scene, "sgd")
    trials = list(
        campaign.every(loop, stride=199, begin=5, most=5, reads=False, within="jtorch", fresh=False)
    )
    assert len(trials) >= 4
    assert not [(what, wrong) for what, wrong in trials if wrong is not None]


def test_a_timer_stops_what_is_being_compiled():
    loop = campaign.Loop("reading", "adam")
    trie.clear()
    assert not [
        (what, wrong) for what, wrong in campaign.timed(loop, 5, 0, "timer") if wrong is not None
    ]


# --------------------------------------------------------------------------------------- one by one


def test_results_of_a_program_are_given_later(settled, monkeypatch):
    p, step, n, plan = settled
    bind, used = run._bind, plan.used

    def stopped(trace, values, ran):
        monkeypatch.setattr(run, "_bind", bind)
        values[plan.live[0]].array = ran[1][0][0]  # one is given, and then
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_bind", stopped)
    with pytest.raises(KeyboardInterrupt):
        step()
    assert plan.used > used and run._bind is bind
    assert p[0, 0].item() == -n - 1
    step()
    assert p.tolist() == [[-n - 2.0] * 32] * 32


@compiled
def test_what_jax_does_in_python_may_be_stopped(monkeypatch):
    trie.clear()
    ready, stopped = programs.ready, []

    def stopping(jitted, key, args, out):
        program = ready(jitted, key, args, out)

        def runs_and_stops(*args):
            program(*args)
            stopped.append(1)
            monkeypatch.setattr(programs, "ready", ready)
            raise KeyboardInterrupt

        return runs_and_stops if args[0] and not stopped else program

    monkeypatch.setattr(programs, "ready", stopping)
    p, step = _loop()
    done = 0
    for _ in range(12):
        try:
            step()
        except KeyboardInterrupt:
            assert p[0, 0].item() in (-done, -done - 1)
            done = -int(p[0, 0].item()) - 1
        done += 1
        assert p[0, 0].item() == -done
    if programs._place() is None:
        pytest.skip("no program is kept")
    assert stopped


@compiled
def test_a_handlers_error_is_no_error_of_a_program(monkeypatch):
    trie.clear()
    ready = programs.ready

    def late(signum, frame):
        raise TimeoutError("too long")

    def slow(*args):
        monkeypatch.setattr(programs, "ready", ready)
        signal.raise_signal(signal.SIGALRM)
        return ready(*args)

    previous = signal.signal(signal.SIGALRM, late)
    try:
        p, step = _loop(3)
        monkeypatch.setattr(programs, "ready", slow)
        failed = stats.failed
        with pytest.raises(TimeoutError, match=r"^too long$"):
            for _ in range(12):
                step()
        assert stats.failed == failed
    finally:
        signal.signal(signal.SIGALRM, previous)
    at = p[0, 0].item()
    step()
    assert p[0, 0].item() == at - 1


def test_a_handlers_error_in_an_op_is_not_reworded():
    def late(signum, frame):
        raise TimeoutError("too long")

    x, other = torch.ones(3), torch.full((3,), 2.0)
    flush()
    previous = signal.signal(signal.SIGALRM, late)
    try:
        y = x + other
        node = y._v.trace.state
        shapes = node.call.shapes[node.avals]
        real = shapes.run

        def slow(*args):
            shapes.run = real
            signal.raise_signal(signal.SIGALRM)

        shapes.run = slow
        node.plans, node.hits = None, 0
        with pytest.raises(TimeoutError, match=r"^too long$"):
            y.tolist()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert y.tolist() == [3.0] * 3


def _out_of_memory(given, *_):
    for a in given:
        a.delete()  # as XLA does
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes.")


def test_out_of_memory_in_a_new_program(settled):
    p, step, n, plan = settled
    plan.cold, plan.fn, plan.key, plan.wary = True, _out_of_memory, None, True
    step()  # the ops by themselves need less
    assert p[0, 0].item() == -n - 1
    step()
    assert p[0, 0].item() == -n - 2


def test_out_of_memory_in_a_program_that_ran_before(settled):
    p, step, _, plan = settled
    plan.fn = _out_of_memory
    with pytest.raises(
        OutOfMemoryError, match="a program that overwrites its inputs: out of memory"
    ):
        step()
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match="value is lost: a program that overwrites its inputs: out of memory"
        ):
            p.tolist()
    trie.clear()
    p.data = torch.zeros(32, 32)
    step()
    np.testing.assert_array_equal(p.detach().numpy(), np.full((32, 32), -1, np.float32))


@pytest.mark.parametrize("scene", ["deferred", "compiled"])
def test_a_step_that_cannot_be_computed_is_undone(scene, monkeypatch):
    loop = campaign.Loop(scene, "adam")
    loop.set(0)
    loop.step(0)

    def no_memory(*_):
        raise OutOfMemoryError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(run, "_execute", no_memory)
        patch.setattr(run, "_step", no_memory)
        with pytest.raises(OutOfMemoryError):
            loop.step(1)
    assert loop.far_from(1) is None
    loop.step(1)
    assert loop.far_from(2) is None
