"""Two processes on loopback beside PyTorch's gloo, and one process on virtual devices:
``python -m benchmarks.distributed``.

Both pairs of processes live for the whole run and take turns; ``--rows`` chooses (``all_reduce``,
``DDP``, ``FSDP2``, ``first``, ``scaling``). Times of the clock are those of the slower process, at
the lower quartile; times of processors are sums over both processes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import fresh

#: Rows: repetitions in a turn, and at most how many times PyTorch's time.
PAIRS = {
    "all_reduce, 4 KB": (100, 2.0),
    "all_reduce, 4 MB": (8, 1.5),
    "DDP step, 1 M parameters": (8, 1.1),
    "FSDP2 step, 2 blocks": (4, 1.3),
}
FIRST, FIRST_BAR = "first collective, seconds from the start", 1.5
SCALING, SCALING_BAR = "weak scaling on {} virtual devices", 0.9
DEVICES = (2, 4, 8)
_TAG = "@benchmark "


def say(what: Any) -> None:
    """Tells the process that started this one."""
    print(_TAG + json.dumps(what), flush=True)


# ---- in the processes that are measured ----------------------------------------------------------


def _steps() -> dict[str, Callable[[], Any]]:
    """What is repeated, by the names of rows; each reads what it has computed."""
    import torch  # whichever it is
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(0)
    small, large = torch.zeros(1 << 10), torch.zeros(1 << 20)

    def reduce(t: Any) -> None:
        dist.all_reduce(t)
        t[-1].item()

    mlp: Any = nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 640), nn.ReLU(), nn.Linear(640, 128)
    )
    mlp = nn.parallel.DistributedDataParallel(mlp)
    sgd = torch.optim.SGD(mlp.parameters(), lr=0.01)
    x, y = torch.randn(32, 256), torch.randn(32, 128)

    def ddp() -> None:
        sgd.zero_grad()
        loss = nn.functional.mse_loss(mlp(x), y)
        loss.backward()
        sgd.step()
        loss.item()

    blocks = [
        nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, norm_first=True)
        for _ in range(2)
    ]
    net: Any = nn.Sequential(nn.Embedding(256, 128), *blocks, nn.Linear(128, 256))
    for block in blocks:
        fully_shard(block)
    fully_shard(net)
    adam = torch.optim.AdamW(net.parameters(), lr=1e-3)
    ids = torch.randint(0, 256, (8, 64))

    def fsdp() -> None:
        adam.zero_grad()
        loss = nn.functional.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        adam.step()
        loss.item()

    return dict(zip(PAIRS, (lambda: reduce(small), lambda: reduce(large), ddp, fsdp), strict=True))


def work() -> None:
    """One of two processes: a line ``[row, repetitions]`` on standard input, seconds of the clock
    and of processors in answer."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    steps = _steps()
    say("ready")
    for line in sys.stdin:
        name, count = json.loads(line)
        dist.barrier()
        used, times = time.process_time(), []
        for _ in range(count):
            begun = time.perf_counter()
            steps[name]()
            times.append(time.perf_counter() - begun)
        say([times, (time.process_time() - used) / count])
    dist.destroy_process_group()


def first() -> None:
    """One of two processes, whose first collective is all that it does."""
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    t = torch.ones(4)
    dist.all_reduce(t)
    assert t[0].item() == 2
    say([time.time(), time.process_time()])
    dist.destroy_process_group()


