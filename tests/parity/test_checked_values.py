"""Values that a function does not take: refused in PyTorch's words; and losses, distances and
moments of NaN and infinities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

NAN, INF = float("nan"), float("inf")

#: Calls that give the same result, or raise the same error; ``t`` is the library.
CALLS = """f.binary_cross_entropy(t.tensor([.5]), t.tensor([2.]))
f.binary_cross_entropy(t.tensor([.5]), t.tensor([nan]))
f.binary_cross_entropy(t.tensor([1.5]), t.tensor([2.5]))
f.binary_cross_entropy(t.tensor([.5]).half(), t.tensor([-1.]).half())
f.cross_entropy(t.ones(2, 3), t.tensor([1, 0]), label_smoothing=-.1)
f.cross_entropy(t.ones(2, 3), t.ones(2, 3), label_smoothing=nan)
f.cross_entropy(t.ones(2, 3), t.tensor([1, 0]), label_smoothing=1.1)
f.smooth_l1_loss(t.ones(2), t.zeros(2), beta=nan)
f.ctc_loss(LOG, t.tensor([[1, 2], [1, 2]]), [4, 4], [1, 2], blank=2, reduction='none')
f.ctc_loss(LOG, t.tensor([[1, 2]]), [4, 4], [1, 2])
f.ctc_loss(LOG, t.tensor([[0, 0], [0, 1]]), [4, 4], [2, 2], blank=0, reduction='none')
f.ctc_loss(LOG, t.tensor(1), [4, 4], [1, 1])
f.ctc_loss(LOG, t.tensor([1, 2, 1]), t.tensor([4, 4]), t.tensor([1, -3]))
f.ctc_loss(LOG, t.tensor([[1], [1]]), [4, 5], [1, 2])
t.bernoulli(t.tensor([2.])) | t.normal(t.zeros(2), t.tensor([nan, 1]))
t.renorm(t.ones(2, 2), nan, 0, 1.)
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([1]))
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([0, 3]))
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([0.]))
f.embedding_bag(t.tensor([0, 3]), t.ones(3, 2), t.tensor([0]), mode='max')
f.embedding_bag(t.tensor([0.]), t.ones(3, 2), t.tensor([0]))
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([0]), padding_idx=5)
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([], dtype=t.int64), \
include_last_offset=True)
f.embedding_bag(t.tensor([0, 1]), t.ones(3, 2), t.tensor([0]), mode='sum', \
per_sample_weights=t.ones(2).double())
f.max_unpool3d(t.ones(1, 1, 1, 1, 2), t.zeros(1, 1, 1, 1, 2), 2)
f.max_unpool2d(t.ones(1, 1, 2, 2), t.zeros(1, 1, 2, 2), 2)
f.local_response_norm(t.ones(1, 4, 1), 0) | f.local_response_norm(t.ones(1, 4, 1, 1), -1)
f.interpolate(t.ones(1, 1, 2), scale_factor=nan)
f.interpolate(t.ones(1, 1, 2), scale_factor=1e30)
t.segment_reduce(t.ones(3), 'sum', offsets=t.tensor([0, 2, 1, 3]))
t.cholesky_inverse(t.zeros(2, 2))
t.cholesky_inverse(t.stack([t.eye(2), t.tensor([[1., 0], [1, 0]])]))
t.lcm(t.tensor([2**62]), t.tensor([3]))
t.lu_solve(t.ones(2, 1), t.eye(2), t.tensor([1, 3]).int())
t.lu_solve(t.ones(2, 1), t.eye(2), t.tensor([0, 2]).int())
t.linalg.lu_solve(t.eye(2), t.tensor([-1, 2]).int(), t.ones(1, 2), left=False)
t.lu_unpack(t.eye(2), t.tensor([1, 3]).int())
t.linalg.lu_solve(t.eye(2).expand(2, 2, 2), t.tensor([1, 2]).int(), t.ones(2, 1))
t.lu_unpack(t.eye(2), t.tensor([0, 2]).int())
t.lu_unpack(t.eye(2), t.tensor([1, 2]))
t.lu_unpack(t.eye(2), t.tensor([0, 3]).int(), unpack_pivots=False)
t.lu_unpack(t.eye(2), t.tensor([1, 2, 2]).int())
t.linalg.ldl_solve(t.eye(2), t.tensor([1, 3]).int(), t.ones(2, 1))
t.linalg.ldl_solve(t.eye(2), t.tensor([0, 3]).int(), t.ones(2, 1))
t.ormqr(t.ones(3, 2), t.ones(3), t.ones(3, 1)) | t.ormqr(t.ones(3, 2), t.ones(1), t.ones(3, 1))
t.ormqr(t.ones(2, 3), t.ones(3), t.ones(2, 1))
t.ormqr(t.ones(3, 2), t.ones(2).double(), t.ones(3, 1))
t.ormqr(t.ones(3, 2), t.ones(2), t.ones(3))
t.ormqr(t.ones(3, 2), t.tensor(1.), t.ones(3, 1))
t.ormqr(t.ones(2, 3, 2), t.ones(2, 2), t.ones(3, 1))
t.ormqr(t.ones(2, 3, 3), t.ones(2, 3), t.ones(3, 3, 3))
t.linalg.householder_product(t.ones(3, 2), t.ones(3))
t.linalg.householder_product(t.ones(3, 2), t.tensor(1.))
t.var_mean(t.tensor([inf, 1.])) | t.std_mean(t.tensor([[inf, 1.], [1, 2]]), 1)
t.var_mean(t.tensor([inf])) | t.var_mean(t.tensor([1.]))"""
CALLS = [call.strip() for call in CALLS.replace("\n", "|").split("|")]


def _outcome(t: Any, call: str) -> Any:
    t.manual_seed(0)
    names = {"t": t, "f": t.nn.functional, "nan": NAN, "inf": INF}
    names["LOG"] = t.arange(24.0).reshape(4, 2, 3).sin().log_softmax(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(call, names)
            return [x.numpy() for x in (found if isinstance(found, tuple) else (found,))]
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS)
def test_values_are_refused_alike(call: str) -> None:
    expected, found = _outcome(torch, call), _outcome(jtorch, call)
    if isinstance(expected, tuple):
        assert found == expected
    else:
        assert isinstance(found, list), found
        for mine, its in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, its, 1e-5, 1e-6)


def test_labels_that_are_no_classes_are_refused() -> None:
    log_probs = jtorch.zeros(4, 1, 3).log_softmax(2)
    for label in (3, -1):
        with pytest.raises(
            RuntimeError, match=f"Expected targets to be classes from 0 to 2, but got {label}"
        ):
            jtorch.nn.functional.ctc_loss(log_probs, jtorch.tensor([[1, label]]), [4], [2]).item()
    # what comes after a sequence may be anything
    jtorch.nn.functional.ctc_loss(log_probs, jtorch.tensor([[1, -1]]), [4], [1]).item()


#: Losses without reduction of NaN and infinities: values, and the gradients of a weighted sum.
LOSSES = """f.margin_ranking_loss(x, y, s) | f.hinge_embedding_loss(x, s)
f.cosine_embedding_loss(rows, others, s[:4])
f.multi_margin_loss(rows, labels) | f.multi_margin_loss(rows, labels, p=2)
f.multilabel_margin_loss(rows, many) | f.soft_margin_loss(x, s)
f.l1_loss(x, y) | f.mse_loss(x, y) | f.smooth_l1_loss(x, y) | f.smooth_l1_loss(x, y, beta=0)
f.smooth_l1_loss(x, y, beta=inf)
f.huber_loss(x, y)
f.cross_entropy(rows, labels) | f.pairwise_distance(rows, others) | t.cdist(rows, others, p=1.)
f.cosine_similarity(rows, others)"""
LOSSES = [loss.strip() for loss in LOSSES.replace("\n", "|").split("|")]


def _values_and_gradients(t: Any, call: str) -> list[Any]:
    def made(values: Any) -> Any:
        return t.tensor(values, requires_grad=True)

    names = {
        "t": t, "f": t.nn.functional, "inf": INF, "s": t.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]),
        "x": made([NAN, INF, -INF, 1.0, 0.0, -3.0]), "y": made([1.0, 2.0, NAN, INF, 0.0, 3.0]),
        "rows": made([[NAN, 1.0, 2.0], [INF, 0.0, -1.0], [0.0, 0.0, 0.0], [-INF, 1.0, 1.0]]),
        "others": made([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),
        "labels": t.tensor([0, 1, 2, 0]),
        "many": t.tensor([[0, -1, 0], [1, 0, -1], [2, 1, 0], [-1, 0, 0]]),
    }  # fmt: skip
    call = (
        call
        if call.startswith("t.") or "distance" in call or "similarity" in call
        else f"{call[:-1]}, reduction='none')"
    )
    found = eval(call, names)
    weights = t.arange(1.0, found.numel() + 1).reshape(found.shape)
    leaves = [names[k] for k in ("x", "y", "rows", "others")]
    return [found, *t.autograd.grad((found * weights).sum(), leaves, allow_unused=True)]


@pytest.mark.parametrize("call", LOSSES)
def test_losses_of_nan_and_infinities(call: str) -> None:
    for mine, its in zip(
        _values_and_gradients(jtorch, call), _values_and_gradients(torch, call), strict=True
    ):
        assert (mine is None) == (its is None)
        if its is not None:
            np.testing.assert_allclose(mine.detach().numpy(), its.detach().numpy(), 1e-5, 1e-6)


def test_distances_of_nan_and_infinities() -> None:
    for p in (0.0, INF):
        found, expected = (
            t.cdist(
                t.tensor([[INF, 0.0, -1.0], [1.0, 2.0, 3.0], [NAN, NAN, NAN]]), t.zeros(2, 3), p=p
            ).numpy()
            for t in (jtorch, torch)
        )
        np.testing.assert_allclose(found[:2], expected[:2])
    assert jtorch.cdist(jtorch.tensor([[NAN, 1.0]]), jtorch.zeros(1, 2), p=0).isnan().item()
