"""Weights of few bits for inference: ``Int8Tensor`` and ``UInt4Tensor``, and ``quantize_``, which
gives them to linear layers.

The types are what their integers and scales stand for: a matrix of ``dtype``. They can be the
weight of ``nn.Linear``, moved, copied, saved, loaded and used under transformations; whatever else
needs the numbers asks for them by ``dequantize()``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch.utils._python_dispatch import return_and_correct_aliasing

aten = torch.ops.aten
_linear = torch.nn.functional.linear
#: The smallest scale, for rows and groups that are all alike.
_TINY = 1e-8


class QuantizedTensor(torch.Tensor):
    """Base of the types here: a matrix without data of its own, made of integers and scales.

    A subclass names its inner tensors in ``parts``, in the order in which ``__init__`` takes them,
    and what else it is made of in ``facts``; ``of`` quantises, ``dequantize`` is the reverse, and
    ``times`` multiplies rows by the transposed matrix.
    """

    parts: ClassVar[tuple[str, ...]] = ()
    facts: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _made(
        cls, shape: tuple[int, ...] | torch.Size, dtype: torch.dtype, like: torch.Tensor
    ) -> Self:
        return torch.Tensor._make_wrapper_subclass(
            cls, tuple(shape), dtype=dtype, device=like.device
        )

    def times(self, x: torch.Tensor) -> torch.Tensor:
        """``x @ self.T`` for a matrix ``x``."""
        raise NotImplementedError

    def dequantize(self) -> torch.Tensor:
        """The ordinary tensor that this one stands for."""
        raise NotImplementedError

    @classmethod
    def of(cls, weight: torch.Tensor, **facts: Any) -> Self:
        """The nearest tensor of this type to a matrix."""
        raise NotImplementedError

    def _with(
        self, change: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype | None = None
    ) -> Self:
        """The same with other inner tensors; those of floats have the outer dtype."""
        inner = [change(getattr(self, name)) for name in self.parts]
        if dtype is not None:
            inner = [x.to(dtype) if x.dtype.is_floating_point else x for x in inner]
        return type(self)(*inner, **{name: getattr(self, name) for name in self.facts})

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        facts = "".join(f", {name}={getattr(self, name)}" for name in self.facts)
        return (
            f"{type(self).__name__}(shape={tuple(self.shape)}, dtype={self.dtype}, "
            f"device={self.device}{facts})"
        )

    def __tensor_flatten__(self) -> tuple[list[str], dict[str, Any]]:
        return list(self.parts), {name: getattr(self, name) for name in self.facts}

    @classmethod
    def __tensor_unflatten__(
        cls, inner: dict[str, Any], facts: dict[str, Any], outer_size: Any, outer_stride: Any
    ) -> Self:
        return cls(*(inner[name] for name in cls.parts), **facts)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """``linear`` multiplies as the type does it; all else is what ``__torch_dispatch__``
        knows."""
        if func is _linear:
            return _applied(*args, **(kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        self = args[0]
        if func in (aten.detach.default, aten.clone.default, aten.alias.default):
            return return_and_correct_aliasing(func, args, kwargs, self._with(func))
        if func is aten._to_copy.default:
            dtype, where = (
                kwargs.get("dtype"),
                {
                    k: v
                    for k, v in kwargs.items()
                    if k in ("device", "non_blocking") and v is not None
                },
            )
            if dtype is not None and not dtype.is_floating_point:
                raise not_offered(
                    f"{cls.__name__}.to({dtype})", "it stands for floats; use dequantize() first"
                )
            return return_and_correct_aliasing(
                func,
                args,
                kwargs,
                self._with(lambda x: x.to(**where, copy=True), dtype or self.dtype),
            )
        if func is aten.empty_like.default:
            device = kwargs.get("device")
            return self._with(
                lambda x: torch.empty_like(x, device=device), kwargs.get("dtype") or self.dtype
            )
        if func is aten.copy_.default and isinstance(self, QuantizedTensor):
            return self._copied_from(args[1])
        raise not_offered(
            f"{func} of {cls.__name__}",
            "only copies and nn.functional.linear are; use dequantize() first",
        )

    def _copied_from(self, other: torch.Tensor) -> Self:
        facts = {name: getattr(self, name) for name in self.facts}
        if tuple(other.shape) != tuple(self.shape):
            raise RuntimeError(
                f"copy_: a tensor of shape {tuple(other.shape)} does not fit {self!r}"
            )
        if not isinstance(other, QuantizedTensor):
            other = type(self).of(other.to(self.dtype), **facts)
        elif type(other) is not type(self) or facts != {
            name: getattr(other, name) for name in other.facts
        }:
            raise RuntimeError(f"copy_: {other!r} does not fit {self!r}")
        for name in self.parts:
            getattr(self, name).copy_(getattr(other, name))
        return self


def _applied(input: torch.Tensor, weight: object, bias: torch.Tensor | None = None) -> torch.Tensor:
    """``nn.functional.linear`` with a quantised weight."""
    if not isinstance(weight, QuantizedTensor) or isinstance(input, QuantizedTensor):
        raise not_offered(
            "linear of a quantised input",
            "only the weight may be quantised; use dequantize() first",
        )
    if torch.is_autocast_enabled(input.device.type):
        dtype = torch.get_autocast_dtype(input.device.type)
        input, weight = input.to(dtype), weight.to(dtype)
        bias = None if bias is None else bias.to(dtype)
    if input.dtype != weight.dtype:
        kinds = [
            t.dtype.scalar_name if hasattr(t.dtype, "scalar_name") else str(t.dtype)
            for t in (input, weight)
        ]
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}"
        )
    if not input.ndim or input.shape[-1] != weight.shape[1]:
        shapes = f"{tuple(input.shape)} and {tuple(weight.shape)} (transposed)"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied: {shapes}")
    found = weight.times(input.reshape(-1, weight.shape[1])).reshape(
        *input.shape[:-1], weight.shape[0]
    )
    return found if bias is None else found + bias


class Int8Tensor(QuantizedTensor):
    """A matrix of int8 with a scale for each row: ``q * scale[:, None]``.

    Args:
        q: the integers, (N, K) of int8.
        scale: (N,) of the dtype that the matrix shall have.
        dynamic: whether ``linear`` rounds its input to int8 as well, row by row, and multiplies
            integers. Less exact; faster where the device multiplies integers faster than floats.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.wrappers.quantized import Int8Tensor
        >>> weight = Int8Tensor.of(torch.tensor([[1.0, -0.5], [0.25, 2.0]]))
        >>> weight.q
        tensor([[127, -64],
                [ 16, 127]], dtype=torch.int8)
        >>> torch.nn.functional.linear(torch.ones(1, 2), weight)
        tensor([[0.4961, 2.2520]])
    """

    parts = ("q", "scale")
    facts = ("dynamic",)
    q: torch.Tensor
    scale: torch.Tensor
    dynamic: bool

    def __new__(cls, q: torch.Tensor, scale: torch.Tensor, dynamic: bool = False) -> Self:
        """A tensor of the shape of ``q`` and the dtype of ``scale``."""
        return cls._made(q.shape, scale.dtype, q)

    def __init__(self, q: torch.Tensor, scale: torch.Tensor, dynamic: bool = False) -> None:
        self.q, self.scale, self.dynamic = q, scale, dynamic

    @classmethod
    def of(cls, weight: torch.Tensor, dynamic: bool = False) -> Self:
        """Rounds a matrix: the largest absolute value of each row becomes 127."""
        _check(weight, cls)
        with torch.no_grad():
            wide = weight.detach().to(torch.float32)
            scale = wide.abs().amax(1).clamp(min=_TINY) / 127
            q = (wide / scale.unsqueeze(1)).round().clamp(-127, 127).to(torch.int8)
            return cls(q, scale.to(weight.dtype), dynamic)

    def dequantize(self) -> torch.Tensor:
        """The ordinary tensor that this one stands for."""
        return (self.q.to(torch.float32) * self.scale.to(torch.float32).unsqueeze(1)).to(self.dtype)

    def times(self, x: torch.Tensor) -> torch.Tensor:
        """``x @ self.T`` for a matrix ``x``."""
        if not self.dynamic:
            return torch._weight_int8pack_mm(x, self.q, self.scale)
        wide = x.to(torch.float32)
        step = wide.detach().abs().amax(1, keepdim=True).clamp(min=_TINY) / 127
        rows = (wide / step).round().clamp(-128, 127).to(torch.int8)
        found = torch._int_mm(rows, self.q.t()).to(torch.float32)
        return (found * step * self.scale.to(torch.float32)).to(x.dtype)


class UInt4Tensor(QuantizedTensor):
    """A matrix of four bits an element, in groups of columns with a scale and a zero each:
    ``(q - 8) * scale + zero``.

    Args:
        packed: two elements to a byte, the even columns in the lower half: (N, K / 2) of uint8.
        scale_and_zero: (K / group, N, 2) of the dtype that the matrix shall have.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.wrappers.quantized import UInt4Tensor
        >>> weight = UInt4Tensor.of(torch.linspace(-1, 1, 512).reshape(16, 32), group=32)
        >>> weight
        UInt4Tensor(shape=(16, 32), dtype=torch.float32, device=cpu, group=32)
        >>> (weight.dequantize() - torch.linspace(-1, 1, 512).reshape(16, 32)).abs().max() < 0.005
        tensor(True)
    """

    parts = ("packed", "scale_and_zero")
    facts = ("group",)
    packed: torch.Tensor
    scale_and_zero: torch.Tensor
    group: int

    def __new__(cls, packed: torch.Tensor, scale_and_zero: torch.Tensor, group: int) -> Self:
        """A tensor with twice the columns of ``packed`` and the dtype of ``scale_and_zero``."""
        return cls._made((packed.shape[0], 2 * packed.shape[1]), scale_and_zero.dtype, packed)

    def __init__(self, packed: torch.Tensor, scale_and_zero: torch.Tensor, group: int) -> None:
        self.packed, self.scale_and_zero, self.group = packed, scale_and_zero, group

    @classmethod
    def of(cls, weight: torch.Tensor, group: int = 64) -> Self:
        """Rounds a matrix: the smallest value of each group becomes 0 and the largest 15.

        Raises:
            ValueError: if the columns are no multiple of the group, or the group is none of 32, 64,
                128 and 256.
        """
        _check(weight, cls)
        if group not in (32, 64, 128, 256) or weight.shape[1] % group or weight.shape[0] % 16:
            shape = tuple(weight.shape)
            raise ValueError(
                f"group (={group}) must be 32, 64, 128 or 256 and divide the columns, and 16 the "
                f"rows, of {shape}"
            )
        with torch.no_grad():
            wide = weight.detach().to(torch.float32).reshape(weight.shape[0], -1, group)
            low, high = wide.amin(2, keepdim=True), wide.amax(2, keepdim=True)
            scale = ((high - low) / 15).clamp(min=_TINY)
            q = ((wide - low) / scale).round().clamp(0, 15).to(torch.int32).reshape(weight.shape)
            found = (
                torch.cat([scale, low + 8 * scale], 2).transpose(0, 1).contiguous().to(weight.dtype)
            )
            return cls(torch._convert_weight_to_int4pack_for_cpu(q, 2), found, group)

    def dequantize(self) -> torch.Tensor:
        """The ordinary tensor that this one stands for."""
        both = (
            torch.stack([self.packed & 15, self.packed >> 4], 2)
            .reshape(self.shape[0], -1, self.group)
            .to(torch.float32)
        )
        scale, zero = self.scale_and_zero.to(torch.float32).transpose(0, 1).unsqueeze(-1).unbind(2)
        return ((both - 8) * scale + zero).reshape(self.shape).to(self.dtype)

    def times(self, x: torch.Tensor) -> torch.Tensor:
        """``x @ self.T`` for a matrix ``x``."""
        return torch._weight_int4pack_mm_for_cpu(x, self.packed, self.group, self.scale_and_zero)


def _check(weight: torch.Tensor, cls: type) -> None:
    if weight.ndim != 2 or weight.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise ValueError(
            f"{cls.__name__} is made of a matrix of float32, bfloat16 or float16, not of "
            f"{weight.dtype} {tuple(weight.shape)}"
        )


@dataclass(frozen=True)
class Int8WeightOnlyConfig:
    """Weights of 8 bits; the arithmetic is that of the input's dtype."""

    def quantized(self, weight: torch.Tensor) -> QuantizedTensor:
        """The weight as ``quantize_`` puts it into a layer."""
        return Int8Tensor.of(weight)


