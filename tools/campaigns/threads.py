"""Threads that compute with shared tensors: no value may be wrong, no error may be raised that one
thread alone would not get.

    python -m tools.campaigns.threads --count 1000000

Each kind of work below is done by several threads for a while, deferred and immediate, which take
turns as often as Python lets them. All values are whole numbers small enough to be exact, and
compared with NumPy's.
"""

from __future__ import annotations

import argparse
import queue
import random
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jtorch as torch

MODES = ("deferred", "immediate")


class Tally:
    """What several threads have done: computations, by kind, and what was wrong with them.

    Args:
        count: after how many computations all ends; None for no limit.
        seconds: after how long; None for no limit.
    """

    def __init__(self, count: int | None = None, seconds: float | None = None) -> None:
        self.count, self.seconds = count, seconds
        self.started = time.monotonic()
        self.tried = 0
        self.kinds: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.lock = threading.Lock()

    def over(self) -> bool:
        """Whether nothing new is to begin."""
        if self.seconds is not None and time.monotonic() - self.started > self.seconds:
            return True
        return self.count is not None and self.tried >= self.count

    def done(self, kind: str, found: Any, expected: Any, what: str = "") -> None:
        """Counts a computation and compares its values."""
        fine = np.array_equal(np.asarray(found), np.asarray(expected))
        with self.lock:
            self.tried += 1
            self.kinds[kind] += 1
            if not fine:
                self.failures[f"{kind}: wrong value {what}"] += 1

    def fail(self, kind: str, what: str) -> None:
        """Notes what should not have happened."""
        with self.lock:
            self.failures[f"{kind}: {what}"] += 1

    def summary(self) -> str:
        """One line, with what failed below."""
        kinds = ", ".join(f"{name} {n}" for name, n in sorted(self.kinds.items()))
        failed = sum(self.failures.values())
        line = (
            f"threads: {self.tried} tried, {failed} failed, {time.monotonic() - self.started:.0f} "
            f"s ({kinds})"
        )
        return "\n".join(
            [line, *[f"  {n} times {what}" for what, n in self.failures.most_common(20)]]
        )


class Slice:
    """A share of a campaign: one kind of work, until its own limits or those of the whole are
    reached."""

    def __init__(self, tally: Tally, kind: str, seed: str, count: int, seconds: float) -> None:
        self.tally, self.kind, self.seed = tally, kind, seed
        self.most = tally.kinds[kind] + count
        self.end = time.monotonic() + seconds

    def over(self) -> bool:
        """Whether nothing new is to begin."""
        return (
            self.tally.kinds[self.kind] >= self.most
            or time.monotonic() > self.end
            or self.tally.over()
        )

    def done(self, found: Any, expected: Any, what: str = "") -> None:
        """Counts a computation and compares its values."""
        self.tally.done(self.kind, found, expected, what)

    def draws(self, who: Any) -> random.Random:
        """The generator that one thread draws from."""
        return random.Random(f"{self.seed} {self.kind} {who}")

    def run(self, *workers: Callable[[], None]) -> None:
        """Has each function run by a thread of its own, and waits for all; errors that they do not
        expect are failures."""

        def guarded(worker: Callable[[], None]) -> None:
            try:
                worker()
            except BaseException as error:
                at = traceback.extract_tb(error.__traceback__)[-1]
                self.tally.fail(
                    self.kind,
                    f"{type(error).__name__}: {str(error)[:200]} ({at.filename}:{at.lineno})",
                )

        threads = [threading.Thread(target=guarded, args=(w,), daemon=True) for w in workers]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
            if t.is_alive():
                self.tally.fail(self.kind, "a thread does not end")


# ---- kinds of work -------------------------------------------------------------------------------


