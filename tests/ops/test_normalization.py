"""Normalisation by features, channels, groups and batches."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch

F = torch.nn.functional


def _x(*shape: int) -> torch.Tensor:
    return torch.tensor(np.random.RandomState(0).randn(*shape) * 3 + 5)


def test_layer_norm_has_mean_zero_and_variance_one() -> None:
    y = F.layer_norm(_x(2, 3, 64), (3, 64), eps=0.0)
    np.testing.assert_allclose(y.mean((1, 2)).numpy(), 0, atol=1e-12)
    np.testing.assert_allclose(y.var((1, 2), correction=0).numpy(), 1, rtol=1e-12)


@pytest.mark.parametrize(
    "norm",
    [
        lambda x: F.layer_norm(x, (4, 5)),
        lambda x: F.group_norm(x, 2),
        lambda x: F.batch_norm(x, None, None, training=True),
        F.instance_norm,
    ],
)
def test_gradient_ignores_shift_and_scale(norm) -> None:
    """The result changes neither with the input's mean nor (but for eps) with its size, so the
    gradient is orthogonal to both."""
    x = _x(3, 4, 5).requires_grad_()
    (norm(x) * torch.tensor(np.random.RandomState(1).randn(3, 4, 5))).sum().backward()
    assert x.grad.sum().item() == pytest.approx(0, abs=1e-9)
    assert (x.grad * x).sum().item() == pytest.approx(0, abs=1e-4)
    assert x.grad.abs().max().item() > 1e-2


def test_gradient_by_differences() -> None:
    r = np.random.RandomState(2)
    x, w, b, direction = r.randn(3, 4, 5), r.randn(4), r.randn(4), r.randn(3, 4, 5)
    for norm in (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        lambda x, w, b: F.group_norm(x, 2, w, b),
    ):
        p = torch.tensor(x, requires_grad=True)
        params = (torch.tensor(w), torch.tensor(b))
        norm(p, *params).sin().sum().backward()
        up, down = (
            norm(torch.tensor(x + e * direction), *params).sin().sum().item() for e in (1e-6, -1e-6)
        )
        assert (p.grad.numpy() * direction).sum() == pytest.approx((up - down) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("shape", [(5,), (4, 5), (3, 4, 5)])
@pytest.mark.parametrize("given", ["weight and bias", "weight", "bias", "nothing"])
def test_gradients_of_layer_norm_in_single_precision(given: str, shape: tuple[int, ...]) -> None:
    """They are products where those in double precision are sums."""
    r = np.random.RandomState(3)
    x, g, w, b = r.randn(3, 4, 5) * 3 + 5, r.randn(3, 4, 5), r.randn(*shape), r.randn(*shape)

    def gradients(dtype: torch.dtype) -> list[torch.Tensor]:
        leaves = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in (x, w, b)]
        y = F.layer_norm(
            leaves[0],
            shape,
            leaves[1] if "weight" in given else None,
            leaves[2] if "bias" in given else None,
        )
        of = [
            leaf for leaf, name in zip(leaves, ("", "weight", "bias"), strict=True) if name in given
        ]
        first = torch.autograd.grad(y, of, torch.tensor(g, dtype=dtype), create_graph=True)
        return [*first, torch.autograd.grad(first[0].sin().sum(), leaves[0])[0]]

    for single, double in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        np.testing.assert_allclose(
            single.detach().numpy(), double.detach().numpy(), rtol=2e-4, atol=2e-5
        )


def test_batch_norm_moves_running_statistics() -> None:
    x = torch.tensor([[1.0], [3.0]])
    mean, var = torch.zeros(1), torch.ones(1)
    version = mean._version
    y = F.batch_norm(x, mean, var, training=True, momentum=0.25, eps=1e-30)
    assert y.tolist() == [[-1], [1]]
    assert mean.tolist() == [0.5]
    assert var.tolist() == [0.75 + 0.25 * 2]  # the unbiased variance
    assert mean._version > version
    assert not mean.requires_grad
    assert F.batch_norm(x, mean, var).shape == (2, 1)
    assert mean.tolist() == [0.5]


def test_instance_norm_running_statistics_are_means_over_samples() -> None:
    x = torch.tensor([[[0.0, 2.0]], [[4.0, 8.0]]])
    mean, var = torch.zeros(1), torch.zeros(1)
    F.instance_norm(x, mean, var, momentum=1.0)
    assert mean.tolist() == [3.5]
    assert var.tolist() == [5]


def test_rms_norm() -> None:
    assert F.rms_norm(
        torch.tensor([3.0, 4.0]), (2,), torch.tensor([1.0, 2.0]), eps=0.0
    ).tolist() == pytest.approx([3 / 12.5**0.5, 8 / 12.5**0.5])


def test_half_precision_is_computed_in_float32() -> None:
    x = torch.full((1, 1000), 100.0, dtype=torch.bfloat16)
    x[0, 0] = 101.0
    y = F.layer_norm(x, (1000,))
    assert y.dtype is torch.bfloat16
    assert y[0, 0].item() == pytest.approx(30, rel=0.1)


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="mixed dtype"):
        F.layer_norm(torch.ones(2, 3), (3,), torch.ones(3, dtype=torch.float64))
    assert (
        F.layer_norm(torch.ones(2, 3, dtype=torch.bfloat16), (3,), torch.ones(3)).dtype
        is torch.bfloat16
    )


def test_single_values_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        F.batch_norm(torch.ones(1, 3), None, None, training=True)


def test_rms_norm_of_complex_numbers_has_the_gradients_of_its_formula() -> None:
    r = np.random.RandomState(0)
    x, weight, by = (
        torch.tensor(r.randn(*s) + 1j * r.randn(*s), requires_grad=True)
        for s in ((2, 3), (3,), (2, 3))
    )
    formula = x * (x * x).mean(-1, keepdim=True).add(0.5).rsqrt() * weight
    results = []
    for y in (F.rms_norm(x, (3,), weight, 0.5), formula):
        first = torch.autograd.grad((y * by).real.sum(), (x, weight), create_graph=True)
        second = torch.autograd.grad(sum((g * g).real.sum() for g in first), (x, weight))
        results.append([t.detach().numpy() for t in (y, *first, *second)])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)
