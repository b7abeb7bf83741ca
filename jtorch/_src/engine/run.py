"""Running traces: op by op while they are new, as one compiled program once they repeat; donation
of what is no longer referenced."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from . import ahead, heap, limits, pace, programs, room, tiers
from . import values as _values
from .apart import kernels
from .at_once import _REFUSALS, _ArrayImpl, _Jitted, _ndarray, again, outside_jax, translate
from .calls import Guarded, Shapes, known
from .host.rules import GIVEN
from .signalled import is_signalled
from .tiers import device_array, moved
from .trie import State
from .values import Aval, Value, is_jax_default, placed

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Values
    from .record import Trace

_refs = sys.getrefcount
#: In place of the seconds spent on a trace: its program could not be compiled.
NEVER = float("-inf")
#: By what ``Shapes.alone`` is set back where the kernel is part of a longer trace, and at least
#: where that is compiled: to run a part of it as it is called would leave another trace to compile.
SET_BACK, SET_FAR_BACK = 32, 1 << 10
#: Smallest input worth donating.
DONATE_BYTES = 256


class Stats:
    """Counters for tests and curious users (``jtorch._src.engine.stats``)."""

    def __init__(self) -> None:
        self.flushes = self.compiled = self.replayed = self.stepped = self.failed = 0

    def __repr__(self) -> str:
        return (
            f"flushes={self.flushes} compiled={self.compiled} replayed={self.replayed} "
            f"stepped={self.stepped} failed={self.failed}"
        )


stats = Stats()


class Plan:
    """A compiled program for a trace, a set of live outputs and a set of donated inputs."""

    __slots__ = (
        "fn",
        "jitted",
        "key",
        "live",
        "live_set",
        "donated",
        "kept",
        "checked",
        "kinds",
        "cold",
        "used",
        "wary",
        "size",
        "paced",
    )

    def __init__(
        self,
        fn: Function,
        live: tuple[int, ...],
        donated: tuple[int, ...],
        kept: tuple[int, ...],
        checked: bool,
        kinds: list[str],
        key: str | None,
        paced: bool,
    ) -> None:
        self.fn = self.jitted = fn
        self.live, self.donated, self.kept = live, donated, kept
        self.checked = checked  # whether it answers the last call's checks
        self.key = key  # under which it is kept for other processes
        self.live_set = frozenset(live)
        self.kinds = kinds
        self.cold = True  # not compiled yet: that happens in the first call
        self.used = 0  # the number of the flush that used it last
        self.wary = bool(donated)  # see ``_execute``
        self.paced = paced  # see ``pace``
        self.size = -1  # of the program's cache in JAX, after the last call


def _baseline() -> tuple[int, int]:
    """Reference counts of a value that only the list has, seen through the two loops used below;
    they differ between Pythons."""
    values = [Value()]
    live = [_refs(v) for i, v in enumerate(values)]
    values[0].array = object()
    leaf = [_refs(v.array) for v in values]
    return live[0], leaf[0]


_ONLY_LIST, _ONLY_VALUE = _baseline()


def run_trace(trace: Trace) -> None:
    """Runs ``trace`` and makes its live values concrete. On failure those that could not be
    computed stay pending in it."""
    _where_it_belongs(_run_trace, trace)


def _where_it_belongs(run: Callable[[Any], None], trace: Trace | _Part) -> None:
    """Runs a trace on the device of its ops, and outside of JAX's own traces."""
    device = trace.state.device
    if device is not None and not is_jax_default(device):
        with placed(device):
            run(trace)
    elif outside_jax():
        run(trace)
    # inside jax.jit or jax.grad: what is pending is concrete, and must not become part of JAX's own
    # trace
    else:
        trace.wary = True
        with jax.ensure_compile_time_eval():
            run(trace)


class _Part:
    """A trace up to a state of it."""

    __slots__ = ("state", "values", "leaves", "numbers", "ran", "wary", "asked", "flags")

    def __init__(self, trace: Trace) -> None:
        self.ran = self.flags = None
        self.wary = self.asked = False
        self.state: State = trace.state  # first: what belongs to it is in the trace by now
        self.values: list[Value] = trace.values
        self.leaves: list[Value] = list(trace.leaves)
        self.numbers: list[Any] = trace.numbers[
            : sum(len(s.call.kinds) for s in self.state.steps())
        ]


