"""Containers that read themselves in ways of their own, and are seen by compiled functions, are
read as what they are made of."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch


def _raise(*_: Any) -> Any:
    raise NotImplementedError


_refuse: Any = _raise


class Pair(tuple):
    """As e3nn's: it has parts, but no length."""

    __len__ = __contains__ = _refuse

    def scale(self) -> float:
        return float(self[0] + self[1])


class Table(dict):
    __len__ = __iter__ = values = keys = get = _refuse

    def scale(self) -> float:
        return float(sum(self[key] for key in ("a", "b") if dict.__contains__(self, key)))


class Row(list):
    __bool__ = __iter__ = _refuse
    factor = 1.0

    def scale(self) -> float:
        return self.factor * sum(self[i] for i in range(len(self)))


class Group(set):
    __len__ = _refuse

    def scale(self) -> float:
        return float(sum(part for part in (1, 2, 3) if part in self))


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


@pytest.mark.parametrize(
    ("held", "change"),
    [
        (Pair((1, 2)), None),
        (Table(a=1), lambda t: dict.__setitem__(t, "b", 5)),
        (Table(a=1), lambda t: dict.__setitem__(t, "a", 4)),
        (Table(), lambda t: dict.__setitem__(t, "a", 4)),
        (Row((1, 2)), lambda r: r.append(3)),
        (Row(), lambda r: r.append(3)),
        (Row((1, 2)), lambda r: setattr(r, "factor", 2.0)),
        (Group((1,)), lambda g: g.add(3)),
        (Group(), lambda g: g.add(3)),
    ],
)
def test_they_are_compared_as_what_they_are_made_of(held: Any, change: Any) -> None:
    holder = Holder(held)

    @torch.compile
    def f(x: Any) -> Any:
        return x * holder.held.scale() + 1.0

    one = torch.ones(2)
    for _ in range(4):
        assert f(one).tolist() == [holder.held.scale() + 1.0] * 2
    assert f.compiled.replays > 1
    before = holder.held.scale()
    if change is None:
        holder.held = Pair((3, 4))
    else:
        change(holder.held)
    assert holder.held.scale() != before
    for _ in range(3):
        assert f(one).tolist() == [holder.held.scale() + 1.0] * 2
