"""Recording: an op call becomes a step of the thread's trace; the trace runs as a whole when a value is needed."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import jax

from . import run, trie
from .calls import Call, shapes_of
from .checks import answered, failure
from .run import immediately
from .trie import DONE, ROOT, State, grow
from .values import SPECIAL, Aval, Lifted, Meta, Value, concrete, default_device

_new = object.__new__

#: Ops in one trace before it is run; a repeating program is cut at whole periods instead (see ``overflow``).
MAX_OPS = 2000
#: Bytes of inputs that one trace may hold on to before it is run.
MAX_BYTES = 1 << 30


#: Who asked that steps of the program do not end traces: the innermost is told of them (``hinted``).
HOLDING: list[Any] = []


class Trace:
    """What one thread has recorded and not yet run.

    Attributes:
        ran: the plan that was run and, once it has, what it gave: whoever comes next gives these to the values if the run was interrupted.
        end: the state after the run: ``DONE`` once the thread records into another trace.
        wary: that inputs must not be consumed, because a run that is interrupted could not be finished.
    """

    __slots__ = (
        "state",
        "values",
        "leaves",
        "numbers",
        "limit",
        "nbytes",
        "lock",
        "held",
        "ran",
        "end",
        "wary",
        "asked",
        "flags",
        "__weakref__",
    )

    def __init__(self, limit: int = MAX_OPS) -> None:
        self.state: State = ROOT
        self.values: list[Value] = []
        self.leaves: list[Value] = []
        self.numbers: list[Any] = []
        self.limit = limit
        self.nbytes = 0
        self.lock: threading.RLock | None = threading.RLock() if _threads.shared else None
        self.held = False  # inside ``record`` by the thread that has the lock
        self.asked = False  # whether the last call's checks wait for an answer
        self.flags: Any = None  # the answer, once it has run
        self.ran: Any = None
        self.end: State = ROOT
        self.wary = False


class _Threads:
    """Whether more than one thread has recorded: only then are traces locked."""

    def __init__(self) -> None:
        self.shared = False
        self.count = 0
        self.traces: weakref.WeakSet[Trace] = weakref.WeakSet()
        self.guard = threading.Lock()

    def joined(self) -> None:
        with self.guard:
            self.count += 1
            if self.count == 2:
                self.shared = True
                for trace in list(self.traces):
                    trace.lock = threading.RLock()
                # Another thread may be inside an unlocked ``record``: let it get out before anybody can flush its trace.
                time.sleep(0.02)


_threads = _Threads()


def _initial_deferred() -> bool:
    mode = os.environ.get("JTORCH_EXECUTION", "deferred")
    if mode not in ("deferred", "immediate"):
        raise ValueError(f"JTORCH_EXECUTION must be 'deferred' or 'immediate', got {mode!r}")
    return mode == "deferred"


class _Local(threading.local):
    """The thread's trace; None in immediate mode."""

    trace: Trace | None

    def __init__(self) -> None:
        self.trace = None
        _threads.joined()
        if _initial_deferred():
            start(self)


def start(local: _Local, limit: int = MAX_OPS) -> Trace:
    """Gives the thread an empty trace."""
    trace = local.trace = Trace(limit)
    if _threads.shared:
        trace.lock = trace.lock or threading.RLock()
    else:
        _threads.traces.add(trace)
    return trace


LOCAL = _Local()


