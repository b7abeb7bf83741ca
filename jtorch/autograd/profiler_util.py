"""What a profiler measured: events, their averages by name, and the tables and traces made of
them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._src.refusals import stand_ins as _refusals

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

#: What the engine did, as events and tables call it: the attribute of its time, and the column.
PHASES = {"compile": "Compile", "host": "Host tier", "program": "Programs", "transfer": "Transfers"}

_COLUMNS = (
    "Name",
    "Self CPU %",
    "Self CPU",
    "CPU total %",
    "CPU total",
    "CPU time avg",
    "# of Calls",
)


def _format_time(us: float) -> str:
    """Microseconds as text, in the unit that suits."""
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _format_memory(nbytes: int) -> str:
    """A number of bytes as text, in the unit that suits."""
    for unit, size in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} b"


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
    #: By kind of phase (``PHASES``), the time that the engine spent for this itself, and with the
    #: calls it made; in microseconds.
    self_phases: dict[str, float]
    phases: dict[str, float]
    #: Of results of its own; those of what it called included without ``self``.
    cpu_memory_usage = self_cpu_memory_usage = 0
    flops = 0
    #: Whether compiled programs run on another device than the host.
    on_device = False
    is_async = is_remote = is_legacy = False
    node_id = -1
    scope = 0
    overload_name = ""
    stack: list[str] = []

    @property
    def device_time_total(self) -> float:
        """The time of compiled programs on another device than the host."""
        return self.phases.get("program", 0.0) if self.on_device else 0.0

    @property
    def self_device_time_total(self) -> float:
        """``device_time_total`` without the calls it made."""
        return self.self_phases.get("program", 0.0) if self.on_device else 0.0

    @property
    def device_time(self) -> float:
        """The mean of ``device_time_total``."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def device_memory_usage(self) -> int:
        """The memory of results on another device than the host."""
        return self.cpu_memory_usage if self.on_device else 0

    @property
    def self_device_memory_usage(self) -> int:
        """``device_memory_usage`` without the calls it made."""
        return self.self_cpu_memory_usage if self.on_device else 0

    @property
    def self_compile_time_total(self) -> float:
        """The time of tracing, lowering and compiling kernels and programs."""
        return self.self_phases.get("compile", 0.0)

    @property
    def self_host_time_total(self) -> float:
        """The time of kernels that NumPy ran."""
        return self.self_phases.get("host", 0.0)

    @property
    def self_program_time_total(self) -> float:
        """The time of compiled kernels and programs, until their results were there."""
        return self.self_phases.get("program", 0.0)

    @property
    def self_transfer_time_total(self) -> float:
        """The time of moving arrays between the host and JAX."""
        return self.self_phases.get("transfer", 0.0)

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
    """One call, with the calls it made.

    Args:
        id, name, thread: what it is, and where it ran.
        trace_name: what traces call it, where that is not ``name``: all steps are called
            ``ProfilerStep*`` but in traces.
        start_us, end_us: when, in microseconds.
        cpu_memory_usage: the bytes of its results, without those of the calls it made.
        is_async: whether it ends in another thread, so that it belongs to no other call.
        node_id: the process of a distributed program.
    """

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, *,
        input_shapes: Any = None, stack: Any = None, scope: int = 0, cpu_memory_usage: int = 0,
        is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1,
        flops: int | None = None, is_user_annotation: bool = False, trace_name: str | None = None,
    ) -> None:  # fmt: skip
        self.trace_name = trace_name
        self.id, self.name, self.input_shapes, self.is_user_annotation = (
            id,
            name,
            input_shapes or [],
            is_user_annotation,
        )
        self.thread, self.scope, self.sequence_nr, self.node_id = (
            thread,
            scope,
            sequence_nr,
            node_id,
        )
        self.is_async, self.is_remote = is_async, is_remote
        self.time_range = Interval(start_us, end_us)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.self_phases = {}
        self.self_cpu_memory_usage = cpu_memory_usage
        self.stack = [] if stack is None else stack
        if flops is not None:
            self.flops = flops
        self.kwinputs: dict[str, Any] = {}
        self.is_phase = False  # of the engine, which traces show in rows of its own
        self.is_operator = False  # whether the call is that of the operator itself

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def phases(self) -> dict[str, float]:  # type: ignore[override]
        """The times of the engine, with those of the calls it made."""
        found = dict(self.self_phases)
        for child in self.cpu_children:
            for kind, time in child.phases.items():
                found[kind] = found.get(kind, 0.0) + time
        return found

    @property
    def cpu_memory_usage(self) -> int:
        """The bytes of results, with those of the calls it made."""
        return self.self_cpu_memory_usage + sum(
            child.cpu_memory_usage for child in self.cpu_children
        )

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
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"cpu_start_us={self.time_range.start} cpu_end_us={self.time_range.end} "
            f"thread={self.thread} input_shapes={self.input_shapes} is_async=False>"
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
        self.self_phases, self.phases = {}, {}
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.stack = []

    def add(self, other: Any) -> FunctionEventAvg:
        """Takes in an event or another average."""
        if self.key is None:
            self.key, self.input_shapes, self.is_user_annotation = (
                other.key,
                other.input_shapes,
                other.is_user_annotation,
            )
            self.cpu_parent, self.cpu_children = other.cpu_parent, other.cpu_children
            self.stack, self.on_device = other.stack, other.on_device
        for mine, theirs in ((self.self_phases, other.self_phases), (self.phases, other.phases)):
            for kind, time in theirs.items():
                mine[kind] = mine.get(kind, 0.0) + time
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  "
            f"self_cuda_time={_format_time(self.self_device_time_total)} "
            f"cuda_time={_format_time(self.device_time)} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"cuda_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or averages of them."""

    def __init__(
        self,
        events: Iterable[object] = (),
        *,
        by_shape: bool = False,
        by_stack: int = 0,
        total: float | None = None,
        phases: Iterable[Any] = (),
        memory: bool = False,
        flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._by_shape, self._by_stack, self._total, self._memory, self._flops = (
            by_shape,
            by_stack,
            total,
            memory,
            flops,
        )
        #: What the engine did meanwhile, in the order in which it ended.
        self.phases = list(phases)

    def followed_by(self, later: EventList) -> EventList:
        """The events of two recordings, numbered anew."""
        found = EventList(
            [*self, *later],
            phases=[*self.phases, *later.phases],
            memory=later._memory,
            flops=later._flops,
        )
        for i, event in enumerate(found):
            event.id = i
        return found

    def _populate_cpu_children(self) -> None:
        """Finds for each call the one of its thread that it ran inside of."""
        for thread in {e.thread: None for e in self}:
            calls = [e for e in self if e.thread == thread and not e.is_async]
            around = []
            for event in sorted(calls, key=lambda e: (e.time_range.start, -e.time_range.end)):
                span = event.time_range
                while around and (
                    span.start >= around[-1].time_range.end or span.end > around[-1].time_range.end
                ):
                    around.pop()
                if around:
                    around[-1].cpu_children.append(event)
                    event.cpu_parent = around[-1]
                around.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all calls together."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The averages of events of the same name (and shapes of operands, and innermost lines of
        the stack). Overloads are not noted."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            lines = tuple(event.stack[:group_by_stack_n]) if group_by_stack_n else ()
            key = (event.key, str(event.input_shapes) if group_by_input_shapes else "", lines)
            found.setdefault(key, FunctionEventAvg()).add(event)
        if not group_by_input_shapes:
            for average in found.values():
                average.input_shapes = ""
        for (_, _, lines), average in found.items():
            average.stack = list(lines)
        return EventList(
            found.values(),
            by_shape=group_by_input_shapes,
            by_stack=group_by_stack_n,
            total=self.self_cpu_time_total,
            phases=self.phases,
            memory=self._memory,
            flops=self._flops,
        )

    def phase_times(self) -> dict[str, float]:
        """The time that the engine spent in each kind of phase, in microseconds."""
        found = dict.fromkeys(PHASES, 0.0)
        for phase in self.phases:
            found[phase.kind] += phase.self_time
        return found

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
        shown = [kind for kind in PHASES if any(e.phases.get(kind) for e in self)]
        columns = [*_COLUMNS, *(PHASES[kind] for kind in shown)]
        columns += ["CPU Mem", "Self CPU Mem"] if self._memory else []
        columns += ["Total FLOPs"] if self._flops else []
        columns += ["Input Shapes"] if self._by_shape else []
        columns += ["Source Location"] if self._by_stack else []
        rows = []
        for e in events[: row_limit if row_limit >= 0 else None]:
            name = str(e.key)
            if max_name_column_width and len(name) > max_name_column_width:
                name = name[: max_name_column_width - 3] + "..."
            share, total = (
                _format_share(e.self_cpu_time_total, whole),
                _format_share(e.cpu_time_total, whole),
            )
            row = [
                name,
                share,
                e.self_cpu_time_total_str,
                total,
                e.cpu_time_total_str,
                e.cpu_time_str,
                str(e.count),
            ]
            row += [_format_time(e.self_phases.get(kind, 0.0)) for kind in shown]
            row += (
                [_format_memory(e.cpu_memory_usage), _format_memory(e.self_cpu_memory_usage)]
                if self._memory
                else []
            )
            row += [str(e.flops) if e.flops else "--"] if self._flops else []
            row += [str(e.input_shapes)[:max_shapes_column_width]] if self._by_shape else []
            row += (
                [(e.stack[0] if e.stack else "")[-max_src_column_width:]] if self._by_stack else []
            )
            rows.append(row)
        widths = [max(12, len(c), *(len(r[i]) for r in rows)) + 2 for i, c in enumerate(columns)]
        rule = "  ".join("-" * w for w in widths) + "  "
        lines = [
            rule,
            *(
                "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) + "  "
                for row in (columns, *rows)
            ),
            rule,
        ]
        lines[1:3] = [lines[1], rule, lines[2]] if rows else [lines[1], rule]
        if header is not None:
            lines = ["=" * len(rule), header, *lines]
        text = "\n".join(lines) + f"\nSelf CPU time total: {_format_time(whole)}\n"
        spent = {kind: time for kind, time in self.phase_times().items() if time}
        return text + "".join(
            f"{PHASES[kind]} time total: {_format_time(time)}\n" for kind, time in spent.items()
        )

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Any, metadata: dict[str, Any] | None = None) -> None:
        """Writes the events as a file for Perfetto (ui.perfetto.dev) and ``chrome://tracing``;
        compressed if it is named ``.gz``.

        What the engine did has rows of its own below those of the program: compiling, the host
        tier, compiled programs, transfers.
        """
        import gzip

        process = os.getpid()
        rows = {kind: 1001 + i for i, kind in enumerate(PHASES)}
        events: list[Named] = [_named(process, None, "process_name", "python")]
        events += [
            _named(process, thread, "thread_name", f"thread {thread}")
            for thread in sorted({e.thread for e in self})
        ]
        events += [_named(process, row, "thread_name", PHASES[kind]) for kind, row in rows.items()]
        for e in self:
            if e.is_phase:
                continue
            about = {"Input Dims": e.input_shapes} | (
                {"Call stack": ";".join(e.stack)} if e.stack else {}
            )
            about |= {f"{PHASES[kind]} (us)": time for kind, time in e.self_phases.items()}
            category = "user_annotation" if e.is_user_annotation else "cpu_op"
            events.append(
                _span(
                    e.trace_name or e.name,
                    category,
                    process,
                    e.thread,
                    e.time_range.start,
                    e.cpu_time_total,
                    about,
                )
            )
        for p in self.phases:
            about = {"Bytes": p.nbytes} if p.nbytes else {}
            events.append(
                _span(p.name, p.kind, process, rows[p.kind], p.start, p.end - p.start, about)
            )
        made = 0
        for e in sorted(self, key=lambda e: e.time_range.end):
            if self._memory and e.self_cpu_memory_usage:
                made += e.self_cpu_memory_usage
                at = {"pid": process, "ts": e.time_range.end}
                events.append(
                    {"name": "memory of results", "ph": "C", **at, "args": {"bytes made": made}}
                )
        text = json.dumps(
            {"schemaVersion": 1, "displayTimeUnit": "ms", **(metadata or {}), "traceEvents": events}
        )
        if str(path).endswith(".gz"):
            with gzip.open(path, "wt") as file:
                file.write(text)
        else:
            Path(path).write_text(text)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes a line ``outermost;...;innermost microseconds`` for each place in the program,
        which tools for flame graphs read.

        Raises:
            ValueError: for another ``metric`` than ``self_cpu_time_total`` and
                ``self_cuda_time_total``.
        """
        if metric not in (
            "self_cpu_time_total",
            "self_cuda_time_total",
            "self_xpu_time_total",
            "self_privateuse1_time_total",
        ):
            raise ValueError(
                "metric should be one of: "
                + str(["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total"])
            )
        by = metric if metric == "self_cpu_time_total" else "self_device_time_total"
        found: dict[str, int] = {}
        for e in self:
            if e.stack and int(getattr(e, by)) > 0:
                line = ";".join(
                    entry.replace(" ", "_").replace(";", "_") for entry in reversed(e.stack)
                )
                found[line] = found.get(line, 0) + int(getattr(e, by))
        Path(path).write_text("".join(f"{line} {time}\n" for line, time in found.items()))


def _span(
    name: str,
    category: str,
    process: int,
    row: int,
    start: float,
    taken: float,
    about: Named,
) -> dict[str, object]:
    return {
        "name": name,
        "ph": "X",
        "cat": category,
        "pid": process,
        "tid": row,
        "ts": start,
        "dur": taken,
        "args": about,
    }


def _named(
    process: int, row: int | None, kind: str, name: str
) -> dict[str, int | str | dict[str, str]]:
    return {"name": kind, "ph": "M", "pid": process, "args": {"name": name}} | (
        {} if row is None else {"tid": row}
    )


__getattr__ = _refusals.missing(__name__)
