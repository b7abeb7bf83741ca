"""What campaigns share: their options, how long they go on, and the line at their end that ``all``
puts in its table."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter


class Report:
    """Counts what was tried, and keeps what failed.

    Args:
        name: of the campaign.
        count: after how many tries it ends; None to go on until ``seconds`` are over.
        seconds: after which no new try begins; None for no such limit.
    """

    def __init__(self, name: str, count: int | None, seconds: float | None) -> None:
        self.name, self.count, self.seconds = name, count, seconds
        self.started = time.monotonic()
        self.tried = 0
        self.seen: Counter[str] = Counter()
        self.failures: list[str] = []

    def goes_on(self) -> bool:
        """Whether another try is due."""
        over = self.seconds is not None and time.monotonic() - self.started >= self.seconds
        return not over and (self.count is None or self.tried < self.count)

    def fail(self, what: str) -> None:
        """Notes a failure, with what is needed to repeat it."""
        self.failures.append(what)
        print(f"FAILED {what}", file=sys.stderr, flush=True)

    def close(self) -> int:
        """Prints the line that sums up; the exit status."""
        seen = ", ".join(f"{n} {what}" for what, n in sorted(self.seen.items()))
        seconds = time.monotonic() - self.started
        print(
            f"{self.name}: {self.tried} tried, {len(self.failures)} failed, {seconds:.0f} s "
            f"({seen})",
            flush=True,
        )
        return bool(self.failures)


def options(description: str | None, count: int) -> argparse.ArgumentParser:
    """The options that every campaign has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--count", type=int, help=f"how many to try (default {count}, or no limit with --seconds)"
    )
    parser.add_argument("--seconds", type=float, help="begin nothing new after that long")
    parser.add_argument(
        "--seed", type=int, default=0, help="what is drawn at random follows from it"
    )
    return parser


def report(name: str, given: argparse.Namespace, count: int) -> Report:
    """The report that the options ask for."""
    return Report(
        name, count if given.count is None and given.seconds is None else given.count, given.seconds
    )