def record(call: Call, ins: Sequence[Value], numbers: tuple[Any, ...] = ()) -> Any:
    """Records ``call`` on ``ins`` and ``numbers`` and returns the value, or the list of values, that it will give.

    Runs it at once in immediate mode, and where an operand is a tracer or has no data.

    Signals' handlers run after any call, and they may raise, record or run what is pending. So an op enters the trace by statements of
    which only the last makes a call, after a look at whether the trace is where it was.
    """
    trace = LOCAL.trace
    if trace is None:
        return immediately(call, ins, numbers)
    if trace.lock is not None and not trace.held:
        with trace.lock:
            trace.held = True
            try:
                return record(call, ins, numbers)
            finally:
                trace.held = False
    before = trace.state
    key: list[Any] = [call]
    for v in ins:
        if v.trace is trace:
            key.append(v.index)
        else:
            if v.trace is SPECIAL:
                _forget(trace, before, key)
                return run.immediately(call, ins, numbers)
            if v.array is None:
                read(v)
            _enter(trace, v)
            key.append(v.index)
            key.append(v.aval)
    path = tuple(key)
    state = before.next.get(path)
    if state is None:
        state = _grow(trace, before, path, call, ins)
        if state is None:
            return record(call, gathered(ins), numbers)
    asked = state.checks and not answered(call, state.checks, ins, numbers)
    outs = state.outs
    made: Any
    if outs is None:
        _forget(trace, before, path)
        flush(trace)
        return record(call, ins, numbers)
    if asked and all(v.array is not None for v in ins):  # by itself, so that the trace goes on
        _forget(trace, before, path)
        return run.immediately(call, ins, numbers)
    values = trace.values
    if type(outs) is Aval:
        made = v = _new(Value)
        v.aval = outs
        v.array = None
        v.trace = trace
        v.meta = None
        v.index = index = len(values)
        if trace.state is not before:
            return record(call, ins, numbers)
        if numbers:
            trace.numbers += numbers
        trace.state = state
        values.append(v)
    else:
        made = []
        index = len(values)
        for aval in outs:
            v = _new(Value)
            v.aval = aval
            v.array = None
            v.trace = trace
            v.index = index
            v.meta = None
            index += 1
            made.append(v)
        if trace.state is not before:
            return record(call, ins, numbers)
        if numbers:
            trace.numbers += numbers
        trace.state = state
        values += made
        index -= 1
    if asked:
        _answer(trace, state, ins, numbers)
    elif index >= trace.limit:
        overflow(trace)
    return made


def _answer(trace: Trace, state: State, ins: Sequence[Value], numbers: tuple[Any, ...]) -> None:
    """Has the last call's checks answered, by running the trace: nobody may see anything that depends on a failed one."""
    if HOLDING and HOLDING[-1].trace is trace:  # what is being recorded is to become one program, so it stays
        flags = run.flags_of(trace)
    else:
        trace.asked = True
        flush(trace)
        flags = trace.flags
        trace.asked, trace.flags = False, None
    if flags is None:  # a signal's handler ran the trace
        assert state.call is not None
        run.immediately(state.call, ins, numbers)
        return
    error = failure(flags, state.checks)
    if error is not None:
        raise error


def _enter(trace: Trace, v: Value) -> None:
    """Makes a concrete value an input of the trace."""
    leaves = trace.leaves
    leaves += (v,)  # no call: its place is known before a signal's handler can enter another value
    v.index = -len(leaves)
    v.trace = trace
    trace.nbytes += v.aval.nbytes
    if trace.nbytes > MAX_BYTES:
        trace.limit = 0  # run after this op


def _forget(trace: Trace, before: State, key: Sequence[Any]) -> None:
    """Takes back the inputs that an op which is not recorded after all has entered, unless others may have come after them."""
    for _ in range(0 if trace.state is not before else sum(type(k) is Aval for k in key)):
        trace.leaves.pop().trace = None


def gathered(ins: Sequence[Value]) -> list[Value]:
    """The operands on one device: 0-dim ones from the host go along with an accelerator's, as in torch."""
    place = next((v.aval.device for v in ins if v.aval.ndim), ins[0].aval.device)
    return [v if v.aval.device == place else concrete(jax.device_put(read(v), place)) for v in ins]