def run_for_another(trace: Trace) -> None:
    """Makes the live values concrete that a trace of another thread has by now.

    That thread may be recording: nothing is donated, and the trace is left as it is.
    """
    part = _Part(trace)
    _where_it_belongs(_run_part, part)


def _run_part(part: _Part) -> None:
    state, values, leaves, numbers = part.state, part.values, part.leaves, part.numbers
    size = sum([1 if type(s.outs) is Aval else len(s.outs) for s in state.steps()])
    # What only the trace refers to nobody can ask for: it need not leave the program, and XLA may
    # fuse it away.
    live = tuple(
        [i for i, v in enumerate(values) if i < size and _refs(v) > _ONLY_LIST and v.array is None]
    )
    if not live:
        return
    stats.flushes += 1
    state.hits += 1
    plan = _plan_for(state, live, (), leaves)
    if plan is not None:
        try:
            _execute(plan, part, state, values, leaves, numbers)
            return
        except Exception as error:  # the owner finds out whether the whole program is at fault
            if is_signalled(error):
                raise
    _step(part, state, live, values, leaves, numbers)


def _run_trace(trace: Trace) -> None:
    state: State = trace.state
    held = trace.values, trace.leaves, trace.numbers
    if state.parent is None:
        return
    stats.flushes += 1
    try:
        _compute(trace, state, *held)
    except Exception as error:
        # Where a signal's handler read a value, that ran the trace, and this run had nothing left
        # to work on.
        if is_signalled(error):
            raise
        if trace.state is state:
            for undo in reversed(trace.undo):
                undo(held[0], held[1])
            raise
    # Values that are computed left the trace as they got their arrays, and the others nothing
    # refers to.
    if trace.known is None:
        for v in held[1]:
            if v.trace is trace:
                v.trace = None
    trace.wary = False
    # Without a call in between, so that who comes next finds the trace either as it was or empty.
    trace.values, trace.leaves, trace.numbers, trace.undo, trace.nbytes, trace.ran, trace.state = (
        [],
        [],
        [],
        [],
        0,
        None,
        trace.end,
    )


def _compute(
    trace: Trace, state: State, values: list[Value], leaves: list[Value], numbers: Values
) -> None:
    ran = trace.ran
    if ran is not None:  # an earlier run was interrupted, or failed for good
        if type(ran) is not list:
            raise RuntimeError(f"this tensor's value is lost: {ran}") from ran
        if len(ran) > 1:
            _bind(trace, values, ran)
    live = tuple([i for i, v in enumerate(values) if _refs(v) > _ONLY_LIST and v.array is None])
    if live:
        state.hits += 1
        plan = _plan_for(state, live, _free(leaves), leaves)
        if plan is not None:
            try:
                _execute(plan, trace, state, values, leaves, numbers)
                return
            except Exception as error:
                ran = trace.ran
                if (
                    trace.state is not state
                    or is_signalled(error)
                    or (ran is not None and len(ran) > 1)
                ):
                    raise  # it tells nothing about the program
                if any(
                    type(a := leaves[i].array) is not _ndarray and a.is_deleted()
                    for i in plan.donated
                ):
                    # It has run before, and now failed after it had been given inputs to overwrite.
                    trace.ran = lost = translate(
                        error, "a program that overwrites its inputs", None
                    )
                    raise lost from error
            # finds the op that fails, or gets by without the whole program
            _step(trace, state, live, values, leaves, numbers)
            if plan.cold:  # and will do so from now on
                stats.failed += 1
                state.spent = NEVER
                state.plans = None
        else:
            _step(trace, state, live, values, leaves, numbers)
            if state.small is None:
                state.small = tiers.small(state.steps())
            elif state.hits == 2 and not state.small:  # it comes again
                _set_back(state)


def _kernels(state: State) -> list[Shapes]:
    """What is known of a trace's kernels, each once."""
    found = [shapes for s in state.steps() if (shapes := s.call.shapes.get(s.avals)) is not None]
    return list({id(shapes): shapes for shapes in found}.values())


def _set_back(state: State) -> None:
    """Notes that the kernels of a trace are part of what recording is of use for."""
    for shapes in _kernels(state):
        shapes.alone -= SET_BACK


