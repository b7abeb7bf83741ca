"""What a profiler measured: events, their averages by name, and the tables and traces made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

_COLUMNS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")


def _format_time(us: float) -> str:
    """Microseconds as text, in the unit that suits."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _format_share(part: float, whole: float) -> str:
    return f"{part * 100 / whole:.2f}%" if whole else "0.00%"


class Interval:
    """From ``start`` to ``end``, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class _Times:
    """The times of one event or of several, as numbers of microseconds and as text."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    #: What is not measured here: times of other devices, memory, operations per second.
    device_time_total = self_device_time_total = device_time = 0.0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = self_device_memory_usage = 0
    flops = 0
    is_async = is_remote = is_legacy = False
    node_id = -1
    scope = 0
    overload_name = ""
    stack: list[str] = []

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` as text."""
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` as text."""
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` as text."""
        return _format_time(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call, with the calls it made."""

    count = 1

    def __init__(self, id: int, name: str, start: float, shapes: Any = None, annotation: bool = False) -> None:
        self.id, self.name, self.input_shapes, self.is_user_annotation = id, name, shapes or [], annotation
        self.time_range = Interval(start, start)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.thread = 1
        self.is_operator = False  # whether the call is that of the operator itself

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """How long it took without the calls it made."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} cpu_start_us={self.time_range.start} "
            f"cpu_end_us={self.time_range.end} thread={self.thread} input_shapes={self.input_shapes} is_async=False>"
        )


class FunctionEventAvg(_Times):
    """Calls of one name together."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.input_shapes: Any = None
        self.is_user_annotation = False
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: Any) -> FunctionEventAvg:
        """Takes in an event or another average."""
        if self.key is None:
            self.key, self.input_shapes, self.is_user_annotation = other.key, other.input_shapes, other.is_user_annotation
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
            f"self_cuda_time=0.000us cuda_time=0.000us input_shapes={self.input_shapes} cpu_memory_usage=0 cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """Events, or averages of them."""

    def __init__(self, events: Iterable[Any] = (), *, by_shape: bool = False, total: float | None = None) -> None:
        super().__init__(events)
        self._by_shape, self._total = by_shape, total

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all calls together."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The averages of events of the same name (and shapes of operands). Stacks and overloads are not noted."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "")
            found.setdefault(key, FunctionEventAvg()).add(event)
        if not group_by_input_shapes:
            for average in found.values():
                average.input_shapes = ""
        return EventList(found.values(), by_shape=group_by_input_shapes, total=self.self_cpu_time_total)

    def total_average(self) -> FunctionEventAvg:
        """All events as one, called ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = None
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table of the events, the greatest in ``sort_by`` first."""
        if not self:
            return ""
        events = [e for e in self if not top_level_events_only or e.cpu_parent is None]
        if sort_by is not None:
            by = sort_by.replace("cuda", "device")
            if not hasattr(events[0], by):
                raise AttributeError(f"'{type(events[0]).__name__}' object has no attribute '{by}'")
            events.sort(key=lambda e: getattr(e, by), reverse=True)
        whole = self.self_cpu_time_total
        columns = (*_COLUMNS, "Input Shapes") if self._by_shape else _COLUMNS
        rows = []
        for e in events[: row_limit if row_limit >= 0 else None]:
            name = str(e.key)
            if max_name_column_width and len(name) > max_name_column_width:
                name = name[: max_name_column_width - 3] + "..."
            share, total = _format_share(e.self_cpu_time_total, whole), _format_share(e.cpu_time_total, whole)
            row = [name, share, e.self_cpu_time_total_str, total, e.cpu_time_total_str, e.cpu_time_str, str(e.count)]
            rows.append([*row, str(e.input_shapes)[:max_shapes_column_width]] if self._by_shape else row)
        widths = [max(12, len(c), *(len(r[i]) for r in rows)) + 2 for i, c in enumerate(columns)]
        rule = "  ".join("-" * w for w in widths) + "  "
        lines = [rule, *("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) + "  " for row in (columns, *rows)), rule]
        lines[1:3] = [lines[1], rule, lines[2]] if rows else [lines[1], rule]
        if header is not None:
            lines = ["=" * len(rule), header, *lines]
        return "\n".join(lines) + f"\nSelf CPU time total: {_format_time(whole)}\n"

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Any) -> None:
        """Writes the events as a file for ``chrome://tracing``."""
        events = [
            {"name": e.name, "ph": "X", "cat": "user_annotation" if e.is_user_annotation else "cpu_op", "pid": 0, "tid": e.thread}
            | {"ts": e.time_range.start, "dur": e.cpu_time_total, "args": {"Input Dims": e.input_shapes}}
            for e in self
        ]
        Path(path).write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
