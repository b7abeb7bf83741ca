"""Channels-last memory that operations on images hand on. Expected strides are what PyTorch 2.13
gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
import jtorch.nn.functional as F

LAST = torch.channels_last
IMAGE = torch.arange(288.0).reshape(2, 4, 6, 6).contiguous(memory_format=LAST)
PLAIN = torch.ones(2, 4, 6, 6)
WEIGHT = torch.ones(8, 4, 3, 3)
VOLUME = torch.ones(2, 4, 6, 6, 6).contiguous(memory_format=torch.channels_last_3d)

KEEP: dict[str, Callable[[], Any]] = {
    "convolution": lambda: F.conv2d(IMAGE, WEIGHT),
    "convolution, order of the weight": lambda: F.conv2d(
        PLAIN, WEIGHT.contiguous(memory_format=LAST)
    ),
    "transposed convolution": lambda: F.conv_transpose2d(IMAGE, torch.ones(4, 8, 3, 3)),
    "max pooling": lambda: F.max_pool2d(IMAGE, 2),
    "places of maxima": lambda: F.max_pool2d(IMAGE, 2, return_indices=True)[1],
    "mean pooling": lambda: F.avg_pool2d(IMAGE, 2),
    "adaptive pooling": lambda: F.adaptive_avg_pool2d(IMAGE, 3),
    "batch normalisation": lambda: F.batch_norm(IMAGE, None, None, training=True),
    "running batch normalisation": lambda: F.batch_norm(IMAGE, torch.zeros(4), torch.ones(4)),
    "group normalisation": lambda: F.group_norm(IMAGE, 2),
    "upsampling": lambda: F.interpolate(IMAGE, scale_factor=2, mode="bilinear"),
    "padding": lambda: F.pad(IMAGE, [1, 1, 1, 1], mode="reflect"),
    "padding with a number": lambda: torch.constant_pad_nd(IMAGE, [1, 2], 0.5),
    "joining": lambda: torch.cat([IMAGE, IMAGE], 1),
    "shuffling": lambda: F.pixel_shuffle(IMAGE, 2),
    "flipping": lambda: IMAGE.flip(3),
}
LOSE: dict[str, Callable[[], Any]] = {
    "convolution": lambda: F.conv2d(PLAIN, WEIGHT),
    "circular padding": lambda: F.pad(IMAGE, [1, 1, 1, 1], mode="circular"),
    "joining with another order": lambda: torch.cat([IMAGE, PLAIN], 1),
    "one image": lambda: F.conv2d(IMAGE[0], WEIGHT),
    "instance normalisation": lambda: F.instance_norm(IMAGE),
}


@pytest.mark.parametrize("name", KEEP)
def test_results_are_in_the_order_of_the_image(name: str) -> None:
    result = KEEP[name]()
    assert result.is_contiguous(memory_format=LAST)
    if result.shape[1] > 1:
        assert not result.is_contiguous()


@pytest.mark.parametrize("name", LOSE)
def test_other_results_are_row_major(name: str) -> None:
    assert LOSE[name]().is_contiguous()


def test_volumes() -> None:
    assert F.max_pool3d(VOLUME, 2).stride() == (108, 1, 36, 12, 4)
    assert F.conv3d(VOLUME, torch.ones(3, 4, 2, 2, 2)).stride() == (375, 1, 75, 15, 3)


def test_values_and_gradients_do_not_depend_on_the_order() -> None:
    found = []
    for memory_format in (torch.contiguous_format, LAST):
        x = IMAGE.contiguous(memory_format=memory_format).requires_grad_()
        y = F.max_pool2d(torch.cat([F.conv2d(x, WEIGHT, padding=1).relu(), x], 1), 2)
        (y.flatten(1) * torch.arange(108.0)).sum().backward()
        found.append((y.detach().contiguous(), x.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_rows_cannot_be_viewed_across_channels() -> None:
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        F.conv2d(IMAGE, WEIGHT).view(2, -1)


@pytest.mark.parametrize("training", [False, True])
def test_batch_normalisation_of_what_lies_like_an_image(training: bool) -> None:
    # the dimension of size 1 has a stride that is too small
    lying = torch.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    made = F.batch_norm(lying, torch.zeros(2), torch.ones(2), training=training)
    assert made.stride() == (6, 1, 2, 2)
    assert F.instance_norm(lying).stride() == (6, 3, 1, 1)