def _set_far_back(state: State) -> None:
    """Notes that the kernels of a trace are part of what is compiled, each time for twice as
    long."""
    for shapes in _kernels(state):
        shapes.back = back = max(2 * shapes.back, SET_FAR_BACK)
        shapes.alone = min(shapes.alone, 0) - back


def _free(leaves: list[Value]) -> tuple[int, ...]:
    """Inputs that nothing refers to any more."""
    found = []
    for i, v in enumerate(leaves):
        # Both must be alone: a view by NumPy or JAX may hold the array when nobody holds the value.
        alone = _refs(v) <= _ONLY_LIST and _refs(v.array) <= _ONLY_VALUE
        if alone and v.aval.nbytes >= DONATE_BYTES and (v.meta is None or not v.meta.keep):
            found.append(i)
    return tuple(found)


def _heirs(
    steps: list[State], live: tuple[int, ...], free: tuple[int, ...], leaves: list[Value]
) -> list[tuple[int, int]]:
    """Which live output takes over which free input's buffer, as pairs (input, output).

    An output that is computed before the input's last use would need a copy of the input first,
    which costs more than donating saves. So an heir comes from the step that uses the input last,
    in the order of its operands (the new parameters of an optimiser's step for the old ones), or
    from a later step.
    """
    uses: dict[int, tuple[int, int]] = {}
    made: dict[Aval, list[tuple[int, int]]] = {}  # outputs of each aval as (step, output)
    wanted = set(live)
    output = 0
    for n, s in enumerate(steps):
        for place, i in enumerate(s.ids):
            if i < 0:
                uses[-i - 1] = (n, place)
        for aval in (s.outs,) if type(s.outs) is Aval else s.outs:
            if output in wanted:
                made.setdefault(aval, []).append((n, output))
            output += 1
    pairs = []
    for i in sorted((i for i in free if i in uses), key=uses.__getitem__):
        last = uses[i][0]
        heirs = made.get(leaves[i].aval, ())
        heir = next((h for h in heirs if h[0] == last), None) or next(
            (h for h in heirs if h[0] > last), None
        )
        if heir is not None:
            made[leaves[i].aval].remove(heir)
            pairs.append((i, heir[1]))
    return pairs


def _plan_for(
    state: State, live: tuple[int, ...], free: tuple[int, ...], leaves: list[Value]
) -> Plan | None:
    if _values.alone is not None:
        return None
    plans = state.plans
    if plans:
        found = plans.get((live, free))
        if found is not None:
            return found
        wanted, given = set(live), set(free)
        # A program that gives more than is wanted now saves a compilation, as long as what it gives
        # in vain is not the most of it.
        for plan in list(plans.values()):
            if (
                wanted <= plan.live_set
                and given.issuperset(plan.donated)
                and len(plan.live) <= 2 * len(live) + 4
            ):
                return plan
    if not _worth_compiling(state):
        if tiers.soon(state):
            _begin(state, live, free, leaves)
        return None
    stats.compiled += 1
    room.one_more()
    _set_far_back(state)
    if state.worth is not None:
        tiers.compiled_seconds += state.worth[1]
    # Which inputs may be overwritten belongs to the program's name: the same ops with an input that
    # somebody still holds are another.
    plan = _planned(state, live, free, leaves)
    plans = state.plans
    if plans is None:
        plans = state.plans = {}
    return plans.setdefault((live, free), plan)


def _worth_compiling(state: State) -> bool:
    """Whether to compile the trace as a whole now: because its runs op by op have taken so much
    longer than those of the whole would that this has paid for compiling, or because compiling its
    kernels one by one would cost more."""
    if state.spent == NEVER:
        return False
    steps = state.steps()
    if len(steps) == 1:
        call: Any = state.call
        if not call.whole or call.demanded:
            return call.demanded
        if not tiers.settled(call, state.avals).on_host:
            return True
    if _values.tier == "host":
        return False
    saved, compiling = state.worth = state.worth or tiers.estimate_of(steps)
    if state.spent and saved * state.spent > compiling:
        return True
    # each op costs a launch there, and each kernel had to be compiled, too
    if state.hits >= 2 and not _values.on_host(state.device):
        return tiers.may_compile(compiling, stats.flushes)
    # nothing of what follows is otherwise than it was then, but that its kernels are there
    if state.spent:
        return False
    if any(s.call.apart for s in steps):
        return False
    # a view larger than what there is of it should become part of what uses it
    if any(_widens(s) for s in steps):
        return True
    cold = {}
    for s in steps:
        shapes = known(s.call, s.avals)  # type: ignore[arg-type]
        if not shapes.on_host and s.avals not in s.call.warm:
            cold[id(shapes)] = tiers.kernel_seconds(shapes.estimate)  # type: ignore[union-attr]
    return len(cold) >= 3 and sum(cold.values()) > compiling


