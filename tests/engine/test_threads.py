"""Threads: what they share is right, errors stay where they were made, and nobody waits for
ever."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.composites.filling import drawn
from jtorch._src.engine import LOCAL, THREADS, Call, concrete, flush, read, record, require_gil
from jtorch._src.engine.record import Trace, number_in
from jtorch._src.tensor import cells, numbers, running
from jtorch.core import alias_of
from tools.campaigns import interleaved
from tools.campaigns import threads as campaign

SUM = Call("sum of two", lambda a, b: a + b)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A trace that others have read is run with its thread's next op, which must not be one of
    another test."""
    yield
    flush()


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], Any]) -> list[Any]:
    """What functions give, each run by a thread of its own; raises the first error."""
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []

    def run(i: int) -> None:
        try:
            results[i] = works[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(works))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not any(t.is_alive() for t in threads)
    if errors:
        raise errors[0]
    return results


@pytest.mark.parametrize("kind", campaign.KINDS, ids=lambda kind: kind.__name__)
def test_campaign(kind: Any, switching: None) -> None:
    tally = campaign.Tally(80, 2.0)
    kind(campaign.Slice(tally, kind.__name__, "test", 80, 2.0), 4)
    assert not tally.failures and tally.tried, tally.summary()


@pytest.mark.parametrize(
    ("start", "first", "second"),
    [
        (interleaved.computed, "t[0].add_", "numpy"),
        (interleaved.computed, "t[0] = 4", "t[1, 0] = 9"),
        (interleaved.numbers, "t.add_", "t[0]"),
        (interleaved.numbers, "numpy", "t[1].mul_"),
        (interleaved.was_in_numpy, "numpy", "tolist"),
        (interleaved.viewed, "foreach_add_", "t.view"),
        (interleaved.viewed, "deepcopy", "t[0]"),
        (interleaved.leaf, "backward", "backward again"),
        (interleaved.with_history, "t[0].add_", "t[1, 0] = 9"),
        (interleaved.numbers, "t[0] = 4", "save"),
        (interleaved.numbers, "share_memory_", "numpy"),
    ],
)
def test_another_thread_comes_in_anywhere(
    start: Callable[[], Any], first: str, second: str
) -> None:
    found = [
        x
        for mode in ("deferred", "immediate")
        for x in interleaved.tries(interleaved.Case(start, first, second, mode))
    ]
    assert len(found) > 9 and [x for x in found if not x[1]] == []


# ---- traces --------------------------------------------------------------------------------------


def test_reading_what_another_thread_is_still_recording() -> None:
    with torch.execution("deferred"):
        x = torch.arange(3.0)
        y = x + 1
        trace = LOCAL.trace
        assert together(lambda: (y * 2 - 1).tolist()[:2]) == [[1, 3]]
        # nobody takes the trace away from its thread, which may be in the middle of an op
        assert LOCAL.trace is trace
        z = y * x
        assert LOCAL.trace is not trace  # but it runs then, and does not grow further
        assert z.tolist() == [0, 2, 6] and (y + z).tolist() == [1, 4, 9]


def test_results_of_a_thread_that_has_ended() -> None:
    def make() -> Any:
        y = torch.arange(3.0) * 2
        return y, y + 1

    [(y, z)] = together(make)
    gc.collect()
    assert z.tolist() == [1, 3, 5] and y.tolist() == [0, 2, 4]
    assert (y + z).tolist() == [1, 5, 9]


def test_inputs_of_several_traces_keep_their_numbers() -> None:
    with torch.execution("deferred"):
        tensors = [torch.tensor([float(i)]) for i in range(4)]
        turns = [threading.Event() for _ in range(3)]

        def other() -> Any:
            with torch.execution("deferred"):
                y = tensors[3] + tensors[2]
                turns[0].set()
                turns[1].wait(10)
                return (y * tensors[2] - tensors[1] * tensors[3]).tolist()

        def mine() -> Any:
            turns[0].wait(10)
            with torch.execution("deferred"):
                z = tensors[1] * tensors[2] + tensors[3]
                turns[1].set()
                return (z - tensors[1]).tolist()

        assert together(other, mine) == [[7], [4]]
        assert (tensors[1] + tensors[2]).tolist() == [3]


def test_one_input_that_is_used_twice_is_one_input_in_every_thread() -> None:
    def inputs() -> int:
        with torch.execution("deferred"):
            flush()
            x, y = torch.tensor([1.0]), torch.tensor([2.0])
            z = x * y + x - y * x  # noqa: F841 (it is recorded)
            return len(LOCAL.trace.leaves)  # type: ignore[union-attr]

    assert inputs() == 2 and together(inputs, inputs) == [2, 2]


def test_one_thread_alone_marks_inputs() -> None:
    """A value has one place for its number; two threads that wrote there would take each other's
    for their own."""
    x = torch.tensor([1.0])

    def marked() -> Any:
        with torch.execution("deferred"):
            flush()
            y = x + 1
            trace, v = LOCAL.trace, x._read()
            assert (
                trace is not None and number_in(trace, v) == -1 and number_in(trace, y._read()) == 0
            )
            flush()
            assert number_in(LOCAL.trace, v) is None
            z = y * x
            return v.trace is LOCAL.trace, z.tolist()

    assert together(marked) == [(False, [2])]
    together(marked, marked)
    assert number_in(Trace(LOCAL.home), x._read()) is None


