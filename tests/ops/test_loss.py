"""Losses: reductions, kinks, weights, and the values that depend on targets."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

import jtorch as torch

F = torch.nn.functional


def test_cross_entropy() -> None:
    x = torch.tensor([[0.0, math.log(3.0)], [math.log(3.0), 0.0]], requires_grad=True)
    loss = F.cross_entropy(x, torch.tensor([1, 1]))
    loss.backward()
    assert loss.item() == pytest.approx((math.log(4 / 3) + math.log(4)) / 2)
    np.testing.assert_allclose(x.grad.numpy(), [[0.125, -0.125], [0.375, -0.375]], 1e-6)


def test_cross_entropy_loses_nothing_in_large_scores() -> None:
    x = torch.tensor([[10000.0, 10001.0]], requires_grad=True)
    F.cross_entropy(x, torch.tensor([0])).backward()
    p = 1 / (1 + math.e)
    np.testing.assert_allclose(x.grad.numpy(), [[p - 1, 1 - p]], 1e-6)


def test_ignored_targets_count_nowhere() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    loss = F.cross_entropy(x, torch.tensor([1, -100]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log1p(math.exp(-1)))
    assert x.grad[1].tolist() == [0, 0]
    assert math.isnan(F.cross_entropy(x, torch.tensor([-100, -100])).item())


def test_indices_and_probabilities_agree() -> None:
    r = np.random.RandomState(0)
    x, w = torch.tensor(r.randn(5, 4, 2), requires_grad=True), torch.tensor(r.rand(4))
    index = torch.tensor(r.randint(0, 4, (5, 2)))
    one_hot = F.one_hot(index, 4).movedim(-1, 1).to(x.dtype)
    for smoothing, weight in itertools.product((0.0, 0.3), (None, w)):
        by_index = F.cross_entropy(x, index, weight, reduction="sum", label_smoothing=smoothing)
        by_probability = F.cross_entropy(
            x, one_hot, weight, reduction="sum", label_smoothing=smoothing
        )
        assert by_index.item() == pytest.approx(by_probability.item())
        for a, b in zip(
            torch.autograd.grad(by_index, x), torch.autograd.grad(by_probability, x), strict=True
        ):
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-9, 1e-12)


def test_cross_entropy_is_nll_of_log_softmax() -> None:
    r = np.random.RandomState(1)
    x, t = torch.tensor(r.randn(6, 5), requires_grad=True), torch.tensor(r.randint(0, 5, 6))
    a, b = (
        F.cross_entropy(x, t, reduction="none"),
        F.nll_loss(x.log_softmax(1), t, reduction="none"),
    )
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-12)
    (g,) = torch.autograd.grad(a.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(b.sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), h.detach().numpy(), 1e-9, 1e-12)
    second = [torch.autograd.grad(y.sin().sum(), x)[0].numpy() for y in (g, h)]
    np.testing.assert_allclose(*second, 1e-9, 1e-12)


@pytest.mark.parametrize("target", [3, -1])
def test_targets_out_of_range_are_reported(target: int) -> None:
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(IndexError, match=f"Target {target} is out of bounds"):
            loss(torch.ones(2, 3), torch.tensor([0, target])).item()


def test_old_arguments_warn() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert F.mse_loss(torch.zeros(4), torch.full((4,), 2.0), size_average=False).item() == 16
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.l1_loss(torch.zeros(2), torch.ones(2), reduce=False).tolist() == [1, 1]


def test_gradient_at_kinks() -> None:
    for loss, expected in ((F.l1_loss, 0.0), (F.smooth_l1_loss, 0.0), (F.huber_loss, 0.0)):
        x = torch.zeros(1, requires_grad=True)
        loss(x, torch.zeros(1)).backward()
        assert x.grad.tolist() == [expected]
    x = torch.zeros(1, requires_grad=True)
    F.margin_ranking_loss(x, torch.zeros(1), torch.ones(1)).backward()
    assert x.grad.tolist() == [-1]  # torch's clamp passes the gradient at its edge


def test_binary_cross_entropy_clamps_logarithms() -> None:
    assert F.binary_cross_entropy(
        torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0]), reduction="none"
    ).tolist() == [100, 0]
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.0])).item()
    big = torch.tensor([1000.0, -1000.0], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(big, torch.tensor([0.0, 0.0]), reduction="none")
    assert loss.tolist() == [1000, 0]
    loss.sum().backward()
    assert big.grad.tolist() == [1, 0]


def test_gaussian_nll_gradient_passes_the_clamp() -> None:
    var = torch.tensor([1e-9], dtype=torch.float64, requires_grad=True)
    F.gaussian_nll_loss(
        torch.zeros(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64), var, eps=1e-3
    ).backward()
    assert var.grad.item() == pytest.approx(0.5 / 1e-3)


def test_ctc_is_the_sum_over_alignments() -> None:
    """Every path of 4 frames that collapses to the labels, one by one."""
    logits = np.random.RandomState(0).randn(4, 1, 3)
    log_probs = torch.tensor(logits).log_softmax(2)
    p = log_probs.exp().numpy()[:, 0]

    def collapse(path: tuple[int, ...]) -> list[int]:
        return [label for label, _ in itertools.groupby(path) if label]

    for labels in ([1, 2], [1, 1], [2], []):
        total = sum(
            np.prod(p[range(4), path])
            for path in itertools.product(range(3), repeat=4)
            if collapse(path) == labels
        )
        target = torch.tensor([labels + [1] * (2 - len(labels))])
        found = F.ctc_loss(log_probs, target, (4,), (len(labels),), reduction="sum")
        assert found.item() == pytest.approx(-math.log(total)), labels


def test_ctc_that_cannot_be_is_infinite() -> None:
    x = torch.zeros(2, 1, 3).log_softmax(2).requires_grad_()
    target = torch.tensor([[1, 1, 1]])
    assert F.ctc_loss(x, target, (2,), (3,), reduction="sum").item() == math.inf
    loss = F.ctc_loss(x, target, (2,), (3,), reduction="sum", zero_infinity=True)
    loss.backward()
    assert loss.item() == 0
    assert x.grad.abs().sum().item() == 0


def test_triplet_swap() -> None:
    a, p, n = torch.tensor([[0.0]]), torch.tensor([[3.0]]), torch.tensor([[4.0]])
    assert F.triplet_margin_loss(a, p, n, eps=0.0).item() == pytest.approx(0)
    assert F.triplet_margin_loss(a, p, n, eps=0.0, swap=True).item() == pytest.approx(3)


def test_numbered_reductions_of_the_torch_namespace() -> None:
    x, t = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])
    assert torch.hinge_embedding_loss(x, t, 1.0, 0).tolist() == [1, 3]
    assert torch.hinge_embedding_loss(x, t, 1.0, 2).item() == 4


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_sizes_that_differ_are_warned_of_once(name: str) -> None:
    x, y = torch.ones((11, 1), requires_grad=True), torch.ones(11)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        getattr(torch.nn.functional, name)(x, y).backward()
    assert [str(w.message)[:41] for w in seen] == ["Using a target size (torch.Size([11])) th"]


@pytest.mark.parametrize("weight", [None, 3.0])
def test_gradients_of_scores_keep_their_digits_where_scores_are_small(weight: float | None) -> None:
    x = torch.tensor([-9.25, -20.0, 9.25], requires_grad=True)
    y = torch.tensor([0.0, 0.25, 1.0], requires_grad=True)
    w = None if weight is None else torch.full((1,), weight)
    F.binary_cross_entropy_with_logits(x, y, pos_weight=w, reduction="sum").backward()
    p, t, k = (
        1 / (1 + np.exp(-x.detach().double().numpy())),
        np.array([0.0, 0.25, 1.0]),
        weight or 1.0,
    )
    np.testing.assert_allclose(x.grad.numpy()[:2], ((1 - t) * p - k * t * (1 - p))[:2], 1e-6)
    soft = np.log1p(np.exp(-x.detach().double().numpy()))
    np.testing.assert_allclose(y.grad.numpy(), (k - 1) * soft - x.detach().double().numpy(), 1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_and_targets_differentiate_twice(weighted: bool) -> None:
    x = torch.tensor([[-3.0, 0.5], [2.0, 0.0]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.1, 0.9], [0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    if weighted:
        w = torch.tensor([2.0, 0.5], dtype=torch.float64)
        assert torch.autograd.gradcheck(
            lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), (x, y)
        )
        assert torch.autograd.gradgradcheck(
            lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=w), (x, y)
        )
    else:
        assert torch.autograd.gradcheck(
            F.binary_cross_entropy_with_logits, (x, y), check_forward_ad=True
        )
        assert torch.autograd.gradgradcheck(F.binary_cross_entropy_with_logits, (x, y))


@pytest.mark.parametrize("ignored", [-100, -1, 2, 999])
def test_classes_that_do_not_count_may_be_anything(ignored: int) -> None:
    """Also again and again, when a kernel knows that its indices have been looked at."""
    x = torch.tensor([[0.5, -1.0, 2.0], [float("nan"), 3.0, 0.0], [1.0, 1.0, -2.0]])
    target = torch.tensor([1, ignored, 0])
    log_p = [row.log_softmax(0) for row in (x[0], x[2])]
    with torch.execution("immediate"):
        for _ in range(8):
            both = [
                torch.nn.functional.cross_entropy(x, target, ignore_index=ignored, reduction=r)
                for r in ("sum", "mean")
            ]
            alone = torch.nn.functional.nll_loss(x, target, ignore_index=ignored, reduction="none")
    wanted = -(log_p[0][1] + log_p[1][0]).item()
    assert [t.item() for t in both] == pytest.approx([wanted, wanted / 2])
    assert alone.tolist() == [1.0, 0.0, -1.0]


def test_margin_ranking_loss_of_torch_broadcasts() -> None:
    x = torch.arange(4.0).reshape(2, 2)
    assert torch.margin_ranking_loss(x, torch.ones(2), torch.tensor(-1.0), margin=0.5).tolist() == [
        [0, 0.5],
        [1.5, 2.5],
    ]
    with pytest.raises(RuntimeError, match="should have same dimension"):
        torch.nn.functional.margin_ranking_loss(x, torch.ones(2), torch.tensor(-1.0))
