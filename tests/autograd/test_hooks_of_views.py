"""Hooks of views that are written into: the write takes their place in the base's history."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch

CASES = {
    "a hook": lambda t, y, log: _written(y[1:4], log),
    "of the view before": lambda t, y, log: _written(_seen(y.view(2, 3), log, "before")[0], log),
    "of a part of all": lambda t, y, log: _written(y.narrow(0, 0, 2), log),
    "that keeps its gradient": lambda t, y, log: _kept(y[1:4], log),
    "also read before": lambda t, y, log: _read(y[1:4], log),
    "written twice": lambda t, y, log: _written(_written(y[1:4], log)[:2], log),
    "by itself": lambda t, y, log: _seen(y[1:4], log, "view").mul_(
        _seen(y[2:5], log, "other").clone()
    ),
}


def _seen(v: Any, log: list[Any], name: str) -> Any:
    v.register_hook(lambda g: log.append((name, g.tolist())))
    return v


def _written(v: Any, log: list[Any]) -> Any:
    _seen(v, log, "view").mul_(3)
    v.register_hook(lambda g: g * 100)
    return v


def _kept(v: Any, log: list[Any]) -> None:
    v.retain_grad()
    _seen(v, log, "view").add_(1)


def _read(v: Any, log: list[Any]) -> Any:
    u = _seen(v, log, "view") * 2
    v.exp_()
    return u


def _run(t: Any, case: Any) -> tuple[list[float], list[Any]]:
    log: list[Any] = []
    x = t.arange(1.0, 7.0, dtype=t.float64).div(8).requires_grad_()
    y = x * 2
    made = case(t, y, log)
    y.register_hook(lambda g: log.append(("base", g.tolist())))
    total = (y * y).sum()
    if made is not None and made.requires_grad and made.numel() == 3:
        total = total + made.sum()
    total.backward()
    return x.grad.tolist(), log


@pytest.mark.parity
@pytest.mark.parametrize("case", CASES)
def test_hooks_from_before_the_write(case):
    torch = pytest.importorskip("torch")
    (ours, seen), (theirs, wanted) = _run(jtorch, CASES[case]), _run(torch, CASES[case])
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert [name for name, _ in seen] == [name for name, _ in wanted]
    for (_, mine), (_, its) in zip(seen, wanted, strict=True):
        assert mine == pytest.approx(its, rel=1e-12)


def test_a_hook_of_a_part_does_not_change_what_was_written_over_it():
    x = jtorch.ones(3, requires_grad=True)
    y = x * 1
    part = y[:2]
    part.register_hook(lambda g: g * 100)
    part.mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 1.0]
