"""Compiled functions of many shapes: when a shape gets a program of its own, and what is kept."""

# ruff: noqa: PT031  (what is compiled is written out)
from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch


def test_recompile_limit() -> None:
    f = torch.compile(lambda x, k: x + k, recompile_limit=2)
    with pytest.warns(UserWarning, match="recompile_limit"):
        for k in range(6):
            assert f(torch.zeros(1), k).item() == k
    g = torch.compile(lambda x: x + 1, dynamic=True)
    for n in range(1, 14):
        assert g(torch.zeros(n)).tolist() == [1.0] * n


def _programs_and_replays(f: Any, lengths: Any) -> tuple[int, int]:
    for n in lengths:
        assert f(torch.ones(n)).item() == n + 1.0
    return len(f.compiled.entries), f.compiled.replays


def _sum(x: Any) -> Any:
    return x.sum() + 1


def test_dynamic_shapes_get_programs_when_they_repeat() -> None:
    assert _programs_and_replays(torch.compile(_sum, dynamic=True), range(1, 30)) == (0, 0)
    assert _programs_and_replays(torch.compile(_sum, dynamic=True), [5, 6] * 9) == (2, 9)
    assert _programs_and_replays(torch.compile(_sum, dynamic=False), [1, *range(1, 30), 3, 4]) == (
        29,
        2,
    )


def test_shapes_are_taken_to_vary_after_some() -> None:
    f = torch.compile(_sum)
    # the first run shows what it reads
    assert _programs_and_replays(f, [1, *range(1, 30)]) == (8, 0)
    assert _programs_and_replays(f, [1, 2, 8]) == (8, 3)
    assert _programs_and_replays(f, [20] * 4) == (9, 4)  # which has come before
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False):
        assert _programs_and_replays(torch.compile(_sum), [1, *range(1, 20)]) == (19, 0)


def test_a_whole_program_of_a_varying_shape_is_looked_at_the_first_time() -> None:
    f = torch.compile(lambda x: x if x.sum() > 0 else -x, dynamic=True, fullgraph=True)
    with pytest.raises(RuntimeError, match="fullgraph=True"):
        f(torch.ones(3))


def test_what_is_kept_of_many_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch.compiler import _entry

    monkeypatch.setattr(_entry, "_COUNTED", 5)
    monkeypatch.setattr(_entry, "_KEPT", 3)
    f = torch.compile(_sum, dynamic=True)
    _programs_and_replays(f, range(1, 20))
    assert len(f.compiled.seen) == 5
    g = torch.compile(_sum, dynamic=False)
    _programs_and_replays(g, range(1, 20))
    assert len(g.compiled.entries) == 3
