"""Trains for long, as programs do: memory and the time of a step must stay what they were after the
beginning.

    python -m tools.campaigns.soak --steps 20000

Steps have changing shapes, new closures and hooks; now and then the model is evaluated, saved and
loaded, a loader iterated, an error raised and caught. What is measured: resident memory, the time
of a step, and the number of Python objects, after half of the steps and at the end: until all
combinations of shapes and events have been met, programs are compiled, which takes some thousand
steps.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import gc
import os
import random
import statistics
import sys
import tempfile
import time
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.utils.data import DataLoader, TensorDataset

from . import _report

#: How much more memory there may be at the end, as a part, and how much longer a step may take.
MORE, LONGER = 0.02, 0.25


def resident() -> int:
    """The bytes of this process in memory, after what is garbage has gone."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Model(nn.Module):
    """A little of everything: an embedding, layers, dropout, normalisation, attention."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.dropout = nn.Dropout(0.1)
        self.out = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        """Five numbers for each row."""
        h = self.embed(x)
        h = self.norm(h + self.attention(h, h, h, need_weights=False)[0])
        return self.out(self.dropout(h).mean(1))


class Training:
    """The program that runs."""

    def __init__(self, rng: random.Random, shapes: int, folder: str) -> None:
        torch.manual_seed(0)
        self.rng, self.path = rng, os.path.join(folder, "model.pt")
        self.model = Model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1000, 0.99)
        self.shapes = [(rng.randrange(1, 9), rng.randrange(2, 12)) for _ in range(shapes)]
        self.last = self.shapes[0]
        data = TensorDataset(torch.randint(0, 50, (12, 6)), torch.randint(0, 5, (12,)))
        self.loader = DataLoader(data, batch_size=4, shuffle=True)

    def step(self, i: int) -> None:
        """One step of training, and what else is due."""
        rng = self.rng
        if not i % 3:
            self.last = rng.choice(self.shapes)
        x, y = torch.randint(0, 50, self.last), torch.randint(0, 5, self.last[:1])
        seen: list[Any] = []
        factor = 1.0 + i * 1e-6  # another number in each step, and in a new closure
        hook = self.model.out.register_forward_hook(lambda *given: given[-1] * factor)
        loss = nn.functional.cross_entropy(self.model(x), y)
        handle = loss.register_hook(lambda g: seen.append(g.shape))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        hook.remove()
        handle.remove()
        assert seen
        if not i % 5:
            loss.item()
        if not i % 11:
            self.model.eval()
            with torch.no_grad():
                self.model(x).argmax(-1).tolist()
            self.model.train()
        if not i % 17:
            with contextlib.suppress(RuntimeError):
                self.model.out(torch.ones(2, 3 + i % 4))
            with contextlib.suppress(IndexError):
                self.model.embed(torch.tensor([[99]])).sum().item()
        if not i % 23:
            torch.func.vmap(torch.func.grad(lambda v: (v * factor).sin().sum()))(
                torch.ones(2, 3)
            ).sum().item()
        if not i % 29:
            for a, b in self.loader:
                nn.functional.cross_entropy(self.model(a), b).item()
        if not i % 101:
            torch.save(
                {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()},
                self.path,
            )
            found = torch.load(self.path)
            self.model.load_state_dict(found["model"])
            self.optimizer.load_state_dict(found["optimizer"])
        if not i % 211:
            compiled = torch.compile(lambda v: (v * factor).tanh().sum())
            compiled(torch.ones(3)).item()


def tables(least: int = 0) -> collections.Counter[str]:
    """The sizes of the package's own tables (dicts, lists, sets and caches of its modules), to find
    one that grows."""
    found: collections.Counter[str] = collections.Counter()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("jtorch", "jax") or module is None:
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, (dict, list, set)) and len(value) > least:
                found[f"{name}.{key}"] = len(value)
            # some answer to every name, and know no such thing
            with contextlib.suppress(Exception):
                found[f"{name}.{key}()"] = value.cache_info().currsize
    return found


def run(steps: int, shapes: int, seed: int, detail: bool) -> tuple[list[str], str]:
    """Trains; what grew, and the figures."""
    rng = random.Random(seed)
    marks: list[tuple[int, int, int]] = []
    times: list[float] = []
    kinds: list[collections.Counter[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        training = Training(rng, shapes, folder)
        every = max(1, steps // 20)
        for i in range(steps):
            started = time.process_time()
            training.step(i)
            times.append(time.process_time() - started)
            if (i + 1) % every == 0:
                marks.append((i + 1, resident(), len(gc.get_objects())))
                if detail:
                    print(f"{i + 1} steps: {marks[-1][1] / 1e6:.1f} MB, {marks[-1][2]} objects, "
                          f"{statistics.median(times[-every:]) * 1e3:.2f} ms a step",
                          flush=True)  # fmt: skip
                if detail and len(marks) in (10, 20):
                    kinds.append(
                        tables()
                        + collections.Counter(f"type {type(o).__name__}" for o in gc.get_objects())
                    )
    start = max(1, len(marks) // 2)
    warm, end = marks[start - 1], marks[-1]
    part = max(1, steps // 10)
    early, late = times[warm[0] - part : warm[0]], times[-part:]
    figures = (
        f"{steps} steps, {shapes} shapes: {warm[1] / 1e6:.1f} MB after {warm[0]} steps, "
        f"{end[1] / 1e6:.1f} MB at the end ({(end[1] / warm[1] - 1) * 100:+.2f} %), {warm[2]} and "
        f"{end[2]} objects, median step {statistics.median(early) * 1e3:.2f} and "
        f"{statistics.median(late) * 1e3:.2f} ms of a processor"
    )
    failures = []
    if end[1] > warm[1] * (1 + MORE):
        failures.append(f"memory grew: {figures}")
    if statistics.median(late) > statistics.median(early) * (1 + LONGER):
        failures.append(f"steps became slower: {figures}")
    if detail and len(kinds) > 1:
        for name, more in (kinds[-1] - kinds[0]).most_common(30):
            print(f"  {name}: {more} more, {kinds[-1][name]} in all")
    return failures, figures


def main() -> int:
    """Runs it as the command line asks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--shapes", type=int, default=40, help="how many shapes the batches have")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--detail",
        action="store_true",
        help="print memory on the way, and which tables and types grew",
    )
    given = parser.parse_args()
    report = _report.Report("soak", given.steps, None)
    failures, figures = run(given.steps, given.shapes, given.seed, given.detail)
    for failure in failures:
        report.fail(failure)
    report.tried = given.steps
    report.seen.clear()
    print(figures)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
