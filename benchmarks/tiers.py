"""The hostile programs with tiers as the engine chooses them, beside each fixed tier:
``python -m benchmarks.tiers``, ``--rows shapes``.

Each program runs in three processes, one with ``JTORCH_TIERS=host``, one with ``JTORCH_TIERS=xla``,
one with neither, and in a fourth under PyTorch; they take turns. Choosing may cost at most 1.2
times the better of the fixed tiers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile

from .table import pin

#: Contestants: who runs, and with which tiers.
WHO = {
    "chosen": ("deferred", ""),
    "host": ("deferred", "host"),
    "xla": ("deferred", "xla"),
    "torch": ("torch", ""),
}
BAR = 1.2


def measure(name: str, rounds: int, turn: float) -> dict[str, list[float]]:
    """Seconds of one step in each round, by contestant."""
    from .apart import Apart
    from .contest import HAS_TORCH
    from .programs.hostile import contest

    row = contest(name)
    running: dict[str, Apart] = {}
    try:
        for who, (runner, tiers) in WHO.items():
            if runner != "torch" or HAS_TORCH:
                running[who] = Apart(row, runner, **({"JTORCH_TIERS": tiers} if tiers else {}))
        counts = {who: r.calls(turn) for who, r in running.items()}
        found: dict[str, list[float]] = {who: [] for who in running}
        names = list(running)
        for i in range(rounds):
            for who in names[i % len(names) :] + names[: i % len(names)]:
                found[who].append(running[who].turn(counts[who]))
    finally:
        for r in running.values():
            r.close()
    return found


def _by(found: dict[str, list[float]], who: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(found[who], found[other], strict=True))


def main(argv: list[str] | None = None) -> int:
    """Prints a row for each program; 1 with ``--strict`` if the bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tiers", description=__doc__)
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only programs whose names contain one of these"
    )
    parser.add_argument("--threads", type=int, default=1, help="cores that everybody may use")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of one contestant's turn")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if the bar is missed")
    args = parser.parse_args(argv)
    os.environ.pop("JTORCH_TIERS", None)
    pin(args.threads)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("JTORCH_CACHE_DIR", folder)
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from .contest import seconds
    from .programs.hostile import PROGRAMS

    held = True
    print(f"{'':42}{''.join(f'{who:>10}' for who in WHO)}  chosen / better tier, / torch")
    for name in PROGRAMS:
        if args.rows and not any(text.lower() in name.lower() for text in args.rows):
            continue
        found = measure(name, args.rounds, args.turn)
        times = {who: statistics.median(t) for who, t in found.items()}
        ratio = _by(found, "chosen", min(("host", "xla"), key=times.__getitem__))
        ok = ratio <= BAR
        held &= ok
        cells = "".join(f"{seconds(times[who]) if who in times else '-':>10}" for who in WHO)
        torch = f"{_by(found, 'chosen', 'torch'):.2f}" if "torch" in found else "-"
        print(
            f"{name:42}{cells}  {ratio:.2f} (at most {BAR}): {'ok' if ok else 'MISSED'}, {torch}",
            flush=True,
        )
    return int(args.strict and not held)


if __name__ == "__main__":
    sys.exit(main())
