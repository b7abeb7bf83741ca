"""Resizing: bytes in integers, what is copied, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops.interpolation import Table, _cubic_table, _linear_table, _nearest_table

interpolate = torch.nn.functional.interpolate


def test_bytes_are_summed_with_whole_weights_and_rounded_after_each_dimension() -> None:
    x = torch.tensor([[[[0, 255, 10], [128, 3, 77]]]], dtype=torch.uint8)
    found = interpolate(x, size=(3, 5), mode="bilinear")
    assert found.tolist() == [
        [[[0, 102, 255, 108, 10], [64, 90, 129, 78, 44], [128, 78, 3, 47, 77]]]
    ]
    found = interpolate(x, size=(3, 5), mode="bicubic")
    assert found.tolist() == [
        [[[0, 121, 255, 130, 0], [70, 96, 129, 81, 42], [152, 70, 0, 32, 91]]]
    ]


def test_many_weights_of_bytes_are_exact() -> None:
    x = torch.full((1, 1, 64, 64), 255, dtype=torch.uint8)
    assert interpolate(x, size=(2, 2), mode="bicubic", antialias=True).tolist() == [
        [[[255, 255], [255, 255]]]
    ]


def test_bytes_of_the_same_size_are_copied_whatever_the_scale() -> None:
    x = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4)
    assert torch.equal(interpolate(x, scale_factor=1.2, mode="bicubic"), x)
    assert torch.equal(
        interpolate(x.float(), scale_factor=1.2, mode="bicubic", antialias=True), x.float()
    )
    assert not torch.equal(interpolate(x.float(), scale_factor=1.2, mode="bicubic"), x.float())


def test_bytes_are_refused_where_there_is_no_fixed_point_form() -> None:
    with pytest.raises(
        NotImplementedError, match="\"compute_indices_weights_linear\" not implemented for 'Byte'"
    ):
        interpolate(torch.zeros(1, 1, 4, dtype=torch.uint8), size=8, mode="linear")


@pytest.mark.parametrize(
    "shape", [(2, 0, 4, 3), (0, 3, 4, 3), (2, 0, 2, 4, 3), (0, 3, 2, 4, 3), (2, 3, 2, 4, 3)]
)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_samples_of_nothing(shape: tuple[int, ...], mode: str) -> None:
    n = len(shape) - 2
    rest = (2, 3, 0)[-n:] if 0 not in shape else (2, 3, 4)[-n:]
    x, grid = (
        torch.ones(shape, requires_grad=True),
        torch.zeros(shape[0], *rest, n, requires_grad=True),
    )
    made = torch.nn.functional.grid_sample(x, grid, mode=mode, align_corners=False)
    assert made.shape == (*shape[:2], *rest)
    made.sum().backward()
    assert (
        x.grad.shape == shape
        and not x.grad.any()
        and grid.grad.shape == grid.shape
        and not grid.grad.any()
    )


@pytest.mark.parametrize(
    ("table", "regular"),
    [
        (_linear_table(16, 32, 2.0, False, np.float32), True),
        (_linear_table(32, 64, None, True, np.float32), True),
        (_linear_table(48, 24, 0.5, False, np.float32), True),
        (_cubic_table(16, 32, None, False, np.float32), True),
        (_cubic_table(31, 37, None, False, np.float32), False),
        (_linear_table(30, 45, 1.5, False, np.float32), True),
        (_nearest_table(32, 16, None, False), True),
        (_linear_table(16, 32, 2.0, False, np.float32).transposed(), True),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_by_steps_are_those_of_the_table(table: Table, regular: bool, axis: int) -> None:
    """The same elements weighted in the same order, infinities and NaN at the edges included."""
    assert (table.regular() is not None) == regular
    x = np.random.default_rng(0).standard_normal((table.size, 3)).astype(np.float32)
    x[[0, -2], [0, 1]], x[table.size // 2, 2] = np.inf, np.nan
    expected = np.zeros((len(table.places), 3), np.float32)
    with np.errstate(invalid="ignore"):
        for t in range(table.places.shape[1]):
            expected += x[table.places[:, t]] * table.weights[:, t, None].astype(np.float32)
    found = table.apply(x if axis == 0 else np.ascontiguousarray(x.T), axis)
    np.testing.assert_array_equal(np.asarray(found if axis == 0 else found.T), expected)
