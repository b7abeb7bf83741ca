"""Whole programs under PyTorch and under jtorch: ``python -m benchmarks.whole_programs FOLDER [NAME
...]``.

Each script of a folder (or those whose names contain a NAME) runs from start to end as
``python SCRIPT``, as ``python -m jtorch SCRIPT`` with empty caches (cold), and once more with the
caches that the cold run left (second), in turns, in an empty folder, all on as many cores. Ratios
are to PyTorch in the same round. Scripts that a README or a module of helpers accompanies lie in
the same folder: those whose names begin with ``_`` are not run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from . import fresh
from .fresh import Spent
from .table import pin

#: At most, as a multiple of PyTorch's time: the median of all programs, and each.
BARS = {"cold": (1.5, 4.0), "second": (1.0, 2.5)}


def measure(script: Path, rounds: int, timeout: float) -> dict[str, list[Spent]]:
    """What a script took in each round, by how it was run.

    Raises:
        RuntimeError: if it fails.
    """
    found: dict[str, list[Spent]] = {"torch": [], "cold": [], "second": []}
    for _ in range(rounds):
        with fresh.empty_folders() as (cache, scratch):
            env = fresh.environment(cache)
            for how, who in (("torch", "torch"), ("cold", "jtorch"), ("second", "jtorch")):
                try:
                    spent, _ = fresh.run([*fresh.RUNNERS[who], str(script)], env, scratch, timeout)
                except RuntimeError as error:
                    raise RuntimeError(f"{how}: {error}") from None
                found[how].append(spent)
    return found


def ratios(found: dict[str, list[Spent]], how: str) -> Spent:
    """The median over the rounds of what ``how`` took by what PyTorch took."""
    return fresh.median(
        [mine.by(its) for mine, its in zip(found[how], found["torch"], strict=True)]
    )


def _scripts(folder: Path, names: Sequence[str]) -> list[Path]:
    return [
        p
        for p in sorted(folder.glob("*.py"))
        if p.name[0] != "_" and (not names or any(n in p.name for n in names))
    ]


def _summary(results: dict[str, dict[str, list[Spent]]]) -> bool:
    held = True
    for how, (middle, most) in BARS.items():
        for clock in ("wall", "cpu"):
            found = sorted(getattr(ratios(r, how), clock) for r in results.values())
            ok = statistics.median(found) <= middle and found[-1] <= most
            held &= ok or clock == "wall"  # a busy machine is no fault
            bars = (
                f"median {statistics.median(found):.2f} (at most {middle}), largest "
                f"{found[-1]:.2f} (at most {most})"
            )
            print(f"{how:6} by {clock:4}: {bars}, of {len(found)}: {'ok' if ok else 'MISSED'}")
    return held


def main(argv: list[str] | None = None) -> int:
    """Runs the programs and prints the table; 1 if one fails, or with ``--strict`` if a bar is
    missed by processor time."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.whole_programs", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "names", nargs="*", help="only scripts whose file names contain one of these"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="cores that everybody may use")
    parser.add_argument("--timeout", type=float, default=900, help="seconds that one run may take")
    parser.add_argument("--json", metavar="FILE", help="also write all times there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    args = parser.parse_args(argv)
    pin(args.threads)
    fresh.as_installed()
    print("Seconds by the clock / of processors; ratios to PyTorch by the clock / of processors")
    print(
        f"{'':32}{'torch':>14}{'cold':>16}{'second':>14}{'cold / torch':>16}{'second / torch':>16}",
        flush=True,
    )
    results: dict[str, dict[str, list[Spent]]] = {}
    failed = 0
    for script in _scripts(args.folder.resolve(), args.names):
        try:
            found = measure(script, args.rounds, args.timeout)
        except RuntimeError as error:
            failed += 1
            print(f"{script.stem:32}  failed {error}", flush=True)
            continue
        results[script.stem] = found
        times = [fresh.median(found[how]) for how in found]
        cells = [f"{t.wall:.1f} / {t.cpu:.1f}" for t in times]
        cells += [f"{r.wall:.2f} / {r.cpu:.2f}" for r in [ratios(found, how) for how in BARS]]
        print(
            f"{script.stem:32}{cells[0]:>14}{cells[1]:>16}{cells[2]:>14}{cells[3]:>16}"
            f"{cells[4]:>16}",
            flush=True,
        )
    held = _summary(results) if results else False
    if failed:
        print(f"{failed} programs failed.")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(
                {
                    name: {how: [r._asdict() for r in runs] for how, runs in found.items()}
                    for name, found in results.items()
                },
                file,
            )
    return int(bool(failed) or (args.strict and not held))


if __name__ == "__main__":
    sys.exit(main())
