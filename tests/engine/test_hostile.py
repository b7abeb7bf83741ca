"""Programs that defeat recording stay bounded: in memory, in what is compiled, and in results."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import execution, flush, stats, tiers, trie, values
from jtorch._src.engine.values import Value


@pytest.fixture(autouse=True)
def _deferred():
    with execution("deferred"):
        flush()
        yield
        flush()


def _values() -> int:
    gc.collect()
    return sum(type(o) is Value for o in gc.get_objects())


def _start(n=8):
    return torch.tensor(np.linspace(-1, 1, n * n, dtype=np.float32).reshape(n, n))


def _both(program):
    """The result of a program in both modes."""
    found = program()
    with execution("immediate"):
        expected = program()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    return found


MOVES = (
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: torch.tanh(x),
    torch.maximum,
    lambda x, y: x.transpose(0, 1),
    lambda x, y: torch.sin(y) * x,
)


def test_graph_that_never_repeats_is_not_compiled():
    rng = np.random.default_rng(0)
    for move in MOVES:  # every kernel is warm, so that only the order is new
        move(_start(), _start()).sum().item()

    def program(order):
        x = y = _start()
        for k in order:
            x, y = MOVES[k](x, y), x
        return x.sum().item()

    program(rng.integers(0, len(MOVES), 40))
    compiled, stepped = stats.compiled, stats.stepped
    for _ in range(30):
        program(rng.integers(0, len(MOVES), 40))
    assert stats.compiled == compiled
    assert stats.stepped == stepped + 30


def test_graph_that_never_repeats_leaves_a_bounded_trie(monkeypatch):
    monkeypatch.setattr(trie, "LIMIT", 400)
    rng = np.random.default_rng(1)
    before = _values()
    for _ in range(40):
        x = y = _start()
        for k in rng.integers(0, len(MOVES), 50):
            x, y = MOVES[k](x, y), x
        x.sum().item()
        assert trie.count <= 400 + 60  # one trace beyond the limit
    del x, y
    flush()
    assert _values() <= before + 5


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_pruning_keeps_compiled_traces(monkeypatch):
    trie.clear()

    def program():
        x = _start()
        for _ in range(7):
            x = torch.cos(x) + 1
        return x.sum().item()

    for _ in range(3):
        program()
    compiled = stats.compiled
    monkeypatch.setattr(trie, "LIMIT", trie.count + 50)
    rng = np.random.default_rng(2)
    for _ in range(10):
        x = y = _start()
        for k in rng.integers(0, len(MOVES), 30):
            x, y = MOVES[k](x, y), x
        x.sum().item()
    replayed = stats.replayed
    program()
    assert stats.replayed == replayed + 1
    assert stats.compiled == compiled


def test_new_shapes_each_step_compile_one_program_each():
    weight = torch.ones((8, 8))
    compiled = stats.compiled
    for n in range(3, 9):
        assert torch.tanh(torch.ones((n, 8)) @ weight).mean().item() == pytest.approx(1.0, abs=1e-5)
    assert stats.compiled <= compiled + 6


def test_shapes_that_return_are_not_compiled_again():
    def program(n):
        return (torch.ones((n, 5)) * 2 + 1).sum().item()

    for _ in range(3):
        for n in range(2, 8):
            program(n)
    compiled = stats.compiled
    for _ in range(5):
        for n in range(2, 8):
            assert program(n) == n * 15
    assert stats.compiled == compiled


def test_branches_on_values_end_in_few_programs():
    def program():
        x = _start()
        taken = []
        for i in range(30):
            mean = x.mean().item()
            if mean > 0.113:
                x, way = x * 0.5 - 0.31, 0
            elif mean < -0.127:
                x, way = torch.relu(x + 0.43), 1
            else:
                x, way = torch.sin(x) + 0.053 * (i % 7) - 0.11, 2
            taken.append(way)
        return [x.sum().item(), *taken]

    assert len(set(_both(program)[1:])) > 1
    for _ in range(3):
        program()
    compiled, count = stats.compiled, trie.count
    for _ in range(10):
        program()
    assert stats.compiled == compiled  # each way round is one trace, whatever the values were
    assert trie.count == count


def test_numbers_that_change_do_not_compile_again():
    def program(rate):
        x = _start()
        for i in range(10):
            x = x * rate + i
        return x.sum().item()

    for rate in (0.1, 0.2, 0.3):
        program(rate)
    compiled, count = stats.compiled, trie.count
    for rate in np.linspace(-1, 1, 20):
        program(float(rate))
    assert (stats.compiled, trie.count) == (compiled, count)


def test_ten_thousand_ops_before_a_read():
    def program():
        x = start = _start()
        for _ in range(5000):
            x = torch.sin(x) + start
        return x.sum().item()

    compiled = stats.compiled
    _both(program)
    # cut at whole periods: the same few programs over and over
    assert stats.compiled <= compiled + 4
    compiled, count = stats.compiled, trie.count
    program()
    program()
    program()
    assert stats.compiled <= compiled + 2
    before = (stats.compiled, trie.count)
    program()
    assert (stats.compiled, trie.count) == before
    assert count < 8000


def test_a_loop_is_cut_alike_when_it_comes_again():
    def loop(n):
        w = _start(6)
        for _ in range(n):
            a, b = torch.split(w, 3)  # several results in an op: traces are cut by ops all the same
            w = torch.cat([b * 0.5, torch.tanh(a)])
        return w.sum().item()

    compiled = stats.compiled
    expected = loop(1500)
    for _ in range(3):
        loop(1500)
    # the first cut, the ones after it, the rest after the last
    assert stats.compiled <= compiled + 3
    compiled, count = stats.compiled, trie.count
    for _ in range(3):
        assert loop(1500) == pytest.approx(expected, rel=1e-5)
    assert (stats.compiled, trie.count) == (compiled, count)


def test_long_traces_are_compiled_only_once_they_have_cost_enough(monkeypatch):
    monkeypatch.setattr(tiers, "TRACE_OP", 1.0)
    order = np.random.default_rng(6).integers(0, len(MOVES), 1500)

    def program():
        x = y = _start()
        for k in order:
            x, y = MOVES[k](x, y), x
        return x.sum().item()

    compiled = stats.compiled
    for _ in range(3):
        program()
    assert stats.compiled == compiled


def test_ten_thousand_ops_without_a_period():
    order = np.random.default_rng(5).integers(0, len(MOVES), 10_000)

    def program():
        x = y = _start()
        for k in order:
            x, y = MOVES[k](x, y), x
        return x.sum().item()

    compiled = stats.compiled
    _both(program)
    assert stats.compiled == compiled  # seen once


def test_loop_that_never_reads_keeps_only_what_is_alive():
    def loop(n):
        w = _start()
        for _ in range(n):
            w = w - 0.01 * torch.tanh(w @ w)
        return w

    loop(3000)
    flush()
    before, compiled = _values(), stats.compiled
    w = loop(6000)
    assert _values() <= before + 5 * 2001  # at most one trace of pending values
    flush()
    assert _values() <= before + 2
    assert stats.compiled <= compiled + 4
    assert np.isfinite(w.sum().item())


def test_loop_that_never_reads_bounds_the_inputs_it_holds(monkeypatch):
    monkeypatch.setattr(sys.modules["jtorch._src.engine.record"], "MAX_BYTES", 1 << 20)
    flushes = stats.flushes
    total = torch.zeros((256, 256))
    for _ in range(40):  # each turn enters 256 KiB of new data
        total = total + torch.tensor(np.ones((256, 256), np.float32))
    assert stats.flushes - flushes >= 8
    assert total.sum().item() == 40 * 256 * 256


def test_growing_list_is_the_same_trace_each_time():
    def program():
        found = [_start()]
        for _ in range(12):
            found.append(torch.tanh(torch.stack(found).mean(0)))
        return found[-1].sum().item()

    _both(program)
    program()
    program()
    compiled, count = stats.compiled, trie.count
    for _ in range(5):
        program()
    assert (stats.compiled, trie.count) == (compiled, count)


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_failed_compilation_is_not_tried_again(monkeypatch):
    from jtorch._src.engine import run

    def fail(*_args):
        raise RuntimeError("no memory for the whole program")

    def program():
        x = _start(5)
        for _ in range(9):
            x = torch.cos(x) - 0.5
        return x.sum().item()

    expected = program()
    failed = stats.failed
    with monkeypatch.context() as patch:
        patch.setattr(run, "_execute", fail)
        assert program() == expected
    assert stats.failed == failed + 1
    compiled = stats.compiled
    assert program() == expected
    assert stats.compiled == compiled