def test_who_reads_waits_while_the_trace_runs() -> None:
    with torch.execution("deferred"):
        y = torch.tensor([1.0]) + 1
        v = y._read()
        done = threading.Event()

        def other() -> Any:
            found = y.tolist()
            done.set()
            return found

        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(other()))
        with LOCAL.home.lock:  # as while it runs
            thread.start()
            assert not done.wait(0.2) and v.array is None
        thread.join(10)
        assert found == [[2]]


def test_an_op_that_is_interrupted_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["jtorch._src.engine.record"]
    with torch.execution("deferred"):
        flush()
        a, b, c = (concrete(torch.tensor([float(i)]).jax()) for i in range(3))
        s = record(SUM, (a, b))

        def interrupted(*_: Any) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(module, "shapes_of", interrupted)
            with pytest.raises(KeyboardInterrupt):
                record(Call("another", lambda a, b: a * b), (c, s))
        trace = LOCAL.trace
        assert trace is not None and len(trace.leaves) == 2
        t = record(SUM, (c, s))
        assert np.asarray(read(t)).tolist() == [3] and np.asarray(read(s)).tolist() == [1]


@pytest.mark.parametrize("reads", [False, True])
def test_a_finalizer_that_computes_while_an_op_is_recorded(reads: bool) -> None:
    class Operands(list):
        due = True

        def __iter__(self) -> Any:
            yield list.__getitem__(self, 0)
            if self.due:
                self.due = False
                found = torch.tensor([3.0, 3.0]) * 2
                assert not reads or found.tolist() == [6, 6]
            yield list.__getitem__(self, 1)

    with torch.execution("deferred"):
        a, b = (torch.tensor([float(i)] * 2) for i in (1, 2))
        c = a + a
        v = record(SUM, Operands([b._read(), (c + 1)._read()]))
        w = record(SUM, (v, v))
        assert (
            np.asarray(read(w)).tolist() == [10, 10]
            and np.asarray(read(v)).tolist() == [5, 5]
            and c.tolist() == [2, 2]
        )


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_is_raised_in_the_thread_that_made_it() -> None:
    x = torch.arange(3.0)
    made, seen = threading.Event(), threading.Event()

    def failing() -> None:
        try:
            y = x.index_select(0, torch.tensor([7]))
            flush()
        finally:
            made.set()
        seen.wait(10)
        y.tolist()

    def other() -> Any:
        made.wait(10)
        try:
            return (x * 2).tolist()
        finally:
            seen.set()

    found: list[Any] = []

    def caught() -> None:
        with pytest.raises((IndexError, RuntimeError), match="range"):
            failing()
        found.append(True)

    assert together(caught, other)[1] == [0, 2, 4] and found == [True]


def test_a_failing_op_does_not_keep_others_from_reading_what_came_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unlucky(*_: Any) -> Any:
        raise RuntimeError("no luck")

    monkeypatch.setattr(sys.modules["jtorch._src.engine.run"], "_plan_for", lambda *_: None)
    with torch.execution("deferred"):
        call = Call("unlucky", lambda a, b: a + b)
        before = torch.tensor([1.0]) + 1
        v = record(call, (before._read(), before._read()))
        (shapes,) = call.shapes.values()
        monkeypatch.setattr(shapes, "run", unlucky)
        assert together(before.tolist) == [[2]]
        with pytest.raises(RuntimeError, match="no luck"):
            together(lambda: read(v))
        with pytest.raises(RuntimeError, match="no luck"):  # and in the thread that recorded it
            read(v)
        monkeypatch.undo()
        assert np.asarray(read(v)).tolist() == [4]


# ---- tensors -------------------------------------------------------------------------------------


def test_views_made_at_once_share_memory(switching: None) -> None:
    for _ in range(60):
        t = torch.zeros(4, 2)
        start = threading.Barrier(3)

        def view(t: Any = t, start: Any = start) -> Any:
            start.wait(10)
            return t[1:], alias_of(t).storage

        found = together(view, view, view)
        assert len({id(s) for _, s in found}) == 1
        t.add_(1)
        assert all(v.sum().item() == 6 for v, _ in found)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.add_(1),
        lambda t: t.fill_(1),
        lambda t: torch._foreach_add_([t], 1),
        lambda t: t.__setitem__(slice(None), 1.0),
        lambda t: t[:].__setitem__(slice(None), torch.ones(3, 2)),
    ],
    ids=["add_", "fill_", "_foreach_add_", "setitem", "setitem of a view"],
)
def test_a_write_meets_a_view_that_is_being_made(
    switching: None, write: Callable[[Any], Any]
) -> None:
    for _ in range(60):
        t = torch.zeros(3, 2)
        start = threading.Barrier(2)

        def written(t: Any = t, start: Any = start) -> None:
            start.wait(10)
            write(t)

        def view(t: Any = t, start: Any = start) -> Any:
            start.wait(10)
            return t[0]

        v = together(written, view)[1]
        assert t.tolist() == [[1, 1]] * 3 and v.tolist() == [1, 1]
        t.mul_(3)
        assert t.tolist() == [[3, 3]] * 3 and v.tolist() == [3, 3]


