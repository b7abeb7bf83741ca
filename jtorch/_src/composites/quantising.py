"""Functions that make quantised tensors, and those that tell of them.

What they do lies in ``_src/quantised``, which is loaded when the first such tensor is made.
"""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..facts import dtypes
from ..facts.errors import no_kernel


def _only_quantised(name: str, t: Tensor) -> NotImplementedError:
    return no_kernel(name, t.device.type.upper())


@composite(operands=("input", "scale", "zero_point"))
def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: dtypes.dtype) -> Any:
    """A quantised tensor: each number divided by ``scale``, rounded half to even, shifted by
    ``zero_point`` and saturated.

    Shapes: those of ``input``, a tensor or a list of tensors.
    Dtypes: float32 -> ``dtype``: ``quint8``, ``qint8`` or ``qint32``.
    Gradient: none.

    Args:
        scale: a number, or a tensor of one element; for a list a tensor of as many.
        zero_point: likewise.

    Raises:
        RuntimeError: for other dtypes, and zero points that ``dtype`` cannot hold.

    Example:
        >>> import jtorch as torch
        >>> torch.quantize_per_tensor(torch.tensor([-1.0, 0.0, 1.0, 2.0]), 0.1, 10, torch.quint8)
        tensor([-1.,  0.,  1.,  2.], size=(4,), dtype=torch.quint8,
               quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)
    """
    return hooks.quantised.get().quantize_per_tensor(input, scale, zero_point, dtype)


@composite(operands=("input", "scales", "zero_points"))
def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: dtypes.dtype
) -> Any:
    """A quantised tensor with a scale and a zero point for each index of dimension ``axis``.

    Shapes: input (*), scales and zero points (input.shape[axis],) -> (*).
    Dtypes: float32 -> ``dtype``. Zero points of floats are added before rounding.
    Gradient: none.

    Raises:
        RuntimeError: if there are not as many scales as channels.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[-1.0, 0.0], [1.0, 2.0]])
        >>> zeros = torch.tensor([10, 0])
        >>> q = torch.quantize_per_channel(x, torch.tensor([0.1, 0.01]), zeros, 0, torch.quint8)
        >>> q.int_repr()
        tensor([[  0,  10],
                [100, 200]], dtype=torch.uint8)
    """
    return hooks.quantised.get().quantize_per_channel(input, scales, zero_points, axis, dtype)


@composite(operands=("input",))
def quantize_per_tensor_dynamic(input: Tensor, dtype: dtypes.dtype, reduce_range: bool) -> Any:
    """A quantised tensor whose scale and zero point hold the range of ``input`` and 0.

    Shapes: that of ``input``.
    Dtypes: float32 -> ``quint8`` or ``qint8``.
    Gradient: none.

    Args:
        reduce_range: whether one bit is left unused.

    Example:
        >>> import jtorch as torch
        >>> q = torch.quantize_per_tensor_dynamic(torch.tensor([0.0, 25.5]), torch.quint8, False)
        >>> q.q_scale(), q.q_zero_point()
        (0.1, 0)
    """
    return hooks.quantised.get().quantize_per_tensor_dynamic(input, dtype, reduce_range)


@composite(operands=("self",))
def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """The scale and zero point of ``quint8`` that hold the range of ``self`` and 0.

    Args:
        reduce_range: whether one bit is left unused.

    Example:
        >>> import jtorch as torch
        >>> torch._choose_qparams_per_tensor(torch.tensor([0.0, 25.5]))
        (0.1, 0)
    """
    return hooks.quantised.get().choose_per_tensor(self, reduce_range)


@composite(operands=("input",))
def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Any:
    """The quantised tensor of integers: ``uint8`` becomes ``quint8``, ``int8`` ``qint8`` and
    ``int32`` ``qint32``.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch._make_per_tensor_quantized_tensor(torch.tensor([1, 2], dtype=torch.int8), 0.5, 1)
        tensor([0.0000, 0.5000], size=(2,), dtype=torch.qint8,
               quantization_scheme=torch.per_tensor_affine, scale=0.5, zero_point=1)
    """
    return hooks.quantised.get().make_per_tensor(input, scale, zero_point)


@composite(operands=("input", "scale", "zero_point"))
def _make_per_channel_quantized_tensor(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int
) -> Any:
    """The quantised tensor of integers with a scale and a zero point for each channel.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1, 2], dtype=torch.int8)
        >>> zeros = torch.tensor([1, 0])
        >>> torch._make_per_channel_quantized_tensor(x, torch.tensor([0.5, 0.25]), zeros, 0).dtype
        torch.qint8
    """
    return hooks.quantised.get().make_per_channel(input, scale, zero_point, axis)


