"""What the engine does while a profiler is at work: compiling, kernels run by NumPy, compiled
programs, transfers.

The engine knows nothing of profilers and pays nothing for them: for as long as one is at work, a
few of its functions are replaced by ones that look at the clock around them, and JAX is asked to
tell how long it compiles. Programs that do not profile run the code as it stands.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .._src.engine import at_once, run, tiers

if TYPE_CHECKING:
    from .._src.engine.calls import Shapes
    from .._src.engine.trie import State
    from .._src.engine.values import Value
    from .._src.facts.kinds import Arguments, Function, Operand


# under this name the package has a function
record = importlib.import_module("jtorch._src.engine.record")

#: The kinds of phases, as traces name their rows.
COMPILE, HOST, PROGRAM, TRANSFER = "compile", "host", "program", "transfer"
KINDS = (COMPILE, HOST, PROGRAM, TRANSFER)
#: What JAX tells of, and how phases are called.
_COMPILING = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}


class Phase:
    """Something that the engine did, from ``start`` to ``end`` (microseconds), without the phases
    inside of it in ``self_time``."""

    __slots__ = ("end", "kind", "name", "nbytes", "self_time", "start", "thread")

    def __init__(self, kind: str, name: str, start: float) -> None:
        self.kind, self.name, self.start, self.end = kind, name, start, start
        self.self_time = 0.0
        self.nbytes = 0
        self.thread = threading.get_ident()

    def __repr__(self) -> str:
        return f"<Phase {self.kind} {self.name} {self.end - self.start:.3f}us>"


def now() -> float:
    """The time in microseconds, on the clock of the events."""
    return time.perf_counter_ns() / 1e3


class _Local(threading.local):
    def __init__(self) -> None:
        # for each phase that has not ended: the time of those inside of it
        self.open: list[list[float]] = []


class Phases:
    """Notes phases from ``start`` to ``stop``; ``told`` is called with each that has ended."""

    #: Those at work, of which only the innermost notes: phases belong to one recorder, as events
    #: do.
    active: list[Phases] = []
    _undo: list[Callable[[], None]] = []

    def __init__(self, told: Callable[[Phase], None]) -> None:
        self.told = told
        self._local = _Local()
        self._shapes: dict[int, _Known] = {}

    def start(self) -> None:
        """Begins."""
        if not self.active:
            _replace(self._undo)
        self.active.append(self)

    def stop(self) -> None:
        """Ends; what was replaced is as it was."""
        self.active.remove(self)
        if not self.active:
            while self._undo:
                self._undo.pop()()

    def timed(
        self,
        kind: str | None,
        name: str,
        function: Function,
        args: Arguments,
        nbytes: int = 0,
    ) -> Any:
        """``function(*args)``, as a phase. Without a kind, the result tells which it was: what
        NumPy gave is NumPy's."""
        inside = [0.0]
        self._local.open.append(inside)
        phase = Phase(kind or HOST, name, now())
        result = None
        try:
            result = function(*args)
            if kind is None and not _of_host(result):
                phase.kind = PROGRAM
            if phase.kind == PROGRAM:
                arrays = [a for a in jax.tree.leaves(result) if isinstance(a, jax.Array)]
                jax.block_until_ready([a for a in arrays if not isinstance(a, jax.core.Tracer)])
            return result
        finally:
            phase.end = now()
            self._local.open.pop()
            phase.nbytes = nbytes
            self._ended(phase, inside[0])

    def _ended(self, phase: Phase, inside: float) -> None:
        taken = phase.end - phase.start
        phase.self_time = max(0.0, taken - inside)
        if self._local.open:
            self._local.open[-1][0] += taken
        self.told(phase)

    def compiled(self, name: str, seconds: float) -> None:
        """JAX has just finished a part of compiling."""
        phase = Phase(COMPILE, name, 0.0)
        phase.end = now()
        phase.start = phase.end - seconds * 1e6
        self._ended(phase, 0.0)

    def shapes(self, call: Any, shapes: Shapes) -> _Known:
        """What is known of a call, with a runner that is timed; the same object each time."""
        found = self._shapes.get(id(shapes))
        if found is None or found._known is not shapes:
            found = self._shapes[id(shapes)] = _Known(call, shapes)
        return found


