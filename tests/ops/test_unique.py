"""unique and unique_consecutive."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


def test_unique() -> None:
    x = torch.tensor([[3, 1], [1, 2]])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 3],
        [[2, 0], [0, 1]],
        [2, 1, 1],
    )
    assert x.unique(sorted=False).tolist() == [1, 2, 3]
    assert torch.unique(torch.tensor([1.0, float("nan"), float("nan")])).shape == (3,)
    assert torch.unique(torch.tensor([True, False, True])).tolist() == [False, True]


def test_unique_of_slices_agrees_with_numpy() -> None:
    x = np.random.RandomState(0).randint(0, 2, (20, 3, 2))
    for dim in (0, 1, 2):
        found = torch.unique(torch.tensor(x), dim=dim, return_inverse=True, return_counts=True)
        expected = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
        for a, b in zip(found, expected):
            np.testing.assert_array_equal(a.numpy(), b.reshape(a.shape))


def test_unique_consecutive() -> None:
    x = torch.tensor([1, 1, 2, 1])
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 1],
        [0, 0, 1, 2],
        [2, 1, 1],
    )
    rows = torch.tensor([[1, 1], [1, 1], [2, 1]])
    assert torch.unique_consecutive(rows, dim=0).tolist() == [[1, 1], [2, 1]]
    assert torch.unique_consecutive(torch.empty(0), return_counts=True)[1].shape == (0,)


def test_empty_slices() -> None:
    assert torch.unique(torch.ones(0, 3), dim=0).shape == (0, 3)
    with pytest.raises(
        RuntimeError,
        match="There are 0 sized dimensions, and they aren't selected, so unique cannot be applied",
    ):
        torch.unique(torch.ones(0, 3), dim=1)
    with pytest.raises(NotImplementedError, match="\"unique\" not implemented for 'ComplexFloat'"):
        torch.unique(torch.tensor([1j]))


def test_nan_of_halves_comes_last() -> None:
    x = torch.tensor([float("nan"), 1.5, float("nan"), -2.0], dtype=torch.bfloat16)
    values, inverse = torch.unique(x, return_inverse=True)
    assert (
        values.tolist()[:2] == torch.unique(x).tolist()[:2] == [-2, 1.5]
        and values.dtype is torch.bfloat16
    )
    assert values[2:].isnan().all() and values.shape == (4,) and inverse.tolist()[1::2] == [1, 0]
    assert torch.unique(x[:, None], dim=0)[:2].tolist() == [[-2], [1.5]]
