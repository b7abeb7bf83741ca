"""Schedules against their closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch.optim import lr_scheduler as S


def optimizer(lr: Any = 1.0) -> Any:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.9)


def rates(make: Callable[[Any], Any], steps: int = 8, lr: Any = 1.0) -> list[float]:
    opt = optimizer(lr)
    schedule = make(opt)
    found = [float(opt.param_groups[0]["lr"])]
    for _ in range(steps):
        opt.step()
        schedule.step()
        found.append(float(opt.param_groups[0]["lr"]))
    return found


@pytest.mark.parametrize(
    ("make", "closed"),
    [
        (lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1)), lambda e: 1 / (e + 1)),
        (lambda o: S.MultiplicativeLR(o, lambda e: 0.5), lambda e: 0.5**e),
        (lambda o: S.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
        (lambda o: S.MultiStepLR(o, [2, 5]), lambda e: 0.1 ** ((e >= 2) + (e >= 5))),
        (lambda o: S.ConstantLR(o, 0.5, 3), lambda e: 0.5 if e < 3 else 1.0),
        (lambda o: S.LinearLR(o, 0.2, 1.0, 4), lambda e: 0.2 + 0.8 * min(e, 4) / 4),
        (lambda o: S.ExponentialLR(o, 0.9), lambda e: 0.9**e),
        (lambda o: S.PolynomialLR(o, 6, 2.0), lambda e: (1 - min(e, 6) / 6) ** 2),
        (
            lambda o: S.CosineAnnealingLR(o, 8, 0.1),
            lambda e: 0.1 + 0.9 * (1 + math.cos(math.pi * e / 8)) / 2,
        ),
        (
            lambda o: S.CosineAnnealingWarmRestarts(o, 3),
            lambda e: (1 + math.cos(math.pi * (e % 3) / 3)) / 2,
        ),
    ],
)
def test_closed_forms(make: Any, closed: Any) -> None:
    expected = [closed(e) for e in range(9)]
    assert rates(make) == pytest.approx(expected, abs=1e-12)
    # a rate that is a tensor is changed in place
    assert rates(make, lr=torch.tensor(1.0)) == pytest.approx(expected, abs=1e-6)


def test_one_after_the_other() -> None:
    found = rates(
        lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 10), S.ExponentialLR(o, 0.5)], [2]), 5
    )
    assert found == pytest.approx([0.1, 0.1, 1.0, 0.5, 0.25, 0.125])


def test_restored_schedules_go_on() -> None:
    def make(o: Any) -> Any:
        return S.OneCycleLR(o, 2.0, total_steps=9)

    whole = rates(make)
    opt = optimizer()
    schedule = make(opt)
    for _ in range(4):
        opt.step()
        schedule.step()
    other = optimizer()
    resumed = make(other)
    resumed.load_state_dict(schedule.state_dict())
    other.load_state_dict(opt.state_dict())
    other.step()
    resumed.step()
    assert other.param_groups[0]["lr"] == pytest.approx(whole[5])
    assert other.param_groups[0]["momentum"] != 0.9


def test_steps_out_of_order_are_warned_of() -> None:
    schedule = S.StepLR(optimizer(), 1)
    with pytest.warns(
        UserWarning,
        match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`",
    ):
        schedule.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        schedule.step(5)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedule.get_lr()


def test_optimisers_with_schedules_hold_no_cycle() -> None:
    import gc
    import weakref

    opt = optimizer()
    S.StepLR(opt, 1)
    seen = weakref.ref(opt)
    gc.disable()
    try:
        del opt
        assert seen() is None  # freed at once, with its state, and not when the collector comes by
    finally:
        gc.enable()


def test_a_state_of_old_files_holds_the_function() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2.0, total_steps=9)
    del scheduler._anneal_func_type
    state = {**scheduler.state_dict(), "anneal_func": lambda start, _end, _pct: start}
    scheduler.load_state_dict(state)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [2.0 / 25]
