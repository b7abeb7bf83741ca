"""The trie of traces: a node stands for "the ops recorded so far"; the same program walks the same
nodes again."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from .calls import Call
from .values import Aval

if TYPE_CHECKING:
    from ..facts.kinds import Row


class State:
    """A node of the trie: the call recorded last, where its operands come from, and what was learnt
    about the trace that ends here."""

    __slots__ = (
        "next",
        "parent",
        "key",
        "call",
        "ids",
        "avals",
        "outs",
        "checks",
        "line",
        "depth",
        "plans",
        "hits",
        "spent",
        "small",
        "worth",
        "begun",
        "schedule",
        "course",
        "period",
        "device",
        "first",
        "numbers_at",
    )

    def __init__(
        self,
        parent: State | None = None,
        key: Row = (),
        call: Call | None = None,
        ids: tuple[int, ...] = (),
        avals: tuple[Aval, ...] = (),
        outs: Aval | tuple[Aval, ...] = (),
        checks: Row = (),
    ) -> None:
        self.next: dict[tuple[Any, ...], State] = {}
        self.parent = parent
        self.key = key
        self.call = call
        self.ids = ids  # operands: outputs by number, inputs as -1, -2, ...
        self.avals = avals
        self.outs = outs
        self.checks = checks
        self.line: tuple[str, int] | None = None
        self.depth = 0
        self.plans: dict[Any, Any] | None = None  # only where traces end
        self.hits = 0
        self.spent: float = 0  # how often it ran op by op
        # what runs each step, if that stays NumPy for good; () if not (see ``tiers``)
        self.small = None
        # what compiling saves in a run, and what it takes (see ``tiers``)
        self.worth: tuple[float, float] | None = None
        self.begun = False  # whether another thread has been asked to compile it
        self.schedule: list[State] | None = None
        self.course = None  # how it runs op by op (see ``run``)
        self.period = -1
        self.device: Any = None  # where the ops so far run
        self.first = 0  # the number of its first result among those of the trace
        self.numbers_at = 0  # and of its first Python number

    def steps(self) -> list[State]:
        """The nodes from the first op to this one."""
        found = self.schedule
        if found is None:
            found = []
            node = self
            while node.parent is not None:
                found.append(node)
                node = node.parent
            found.reverse()
            self.schedule = found
        return found


ROOT = State()
#: Where a trace stands that has been run and is nobody's current one: as at the root, but a frame
#: that was interrupted in the middle of recording can tell that the trace it found empty has been
#: run since.
DONE = State()


class _End(dict[tuple[Any, ...], State]):
    """What follows a node where traces are cut: whatever is recorded next finds a node that says
    "run the trace before"."""

    def get(self, key: Any, default: object = None) -> Any:
        return _RUN_FIRST


_RUN_FIRST = State()
_RUN_FIRST.outs = None

#: Nodes alive; pruned past the limit, so that a program that never repeats itself stays bounded.
count = 0
LIMIT = 60_000
#: Ops, about, in the traces of a loop that never reads a value.
SEGMENT = 256


def grow(
    parent: State,
    key: tuple[object, ...],
    call: Call,
    ids: tuple[int, ...],
    avals: tuple[Aval, ...],
    outs: tuple[Aval, ...] | Aval,
    checks: tuple[object, ...],
) -> State:
    """Adds the node that ``key`` leads to."""
    global count
    node = State(parent, key, call, ids, avals, outs, checks)
    node.depth = parent.depth + 1
    if parent.call is not None:
        node.first = parent.first + (1 if type(parent.outs) is Aval else len(parent.outs))
        node.numbers_at = parent.numbers_at + len(parent.call.kinds)
    first = outs[0] if type(outs) is tuple and outs else outs
    device = first.device if type(first) is Aval else parent.device
    if device is not parent.device and parent.device is not None and device != parent.device:
        node.outs = None  # a program runs on one device: the trace has to be run before this op
    node.device = device
    node.line = user_line()
    count += 1
    return parent.next.setdefault(key, node)  # the first, if another thread has added it, too


def prune() -> None:
    """Forgets all traces but those that have a compiled plan."""
    global count
    if count <= LIMIT:
        return
    keep: set[int] = set()
    kept = 0
    stack = [ROOT]
    while stack:
        node = stack.pop()
        stack.extend(node.next.values())
        if node.plans and id(node) not in keep:
            up: State | None = node
            while up is not None and id(up) not in keep:
                keep.add(id(up))
                kept += 1
                up = up.parent
    stack = [ROOT]
    while stack:
        node = stack.pop()
        if type(node.next) is not _End:
            node.next = {k: n for k, n in list(node.next.items()) if id(n) in keep}
        if not node.plans:
            node.schedule = node.course = None
        stack.extend(node.next.values())
    count = kept
    if count > LIMIT // 2:  # even the compiled ones are too many: start afresh
        clear()


def clear() -> None:
    """Forgets all traces and their compiled programs."""
    global count
    ROOT.next = {}
    count = 0


#: Whether code of a file is this package's, by file name: generated code has names of its own.
_own: dict[str, bool] = {}


def user_line() -> tuple[str, int] | None:
    """File and line of the innermost frame outside this package: the line that recorded an op."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        own = _own.get(file)
        if own is None:
            own = _own[file] = frame.f_globals.get("__name__", "").partition(".")[0] in (
                "jtorch",
                "torch",
            )
        if not own:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


def period(node: State) -> int:
    """The shortest period of the ops that end here, seen three times in a row; 0 if they do not
    repeat."""
    if node.period < 0:
        seq = [(id(s.call), s.avals) for s in node.steps()]
        node.period = 0
        for p in range(1, len(seq) // 3 + 1):
            if seq[-1] == seq[-1 - p] and seq[-p:] == seq[-2 * p : -p] == seq[-3 * p : -2 * p]:
                node.period = p
                break
    return node.period


def cut(node: State, period: int) -> int:
    """Has the trace that ends here, whose ops repeat, be cut after fewer periods from now on, and
    tells how many results the next traces should have.

    All traces of the loop then hold the same whole number of periods, at the same phase: one small
    program serves them all.
    """
    global count
    steps = node.steps()
    size = max(3, SEGMENT // period) * period
    begin = len(steps) - period  # where the repetition begins
    while begin > 0:
        step, later = steps[begin - 1], steps[begin - 1 + period]
        if step.call is not later.call or step.avals != later.avals:
            break
        begin -= 1
    spare = max(0, len(steps) - begin - size) // period * period
    end = steps[len(steps) - spare - 1]
    stack = list(end.next.values())
    while stack:
        stack.extend(stack.pop().next.values())
        count -= 1
    end.next = _End()
    return sum(1 if type(s.outs) is Aval else len(s.outs) for s in steps[-size:])
