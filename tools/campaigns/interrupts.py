"""Stops training loops at random or at all moments: nothing may be lost.

Each trial begins with a state whose next states are known, makes one step, is stopped in the next
one, and looks at what is left: every parameter and every state of the optimiser must be readable
and be that of before or of after the step, and the loop must go on and compute what it would have
computed.

    python -m tools.campaigns.interrupts --count 1000 --seed 0                       # a timer, in all scenes
    python -m tools.campaigns.interrupts --how every --scene deferred --stride 7      # each place where Python looks for signals
    python -m tools.campaigns.interrupts --how handler --scene compiled --stride 7    # there, too, but the handler reads and goes on

Each failure is told with what reproduces it; the last line says how many trials there were, and the
exit status whether one failed.
"""  # noqa: E501

from __future__ import annotations

import argparse
import collections
import dis
import faulthandler
import io
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

import jtorch as torch
from jtorch._src import engine

#: Seconds after which a trial hangs.
PATIENCE = 120
#: Steps whose states are known.
STEPS = 6


class Loop:
    """A training loop whose state can be set, stepped and compared.

    Attributes:
        known: the arrays of ``tensors()`` before each step, and after the last.
    """

    def __init__(self, scene: str, optimizer: str) -> None:
        self.scene = scene
        self.mode = "immediate" if scene == "immediate" else "deferred"
        generator = np.random.default_rng(0)
        self.inputs = [
            torch.tensor(generator.standard_normal((8, 16), np.float32)) for _ in range(STEPS)
        ]
        self.model = torch.nn.Sequential(
            torch.nn.Linear(16, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8)
        )
        with torch.no_grad():
            for p in self.model.parameters():
                p.copy_(
                    torch.tensor(generator.standard_normal(tuple(p.shape)).astype(np.float32) / 8)
                )
        params = list(self.model.parameters())
        self.optimizer: Any = (
            torch.optim.Adam(params, 1e-2)
            if optimizer == "adam"
            else torch.optim.SGD(params, 0.05, momentum=0.9, weight_decay=1e-3)
        )
        if scene == "hooks":
            self.model[0].register_forward_hook(lambda _m, _i, o: o * 1.0)
            self.model[2].register_full_backward_hook(
                lambda _m, gi, _go: tuple(g * 1.0 for g in gi)
            )
            params[0].register_hook(lambda g: g * 1.0)
        self._compiled = torch.compile(self._plain_step) if scene == "compiled" else None
        self.loader = (
            torch.utils.data.DataLoader(list(self.inputs[0]), batch_size=8)
            if scene == "loader"
            else None
        )
        self.saved = io.BytesIO()
        self.step(0)  # gives the optimiser its state
        self.known: list[list[np.ndarray]] = [self.arrays()]
        self.set(0)
        for t in range(STEPS):
            self.step(t)
            self.known.append(self.arrays())

    def tensors(self) -> list[Any]:
        """The parameters and the optimiser's tensors."""
        found = list(self.model.parameters())
        for p in self.model.parameters():
            found += [x for x in self.optimizer.state[p].values() if isinstance(x, torch.Tensor)]
        return found

    def arrays(self) -> list[np.ndarray]:
        """Their contents."""
        return [np.array(t.detach().tolist(), np.float32) for t in self.tensors()]

    def _set(self, arrays: list[np.ndarray]) -> None:
        with torch.no_grad():
            for t, a in zip(self.tensors(), arrays, strict=True):
                t.copy_(torch.tensor(a))
        self.optimizer.zero_grad()

    def set(self, t: int) -> None:
        """Goes to the state before step ``t``."""
        self._set(self.known[t])

    def _plain_step(self, x: Any) -> Any:
        self.optimizer.zero_grad()
        loss = (self.model(x) - x[:, :8]).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self, t: int) -> None:
        """One step, and what surrounds it in this scene."""
        x = self.inputs[t]
        with engine.execution(self.mode):
            if self.loader is not None:
                x = x + 0 * next(iter(self.loader))
            loss = (self._compiled or self._plain_step)(x)
            if self.scene in ("reading", "hooks", "immediate"):
                loss.item()
            if self.scene == "saving":
                self.saved = io.BytesIO()
                torch.save(
                    {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()},
                    self.saved,
                )

    def far_from(self, t: int, *others: int) -> str | None:
        """Which tensor is neither as it was before step ``t`` nor as before one of the others; None
        if each is."""
        for i, now in enumerate(self.arrays()):
            if not any(
                np.allclose(now, self.known[k][i], rtol=1e-3, atol=1e-5) for k in (t, *others)
            ):
                far = [float(np.abs(now - self.known[k][i]).max()) for k in (t, *others)]
                return f"tensor {i} of {len(self.known[t])} is off by {far}"
        return None


