"""The gradients of convolutions with respect to input and weight, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch as torch
from jtorch import Tensor

from . import functional as F

Ints = int | Sequence[int]


def _gradient(
    conv: Callable[..., Tensor],
    input: Any,
    weight: Any,
    grad_output: Tensor,
    wrt: int,
    settings: tuple[object, ...],
) -> Tensor:
    """The gradient of ``conv`` for operand ``wrt`` (0 input, 1 weight); the other is given, of this
    one only the shape matters."""
    shape, other = (input, weight) if wrt == 0 else (weight, input)
    with torch.enable_grad():
        point = torch.zeros(
            tuple(shape), dtype=other.dtype, device=other.device, requires_grad=True
        )
        operands = (point, other) if wrt == 0 else (other, point)
        output = conv(*operands, None, *settings)
        return torch.autograd.grad(output, point, grad_output)[0]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to an input of ``input_size``."""
    return _gradient(
        F.conv1d, input_size, weight, grad_output, 0, (stride, padding, dilation, groups)
    )


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to a weight of ``weight_size``."""
    return _gradient(
        F.conv1d, input, weight_size, grad_output, 1, (stride, padding, dilation, groups)
    )


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to an input of ``input_size``."""
    return _gradient(
        F.conv2d, input_size, weight, grad_output, 0, (stride, padding, dilation, groups)
    )


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to a weight of ``weight_size``."""
    return _gradient(
        F.conv2d, input, weight_size, grad_output, 1, (stride, padding, dilation, groups)
    )


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to an input of ``input_size``."""
    return _gradient(
        F.conv3d, input_size, weight, grad_output, 0, (stride, padding, dilation, groups)
    )


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Ints = 1,
    padding: Ints = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to a weight of ``weight_size``."""
    return _gradient(
        F.conv3d, input, weight_size, grad_output, 1, (stride, padding, dilation, groups)
    )
