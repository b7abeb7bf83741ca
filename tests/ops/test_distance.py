"""Distances and cosine similarity."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("p", "expected"), [(1.0, 7.0), (2.0, 5.0), (math.inf, 4.0), (0.0, 2.0), (3.0, 91 ** (1 / 3))]
)
def test_cdist_orders(p: float, expected: float) -> None:
    assert torch.cdist(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), p=p).item() == pytest.approx(
        expected
    )


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_gradient_between_equal_rows_is_zero(p: float) -> None:
    for n in (2, 30):  # computed from differences, and by a product
        x = torch.ones(n, 3, dtype=torch.float64, requires_grad=True)
        torch.cdist(x, torch.ones(n, 3, dtype=torch.float64), p=p).sum().backward()
        assert x.grad.abs().max().item() == 0


def test_product_and_differences_agree() -> None:
    r = np.random.RandomState(0)
    x, y = torch.tensor(r.randn(2, 30, 3)), torch.tensor(r.randn(30, 3))
    by_product = torch.cdist(x, y)
    by_difference = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    np.testing.assert_allclose(by_product.numpy(), by_difference.numpy(), 1e-9)


def test_pdist_order() -> None:
    assert torch.nn.functional.pdist(torch.tensor([[0.0], [1.0], [3.0]])).tolist() == [1, 3, 2]


def test_cosine_of_zero_is_zero() -> None:
    x = torch.zeros(1, 2, requires_grad=True)
    found = torch.cosine_similarity(x, torch.ones(1, 2))
    found.backward()
    assert found.item() == 0
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0])
def test_distances_from_nan_are_nan(p):
    a, b = torch.tensor([[float("nan"), 1.0]]), torch.tensor([[1.0, 2.0]])
    assert torch.cdist(a, b, p).isnan().all() and torch.pdist(torch.cat([a, b]), p).isnan().all()
    assert torch.cdist(b, b + 1, p).item() == pytest.approx(2 ** (1 / p) if p else 2)


def test_the_operator_computes_as_it_is_told():
    x = 1000 + torch.tensor([[0.1, 0.2], [3.3, 4.7]])
    exact = torch.cdist(x, x)[0, 1].item()
    by_product = torch.cdist(x, x, compute_mode="use_mm_for_euclid_dist")[0, 1].item()
    assert by_product != exact  # a difference of large products
    for operator in (torch.ops.aten.cdist, torch.ops.aten._cdist_forward):
        found = [operator(x, x, 2.0, mode)[0, 1].item() for mode in (None, 0, 1, 2)]
        assert found == [exact, exact, by_product, exact]
        with pytest.raises(RuntimeError, match=r"^possible modes: 0, 1, 2, but was: 3$"):
            operator(x, x, 2.0, 3)