def shared_inputs(work: Slice, threads: int) -> None:
    """Formulas of tensors that all threads use."""
    arrays = [np.arange(8, dtype=np.int64) * 3 + i for i in range(6)]
    tensors = [torch.tensor(a) for a in arrays]

    def worker(n: int) -> None:
        draws = work.draws(n)
        while not work.over():
            with torch.execution(draws.choice(MODES[: 1 + n % 2])):
                a, b, c = (draws.randrange(6) for _ in range(3))
                y, e = tensors[a], arrays[a]
                for i in range(draws.randint(1, 4)):
                    y, e = y * tensors[b] - tensors[c], e * arrays[b] - arrays[c]
                    y, e = y + tensors[a] + i, e + arrays[a] + i
                    if draws.random() < 0.1:
                        y, e = y.clone(), e.copy()
                        y.add_(tensors[c])
                        e += arrays[c]
                work.done(y.tolist(), e)

    work.run(*[lambda n=n: worker(n) for n in range(threads)])


def handed_over(work: Slice, threads: int) -> None:
    """Results of one thread that others go on with, before they are computed."""
    arrays = [np.arange(8, dtype=np.float64) + i for i in range(6)]
    tensors = [torch.tensor(a) for a in arrays]
    hands: queue.Queue[Any] = queue.Queue(20)

    def producer() -> None:
        draws = work.draws("producer")
        try:
            state, known = torch.zeros(8, dtype=torch.float64), np.zeros(8)
            while not work.over():
                i = draws.randrange(6)
                y = tensors[i] * 2 + 1
                state, known = state + tensors[i], known + arrays[i]
                if known[0] > 1e9:
                    state, known = torch.zeros(8, dtype=torch.float64), np.zeros(8)
                hands.put((i, y, y - 3, state, known))
                del y
                if draws.random() < 0.2:
                    (tensors[i] + 5).tolist()
        finally:
            hands.put(None)

    def consumer(n: int) -> None:
        with torch.execution(MODES[n % 2]):
            while (item := hands.get()) is not None:
                i, y, z, state, known = item
                work.done(
                    ((y + z) * 1.0).tolist(), (arrays[i] * 2 + 1) + (arrays[i] * 2 - 2), "of two"
                )
                y.add_(1)
                work.done(y.tolist(), arrays[i] * 2 + 2, "in place")
                work.done((state * 2).tolist(), known * 2, "of a chain")
        hands.put(None)

    work.run(producer, *[lambda n=n: consumer(n) for n in range(threads - 1)])


def one_model(work: Slice, threads: int) -> None:
    """A pool of threads over one model: some only run it, others take gradients, or add them to its
    own."""
    nn: Any = torch.nn
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    numbers = np.random.default_rng(abs(hash(work.seed)) % 2**32)
    parameters = list(model.parameters())
    with torch.no_grad():
        for p in parameters:
            p.copy_(torch.tensor(numbers.integers(-2, 3, tuple(p.shape)).astype(np.float64)))
    w1, b1, w2, b2 = (p.detach().numpy().copy() for p in parameters)
    totals = [np.zeros(p.shape) for p in (w1, b1, w2, b2)]
    lock = threading.Lock()

    def expected(x: Any) -> tuple[Any, list[Any]]:
        z = x @ w1.T + b1
        h = np.maximum(z, 0)
        y = h @ w2.T + b2
        gz = (y @ w2) * (z > 0)
        return y, [gz.T @ x, gz.sum(0), y.T @ h, y.sum(0)]

    def worker(n: int) -> None:
        draws = work.draws(n)
        with torch.execution(MODES[n % 2]):
            while not work.over():
                x = np.array(
                    [[draws.randint(-2, 2) for _ in range(6)] for _ in range(draws.choice((1, 4)))],
                    np.float64,
                )
                y, grads = expected(x)
                what = draws.randrange(3)
                if what == 0:
                    with torch.no_grad():
                        work.done(model(torch.tensor(x)).tolist(), y, "forward")
                    continue
                loss = (model(torch.tensor(x)) ** 2).sum() / 2
                if what == 1:
                    found = torch.autograd.grad(loss, parameters)
                    for g, e in zip(found, grads, strict=True):
                        work.done(g.tolist(), e, "gradient")
                else:
                    with lock:
                        for total, e in zip(totals, grads, strict=True):
                            total += e
                    loss.backward()

    work.run(*[lambda n=n: worker(n) for n in range(threads)])
    for p, total in zip(parameters, totals, strict=True):
        work.done(total if p.grad is None else p.grad.tolist(), total, "accumulated gradient")


