"""Objects that all processes of a group agree on, with the failures of any of them: each raises
where one has failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import jtorch as torch

from .collectives import all_gather as _gather_tensors
from .group import get_world_size
from .objects import all_gather_object, broadcast_object_list

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]

T = TypeVar("T")


@dataclass
class SyncPayload(Generic[T]):
    """What travels: a value, or how the function that was to make it failed, and the name of the
    stage."""

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _payload(data_or_fn: object, stage_name: str | None, success: bool) -> SyncPayload[object]:
    if not callable(data_or_fn):
        return SyncPayload(stage_name, success, data_or_fn)
    try:
        return SyncPayload(stage_name, success, data_or_fn())
    except Exception as error:
        return SyncPayload(stage_name, False, None, error)


def broadcast(
    data_or_fn: object,
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: Any = None,
) -> Any:
    """The value of one process, or what a function gives there, on all.

    Args:
        data_or_fn: the value, or a function that makes it; called on that process only.
        success: False to stop all processes, without a value.
        stage_name: what errors call this step.
        rank: the process.
        pg: the group; without one nothing is sent, and every process is number 0.

    Raises:
        RuntimeError: on every process, if the function raised or ``success`` is False.
    """
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    mine = rank == (0 if pg is None else pg.rank())
    held = [
        _payload(data_or_fn, stage_name, success)
        if mine
        else SyncPayload(stage_name, success, None)
    ]
    if pg is not None:
        broadcast_object_list(held, src=rank, group=pg)
    got = held[0]
    if got.success:
        return got.payload
    words = f"Rank {rank} failed"
    if stage_name is not None:
        words += f": stage {got.stage_name}"
    if got.exception is not None:
        words += f": exception {got.exception}"
    raise RuntimeError(words) from got.exception


def all_gather(data_or_fn: object, stage_name: str | None = None, pg: Any = None) -> list[Any]:
    """The values of all processes in a list, or what a function gives on each.

    Args:
        data_or_fn: the value, or a function that makes it.
        stage_name: the same on all processes, or all raise.
        pg: the group; without one nothing is sent.

    Raises:
        RuntimeError: on every process, if the function raised on one.
        TypeError: if what came is not of one type.
    """
    own = _payload(data_or_fn, stage_name, True)
    if pg is None:
        if not own.success:
            raise RuntimeError(
                f"all_gather failed with exception {own.exception}"
            ) from own.exception
        return [own.payload]
    rows: Values = [None] * get_world_size(pg)
    all_gather_object_enforce_type(pg, rows, own)
    words, failed, values = "", [], []
    for rank, row in enumerate(rows):
        if row.stage_name != rows[0].stage_name:
            words += f"Unexpected stage name received from rank {rank}: {row.stage_name} "
        elif not row.success and row.exception is not None:
            failed.append((rank, row.exception))
        else:
            values.append(row.payload)
    if failed:
        raise RuntimeError(words, failed) from failed[0][1]
    if words:  # PyTorch leaves these values out without a word
        raise RuntimeError(words)
    return values


def _same_type(a: object, b: object) -> bool:
    return type(a) is type(b)


def all_gather_object_enforce_type(
    pg: object,
    object_list: list[Any],
    obj: object,
    type_checker: Callable[[Any, Any], bool] = _same_type,
) -> None:
    """``all_gather_object`` that raises a TypeError where ``type_checker`` finds the first object
    and another different."""
    all_gather_object(object_list, obj, group=pg)
    for i, other in enumerate(object_list[1:], 1):
        if not type_checker(object_list[0], other):
            raise TypeError(
                f"Object type at index {i} is {type(other)}, while first object type is "
                f"{type(object_list[0])}"
            )


def _summarize_ranks(ranks: Iterable[int]) -> str:
    """Numbers as text, those in even steps as a slice: ``0:3,5,8:14:2``. Of two that follow each
    other the distance is a step."""
    left = sorted(ranks)
    if left[0] < 0:
        raise AssertionError("ranks should all be positive")
    if len(set(left)) != len(left):
        raise AssertionError("ranks should not contain duplicates")
    runs: list[list[int]] = [left[:1]]
    for rank in left[1:]:
        run = runs[-1]
        if len(run) == 1 or rank - run[-1] == run[1] - run[0]:
            run.append(rank)
        else:
            runs.append([rank])
    said = []
    for run in runs:
        step = run[1] - run[0] if len(run) > 1 else 1
        said.append(
            str(run[0])
            if len(run) == 1
            else f"{run[0]}:{run[-1] + step}" + (f":{step}" if step > 1 else "")
        )
    return ",".join(said)


def _check_rng_sync(generator: torch.Generator, group: Any) -> str | None:
    """Says which processes have generators in different states; None if they are the same."""
    state = generator.get_state()
    states = [torch.empty_like(state) for _ in range(group.size())]
    _gather_tensors(states, state, group=group)
    ranks: dict[int, set[int]] = defaultdict(set)
    for rank, found in enumerate(states):
        ranks[int(torch.hash_tensor(found).item())].add(rank)
    if len(ranks) == 1:
        return None
    lines = "\n".join(str([_summarize_ranks(same), str(value)]) for value, same in ranks.items())
    return f"Generator desync detected:\n['Ranks', 'Generator state hash values']\n{lines}"
