"""``FileCheck``: checks that a text has certain parts, in order."""

from __future__ import annotations

import re
from typing import Any


class FileCheck:
    """Checks to be made of a text, each looked for behind what the one before found; ``run`` makes
    them.

    Raises:
        RuntimeError: from ``run``, if a check fails or there are none.

    Example:
        >>> import jtorch as torch
        >>> torch.testing.FileCheck().check("one").check_next("two").check_not("four").run("one\\ntwo\\nthree")
    """  # noqa: E501

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, int, bool]] = []
        self._ran = False

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append((kind, text, count, exactly))
        return self

    def check(self, text: str, /) -> FileCheck:
        """The text comes next, or later."""
        return self._add("CHECK", text)

    def check_not(self, text: str, /) -> FileCheck:
        """The text does not come between what the checks before and after this one find."""
        return self._add("CHECK-NOT", text)

    def check_next(self, text: str, /) -> FileCheck:
        """The text is in the next line."""
        return self._add("CHECK-NEXT", text)

    def check_same(self, text: str, /) -> FileCheck:
        """The text is further on in the same line."""
        return self._add("CHECK-SAME", text)

    def check_count(self, str: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes ``count`` times, and with ``exactly`` not again."""
        return self._add("CHECK-COUNT-EXACTLY" if exactly else "CHECK-COUNT", str, count, exactly)

    def check_dag(self, text: str, /) -> FileCheck:
        """The text comes, in any order with those of such checks right before and after this
        one."""
        return self._add("CHECK-DAG", text)

    def check_source_highlighted(self, text: str, /) -> FileCheck:
        """The text comes, with ``~`` under it."""
        return self._add("CHECK-SOURCE-HIGHLIGHTED", text)

    def check_regex(self, pattern: str, /) -> FileCheck:
        """Something that matches the regular expression comes."""
        return self._add("CHECK-REGEX", pattern)

    def run(self, text: str, test_file: str | None = None, /) -> None:
        """Makes the checks on a text; with two arguments, those that comments of the first ask for
        (``# CHECK: ...``), on the second."""
        if test_file is not None:
            self._parse(text)
            text = str(test_file)
        self._ran = True
        if not self._checks:
            raise RuntimeError(
                "No checks have been added to this instance ofFilecheck! Check for bad input."
            )
        at, i = 0, 0
        refused: list[tuple[str, str]] = []
        while i < len(self._checks):
            kind, what, count, exactly = self._checks[i]
            i += 1
            if kind == "CHECK-NOT":
                refused.append((kind, what))
                continue
            start = at
            if kind == "CHECK-DAG":
                found = [self._found(text, what, start, kind)]
                while i < len(self._checks) and self._checks[i][0] == "CHECK-DAG":
                    found.append(self._found(text, self._checks[i][1], start, kind))
                    i += 1
                first, at = min(s for s, _ in found), max(e for _, e in found)
            else:
                first, at = self._one(text, kind, what, count, start)
            for label, no in refused:
                self._absent(text, no, start, first, label, no)
            refused = [("CHECK-NOT", what)] if exactly else []
        for label, no in refused:
            self._absent(text, no, at, len(text), label, no)

    def _one(self, text: str, kind: str, what: str, count: int, start: int) -> tuple[int, int]:
        label = f"{kind}-{count}" if "COUNT" in kind else kind
        if "COUNT" in kind:
            first, at = -1, start
            for _ in range(count):
                place, at = self._found(text, what, at, label)
                first = place if first < 0 else first
            return (start if first < 0 else first), at
        if kind == "CHECK-REGEX":
            match = re.compile(what).search(text, start)
            if match is None:
                raise RuntimeError(
                    f'Expected to find regex "{what}" but did not find it\n'
                    "Searched string:\n"
                    f"From CHECK-REGEX: {what}\n"
                )
            return match.start(), match.end()
        if kind == "CHECK-SOURCE-HIGHLIGHTED":
            return self._highlighted(text, what, start)
        place, end = self._found(text, what, start, label)
        if kind == "CHECK-SAME":
            self._absent(text, "\n", start, place, label, what)
        if kind == "CHECK-NEXT":
            line_end = text.find("\n", start)
            if not 0 <= line_end < place:
                raise RuntimeError(
                    _complaint(
                        f'Expected to find "\\n" but did not find it\nSearched string:\n{text}',
                        label,
                        what,
                    )
                )
            self._absent(text, "\n", line_end + 1, place, label, what)
        return place, end

    def _highlighted(self, text: str, what: str, start: int) -> tuple[int, int]:
        place, end = self._found(text, what, start, "CHECK-SOURCE-HIGHLIGHTED")
        line_start = text.rfind("\n", 0, place) + 1
        line_end = text.find("\n", place)
        below = text[line_end + 1 :].partition("\n")[0] if line_end >= 0 else ""
        column = place - line_start
        marked = below[column : column + len(what)]
        if (
            marked != "~" * len(what)
            or below[column - 1 : column] == "~"
            or below[column + len(what) : column + len(what) + 1] == "~"
        ):
            raise RuntimeError(
                f'Expected to find "{what}"highlighted but it is not.\n'
                f"{_shown(text, place, place + 1)}"
            )
        return place, end + 1 + len(below)

    @staticmethod
    def _found(text: str, what: str, start: int, label: str) -> tuple[int, int]:
        place = text.find(what, start)
        if place < 0:
            shown = _shown(text, start, start + len(what))
            raise RuntimeError(
                _complaint(
                    f'Expected to find "{what}" but did not find it\nSearched string:\n{shown}',
                    label,
                    what,
                )
            )
        return place, place + len(what)

    @staticmethod
    def _absent(text: str, what: str, start: int, end: int, label: str, source: str) -> None:
        place = text.find(what, start, end)
        if place >= 0:
            quoted = what.replace("\n", "\\n")
            shown = _shown(text, place, place + len(what)) if what != "\n" else text
            raise RuntimeError(
                _complaint(f'Expected to not find "{quoted}" but found it\n{shown}', label, source)
            )

    def _parse(self, source: str) -> None:
        """Adds the checks of the comments of a program."""
        names = "COUNT-EXACTLY-|COUNT-|NOT|NEXT|SAME|DAG|SOURCE-HIGHLIGHTED|REGEX"
        for line in source.splitlines():
            match = re.search(rf"#\s*CHECK(?:-({names})(\d*))?:\s*(.*)", line)
            if match is None:
                continue
            kind, number, text = match.groups()
            if kind and kind.endswith("-"):
                self.check_count(text, int(number), kind == "COUNT-EXACTLY-")
            else:
                self._add(f"CHECK-{kind}" if kind else "CHECK", text)

    def __str__(self) -> str:
        ran = "" if self._ran else "You have not run this instance of FileCheck!\n"
        return (
            ran
            + "FileCheck checks:"
            + "".join(f"\n\t{kind}: {what}" for kind, what, *_ in self._checks)
        )

    __repr__: Any = __str__


def _complaint(what: str, label: str, source: str) -> str:
    return f"{what}From {label}: {source}\n"


def _shown(text: str, start: int, end: int) -> str:
    """The text with a place marked."""
    if start >= len(text) or end <= start:
        return text.removesuffix("\n")
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    mark = " " * (start - line_start) + "~" * (min(end, line_end) - start) + " <--- HERE\n"
    rest = text[line_end + 1 :]
    return text[:line_end] + "\n" + mark + rest + ("" if not rest or rest.endswith("\n") else "\n")