class _Known:
    """Stands for what the engine knows of a call, with a runner that is timed."""

    def __init__(self, call: Any, known: Any) -> None:
        self._call, self._known = call, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)

    def run(self, *args: np.ndarray) -> Operand:
        """The call's runner."""
        return _timed(None, self._call.name, self._known.run, args)


def _of_host(result: np.ndarray) -> bool:
    if type(result) is run.Guarded:
        result = result.flags
    while type(result) in (tuple, list) and result:
        result = result[0]
    array = getattr(result, "array", result)  # the engine's values have one
    return array is None or type(array) is np.ndarray or isinstance(array, np.generic)


def _timed(
    kind: str | None,
    name: str,
    function: Callable[..., object],
    args: tuple[np.ndarray, ...],
    nbytes: int = 0,
) -> Operand:
    # another thread may come here when the last profiler has just ended
    for phases in Phases.active[-1:]:
        return phases.timed(kind, name, function, args, nbytes)
    return function(*args)


def _set(undo: list[Callable[[], None]], holder: object, name: str, value: object) -> Function:
    before = vars(holder)[name]
    undo.append(lambda: setattr(holder, name, before))
    setattr(holder, name, value)
    return before


def _replace(undo: list[Callable[[], None]]) -> None:
    def timing(holder: object, name: str, kind: str | None, called: str | None = None) -> None:
        """Replaces a function whose whole time is that of one phase."""

        def replaced(*args: Any) -> object:
            return _timed(kind, called or args[0].name, before, args)

        before = _set(undo, holder, name, replaced)

    def execute(
        plan: run.Plan,
        trace: object,
        state: State,
        values: list[Value],
        leaves: list[object],
        numbers: list[float],
    ) -> None:
        def ran() -> list[jax.Array]:
            executed(plan, trace, state, values, leaves, numbers)
            return [values[i].array for i in plan.live]

        steps = state.steps()
        name = (
            steps[0].call.name
            if len(steps) == 1
            else f"{steps[0].call.name} .. {steps[-1].call.name} ({len(steps)} operations)"
        )
        _timed(PROGRAM, name, ran, ())

    executed = _set(undo, run, "_execute", execute)

    def known(call: object, avals: tuple[object, ...]) -> Any:
        found = known_before(call, avals)
        for phases in Phases.active[-1:]:
            return phases.shapes(call, found)
        return found

    known_before = _set(undo, run, "known", known)

    def again(call: object, shapes: object, args: object, error: Exception) -> Any:
        return again_before(call, getattr(shapes, "_known", shapes), args, error)

    again_before = _set(undo, run, "again", again)

    def small(trace: Any, state: Any) -> bool:
        name = state.call.name if len(state.small) == 1 else f"{len(state.small)} operations"
        return _timed(HOST, name, ran_small, (trace, state))

    ran_small = _set(undo, record, "_ran_small", small)

    def quickly(shapes: Any, ins: Any, numbers: Any) -> object:
        return _timed(HOST, "kernel", quickly_before, (shapes, ins, numbers))

    quickly_before = _set(undo, record, "quickly", quickly)
    timing(record, "immediately", None)

    def moved(array: np.ndarray, *rest: Any) -> Operand:
        return _timed(
            TRANSFER, "to device", moved_before, (array, *rest), getattr(array, "nbytes", 0)
        )

    moved_before = _set(undo, tiers, "moved", moved)
    for holder in (run, at_once):
        _set(undo, holder, "moved", moved)

    kind = type(jax.device_put(np.zeros(1)))  # the class of arrays, which has no public name
    fetched = vars(kind).get("_value")
    if isinstance(fetched, property):

        def value(self: Any) -> Any:
            if self._npy_value is not None:
                return fetched.fget(self)  # type: ignore[misc]
            return _timed(TRANSFER, "to host", fetched.fget, (self,), self.nbytes)  # type: ignore[arg-type]

        _set(undo, kind, "_value", property(value))

    def heard(event: str, duration_secs: float, **_: object) -> None:
        if event in _COMPILING:
            for phases in Phases.active[-1:]:
                phases.compiled(_COMPILING[event], duration_secs)

    jax.monitoring.register_event_duration_secs_listener(heard)
    undo.append(lambda: jax.monitoring.unregister_event_duration_listener(heard))
