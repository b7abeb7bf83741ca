"""Contestants in processes of their own: ``python -m benchmarks.apart ROW WHO`` takes turns when it
is told to.

A library that sets JAX's types, its dispatch or the allocator sets them for its whole process.
Where that matters, what is compared must not share one: hand-written JAX then runs as it does in a
program that has never heard of jtorch. A contestant that waits for its turn sleeps, so that turns
do not disturb each other.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

from .contest import Contest, Here
from .processes import _environment


class Apart:
    """A contestant in another process, with the methods of ``Here``."""

    def __init__(self, contest: Contest, name: str, **more: str) -> None:
        """``more``: of its environment."""
        command = [sys.executable, "-m", "benchmarks.apart", contest.name, name]
        self.process = subprocess.Popen(
            command,
            env=_environment(**more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(_MARK):
                return json.loads(line.removeprefix(_MARK))
        raise RuntimeError(f"{' '.join(map(str, self.process.args))} ended")  # type: ignore[arg-type]

    def _ask(self, *what: Any) -> Any:
        assert self.process.stdin is not None
        print(json.dumps(what), file=self.process.stdin, flush=True)
        return self._answer()

    def calls(self, turn: float) -> int:
        """How many calls fill a turn of so many seconds."""
        return self._ask("calls", turn)

    def turn(self, calls: int) -> float:
        """Seconds of one call: the median of a turn's."""
        return self._ask("turn", calls)

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


_MARK = "answer: "  # what a program prints itself is no answer


def main(row: str, who: str) -> None:
    """Builds the contestant and serves its turns, until there is nothing more to read."""
    from .table import _contests

    contestant = Here(_contests()[row](), who)
    print(_MARK + json.dumps(contestant.first), flush=True)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        method, argument = json.loads(line)
        print(_MARK + json.dumps(getattr(contestant, method)(argument)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
