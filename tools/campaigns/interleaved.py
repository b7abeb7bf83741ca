"""Another thread comes in at every place where Python lets it: what two threads do must come to
what they do one after the other.

    python -m tools.campaigns.interleaved --count 200000

One thread works on tensors, and after one of the calls that this is made of, where Python may
change threads, another thread does something else with the same tensors, wholly or until it waits
for the first; there is one try for each of these places, so that what happens once in a million
runs is found at once. Nothing that both do writes the same elements. What the works give, what the
tensors show then, and what all that shares memory shows after one more write must be what it is for
one of the two orders.
"""

from __future__ import annotations

import copy
import io
import itertools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import jtorch as torch
from tools.campaigns import _report

State = dict[str, Any]
Work = Callable[[State], Any]

#: A thread that does nothing for so many seconds waits for the other one.
_WAITS = 0.02


# ---- what there is at the start ------------------------------------------------------------------


def numbers() -> State:
    """A tensor of numbers that are there."""
    return {"t": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])}


def computed() -> State:
    """One that is still to be computed, in deferred mode."""
    return {"t": torch.arange(6.0).reshape(3, 2).clone() + 1}


def viewed() -> State:
    """One with a view that was read."""
    t = numbers()["t"]
    v = t[0]
    v.tolist()
    return {"t": t, "v": v}


def written() -> State:
    """One with a view of what was written through another view."""
    t = numbers()["t"]
    t[1].add_(1)
    return {"t": t, "v": t.view(-1)[2:5]}


def of_numpy() -> State:
    """One on NumPy's memory."""
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    return {"t": torch.from_numpy(array), "v": array}


def was_in_numpy() -> State:
    """One that was NumPy's until now."""
    t = numbers()["t"]
    t.numpy()
    return {"t": t}


def with_history() -> State:
    """One that was computed from a parameter, with a view."""
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    t = w * 2
    return {"t": t, "v": t[1]}


def negated() -> State:
    """The imaginary part of a conjugate, whose numbers are the negatives of those in memory."""
    z = torch.complex(torch.zeros(3, 2), torch.tensor([[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]]))
    return {"t": z.conj().imag, "v": z}


