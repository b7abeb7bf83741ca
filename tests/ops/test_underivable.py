"""Arguments with respect to which PyTorch has no derivative, and which it refuses by the call."""

from __future__ import annotations

import pytest

import jtorch

CASES = {
    "nll_loss": lambda t, w: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), w),
    "nll_loss in planes": lambda t, w: t.nn.functional.nll_loss(t.ones(1, 4, 2, 2), t.zeros(1, 2, 2, dtype=t.int64), w),
    "cross_entropy": lambda t, w: t.nn.functional.cross_entropy(t.ones(3, 4), t.tensor([0, 1, 2]), w, label_smoothing=0.1),
    "cross_entropy of shares": lambda t, w: t.nn.functional.cross_entropy(t.ones(3, 4), t.ones(3, 4), w),
    "multi_margin_loss": lambda t, w: t.nn.functional.multi_margin_loss(t.ones(3, 4), t.tensor([0, 1, 2]), weight=w),
    "binary_cross_entropy": lambda t, w: t.nn.functional.binary_cross_entropy(t.ones(3, 4), t.ones(3, 4), w),
    "binary_cross_entropy of other sizes": lambda t, w: t.nn.functional.binary_cross_entropy(t.ones(3), t.ones(2), w),
    "soft_margin_loss": lambda t, w: t.nn.functional.soft_margin_loss(t.ones(3, 4), w),
    "an unknown reduction": lambda t, w: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), w, reduction="x"),
    "batches with a history outside": lambda t, w: t.func.vmap(lambda v: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), v))(
        t.stack([w, w])
    ),
    "func.grad": lambda t, w: t.func.grad(lambda v: t.nn.functional.nll_loss(t.ones(3, 4), t.tensor([0, 1, 2]), v))(w),
}


def _outcome(t, f, recorded: bool) -> tuple[str, ...]:
    w = t.ones(4, requires_grad=True)
    try:
        with t.set_grad_enabled(recorded):
            return "taken", str(f(t, w).requires_grad)
    except (RuntimeError, ValueError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parity
@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_histories_of_such_arguments_are_refused_as_in_torch(case, recorded):
    torch = pytest.importorskip("torch")
    assert _outcome(jtorch, CASES[case], recorded) == _outcome(torch, CASES[case], recorded)
