"""Convolutions and transposed convolutions over one to three spatial dimensions."""

from __future__ import annotations

from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from ..common_types import _size_1_t, _size_2_t, _size_3_t
from ._convolving import PaddingMode, _ConvNd, _ConvTransposeNd, _LazyConvXdMixin
from .lazy import documented
from .utils import _pair, _single, _triple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]  # fmt: skip


class Conv1d(_ConvNd):
    """Convolves over one dimension.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next.
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing,
            ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, L)`` or ``(in_channels, L)``, ``weight (out_channels,
    in_channels / groups, kernel_size)`` -> ``(N, out_channels, L')``, L' = floor((L + 2·padding -
    dilation·(kernel_size - 1) - 1) / stride + 1).
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride),
            padding if isinstance(padding, str) else _single(padding), _single(dilation), False,
            _single(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv1d(
                self._padded(input),
                weight,
                bias,
                self.stride,
                _single(0),
                self.dilation,
                self.groups,
            )
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
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing,
            ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, H, W)`` or ``(in_channels, H, W)``, ``weight (out_channels,
    in_channels / groups, *kernel_size)`` -> ``(N, out_channels, H',
    W')``, each size as in ``Conv1d``.
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride),
            padding if isinstance(padding, str) else _pair(padding), _pair(dilation), False,
            _pair(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv2d(
                self._padded(input), weight, bias, self.stride, _pair(0), self.dilation, self.groups
            )
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
        padding: how much is added on both sides of each dimension; ``"valid"`` for nothing,
            ``"same"`` for as much as keeps the size.
        dilation: how far the elements of the window lie apart.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, D, H, W)`` or without N, ``weight (out_channels, in_channels /
    groups, *kernel_size)`` -> ``(N, out_channels, D', H', W')``, each size as in ``Conv1d``.
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride),
            padding if isinstance(padding, str) else _triple(padding), _triple(dilation), False,
            _triple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return F.conv3d(
                self._padded(input),
                weight,
                bias,
                self.stride,
                _triple(0),
                self.dilation,
                self.groups,
            )
        return F.conv3d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """``(N, in_channels, D, H, W)`` -> ``(N, out_channels, D', H', W')``."""
        return self._conv_forward(input, self.weight, self.bias)


#: The older name.
_ConvTransposeMixin = _ConvTransposeNd


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv1d``; ``output_padding`` or ``output_size`` chooses among
    the lengths that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the
            same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, L)`` or ``(in_channels, L)``, ``weight (in_channels,
    out_channels / groups, kernel_size)`` -> ``(N, out_channels, (L - 1)·stride - 2·padding +
    dilation·(kernel_size - 1) + output_padding + 1)``.
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _single(kernel_size), _single(stride), _single(padding),
            _single(dilation), True, _single(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, L)`` -> ``(N, out_channels, L')``."""
        return F.conv_transpose1d(*self._arguments(input, output_size))


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv2d``; ``output_padding`` or ``output_size`` chooses among
    the sizes that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the
            same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, H, W)`` or ``(in_channels, H, W)`` ->
    ``(N, out_channels, H', W')``, as in ``ConvTranspose1d``.
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _pair(kernel_size), _pair(stride), _pair(padding),
            _pair(dilation), True, _pair(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, H, W)`` -> ``(N, out_channels, H', W')``."""
        return F.conv_transpose2d(*self._arguments(input, output_size))


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose (gradient) of ``Conv3d``; ``output_padding`` or ``output_size`` chooses among
    the sizes that fit.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves in the output from one input to the next.
        padding: how much is taken off both sides of each dimension of the output.
        output_padding: how much is added to one side of the output, where several sizes have the
            same input size.
        groups: into how many groups channels fall that do not see each other.
        bias: whether a bias is added, and learnt.
        dilation: how far the elements of the window lie apart.
        padding_mode: ``"zeros"``, the only one there is.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_channels, D, H, W)`` or without N -> ``(N, out_channels, D', H', W')``,
    as in ``ConvTranspose1d``.
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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, _triple(kernel_size), _triple(stride), _triple(padding),
            _triple(dilation), True, _triple(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """``(N, in_channels, D, H, W)`` -> ``(N, out_channels, D', H', W')``."""
        return F.conv_transpose3d(*self._arguments(input, output_size))


@documented
class LazyConv1d(_LazyConvXdMixin, Conv1d):  # type: ignore[misc]
    """A ``Conv1d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = Conv1d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._uninitialize(out_channels, bias, device, dtype)


@documented
class LazyConv2d(_LazyConvXdMixin, Conv2d):  # type: ignore[misc]
    """A ``Conv2d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = Conv2d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._uninitialize(out_channels, bias, device, dtype)


@documented
class LazyConv3d(_LazyConvXdMixin, Conv3d):  # type: ignore[misc]
    """A ``Conv3d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = Conv3d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._uninitialize(out_channels, bias, device, dtype)


@documented
class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):  # type: ignore[misc]
    """A ``ConvTranspose1d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = ConvTranspose1d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._uninitialize(out_channels, bias, device, dtype)


@documented
class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):  # type: ignore[misc]
    """A ``ConvTranspose2d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = ConvTranspose2d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._uninitialize(out_channels, bias, device, dtype)


@documented
class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):  # type: ignore[misc]
    """A ``ConvTranspose3d`` whose ``in_channels`` is taken from the first input."""

    cls_to_become = ConvTranspose3d

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
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._uninitialize(out_channels, bias, device, dtype)
