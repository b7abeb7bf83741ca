"""Contests: one piece of work done by several contestants, in one process, in interleaved rounds,
with bars on the ratios.

A contestant's builder returns a ``Step``: a function that does the work once and waits for its
result. What it returns is compared between contestants before anything is timed, so that nobody
wins by doing less.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib.util
import inspect
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

#: In the order of the table's columns. ``compiled`` is the program under ``torch.compile``, ``jnp``
#: runs ``jax.numpy`` functions one by one, ``jit`` is written by hand.
CONTESTANTS = ("deferred", "immediate", "compiled", "torch", "jnp", "jit")

HAS_TORCH = importlib.util.find_spec("torch") is not None


@dataclasses.dataclass
class Step:
    """The timed function, and what happens after each call of it, outside the clock."""

    run: Callable[[], Any]
    after: Callable[[], Any] | None = None


Builder = Callable[[], Step]


def by_cores(one: float, more: float) -> float:
    """A limit on one core, and on more."""
    return one if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1 else more


@dataclasses.dataclass(frozen=True)
class Bar:
    """``who`` may take at most ``limit`` times what ``over`` takes; without ``over``, at most
    ``limit`` seconds."""

    who: str
    limit: float
    over: str | None = None
    plus: float = 0.0  # seconds on top

    def __str__(self) -> str:
        if self.over is None:
            return f"{self.who} <= {seconds(self.limit)}"
        times = "" if self.limit == 1 else f"{self.limit:g} x "
        return f"{self.who} <= {times}{self.over}" + (
            f" + {seconds(self.plus)}" if self.plus else ""
        )


@dataclasses.dataclass
class Contest:
    """One row of the table.

    Attributes:
        builders: a builder for each contestant that can do this work.
        bars: what must hold.
        ops: operations in one step; times are given for one of them.
        agree: relative tolerance between the contestants' first results; None where they cannot be
            compared.
        calls: calls of the step in one turn, if not as many as fill ``TURN`` seconds.
        check: how many first results are compared.
        apart: each contestant has a process of its own, with nothing of the others' settings (of
            memory, types and threads) in it.
    """

    name: str
    builders: Mapping[str, Builder]
    bars: Sequence[Bar] = ()
    ops: int = 1
    agree: float | None = 1e-4
    calls: int | None = None
    check: int = 3
    apart: bool = False


#: What time is: that of the clock on the wall, or with ``BENCHMARKS_CLOCK=cpu`` that of the
#: processor, for machines that others use.
CLOCK = time.process_time if os.environ.get("BENCHMARKS_CLOCK") == "cpu" else time.perf_counter
#: What is taken of several times: their median, or with ``BENCHMARKS_LEAST=1`` the least, for
#: machines that others use: these make times longer, never shorter.
LEAST = os.environ.get("BENCHMARKS_LEAST") == "1"
typical: Callable[[Sequence[float]], float] = min if LEAST else statistics.median
#: Seconds of one contestant's turn in a round.
TURN = 0.1
#: A step is called so often, or for so many seconds, before it is timed, and then for some seconds
#: more until it is hot: what repeats is compiled by then.
WARM_CALLS, WARM, LONGEST = 1000, 3.0, 15.0


@contextlib.contextmanager
def mode_of(who: str) -> Iterator[None]:
    """The execution mode in which a contestant runs."""
    if who in ("deferred", "immediate", "compiled"):
        import jtorch

        with jtorch.execution("deferred" if who == "compiled" else who):
            yield
    else:
        yield


def namespace(who: str) -> Any:
    """What ``import torch`` means to a contestant."""
    if who == "torch":
        import torch

        return torch
    import jtorch

    return jtorch


def same_program(program: Callable[..., Step], **others: Builder) -> dict[str, Builder]:
    """Builders of the contestants that run one PyTorch program unchanged, and of the others.

    A program that takes ``compile`` is also run with ``torch.compile`` around its step.
    """
    builders: dict[str, Builder] = {
        who: (lambda who=who: program(namespace(who))) for who in ("deferred", "immediate", "torch")
    }
    if "compile" in inspect.signature(program).parameters:
        builders["compiled"] = lambda: program(namespace("compiled"), compile=True)
    return {
        who: build for who, build in {**builders, **others}.items() if who != "torch" or HAS_TORCH
    }


@dataclasses.dataclass
class Result:
    """Times of a contest, in seconds (medians, or the least), and the times of each round."""

    contest: Contest
    times: dict[str, float]
    rounds: dict[str, list[float]]

    def ratio(self, a: str, b: str) -> float | None:
        """The median over rounds of ``a``'s time by ``b``'s in the same round, so that drifts of
        the machine cancel; or the least by the least."""
        if a not in self.rounds or b not in self.rounds:
            return None
        if LEAST:
            return min(self.rounds[a]) / min(self.rounds[b])
        return statistics.median(x / y for x, y in zip(self.rounds[a], self.rounds[b], strict=True))

    def verdict(self, bar: Bar) -> tuple[float | None, bool | None]:
        """What was measured against a bar, and whether it holds; None if a contestant is
        missing."""
        if bar.over is None:
            measured = self.times.get(bar.who)
            return measured, None if measured is None else measured <= bar.limit
        measured = self.ratio(bar.who, bar.over)
        if measured is None:
            return None, None
        return measured, measured <= bar.limit + bar.plus / self.times[bar.over]


class Here:
    """A contestant in this process."""

    def __init__(self, contest: Contest, name: str) -> None:
        self.contest, self.name = contest, name
        with mode_of(name):
            self.step = contest.builders[name]()
            #: The first results, as lists of numbers.
            self.first = [np.asarray(_call(self.step)).tolist() for _ in range(contest.check)]

    def calls(self, turn: float) -> int:
        """How many calls fill a turn of so many seconds."""
        with mode_of(self.name):
            return self.contest.calls or _calls(self.step, turn)

    def turn(self, calls: int) -> float:
        """Seconds of one call: the median of a turn's, or the least."""
        with mode_of(self.name):
            return _turn(self.step, calls, warm=self.contest.calls is None)

    def close(self) -> None:
        """Ends the contestant."""


