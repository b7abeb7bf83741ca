"""The engine: traces, tiers, plans, donation, failures, threads; and what of it shows through
tensors."""

from __future__ import annotations

import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import (
    Call,
    concrete,
    execution,
    flush,
    read,
    record,
    room,
    run,
    stats,
    trie,
    values,
)


@pytest.fixture(autouse=True)
def _deferred():
    with execution("deferred"):
        yield
        flush()


def _call(fn, name="f"):
    return Call(name, fn)


add = _call(lambda a, b: a + b, "add")


def _value(*shape):
    return concrete(jnp.ones(shape, jnp.float32))


def test_record_runs_nothing_until_read():
    ran = []

    def kernel(a):
        ran.append(isinstance(a, jax.core.Tracer))
        return a * 2

    v = record(_call(kernel), (_value(3),))
    assert v.array is None and v.aval.shape == (3,)
    np.testing.assert_array_equal(read(v), np.full(3, 2, np.float32))
    assert all(ran)  # only ever traced, never called on arrays


def test_same_program_walks_the_same_nodes():
    def program():
        v = _value(4)
        for _ in range(5):
            v = record(add, (v, v))
        return read(v)

    program()
    before = trie.count
    for _ in range(10):
        assert program()[0] == 32
    assert trie.count == before


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_repeated_trace_is_compiled_once_and_replayed():
    mul = _call(lambda a: a * 3, "mul")

    def program():
        v = _value(7)
        for _ in range(6):
            v = record(mul, (v,))
        return read(v)

    program()
    compiled = stats.compiled
    for _ in range(5):
        assert program()[0] == 729
    assert stats.compiled <= compiled + 1
    assert stats.replayed > 0


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_dead_intermediates_are_not_outputs():
    double = _call(lambda a: a + a, "double")
    for _ in range(4):
        v = _value(2)
        for _ in range(3):
            v = record(double, (v,))
        state = v.trace.state
        assert read(v)[0] == 8
    assert [plan.live for plan in state.plans.values()] == [(2,)]


def test_numbers_do_not_recompile():
    x = torch.ones(8)
    for i in range(5):
        ((x * float(i)) + i).sum().item()
    compiled = stats.compiled
    for i in range(20):
        found = ((x * (0.5 * i)) + i).sum().item()
        assert found == pytest.approx(8 * 1.5 * i)
    assert stats.compiled == compiled


def test_numbers_of_all_kinds_in_one_trace_keep_their_places():
    for i in range(4):
        a = torch.full((2,), i) + 7
        b = torch.full((2,), bool(i % 2))
        c = torch.full((2,), 0.5 * i)
        d = torch.full((2,), 1j * i)
        e = torch.full((2,), i + 1)
        assert (a.tolist(), b.tolist(), c.tolist(), d.tolist(), e.tolist()) == (
            [i + 7] * 2,
            [bool(i % 2)] * 2,
            [0.5 * i] * 2,
            [1j * i] * 2,
            [i + 1] * 2,
        )


def test_large_integers_survive():
    x = torch.zeros(2, dtype=torch.int64)
    assert (x + (2**62 + 1)).tolist() == [2**62 + 1] * 2


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_old_parameters_are_donated():
    p = torch.ones(1000)
    for _ in range(6):
        p.mul_(0.5)
        p.add_(1.0)
        state = p._v.trace.state
        flush()
    assert any(plan.donated == (0,) for plan in state.plans.values())
    assert p.tolist() == [1.984375] * 1000


def test_arrays_of_the_caller_are_never_donated():
    x = jnp.ones(1000, jnp.float32)
    for _ in range(5):
        p = torch.from_jax(x)
        p.mul_(0.5)
        p.add_(1.0)
        flush()
    assert float(x[0]) == 1.0
    held = p.jax()
    for _ in range(5):
        p.mul_(0.5)
        p.add_(1.0)
        flush()
    assert float(held[0]) == 1.5


def test_two_runs_with_different_live_values_agree():
    def program(keep):
        a = torch.arange(4.0)
        b = a * 2
        c = b + 1
        if not keep:
            del b
            return c.tolist(), None
        return c.tolist(), b.tolist()

    for keep in (False, True, False, True, True, False):
        c, b = program(keep)
        assert c == [1.0, 3.0, 5.0, 7.0]
        assert b in (None, [0.0, 2.0, 4.0, 6.0])


def test_length_limit_and_period():
    x = torch.ones(4)
    for _ in range(3000):
        x = x * 1.0
        x = x + 1.0
        x = x - 1.0
    assert x.tolist() == [1.0] * 4


