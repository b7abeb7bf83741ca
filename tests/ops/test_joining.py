"""Joining and repeating: values by NumPy, torch's words for what does not fit, gradients by their
meaning."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


def arange(*shape: int) -> torch.Tensor:
    return torch.arange(float(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat_and_stack_follow_numpy(dim: int) -> None:
    a, b = arange(2, 3), arange(2, 3) + 10
    np.testing.assert_array_equal(
        torch.cat([a, b], dim).numpy(), np.concatenate([a.numpy(), b.numpy()], dim)
    )
    np.testing.assert_array_equal(
        torch.stack((a, b), dim).numpy(), np.stack([a.numpy(), b.numpy()], dim)
    )


def test_cat_skips_empty_vectors_but_counts_their_dtype() -> None:
    empty = torch.zeros(0, dtype=torch.float64)
    found = torch.cat([empty, arange(2, 3)], 1)
    assert found.shape == (2, 3)
    assert found.dtype is torch.float64
    assert torch.cat([torch.zeros(0), torch.zeros(0)], 1).shape == (0,)


def test_cat_promotes() -> None:
    assert (
        torch.cat([torch.ones(1, dtype=torch.int8), torch.ones(1, dtype=torch.uint8)]).dtype
        is torch.int16
    )
    assert (
        torch.concatenate([torch.ones(1, dtype=torch.int64), torch.ones(1)]).dtype is torch.float32
    )


@pytest.mark.parametrize(
    ("tensors", "dim", "error", "words"),
    [
        (
            [(2, 3), (2, 4)],
            0,
            RuntimeError,
            "Expected size 3 but got size 4 for tensor number 1 in the list.",
        ),
        (
            [(2, 3), (3,)],
            0,
            RuntimeError,
            "Tensors must have same number of dimensions: got 2 and 1",
        ),
        (
            [(), ()],
            0,
            RuntimeError,
            "zero-dimensional tensor (at position 0) cannot be concatenated",
        ),
        (
            [(2,), (2,)],
            1,
            IndexError,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        ),
        ([], 0, ValueError, "torch.cat(): expected a non-empty list of Tensors"),
    ],
)
def test_cat_refuses(
    tensors: list[tuple[int, ...]], dim: int, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        torch.cat([torch.zeros(s) for s in tensors], dim)
    assert words in str(caught.value)


def test_cat_gradient_goes_back_in_parts() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    (torch.cat([a, b, a]) * torch.arange(7.0)).sum().backward()
    assert a.grad.tolist() == [5.0, 7.0]
    assert b.grad.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shapes", [[(3,), (3,)], [(2, 3), (2, 3)], [(2, 3, 4), (2, 3, 4)]])
def test_stacks_follow_numpy(name: str, shapes: list[tuple[int, ...]]) -> None:
    tensors = [arange(*s) + i for i, s in enumerate(shapes)]
    np.testing.assert_array_equal(
        getattr(torch, name)(tensors).numpy(), getattr(np, name)([t.numpy() for t in tensors])
    )


def test_stack_names_the_entry_that_differs() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"stack expects each tensor to be equal size, but got \[2\] at entry 0 and \[3\] at "
        r"entry 1",
    ):
        torch.stack([torch.zeros(2), torch.zeros(3)])


def test_block_diag() -> None:
    found = torch.block_diag(torch.tensor(1), torch.tensor([2, 3]), torch.tensor([[4], [5]]))
    assert found.tolist() == [[1, 0, 0, 0], [0, 2, 3, 0], [0, 0, 0, 4], [0, 0, 0, 5]]
    assert torch.block_diag().shape == (1, 0)


def test_products_and_combinations() -> None:
    pair = torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    assert pair.tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]
    x = torch.tensor([1, 2, 3])
    assert torch.combinations(x).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert torch.combinations(x, 1, with_replacement=True).tolist() == [[1], [2], [3]]
    assert torch.combinations(x, 5).shape == (0, 5)


def test_repeat_and_tile() -> None:
    x = arange(2, 3)
    for repeats in [(1, 2), (2, 1, 3), (0, 1)]:
        np.testing.assert_array_equal(x.repeat(*repeats).numpy(), np.tile(x.numpy(), repeats))
    np.testing.assert_array_equal(torch.tile(x, (2,)).numpy(), np.tile(x.numpy(), 2))
    with pytest.raises(
        RuntimeError, match="Number of dimensions of repeat dims can not be smaller"
    ):
        x.repeat(2)


def test_repeat_gradient_sums_the_copies() -> None:
    x = torch.ones(2, requires_grad=True)
    x.repeat(3, 2).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_repeat_interleave() -> None:
    x = torch.tensor([[1, 2], [3, 4]])
    assert x.repeat_interleave(2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert x.repeat_interleave(torch.tensor([1, 2]), 0).tolist() == [[1, 2], [3, 4], [3, 4]]
    assert x.repeat_interleave(torch.tensor([1, 2]), dim=1, output_size=3).tolist() == [
        [1, 2, 2],
        [3, 4, 4],
    ]
    assert torch.repeat_interleave(torch.tensor([0, 2, 1])).tolist() == [1, 1, 2]
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        torch.repeat_interleave(x, torch.tensor([1, -2]), 0)
    with pytest.raises(RuntimeError, match="allocated size does not match required size"):
        x.repeat_interleave(torch.tensor([1, 2]), dim=1, output_size=5).tolist()


def test_meshgrid_is_made_of_views() -> None:
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4, 5])
    rows, columns = torch.meshgrid(a, b, indexing="ij")
    assert rows.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert columns.tolist() == [[3, 4, 5], [3, 4, 5]]
    assert [g.shape for g in torch.meshgrid(a, b, indexing="xy")] == [(3, 2), (3, 2)]
    with pytest.warns(UserWarning, match="indexing argument"):
        torch.meshgrid(a, b)


def test_broadcast_tensors_share_memory() -> None:
    a = torch.zeros(3, 1)
    wide, _ = torch.broadcast_tensors(a, torch.zeros(2))
    assert wide.shape == (3, 2)
    a.fill_(7)
    assert wide.tolist() == [[7.0, 7.0]] * 3