def _widens(step: State) -> bool:
    outs = step.outs
    return (
        step.call.view
        and type(outs) is Aval
        and outs.nbytes > limits.SMALL
        and outs.nbytes > step.avals[0].nbytes
    )


def _begin(state: State, live: tuple[int, ...], free: tuple[int, ...], leaves: list[Value]) -> None:
    """Has a trace compiled by another thread that will soon be."""
    state.begun = True
    if not ahead.possible():
        return
    plan = _planned(state, live, free, leaves)
    pools = _pools([0] * len(plan.kinds), plan.kinds) if plan.kinds else (None, None, None)
    try:
        programs.begin(
            plan.jitted,
            plan.key,
            (
                [leaves[i].aval.sds for i in plan.donated],
                [leaves[i].aval.sds for i in plan.kept],
                *pools,
            ),
        )
    except Exception as error:  # of lowering it, which will be tried once more
        if is_signalled(error):
            raise


def _planned(
    state: State, live: tuple[int, ...], free: tuple[int, ...], leaves: list[Value]
) -> Plan:
    """The program of a trace, which is compiled when it is first called."""
    steps = state.steps()
    # an op that was interrupted may have left one input more
    n_leaves = max(0, -min(i for s in steps for i in (0, *s.ids)))
    heirs = _heirs(steps, live, free, leaves)
    # JAX gives the buffers of donated inputs, in order, to the first outputs of the same shape.
    donated = tuple(i for i, _ in heirs)
    first = tuple(o for _, o in heirs)
    live = first + tuple(o for o in live if o not in set(first))
    kept = tuple(i for i in range(n_leaves) if i not in set(donated))
    kinds = [k for s in steps for k in s.call.kinds]

    def program(
        given: list[jax.Array],
        held: list[jax.Array],
        floats: Operand,
        ints: jax.Array | None,
        complexes: Any,
    ) -> tuple[list[Any], Any]:
        leaves: Values = [None] * n_leaves
        for i, a in zip(donated, given, strict=True):
            leaves[i] = a
        for i, a in zip(kept, held, strict=True):
            leaves[i] = a
        floats, integers, complexes = (
            iter(() if pool is None else pool) for pool in (floats, ints, complexes)
        )
        pools = {"f": floats, "i": integers, "b": integers, "c": complexes}
        numbers = [next(pools[k]) != 0 if k == "b" else next(pools[k]) for k in kinds]
        results = []
        flags = None
        at = 0
        for s, kernel in zip(steps, kernels(steps), strict=True):
            call = s.call
            operands = [leaves[-i - 1] if i < 0 else results[i] for i in s.ids]
            k = len(call.kinds)
            out = kernel(*operands, *numbers[at : at + k])
            at += k
            flags = None
            if isinstance(out, Guarded):
                # asked for the last call only: all others were answered before the next was
                # recorded
                flags = out.flags
                out = out.outs
            if isinstance(out, (tuple, list)):
                results.extend(out)
            else:
                results.append(out)
        return [results[i] for i in live], flags

    key = programs.key_of("plan", programs.identity_of_steps(steps), live, donated, n_leaves)
    jitted = jax.jit(
        program, donate_argnums=(0,), keep_unused=True, compiler_options=programs.OPTIONS
    )
    paced = any(pace.is_bounded(v.aval.device) for v in leaves)
    return Plan(jitted, live, donated, kept, bool(state.checks), kinds, key, paced)


