"""Names of ``torch.autograd.profiler``: in a block of ``profile`` operators run, and are timed, one
by one."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import jax

from .._src import hooks
from .._src.engine import flush
from .._src.facts.errors import not_offered
from .._src.refusals import stand_ins as _refusals
from ._profiler_phases import Phases
from .profiler_util import EventList, FunctionEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..core import Tensor
    from ._profiler_phases import Phase


__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]

#: What blocks around the steps of a program are called; tables and events show them together.
_STEP = "ProfilerStep"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: Recorders at work, the innermost last.
_RECORDING: list[Recorder] = []


class Recorder:
    """Notes the calls of functions and operators while it is at work."""

    def __init__(
        self,
        shapes: bool,
        memory: bool = False,
        stacks: bool = False,
        flops: bool = False,
        programs: bool = False,
    ) -> None:
        self.shapes, self.memory, self.stacks, self.flops, self.programs = (
            shapes,
            memory,
            stacks,
            flops,
            programs,
        )
        self.on_device = jax.default_backend() != "cpu"
        self.events: list[FunctionEvent] = []
        self.phases: list[Any] = []
        self.thread = threading.get_ident()
        self._engine = Phases(self._ended)
        self._open: list[FunctionEvent] = []
        self._modes = []
        self._crossed = False

    def start(self) -> None:
        """Begins: from now on, operators run one by one, unless the programs that they are part of
        are looked at."""
        modes = hooks.profiler_modes.get()
        flush()  # what is pending is none of the block's
        self._modes = [] if self.programs else [modes.Functions(self), modes.Operators(self)]
        self._engine.start()
        for mode in self._modes:
            mode.__enter__()
        _RECORDING.append(self)

    def stop(self) -> None:
        """Ends."""
        _RECORDING.remove(self)
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)
        try:
            self.ran(None)  # what is pending is the block's
        finally:
            self._engine.stop()

    def _ended(self, phase: Phase) -> None:
        """The engine has done something, for the innermost event if that is this thread's."""
        self.phases.append(phase)
        if self.programs:  # there are no operators that this is a part of
            event = self.begin(f"{phase.kind}: {phase.name}")
            event.is_phase, event.self_phases = True, {phase.kind: phase.self_time}
            self.end(event)
            event.time_range.start, event.time_range.end = (
                phase.start,
                phase.start + phase.self_time,
            )
        elif self._open and phase.thread == self.thread:
            spent = self._open[-1].self_phases
            spent[phase.kind] = spent.get(phase.kind, 0.0) + phase.self_time

    def begin(
        self, name: str, operands: Iterable[object] = (), annotation: bool = False
    ) -> FunctionEvent:
        """An event that has begun, inside of those that have not ended."""
        shapes = [_shape(x) for x in operands] if self.shapes else None
        now = time.perf_counter_ns() / 1e3
        known = _STEP + "*" if annotation and name.startswith(_STEP + "#") else name
        event = FunctionEvent(
            len(self.events),
            known,
            1,
            now,
            now,
            input_shapes=shapes,
            is_user_annotation=annotation,
            trace_name=name,
        )
        event.on_device = self.on_device
        if self.stacks:
            event.stack = _stack()
        if self._open:
            event.cpu_parent = self._open[-1]
            self._open[-1].cpu_children.append(event)
        self.events.append(event)
        self._open.append(event)
        return event

    @staticmethod
    def ran(result: Any) -> Tensor:
        """``result``, once all that was recorded has run."""
        flush()
        return result

    def end(self, event: FunctionEvent) -> None:
        """It has ended; what began later may go on, as blocks need not end in the order in which
        they began."""
        event.time_range.end = time.perf_counter_ns() / 1e3
        if event is not self.innermost:
            self._crossed = True
        if event in self._open:
            self._open.remove(event)

    def measured(self) -> EventList:
        """The events. Where blocks crossed, calls belong to those that they ran inside of from
        beginning to end."""
        found = EventList(self.events, phases=self.phases, memory=self.memory, flops=self.flops)
        if self._crossed:
            for event in found:
                event.cpu_parent, event.cpu_children = None, []
            found._populate_cpu_children()
        return found

    def drop(self, event: FunctionEvent) -> None:
        """The last event was nothing to note."""
        self.events.remove(event)
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.remove(event)

    @property
    def innermost(self) -> FunctionEvent | None:
        """The event that has not ended."""
        return self._open[-1] if self._open else None


def _shape(x: Any) -> list[int]:
    """The sizes of an operand, none of what has none: numbers, and nested tensors, whose components
    have theirs."""
    if getattr(x, "is_nested", False) and str(x.layout) == "torch.strided":
        return []
    return list(getattr(x, "shape", ()))