def leaf() -> State:
    """A parameter, with something computed from it."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return {"w": w, "y": w * 3, "t": torch.tensor([[1.0, 2.0]])}


# ---- works ---------------------------------------------------------------------------------------


def _saved(t: Any) -> io.BytesIO:
    f = io.BytesIO()
    torch.save(t, f)
    f.seek(0)
    return f


def _nothing(of: Callable[[State], Any]) -> Work:
    def work(s: State) -> None:
        of(s)

    return work


#: They write into the first row, into the second, and into all.
FIRST: dict[str, Work] = {
    "t[0] = 4": lambda s: s["t"].__setitem__(0, 4.0),
    "t[0].add_": _nothing(lambda s: s["t"][0].add_(20)),
    "t[:1] = tensor": lambda s: s["t"].__setitem__(slice(1), torch.ones(1, 2)),
}
SECOND: dict[str, Work] = {
    "t[1, 0] = 9": lambda s: s["t"].__setitem__((1, 0), 9.0),
    "t[1].mul_": _nothing(lambda s: s["t"][1].mul_(10)),
    "t.view(-1)[2:4].copy_": _nothing(
        lambda s: s["t"].view(-1)[2:4].copy_(torch.tensor([7.0, 8.0]))
    ),
}
ALL: dict[str, Work] = {
    "t.add_": _nothing(lambda s: s["t"].add_(1)),
    "t.fill_": _nothing(lambda s: s["t"].fill_(7)),
    "t.copy_": _nothing(lambda s: s["t"].copy_(torch.full((3, 2), 5.0))),
    "t.t().mul_": _nothing(lambda s: s["t"].t().mul_(2)),
    "foreach_add_": lambda s: torch._foreach_add_([s["t"]], 1),
    "t[:] = 1": lambda s: s["t"].__setitem__(slice(None), 1.0),
    "t.data = other": lambda s: setattr(s["t"], "data", torch.full((3, 2), 8.0)),
}
#: They write nothing. What they give may share the memory.
READ: dict[str, Work] = {
    "t[0]": lambda s: s["t"][0],
    "t.view": lambda s: s["t"].view(-1),
    "t.t": lambda s: s["t"].t(),
    "t[1:].view(-1)[1:3]": lambda s: s["t"][1:].view(-1)[1:3],
    "unbind": lambda s: s["t"].unbind(0)[1],
    "split": lambda s: s["t"].split(2)[0],
    "detach": lambda s: s["t"].detach(),
    "data": lambda s: s["t"].data,
    "numpy": lambda s: s["t"].numpy(),
    "storage": lambda s: s["t"].untyped_storage().tolist()[:8],
    "tolist": lambda s: s["t"].tolist(),
    "item": lambda s: s["t"][0, 0].item(),
    "t + 1": lambda s: s["t"] + 1,
    "clone": lambda s: s["t"].clone(),
    "index": lambda s: s["t"][torch.tensor([1])],
    "deepcopy": lambda s: copy.deepcopy(s["t"]),
    "data_ptr": _nothing(lambda s: s["t"].data_ptr()),
    "repr": lambda s: repr(s["t"])[:6],
    "save": lambda s: torch.load(_saved(s["t"])),
    "dlpack": lambda s: torch.from_dlpack(s["t"]),
    "asarray": lambda s: np.asarray(s["t"]),
    "stack": lambda s: torch.stack([s["t"]]),
    "double": lambda s: s["t"].double(),
    "share_memory_": _nothing(lambda s: s["t"].share_memory_()),
    "flatten of part": lambda s: s["t"][:2].t().flatten(),
    "set_ of another": lambda s: torch.empty(0).set_(s["t"]),
    "view of bits": lambda s: s["t"].view(torch.int32),
}
#: With gradients, which several threads add to.
HISTORY: dict[str, Work] = {
    "backward": _nothing(lambda s: (s["w"] * 2).sum().backward()),
    "backward again": _nothing(lambda s: (s["w"] * s["w"]).sum().backward()),
    "backward of shared": _nothing(lambda s: s["y"].sum().backward(retain_graph=True)),
    "grad": lambda s: torch.autograd.grad((s["y"] * s["w"]).sum(), s["w"], retain_graph=True)[0],
    "read": lambda s: (s["y"] + 1).tolist(),
    "view": lambda s: s["w"].detach()[1:],
}


class Case(NamedTuple):
    """What two threads do: the second comes in while the first is at work."""

    start: Callable[[], State]
    first: str
    second: str
    mode: str


WORKS = {**FIRST, **SECOND, **ALL, **READ, **HISTORY}


def cases() -> list[Case]:
    """All that there are."""
    pairs = [
        *itertools.product(FIRST, SECOND),
        *itertools.product(ALL, READ),
        *itertools.product([*FIRST, *SECOND], READ),
    ]
    pairs = [*pairs, *[(b, a) for a, b in pairs], *itertools.product(READ, READ)]
    starts = (numbers, computed, viewed, written, of_numpy, was_in_numpy, with_history, negated)
    rows = [
        (start, *pair)
        for start, pair in itertools.product(starts, pairs)
        if not (start is of_numpy and "t.data = other" in pair)
    ]
    rows += [(leaf, *pair) for pair in itertools.product(HISTORY, HISTORY)]
    return [Case(*row, mode) for row in rows for mode in ("deferred", "immediate")]


# ---- one try -------------------------------------------------------------------------------------


class Interrupted:
    """Calls a function at one of the places at which Python would let another thread run.

    Attributes:
        at: the number of that place among those that a work has.
        place: where it was; None if the work has not so many.
    """

    def __init__(self, at: int, other: Callable[[], None]) -> None:
        self.at, self.other = at, other
        self.place: str | None = None
        self._passed = 0

    def run(self, work: Callable[[], Any]) -> Any:
        """What a work gives, or the error that it raises."""
        watch = self._at  # which Python does not keep while it calls it
        sys.setprofile(watch)
        try:
            return work()
        except Exception as error:
            return error
        finally:
            sys.setprofile(None)

    def _at(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "return":  # it is the caller that goes on
            caller = frame.f_back
            if caller is None:
                return
            frame = caller
        elif event != "c_return":
            return
        name = frame.f_code.co_filename
        if "jtorch" not in name and "torch." not in name and "weakref" not in name:
            return
        if self._passed == self.at:
            sys.setprofile(None)
            self.place = f"{name.rpartition('jtorch/')[2]}:{frame.f_lineno}"
            self.other()
        self._passed += 1


def _outcome(s: State, *results: Any) -> tuple[str, ...]:
    """What can be seen of tensors and results, now and after one more write into the memory."""
    seen = [
        *results,
        *s.values(),
        *[
            w.grad
            for w in s.values()
            if isinstance(w, torch.Tensor) and w.is_leaf and w.requires_grad
        ],
    ]
    before = [_text(x) for x in seen]
    try:
        s["t"].mul_(3)
    except RuntimeError as error:
        return (*before, str(error))
    return (*before, *[_text(x) for x in seen])


def _text(found: Any) -> str:
    if isinstance(found, Exception):
        return f"{type(found).__name__}: {found}"
    return str(found.tolist() if isinstance(found, (torch.Tensor, np.ndarray)) else found)


def _in_turn(case: Case, reverse: bool) -> tuple[str, ...]:
    s = case.start()
    results = {}
    for name in ("second", "first") if reverse else ("first", "second"):
        try:
            results[name] = WORKS[getattr(case, name)](s)
        except Exception as error:
            results[name] = error
    return _outcome(s, results["first"], results["second"])


def _at(case: Case, at: int) -> tuple[str | None, tuple[str, ...]]:
    """Where the second thread came in, and what came of it."""
    s = case.start()
    found: list[Any] = [None]
    threads: list[threading.Thread] = []

    def second() -> None:
        with torch.execution(case.mode):
            try:
                found[0] = WORKS[case.second](s)
            except Exception as error:
                found[0] = error

    def other() -> None:
        threads.append(threading.Thread(target=second, daemon=True))
        threads[0].start()
        threads[0].join(_WAITS)

    interrupted = Interrupted(at, other)
    result = interrupted.run(lambda: WORKS[case.first](s))
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            return interrupted.place, ("the second thread waits for ever",)
    return interrupted.place, _outcome(s, result, found[0])


def tries(case: Case) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """For each place of a case where it is, whether what came of it is right, and that."""
    with torch.execution(case.mode):
        right = {_in_turn(case, False), _in_turn(case, True)}
        for at in itertools.count():
            place, found = _at(case, at)
            if place is None:
                return
            yield place, found in right, found


def run(report: _report.Report, seed: int) -> None:
    """Tries cases in an order drawn at random until the report says that it is over."""
    draws = random.Random(seed)
    while report.goes_on():
        for case in draws.sample(cases(), len(cases())):
            if not report.goes_on():
                return
            for place, right, found in tries(case):
                report.tried += 1
                report.seen[case.start.__name__] += 1
                if not right:
                    report.fail(
                        f"{case.start.__name__}, {case.mode}: {case.second} at {place} of "
                        f"{case.first} gives {found}"
                    )


def main() -> int:
    """Runs the campaign that the command line asks for."""
    given = _report.options(__doc__, 20_000).parse_args()
    report = _report.report("interleaved", given, 20_000)
    run(report, given.seed)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
