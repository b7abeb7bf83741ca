"""Gradients where a mean, norm or probability has no value: what takes no part gets 0, as in
PyTorch, not NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jtorch

pytestmark = pytest.mark.parity

INF = float("inf")
CASES = {
    "cross_entropy of nothing that counts": lambda t, x: t.nn.functional.cross_entropy(
        x, t.full((3,), -100)
    ),
    "with smoothing": lambda t, x: t.nn.functional.cross_entropy(
        x, t.full((3,), -100), label_smoothing=0.1
    ),
    "of one example": lambda t, x: t.nn.functional.cross_entropy(x[0], t.tensor(-100)),
    "in planes": lambda t, x: t.nn.functional.cross_entropy(
        x.t()[None, :, :, None], t.full((1, 3, 1), -100)
    ),
    "with weights": lambda t, x: t.nn.functional.cross_entropy(
        x, t.tensor([0, -100, 0]), t.tensor([0.0, 1.0, 1.0, 1.0])
    ),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x, t.full((3,), -100)),
    "lp_pool1d of zeros": lambda t, x: t.nn.functional.lp_pool1d(x * 0, 2, 2),
    "lp_pool1d of some zeros": lambda t, x: t.nn.functional.lp_pool1d(
        x * t.tensor([0.0, 0.0, 1.0, 1.0]), 4, 2
    ),
    "lp_pool2d of zeros": lambda t, x: t.nn.functional.lp_pool2d((x * 0)[None], 2.5, (1, 2)),
    **{
        f"lp_pool{n}d for {p}": lambda t, x, n=n, p=p: getattr(t.nn.functional, f"lp_pool{n}d")(
            x.reshape(1, *[1] * (n - 1), 3, 4),
            p,
            (*[1] * (n - 1), 2)[:n] if n > 1 else 2,
            ceil_mode=True,
        )
        for n in (1, 2, 3)
        for p in (INF, -INF)
    },
    "lp_pool1d of equal sizes": lambda t, x: t.nn.functional.lp_pool1d(x.sign(), INF, 2) * x[:, :2],
    "ctc_loss of too few steps": lambda t, x: t.nn.functional.ctc_loss(
        x.log_softmax(1)[:, None], t.tensor([[1, 1, 2]]), t.tensor([3]), t.tensor([3])
    ),
    "as zero": lambda t, x: t.nn.functional.ctc_loss(
        x.log_softmax(1)[:, None],
        t.tensor([[1, 1, 2]]),
        t.tensor([3]),
        t.tensor([3]),
        zero_infinity=True,
    ),
}


def _given(t: Any, case: Any) -> tuple[np.ndarray, np.ndarray, str]:
    x = t.tensor(np.random.RandomState(0).randn(3, 4)).float().requires_grad_()
    made = case(t, x)
    (made * t.arange(1, made.numel() + 1).reshape(made.shape)).sum().backward()
    return made.detach().numpy(), x.grad.numpy(), type(made.grad_fn).__name__


@pytest.mark.parametrize("case", CASES)
def test_what_takes_no_part_has_no_gradient(case):
    torch = pytest.importorskip("torch")
    ours, theirs = _given(jtorch, CASES[case]), _given(torch, CASES[case])
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-6)
    assert ours[2] == theirs[2]