@dataclass(frozen=True)
class Int8DynamicActivationInt8WeightConfig:
    """Weights of 8 bits, and inputs that are rounded to 8 bits as they come."""

    def quantized(self, weight: torch.Tensor) -> QuantizedTensor:
        """The weight as ``quantize_`` puts it into a layer."""
        return Int8Tensor.of(weight, dynamic=True)


@dataclass(frozen=True)
class Int4WeightOnlyConfig:
    """Weights of 4 bits, in groups of ``group_size`` columns; the arithmetic is that of the input's
    dtype."""

    group_size: int = 128

    def quantized(self, weight: torch.Tensor) -> QuantizedTensor:
        """The weight as ``quantize_`` puts it into a layer."""
        return UInt4Tensor.of(weight, self.group_size)


def _is_linear(module: torch.nn.Module, name: str) -> bool:  # noqa: ARG001
    return isinstance(module, torch.nn.Linear)


def quantize_(
    model: torch.nn.Module,
    config: Any,
    filter_fn: Callable[[torch.nn.Module, str], bool] | None = None,
) -> None:
    """Replaces the weights of a model's linear layers by quantised ones, for inference: they need
    no gradients.

    Args:
        model: the model, which is changed.
        config: one of the configurations here, or what has their method ``quantized``.
        filter_fn: ``filter_fn(module, name)`` says which modules are changed; ``nn.Linear`` and its
            subclasses if it is not given.

    Raises:
        ValueError: where a weight cannot be quantised so; the message names the layer. Layers
            before it are changed.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.wrappers.quantized import Int8WeightOnlyConfig, quantize_
        >>> net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
        >>> quantize_(net, Int8WeightOnlyConfig())
        >>> net[0].weight.shape, net[0].weight.q.dtype, net(torch.ones(2, 8)).shape
        (torch.Size([4, 8]), torch.int8, torch.Size([2, 4]))
    """
    chosen = filter_fn or _is_linear
    for name, module in model.named_modules():
        if chosen(module, name):
            weight: Any = module.weight
            if isinstance(weight, QuantizedTensor):
                continue
            try:
                found = config.quantized(weight)
            except ValueError as error:
                raise ValueError(f"{name or 'the model'}: {error}") from error
            module.weight = torch.nn.Parameter(found, requires_grad=False)
