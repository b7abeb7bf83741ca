"""Events that programs log to handlers of their own, and statistics that are logged as events."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    pass


STAT_EVENT = "torch.monitor.Stat"
data_value_t: TypeAlias = str | float | int | bool


class Aggregation(enum.Enum):
    """What a ``Stat`` computes of the values it is given."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


VALUE, MEAN, COUNT = Aggregation.VALUE, Aggregation.MEAN, Aggregation.COUNT
SUM, MAX, MIN = Aggregation.SUM, Aggregation.MAX, Aggregation.MIN


class Event:
    """Something that happened: a name, a time and data.

    Raises:
        TypeError: for a time that is none, or data of other types than str, float, int and bool.

    Example:
        >>> from datetime import datetime
        >>> import jtorch as torch
        >>> event = torch.monitor.Event("step", datetime(2020, 1, 1), {"loss": 0.5})
        >>> handle = torch.monitor.register_event_handler(lambda e: print(e.name, e.data))
        >>> torch.monitor.log_event(event)
        step {'loss': 0.5}
        >>> torch.monitor.unregister_event_handler(handle)
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, data_value_t]) -> None:
        if not isinstance(timestamp, datetime):
            raise TypeError(
                f"Event(): argument 'timestamp' must be datetime, not {type(timestamp).__name__}"
            )
        for value in data.values():
            if not isinstance(value, (str, float, int)):
                raise TypeError(
                    f"Event(): data must be str, float, int or bool, not {type(value).__name__}"
                )
        self.name = name
        self.timestamp = timestamp
        self.data = dict(data)


class EventHandlerHandle:
    """What ``register_event_handler`` returns, to take the handler away with."""


_handlers: dict[EventHandlerHandle, Callable[[Event], None]] = {}


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Calls ``callback`` with each event that is logged from now on."""
    handle = EventHandlerHandle()
    _handlers[handle] = callback
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Takes a handler away."""
    _handlers.pop(handler, None)


def log_event(event: Event) -> None:
    """Gives an event to all handlers."""
    for callback in list(_handlers.values()):
        callback(event)


class Stat:
    """Statistics of the values added within each ``window_size``, logged as an event when the
    window ends.

    It ends when a value is added after it, when ``max_samples`` values are there, or with the
    object. ``get`` tells those of the last one that ended.

    Example:
        >>> from datetime import timedelta
        >>> import jtorch as torch
        >>> stat = torch.monitor.Stat(
        ...     "loss", [torch.monitor.Aggregation.SUM], timedelta(hours=1), 2
        ... )
        >>> stat.add(1)
        >>> stat.add(2)
        >>> stat.get()
        {<Aggregation.SUM: 4>: 3.0}
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: timedelta,
        max_samples: int = (1 << 63) - 1
    ) -> None:  # fmt: skip
        self.name = name
        self._aggregations = tuple(aggregations)
        self._window = window_size.total_seconds()
        self._max = max_samples
        self._values: list[float] = []
        self._began = time.monotonic()
        self._last: dict[Aggregation, float] | None = None
        self._lock = threading.RLock()

    def add(self, v: float) -> None:
        """Adds a value."""
        with self._lock:
            if self._values and time.monotonic() - self._began >= self._window:
                self._end()
            if not self._values:
                self._began = time.monotonic()
            self._values.append(float(v))
            if len(self._values) >= self._max:
                self._end()

    @property
    def count(self) -> int:
        """How many values were added in this window."""
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """The statistics of the last window that ended."""
        return dict.fromkeys(self._aggregations, 0.0) if self._last is None else dict(self._last)

    def _end(self) -> None:
        values, self._values = self._values, []
        compute: dict[Aggregation, Callable[[], float]] = {
            VALUE: lambda: values[-1], MEAN: lambda: sum(values) / len(values),
            COUNT: lambda: float(len(values)), SUM: lambda: sum(values), MAX: lambda: max(values),
            MIN: lambda: min(values),
        }  # fmt: skip
        self._last = {a: compute[a]() for a in self._aggregations}
        log_event(
            Event(
                STAT_EVENT,
                datetime.now(),
                {f"{self.name}.{a.name.lower()}": x for a, x in self._last.items()},
            )
        )

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            self._end()


class TensorboardEventHandler:
    """A handler that writes statistics to a ``SummaryWriter`` as scalars."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        """Writes one event."""
        if event.name == STAT_EVENT:
            for key, value in event.data.items():
                if not isinstance(value, (int, float)):
                    raise AssertionError(f"expected int or float, got {type(value)}")
                self._writer.add_scalar(key, value, walltime=event.timestamp.timestamp())
