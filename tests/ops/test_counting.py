"""bincount, histc and histograms."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


def test_bincount() -> None:
    x = torch.tensor([1, 3, 1])
    assert x.bincount().tolist() == [0, 2, 0, 1] and x.bincount(minlength=6).shape == (6,)
    assert x.bincount(torch.tensor([0.5, 1.0, 2.0])).tolist() == [0, 2.5, 0, 1]
    assert x.bincount(torch.ones(3, dtype=torch.int32)).dtype is torch.float64
    assert torch.empty(0, dtype=torch.int64).bincount().tolist() == []


def test_histc() -> None:
    x = torch.tensor([0.0, 1.0, 1.5, 4.0, 9.0])
    assert torch.histc(x, 4, 0, 4).tolist() == [1, 2, 0, 1]
    assert (
        torch.histc(torch.ones(3), 3).tolist() == [0, 3, 0]
        and torch.histc(x.half(), 2).dtype is torch.float16
    )


@pytest.mark.parametrize("density", [False, True])
def test_histogram_agrees_with_numpy(density: bool) -> None:
    rng = np.random.RandomState(0)
    x, w = rng.randn(500), rng.rand(500)
    for bins, span in ((7, None), (50, (-1.0, 2.0)), (np.array([-1.0, 0.0, 0.5, 3.0]), None)):
        expected, edges = np.histogram(x, bins, span, density, w)
        given = torch.tensor(bins) if isinstance(bins, np.ndarray) else bins
        found = torch.histogram(
            torch.tensor(x), given, range=span, weight=torch.tensor(w), density=density
        )
        np.testing.assert_allclose(found.hist.numpy(), expected, rtol=1e-10)
        np.testing.assert_allclose(found.bin_edges.numpy(), edges, rtol=1e-12)


def test_histogramdd_agrees_with_numpy() -> None:
    x = np.random.RandomState(0).randn(200, 3)
    expected, edges = np.histogramdd(x, (2, 3, 4))
    hist, found = torch.histogramdd(torch.tensor(x), (2, 3, 4))
    np.testing.assert_array_equal(hist.numpy(), expected)
    for a, b in zip(found, edges):
        np.testing.assert_allclose(a.numpy(), b)
    assert torch.histogramdd(
        torch.tensor(x), [torch.tensor([-1.0, 0, 1.0]).double()] * 3
    ).hist.shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.tensor([-1]).bincount(),
            RuntimeError,
            "bincount only supports 1-d non-negative integral inputs.",
        ),
        (
            lambda: torch.tensor([1.0]).bincount(),
            NotImplementedError,
            "\"bincount_cpu\" not implemented for 'Float'",
        ),
        (
            lambda: torch.histc(torch.ones(3), 0),
            RuntimeError,
            r"torch.histogram\(\): bins must be > 0, but got 0 for dimension 0",
        ),
        (
            lambda: torch.histc(torch.ones(3), 2, 3, 0),
            RuntimeError,
            "torch.histc: max must be larger than min",
        ),
        (
            lambda: torch.histc(torch.tensor([1.0, float("nan")])).tolist(),
            RuntimeError,
            "is not finite",
        ),
        (
            lambda: torch.histogram(torch.ones(3), 2, range=(3.0, 1.0)),
            RuntimeError,
            "min should not exceed max, but got min 3 max 1",
        ),
        (
            lambda: torch.histogramdd(torch.ones(5, 2), [2]),
            RuntimeError,
            "size of bins must be equal to the innermost dimension",
        ),
    ],
)
def test_errors(call, kind, text) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_what_histc_refuses_first():
    with pytest.raises(RuntimeError, match=r"range of \[inf, 1\] is not finite"):
        torch.histc(torch.ones(2), 5, float("inf"), 1)
    with pytest.raises(NotImplementedError, match=r"aminmax_cpu.*ComplexFloat"):
        torch.histc(torch.ones(2, dtype=torch.complex64), 5)