def _stack() -> list[str]:
    """The lines of the program that led here, the innermost first, without those of this
    package."""
    found = []
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((_PACKAGE, "<")):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


class record_function:
    """A block (or decorated function) that shows under ``name`` in what ``profile`` measures and in
    traces of JAX's profiler."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._annotation = None
        self._event: tuple[Recorder, FunctionEvent] | None = None

    def __enter__(self) -> record_function:
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()
        if _RECORDING:
            self._event = _RECORDING[-1], _RECORDING[-1].begin(self.name, annotation=True)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._event is not None:
            recorder, event = self._event
            recorder.end(event)
            self._event = None
        self._annotation.__exit__(*exc)

    def __call__(self, func: Any) -> Any:
        """Decorates: each call of ``func`` is a block."""

        @functools.wraps(func)
        def labelled(*args: object, **kwargs: object) -> object:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return labelled


class profile:
    """A block whose operators run one by one, each timed.

    Outside of such blocks operators are fused into programs, which are faster than the sum of their
    parts. ``programs=True`` leaves it at that: nothing runs otherwise than outside, and the events
    are kernels, programs and what else the engine did.

    Each event says how long the engine compiled for it, ran kernels by NumPy, ran compiled programs
    (until their results were there) and moved arrays: ``self_compile_time_total``,
    ``self_host_time_total``, ``self_program_time_total``, ``self_transfer_time_total``.

    Args:
        enabled: whether anything is measured.
        record_shapes: whether events have the shapes of operands (``input_shapes``).
        profile_memory: whether events have the bytes of the results they made
            (``cpu_memory_usage``), and tables show them.
        with_stack: whether events have the lines of the program that led to them (``stack``).
        with_flops: whether operators of matrices have their floating-point operations (``flops``).
        programs: whether operators are left to be fused.
        options: ``use_cpu``, ``use_cuda``, ``use_device``, ``use_kineto`` and others of PyTorch's,
            which choose between its own backends.

    Differs from torch: memory is that of results when they are made; what is freed is not counted.
    The time of another device is that of compiled programs, not of single kernels of theirs, which
    ``jax.profiler.trace`` shows.

    Example:
        >>> import jtorch as torch
        >>> with torch.autograd.profiler.profile() as prof:
        ...     y = torch.ones(3).exp()
        >>> [event.key for event in prof.key_averages()]
        ['aten::ones', 'aten::exp']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        programs: bool = False,
        **options: Any,
    ) -> None:
        self.enabled, self.record_shapes, self.options = enabled, record_shapes, options
        self.profile_memory, self.with_stack, self.with_flops, self.programs = (
            profile_memory,
            with_stack,
            with_flops,
            programs,
        )
        self.entered = False
        self._recorder: Recorder | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._record()
        return self

    def _record(self) -> None:
        self._recorder = Recorder(
            self.record_shapes, self.profile_memory, self.with_stack, self.with_flops, self.programs
        )
        self._recorder.start()

    def _finish(self) -> None:
        if self._recorder is not None:
            self._recorder.stop()
            found, self._recorder = self._recorder, None
            self._events = found.measured()

    def __exit__(self, *exc: object) -> None:
        self._finish()

    def _measured(self) -> EventList:
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    @property
    def function_events(self) -> EventList | None:
        """The events, once the block has ended."""
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all operators together, in microseconds."""
        return self._measured().self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The averages of the events of each name (and shapes of operands)."""
        return self._measured().key_averages(group_by_input_shape, group_by_stack_n)

    def phase_times(self) -> dict[str, float]:
        """How long, in microseconds, the engine compiled, ran kernels by NumPy (``host``) and
        compiled programs, and moved arrays.

        An addition to PyTorch's.
        """
        return self._measured().phase_times()

    def total_average(self) -> Any:
        """All events as one."""
        return self._measured().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The table of the events."""
        return self._measured().table(sort_by=sort_by, row_limit=row_limit, **options)

    def export_chrome_trace(self, path: Any) -> None:
        """Writes the events as a file for Perfetto and ``chrome://tracing``."""
        self._measured().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes the time of each place in the program, for tools that draw flame graphs; needs
        ``with_stack=True``."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True.")
        self._measured().export_stacks(path, metric)


def _not_per_op(name: str) -> NotImplementedError:
    return not_offered(
        name, "operations are fused, so that single ones have no times; use jax.profiler.trace"
    )


class emit_nvtx:
    """Not offered: a block of it raises."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise _not_per_op("emit_nvtx")
        return self

    def __exit__(self, *exc: object) -> None:
        pass


_missing = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    # asked by programs that make labels only while someone looks
    return bool(_RECORDING) if name == "_is_profiler_enabled" else _missing(name)
