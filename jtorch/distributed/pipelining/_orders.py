"""What each process of a pipeline does one after another, by schedules.

An order is a list of actions, and None where the process waits for others if all actions take
equally long.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple


class _ComputationType(str, Enum):  # noqa: UP042  (printed as PyTorch's is)
    """What can be done, by its letters."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    UNSHARD = "UNSHARD"
    RESHARD = "RESHARD"
    SEND_F = "SEND_F"
    RECV_F = "RECV_F"
    SEND_B = "SEND_B"
    RECV_B = "RECV_B"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> _ComputationType:
        """By its letters.

        Raises:
            RuntimeError: if there is none.
        """
        try:
            return _ComputationType(action)
        except ValueError as e:
            raise RuntimeError(f"Invalid computation type {action}") from e


F, B = _ComputationType.FORWARD, _ComputationType.FULL_BACKWARD
I, W = _ComputationType.BACKWARD_INPUT, _ComputationType.BACKWARD_WEIGHT  # noqa: E741
FORWARD, FULL_BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT = F, B, I, W
UNSHARD, RESHARD = _ComputationType.UNSHARD, _ComputationType.RESHARD
SEND_F, RECV_F, SEND_B, RECV_B = (
    _ComputationType(name) for name in ("SEND_F", "RECV_F", "SEND_B", "RECV_B")
)
REDUCE_GRAD, OVERLAP_F_B = _ComputationType.REDUCE_GRAD, _ComputationType.OVERLAP_F_B
_WRITTEN = re.compile(
    r"(\d+)(F|I|B|W|UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)(\d*)"
)


class _Action(NamedTuple):
    """A stage, what it does, and with which microbatch; written ``2F0``."""

    stage_index: int
    computation_type: _ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[_Action, ...] | None = None

    def __repr__(self) -> str:
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){self.computation_type.value}"
        chunk = "" if self.microbatch_index is None else str(self.microbatch_index)
        return f"{self.stage_index}{self.computation_type.value}{chunk}"

    __str__ = __repr__

    @property
    def is_compute_op(self) -> bool:
        """Whether it computes."""
        return self.computation_type in (F, B, I, W, OVERLAP_F_B)

    @staticmethod
    def from_str(action_string: str) -> _Action | None:
        """As it is written; None for nothing.

        Raises:
            RuntimeError: for anything else.
        """
        text = action_string.strip()
        if text.startswith("(") and ")" in text:
            inner, _, kind = text[1:].partition(")")
            parts = [
                found for part in inner.split(";") if (found := _Action.from_str(part)) is not None
            ]
            return _Action(-1, _ComputationType.from_str(kind), None, tuple(parts) or None)
        if not text:
            return None
        found = _WRITTEN.match(text)
        if found is None:
            raise RuntimeError(
                f"Invalid action string: {text}, should be formatted as [stage][action "
                "type][(microbatch)] e.g. 2F0"
            )
        stage, kind, chunk = found.groups()
        return _Action(int(stage), _ComputationType.from_str(kind), int(chunk) if chunk else None)


Order = list[_Action | None]


def with_reductions(order: Iterable[_Action | None], microbatches: int) -> list[_Action]:
    """The actions, and behind a stage's last backward pass the division of its gradients."""
    done: Counter[int] = Counter()
    found: list[_Action] = []
    for action in order:
        if action is None:
            continue
        found.append(action)
        for part in action.sub_actions or (action,):
            if part.computation_type in (B, W):
                done[part.stage_index] += 1
                if done[part.stage_index] == microbatches:
                    found.append(_Action(part.stage_index, REDUCE_GRAD))
    return found


def fill_and_drain(stage: int, microbatches: int) -> Order:
    """All forward passes, then all backward passes."""
    return [_Action(stage, kind, i) for kind in (F, B) for i in range(microbatches)]


