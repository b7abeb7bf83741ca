"""A loop over many lengths, each seen once: ``python -m benchmarks.lengths`` (1,000 lengths),
``--lengths 50`` for fewer.

Forward and backward of a two-layer transformer encoder, batch 4, width 64, for sequences of every
length from 1 to 1,000 in a mixed order that is the same every time (with ``--lengths N``, N lengths
spread over that range), the loss read after each: under PyTorch and under jtorch, each in a fresh
process with empty caches, the model made and run once beforehand. The losses have to agree.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from typing import Any

from . import fresh
from .contest import seconds
from .fresh import Spent
from .table import pin

LONGEST, BATCH, WIDTH = 1000, 4, 64
#: The loop's time, at most, as a multiple of PyTorch's.
BAR = 3.0


def _lengths(count: int) -> list[int]:
    found = [round(LONGEST * (i + 1) / count) for i in range(count)]
    random.Random(0).shuffle(found)
    return found


def here(who: str, count: int) -> tuple[Spent, list[float]]:
    """Runs the loop in this process; what it took, and the losses."""
    import numpy as np

    from .contest import namespace

    torch: Any = namespace(who)
    rng = np.random.default_rng(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(
                torch.tensor(
                    (rng.standard_normal(tuple(p.shape)) / p.shape[-1] ** 0.5).astype(np.float32)
                )
            )
    data = torch.tensor(rng.standard_normal((BATCH, LONGEST + 1, WIDTH)).astype(np.float32))

    def step(length: int) -> float:
        model.zero_grad()
        loss = model(data[:, :length]).square().mean() + model.layers[0].linear1.weight.sum()
        loss.backward()
        return loss.item() + model.layers[0].linear1.weight.grad.sum().item()

    step(LONGEST + 1)
    begun, used = time.perf_counter(), time.process_time()
    losses = [step(length) for length in _lengths(count)]
    return Spent(time.perf_counter() - begun, time.process_time() - used), losses


def main(argv: list[str] | None = None) -> int:
    """Runs both and prints the ratio; 1 with ``--strict`` if the bar is missed by processor
    time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lengths", description=__doc__)
    parser.add_argument("--lengths", type=int, default=LONGEST)
    parser.add_argument("--threads", type=int, default=1, help="cores that everybody may use")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if the bar is missed")
    # in the process that is measured
    parser.add_argument("--here", metavar="WHO", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.here:
        print(json.dumps(here(args.here, args.lengths)))
        return 0
    pin(args.threads)
    fresh.as_installed()
    found: dict[str, Spent] = {}
    losses: dict[str, list[float]] = {}
    for who in ("torch", "deferred"):
        with fresh.empty_folders() as (cache, scratch):
            command = [
                sys.executable,
                "-m",
                "benchmarks.lengths",
                "--here",
                who,
                "--lengths",
                str(args.lengths),
            ]
            _, text = fresh.run(command, fresh.environment(cache), scratch, timeout=7200)
            spent, losses[who] = json.loads(text.splitlines()[-1])
            found[who] = Spent(*spent)
    wrong = [
        (a, b)
        for a, b in zip(losses["torch"], losses["deferred"], strict=True)
        if abs(a - b) > 1e-3 * max(1.0, abs(a))
    ]
    if wrong:
        print(f"{len(wrong)} of {args.lengths} losses differ, first {wrong[0]}")
        return 1
    for clock in ("wall", "cpu"):
        its, mine = (getattr(found[who], clock) for who in ("torch", "deferred"))
        verdict = f"{mine / its:.2f} (at most {BAR:g}): {'ok' if mine <= BAR * its else 'MISSED'}"
        print(
            f"{args.lengths} lengths by {clock}: PyTorch {seconds(its)}, jtorch {seconds(mine)}, "
            f"ratio {verdict}"
        )
    return int(args.strict and found["deferred"].cpu > BAR * found["torch"].cpu)


if __name__ == "__main__":
    sys.exit(main())