# ------------------------------------------------------------------------------------------ moments

_POINTS: dict[CodeType, frozenset[int]] = {}


def _points(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions before which the interpreter has looked for signals: after
    calls and jumps backwards."""
    found = _POINTS.get(code)
    if found is None:
        offsets = set()
        after_call = False
        for i in dis.get_instructions(code):
            if after_call:
                offsets.add(i.offset)
            after_call = i.opname.startswith("CALL")
            if i.opname.startswith("JUMP_BACKWARD") and isinstance(i.argval, int):
                offsets.add(i.argval)
        found = _POINTS[code] = frozenset(offsets)
    return found


class At:
    """Calls ``act`` when the ``k``-th place in this package's code is reached at which a signal's
    handler may run.

    Attributes:
        count: how many such places there were.
        place: file, line and function of the one.
    """

    def __init__(self, k: int, act: Callable[[], Any], within: str = "jtorch") -> None:
        self.k, self.act, self.within = k, act, within
        self.count = 0
        self.place = ""

    def __enter__(self) -> At:
        sys.settrace(self._call)
        return self

    def __exit__(self, *exc: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if not str(frame.f_globals.get("__name__", "")).startswith(self.within):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._reached(frame)
        return self._within

    def _within(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "opcode" and frame.f_lasti in _points(frame.f_code):
            self._reached(frame)
        return self._within

    def _reached(self, frame: FrameType) -> None:
        self.count += 1
        if self.count == self.k:
            self.place = (
                f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} "
                f"{frame.f_code.co_name}"
            )
            sys.settrace(None)
            self.act()


def interrupt() -> None:
    """What a handler does that stops the program."""
    raise KeyboardInterrupt


def _timer(rng: random.Random, how: str, longest: float) -> Callable[[Callable[[], None]], str]:
    """Something that runs a function and interrupts it after a while."""

    def stopped(run: Callable[[], None]) -> str:
        wait = rng.uniform(0.00002, longest)
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        sender = None
        try:
            try:
                if how == "timer":
                    signal.setitimer(signal.ITIMER_REAL, wait)
                else:
                    sender = threading.Thread(
                        target=lambda: (time.sleep(wait), signal.pthread_kill(main, signal.SIGALRM))
                    )
                    main = threading.main_thread().ident
                    sender.start()
                while True:
                    run()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                if sender is not None:
                    sender.join()
        except KeyboardInterrupt as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return f"{wait:.6f} s, {os.path.basename(frame.filename)}:{frame.lineno} {frame.name}"
        finally:
            signal.signal(signal.SIGALRM, previous)

    return stopped


# ------------------------------------------------------------------------------------------- trials


def timed(loop: Loop, count: int, seed: int, how: str) -> Iterator[tuple[str, str | None]]:
    """Trials that a timer, or another thread, stops; each gives what happened and what is wrong."""
    rng = random.Random(seed)
    begun = time.perf_counter()
    for t in range(1, STEPS - 1):
        loop.set(t)
        loop.step(t)
    longest = 1.5 * (time.perf_counter() - begun) / (STEPS - 2)
    for n in range(count):
        t = rng.randrange(STEPS - 1)
        loop.set(t)
        loop.step(t)
        done = [t + 1]

        def run(done: list[int] = done) -> None:
            if done[0] == STEPS:
                time.sleep(0.1)
                raise KeyboardInterrupt  # the timer's came in a finalizer, where Python drops it
            loop.step(done[0])
            done[0] += 1

        where = _timer(rng, how, longest * rng.choice((0.3, 1, 2)))(run)
        at = done[0]
        yield f"--seed {seed}, trial {n}: {where}", _verdict(loop, at, (at + 1,), t)


def every(
    loop: Loop, stride: int, begin: int, most: int, reads: bool, within: str, fresh: bool
) -> Iterator[tuple[str, str | None]]:
    """Trials that stop at, or read tensors at, each ``stride``-th place where a signal's handler
    may run."""
    k = begin
    for _ in range(most):
        t = k % (STEPS - 1)
        if fresh:
            engine.trie.clear()
        loop.set(t)
        loop.step(t)
        at = At(k, loop.arrays if reads else interrupt, within)
        try:
            with at:
                loop.step(t + 1)
        except KeyboardInterrupt:
            sys.settrace(None)
            wrong = _verdict(loop, t + 1, (t + 2,), t)
        else:
            wrong = _verdict(loop, t + 2, (), t)
        yield f"--begin {k}: {at.place}", wrong
        if at.count < k:
            return
        k += stride


def _verdict(loop: Loop, t: int, others: tuple[int, ...], again: int) -> str | None:
    try:
        wrong = loop.far_from(t, *others)
        if wrong is not None:
            return wrong
        for p in loop.model.parameters():
            if p.grad is not None:
                p.grad.tolist()
        loop.set(again)
        for k in (again, again + 1):
            loop.step(k)
            wrong = loop.far_from(k + 1)
            if wrong is not None:
                return f"after going on, {wrong}"
        engine.flush()
    except Exception as error:
        return "".join(traceback.format_exception(error))[-1500:]
    return None


SCENES = ("deferred", "reading", "compiled", "immediate", "hooks", "loader", "saving")


def main(argv: list[str] | None = None) -> int:
    """The command line; 1 if a trial failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--count", type=int, default=100, help="trials in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", choices=SCENES)
    parser.add_argument("--optimizer", choices=("sgd", "adam"))
    parser.add_argument("--how", choices=("timer", "thread", "every", "handler"), default="timer")
    parser.add_argument(
        "--within", default="jtorch", help="every, handler: the modules whose code is stopped"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="every, handler: forget what was compiled before each trial",
    )
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--begin", type=int, default=1)
    options = parser.parse_args(argv)
    # interrupts in finalizers, which Python drops
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    tally: collections.Counter[str] = collections.Counter()
    begun = time.monotonic()
    pairs = [
        (s, o)
        for s in SCENES
        for o in ("sgd", "adam")
        if s == (options.scene or s) and o == (options.optimizer or o)
    ]
    try:
        for scene, optimizer in pairs:
            loop = Loop(scene, optimizer)
            if options.how in ("timer", "thread"):
                trials = timed(loop, options.count // len(pairs), options.seed, options.how)
            else:
                reads = options.how == "handler"
                trials = every(
                    loop,
                    options.stride,
                    options.begin,
                    options.count,
                    reads,
                    options.within,
                    options.fresh,
                )
            for what, wrong in trials:
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
                tally["trials"] += 1
                if wrong is not None:
                    tally["failures"] += 1
                    sys.stderr.write(
                        f"FAILED --scene {scene} --optimizer {optimizer} --how {options.how} "
                        f"{what}: {wrong}\n"
                    )
    finally:
        faulthandler.cancel_dump_traceback_later()
        sys.unraisablehook = hook
    seconds = time.monotonic() - begun
    sys.stdout.write(
        f"interrupts: {tally['trials']} tried, {tally['failures']} failed, {seconds:.0f} s\n"
    )
    return 1 if tally["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
