"""The first call of each operation, all caches empty: ``python -m benchmarks.first_calls`` (500
operations), ``--count``, ``--worst``.

The operations and their arguments are those of PyTorch's sample database (OpInfo), in a mixed order
that is the same every time. Each is called once, on shapes that it has not seen, in one fresh
process with empty caches: the call and the running of what it recorded are timed, making its
arguments is not. PyTorch's first call of the same in the same process stands beside it.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from . import fresh
from .contest import seconds
from .fresh import Spent
from .table import pin

#: At most, in seconds: the median and the 99th percentile.
BARS = {50: 3e-3, 99: 20e-3}


def _samples(count: int) -> Iterator[tuple[str, Callable[..., Any], Callable[..., Any], Any]]:
    """Names of operators, PyTorch's function and ours, and a sample."""
    import torch
    from opinfo_running import _has_layouts, counterpart, first_samples  # type: ignore[import-not-found]
    from test_opinfo import FAILING, OPS  # type: ignore[import-not-found]

    order = [op for op in OPS if op.full_name not in FAILING]
    random.Random(0).shuffle(order)
    gc.collect()
    # a collection that looks through all of the database's objects takes half a second of whichever
    # call it falls on
    gc.freeze()
    found = 0
    for op in order:
        known = op.supported_dtypes("cpu")
        if found == count:
            return
        dtype = torch.float32 if torch.float32 in known else min(known, key=str, default=None)
        made = first_samples(op, dtype, 1) if dtype else []
        if not made or _has_layouts((made[-1].input, made[-1].args, made[-1].kwargs)):
            continue
        found += 1
        yield op.full_name, op.op, counterpart(op.op), made[-1]


def _timed(call: Callable[[], Any]) -> Spent:
    begun, used = time.perf_counter(), time.process_time()
    call()
    return Spent(time.perf_counter() - begun, time.process_time() - used)


def here(count: int) -> dict[str, Any]:
    """Calls the operations in this process; seconds of each by name, and what failed."""
    import torch
    from opinfo_running import ours  # type: ignore[import-not-found]

    import jtorch

    found: dict[str, Any] = {"torch": {}, "jtorch": {}, "failed": {}}
    for name, its, function, sample in _samples(count):
        given = [ours(x) for x in (sample.input, sample.args, sample.kwargs)]
        jtorch._src.engine.flush()

        def mine(function: Callable[..., Any] = function, given: list[Any] = given) -> None:
            kept = function(given[0], *given[1], **given[2])
            jtorch._src.engine.flush()
            del kept

        torch.manual_seed(0)
        jtorch.manual_seed(0)
        try:
            theirs = _timed(
                lambda its=its, sample=sample: its(sample.input, *sample.args, **sample.kwargs)
            )
        except Exception:  # such as a layout that only other devices have
            continue
        try:
            found["jtorch"][name] = _timed(mine)
        except Exception as error:
            found["failed"][name] = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        else:
            found["torch"][name] = theirs
    return found


def _percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def main(argv: list[str] | None = None) -> int:
    """Prints the percentiles; 1 if a call fails, or with ``--strict`` if a bar is missed by
    processor time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--worst", type=int, default=10, help="how many of the slowest to list")
    parser.add_argument("--threads", type=int, default=1, help="cores that everybody may use")
    parser.add_argument("--json", metavar="FILE", help="also write all times there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    # in the process that is measured
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.here:
        warnings.simplefilter("ignore")
        sys.path.insert(0, str(fresh.ROOT / "tests" / "parity"))
        print(json.dumps(here(args.count)))
        return 0
    pin(args.threads)
    fresh.as_installed()
    with fresh.empty_folders() as (cache, scratch):
        command = [
            sys.executable,
            "-m",
            "benchmarks.first_calls",
            "--here",
            "--count",
            str(args.count),
        ]
        spent, text = fresh.run(command, fresh.environment(cache), scratch, timeout=7200)
    found = json.loads(text.splitlines()[-1])
    held = True
    for clock in ("wall", "cpu"):
        times = {
            who: {name: getattr(Spent(*t), clock) for name, t in found[who].items()}
            for who in ("torch", "jtorch")
        }
        mine = list(times["jtorch"].values())
        print(f"{len(mine)} operations, each called once, by {clock}:")
        for percent, most in BARS.items():
            got, theirs = (
                _percentile(mine, percent),
                _percentile(list(times["torch"].values()), percent),
            )
            held &= got <= most or clock == "wall"  # a busy machine is no fault
            print(
                f"  {percent}th percentile {seconds(got)} (PyTorch {seconds(theirs)}; at most "
                f"{seconds(most)}): {'ok' if got <= most else 'MISSED'}"
            )
        print(
            f"  all together {seconds(sum(mine))} (PyTorch {seconds(sum(times['torch'].values()))})"
        )
    for name, t in sorted(found["jtorch"].items(), key=lambda item: -item[1][1])[: args.worst]:
        print(f"  {seconds(t[1]):>8} of a processor: {name}")
    for name, error in found["failed"].items():
        print(f"  failed: {name}: {error}")
    print(f"whole process {seconds(spent.wall)}, {seconds(spent.cpu)} of processors")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file)
    return int(bool(found["failed"]) or (args.strict and not held))


if __name__ == "__main__":
    sys.exit(main())
