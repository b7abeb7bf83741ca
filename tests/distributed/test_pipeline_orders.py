"""The orders of pipelines' schedules: that each action comes after those it needs, and what
PyTorch's are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jtorch.distributed.pipelining import _orders, schedules
from jtorch.distributed.pipelining._utils import (
    generate_rank_to_stage_mapping,
    generate_stage_to_rank_mapping,
)

#: Schedule -> how stages lie, stages of each process.
SHAPES = {
    "GPipe": ("loop", (1,)),
    "1F1B": ("loop", (1,)),
    "LoopedBFS": ("loop", (1, 2, 3)),
    "Interleaved1F1B": ("loop", (1, 2, 3)),
    "InterleavedZeroBubble": ("loop", (1, 2, 3)),
    "ZBVZeroBubble": ("v", (2,)),
    "DualPipeV": ("v", (2,)),
}
CASES = [
    (name, style, ranks, local, microbatches)
    for name, (style, locals_) in SHAPES.items()
    for ranks in (1, 2, 3, 4)
    for local in locals_
    for microbatches in (1, 2, 3, 4, 6, 8, 9, 12)
    if not (name in ("1F1B", "DualPipeV") and microbatches < ranks * local)
    and not (name.startswith("Interleaved") and microbatches % max(1, microbatches // ranks))
]


def stage(index: int, ranks: int, local: int, rank: int) -> Any:
    return SimpleNamespace(
        stage_index=index, num_stages=ranks * local, group_size=ranks, group_rank=rank, submod=None
    )


def made(module: Any, name: str, style: str, ranks: int, local: int, microbatches: int) -> Any:
    """A schedule as the first process makes it."""
    stages = [
        stage(i, ranks, local, 0)
        for i in generate_rank_to_stage_mapping(ranks, ranks * local, style)[0]
    ]
    kind = module.get_schedule_class(name)
    return kind(stages[0] if name in ("GPipe", "1F1B") else stages, microbatches)


def actions_of(schedule: Any) -> dict[int, list[Any]]:
    return getattr(schedule, "pipeline_order_with_comms", schedule.pipeline_order)


@pytest.mark.parametrize("name", SHAPES)
def test_orders_end(name: str) -> None:
    for case in CASES:
        if case[0] == name:
            ends(case)


def ends(case: Any) -> None:
    """All processes come to the end, each stage does all its passes, and gradients are divided
    after the last one."""
    _, style, ranks, local, microbatches = case
    orders = {rank: list(order) for rank, order in actions_of(made(schedules, *case)).items()}
    last, done, at = ranks * local - 1, set(), dict.fromkeys(orders, 0)
    where = generate_stage_to_rank_mapping(ranks, ranks * local, style)

    def possible(stage: int, kind: str, chunk: int | None) -> bool:
        assert (stage, kind, chunk) not in done
        if kind == "F":
            return stage == 0 or (stage - 1, "F", chunk) in done
        if kind in "BI":
            back = stage == last or bool({(stage + 1, "B", chunk), (stage + 1, "I", chunk)} & done)
            return back and (stage, "F", chunk) in done
        if kind == "W":
            return (stage, "I", chunk) in done
        return sum(s == stage and k in "BW" for s, k, _ in done) == microbatches

    moved = True
    while moved:
        moved = False
        for rank, order in orders.items():
            while at[rank] < len(order):
                parts = [
                    (a.stage_index, a.computation_type.value, a.microbatch_index)
                    for a in order[at[rank]].sub_actions or [order[at[rank]]]
                ]
                for part in list(parts):
                    if part in done:
                        continue
                    if not possible(*part):
                        break
                    assert where[part[0]] == rank
                    done.add(part)
                    moved = True
                else:
                    at[rank] += 1
                    continue
                break
    assert all(at[rank] == len(order) for rank, order in orders.items()), (
        f"{case}: no process can go on"
    )
    for s in range(last + 1):
        assert (s, "REDUCE_GRAD", None) in done
        for chunk in range(microbatches):
            assert (s, "F", chunk) in done
            assert ((s, "B", chunk) in done) != ({(s, "I", chunk), (s, "W", chunk)} <= done)


@pytest.mark.parity
# of which PyTorch leaves out a microbatch
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "1F1B"])
def test_orders_of_pytorch(name: str) -> None:
    module = pytest.importorskip("torch.distributed.pipelining.schedules")
    for case in CASES:
        if case[0] == name:
            ours, theirs = made(schedules, *case).pipeline_order, made(module, *case).pipeline_order
            assert {k: list(map(str, v)) for k, v in ours.items()} == {
                k: list(map(str, v)) for k, v in theirs.items()
            }, case


def test_actions_as_text() -> None:
    pair = _orders._Action(
        -1,
        _orders.OVERLAP_F_B,
        None,
        (_orders._Action(0, _orders.F, 3), _orders._Action(1, _orders.B, 2)),
    )
    assert str(pair) == "(0F3;1B2)OVERLAP_F_B" and _orders._Action.from_str(str(pair)) == pair
    assert _orders._Action.from_str("12SEND_F3") == (12, _orders._ComputationType.SEND_F, 3, None)
    assert _orders._Action.from_str(" ") is None
    with pytest.raises(RuntimeError, match="Invalid action string: F2"):
        _orders._Action.from_str("F2")


def test_refusals() -> None:
    first = stage(0, 2, 1, 0)
    with pytest.raises(ValueError, match=r"Number of microbatches \(1\)"):
        schedules.Schedule1F1B(first, 1)
    with pytest.raises(ValueError, match=r"multiple of the number of rounds \(2\)"):
        schedules.ScheduleInterleaved1F1B([stage(0, 2, 2, 0), stage(2, 2, 2, 0)], 5)
    with pytest.raises(ValueError, match="exactly 2 stages per rank, but got 1"):
        schedules.ScheduleZBVZeroBubble([first], 4)
    with pytest.raises(ValueError, match=r"has the stages \[0, 3\], but was given \[0, 2\]"):
        schedules.ScheduleZBVZeroBubble([stage(0, 2, 2, 0), stage(2, 2, 2, 0)], 4)
    with pytest.raises(ValueError, match="Unknown schedule name 'x'"):
        schedules.get_schedule_class("x")
