"""searchsorted, bucketize and isin."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch

nan = math.nan


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 100])
def test_searchsorted_agrees_with_numpy(side: str, n: int) -> None:
    rng = np.random.RandomState(n)
    edges, values = (
        np.sort(rng.randint(0, 50, n)).astype(np.float32),
        rng.randint(-5, 55, (3, 40)).astype(np.float32),
    )
    found = torch.searchsorted(torch.tensor(edges), torch.tensor(values), side=side)
    np.testing.assert_array_equal(found.numpy(), np.searchsorted(edges, values, side))


def test_rows_numbers_and_nan() -> None:
    rows = torch.tensor([[1, 3, 5], [2, 4, 6]])
    assert torch.searchsorted(rows, torch.tensor([[3, 6], [3, 6]])).tolist() == [[1, 3], [1, 2]]
    edges = torch.tensor([1.0, 2.0, 3.0])
    assert (
        torch.searchsorted(edges, 2).item() == 1
        and torch.searchsorted(edges, 2, right=True, out_int32=True).dtype is torch.int32
    )
    assert torch.searchsorted(edges, torch.tensor([nan, 0.5])).tolist() == [3, 0]
    assert torch.searchsorted(
        torch.tensor([3.0, 1, 2]), torch.tensor([1.5]), sorter=torch.tensor([1, 2, 0])
    ).tolist() == [1]
    assert torch.bucketize(torch.tensor([1.0, 2.5, 9.0]), edges).tolist() == [0, 2, 3]
    assert torch.bucketize(2, edges, right=True).item() == 2


@pytest.mark.parametrize("size", [0, 3, 100])
def test_isin(size: int) -> None:
    rng = np.random.RandomState(0)
    a, b = rng.randint(0, 60, (4, 9)), rng.randint(0, 60, size)
    np.testing.assert_array_equal(
        torch.isin(torch.tensor(a), torch.tensor(b)).numpy(), np.isin(a, b)
    )
    np.testing.assert_array_equal(
        torch.isin(torch.tensor(a), torch.tensor(b), invert=True).numpy(), ~np.isin(a, b)
    )


def test_isin_of_numbers_and_nan() -> None:
    assert torch.isin(torch.tensor([1, 2]), 1).tolist() == [True, False]
    assert torch.isin(1, torch.tensor([1.0])).item() is True
    assert torch.isin(torch.tensor([nan]), torch.full((40,), nan)).tolist() == [False]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.searchsorted(torch.ones(3), 2, side="left", right=True),
            "can't be set to opposites, got side of left",
        ),
        (
            lambda: torch.searchsorted(torch.ones(3), 2, side="middle"),
            "side can only be 'left' or 'right' but got middle",
        ),
        (
            lambda: torch.searchsorted(torch.ones(2, 3), torch.ones(3, 2)),
            "the first N-1 dimensions of boundaries tensor",
        ),
        (
            lambda: torch.searchsorted(
                torch.ones(3), torch.ones(2), sorter=torch.tensor([0, 1, 7])
            ).tolist(),
            "sorter index out of range",
        ),
        (
            lambda: torch.bucketize(torch.ones(2), torch.ones(2, 2)),
            r"boundaries tensor must be 1 dimension, but got dim\(2\)",
        ),
        (
            lambda: torch.isin(torch.tensor([True]), torch.tensor([True])),
            r"Unsupported input type encountered for isin\(\): Bool",
        ),
    ],
)
def test_errors(call, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()