def own_parts(work: Slice, threads: int) -> None:
    """Threads that write into parts of one tensor, each into its own, and into tensors of their
    own."""
    whole = torch.zeros(threads, 5, dtype=torch.int64)
    known = np.zeros((threads, 5), np.int64)

    def worker(n: int) -> None:
        draws = work.draws(n)
        mine = torch.zeros(4, 4, dtype=torch.int64)
        rows = [mine[i] for i in range(4)]
        own = np.zeros((4, 4), np.int64)
        with torch.execution(MODES[n % 2]):
            while not work.over():
                k, i = draws.randint(-9, 9), draws.randrange(4)
                if draws.random() < 0.5:
                    whole[n].add_(k)
                    known[n] += k
                else:
                    whole[n, i] = k
                    known[n, i] = k
                work.done(whole[n].tolist(), known[n], "of a part")
                rows[i].mul_(3).add_(k)
                own[i] = own[i] * 3 + k
                mine.t().sub_(i)
                own -= i
                own %= 1009
                mine.remainder_(1009)
                work.done(mine.tolist(), own, "of its own")

    work.run(*[lambda n=n: worker(n) for n in range(threads)])
    work.done(whole.tolist(), known, "in the end")


def one_writer(work: Slice, threads: int) -> None:
    """A thread that changes a tensor which others read: they see one of its states, and none before
    one that they have seen."""
    shared = torch.zeros(64, dtype=torch.int64)
    view = shared.view(8, 8)

    def writer() -> None:
        draws = work.draws("writer")
        known = 0
        while not work.over():
            k = draws.randint(1, 5)
            known += k
            (view if draws.random() < 0.3 else shared).add_(k)
            if draws.random() < 0.3:
                work.done(shared.tolist(), [known] * 64, "of the writer")
        work.done(shared.tolist(), [known] * 64, "of the writer in the end")

    def reader(n: int) -> None:
        draws = work.draws(n)
        last = 0
        with torch.execution(MODES[n % 2]):
            while not work.over():
                found = draws.choice(
                    [lambda: shared * 1, lambda: view[3] * 1, lambda: shared[5:9] + 0]
                )().tolist()
                work.done(found, [found[0]] * len(found), "that was never there")
                if found[0] < last:
                    work.tally.fail(work.kind, "an older value than one seen before")
                last = found[0]

    work.run(writer, *[lambda n=n: reader(n) for n in range(threads - 1)])


def errors(work: Slice, threads: int) -> None:
    """Errors are raised in the thread that made them, and nowhere else."""
    x = torch.arange(3.0)
    bad = torch.tensor([7])

    def failing() -> None:
        while not work.over():
            raised = 0
            try:
                y = x.index_select(0, bad)
                y.tolist()
            except (IndexError, RuntimeError):
                raised = 1
            work.done(raised, 1, "where an error was due")
            try:
                torch.ones(3) + torch.ones(4)
                raised = 0
            except RuntimeError:
                raised = 1
            work.done(raised, 1, "where an error of shapes was due")

    def fine(n: int) -> None:
        with torch.execution(MODES[n % 2]):
            while not work.over():
                work.done((x * n).tolist(), [0.0, n, 2.0 * n])

    work.run(failing, failing, *[lambda n=n: fine(n) for n in range(max(1, threads - 2))])