def _grow(trace: Trace, before: State, path: tuple[Any, ...], call: Call, ins: Sequence[Value]) -> State | None:
    """The node for a call that is new here; None if its operands have to be brought to one device first."""
    avals = tuple([v.aval for v in ins])
    try:
        shapes = shapes_of(call, avals, default_device())
    except BaseException:
        _forget(trace, before, path)
        raise
    if shapes.mixed:
        _forget(trace, before, path)
        return None
    if trie.count > trie.LIMIT:
        trie.prune()
    return grow(before, path, call, tuple([v.index for v in ins]), avals, shapes.outs, shapes.checks)


def overflow(trace: Trace) -> None:
    """Runs a trace that has become too long, and chooses where to cut the next one.

    A loop that never reads a value would be cut at a different phase each time, and each cut would be a new program to compile. So the
    next trace is cut at a whole number of the loop's periods.
    """
    state = trace.state
    period = trie.period(state) if trace.nbytes <= MAX_BYTES else 0
    flush(trace)
    if period and LOCAL.trace is not None:
        LOCAL.trace.limit = trie.cut(state, period) - 1


def flush(trace: Trace | None = None) -> None:
    """Runs a trace (the current thread's by default), so that every value that something still refers to becomes concrete.

    Raises:
        RuntimeError: and others, where an op fails: the message names it and the line that recorded it. Values that could not be computed
            stay pending, and are tried again when they are read.
    """
    if trace is None:
        trace = LOCAL.trace
        if trace is None:
            return
    if trace.state.parent is None:
        return
    lock = trace.lock
    if lock is None:
        _run(trace)
    else:
        with lock:
            _run(trace)


def _run(trace: Trace) -> None:
    if trace is LOCAL.trace:
        trace.end = DONE
        start(LOCAL)
    elif trace.end is ROOT:  # another thread's: it may go on recording into it before an interrupted run is finished
        trace.wary = True
    run.run_trace(trace)
    if not trace.limit:
        trace.limit = MAX_OPS


def read(v: Value) -> Any:
    """The ``jax.Array`` of a value, running the trace it is pending in; a tracer as it is.

    Raises:
        NotImplementedError: for a value without data.
    """
    if v.array is None:
        trace = v.trace
        if trace is SPECIAL:
            if isinstance(v, Lifted):
                return read(v.plain())
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        flush(trace)
        if v.array is None:
            raise RuntimeError("this tensor's value could not be computed: an earlier run of the ops it depends on failed")
    return v.array


class execution:
    """``with execution("immediate"):`` runs each op as it is called; ``"deferred"`` (the default) records. Also a plain call-and-forget
    is offered by ``set_execution``.

    Example:
        >>> import jtorch as torch
        >>> with torch.execution("immediate"):
        ...     print(torch.execution_mode())
        immediate
    """

    def __init__(self, mode: str) -> None:
        if mode not in ("deferred", "immediate"):
            raise ValueError(f"execution mode must be 'deferred' or 'immediate', got {mode!r}")
        self.mode = mode

    def __enter__(self) -> execution:
        self.previous = execution_mode()
        set_execution(self.mode)
        return self

    def __exit__(self, *exc: object) -> None:
        set_execution(self.previous)


def execution_mode() -> str:
    """``"deferred"`` or ``"immediate"``: how this thread runs ops.

    Example:
        >>> import jtorch as torch
        >>> with torch.execution("deferred"):
        ...     print(torch.execution_mode())
        deferred
    """
    return "immediate" if LOCAL.trace is None else "deferred"


def set_execution(mode: str) -> None:
    """Sets this thread's execution mode; what is pending runs first when it becomes immediate.

    Example:
        >>> import jtorch as torch
        >>> before = torch.execution_mode()
        >>> torch.set_execution("immediate")
        >>> torch.execution_mode()
        'immediate'
        >>> torch.set_execution(before)
    """
    if mode == "immediate":
        flush()
        LOCAL.trace = None
    elif LOCAL.trace is None:
        start(LOCAL)


def leaf(array: Any) -> Value:
    """The value of an array that a caller already has: never donated, because the caller may read it again."""
    v = concrete(array)
    v.meta = Meta(keep=True)
    return v
