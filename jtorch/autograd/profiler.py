"""Names of ``torch.autograd.profiler``: in a block of ``profile`` operators run, and are timed, one by one."""



from __future__ import annotations

import functools
import time
from typing import Any

import jax

from .. import _refusals
from .profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]

#: Recorders at work, the innermost last.
_RECORDING: list[Recorder] = []


class Recorder:
    """Notes the calls of functions and operators while it is at work."""

    def __init__(self, shapes: bool) -> None:
        self.shapes = shapes
        self.events: list[FunctionEvent] = []
        self._open: list[FunctionEvent] = []
        self._modes: list[Any] = []

    def start(self) -> None:
        """Begins: from now on, operators run one by one."""
        from ._profiler_modes import Functions, Operators

        self._modes = [Functions(self), Operators(self)]
        for mode in self._modes:
            mode.__enter__()
        _RECORDING.append(self)

    def stop(self) -> None:
        """Ends."""
        _RECORDING.remove(self)
        for mode in reversed(self._modes):
            mode.__exit__(None, None, None)

    def begin(self, name: str, operands: Any = (), annotation: bool = False) -> FunctionEvent:
        """An event that has begun, inside of those that have not ended."""
        shapes = [list(getattr(x, "shape", ())) for x in operands] if self.shapes else None
        event = FunctionEvent(len(self.events), name, time.perf_counter_ns() / 1e3, shapes, annotation)
        if self._open:
            event.cpu_parent = self._open[-1]
            self._open[-1].cpu_children.append(event)
        self.events.append(event)
        self._open.append(event)
        return event

    @staticmethod
    def ran(result: Any) -> Any:
        """``result``, once all that was recorded has run."""
        from ..engine import flush

        flush()
        return result

    def end(self, event: FunctionEvent) -> None:
        """It has ended, and with it what it began."""
        event.time_range.end = time.perf_counter_ns() / 1e3
        while self._open and self._open.pop() is not event:
            pass

    def drop(self, event: FunctionEvent) -> None:
        """The last event was nothing to note."""
        self.events.remove(event)
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_children.remove(event)

    @property
    def innermost(self) -> FunctionEvent | None:
        """The event that has not ended."""
        return self._open[-1] if self._open else None


class record_function:
    """A block (or decorated function) that shows under ``name`` in what ``profile`` measures and in traces of JAX's profiler."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._annotation: Any = None
        self._event: tuple[Recorder, FunctionEvent] | None = None

    def __enter__(self) -> record_function:
        self._annotation = jax.profiler.TraceAnnotation(self.name)
        self._annotation.__enter__()
        if _RECORDING:
            self._event = _RECORDING[-1], _RECORDING[-1].begin(self.name, annotation=True)
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._event is not None:
            recorder, event = self._event
            recorder.end(event)
            self._event = None
        self._annotation.__exit__(*exc)

    def __call__(self, func: Any) -> Any:
        """Decorates: each call of ``func`` is a block."""

        @functools.wraps(func)
        def labelled(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return labelled


class profile:
    """A block whose operators run one by one, each timed.

    Outside of such blocks operators are fused into programs, which are faster than the sum of their parts. Use ``jax.profiler.trace`` to
    look into those.

    Differs from torch: memory, floating-point operations, stacks and times of other devices than the host are given as zero or empty.

    Example:
        >>> import jtorch as torch
        >>> with torch.autograd.profiler.profile() as prof:
        ...     y = torch.ones(3).exp()
        >>> [event.key for event in prof.key_averages()]
        ['aten::ones', 'aten::exp']
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **options: Any) -> None:
        self.enabled, self.record_shapes, self.options = enabled, record_shapes, options
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
        self._recorder = Recorder(self.record_shapes)
        self._recorder.start()

    def _finish(self) -> None:
        if self._recorder is not None:
            self._recorder.stop()
            self._events, self._recorder = EventList(self._recorder.events), None

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
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The averages of the events of each name (and shapes of operands)."""
        return self._measured().key_averages(group_by_input_shape)

    def total_average(self) -> Any:
        """All events as one."""
        return self._measured().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The table of the events."""
        return self._measured().table(sort_by=sort_by, row_limit=row_limit, **options)

    def export_chrome_trace(self, path: Any) -> None:
        """Writes the events as a file for ``chrome://tracing``."""
        self._measured().export_chrome_trace(path)


def _not_per_op(name: str) -> NotImplementedError:
    from ..errors import not_offered

    return not_offered(name, "operations are fused, so that single ones have no times; use jax.profiler.trace")


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


__getattr__ = _refusals.missing(__name__)