def short_lives(work: Slice, threads: int) -> None:
    """Threads that end with their results still to be computed."""

    def main() -> None:
        draws = work.draws("main")
        while not work.over():
            found: list[Any] = []
            start = torch.tensor([draws.randint(0, 9)] * 3)
            known = start.tolist()[0]

            def make(i: int, start: Any = start, found: list[Any] = found) -> None:
                y = start * i + 1
                found.append((i, y, (y - 1) * y))
                (y * 3).sum()  # nobody sees this one

            makers = [threading.Thread(target=make, args=(i,)) for i in range(threads)]
            for t in makers:
                t.start()
            for t in makers:
                t.join()
            for i, y, z in found:
                e = known * i + 1
                work.done(z.tolist(), [(e - 1) * e] * 3)
                work.done(y.tolist(), [e] * 3)

    work.run(main)


def new_calls(work: Slice, threads: int) -> None:
    """All threads at once do what nobody has done before: other shapes, other static arguments,
    other calls."""
    barrier = threading.Barrier(threads)
    rounds = work.draws("rounds")
    plan = [
        (
            rounds.randint(1, 40),
            rounds.randint(0, 9),
            rounds.choice((0, 1, -1)),
            rounds.randint(1, 3),
        )
        for _ in range(400)
    ]

    def worker(n: int) -> None:
        for size, k, dim, times in plan:
            try:
                barrier.wait(60)
            except threading.BrokenBarrierError:
                return
            if work.over() and n == 0:
                barrier.abort()
                return
            x, e = torch.arange(2 * size).reshape(2, size), np.arange(2 * size).reshape(2, size)
            y = (x.roll(k, dim).repeat(times, 1) * k).flip(dim).cumsum(dim) - k
            f = np.cumsum(np.flip(np.tile(np.roll(e, k, dim), (times, 1)) * k, dim), dim) - k
            work.done(y.tolist(), f)

    work.run(*[lambda n=n: worker(n) for n in range(threads)])


def host_memory(work: Slice, threads: int) -> None:
    """Tensors whose memory is a NumPy array's, for as long as somebody has it."""
    x = torch.arange(12)
    known = np.arange(12)

    def worker(n: int) -> None:
        draws = work.draws(n)
        with torch.execution(MODES[n % 2]):
            while not work.over():
                if draws.random() < 0.5:
                    work.done(x.numpy().copy(), known, "in NumPy")
                else:
                    work.done((x[2:7] + n).tolist(), known[2:7] + n)

    work.run(*[lambda n=n: worker(n) for n in range(threads)])


def random_numbers(work: Slice, threads: int) -> None:
    """Numbers drawn by several threads are those that one draws, in some order."""
    for draw in (torch.rand, torch.randn):
        found: list[list[float]] = []
        generator = torch.Generator().manual_seed(7)
        most = work.most - work.tally.kinds[work.kind]

        def worker(
            n: int,
            draw: Any = draw,
            found: Any = found,
            generator: Any = generator,
            most: int = most,
        ) -> None:
            with torch.execution(MODES[n % 2]):
                while not work.over() and len(found) < most // 2:
                    drawn = draw(3, generator=generator).tolist()
                    found.append(drawn)
                    work.done(len(drawn), 3, "drawn")

        work.run(*[lambda n=n: worker(n) for n in range(threads)])
        generator.manual_seed(7)
        expected = [draw(3, generator=generator).tolist() for _ in found]
        work.done(sorted(found), sorted(expected), f"of {draw.__name__} in the end")


