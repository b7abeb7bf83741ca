"""A call warns of what it was given as PyTorch's does, each time, or once in a process:
``set_warn_always`` asks for each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

EACH_TIME = [
    "F.mse_loss(t.ones(3, 3), t.ones(1, 3))",
    "F.huber_loss(t.ones(3), t.ones(1))",
    "F.l1_loss(t.ones(3), t.ones(3), size_average=False)",
    "F.smooth_l1_loss(t.ones(3), t.ones(1), reduce=False)",
    "F.nll_loss(t.ones(2, 2), t.tensor([0, 1]), reduce=True)",
    "F.cross_entropy(t.ones(2, 2), t.tensor([0, 1]), size_average=True)",
    "F.multi_margin_loss(t.ones(2, 2), t.tensor([0, 1]), reduce=False)",
    "F.kl_div(t.ones(2), t.ones(2))",
    "F.kl_div(t.ones(2), t.ones(2), reduction='batchmean')",
    "F.kl_div(t.ones(2), t.ones(2), size_average=False)",
    "F.mse_loss(t.ones(2), t.ones(2), reduction='elementwise_mean')",
    "t.nn.KLDivLoss()(t.ones(2), t.ones(2))",
    "t.ones(2).resize(1, 2)",
    "t.ones(2).resize_as(t.ones(1, 2))",
]
ONCE = [
    "t.stft(t.ones(16), 4, return_complex=True)",
    "t.stft(t.ones(16), 4, window=t.ones(4), return_complex=True)",
    "t.istft(t.ones(3, 17, dtype=t.complex64), 4)",
    "t.istft(t.ones(3, 17, dtype=t.complex64), 4, window=t.ones(4), length=100)",
    "t.zeros(2, 3).scatter(0, t.tensor([[0]]), t.ones(1, 1), reduce='add')",
    "t.zeros(2, 3).scatter_(0, t.tensor([[0]]), t.ones(1, 1), reduce='multiply')",
    "t.zeros(2, 3).scatter_(0, t.tensor([[0]]), 2.0, reduce='add')",
    "t.zeros(2, 3).scatter(0, t.tensor([[0]]), t.ones(1, 1))",
    "t.zeros(2, 3).index_reduce(0, t.tensor([0]), t.ones(1, 3), 'mean')",
    "t.cross(t.ones(2, 3), t.ones(2, 3))",
    "t.cross(t.ones(2, 3), t.ones(2, 3), dim=1)",
    "t.qr(t.eye(2))",
    "t.cholesky(t.eye(2))",
    "t.triangular_solve(t.eye(2), t.eye(2))",
    "t.lu(t.eye(2))",
]


@pytest.fixture(autouse=True)
def _always() -> Iterator[None]:
    before = torch.is_warn_always_enabled(), jtorch.is_warn_always_enabled()
    torch.set_warn_always(True)
    jtorch.set_warn_always(True)
    yield
    torch.set_warn_always(before[0])
    jtorch.set_warn_always(before[1])


def _said(t: Any, line: str) -> list[tuple[str, str]]:
    """Of the last of three calls: the first ones trace, and compile."""
    for _ in range(3):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            eval(line, {"t": t, "F": t.nn.functional})
    return [
        (
            w.category.__name__,
            str(w.message).partition(" (Triggered")[0].rstrip().replace("jtorch", "torch"),
        )
        for w in seen
    ]


@pytest.mark.parametrize("line", EACH_TIME + ONCE)
def test_a_call_warns_as_torchs(line: str) -> None:
    assert _said(jtorch, line) == _said(torch, line)


def test_warnings_name_the_line_that_calls() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        jtorch.nn.functional.mse_loss(jtorch.ones(3), jtorch.ones(1))
        jtorch.stft(jtorch.ones(16), 4, return_complex=True)
        jtorch.ones(2).resize_as(jtorch.ones(2))
    assert [w.filename for w in seen] == [__file__] * 3


@pytest.mark.parametrize(
    "name", ["trace", "trace_module", "script", "freeze", "set_fusion_strategy"]
)
def test_torchscript_is_deprecated(name: str) -> None:
    def said(t: Any) -> set[tuple[str, str]]:
        layer = t.nn.Linear(1, 1).eval()
        calls = {
            "trace": lambda: t.jit.trace(layer, t.ones(1, 1)),
            "trace_module": lambda: t.jit.trace_module(layer, {"forward": t.ones(1, 1)}),
            "script": lambda: t.jit.script(layer),
            "freeze": lambda: t.jit.freeze(t.jit.script(layer)),
            "set_fusion_strategy": lambda: t.jit.set_fusion_strategy([("STATIC", 1)]),
        }
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            calls[name]()
        return {(w.category.__name__, str(w.message)) for w in seen}

    assert said(jtorch)
    assert said(jtorch) <= said(torch)  # PyTorch's call each other
