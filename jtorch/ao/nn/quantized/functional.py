"""Functions of quantised tensors."""

from __future__ import annotations

import warnings
from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.nn import functional as F


def _needs(name: str, input: Any) -> None:
    if not input.is_quantized:
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")


def _same(name: str) -> Any:
    function = getattr(F, name)

    def applied(input: Any, *args: Any, **kwargs: Any) -> Any:
        _needs(name, input)
        return function(input, *args, **kwargs)

    applied.__name__ = applied.__qualname__ = name
    applied.__doc__ = (
        f"``nn.functional.{name}`` of a quantised tensor, on its grid.\n\n"
        "Raises:\n    ValueError: for other tensors."
    )
    return applied


avg_pool2d = _same("avg_pool2d")
avg_pool3d = _same("avg_pool3d")
adaptive_avg_pool2d = _same("adaptive_avg_pool2d")
adaptive_avg_pool3d = _same("adaptive_avg_pool3d")
interpolate = _same("interpolate")
max_pool1d = F.max_pool1d
max_pool2d = F.max_pool2d
hardsigmoid = _same("hardsigmoid")
threshold = _same("threshold")


def _many(x: Any, n: int) -> Any:
    return x if isinstance(x, tuple | list) else (x,) * n


def _conv(n: int) -> Any:
    def conv(
        input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0,
        dtype: Any = torch.quint8,  # noqa: ARG001
    ) -> Any:  # fmt: skip
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        if input.dtype is not torch.quint8:
            raise NotImplementedError(
                f"Only torch.quint8 is supported for activation tensor of quantized conv{n}d!"
            )
        if weight.dtype is not torch.qint8:
            raise NotImplementedError(
                f"Only torch.qint8 is supported for weight tensor of quantized conv{n}d!"
            )
        ops = torch.ops.quantized
        packed = getattr(ops, f"conv{n}d_prepack")(
            weight, bias, _many(stride, n), _many(padding, n), _many(dilation, n), groups
        )
        return getattr(ops, f"conv{n}d")(input, packed, scale, zero_point)

    conv.__name__ = conv.__qualname__ = f"conv{n}d"
    conv.__doc__ = "A convolution of integers, as integers of another scale."
    return conv


conv1d, conv2d, conv3d = _conv(1), _conv(2), _conv(3)


def linear(
    input: Any, weight: Any, bias: Any = None, scale: float | None = None,
    zero_point: int | None = None,
) -> Any:  # fmt: skip
    """``input @ weight.T + bias`` of integers, as integers of another scale; that of the input if
    none is given."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    packed = torch.ops.quantized.linear_prepack(weight, bias)
    return torch.ops.quantized.linear(input, packed, scale, zero_point)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """CELU on a grid of its own."""
    _needs("celu", input)
    return torch.ops.quantized.celu(input, scale, zero_point, alpha)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """ELU on a grid of its own."""
    _needs("elu", input)
    return torch.ops.quantized.elu(input, scale, zero_point, alpha)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """Hardswish on a grid of its own."""
    _needs("hardswish", input)
    return torch.ops.quantized.hardswish(input, scale, zero_point)


def leaky_relu(
    input: Any, negative_slope: float = 0.01, inplace: bool = False, scale: float | None = None,
    zero_point: int | None = None,
) -> Any:  # fmt: skip
    """Leaky ReLU on a grid of its own, or on that of the input."""
    if scale is not None and zero_point is not None:
        return torch.ops.quantized.leaky_relu(input, negative_slope, inplace, scale, zero_point)
    return F.leaky_relu(input, negative_slope, inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Numbers within bounds."""
    _needs("hardtanh", input)
    return F.hardtanh(input, min_val, max_val, inplace)


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Numbers within bounds."""
    _needs("clamp", input)
    return torch.clamp(input, min_, max_)


def _old(name: str) -> None:
    warnings.warn(
        f"nn.quantized.functional.{name} is deprecated. Use nn.quantized.functional.interpolate "
        "instead.",
        stacklevel=3,
    )


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: Any = None,
) -> Any:  # fmt: skip
    """``interpolate``, under an old name."""
    _old("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` of images, under an old name."""
    _old("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """``interpolate`` by the nearest element, under an old name."""
    _old("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


__getattr__ = _refusals.missing(__name__)