def training(work: Slice, threads: int) -> None:
    """Threads that train models of their own on shared data, whose memory is used again from step
    to step, while others look at them."""
    optim: Any = torch.optim
    data = [np.arange(96.0).reshape(4, 24) % 5 - i for i in range(3)]
    shared = [torch.tensor(d) for d in data]
    looks: queue.Queue[Any] = queue.Queue(20)
    trainers = max(1, threads - 1)

    def trainer(n: int) -> None:
        draws = work.draws(n)
        try:
            with torch.execution(MODES[n % 2]):
                w = torch.nn.Parameter(torch.zeros(24, 16, dtype=torch.float64))
                known, speed = np.zeros((24, 16)), np.zeros((24, 16))
                optimizer = optim.SGD([w], lr=1.0, momentum=1.0)
                for step in range(1 << 30):
                    if work.over():
                        break
                    if not step % 20:  # so that the numbers stay exact
                        with torch.no_grad():
                            w.zero_()
                        known, speed = np.zeros((24, 16)), np.zeros((24, 16))
                        optimizer = optim.SGD([w], lr=1.0, momentum=1.0)
                    i = draws.randrange(3)
                    optimizer.zero_grad()
                    (shared[i] @ w).sum().backward()
                    optimizer.step()
                    speed = speed + data[i].sum(0)[:, None]
                    known = known - speed
                    if draws.random() < 0.3:
                        looks.put(
                            (w.detach() * 1 if draws.random() < 0.5 else w.detach().clone(), known)
                        )
                    if draws.random() < 0.3:
                        work.done(w.detach().tolist(), known, "of a step")
        finally:
            looks.put(None)

    def looker() -> None:
        left = trainers
        while left:
            item = looks.get()
            if item is None:
                left -= 1
            else:
                work.done((item[0] + 1).tolist(), item[1] + 1, "handed over")

    work.run(looker, *[lambda n=n: trainer(n) for n in range(trainers)])


def compiled(work: Slice, threads: int) -> None:
    """Compiled functions that several threads call, from their first call on."""
    barrier = threading.Barrier(threads)
    made: list[Any] = []

    def worker(n: int) -> None:
        draws = work.draws(n)
        with torch.execution(MODES[n % 2]):
            while True:
                try:
                    if barrier.wait(60) == 0:
                        k = draws.randint(0, 9)
                        made[:] = (
                            []
                            if work.over()
                            else [(torch.compile(lambda x, k=k: (x * k + 1).relu() - x), k)]
                        )
                    barrier.wait(60)
                except threading.BrokenBarrierError:
                    return
                if not made:
                    return
                function, k = made[0]
                for _ in range(10):
                    x = np.array([draws.randint(-9, 9) for _ in range(4)], np.float64)
                    work.done(function(torch.tensor(x)).tolist(), np.maximum(x * k + 1, 0) - x)

    work.run(*[lambda n=n: worker(n) for n in range(threads)])


KINDS = (
    shared_inputs, handed_over, one_model, own_parts, one_writer, errors, short_lives, new_calls,
    host_memory, random_numbers, training, compiled,
)  # fmt: skip


def slices(
    tally: Tally, seed: int, count: int, seconds: float
) -> Iterator[tuple[Callable[[Slice, int], None], Slice]]:
    """The shares of a campaign, in turn, each kind with at most so many computations and seconds,
    until it is over."""
    n = 0
    while True:
        for kind in KINDS:
            if tally.over():
                return
            yield kind, Slice(tally, kind.__name__, f"{seed} {n}", count, seconds)
        n += 1


def run(tally: Tally, seed: int, threads: int = 4, share: tuple[int, float] = (4000, 5.0)) -> Tally:
    """Does all kinds of work in turn until the tally says that it is over."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for kind, work in slices(tally, seed, *share):
            try:
                kind(work, threads)
            except Exception as error:
                tally.fail(work.kind, f"at its end: {type(error).__name__}: {error}")
    finally:
        sys.setswitchinterval(before)
    return tally


def main() -> int:
    """Runs the campaign that the command line asks for; 1 if something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--count",
        type=int,
        help="how many computations (default 20000, or no limit with --seconds)",
    )
    parser.add_argument("--seconds", type=float, help="begin nothing new after that long")
    parser.add_argument(
        "--seed", type=int, default=0, help="what is drawn at random follows from it"
    )
    parser.add_argument("--threads", type=int, default=4)
    given = parser.parse_args()
    count = 20_000 if given.count is None and given.seconds is None else given.count
    tally = run(Tally(count, given.seconds), given.seed, given.threads)
    sys.stdout.write(tally.summary() + "\n")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