def _pools(numbers: list[float], kinds: Sequence[str]) -> tuple[object, object, object]:
    """The numbers as one array for each kind, so that they cost one transfer; None for a kind that
    does not occur, which costs nothing."""
    if "i" not in kinds and "b" not in kinds and "c" not in kinds:
        return np.array(numbers, np.float64), None, None
    floats = [x for x, k in zip(numbers, kinds, strict=True) if k == "f"]
    ints = [int(x) for x, k in zip(numbers, kinds, strict=True) if k in "ib"]
    complexes = [x for x, k in zip(numbers, kinds, strict=True) if k == "c"]
    return (
        np.array(floats, np.float64) if floats else None,
        np.array(ints, np.int64) if ints else None,
        np.array(complexes, np.complex128) if complexes else None,
    )


def _execute(
    plan: Plan,
    trace: Trace | _Part,
    state: State,
    values: list[Value],
    leaves: list[Value],
    numbers: list[float],
) -> None:
    """Runs a trace's program and gives its values what it returns.

    A program overwrites the inputs that it is given for good, so that an interrupt must not come
    between the two. Running a program that JAX has seen with such inputs before, and appending what
    it gives to ``trace.ran``, is one call into C, and whoever finds results there gives them to the
    values first (``_bind`` may be repeated). What JAX has not seen goes through its Python code,
    where results can get lost: until a call was none of these, ``wary`` programs get copies.
    """
    pools = _pools(numbers, plan.kinds) if numbers else (None, None, None)
    given = [device_array(leaves[i]) for i in plan.donated]
    held = [device_array(leaves[i]) for i in plan.kept]
    plan.used = stats.flushes
    cold = plan.cold
    fn: Any = plan.fn
    if heap.due:
        heap.one_run(cold)
    if cold and plan.key is not None:
        fn = programs.ready(
            fn, plan.key, (given, held, *pools), ([0] * len(plan.live), 0 if plan.checked else None)
        )
    # Inputs are consumed for real only where nothing can come between that and the results: see
    # above.
    if given and (plan.wary or trace.wary):
        given = [jax.device_put(a, may_alias=False) for a in given]
    ran: Values = [plan]
    run = map(fn, (given,), (held,), (pools[0],), (pools[1],), (pools[2],))
    if trace.state is not state:  # a signal's handler read a value, and so ran the trace
        return
    trace.ran = ran
    try:
        ran.extend(run)
    except (TypeError, ValueError) as error:
        if fn is plan.jitted or is_signalled(error):
            raise
        # A kept program takes only what it was made for, and says so before it takes anything.
        plan.fn, plan.wary, plan.size = plan.jitted, bool(given), -1
        _execute(plan, trace, state, values, leaves, numbers)
        return
    _bind(trace, values, ran)
    if plan.paced:
        pace.one_more(ran[1][0])
    if cold:
        if fn is plan.jitted:
            heap.compiled()
        plan.fn, plan.cold = _direct(fn), False
    else:
        stats.replayed += 1
    if given:
        fn = plan.fn
        size = fn._cache_size() if type(fn) is _Jitted else -1
        if size < 0 or size != plan.size:
            plan.size, plan.wary = size, True
        elif plan.wary:
            plan.wary = any(getattr(jax.config, name, False) for name in programs.WATCHING)


def _direct(fn: Any) -> Any:
    """What a compiled program calls in the end, without the Python function around it."""
    inner = getattr(fn, "_call", None)
    return inner if type(inner) is _Jitted else fn


def _bind(trace: Trace | _Part, values: list[Value], ran: Values) -> None:
    """Gives values what the program of their trace gave; to do so once more does no harm."""
    plan, (outs, flags) = ran
    if trace.asked:
        trace.flags = flags
    # The array first: who looks at a value between the two finds it concrete, and not in no trace
    # without data.
    for i, a in zip(plan.live, outs):
        v = values[i]
        v.array = a
        v.trace = None


