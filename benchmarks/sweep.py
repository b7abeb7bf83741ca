"""Times one call of every operation: ``python -m benchmarks.sweep`` (all), ``--ops sort gather``,
``--sizes 1024``, ``--json FILE``.

Each call is timed alone, at 4x4 and at 1024x1024, on one core: jtorch in immediate mode, jtorch
deferred (recorded and run at once), PyTorch, and ``jax.numpy`` (or ``jax.scipy``, ``jax.lax``,
``jax.nn``) where it has the function. Ratios are medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .programs.calls import OpCall, calls, operands
from .table import pin

#: Calls that a machine's noise alone may show as slower are not listed: ratios up to this count as
#: equal.
NOISE = 1.1
#: At 4x4: the geometric mean of all calls by PyTorch's time, and the seconds of ``add``, at most,
#: in the better mode.
SMALL, ADD = 1.5, 1.5e-6
#: What the slow list at the large size compares with PyTorch.
SLOW = 2.0


@dataclasses.dataclass
class Row:
    """What one call took at one size: seconds by contestant, and the ratios of jtorch's times to
    the others'."""

    call: OpCall
    n: int
    times: dict[str, float]
    ratios: dict[str, float]
    error: str = ""


def _scope(who: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """The names that a call is written with, for one contestant."""
    if who == "jax":
        import jax
        from jax import image, lax, nn
        from jax import numpy as jnp
        from jax.scipy import linalg, special

        values = {k: jnp.asarray(a) if hasattr(a, "shape") else a for k, a in arrays.items()}
        scope = {
            "np": jnp,
            "lax": lax,
            "nn": nn,
            "special": special,
            "linalg": jnp.linalg,
            "sla": linalg,
            "fft": jnp.fft,
            "img": image,
        }
        return {**scope, "jax": jax, **values}
    if who == "torch":
        import torch
    else:
        import jtorch as torch
    values = {k: torch.tensor(a) if hasattr(a, "shape") else a for k, a in arrays.items()}
    return {"t": torch, "F": torch.nn.functional, "L": torch.linalg, **values}


@contextlib.contextmanager
def _mode(who: str) -> Iterator[None]:
    if who in ("immediate", "deferred"):
        import jtorch

        with jtorch.execution(who):
            yield
    else:
        yield


def _step(who: str, source: str, scope: dict[str, Any]) -> Callable[[], Any]:
    call = eval(f"lambda: {source}", scope)
    if who != "deferred":
        return call
    import jtorch

    flush = jtorch._src.engine.flush

    def step() -> Any:
        result = call()
        flush()
        return result

    return step


def _turn(step: Callable[[], Any], count: int) -> float:
    """The CPU time of one call, in seconds: other programs on the machine do not count."""
    begun = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - begun) / count


def measure(
    call: OpCall, n: int, scopes: dict[str, dict[str, Any]], rounds: int, turn: float
) -> Row:
    """Times one call at one size."""
    steps: dict[str, Callable[[], Any]] = {}
    counts: dict[str, int] = {}
    for who, scope in scopes.items():
        source = call.jax if who == "jax" else call.torch
        if not source:
            continue
        try:
            with _mode(who):
                step = _step(who, source, scope)
                step()
                step()
                begun = time.perf_counter()
                step()
                once = time.perf_counter() - begun
        except Exception as error:
            if who in ("immediate", "deferred"):
                return Row(
                    call,
                    n,
                    {},
                    {},
                    f"{who}: {type(error).__name__}: "
                    f"{str(error).splitlines()[0] if str(error) else ''}",
                )
            continue  # PyTorch or JAX cannot do this here
        steps[who], counts[who] = step, max(1, min(1000, round(turn / max(once, 1e-7))))
    if any(count == 1 for count in counts.values()):  # long ones are measured well by fewer
        rounds = min(rounds, 3)
    found: dict[str, list[float]] = {who: [] for who in steps}
    names = list(steps)
    for i in range(rounds):
        for who in names[i % len(names) :] + names[: i % len(names)]:
            with _mode(who):
                found[who].append(_turn(steps[who], counts[who]))
    ratios = {
        f"{mine}/{other}": statistics.median(
            a / b for a, b in zip(found[mine], found[other], strict=True) if b
        )
        for mine in ("immediate", "deferred")
        for other in ("torch", "jax")
        if mine in found and other in found
    }
    return Row(call, n, {w: statistics.median(t) for w, t in found.items()}, ratios)


