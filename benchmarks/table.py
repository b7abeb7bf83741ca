"""Prints the side-by-side table: ``python -m benchmarks.table`` (all rows), ``--rows MLP hostile``,
``--threads 1``, ``--list``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .contest import Contest, Result

_HEADERS = {
    "deferred": "jtorch deferred",
    "immediate": "jtorch immediate",
    "compiled": "jtorch compiled",
    "torch": "PyTorch eager",
    "jnp": "jax.numpy",
    "jit": "hand-written jit",
}


def pin(threads: int) -> None:
    """Keeps this process, and all that it starts, on so many cores; must come before anything that
    starts threads is imported.

    XLA, OpenMP and PyTorch size their pools by the cores they may use, so everybody has the same.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["NPROC"] = str(threads)


def _contests() -> dict[str, Callable[[], Contest]]:
    from .programs import (
        chains,
        generation,
        gpt,
        hostile,
        large,
        lstm,
        mlp,
        ops,
        optimizers,
        protocol,
        resnet,
        steps,
    )

    modules = (
        protocol,
        ops,
        large,
        chains,
        mlp,
        gpt,
        resnet,
        lstm,
        optimizers,
        steps,
        generation,
        hostile,
    )
    return {name: make for module in modules for name, make in module.CONTESTS.items()}


def _chosen(names: list[str], patterns: list[str] | None) -> list[str]:
    return [n for n in names if not patterns or any(p.lower() in n.lower() for p in patterns)]


def _bars(result: Result) -> tuple[list[str], list[bool]]:
    from .contest import seconds

    texts, verdicts = [], []
    for bar in result.contest.bars:
        measured, ok = result.verdict(bar)
        if measured is None:
            texts.append(f"{bar}: not run")
            continue
        texts.append(
            f"{bar}: {seconds(measured) if bar.over is None else f'{measured:.2f}'} "
            f"{'ok' if ok else 'MISSED'}"
        )
        verdicts.append(bool(ok))
    return texts, verdicts


def _print_rows(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        print(
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:], strict=True)),
                    row[-1],
                ]
            ).rstrip()
        )


def _row(result: Result, who: list[str]) -> tuple[list[str], list[bool]]:
    from .contest import seconds

    cells = [seconds(result.times[w]) if w in result.times else "-" for w in who]
    ratios = []
    for other in ("torch", "jnp", "jit"):
        if other in who:
            r = result.ratio("deferred", other)
            ratios.append("-" if r is None else f"{r:.2f}")
    texts, verdicts = _bars(result)
    extra = [f"{n}: {seconds(t)}" for n, t in result.times.items() if n not in _HEADERS]
    return [result.contest.name, *cells, *ratios, "; ".join(extra + texts)], verdicts


def main(argv: list[str] | None = None) -> int:
    """Runs the chosen rows and prints the table; 1 if a bar is missed and ``--strict`` was
    given."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table", description=__doc__.split(":")[0] if __doc__ else None
    )
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows whose names contain one of these"
    )
    parser.add_argument(
        "--who", nargs="+", choices=list(_HEADERS), default=list(_HEADERS), help="contestants"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="cores that everybody may use (default: all)"
    )
    parser.add_argument(
        "--busy", action="store_true", help="while another process computes on each of these cores"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="interleaved rounds; medians over them are shown"
    )
    parser.add_argument("--turn", type=float, default=0.1, help="seconds of one contestant's turn")
    parser.add_argument("--json", metavar="FILE", help="also write all times there")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: processor time, for machines that others use",
    )
    parser.add_argument(
        "--least",
        action="store_true",
        help="the least times instead of medians, for machines that others use",
    )
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    args = parser.parse_args(argv)
    if args.threads:
        pin(args.threads)
    os.environ["BENCHMARKS_CLOCK"] = args.clock
    os.environ["BENCHMARKS_LEAST"] = str(int(args.least))
    from . import processes

    with tempfile.TemporaryDirectory() as folder:
        # What an earlier run compiled must not help this one.
        os.environ.setdefault("JTORCH_CACHE_DIR", folder)
        with processes.neighbours(args.busy):
            return _run(args)


def _run(args: Any) -> int:
    from . import processes
    from .contest import HAS_TORCH, run

    contests = _contests()
    names = _chosen([*contests, *processes.ROWS, *processes.MEMORY_ROWS], args.rows)
    if args.list:
        print("\n".join(names))
        return 0
    who = [w for w in args.who if w != "torch" or HAS_TORCH]
    if not HAS_TORCH and "torch" in args.who:
        print("PyTorch is not installed: its column is missing.")
    _print_machine()
    rows = [
        [
            "",
            *(_HEADERS[w] for w in who),
            *(f"deferred / {o}" for o in ("torch", "jnp", "jit") if o in who),
            "bars (measured)",
        ]
    ]
    verdicts: list[bool] = []
    found: dict[str, Any] = {}
    for name in names:
        print(f"... {name}", file=sys.stderr, flush=True)
        if name in processes.MEMORY_ROWS:
            row, ok, figures = _memory_row(name, who)
        else:
            result = (
                processes.ROWS[name]()
                if name in processes.ROWS
                else run(contests[name](), who, args.rounds, args.turn)
            )
            (row, ok), figures = _row(result, who), result.rounds
        rows.append(row)
        verdicts += ok
        found[name] = figures
    _print_rows(rows)
    print(f"\n{sum(verdicts)} of {len(verdicts)} bars held.")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file, indent=1)
    return int(args.strict and not all(verdicts))


def _memory_row(name: str, who: list[str]) -> tuple[list[str], list[bool], Any]:
    from . import processes

    figures = processes.peak_memory(who, processes.MEMORY_ROWS[name])
    grown = {w: peak - before for w, (before, peak, _) in figures.items()}
    cells = [f"{grown[w] / 2**20:.0f} MiB" if w in grown else "-" for w in who]
    ratios = [
        f"{grown['deferred'] / grown[o]:.2f}" if "deferred" in grown and o in grown else "-"
        for o in ("torch", "jnp", "jit")
        if o in who
    ]
    texts, verdicts = [], []
    for other, bar in processes.MEMORY_BARS.items():
        if "deferred" in grown and other in grown:
            ratio = grown["deferred"] / grown[other]
            verdicts.append(ratio <= bar)
            texts.append(
                f"deferred <= {bar} x {other}: {ratio:.2f} {'ok' if verdicts[-1] else 'MISSED'}"
            )
    texts += [
        f"{w} before it is hot: {(warming - before) / 2**20:.0f} MiB"
        for w, (before, _, warming) in figures.items()
    ]
    return (
        [name, *cells, *ratios, "; ".join(texts)],
        verdicts,
        {w: list(f) for w, f in figures.items()},
    )


def _print_machine() -> None:
    import jax
    import numpy

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = [
        f"Python {platform.python_version()}",
        f"jax {jax.__version__}",
        f"numpy {numpy.__version__}",
    ]
    try:
        import torch

        versions.append(f"torch {torch.__version__} with {torch.get_num_threads()} threads")
    except ImportError:
        pass
    taken = "least times" if os.environ.get("BENCHMARKS_LEAST") == "1" else "medians"
    print(
        f"{platform.machine()}, {cores} cores used, {', '.join(versions)}; {taken} of interleaved "
        "rounds\n"
    )


if __name__ == "__main__":
    sys.exit(main())
