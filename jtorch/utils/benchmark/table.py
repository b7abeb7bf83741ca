"""``Compare``: measurements side by side in a table."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BEST, _GOOD, _BAD, _VERY_BAD, _BOLD, _END = (
    "\033[92m",
    "\033[34m",
    "\033[2m\033[91m",
    "\033[31m",
    "\033[1m",
    "\033[0m",
)


class Colorize(enum.Enum):
    """What the colours of a table compare: nothing, the times of a column, or those of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements: labels make tables, sub-labels and threads rows, descriptions
    columns.

    Example:
        >>> from jtorch.utils.benchmark import Compare, Measurement, TaskSpec
        >>> made = [
        ...     Measurement(1, [t], TaskSpec("f", "pass", "", "sizes", s, "now"))
        ...     for s, t in (("small", 2e-3), ("large", 5e-3))
        ... ]
        >>> [line.rstrip() for line in str(Compare(made)).splitlines()[3:5]]
        ['      small  |  2.0', '      large  |  5.0']
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._warn = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Adds measurements.

        Raises:
            ValueError: for anything else.
        """
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Leaves out digits that the spread of the times makes meaningless."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Marks the best and the worst times of columns, or of rows, by colours."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Marks measurements whose times vary much."""
        self._warn = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))  # noqa: T201

    def __str__(self) -> str:
        groups: dict[str, list[Measurement]] = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.task_spec.label or "", []).append(m)
        return "\n".join(self._table(label, group) for label, group in groups.items())

    def _table(self, label: str, group: list[Measurement]) -> str:
        unit, seconds = select_unit(min(m.median for m in group))
        columns = ordered_unique(m.task_spec.description or "" for m in group)
        threads = ordered_unique(m.task_spec.num_threads for m in group)
        names = ordered_unique(m.as_row_name for m in group)
        envs = ordered_unique(m.env for m in group)
        prefix = {e: f"({e}) " if len(envs) > 1 else "" for e in envs}
        cells = {
            (m.task_spec.num_threads, m.env, m.as_row_name, m.task_spec.description or ""): m
            for m in group
        }
        places = {
            c: min(self._decimals(m, seconds) for key, m in cells.items() if key[3] == c)
            for c in columns
        }
        texts = {key: self._text(m, seconds, places[key[3]]) for key, m in cells.items()}
        width = max(len(prefix[e]) + len(n) for e in envs for n in names) + 7
        inner = {c: max(len(t) for key, t in texts.items() if key[3] == c) for c in columns}
        widths = {c: max(len(c), inner[c]) for c in columns}

        def line(head: str, row: Sequence[str]) -> str:
            return f"{head:<{width}} |  " + "  |  ".join(row)

        def cell(key: tuple[int, str, str, str]) -> str:
            c = key[3]
            return self._coloured(texts.get(key, "").rjust(inner[c]).center(widths[c]), key, cells)

        body: list[str] = [line("", [c.center(widths[c]) for c in columns])]
        whole = len(body[0])
        for n in threads:
            body.append(f"{n} threads: ".ljust(whole, "-"))
            for e in envs:
                for name in names:
                    keys = [(n, e, name, c) for c in columns]
                    if any(k in cells for k in keys):
                        body.append(line(f"      {prefix[e]}{name}", [cell(k) for k in keys]))
        title = f"[{f' {label} '.center(whole - 2, '-')}]"
        lines = [title, *body, "", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._warn and any(m.has_warnings for m in group):
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join(lines) + "\n"

    def _decimals(self, m: Measurement, seconds: float) -> int:
        return int(not self._trim or m.median / seconds < 10 ** (m.significant_figures - 1))

    def _text(self, m: Measurement, seconds: float, decimals: int) -> str:
        value = m.median / seconds
        text = f"{trim_sigfig(value, m.significant_figures) if self._trim else value:.{decimals}f}"
        return f"(! {m.iqr / m.median:.0%}) {text}" if self._warn and m.has_warnings else text

    def _coloured(
        self,
        text: str,
        key: tuple[int, str, str, str],
        cells: dict[tuple[int, str, str, str], Measurement],
    ) -> str:
        if self._colorize is Colorize.NONE or key not in cells:
            return text
        same = (0, 3) if self._colorize is Colorize.COLUMNWISE else (0, 1, 2)
        others = [m for k, m in cells.items() if all(k[i] == key[i] for i in same)]
        best, value = min(m.median for m in others), cells[key].median
        if value <= best * 1.01:
            return f"{_BEST}{_BOLD}{text}{_END}{_END}"
        if value <= best * 1.1:
            return f"{_GOOD}{_BOLD}{text}{_END}{_END}"
        if value > best * 5:
            return f"{_VERY_BAD}{_BOLD}{text}{_END}{_END}"
        return f"{_BAD}{text}{_END}" if value > best * 2 else text
