"""Functions under nn.functional: values by hand or against the public function."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.nn import functional as F


def test_native_dropout_gives_its_mask() -> None:
    torch.manual_seed(0)
    x = torch.ones(100)
    found, mask = torch.native_dropout(x, 0.25, True)
    torch.testing.assert_close(found, mask / 0.75)
    assert 60 < mask.sum() < 90
    assert torch.native_dropout(x, 1.0, True)[0].sum() == 0
    found, mask = torch.native_dropout(x, 0.25, False)
    assert mask.all()
    assert found.tolist() == x.tolist()


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_norm_except_dim(dim: int) -> None:
    v = torch.arange(24.0).reshape(2, 3, 4)
    found = torch.norm_except_dim(v, 2, dim)
    others = [d for d in range(3) if d != dim]
    expected = v.square().sum(others, keepdim=True).sqrt() if dim >= 0 else v.square().sum().sqrt()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_embedding_bag_gives_what_its_gradient_needs(mode: int) -> None:
    weight = torch.tensor([[1.0, 9.0], [2.0, 3.0], [4.0, 0.0]])
    indices, offsets = torch.tensor([0, 1, 2]), torch.tensor([0, 2])
    found, bags, sizes, places = torch.embedding_bag(weight, indices, offsets, mode=mode)
    torch.testing.assert_close(
        found, F.embedding_bag(indices, weight, offsets, mode=("sum", "mean", "max")[mode])
    )
    if mode == 0:
        assert (bags.numel(), sizes.tolist(), places.tolist()) == (0, [0, 0], [0, 0])
    else:
        assert (bags.tolist(), sizes.tolist()) == ([0, 0, 1], [2, 1])
    if mode == 2:
        assert places.tolist() == [[1, 0], [2, 2]]


def test_batch_norm_over_processes_is_batch_norm_of_all() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 3, 4, dtype=torch.float64)
    weight, bias, g = (
        torch.randn(3, dtype=torch.float64),
        torch.randn(3, dtype=torch.float64),
        torch.randn_like(x),
    )
    parts, eps = x.split([2, 4]), 1e-5
    stats = [torch.batch_norm_stats(p, eps) for p in parts]
    counts = torch.tensor([8.0, 16.0], dtype=torch.float64)
    running_mean, running_var = (
        torch.zeros(3, dtype=torch.float64),
        torch.ones(3, dtype=torch.float64),
    )
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        parts[0],
        torch.stack([m for m, _ in stats]),
        torch.stack([s for _, s in stats]),
        running_mean,
        running_var,
        0.1,
        eps,
        counts,
    )
    expected_mean, expected_var = (
        torch.zeros(3, dtype=torch.float64),
        torch.ones(3, dtype=torch.float64),
    )
    y = x.clone().requires_grad_()
    w = weight.clone().requires_grad_()
    expected = F.batch_norm(y, expected_mean, expected_var, w, bias, True, 0.1, eps)
    torch.testing.assert_close(
        torch.batch_norm_elemt(x, weight, bias, mean, invstd, eps), expected.detach()
    )
    torch.testing.assert_close(running_mean, expected_mean)
    torch.testing.assert_close(running_var, expected_var)
    expected.backward(g)
    sums = torch.batch_norm_backward_reduce(g, x, mean, invstd, weight, True, True, True)
    torch.testing.assert_close(sums[2], w.grad)
    torch.testing.assert_close(
        torch.batch_norm_backward_elemt(g, x, mean, invstd, weight, sums[0], sums[1], counts),
        y.grad,
    )
    mean_now, var_now = torch.batch_norm_update_stats(
        x, torch.zeros(3, dtype=torch.float64), None, 0.1
    )
    torch.testing.assert_close(mean_now, x.mean((0, 2)))
    torch.testing.assert_close(var_now, x.var((0, 2), correction=0))


def test_grouped_products() -> None:
    a, b = torch.arange(6.0).reshape(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
    assert F.grouped_mm(a, b, offs=torch.tensor([1, 3])).tolist() == [
        [0.0, 1.0],
        [4.0, 6.0],
        [8.0, 10.0],
    ]
    assert F.grouped_mm(a, b, offs=torch.tensor([1, 2])).tolist()[2] == [0.0, 0.0]
    assert F.grouped_mm(a.mT, a, offs=torch.tensor([1, 3])).shape == (2, 2, 2)
    assert F.grouped_mm(b, torch.ones(2, 5), offs=torch.tensor([2, 5])).shape == (2, 5)
    assert F.grouped_mm(b, b).shape == (2, 2, 2)
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        F.grouped_mm(a, b)
    with pytest.raises(RuntimeError, match="Bias not supported yet"):
        F.grouped_mm(b, b, bias=a)


def test_unravel_index() -> None:
    rows, columns = torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 2])
    with pytest.raises(TypeError, match="to be integer dtype"):
        torch.unravel_index(torch.tensor([1.0]), (2,))
    with pytest.raises(ValueError, match="cannot have negative values"):
        torch.unravel_index(torch.tensor([1]), (-2,))