def _cell(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _print(rows: list[Row], n: int) -> None:
    from .contest import seconds

    print(f"\n{n}x{n}: jtorch's time by the others' (immediate, deferred), slowest first")
    print(
        f"{'imm/torch':>9} {'def/torch':>9} {'imm/jax':>8} {'def/jax':>8} {'immediate':>10}  call"
    )
    order = sorted(
        (r for r in rows if r.n == n and not r.error),
        key=lambda r: -r.ratios.get("immediate/torch", 0),
    )
    for r in order:
        cells = [
            _cell(r.ratios.get(k))
            for k in ("immediate/torch", "deferred/torch", "immediate/jax", "deferred/jax")
        ]
        print(
            f"{cells[0]:>9} {cells[1]:>9} {cells[2]:>8} {cells[3]:>8} "
            f"{seconds(r.times['immediate']):>10}  {r.call.torch}"
        )


def _summary(rows: list[Row], sizes: list[int]) -> None:
    for n in sizes:
        mine = [r for r in rows if r.n == n and not r.error]
        compared = [r for r in mine if "immediate/jax" in r.ratios]
        slower = sorted(
            (r for r in compared if r.ratios["immediate/jax"] > NOISE),
            key=lambda r: -r.ratios["immediate/jax"],
        )
        print(
            f"\n{n}x{n}: {len(slower)} of {len(compared)} calls that JAX has take over "
            f"{NOISE - 1:.0%} longer than with JAX (immediate)"
        )
        for r in slower:
            print(f"  {r.ratios['immediate/jax']:6.2f}  {r.call.torch}   (JAX: {r.call.jax})")
        against = [r for r in mine if "immediate/torch" in r.ratios]
        if not against:
            continue
        typical = {
            mode: _typical(against, mode)
            for mode in ("immediate", "deferred")
            if f"{mode}/torch" in against[0].ratios
        }
        print(
            f"{n}x{n}: by PyTorch's time: "
            f"{', '.join(f'{t:.2f} {mode}' for mode, t in typical.items())}, on average (geometric)"
        )
        if n == 4:
            _small(mine, min(typical.values()))
        if n == max(sizes):
            slow = sorted((r for r in against if _best(r) > SLOW), key=lambda r: -_best(r))
            print(
                f"{n}x{n}: {len(slow)} of {len(against)} calls take over {SLOW:g} times as long as "
                "with PyTorch, in the better mode"
            )
            for r in slow:
                print(f"  {_best(r):6.2f}  {r.call.torch}")
    failed = [r for r in rows if r.error]
    if failed:
        print(f"\n{len(failed)} calls failed:")
        for r in failed:
            print(f"  {r.n}: {r.call.torch}: {r.error}")


def _typical(rows: list[Row], mode: str) -> float:
    return math.exp(statistics.fmean([math.log(r.ratios[f"{mode}/torch"]) for r in rows]))


def _small(rows: list[Row], typical: float) -> None:
    """The bars at 4x4."""
    from .contest import seconds

    print(
        f"4x4: average {typical:.2f} in the better mode (at most {SMALL}): "
        f"{'ok' if typical <= SMALL else 'MISSED'}"
    )
    for r in rows:
        if r.call.torch == "t.add(x, y)":
            spent = min(r.times[mode] for mode in ("immediate", "deferred") if mode in r.times)
            print(
                f"4x4: {r.call.torch} takes {seconds(spent)} (at most {seconds(ADD)}): "
                f"{'ok' if spent <= ADD else 'MISSED'}"
            )


def _best(r: Row) -> float:
    return min(r.ratios[key] for key in ("immediate/torch", "deferred/torch") if key in r.ratios)


def main(argv: list[str] | None = None) -> int:
    """Runs the sweep and prints it; 1 if a call fails."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sweep",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--ops", nargs="+", metavar="REGEX", help="only calls in which one of these is found"
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[4, 1024])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--turn", type=float, default=0.003, help="seconds of one contestant's turn"
    )
    parser.add_argument("--who", nargs="+", default=["immediate", "deferred", "torch", "jax"])
    parser.add_argument("--json", metavar="FILE", help="also write all times there")
    args = parser.parse_args(argv)
    pin(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("JTORCH_CACHE_DIR", folder)
        return _run(args)


def _run(args: Any) -> int:
    from .contest import HAS_TORCH
    from .table import _print_machine

    warnings.simplefilter("ignore")  # what is deprecated is timed as well
    import jtorch  # noqa: F401 (its settings of JAX are for all alike)

    who = [w for w in args.who if w != "torch" or HAS_TORCH]
    if "torch" in who:
        import torch

        torch.set_num_threads(1)
    _print_machine()
    chosen = [c for c in calls() if not args.ops or any(re.search(p, c.torch) for p in args.ops)]
    rows: list[Row] = []
    for n in args.sizes:
        arrays = operands(n)
        scopes = {w: _scope(w, arrays) for w in who}
        gc.collect()
        gc.freeze()
        for call in chosen:
            print(f"... {n} {call.torch}", end="", file=sys.stderr, flush=True)
            rows.append(measure(call, n, scopes, args.rounds, args.turn))
            print(
                "".join(f"  {key} {ratio:.2f}" for key, ratio in rows[-1].ratios.items()),
                file=sys.stderr,
                flush=True,
            )
        gc.unfreeze()
        _print(rows, n)
    _summary(rows, args.sizes)
    if args.json:
        with open(args.json, "w") as file:
            json.dump([dataclasses.asdict(r) for r in rows], file, indent=1)
    return int(any(r.error for r in rows))


if __name__ == "__main__":
    sys.exit(main())