def _step(
    trace: Trace | _Part,
    state: State,
    live: Sequence[int],
    values: list[Value],
    leaves: list[Value],
    numbers: list[object],
) -> None:
    """Runs the trace op by op, dropping each intermediate after its last use."""
    stats.stepped += 1
    results = []
    at = 0
    call = line = None
    try:
        # errors tell the line
        for call, shapes, ids, avals, count, line, dead, final in _course(state, live):  # noqa: B007
            if shapes is None:
                results.append(None)
                at += count
                continue
            out = None
            if shapes.on_host:
                operands = [leaves[~i].array if i < 0 else results[i] for i in ids]
                if shapes.over and ids[0] in dead:
                    a = None
                    GIVEN.array = _given(operands)
                if (quick := shapes.quick) is not None:
                    for a in operands:
                        if type(a) is not _ndarray:
                            break
                    else:
                        try:
                            out = (
                                quick(*operands, *numbers[at : at + count])
                                if count
                                else quick(*operands)
                            )
                        except Exception as error:
                            if is_signalled(error):
                                raise
                            out = None  # the longer way finds out
            else:
                operands = [
                    _on_device(leaves, results, i, aval) for i, aval in zip(ids, avals, strict=True)
                ]
                call.warm.add(avals)
            if out is None:
                if count:
                    operands += numbers[at : at + count]
                try:
                    out = shapes.run(*operands)
                except _REFUSALS as error:
                    out = again(call, shapes, operands, error)
            GIVEN.array = None
            at += count
            if type(out) is _ndarray or type(out) is _ArrayImpl:
                results.append(out)
            else:
                if type(out) is Guarded:
                    if trace.asked and final:
                        trace.flags = out.flags
                    out = out.outs
                if isinstance(out, (tuple, list)):
                    results.extend(out)
                else:
                    results.append(out)
            for i in dead:
                results[i] = None
    except Exception as error:
        if is_signalled(error):
            raise
        raise translate(error, call.name if call else "", line) from error
    finally:  # what was computed before an op failed stays
        GIVEN.array = None
        for i in live:
            if i < len(results):
                v = values[i]
                v.array = results[i]
                v.trace = None
    state.spent += 1


def _holders(operands: list[np.ndarray]) -> int:
    """How many hold the first operand."""
    a = operands[0]
    return _refs(a)


#: How many do if it is what runs the trace alone.
_results = [np.zeros(1)]
_ONLY_RUN = _holders([_results[0]])


def _given(operands: list[np.ndarray]) -> np.ndarray | None:
    """The first operand of a kernel that uses it last, if it is an array that what runs the trace
    has made and has alone; else None."""
    if _holders(operands) > _ONLY_RUN:
        return None
    a = operands[0]
    return a if type(a) is _ndarray and a.base is None and a.flags.c_contiguous else None


def _course(state: State, live: Sequence[int]) -> Values:
    """How a trace runs op by op: for each op the call, what is known of it (None where nothing
    needs its result), its operands and their avals, how many numbers it takes, its line, what
    nothing uses after it, and whether it is the last. Kept once the trace came again."""
    course = state.course
    if course is not None and course[0] == live:
        return course[1]
    steps = state.steps()
    last: dict[int, int] = {}
    for n, s in enumerate(steps):
        for i in s.ids:
            last[i] = n
    for i in live:
        last[i] = -1
    found: list[Any] = []
    for n, s in enumerate(steps):
        call: Any = s.call
        # Nothing uses a view, and it may be larger than memory.
        unused = call.view and s.first not in last and type(s.outs) is Aval
        shapes = None if unused else known(call, s.avals)
        dead = tuple([i for i in dict.fromkeys(s.ids) if i >= 0 and last[i] == n])
        found.append(
            (call, shapes, s.ids, s.avals, len(call.kinds), s.line, dead, n == len(steps) - 1)
        )
    if state.hits > 1:
        state.course = (live, found)
    return found


def _on_device(leaves: list[Value], results: list[object], i: int, aval: Aval) -> object:
    """An operand of a compiled kernel."""
    if i < 0:
        return device_array(leaves[-i - 1])
    a = results[i]
    if type(a) is _ndarray:
        a = results[i] = moved(a, aval.device)
    return a


def flags_of(trace: Trace) -> Any:
    """What the checks of a trace's last call say. The trace stays as it is, and its values
    pending."""
    numbers, leaves = trace.numbers, trace.leaves
    results = []
    flags = None
    for s in trace.state.steps():
        operands = [leaves[-i - 1].array if i < 0 else results[i] for i in s.ids]
        operands += numbers[s.numbers_at : s.numbers_at + len(s.call.kinds)]
        out = s.call.jitted(*operands)
        flags = None
        if isinstance(out, Guarded):
            flags, out = out.flags, out.outs
        if isinstance(out, (tuple, list)):
            results.extend(out)
        else:
            results.append(out)
    return flags