def one_and_one(stage: int, stages: int, microbatches: int) -> Order:
    """So many forward passes that the last stage has its first microbatch, then one and one by
    turns, and what is left."""
    ahead = min(microbatches, stages - 1 - stage)
    forward = [_Action(stage, F, i) for i in range(microbatches)]
    backward = [_Action(stage, B, i) for i in range(microbatches)]
    found: Order = [*forward[:ahead]]
    for f, b in zip_longest(forward[ahead:], backward):
        found += [a for a in (f, b) if a is not None]
    return found


def breadth_first(rank: int, ranks: int, local: int, microbatches: int) -> Order:
    """All microbatches through a stage before the next one begins."""
    stages = range(rank, ranks * local, ranks)
    found: Order = [None] * rank
    found += [_Action(s, F, i) for s in stages for i in range(microbatches)]
    found += [None] * (2 * (ranks - 1 - rank))
    found += [_Action(s, B, i) for s in reversed(stages) for i in reversed(range(microbatches))]
    return found


def rounds_of(ranks: int, microbatches: int, name: str) -> int:
    """How many microbatches go through a stage before the next one of the same process begins.

    Raises:
        ValueError: if microbatches cannot be parted into rounds of one size.
    """
    rounds = max(1, microbatches // ranks)
    if microbatches % rounds != 0:
        raise ValueError(
            f"{name} requires the number of microbatches to be a multiple of the number of rounds "
            f"({rounds}), but got {microbatches}."
        )
    return microbatches // rounds


def _turns(stages: list[int], microbatches: int, at_once: int) -> Iterator[tuple[int, int]]:
    """Stages and microbatches: ``at_once`` microbatches through each of some stages, then the next
    ones."""
    for first in range(0, microbatches, at_once):
        for stage in stages:
            for chunk in range(first, first + at_once):
                yield stage, chunk


def interleaved(
    rank: int, ranks: int, local: int, microbatches: int, at_once: int, parted: bool
) -> Order:
    """One and one by turns over several stages of a process.

    Args:
        rank: the process.
        ranks: how many processes.
        local: stages of each.
        microbatches: how many.
        at_once: of them, how many go through a stage before the next begins.
        parted: whether gradients of parameters are computed later than those of inputs: from the
            process's ``rank`` th backward pass on each is followed by the oldest that is due.
    """
    stages = list(range(rank, ranks * local, ranks))
    forward = [_Action(s, F, i) for s, i in _turns(stages, microbatches, at_once)]
    backward = [
        _Action(s, I if parted else B, i) for s, i in _turns(stages[::-1], microbatches, at_once)
    ]
    due = iter([_Action(s, W, i) for s, i in _turns(stages[::-1], microbatches, at_once)])
    ahead = min((local - 1) * at_once + (1 if parted else 2) * (ranks - 1 - rank), len(forward))
    wait = ranks - rank - 1 if parted else local * ranks + 2 * (ranks - 1 - rank) - (ahead + rank)
    found: Order = [None] * rank
    found += forward[:ahead]
    found += [None] * (wait if ahead else 0)
    for number, (f, b) in enumerate(zip_longest(forward[ahead:], backward)):
        if f is not None or not parted:
            found.append(f)
        found.append(b)
        if parted and number >= rank:
            found.append(next(due))
    return [*found, *due] if parted else found


def with_waits(orders: dict[int, Order], last_stage: int) -> dict[int, Order]:
    """The same with None wherever an action would come in the same step as the one that it needs,
    or before."""
    at, done = dict.fromkeys(orders, 0), set()
    found: dict[int, Order] = {rank: [] for rank in orders}
    while any(at[rank] < len(order) for rank, order in orders.items()):
        now = set()
        for rank, order in orders.items():
            if at[rank] >= len(order):
                continue
            action = order[at[rank]]
            if action is not None:
                stage, kind, chunk, _ = action
                needed = None
                if kind is F and stage > 0:
                    needed = (stage - 1, F, chunk)
                elif kind is B:
                    needed = (stage, F, chunk) if stage == last_stage else (stage + 1, B, chunk)
                if needed is not None and needed not in done:
                    found[rank].append(None)
                    continue
                now.add((stage, kind, chunk))
            found[rank].append(action)
            at[rank] += 1
        done |= now
    return found


class _Counted:
    """Actions of two stages, each with the next microbatch of its kind."""

    def __init__(self, near: int, far: int) -> None:
        self.stages, self.counts = (near, far), Counter[tuple[int, _ComputationType]]()
        self.found: Order = []
        self._due: deque[_Action] = deque()

    def _next(self, which: int, kind: _ComputationType) -> _Action:
        counted = I if kind is B else kind
        action = _Action(self.stages[which], kind, self.counts[which, counted])
        self.counts[which, counted] += 1
        if kind is I:
            self._due.append(_Action(action.stage_index, W, action.microbatch_index))
        return action

    def do(self, which: int, *kinds: _ComputationType) -> None:
        """Adds actions of the first (0) or of the second stage (1)."""
        self.found += [self._next(which, kind) for kind in kinds]

    def pair(self, forward: int, backward: int) -> None:
        """Adds a forward pass of one stage together with a backward pass of the other."""
        self.found.append(
            _Action(-1, OVERLAP_F_B, None, (self._next(forward, F), self._next(backward, B)))
        )

    def weights(self, count: int = 1) -> None:
        """Adds the second halves of the oldest backward passes that lack them."""
        self.found += [self._due.popleft() for _ in range(min(count, len(self._due)))]


def forth_and_back(rank: int, ranks: int, microbatches: int) -> Order:
    """Two stages of a process, one on the way forth and one on the way back, with parted backward
    passes."""
    total = max(2 * ranks - 1, microbatches)
    order = _Counted(rank, 2 * ranks - 1 - rank)
    for _ in range(2 * (ranks - rank) - 1):
        order.do(0, F)
    for _ in range(rank):
        order.do(1, F)
        order.do(0, F)
    for _ in range(ranks - rank):
        order.do(1, F, I, W)
    while order.counts[1, F] < order.counts[0, F] or order.counts[0, F] < total:
        if order.counts[0, F] < total:
            order.do(0, F)
        order.do(0, I, W)
        order.do(1, F, I, W)
    for _ in range(rank):
        order.do(0, I)
        order.do(1, I)
    for _ in range(ranks - rank):
        order.do(0, I, W)
    for which in (1, 0):
        while order.counts[which, W] < order.counts[which, I]:
            order.do(which, W)
    # Fewer microbatches than fill the pipeline leave gaps.
    kept = [
        a
        if a is not None and a.microbatch_index is not None and a.microbatch_index < microbatches
        else None
        for a in order.found
    ]
    return [*[None] * rank, *kept]


def in_pairs(rank: int, ranks: int, microbatches: int) -> Order:
    """As ``forth_and_back``, with a forward and a backward pass at a time where there are both, and
    few parted passes."""
    order, before = _Counted(rank, 2 * ranks - 1 - rank), ranks - rank - 1
    order.do(0, *[F] * (2 * before))
    for _ in range(rank + 1):
        order.do(0, F)
        order.do(1, F)
    for _ in range(before):
        order.do(1, I)
        order.weights()
        order.do(1, F)
    for i in range(microbatches - 2 * ranks + rank + 1):
        if i == 0 and before == 0:
            order.do(0, F)
            order.do(1, B)
        else:
            order.pair(0, 1)
        order.pair(1, 0)
    for _ in range(before):
        order.do(1, B)
        order.pair(1, 0)
    half, kind = (rank + 1) // 2, B
    for i in range(rank + 1):
        if i == half and rank % 2 == 1:
            kind = I
        order.do(1, kind)
        if i == half and rank % 2 == 0:
            kind = I
        order.do(0, kind)
    for _ in range(before):
        order.weights()
        order.do(0, kind)
    order.weights(rank + 1)
    return order.found