@composite(operands=())
def _empty_affine_quantized(
    size: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    scale: float = 1.0,
    zero_point: int = 0,
    memory_format: Any = None,
) -> Any:
    """A quantised tensor of undefined elements.

    Shapes: -> ``size``.

    Example:
        >>> import jtorch as torch
        >>> torch._empty_affine_quantized([2, 3], scale=0.1, dtype=torch.quint8).shape
        torch.Size([2, 3])
    """
    options = {
        "dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory,
        "memory_format": memory_format,
    }  # fmt: skip
    return hooks.quantised.get().empty_affine(size, scale, zero_point, options)


@composite(operands=("scales", "zero_points"))
def _empty_per_channel_affine_quantized(
    size: Any,
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """A quantised tensor of undefined elements with a scale and a zero point for each channel.

    Shapes: -> ``size``.

    Example:
        >>> import jtorch as torch
        >>> ones, zeros = torch.ones(2), torch.tensor([0, 0])
        >>> torch._empty_per_channel_affine_quantized(
        ...     [2, 3], scales=ones, zero_points=zeros, axis=0, dtype=torch.quint8
        ... ).shape
        torch.Size([2, 3])
    """
    options = {
        "dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory,
        "memory_format": memory_format,
    }  # fmt: skip
    return hooks.quantised.get().empty_per_channel(size, scales, zero_points, axis, options)


@composite(method=True, operands=("input",))
def int_repr(input: Tensor) -> Any:
    """The integers of a quantised tensor, as an ordinary one of its own memory.

    Shapes: that of ``input``.
    Dtypes: ``quint8`` -> uint8, ``qint8`` -> int8, ``qint32`` -> int32.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 3, torch.quint8).int_repr()
        tensor([5], dtype=torch.uint8)
    """
    raise _only_quantised("int_repr", input)


@composite(method=True, operands=("input",))
def q_scale(input: Tensor) -> Any:
    """The scale of a quantised tensor that has one.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 3, torch.quint8).q_scale()
        0.5
    """
    raise _only_quantised("q_scale", input)


@composite(method=True, operands=("input",))
def q_zero_point(input: Tensor) -> Any:
    """The zero point of a quantised tensor that has one.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 3, torch.quint8).q_zero_point()
        3
    """
    raise _only_quantised("q_zero_point", input)


@composite(method=True, operands=("input",))
def q_per_channel_scales(input: Tensor) -> Any:
    """The scales of a quantised tensor's channels.

    Shapes: -> (channels,).
    Dtypes: -> float64, or float32 where zero points are floats.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> x, ones, zeros = torch.ones(2, 2), torch.ones(2), torch.tensor([0, 1])
        >>> torch.quantize_per_channel(x, ones, zeros, 0, torch.quint8).q_per_channel_scales()
        tensor([1., 1.], dtype=torch.float64)
    """
    raise _only_quantised("q_per_channel_scales", input)


@composite(method=True, operands=("input",))
def q_per_channel_zero_points(input: Tensor) -> Any:
    """The zero points of a quantised tensor's channels.

    Shapes: -> (channels,).

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> x, ones, zeros = torch.ones(2, 2), torch.ones(2), torch.tensor([0, 1])
        >>> torch.quantize_per_channel(x, ones, zeros, 0, torch.quint8).q_per_channel_zero_points()
        tensor([0, 1])
    """
    raise _only_quantised("q_per_channel_zero_points", input)


@composite(method=True, operands=("input",))
def q_per_channel_axis(input: Tensor) -> Any:
    """The dimension of a quantised tensor's channels.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> x, ones, zeros = torch.ones(2, 2), torch.ones(2), torch.tensor([0, 1])
        >>> torch.quantize_per_channel(x, ones, zeros, 1, torch.quint8).q_per_channel_axis()
        1
    """
    raise _only_quantised("q_per_channel_axis", input)


@composite(namespace="Tensor", operands=("self",))
def qscheme(self: Tensor) -> Any:
    """Whether a quantised tensor has one scale or one for each channel.

    Raises:
        NotImplementedError: for tensors that are not quantised.

    Example:
        >>> import jtorch as torch
        >>> torch.quantize_per_tensor(torch.tensor([1.0]), 0.5, 3, torch.quint8).qscheme()
        torch.per_tensor_affine
    """
    raise _only_quantised("qscheme", self)
