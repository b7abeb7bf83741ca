"""Recording: an op call becomes a step of the thread's trace; the trace runs as a whole when a
value is needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from numpy import ndarray

from . import run, trie, values
from .at_once import immediately, quickly, several
from .calls import Call, Guarded, Shapes, common_device, shapes_of
from .checks import answered, failure
from .homes import Home
from .signalled import is_signalled
from .tiers import FEW, device_array
from .trie import DONE, ROOT, State, grow
from .values import SPECIAL, Aval, Lifted, Meta, Several, Value, concrete, default_device

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Operand


_new = object.__new__

#: Ops in one trace before it is run; a repeating program is cut at whole periods instead (see
#: ``overflow``).
MAX_OPS = 2000
#: Bytes of inputs that one trace may hold on to before it is run.
MAX_BYTES = 1 << 30
#: A kernel that has run so many times in traces of few small ops is run when it is called:
#: recording it would take longer than it does.
AT_ONCE = 8


class _Holding(threading.local):
    """Who in this thread asked that steps of the program do not end traces: the innermost is told
    of them (``hinted``)."""

    def __init__(self) -> None:
        self.stack = []


HOLDING = _Holding()


class Trace:
    """What one thread has recorded and not yet run.

    Attributes:
        known: the numbers of the inputs by their identity; None where they are marked themselves.
        ran: the plan that was run and, once it has, what it gave: whoever comes next gives these to
            the values if the run was interrupted.
        end: the state after the run: ``DONE`` once the thread records into another trace.
        wary: that inputs must not be consumed, because a run that is interrupted could not be
            finished.
        asked: whether the checks of the last call are to be answered by running it; ``flags`` is
            the answer.
        undo: called with the trace's values and inputs if an op of it fails.
        ahead: what ran as it was called since a value was read last; None where everything is to be
            recorded.
        writes: how many writes into parts of values were recorded that could be done at once (see
            ``at_hand``).
    """

    __slots__ = (
        "state",
        "values",
        "leaves",
        "numbers",
        "limit",
        "nbytes",
        "home",
        "known",
        "ran",
        "end",
        "wary",
        "asked",
        "flags",
        "undo",
        "ahead",
        "writes",
        "__weakref__",
    )

    def __init__(self, home: Home, limit: int = MAX_OPS) -> None:
        self.state: State = ROOT
        self.values: list[Value] = []
        self.leaves: list[Value] = []
        self.numbers = []
        self.limit = limit
        self.nbytes = 0
        self.home = home
        self.known: dict[int, int] | None = None if home.marks else {}
        self.ran: Any = None
        self.end: State = ROOT
        self.wary = self.asked = False
        self.flags: Any = None
        self.undo = []
        self.ahead: list[Shapes] | None = [] if limit <= MAX_OPS else None
        self.writes = 0


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
        self.home = Home()
        if _initial_deferred():
            start(self)


def start(local: _Local, limit: int = MAX_OPS) -> Trace:
    """Gives the thread an empty trace."""
    trace = local.trace = Trace(local.home, limit)
    return trace


LOCAL = _Local()


def record(call: Call, ins: Sequence[Value], numbers: Arguments = ()) -> Any:
    """Records ``call`` on ``ins`` and ``numbers`` and returns the value, or the list of values,
    that it will give.

    Runs it at once in immediate mode, and where an operand is a tracer or has no data.

    Signals' handlers run after any call, and they may raise, record or run what is pending; other
    threads may run the trace up to its state at any time. So an op enters the trace by statements
    of which none makes a call, the state last, after a look at whether the trace is where it was.
    """
    made: Any
    trace = LOCAL.trace
    # Nothing is pending, so NumPy may run the call now: for calls that are read one by one that is
    # cheaper than recording, planning and running a trace of one op. Once several come between two
    # reads they are recorded, as they may be worth one program.
    if trace is None or trace.state is ROOT:
        n = len(ins)
        found = call.shapes.get(
            (ins[0].aval, ins[1].aval)
            if n == 2
            else (ins[0].aval,)
            if n == 1
            else tuple([v.aval for v in ins])
            if n
            else ()
        )
        if found is not None and found.quick is not None:
            if trace is None:
                if (made := quickly(found, ins, numbers)) is not None:
                    return made
            elif (
                found.alone >= AT_ONCE
                and (ahead := trace.ahead) is not None
                and (made := quickly(found, ins, numbers)) is not None
            ):
                ahead.append(found)
                if len(ahead) > FEW:
                    record_again(trace)
                return made
        if trace is None:
            return immediately(call, ins, numbers)
    # The key tells the op by what it does and where its operands come from, never by their data: a
    # step of training that comes again finds the states that it made the first time, and with them
    # its program.
    before = trace.state
    key: list[Any] = [call]
    try:
        for v in ins:
            if v.trace is trace:
                key.append(v.index)
            else:
                if v.trace is SPECIAL or v.array is None:
                    return _otherwise(trace, key, v, call, ins, numbers)
                aval = v.aval
                known = trace.known
                if known is None:  # as ``_enter`` does, without a call
                    leaves = trace.leaves
                    leaves += (v,)
                    v.index = at = -len(leaves)
                    v.trace = trace
                    trace.nbytes = nbytes = trace.nbytes + aval.nbytes
                    if nbytes > MAX_BYTES:
                        trace.limit = 0
                elif (at := known.get(id(v))) is not None:
                    key.append(at)
                    continue
                else:
                    at = _enter(trace, v)
                # An input's shape and dtype belong to the key once, where it is first mentioned:
                # from then on its number says them.
                key.append(at)
                key.append(aval)
        path = tuple(key)
        state = before.next.get(path)
        if state is None:
            state = _grow(before, path, call, ins)
            if state is None:
                _forget(trace, key)
                return record(call, gathered(call, ins), numbers)
        # torch raises errors that depend on values from the call that causes them, so that an open
        # question ends the deferral here.
        asked = state.checks and not answered(call, state.checks, ins, numbers)
        outs = state.outs
        values = trace.values
        if outs is None:
            _forget(trace, key)
            flush(trace)
            return record(call, ins, numbers)
        if asked and all(v.array is not None for v in ins):  # by itself, so that the trace goes on
            _forget(trace, key)
            return immediately(call, ins, numbers)
        if type(outs) is Aval:
            # Attribute by attribute: calling the class would cost more than these statements.
            made = v = _new(Value)
            v.aval = outs
            v.array = None
            v.trace = trace
            v.meta = None
            v.index = index = len(values)
            # a handler or a finalizer has recorded something, or read it
            if trace.state is not before:
                return _otherwise(trace, key, None, call, ins, numbers)
            if numbers:
                trace.numbers += numbers
            values += (v,)
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
                return _otherwise(trace, key, None, call, ins, numbers)
            if numbers:
                trace.numbers += numbers
            values += made
            index -= 1
        trace.state = state
    except BaseException:
        _repair(trace)
        raise
    if asked:
        _answer(trace, state, ins, numbers)
    elif index >= trace.limit:
        overflow(trace)
    return made


def note_read() -> None:
    """Notes that the program has read a value that was at hand."""
    trace = LOCAL.trace
    if trace is not None and trace.ahead:
        trace.ahead = []


def record_one(call: Call, v: Value) -> list[Value] | Value:
    """``record(call, (v,))``, in fewer steps where NumPy runs the call at once."""
    shapes = call.shapes.get((v.aval,))
    if shapes is not None and (quick := shapes.quick) is not None:
        trace = LOCAL.trace
        if trace is None or (
            shapes.alone >= AT_ONCE and trace.state is ROOT and trace.ahead is not None
        ):
            a = v.array
            if type(a) is ndarray:
                try:
                    out = quick(a)
                except Exception as error:
                    if is_signalled(error):
                        raise
                else:
                    return _made_at_once(trace, shapes, out)
    return record(call, (v,))


def record_two(call: Call, v: Value, w: Value) -> Any:
    """``record(call, (v, w))``, in fewer steps where NumPy runs the call at once."""
    shapes = call.shapes.get((v.aval, w.aval))
    if shapes is not None and (quick := shapes.quick) is not None:
        trace = LOCAL.trace
        if trace is None or (
            shapes.alone >= AT_ONCE and trace.state is ROOT and trace.ahead is not None
        ):
            a = v.array
            b = w.array
            if type(a) is ndarray and type(b) is ndarray:
                try:
                    out = quick(a, b)
                except Exception as error:
                    if is_signalled(error):
                        raise
                else:
                    return _made_at_once(trace, shapes, out)
    return record(call, (v, w))


def _made_at_once(trace: Trace | None, shapes: Shapes, out: Any) -> Value | list[Value]:
    if trace is not None:
        ahead: Any = trace.ahead
        ahead.append(shapes)
        if len(ahead) > FEW:
            record_again(trace)
    if type(out) is not ndarray:
        return several(shapes, out)
    v = _new(Value)
    v.aval = shapes.outs
    v.array = out
    v.index = 0
    v.trace = v.meta = None
    return v


def record_again(trace: Trace) -> None:
    """Has what ran as it was called recorded from now on: so much of it between two reads may be
    worth compiling.

    Each time for twice as long as the time before, so that a program that comes to read its values
    one by one is not kept from it.
    """
    ahead, trace.ahead = trace.ahead, []
    for shapes in ahead or ():
        if shapes.alone >= AT_ONCE:
            shapes.back = back = max(2 * shapes.back, run.SET_BACK)
            shapes.alone = AT_ONCE - back


def _otherwise(
    trace: Trace,
    key: Sequence[object],
    v: Value | None,
    call: Call,
    ins: Sequence[Value],
    numbers: tuple[object, ...],
) -> list[Value] | Value:
    """Runs a call at once that has a special operand, or records it anew, after its operand ``v``
    has been computed elsewhere."""
    _forget(trace, key)
    if v is not None:
        if v.trace is SPECIAL:
            return immediately(call, ins, numbers)
        read(v)
    return record(call, ins, numbers)


def _answer(trace: Trace, state: State, ins: Sequence[Value], numbers: tuple[float, ...]) -> None:
    """Has the last call's checks answered, by running the trace: nobody may see anything that
    depends on a failed one."""
    # what is being recorded is to become one program, so it stays
    if HOLDING.stack and HOLDING.stack[-1].trace is trace:
        flags = run.flags_of(trace)
    else:
        trace.asked = True
        flush(trace)
        flags = trace.flags
        trace.asked, trace.flags = False, None
    if flags is None:  # a signal's handler ran the trace
        assert state.call is not None
        immediately(state.call, ins, numbers)
        return
    error = failure(flags, state.checks)
    if error is not None:
        raise error


def _enter(trace: Trace, v: Value) -> int:
    """Makes a concrete value an input of the trace; gives its number."""
    leaves = trace.leaves
    leaves += (v,)  # no call: its place is known before a signal's handler can enter another value
    at = -len(leaves)
    if trace.known is None:
        v.index = at
        v.trace = trace
    else:
        trace.known[id(v)] = at
    trace.nbytes += v.aval.nbytes
    if trace.nbytes > MAX_BYTES:
        trace.limit = 0  # run after this op
    return at


def number_in(trace: Trace, v: Value) -> int | None:
    """The number of a value in a trace; None if it is not there."""
    if v.trace is trace:
        return v.index
    return None if trace.known is None else trace.known.get(id(v))


def release(trace: Trace, start: int = 0) -> None:
    """Has the inputs from a number on forget that the trace has them."""
    leaves = trace.leaves[start:]
    if trace.known is None:
        for v in leaves:
            if v.trace is trace:
                v.trace = None
    else:
        for v in leaves:
            trace.known.pop(id(v), None)


def _forget(trace: Trace, key: Sequence[Any]) -> None:
    """Takes back the inputs that an op which is not recorded after all has entered."""
    for n in range(len(key) - 1, 0, -1):
        if type(key[n]) is Aval and -key[n - 1] == len(trace.leaves):
            release(trace, len(trace.leaves) - 1)
            trace.leaves.pop()


def _repair(trace: Trace) -> None:
    """Takes back all that an op has left whose recording ended with an error, or was
    interrupted."""
    steps = trace.state.steps()
    inputs = max((-i for s in steps for i in s.ids), default=0)
    release(trace, max(0, inputs))
    del trace.leaves[max(0, inputs) :]
    del trace.values[sum(1 if type(s.outs) is Aval else len(s.outs) for s in steps) :]
    del trace.numbers[sum(len(s.call.kinds) for s in steps) :]


def gathered(call: Call, ins: Sequence[Value]) -> list[Value]:
    """The operands on one device: 0-dim ones from the host go along with an accelerator's, as in
    torch.

    Beside operands that are spread over several devices, what lies on one of these is copied to
    all.
    """
    place = common_device(call, tuple([v.aval for v in ins]), default_device())
    there = place.replicated if type(place) is Several else place
    return [v if v.aval.device == place else concrete(jax.device_put(read(v), there)) for v in ins]


def _grow(
    before: State, path: tuple[object, ...], call: Call, ins: Sequence[Value]
) -> State | None:
    """The node for a call that is new here; None if its operands have to be brought to one device
    first."""
    avals = tuple([v.aval for v in ins])
    shapes = shapes_of(call, avals, default_device())
    if shapes.mixed:
        return None
    if trie.count > trie.LIMIT:
        trie.prune()
    ids = tuple([k for k in path[1:] if type(k) is int])
    return grow(before, path, call, ids, avals, shapes.outs, shapes.checks)


def overflow(trace: Trace) -> None:
    """Runs a trace that has become too long, and chooses where to cut the next one.

    A loop that never reads a value would be cut at a different phase each time, and each cut would
    be a new program to compile. So the next trace is cut at a whole number of the loop's periods.
    """
    state = trace.state
    period = trie.period(state) if trace.limit > 0 else 0
    flush(trace)
    if period and LOCAL.trace is not None:
        LOCAL.trace.limit = trie.cut(state, period) - 1


def flush(trace: Trace | None = None) -> None:
    """Runs a trace (the current thread's by default), so that every value that something still
    refers to becomes concrete.

    Raises:
        RuntimeError: and others, where an op fails: the message names it and the line that recorded
            it. Values that could not be computed stay pending, and are tried again when they are
            read.
    """
    if trace is None:
        trace = LOCAL.trace
        if trace is None:
            return
    if trace.ahead:
        trace.ahead = []
    if trace.state.parent is None:  # nothing is pending in it
        return
    trace.writes = 0
    if values.lost is not None:
        values.lost()
    with trace.home.lock:
        state = trace.state
        if not (state.small and trace is LOCAL.trace and _ran_small(trace, state)):
            _run(trace)


def _ran_small(trace: Trace, state: State) -> bool:
    """Runs a trace of few small ops that NumPy runs, in a shorter way; False if that could not be
    done."""
    if trace.asked or trace.ran is not None or trace.known is not None or trace.limit > MAX_OPS:
        return False  # (of another thread than the first; watched, to become a program)
    leaves, numbers = trace.leaves, trace.numbers
    results = []
    at = 0
    try:
        for shapes, ids, n in state.small:  # type: ignore[union-attr]
            if not shapes.on_host:
                return False
            args = [leaves[-i - 1].array if i < 0 else results[i] for i in ids]
            if n:
                args += numbers[at : at + n]
                at += n
            out = shapes.run(*args)
            if type(out) is not ndarray:
                if type(out) is Guarded:
                    out = out.outs
                if type(out) is tuple:
                    results += out
                    continue
            results.append(out)
    except Exception as error:
        if is_signalled(error):
            raise
        return False  # raised again, in other words, by the longer way
    values = trace.values
    if trace.state is not state or len(values) != len(results):  # a signal's handler was there
        return False
    for shapes, _, _ in state.small:  # type: ignore[union-attr]
        shapes.alone += 1
    run.stats.flushes += 1
    run.stats.stepped += 1
    # From here on without a call: who comes next finds the ops pending or done.
    for v, a in zip(values, results):
        v.array = a
        v.trace = None
    for v in leaves:
        if v.trace is trace:
            v.trace = None
    trace.values, trace.leaves, trace.numbers, trace.undo, trace.nbytes = [], [], [], [], 0
    trace.limit, trace.state = trace.limit or MAX_OPS, ROOT
    return True


def _run(trace: Trace) -> None:
    if trace is LOCAL.trace:  # else it failed before
        # not the root, so that an op that was about to be recorded there finds out
        trace.end = DONE
        start(LOCAL)
    run.run_trace(trace)
    if not trace.limit:
        trace.limit = MAX_OPS


def read(v: Value) -> Operand:
    """The ``jax.Array`` of a value, running the trace it is pending in; a tracer as it is.

    Raises:
        NotImplementedError: for a value without data.
    """
    a = array_of(v)
    return device_array(v) if type(a) is ndarray else a


def numbers_of(v: Value) -> np.ndarray:
    """The elements of a value as a NumPy array in row-major order that must not be written into,
    wherever they are; runs the trace that it is pending in.

    Raises:
        NotImplementedError: for a value without data.
        jax.errors.TracerArrayConversionError: for a tracer.
    """
    a = np.asarray(array_of(v))
    a = a.view() if a.flags.c_contiguous else a.copy()
    a.flags.writeable = False
    return a


def array_of(v: Value) -> jax.Array | np.ndarray:
    """The array of a value as it is, NumPy's or JAX's, running the trace it is pending in.

    Raises:
        NotImplementedError: for a value without data.
    """
    if v.array is None:
        trace = v.trace
        if trace is SPECIAL:
            if isinstance(v, Lifted):
                return array_of(v.plain())
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if trace is not None:  # else it has been computed just now
            if trace.home is LOCAL.home:
                flush(trace)
            else:
                _read_from(trace, v)
        if v.array is None:
            raise RuntimeError(
                "this tensor's value could not be computed: an earlier run of the ops it depends "
                "on failed"
            )
    elif (trace := LOCAL.trace) is not None and trace.ahead:
        trace.ahead = []
    return v.array


def _read_from(trace: Trace, v: Value) -> None:
    """Computes what is pending in a trace of another thread, which may be recording.

    The trace stays what it is, but for the values that have become concrete. The other thread is
    asked to run it with its next op: a trace that goes on growing would be run again and again up
    to where it is read.
    """
    with trace.home.lock:
        if v.array is None and trace.state is not DONE:
            try:
                run.run_for_another(trace)
            # of an op that the other thread has recorded, and where it will be raised, too
            except Exception:
                if v.array is None:
                    raise
    if trace.limit <= MAX_OPS:  # else the trace is watched, to become a program
        trace.limit = 0


class execution:
    """``with execution("immediate"):`` runs each op as it is called; ``"deferred"`` (the default)
    records. Also a plain call-and-forget is offered by ``set_execution``.

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


def leaf(array: Operand) -> Value:
    """The value of an array that a caller already has: never donated, because the caller may read
    it again."""
    v = concrete(array)
    v.meta = Meta(keep=True)
    return v