def test_failure_names_op_and_line_and_loses_nothing():
    import jax.experimental

    switch = {"fail": True}

    def host(a):
        if switch["fail"]:
            raise RuntimeError("the disk is on fire")
        return np.asarray(a) + 1

    def kernel(a):
        return jax.pure_callback(host, jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    risky = _call(kernel, "risky")
    x = _value(3)
    before = record(add, (x, x))
    middle = record(risky, (before,))
    after = record(add, (middle, x))
    with pytest.raises(Exception, match=r"risky.*test_engine\.py"):
        read(after)
    np.testing.assert_array_equal(read(before), np.full(3, 2, np.float32))
    np.testing.assert_array_equal(read(x), np.ones(3, np.float32))
    switch["fail"] = False
    np.testing.assert_array_equal(read(after), np.full(3, 4, np.float32))


def test_interrupt_leaves_the_trace_runnable(monkeypatch):
    x = torch.ones(3)
    y = (x + 1) * 2
    real = run._run_trace
    calls = []

    def interrupted(trace):
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return real(trace)

    monkeypatch.setattr(run, "_run_trace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        y.tolist()
    assert y.tolist() == [4.0] * 3
    assert x.tolist() == [1.0] * 3


def test_shape_errors_are_raised_where_they_are_made():
    x, y = torch.ones(3), torch.ones(4)
    with pytest.raises(
        RuntimeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\)"
    ):
        x + y
    assert (x + x).tolist() == [2.0] * 3  # the failed op left nothing behind in the trace


def test_threads_record_their_own_traces_and_read_each_others():
    results = {}
    start = threading.Barrier(4)

    def work(n):
        start.wait()
        t = torch.full((5,), float(n))
        for _ in range(50):
            t = t + 1
        results[n] = t

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for n, t in results.items():
        assert t.tolist() == [n + 50.0] * 5


def test_many_threads_hammer_shared_tensors():
    shared = torch.arange(10.0)
    errors = []

    def work():
        try:
            for _ in range(30):
                assert (shared * 2 + 1).sum().item() == 100.0
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_values_are_freed():
    x = torch.ones(100)
    y = x * 2
    ref = weakref.ref(y._v)
    y.tolist()
    del y
    gc.collect()
    assert ref() is None


def test_trie_is_pruned(monkeypatch):
    monkeypatch.setattr(trie, "LIMIT", 200)
    x = torch.ones(2)
    for i in range(400):
        y = x
        for _ in range(i % 7 + 1):
            y = y + (x if (i >> 2) % 2 else y)
            y = y.reshape(1 + i % 2, -1).reshape(-1)[:2]
        y.tolist()
    assert trie.count <= 400


def test_under_jax_transformations():
    def f(t):
        return (t * t + 1).sum()

    x = torch.arange(3.0)
    jitted = jax.jit(f)
    assert jitted(x).item() == 8.0
    grads = jax.grad(lambda t: f(t).jax())(x)
    assert grads.tolist() == [0.0, 2.0, 4.0]
    batched = jax.vmap(f)(torch.arange(6.0).reshape(2, 3))
    assert batched.tolist() == [8.0, 53.0]


def test_pending_values_inside_jit_are_constants():
    pending = torch.ones(3) + 1

    @jax.jit
    def f(t):
        return t * pending

    assert f(torch.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert pending.tolist() == [2.0] * 3


def test_immediate_mode_runs_at_once():
    with execution("immediate"):
        y = torch.ones(3) + 1
        assert y._v.array is not None
    assert y.tolist() == [2.0] * 3


def test_execution_rejects_other_names():
    with pytest.raises(ValueError, match="deferred"):
        execution("later")


def test_index_checks_are_raised_at_the_read():
    x = torch.arange(5.0)
    with pytest.raises(IndexError, match="out of"):
        x[torch.tensor([7])].tolist()
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_loop_over_indices_of_computed_values_compiles_a_few_programs() -> None:
    x = torch.arange(240.0).reshape(2, 4, 5, 6) * 1.0
    before = stats.compiled
    for place in np.ndindex(2, 4, 5, 6):
        x[place] = x[place] + 1.0
        (x @ x.mT).sum().item()
    assert stats.compiled - before < 100
    np.testing.assert_array_equal(
        x.numpy(), np.arange(240.0, dtype=np.float32).reshape(2, 4, 5, 6) + 1
    )


def _loaded() -> int:
    stack, found = [trie.ROOT], 0
    while stack:
        node = stack.pop()
        stack.extend(node.next.values())
        found += bool(node.plans)
    return found


@pytest.mark.skipif(values.tier == "host", reason="nothing is compiled")
def test_programs_not_used_lately_are_unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EVERY": 4, "LIMIT": 10, "SHARE": 0.5, "mappings": _loaded}.items():
        monkeypatch.setattr(room, name, value)
    trie.clear()
    most = 0
    for n in range(2, 20):  # 18 shapes, three runs each so that the traces compile
        for _ in range(3):
            x = torch.ones(n, n)
            y = torch.tanh(x @ x) + x.cumsum(0)
            np.testing.assert_allclose(
                y.sum().item(), n * n * np.tanh(n) + n * n * (n + 1) / 2, rtol=1e-4
            )
        most = max(most, _loaded())
    assert 4 < most <= 9  # the limit and what came in since the last look
    if room._limit() is not None:
        monkeypatch.undo()
        before = room.mappings()
        room.unload()
        room.unload()
        assert room.mappings() < before
