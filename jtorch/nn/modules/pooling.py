"""Pooling over windows: maximum, average, power mean, adaptive and fractional, and the inverse of
maximum pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch import Tensor

from .. import functional as F
from ..common_types import (
    _ratio_2_t,
    _ratio_3_t,
    _size_1_t,
    _size_2_opt_t,
    _size_2_t,
    _size_3_opt_t,
    _size_3_t,
    _size_any_opt_t,
    _size_any_t,
)
from .module import Module
from .utils import _pair, _single, _triple

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function


__all__ = [
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "AvgPool1d",
    "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d",
    "LPPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum over windows (and its index with ``return_indices``).

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how much, lower than all numbers, is added on both sides of each dimension, half a
            window at most.
        dilation: how far the elements of the window lie apart.
        return_indices: whether the places of the largest elements are given, too.
        ceil_mode: whether windows that begin inside and end outside count.

    Shapes: ``(N, C, L)`` or ``(C, L)`` -> ``(N, C, floor((L + 2·padding - dilation·(kernel_size
    - 1) - 1) / stride + 1))``.
    """

    def forward(self, input: Tensor) -> Any:
        """``(N, C, L)`` -> ``(N, C, L')``."""
        return F.max_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool2d(_MaxPoolNd):
    """The maximum over windows (and its index with ``return_indices``). Shapes: ``(N, C, H, W)`` ->
    ``(N, C, H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how much, lower than all numbers, is added on both sides of each dimension, half a
            window at most.
        dilation: how far the elements of the window lie apart.
        return_indices: whether the places of the largest elements are given, too.
        ceil_mode: whether windows that begin inside and end outside count.
    """

    def forward(self, input: Tensor) -> Any:
        """``(N, C, H, W)`` -> ``(N, C, H', W')``."""
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool3d(_MaxPoolNd):
    """The maximum over windows (and its index with ``return_indices``). Shapes: ``(N, C, D, H, W)``
    -> ``(N, C, D', H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how much, lower than all numbers, is added on both sides of each dimension, half a
            window at most.
        dilation: how far the elements of the window lie apart.
        return_indices: whether the places of the largest elements are given, too.
        ceil_mode: whether windows that begin inside and end outside count.
    """

    def forward(self, input: Tensor) -> Any:
        """``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``."""
        return F.max_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class _MaxUnpoolNd(Module):
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of ``MaxPool1d`` back to their indices, zeros elsewhere.
    Shapes: ``(N, C, L)`` -> ``(N, C, L')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one input to the next; its size if None.
        padding: what was added when the maxima were taken.
    """

    def __init__(
        self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        """``(N, C, L)`` and indices of the same shape -> ``(N, C, L')``."""
        return F.max_unpool1d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of ``MaxPool2d`` back to their indices, zeros elsewhere.
    Shapes: ``(N, C, H, W)`` -> ``(N, C, H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one input to the next; its size if None.
        padding: what was added when the maxima were taken.
    """

    def __init__(
        self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride if stride is not None else kernel_size)
        self.padding = _pair(padding)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        """``(N, C, H, W)`` and indices of the same shape -> ``(N, C, H', W')``."""
        return F.max_unpool2d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of ``MaxPool3d`` back to their indices, zeros elsewhere.
    Shapes: ``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one input to the next; its size if None.
        padding: what was added when the maxima were taken.
    """

    def __init__(
        self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.stride = _triple(stride if stride is not None else kernel_size)
        self.padding = _triple(padding)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: list[int] | None = None
    ) -> Tensor:
        """``(N, C, D, H, W)`` and indices of the same shape -> ``(N, C, D', H', W')``."""
        return F.max_unpool3d(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean over windows. Shapes: ``(N, C, L)`` or ``(C, L)`` -> ``(N, C, floor((L + 2·padding -
    kernel_size) / stride + 1))``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how many zeros are added on both sides of each dimension, half a window at most.
        ceil_mode: whether windows that begin inside and end outside count.
        count_include_pad: whether what was added counts in the average.
    """

    def __init__(
        self,
        kernel_size: _size_1_t,
        stride: _size_1_t = None,  # type: ignore[assignment]
        padding: _size_1_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, L)`` -> ``(N, C, L')``."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPoolNd):
    """The mean over windows, or the sum divided by ``divisor_override``. Shapes: ``(N, C, H, W)``
    -> ``(N, C, H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how many zeros are added on both sides of each dimension, half a window at most.
        ceil_mode: whether windows that begin inside and end outside count.
        count_include_pad: whether what was added counts in the average.
        divisor_override: by what to divide instead of the size of the window.
    """

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
    ]

    def __init__(
        self,
        kernel_size: _size_2_t,
        stride: _size_2_t | None = None,
        padding: _size_2_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> ``(N, C, H', W')``."""
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPoolNd):
    """The mean over windows, or the sum divided by ``divisor_override``.
    Shapes: ``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        padding: how many zeros are added on both sides of each dimension, half a window at most.
        ceil_mode: whether windows that begin inside and end outside count.
        count_include_pad: whether what was added counts in the average.
        divisor_override: by what to divide instead of the size of the window.
    """

    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
    ]

    def __init__(
        self,
        kernel_size: _size_3_t,
        stride: _size_3_t | None = None,
        padding: _size_3_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``."""
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class _FractionalMaxPoolNd(Module):
    """The settings that both fractional poolings check alike."""

    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def _set_up(
        self,
        tuple_of: Function,
        kernel_size: Any,
        output_size: Any,
        output_ratio: Any,
        return_indices: bool,
        samples: Tensor | None,
    ) -> None:
        name = type(self).__name__
        self.kernel_size = tuple_of(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", samples)
        self.output_size = tuple_of(output_size) if output_size is not None else None
        self.output_ratio = tuple_of(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum over windows at random steps, to ``output_size`` or the share ``output_ratio`` of
    the input's size.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        output_size: the size of the output, one number or one for each dimension.
        output_ratio: the size of the output as a share of the input's, instead of ``output_size``.
        return_indices: whether the places of the largest elements are given, too.
        _random_samples: where the windows lie, instead of drawing it.

    Shapes: ``(N, C, H, W)`` or ``(C, H, W)`` -> ``(N, C, *output_size)``. Source: Graham (2014).
    """

    def __init__(
        self,
        kernel_size: _size_2_t,
        output_size: _size_2_t | None = None,
        output_ratio: _ratio_2_t | None = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        self._set_up(_pair, kernel_size, output_size, output_ratio, return_indices, _random_samples)

    def forward(self, input: Tensor) -> Any:
        """``(N, C, H, W)`` -> ``(N, C, H', W')``."""
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum over windows at random steps, like ``FractionalMaxPool2d``.
    Shapes: ``(N, C, D, H, W)`` or without N.

    Args:
        kernel_size: the size of the window, one number or one for each dimension.
        output_size: the size of the output, one number or one for each dimension.
        output_ratio: the size of the output as a share of the input's, instead of ``output_size``.
        return_indices: whether the places of the largest elements are given, too.
        _random_samples: where the windows lie, instead of drawing it.
    """

    def __init__(
        self,
        kernel_size: _size_3_t,
        output_size: _size_3_t | None = None,
        output_ratio: _ratio_3_t | None = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        if not all(k > 0 for k in _triple(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self._set_up(
            _triple, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def forward(self, input: Tensor) -> Any:
        """``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``."""
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    ceil_mode: bool

    def __init__(
        self,
        norm_type: float,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """``(sum of x**p over the window) ** (1/p)``. Shapes: ``(N, C, L)`` or ``(C, L)`` ->
    ``(N, C, L')``.

    Args:
        norm_type: the power p of the norm.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        ceil_mode: whether windows that begin inside and end outside count.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, L)`` -> ``(N, C, L')``."""
        return F.lp_pool1d(
            input,
            float(self.norm_type),
            self.kernel_size,  # type: ignore
            self.stride,
            self.ceil_mode,
        )


class LPPool2d(_LPPoolNd):
    """``(sum of x**p over the window) ** (1/p)``. Shapes: ``(N, C, H, W)`` or ``(C, H, W)`` ->
    ``(N, C, H', W')``.

    Args:
        norm_type: the power p of the norm.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        ceil_mode: whether windows that begin inside and end outside count.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> ``(N, C, H', W')``."""
        return F.lp_pool2d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool3d(_LPPoolNd):
    """``(sum of x**p over the window) ** (1/p)``. Shapes: ``(N, C, D, H, W)`` or ``(C, D, H, W)``
    -> ``(N, C, D', H', W')``.

    Args:
        norm_type: the power p of the norm.
        kernel_size: the size of the window, one number or one for each dimension.
        stride: how far the window moves from one output to the next; its size if None.
        ceil_mode: whether windows that begin inside and end outside count.
    """

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, D, H, W)`` -> ``(N, C, D', H', W')``."""
        return F.lp_pool3d(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum over windows chosen to give ``output_size``. Shapes: ``(N, C, L)`` or ``(C, L)``
    -> ``(N, C, output_size)``.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
        return_indices: whether the places of the largest elements are given, too.
    """

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Any:
        """``(N, C, L)`` -> ``(N, C, output_size)``."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum over windows chosen to give ``output_size`` (None: the input's).
    Shapes: ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
        return_indices: whether the places of the largest elements are given, too.
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Any:
        """``(N, C, H, W)`` -> ``(N, C, *output_size)``."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum over windows chosen to give ``output_size`` (None: the input's).
    Shapes: ``(N, C, D, H, W)`` or without N.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
        return_indices: whether the places of the largest elements are given, too.
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Any:
        """``(N, C, D, H, W)`` -> ``(N, C, *output_size)``."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: _size_any_opt_t) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean over windows chosen to give ``output_size``. Shapes: ``(N, C, L)`` or ``(C, L)`` ->
    ``(N, C, output_size)``.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
    """

    output_size: _size_1_t

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, L)`` -> ``(N, C, output_size)``."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean over windows chosen to give ``output_size`` (None: the input's).
    Shapes: ``(N, C, H, W)`` or ``(C, H, W)``.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
    """

    output_size: _size_2_opt_t

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, H, W)`` -> ``(N, C, *output_size)``."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean over windows chosen to give ``output_size`` (None: the input's).
    Shapes: ``(N, C, D, H, W)`` or without N.

    Args:
        output_size: the size of the output, one number or one for each dimension; None keeps the
            input's.
    """

    output_size: _size_3_opt_t

    def forward(self, input: Tensor) -> Tensor:
        """``(N, C, D, H, W)`` -> ``(N, C, *output_size)``."""
        return F.adaptive_avg_pool3d(input, self.output_size)
