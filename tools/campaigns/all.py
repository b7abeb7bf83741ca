"""Runs every campaign that there is, and prints one table of what came of them.

    python -m tools.campaigns.all --hours 8

The campaigns are the modules beside this one. The time is shared among them; each is a process of
its own and goes on with another seed when it ends early. Those whose ``--help`` knows ``--seconds``
are told how long to go on, the others do as much as they do by themselves.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
#: The line in which a campaign sums up.
_LINE = re.compile(r"(\d+) tried, (\d+) failed")


class Outcome(NamedTuple):
    """What one campaign came to."""

    name: str
    runs: int
    tried: int
    failed: int
    seconds: float
    status: str


def names() -> list[str]:
    """The campaigns that there are."""
    return sorted(
        p.stem for p in _HERE.glob("*.py") if not p.stem.startswith("_") and p.stem != "all"
    )


def _arguments(name: str, seconds: float, seed: int) -> list[str]:
    """How a campaign is told to run for some time.

    Raises:
        RuntimeError: if it cannot be asked.
    """
    asked = subprocess.run(
        [sys.executable, "-m", f"tools.campaigns.{name}", "--help"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if asked.returncode:
        raise RuntimeError(
            asked.stderr.strip().rpartition("\n")[2]
            or f"--help ended with status {asked.returncode}"
        )
    known = set(re.findall(r"--[a-z]+", asked.stdout))
    given = ["--seconds", str(int(seconds))] if "--seconds" in known else []
    return given + (["--seed", str(seed)] if "--seed" in known else [])


def run(name: str, seconds: float, seed: int) -> Outcome:
    """Runs one campaign, again and again until its time is over."""
    started, runs, tried, failed = time.monotonic(), 0, 0, 0
    while True:
        left = seconds - (time.monotonic() - started)
        if runs and left < seconds / 10:
            return Outcome(name, runs, tried, failed, time.monotonic() - started, "passed")
        try:
            program = [
                sys.executable,
                "-m",
                f"tools.campaigns.{name}",
                *_arguments(name, left, seed + runs),
            ]
            done = subprocess.run(
                program,
                cwd=_ROOT,
                stdout=subprocess.PIPE,
                text=True,
                timeout=left + 3600,
                check=False,
            )
            status, said = done.returncode, done.stdout
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            status, said = -1, str(error)
        print(said.strip(), flush=True)
        runs += 1
        found = _LINE.findall(said)
        tried += int(found[-1][0]) if found else 0
        failed += int(found[-1][1]) if found else 0
        if status:
            return Outcome(
                name,
                runs,
                tried,
                failed,
                time.monotonic() - started,
                f"FAILED with status {status}",
            )


def table(outcomes: list[Outcome]) -> str:
    """The table, in Markdown."""
    rows = ["| campaign | runs | tried | failed | minutes | |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {o.name} | {o.runs} | {o.tried} | {o.failed} | {o.seconds / 60:.1f} | {o.status} |"
        for o in outcomes
    ]
    return "\n".join(rows)


def main() -> int:
    """Runs them as the command line asks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=1.0, help="for all of them together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of campaigns (default: all)")
    given = parser.parse_args()
    chosen = [name for name in names() if not given.only or name in given.only]
    outcomes = [run(name, given.hours * 3600 / len(chosen), given.seed) for name in chosen]
    print(table(outcomes))
    return int(any(o.status != "passed" or o.failed for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
