"""Convolutions and transposed convolutions over one to three spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jtorch as torch
from jtorch import Tensor

from .. import functional as F
from .. import init
from ..common_types import _size_1_t, _size_2_t, _size_3_t
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

PaddingMode = Literal["zeros", "reflect", "replicate", "circular"]
_PADDING_STRINGS = ("same", "valid")
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _set(values: Sequence[str]) -> str:
    return "{" + ", ".join(repr(v) for v in values) + "}"


class _ConvNd(Module):
    """What all convolutions share: checked settings, ``weight`` and ``bias``, and their repr."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: PaddingMode
    weight: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: PaddingMode,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in _PADDING_STRINGS:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {_set(_PADDING_STRINGS)}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(torch.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_for_pad(self) -> Sequence[int]:
        """The padding as ``F.pad`` takes it: both ends of each dimension, last dimension first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        found: list[int] = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=False):
            total = d * (k - 1)
            found += [total // 2, total - total // 2]
        return found

    def reset_parameters(self) -> None:
        """Draws weight and bias from U(-b, b), b = 1/sqrt(channels seen by an output times the kernel's size)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, default in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (default,) * len(value):
                parts.append(f"{name}={value}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"

    def _padded(self, input: Tensor) -> Tensor:
        """``input`` padded by a mode that the convolution itself does not know."""
        return F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)


class Conv1d(_ConvNd):
    """Convolves over one dimension.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, L)`` or ``(in_channels, L)``, ``weight (out_channels, in_channels / groups, kernel_size)``
    -> ``(N, out_channels, L')``, L' = floor((L + 2·padding - dilation·(kernel_size - 1) - 1) / stride + 1).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), padding if isinstance(padding, str) else _single(padding),
            _single(dilation), False, _single(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv1d(self._padded(input), weight, bias, self.stride, _single(0), self.dilation, self.groups)
        return F.conv1d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, in_channels, L)`` -> ``(N, out_channels, L')``."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_ConvNd):
    """Convolves over two dimensions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, H, W)`` or ``(in_channels, H, W)``, ``weight (out_channels, in_channels / groups, *kernel_size)``
    -> ``(N, out_channels, H', W')``, each size as in ``Conv1d``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), padding if isinstance(padding, str) else _pair(padding),
            _pair(dilation), False, _pair(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv2d(self._padded(input), weight, bias, self.stride, _pair(0), self.dilation, self.groups)
        return F.conv2d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, in_channels, H, W)`` -> ``(N, out_channels, H', W')``."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_ConvNd):
    """Convolves over three dimensions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, D, H, W)`` or without N, ``weight (out_channels, in_channels / groups, *kernel_size)``
    -> ``(N, out_channels, D', H', W')``, each size as in ``Conv1d``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), padding if isinstance(padding, str) else _triple(padding),
            _triple(dilation), False, _triple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv3d(self._padded(input), weight, bias, self.stride, _triple(0), self.dilation, self.groups)
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, in_channels, D, H, W)`` -> ``(N, out_channels, D', H', W')``."""
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions share: the choice among the output sizes that fit."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: PaddingMode,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def _output_padding(
        self,
        input: Tensor,
        output_size: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        kernel_size: Sequence[int],
        num_spatial_dims: int,
        dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:
        """The ``output_padding`` that gives ``output_size`` (with or without its leading dimensions).

        Raises:
            ValueError: if ``output_size`` has another number of dimensions, or cannot be reached.
        """
        if output_size is None:
            return _single(self.output_padding)
        n = num_spatial_dims
        leading = 2 if input.dim() == n + 2 else 1
        if len(output_size) == leading + n:
            output_size = output_size[leading:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {leading + n} elements (got {len(output_size)})"
            )
        dilation = (1,) * n if dilation is None else dilation
        smallest = [(input.size(d + leading) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel_size[d] - 1) + 1 for d in range(n)]
        largest = [smallest[d] + stride[d] - 1 for d in range(n)]
        if any(not low <= size <= high for size, low, high in zip(output_size, smallest, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input of "
                f"{input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, smallest, strict=True)]

    def _arguments(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[Any, ...]:
        """The arguments of the functional form."""
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for {type(self).__name__}")
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, len(self.kernel_size), self.dilation  # type: ignore[arg-type]
        )  # fmt: skip
        return input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation


#: The older name.
_ConvTransposeMixin = _ConvTransposeNd


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv1d``; ``output_padding`` or ``output_size`` chooses among the lengths that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, L)`` or ``(in_channels, L)``, ``weight (in_channels, out_channels / groups, kernel_size)``
    -> ``(N, out_channels, (L - 1)·stride - 2·padding + dilation·(kernel_size - 1) + output_padding + 1)``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), _single(padding), _single(dilation), True,
            _single(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, L)`` -> ``(N, out_channels, L')``."""
        return F.conv_transpose1d(*self._arguments(input, output_size))


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv2d``; ``output_padding`` or ``output_size`` chooses among the sizes that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, H, W)`` or ``(in_channels, H, W)`` -> ``(N, out_channels, H', W')``, as in ``ConvTranspose1d``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), _pair(padding), _pair(dilation), True,
            _pair(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, H, W)`` -> ``(N, out_channels, H', W')``."""
        return F.conv_transpose2d(*self._arguments(input, output_size))


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv3d``; ``output_padding`` or ``output_size`` chooses among the sizes that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, D, H, W)`` or without N -> ``(N, out_channels, D', H', W')``, as in ``ConvTranspose1d``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), _triple(padding), _triple(dilation), True,
            _triple(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, D, H, W)`` -> ``(N, out_channels, D', H', W')``."""
        return F.conv_transpose3d(*self._arguments(input, output_size))


class _LazyConvXdMixin(LazyModuleMixin):
    """What the lazy convolutions share: ``in_channels`` comes from the first input."""

    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: UninitializedParameter
    bias: UninitializedParameter

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Makes the parameters for ``input``."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        channels = (self.in_channels, self.out_channels // self.groups)
        if not self.transposed:
            channels = (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*channels, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        n = self._get_num_spatial_dims()
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == n + 2 else input.shape[0]

    def _get_num_spatial_dims(self) -> int:
        return len(self.kernel_size)

    def _uninitialize(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)


class LazyConv1d(_LazyConvXdMixin, Conv1d):  # type: ignore[misc]
    """A ``Conv1d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = Conv1d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConv2d(_LazyConvXdMixin, Conv2d):  # type: ignore[misc]
    """A ``Conv2d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = Conv2d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConv3d(_LazyConvXdMixin, Conv3d):  # type: ignore[misc]
    """A ``Conv3d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing, ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = Conv3d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):  # type: ignore[misc]
    """A ``ConvTranspose1d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = ConvTranspose1d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):  # type: ignore[misc]
    """A ``ConvTranspose2d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = ConvTranspose2d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):  # type: ignore[misc]
    """A ``ConvTranspose3d`` whose ``in_channels`` is taken from the first input.

    Args:
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    cls_to_become = ConvTranspose3d  # type: ignore[assignment]

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: PaddingMode = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._uninitialize(out_channels, bias, device, dtype)
