"""Rounding to a grid: values by hand, the straight-through gradient, errors."""

from __future__ import annotations

import pytest

import jtorch as torch


def test_per_tensor_rounds_and_clips() -> None:
    x = torch.tensor([-1.0, 0.26, 0.3, 9.0])
    for scale, zero in ((0.5, 1), (torch.tensor(0.5), torch.tensor(1, dtype=torch.int32))):
        assert torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 10).tolist() == [
            -0.5,
            0.5,
            0.5,
            4.5,
        ]


def test_per_channel_has_a_scale_for_each() -> None:
    x = torch.tensor([[0.3, 0.3], [0.3, 0.3]])
    found = torch.fake_quantize_per_channel_affine(
        x, torch.tensor([0.5, 0.25]), torch.zeros(2), 1, 0, 255
    )
    assert found.tolist() == [[0.5, 0.25], [0.5, 0.25]]


def test_gradient_passes_where_nothing_is_clipped() -> None:
    x = torch.tensor([-1.0, 0.3, 9.0], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 10).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_refuses() -> None:
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match="`quant_min` should be less than or"):
        torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 5, 4)
    with pytest.raises(RuntimeError, match="`zero_point` must be between"):
        torch.fake_quantize_per_tensor_affine(x, 0.5, 7, 0, 4).tolist()
    with pytest.raises(RuntimeError, match="dimensions of scale and zero-point are not consistent"):
        torch.fake_quantize_per_channel_affine(x, torch.ones(2), torch.zeros(2), 1, 0, 4)


def test_dtypes_of_scales_and_zero_points_of_channels() -> None:
    x, scale, zero = torch.ones(3, 4), torch.ones(3), torch.zeros(3, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="Scale must be Float or BFloat16, found Double"):
        torch.fake_quantize_per_channel_affine(x, scale.double(), zero, 0, 0, 255)
    with pytest.raises(RuntimeError, match="Zero-point must be Int32, Float or Half, found Long"):
        torch.fake_quantize_per_channel_affine(x, scale, zero.long(), 0, 0, 255)


@pytest.mark.parametrize("channels", [False, True])
def test_operands_may_be_written_into_before_the_backward_pass(channels: bool) -> None:
    """PyTorch keeps where nothing was clipped, and neither input nor grid."""
    start = torch.tensor([0.3, 9.0, -5.0], requires_grad=True)
    x = start * 1
    scale = torch.full((3 if channels else 1,), 0.5)
    zero = torch.zeros(scale.shape, dtype=torch.int32)
    if channels:
        y = torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 10)
    else:
        y = torch.fake_quantize_per_tensor_affine(x, scale, zero, 0, 10)
    x.add_(-100.0)
    scale.mul_(7.0)
    y.sum().backward()
    assert start.grad is not None
    assert start.grad.tolist() == [1.0, 0.0, 0.0]


def test_numbers_of_half_precision_are_rounded_once() -> None:
    x = torch.tensor([0.3, -1.7, 2.55, 100.0])
    for dtype, numbers in (
        (torch.float16, [0.300048828125, -0.300048828125, 2.599609375, 25.203125]),
        (torch.bfloat16, [0.30078125, -0.30078125, 2.5, 25.25]),
    ):
        y = torch.fake_quantize_per_tensor_affine(x.to(dtype), 0.1, 3, 0, 255)
        assert y.tolist() == numbers
        one = torch.full((4,), 0.1), torch.full((4,), 3, dtype=torch.int32)
        z = torch.fake_quantize_per_channel_affine(x.to(dtype), *one, 0, 0, 255)
        assert z.tolist() == numbers


def test_scales_are_of_single_precision_for_doubles_too() -> None:
    x = torch.tensor([2.55], dtype=torch.float64)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    assert abs(y.item() - 2.6) < 1e-6


def test_zero_points_of_floats_are_added_before_rounding_and_may_lie_outside() -> None:
    x = torch.tensor([[1.0, 2.0], [4.0, 5.0], [1.0, 2.0]], requires_grad=True)
    scale, zero = torch.tensor([0.1, 0.3, 0.1]), torch.tensor([-3.5, 300.2, 1.5])
    found = torch.fake_quantize_per_channel_affine(x, scale, zero, 0, 0, 255)
    expected = torch.tensor([[0.95, 1.95], [-13.56, -13.56], [1.05, 2.05]])
    assert torch.allclose(found, expected)
    found.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