def scale(rounds: int) -> None:
    """A step on ``b * D`` examples on one of eight devices and on ``D`` of them: seconds of both,
    in turns, for each ``D``."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, Mesh, PartitionSpec

    import jtorch as torch
    from jtorch import nn

    def step_on(count: int, examples: int) -> Callable[[], float]:
        torch.manual_seed(0)
        net: Any = nn.Sequential(
            nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 640), nn.ReLU(), nn.Linear(640, 128)
        )
        x, y = torch.randn(examples, 256), torch.randn(examples, 128)
        if count > 1:
            mesh = Mesh(np.array(jax.devices()[:count]), ("d",), axis_types=(AxisType.Auto,))
            net, x, y = (
                torch.shard(net, mesh),
                torch.shard(x, mesh, PartitionSpec("d")),
                torch.shard(y, mesh, PartitionSpec("d")),
            )
        sgd = torch.optim.SGD(net.parameters(), lr=0.01)

        def step() -> float:
            sgd.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            sgd.step()
            return loss.item()

        return step

    for count in DEVICES:
        ways = [step_on(1, 256 * count), step_on(count, 256 * count)]
        losses = [[way() for _ in range(12)] for way in ways]  # until each is compiled
        assert np.allclose(*losses, rtol=1e-4), losses
        times: list[list[tuple[float, float]]] = [[], []]
        for _ in range(rounds):
            for way, found in zip(ways, times, strict=True):
                begun, used = time.perf_counter(), time.process_time()
                for _ in range(4):
                    way()
                found.append(((time.perf_counter() - begun) / 4, (time.process_time() - used) / 4))
        say([count, times])


# ---- in the process that compares ----------------------------------------------------------------


def _port() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


class Pair:
    """Two processes of one contestant, which do ``what`` of this module."""

    def __init__(self, who: str, what: str, env: dict[str, str], folder: str) -> None:
        env = {
            **env,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": _port(),
        }
        command = [*fresh.RUNNERS[who], "-m", "benchmarks.distributed", "--here", what]
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the object
        self.started = [
            subprocess.Popen(
                command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}, cwd=folder,
                text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            ) for rank in range(2)
        ]  # fmt: skip

    def answers(self) -> list[Any]:
        """What both say next."""
        return [_said(p, self.errors) for p in self.started]

    def turn(self, name: str, count: int) -> tuple[list[float], float]:
        """Seconds of each repetition by the clock, and of processors in all by repetition."""
        for p in self.started:
            assert p.stdin is not None
            p.stdin.write(json.dumps([name, count]) + "\n")
            p.stdin.flush()
        (a, used), (b, more) = self.answers()
        return [max(pair) for pair in zip(a, b, strict=True)], used + more

    def end(self) -> None:
        """Lets them end."""
        for p in self.started:
            p.communicate()
        self.errors.close()


def _said(p: Any, errors: Any) -> Any:
    for line in p.stdout:
        if line.startswith(_TAG):
            return json.loads(line[len(_TAG) :])
    errors.seek(0)
    raise RuntimeError(f"a process ended:\n{errors.read()[-2000:]}")


def _low(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 4]


def _row(name: str, clock: tuple[float, float], cpu: tuple[float, float], bar: float) -> bool:
    ratio = clock[1] / clock[0]
    verdict = "ok" if ratio <= bar else "MISSED"
    print(
        f"{name:42} PyTorch {clock[0] * 1e3:9.2f} ms, jtorch {clock[1] * 1e3:9.2f} ms, ratio "
        f"{ratio:.2f} (at most {bar:g}): {verdict}; of processors {cpu[0] * 1e3:.2f} and "
        f"{cpu[1] * 1e3:.2f} ms, ratio {cpu[1] / cpu[0]:.2f}",
        flush=True,
    )  # fmt: skip
    return ratio <= bar


@contextlib.contextmanager
def _pairs(what: str, folder: str) -> Iterator[dict[str, Pair]]:
    pairs = {who: Pair(who, what, fresh.environment(folder), folder) for who in fresh.RUNNERS}
    try:
        yield pairs
    finally:
        for pair in pairs.values():
            pair.end()


def compare(names: Sequence[str], rounds: int, folder: str) -> bool:
    """Prints the rows of repeated steps; whether all keep to their bars."""
    good = True
    with _pairs("work", folder) as pairs:
        for pair in pairs.values():
            pair.answers()
        for name in names:
            count, bar = PAIRS[name]
            wall: dict[str, list[float]] = {who: [] for who in pairs}
            cpu: dict[str, list[float]] = {who: [] for who in pairs}
            for i in range(-2, rounds):  # two turns to warm up
                for who in pairs if i % 2 else reversed(pairs):
                    times, used = pairs[who].turn(name, count)
                    if i >= 0:
                        wall[who] += times
                        cpu[who].append(used)
            clock = _low(wall["torch"]), _low(wall["jtorch"])
            good &= _row(name, clock, (_low(cpu["torch"]), _low(cpu["jtorch"])), bar)
    return good


def compare_first(rounds: int, folder: str) -> bool:
    """Prints the row of the first collective, the caches of jtorch filled by a run before; whether
    it keeps to its bar."""
    fresh.as_installed()
    wall: dict[str, list[float]] = {who: [] for who in fresh.RUNNERS}
    cpu: dict[str, list[float]] = {who: [] for who in fresh.RUNNERS}
    for i in range(-1, rounds):
        for who in fresh.RUNNERS if i % 2 else reversed(fresh.RUNNERS):
            begun = time.time()
            pair = Pair(who, "first", fresh.environment(folder), folder)
            found = pair.answers()
            pair.end()
            if i >= 0:
                wall[who].append(max(at for at, _ in found) - begun)
                cpu[who].append(sum(used for _, used in found))
    by = [(statistics.median(t["torch"]), statistics.median(t["jtorch"])) for t in (wall, cpu)]
    return _row(FIRST, by[0], by[1], FIRST_BAR)


def compare_scaling(rounds: int, folder: str) -> bool:
    """Prints T(1, D * b) / T(D, D * b) of a training step for each number of virtual devices;
    whether all keep to the bar."""
    env = {
        **fresh.environment(folder),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={max(DEVICES)}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [
        sys.executable,
        "-m",
        "benchmarks.distributed",
        "--here",
        "scale",
        "--rounds",
        str(rounds),
    ]
    _, text = fresh.run(command, env, folder)
    good = True
    for line in filter(lambda line: line.startswith(_TAG), text.splitlines()):
        count, (one, several) = json.loads(line[len(_TAG) :])
        wall, cpu = ([_low([t[i] for t in times]) for times in (one, several)] for i in range(2))
        ratio = wall[0] / wall[1]
        verdict = "ok" if ratio >= SCALING_BAR else "MISSED"
        print(
            f"{SCALING.format(count):42} on one {wall[0] * 1e3:.2f} ms, on all {wall[1] * 1e3:.2f} "
            f"ms, ratio {ratio:.2f} (at least {SCALING_BAR:g}): {verdict}; of processors "
            f"{cpu[0] * 1e3:.2f} and {cpu[1] * 1e3:.2f} ms, ratio {cpu[0] / cpu[1]:.2f}",
            flush=True,
        )  # fmt: skip
        good &= ratio >= SCALING_BAR
    return good


def main(argv: list[str] | None = None) -> int:
    """Runs the chosen rows; 1 if a bar is missed and ``--strict`` was given."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed",
        description=__doc__.split("\n")[0] if __doc__ else None,
    )
    parser.add_argument(
        "--rows", nargs="+", metavar="TEXT", help="only rows whose names contain one of these"
    )
    parser.add_argument("--rounds", type=int, default=9, help="turns of each contestant")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--here", choices=["work", "first", "scale"], help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.here is not None:
        {"work": work, "first": first, "scale": lambda: scale(args.rounds)}[args.here]()
        return 0
    chosen = [
        name
        for name in (*PAIRS, FIRST, SCALING)
        if args.rows is None or any(text.lower() in name.lower() for text in args.rows)
    ]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        if names := [name for name in chosen if name in PAIRS]:
            good &= compare(names, args.rounds, folder)
        if FIRST in chosen:
            good &= compare_first(min(args.rounds, 5), os.path.join(folder))
        if SCALING in chosen:
            good &= compare_scaling(args.rounds, folder)
    return int(args.strict and not good)


if __name__ == "__main__":
    sys.exit(main())