def run(
    contest: Contest, who: Sequence[str] = CONTESTANTS, rounds: int = 7, turn: float = TURN
) -> Result:
    """Checks that the contestants agree, then times them in interleaved rounds.

    Raises:
        AssertionError: if their first results differ.
    """
    names = [n for n in CONTESTANTS if n in contest.builders and n in who]
    names += [n for n in contest.builders if n not in CONTESTANTS]  # a row's own yardstick
    if contest.apart:
        from .apart import Apart as Place
    else:
        # its settings of JAX, such as 64-bit types and synchronous dispatch, are for all alike
        import jtorch  # noqa: F401

        Place = Here
    contestants: dict[str, Any] = {}
    try:
        for name in names:
            contestants[name] = Place(contest, name)
        _compare(contest, {name: c.first for name, c in contestants.items()})
        counts = {name: c.calls(turn) for name, c in contestants.items()}
        found: dict[str, list[float]] = {name: [] for name in names}
        gc.collect()
        gc.freeze()  # what the imports made is not searched again in the middle of a turn
        try:
            for i in range(rounds):
                k = i % len(names)
                for name in names[k:] + names[:k]:
                    found[name].append(contestants[name].turn(counts[name]) / contest.ops)
        finally:
            gc.unfreeze()
    finally:
        for c in contestants.values():
            c.close()
    return Result(contest, {n: typical(t) for n, t in found.items()}, found)


def _call(step: Step) -> Any:
    result = step.run()
    if step.after is not None:
        step.after()
    return result


def op_by_op() -> int:
    """How many traces jtorch has run op by op, as it does before they are compiled."""
    run = sys.modules.get("jtorch._src.engine.run")
    return 0 if run is None else run.stats.stepped


def _calls(step: Step, turn: float) -> int:
    begun = CLOCK()
    for k in itertools.count():
        before = op_by_op()
        _call(step)
        spent = CLOCK() - begun
        if (
            k >= 3
            and (k >= WARM_CALLS or spent > WARM)
            and (spent > LONGEST or op_by_op() == before)
        ):
            break
    begun = CLOCK()
    for _ in range(3):
        _call(step)
    return max(3, min(1000, round(turn / max((CLOCK() - begun) / 3, 1e-6))))


def _turn(step: Step, calls: int, warm: bool) -> float:
    if warm:  # threads that the contestant before kept spinning have come to rest after this
        _call(step)
    spent = []
    for _ in range(calls):
        begun = CLOCK()
        step.run()
        spent.append(CLOCK() - begun)
        if step.after is not None:
            step.after()
    return typical(spent)


def _compare(contest: Contest, first: dict[str, list[Any]]) -> None:
    if contest.agree is None or not first:
        return
    reference, *others = first
    for other in others:
        for a, b in zip(first[reference], first[other], strict=True):
            np.testing.assert_allclose(
                np.asarray(b),
                np.asarray(a),
                rtol=contest.agree,
                atol=contest.agree,
                err_msg=f"{contest.name}: {other} differs from {reference}",
            )


def seconds(t: float) -> str:
    """A time with a readable unit: ``1.85 us``."""
    unit, size = ("s", 1.0) if t >= 1 else ("ms", 1e-3) if t >= 1e-3 else ("us", 1e-6)
    return f"{t / size:.3g} {unit}"
