"""Programs that meet ever new shapes: what is remembered of them is bounded, and what was forgotten is found again."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.engine import calls, values
from jtorch.ops import _kernel

pytestmark = pytest.mark.skipif(values.tier == "xla", reason="compiled kernels are bounded elsewhere (room)")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MANY", 6)
    monkeypatch.setattr(_kernel, "MANY", 6)
    _kernel.forget_calls()


def _largest() -> int:
    return max(len(call.shapes) for call in calls.all_calls() if call.name in ("mul", "sigmoid", "sigmoid_backward", "sum"))


def test_what_is_remembered_is_bounded() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    for n in range(1, 40):
        w.grad = None
        (torch.sigmoid(w * torch.zeros(n)).sum() * n).backward()
        assert w.grad is not None
        assert w.grad.item() == 0
    assert 0 < _largest() <= 6
    for call in calls.all_calls():
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
        assert [(torch.ones(n) * 3).sum().item() for n in range(1, 12)] == [3.0 * n for n in range(1, 12)]