@pytest.mark.parametrize(
    "write",
    [lambda t: t.add_(1), lambda t: torch._foreach_add_([t], 1)],
    ids=["add_", "_foreach_add_"],
)
def test_a_view_made_at_the_last_moment_sees_the_write(
    write: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    t = torch.zeros(3, 2)
    views: list[Any] = []

    # the last call before a new value is set, at which another thread may come in
    def count(v: Any) -> int:
        if not views:
            views.append(t[0])
        return sys.getrefcount(v) - 1

    monkeypatch.setattr(running, "_refs", count)
    write(t)
    assert views and t.tolist() == [[1, 1]] * 3 and views[0].tolist() == [1, 1]


def test_an_array_that_another_thread_drops_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(3)
    arrays = [x.numpy()]
    real = numbers.contiguous_strides

    # what another thread may do there: drop the last array, and read the tensor
    def dropped(shape: Any) -> Any:
        arrays.clear()
        assert x.tolist() == [0, 1, 2]
        return real(shape)

    monkeypatch.setattr(numbers, "contiguous_strides", dropped)
    array = x.numpy()
    x.add_(1)
    assert not arrays and array.tolist() == [1, 2, 3]


def test_a_write_meets_an_array_that_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(3)
    writes = [lambda: x.add_(1)]
    real = cells.weakref.WeakSet

    def written(*args: Any) -> Any:  # another thread comes in
        if writes:
            writes.pop()()
        return real(*args)

    monkeypatch.setattr(cells.weakref, "WeakSet", written)
    array = x.numpy()
    assert not writes and array.tolist() == [1, 2, 3] == x.tolist()


def test_a_tensor_stays_shared_while_another_thread_may_share_it() -> None:
    t = torch.zeros(2)
    goes = threading.Event()
    ready = threading.Event()

    def other() -> None:
        torch.zeros(1).tolist()
        ready.set()
        goes.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait(10)
    assert THREADS.many
    alias_of(t)
    gc.collect()
    t._read()
    assert t._al is not None
    goes.set()
    thread.join()
    gc.collect()
    if not THREADS.many:
        t._read()
        assert t._al is None and t._v is not None


def test_what_one_draw_takes_lies_together() -> None:
    twister = torch.Generator().manual_seed(3)._twister
    inside, second = threading.Event(), threading.Event()

    def slow(twister: Any, n: int, _: bool) -> Any:
        first = twister.bits32(1)
        inside.set()
        second.wait(0.3)  # in vain
        return np.concatenate([first, twister.bits32(n - 1)])

    def quick(twister: Any, n: int, _: bool) -> Any:
        second.set()
        return twister.bits32(n)

    def other() -> Any:
        inside.wait(10)
        return drawn(quick, twister, (2,))

    a, b = together(lambda: drawn(slow, twister, (3,)), other)
    assert [*a, *b] == [*torch.Generator().manual_seed(3)._twister.bits32(5)]


def test_gradients_of_several_threads_add_up(switching: None) -> None:
    w = torch.ones(3, requires_grad=True)

    def walk() -> None:
        for i in range(20):
            (w * i).sum().backward()

    together(*[walk] * 4)
    assert w.grad.tolist() == [4 * 190.0] * 3


def test_compiled_functions_called_at_once(switching: None) -> None:
    for k in range(3):
        compiled = torch.compile(lambda x, k=k: (x * k + 1).relu() - x)
        start = threading.Barrier(4)

        def call(n: int, compiled: Any = compiled, start: Any = start) -> Any:
            start.wait(10)
            return [compiled(torch.tensor([float(n + i)])).item() for i in range(8)]

        expected = [[max((n + i) * k + 1, 0) - (n + i) for i in range(8)] for n in range(4)]
        assert together(*[lambda n=n: call(n) for n in range(4)]) == expected


# ---- processes -----------------------------------------------------------------------------------


def test_a_child_process_finds_all_locks_free() -> None:
    go, held = threading.Event(), threading.Event()
    home = LOCAL.home

    def hold() -> None:
        with (
            contextlib.suppress(RuntimeError),
            home.lock,
            torch.autograd.accumulate.LOCK,
            THREADS.guard,
        ):
            held.set()
            go.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    assert not home.lock.acquire(blocking=False)
    THREADS.forked()
    for lock in (home.lock, torch.autograd.accumulate.LOCK, THREADS.guard):
        assert lock.acquire(blocking=False)
        lock.release()
    go.set()
    thread.join()


def test_python_without_its_global_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(RuntimeError, match=r"free-threaded Python.*PYTHON_GIL=1"):
        require_gil()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    require_gil()
