"""What was timed and what came out: tasks, measurements, and times in words."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

_UNITS = (
    (1e-9, "ns", "nanosecond"),
    (1e-6, "us", "microsecond"),
    (1e-3, "ms", "millisecond"),
    (1.0, "s", "second"),
)
#: Times closer together than this are the clock's doing.
_RESOLUTION = 25e-9
#: Spreads, relative to the median, that are worth a warning, and that are suspicious.
_WIDE, _GROSS = 0.1, 0.25


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is read best, and how many seconds it has.

    Example:
        >>> from jtorch.utils.benchmark import select_unit
        >>> select_unit(2e-5)
        ('us', 1e-06)
    """
    seconds, unit, _ = next((u for u in reversed(_UNITS) if t >= u[0]), _UNITS[0])
    return unit, seconds


def unit_to_english(u: str) -> str:
    """The name of a unit: ``"microsecond"`` for ``"us"``."""
    return next(name for _, unit, name in _UNITS if unit == u)


def trim_sigfig(x: float, n: int) -> float:
    """``x`` rounded to ``n`` significant digits."""
    if x == 0:
        return float(x)
    scale = 10.0 ** (math.floor(math.log10(abs(x))) + 1 - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[object]) -> list[Any]:
    """Each element once, in the order of their first appearance."""
    return list(dict.fromkeys(elements))


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured: the statement, how it was prepared, and the words to present it with."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and what is added to it."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """The preparation as reports show it: nothing for ``"pass"``."""
        if not self.setup or self.setup == "pass":
            return ""
        return (
            f"setup:\n{textwrap.indent(self.setup, '  ')}\n"
            if "\n" in self.setup
            else f"setup: {self.setup}"
        )

    def summarize(self) -> str:
        """Title, description and preparation, one below the other."""
        return "\n".join(
            part for part in (self.title, self.description or "", self.setup_str()) if part
        )


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times of one task.

    Attributes:
        number_per_run: how often the statement ran for each of ``raw_times``.
        raw_times: seconds of each repetition.

    Example:
        >>> from jtorch.utils.benchmark import Measurement, TaskSpec
        >>> print(str(Measurement(100, [1e-3], TaskSpec("x + 1", "pass"))).split("\\n", 1)[1])
        x + 1
          10.00 us
          1 measurement, 100 runs , 1 thread
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if (
            name.startswith("__")
            or name == "task_spec"
            or (not hasattr(TaskSpec, name) and name not in TaskSpec.__dataclass_fields__)
        ):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds that the statement took, for each repetition."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The average of ``times``."""
        return float(np.mean(self.times))

    @property
    def median(self) -> float:
        """The time that half of the repetitions were faster than."""
        return float(np.median(self.times))

    def _quartiles(self) -> tuple[float, float]:
        low, high = np.percentile(self.times, (25, 75))
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """How far the quartiles of ``times`` are apart."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread leaves meaningful, from 1 to 5."""
        ordered = sorted(self.times)
        inner = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        interval = max(1.645 * float(np.std(inner)) / math.sqrt(len(inner)), _RESOLUTION)
        return min(max(math.floor(math.log10(self.median / interval)), 1), 5)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _WIDE) -> bool:
        """Whether the spread is below ``threshold`` of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The task's title."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Where it ran, if that was told."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """How tables call the row."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, threads = len(self.raw_times), self.task_spec.num_threads
        unit, seconds = select_unit(self.median)
        lines = [
            f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>",
            self.task_spec.summarize(),
        ]
        lines.append(f"  {'Median: ' if n > 1 else ''}{self.median / seconds:.2f} {unit}")
        if n >= 4:
            low, high = self._quartiles()
            lines.append(
                f"  IQR:    {self.iqr / seconds:.2f} {unit} ({low / seconds:.2f} to "
                f"{high / seconds:.2f})"
            )
        count = (
            f"{n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if n > 1 else ''}"
        )
        lines.append(f"  {count}, {threads} thread{'s' if threads > 1 else ''}")
        spread = self.iqr / self.median
        if spread >= _WIDE:
            found = "suggests" if spread >= _GROSS else "could indicate"
            what = (
                "significant environmental influence" if spread >= _GROSS else "system fluctuation"
            )
            lines.append(
                f"  WARNING: Interquartile range is {spread:.1%} of the median measurement.\n"
                f"           This {found} {what}."
            )
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all of its measurements."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, list(_times(group)), task, None) for task, group in groups.items()]


def _times(group: Iterable[Measurement]) -> Iterator[float]:
    for m in group:
        yield from m.times
