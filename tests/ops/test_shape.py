"""Flips, rolls, triangles, diagonals, shuffles and patches: values by NumPy or by hand, inverses,
adjoints."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F


def arange(*shape: int) -> torch.Tensor:
    return torch.arange(float(np.prod(shape))).reshape(shape)


def test_flips_and_rolls_follow_numpy() -> None:
    x = arange(2, 3, 4)
    np.testing.assert_array_equal(x.flip(0, 2).numpy(), np.flip(x.numpy(), (0, 2)))
    np.testing.assert_array_equal(x.fliplr().numpy(), np.fliplr(x.numpy()))
    np.testing.assert_array_equal(x.flipud().numpy(), np.flipud(x.numpy()))
    for k in range(-1, 5):
        np.testing.assert_array_equal(
            torch.rot90(x, k, (2, 0)).numpy(), np.rot90(x.numpy(), k, (2, 0))
        )
    for shifts, dims in [(1, 0), ((1, -2), (0, 2)), (7, 1)]:
        np.testing.assert_array_equal(
            x.roll(shifts, dims).numpy(), np.roll(x.numpy(), shifts, dims)
        )
    np.testing.assert_array_equal(x.roll(5).numpy(), np.roll(x.numpy(), 5))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: x.flip(0, 0), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (
            lambda x: torch.rot90(x, 1, (0, -2)),
            RuntimeError,
            "expected rotation dims to be different, but got dim0 = 0 and dim1 = -2",
        ),
        (
            lambda x: x.roll((1, 2), (0,)),
            RuntimeError,
            "shifts and dimensions must align. shifts: 2, dims:1",
        ),
        (lambda x: x[0].tril(), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
        (
            lambda x: torch.diag_embed(x, 0, 1, 1),
            RuntimeError,
            "diagonal dimensions cannot be identical 1, 1",
        ),
        (
            lambda x: torch.trace(x[0]),
            RuntimeError,
            "trace: expected a matrix, but got tensor with dim 1",
        ),
        (
            lambda x: F.pixel_shuffle(x, 2),
            RuntimeError,
            "pixel_shuffle expects input to have at least 3 dimensions",
        ),
        (
            lambda x: torch.renorm(x, 2, 0, -1),
            RuntimeError,
            "renorm: expected maxnorm to be >= 0 but got -1",
        ),
    ],
)
def test_refuses(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(arange(2, 3))
    assert words in str(caught.value)


@pytest.mark.parametrize("diagonal", [-3, -1, 0, 1, 9, 2**40])
def test_triangles(diagonal: int) -> None:
    x = arange(2, 3, 4)
    offset = min(diagonal, 100)
    np.testing.assert_array_equal(x.tril(diagonal).numpy(), np.tril(x.numpy(), offset))
    np.testing.assert_array_equal(x.triu(diagonal).numpy(), np.triu(x.numpy(), offset))


def test_triangle_in_place() -> None:
    x = torch.ones(2, 2)
    assert x.tril_() is x
    assert x.tolist() == [[1.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset: int) -> None:
    x = arange(3)
    np.testing.assert_array_equal(torch.diag(x, offset).numpy(), np.diag(x.numpy(), offset))
    matrix = arange(3, 4)
    np.testing.assert_array_equal(
        torch.diag(matrix, offset).numpy(), np.diag(matrix.numpy(), offset)
    )
    for dims in [(0, 2), (2, 0), (1, 2)]:
        embedded = torch.diag_embed(matrix, offset, *dims)
        np.testing.assert_array_equal(np.diagonal(embedded.numpy(), offset, *dims), matrix.numpy())
    assert embedded.sum() == matrix.sum()
    np.testing.assert_array_equal(
        torch.diagflat(matrix, offset).numpy(), np.diagflat(matrix.numpy(), offset)
    )


def test_trace_counts_integers_in_int64() -> None:
    found = torch.trace(torch.tensor([[100, 0], [0, 100]], dtype=torch.int8))
    assert found.dtype is torch.int64
    assert found.item() == 200


def test_kron_and_vander_follow_numpy() -> None:
    a, b = arange(2, 3), arange(4) + 1
    np.testing.assert_array_equal(torch.kron(a, b).numpy(), np.kron(a.numpy(), b.numpy()))
    for n in (None, 0, 1, 5):
        np.testing.assert_array_equal(torch.vander(b, n).numpy(), np.vander(b.numpy(), n))
        np.testing.assert_array_equal(
            torch.vander(b, n, increasing=True).numpy(), np.vander(b.numpy(), n, increasing=True)
        )


def test_renorm_bounds_only_the_slices_that_are_too_long() -> None:
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], requires_grad=True)
    found = torch.renorm(x, 2, 0, 1)
    assert found.norm(dim=1).tolist() == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)
    found.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert x.grad[1:].tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_shuffles_undo_each_other() -> None:
    x = arange(2, 8, 3, 5)
    assert F.pixel_shuffle(x, 2).shape == (2, 2, 6, 10)
    assert torch.equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x)
    assert torch.equal(F.channel_shuffle(F.channel_shuffle(x, 2), 4), x)
    assert F.channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten().tolist() == [
        0.0,
        2.0,
        1.0,
        3.0,
    ]


def test_one_hot() -> None:
    assert F.one_hot(torch.tensor([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(torch.tensor(1), 3).tolist() == [0, 1, 0]
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        F.one_hot(torch.tensor([5]), 3).tolist()
    with pytest.raises(RuntimeError, match="Class values must be non-negative"):
        F.one_hot(torch.tensor([-1]), 3).tolist()


def test_one_hot_of_many_classes() -> None:
    """Only the ones are worked out, so that long rows cost what their memory does."""
    rows = F.one_hot(torch.tensor([[2, 20_000], [7, 2]]))
    assert rows.shape == (2, 2, 20_001) and rows.sum().item() == 4
    assert rows[0, 1, 20_000] == rows[0, 0, 2] == rows[1, 0, 7] == rows[1, 1, 2] == 1
    assert F.one_hot(torch.tensor(3), 30_000).nonzero().tolist() == [[3]]
    assert F.one_hot(torch.empty(0, dtype=torch.int64), 10**10).shape == (0, 10**10)
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        F.one_hot(torch.tensor([20_000]), 20_000)


def test_unfold_takes_windows() -> None:
    x = arange(1, 1, 3, 3)
    assert F.unfold(x, 2)[0].T.tolist() == [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]


@pytest.mark.parametrize(
    "window",
    [
        {"kernel_size": 2},
        {"kernel_size": (3, 2), "dilation": (1, 2), "padding": (2, 1), "stride": (2, 1)},
    ],
)
def test_fold_is_the_adjoint_of_unfold(window: dict) -> None:
    x = torch.randn(2, 3, 5, 6)
    columns = F.unfold(x, **window)
    y = torch.randn(columns.shape)
    left, right = (columns * y).sum(), (x * F.fold(y, (5, 6), **window)).sum()
    assert left.item() == pytest.approx(right.item(), rel=1e-4, abs=1e-4)


def test_fold_checks_the_number_of_blocks() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"expected size of input's dimension 2 to match the calculated number of sliding "
        r"blocks 1 \* 2 = 2",
    ):
        F.fold(torch.zeros(1, 4, 3), (2, 3), 2)


def test_windows_of_impossible_paddings() -> None:
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.nn.functional.unfold(torch.ones(1, 1, 4, 4), 2, padding=2**62)


def test_fold_refuses_negative_numbers_of_blocks() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"calculated shape of the array of sliding blocks as \(-4, -3\), which is too small",
    ):
        F.fold(torch.zeros(1, 12, 12), (4, 5), 2, dilation=8)
