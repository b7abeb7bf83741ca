"""Resizing: bytes in integers, what is copied, what is refused."""

from __future__ import annotations

import pytest

import jtorch as torch

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
