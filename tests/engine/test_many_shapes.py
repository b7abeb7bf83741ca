"""Programs that meet ever new shapes: what is remembered of them is bounded, and what was forgotten
is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch._src.engine import calls, values
from jtorch._src.ops import _kernel

pytestmark = pytest.mark.skipif(
    values.tier == "xla", reason="compiled kernels are bounded elsewhere (room)"
)

#: How many modules of MLIR are held after three shapes were compiled: they take three times the
#: memory of the programs.
_MODULES = """
import gc
import jtorch as torch
for n in (3, 4, 5):
    for _ in range(3):
        ((torch.ones(n, 3) @ torch.ones(3, 4)).tanh() * 2).softmax(-1).sum().item()
gc.collect()
from jtorch._src import engine
print(engine.stats.replayed > 0,
      sum(type(o).__name__ == "MeshComputation" for o in gc.get_objects()))
"""


@pytest.mark.parametrize("ahead", ["0", "1"])
def test_what_was_lowered_is_not_kept_beside_its_program(ahead: str, tmp_path: Path) -> None:
    settings = {
        "JTORCH_CACHE": "1",
        "JTORCH_CACHE_DIR": str(tmp_path),
        "JTORCH_TIERS": "xla",
        "JTORCH_COMPILE_AHEAD": ahead,
        "JTORCH_EXECUTION": "deferred",
    }
    environment = os.environ | {"JAX_PLATFORMS": "cpu"} | settings
    done = subprocess.run(
        [sys.executable, "-c", _MODULES],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.split() == ["True", "0"], done.stderr


@pytest.fixture(autouse=True)
def earlier(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls that other tests have made and that are still held somewhere, with all that is
    known of them."""
    monkeypatch.setattr(calls, "MANY", 6)
    monkeypatch.setattr(_kernel, "MANY", 6)
    _kernel.forget_calls()
    return list(calls.all_calls())


def _made_since(earlier: list[object]) -> list[Any]:
    before = set(map(id, earlier))
    return [call for call in calls.all_calls() if id(call) not in before]


def _largest(earlier: list[object]) -> int:
    made = _made_since(earlier)
    return max(
        len(call.shapes)
        for call in made
        if call.name in ("mul", "sigmoid", "sigmoid_backward", "sum")
    )


def test_what_is_remembered_is_bounded(earlier: list[object]) -> None:
    w = torch.tensor(2.0, requires_grad=True)
    for n in range(1, 40):
        w.grad = None
        (torch.sigmoid(w * torch.zeros(n)).sum() * n).backward()
        assert w.grad is not None
        assert w.grad.item() == 0
    assert 0 < _largest(earlier) <= 6
    for call in _made_since(earlier):
        if isinstance(call.extra, _kernel.Info) and type(call.extra.vjps) is dict:
            assert len(call.extra.vjps) <= 6
            assert len(call.extra.masks) <= 6


def test_what_is_pending_may_be_forgotten() -> None:
    pending = [torch.ones(n) * n for n in range(1, 30)]
    index = torch.arange(29)
    picked = [torch.arange(30)[: n + 1][index[n]] for n in range(29)]
    assert [x.sum().item() for x in pending] == [float(n * n) for n in range(1, 30)]
    assert [x.item() for x in picked] == list(range(29))


def test_a_loop_over_shapes_goes_on_where_it_was() -> None:
    for _ in range(6):
        assert [(torch.ones(n) * 3).sum().item() for n in range(1, 12)] == [
            3.0 * n for n in range(1, 12)
        ]
