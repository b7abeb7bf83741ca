"""Covariance, correlation, gradients on grids and approximate factorisations, by NumPy and by
hand."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch

X = np.array([[1.0, 2.0, 4.0, 0.5], [0.0, 3.0, -1.0, 2.0], [2.0, 2.5, 1.0, 7.0]])


def test_covariance_follows_numpy() -> None:
    x = torch.tensor(X)
    np.testing.assert_allclose(torch.cov(x).numpy(), np.cov(X))
    np.testing.assert_allclose(torch.cov(x, correction=0).numpy(), np.cov(X, ddof=0))
    f, a = np.array([1, 2, 1, 3]), np.array([0.5, 1.0, 0.25, 2.0])
    np.testing.assert_allclose(
        torch.cov(x, fweights=torch.tensor(f)).numpy(), np.cov(X, fweights=f)
    )
    np.testing.assert_allclose(
        torch.cov(x, aweights=torch.tensor(a)).numpy(), np.cov(X, aweights=a)
    )
    np.testing.assert_allclose(torch.corrcoef(x).numpy(), np.corrcoef(X))
    assert torch.cov(x[0]).shape == ()
    assert x.cov().tolist() == torch.cov(x).tolist()


def test_covariance_of_complex_numbers_conjugates() -> None:
    z = X[:2] + 1j * X[1:]
    np.testing.assert_allclose(torch.cov(torch.tensor(z)).numpy(), np.cov(z))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fweights": torch.tensor([1, 2])}, "same numel as there are observations"),
        (
            {"fweights": torch.tensor([1.0] * 4)},
            "expected fweights to have integral dtype but got fweights with Float dtype",
        ),
        ({"aweights": torch.tensor([-1.0, 1, 1, 1])}, "aweights cannot be negative"),
        ({"fweights": torch.tensor([0] * 4)}, "weights sum to zero"),
    ],
)
def test_covariance_refuses(options: dict[str, torch.Tensor], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.cov(torch.tensor(X), **options)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_spread_warns_without_freedom(name: str) -> None:
    function, words = (
        getattr(torch, name),
        rf"^{name}\(\): degrees of freedom is <= 0\. Correction should be strictly less",
    )
    for x, options in (
        (torch.ones(1), {}),
        (torch.ones(()), {"dim": -1}),
        (torch.ones(3, 1), {"dim": 1}),
        (torch.ones(2, 2), {"dim": (0, 1), "correction": 4}),
        (torch.ones(0), {"correction": 0}),
    ):
        for _ in range(2):
            with pytest.warns(UserWarning, match=words):
                function(x, **options)
    function(torch.ones(3, 1), dim=0)
    function(torch.ones(1), correction=0.5)


def test_nothing_has_no_variance() -> None:
    assert torch.var(torch.ones(0, 2), 0, correction=-1).isnan().all()
    assert torch.std(torch.ones(0), correction=-2).isnan()


def test_covariance_warns_without_freedom() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
        assert torch.isinf(torch.cov(torch.tensor(X), correction=9)).all()


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_follows_numpy(edge_order: int) -> None:
    x = torch.tensor(X)
    for mine, other in zip(
        torch.gradient(x, edge_order=edge_order), np.gradient(X, edge_order=edge_order), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), other, atol=1e-12)
    rows, columns = np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 2.0, 3.0])
    spacing = [torch.tensor(rows), torch.tensor(columns)]
    found = torch.gradient(x, spacing=spacing, edge_order=edge_order)
    for mine, other in zip(
        found, np.gradient(X, rows, columns, edge_order=edge_order), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), other, atol=1e-12)
    (only,) = torch.gradient(x, spacing=2.0, dim=1, edge_order=edge_order)
    np.testing.assert_allclose(
        only.numpy(), np.gradient(X, 2.0, axis=1, edge_order=edge_order), atol=1e-12
    )


def test_gradient_refuses() -> None:
    x = torch.tensor(X)
    with pytest.raises(RuntimeError, match="only supports edge_order=1 and edge_order=2"):
        torch.gradient(x, edge_order=3)
    with pytest.raises(RuntimeError, match=r"at least edge_order\+1"):
        torch.gradient(x[:1])
    with pytest.raises(RuntimeError, match="got a list of length 3"):
        torch.gradient(x, spacing=[1.0, 2.0, 3.0])


def test_low_rank_factors_rebuild_a_matrix_of_low_rank() -> None:
    torch.manual_seed(0)
    a = torch.randn(7, 2, dtype=torch.float64) @ torch.randn(2, 9, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=3)
    torch.testing.assert_close((u * s) @ v.mH, a)
    u, s, v = torch.pca_lowrank(a, q=3)
    torch.testing.assert_close((u * s) @ v.mH, a - a.mean(0))
    u, s, v = torch.svd_lowrank(a, q=2, M=a.mean(0, keepdim=True))
    assert s.shape == (2,)


@pytest.mark.parametrize("largest", [True, False])
def test_lobpcg_finds_extreme_eigenpairs(largest: bool) -> None:
    torch.manual_seed(0)
    a = torch.randn(12, 12, dtype=torch.float64)
    a = a @ a.mT
    b = torch.diag(torch.arange(1.0, 13.0, dtype=torch.float64))
    values, vectors = torch.lobpcg(a, k=2, B=b, largest=largest, tol=1e-9)
    torch.testing.assert_close(a @ vectors, b @ vectors * values, atol=1e-6, rtol=1e-6)
    root = b.diag().rsqrt()
    expected = torch.linalg.eigvalsh(a * root * root.unsqueeze(1))
    expected = expected.flip(0)[:2] if largest else expected[:2]
    torch.testing.assert_close(values, expected)
