"""Gradients with respect to results with long histories: what lies behind them is not walked over
at each call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch import Tensor
from jtorch.autograd import tape


def _history(of: Tensor, steps: int = 300) -> Tensor:
    for _ in range(steps):
        of = of * 1.0 + 1.0
    return of


def _lines(call: Callable[[], Any]) -> int:
    """How many lines the search for the needed nodes runs while ``call`` does."""
    count = 0

    def line(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def entered(frame: Any, event: str, _: Any) -> Any:
        return line if frame.f_code is tape._Task.needed.__code__ else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_results_alone_end_the_search() -> None:
    long = _history(torch.ones(2, requires_grad=True))
    loss = (long * 3.0).sum()
    assert _lines(lambda: torch.autograd.grad(loss, long, retain_graph=True)) < 100
    assert torch.autograd.grad(loss, long)[0].tolist() == [3.0, 3.0]


def test_a_history_is_remembered_by_who_asks_again() -> None:
    first, weight = torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)
    long = _history(first)
    asked = [
        _lines(
            lambda: torch.autograd.grad((long * weight).sum(), (long, weight), retain_graph=True)
        )
        for _ in range(3)
    ]
    assert asked[0] > 600 and asked[2] < 100, asked


def test_what_is_remembered_hides_nothing() -> None:
    first, weight = torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)
    middle = first * 3.0
    long = _history(middle, 200)
    end = _history(long, 200)
    for _ in range(3):
        grads = torch.autograd.grad((end * weight).sum(), (end, weight), retain_graph=True)
        assert [g.tolist() for g in grads] == [[2.0, 2.0], end.tolist()]
    total = (end * weight).sum()
    for _ in range(3):  # a result behind the one that is remembered, a leaf behind it, and both
        assert torch.autograd.grad(total, (end, long), retain_graph=True)[1].tolist() == [2.0, 2.0]
        given = torch.autograd.grad(
            total, (end, first, middle), retain_graph=True, allow_unused=True
        )
        assert [g.tolist() for g in given] == [[2.0, 2.0], [6.0, 6.0], [2.0, 2.0]]
    total.backward(inputs=[end, weight])
    assert first.grad is None and weight.grad is not None and weight.grad.tolist() == end.tolist()


def test_nothing_is_kept_alive() -> None:
    long = _history(torch.ones(2, requires_grad=True))
    weight = torch.ones(2, requires_grad=True)
    before = len(tape._behind)
    for _ in range(3):
        torch.autograd.grad((long * weight).sum(), (long, weight), retain_graph=True)
    assert len(tape._behind) == before + 1
    del long
    assert len(tape._behind) <= before
