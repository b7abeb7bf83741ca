"""Converting a module's tensors: to another device, dtype or memory format."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import jtorch as torch
from jtorch import Tensor

from ... import __future__ as _future
from ..._src.tensor.module_state import owned
from ..._src.tensor.own_attributes import everything, take_over
from ..._src.tensor.wrapper_types import is_traceable_wrapper_subclass
from ...types import Device
from ..parameter import Parameter

if TYPE_CHECKING:
    from ..._src.facts.kinds import Tree


Self = TypeVar("Self", bound="Moving")


def _meant(given: object) -> Tree:
    """What a type of Python's stands for among the arguments."""
    return (
        torch.promote_types(given, given)
        if isinstance(given, type) and given in (float, int, bool, complex)
        else given
    )


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """``(device, dtype, non_blocking, memory_format)`` of the arguments of ``to``, whose first may
    be a device, a dtype or a tensor.

    Raises:
        TypeError: for anything else.
    """
    names = ("device", "dtype", "non_blocking", "copy")
    args = tuple([_meant(x) for x in args])
    kwargs = {k: _meant(v) for k, v in kwargs.items()}
    if args and isinstance(args[0], torch.dtype):
        names = names[1:]
    elif (args and isinstance(args[0], Tensor)) or "tensor" in kwargs:
        names = ("tensor", *names[2:])
    given = dict(zip(names, args, strict=False))
    allowed = (
        {"device", "dtype", "non_blocking", "copy", "memory_format"}
        if names[0] != "tensor"
        else {*names, "memory_format"}
    )
    fits = len(args) <= len(names) and not set(kwargs) & set(given) and set(kwargs) <= allowed
    given |= kwargs
    device, dtype = given.get("device"), given.get("dtype")
    fits = (
        fits
        and isinstance(device, (str, int, torch.device, type(None)))
        and isinstance(dtype, (torch.dtype, type(None)))
    )
    if not fits or not all(isinstance(given.get(k, False), bool) for k in ("non_blocking", "copy")):
        kinds = ", ".join(
            [type(a).__name__ for a in args]
            + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        )
        kinds += ", " if kwargs else ""  # as torch writes it
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({kinds}), but expected one "
            "of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, "
            "bool copy = False, *, torch.memory_format memory_format = None)\n"
            " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
        )
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    if "tensor" in given:
        device, dtype = given["tensor"].device, given["tensor"].dtype
    if device is not None:
        device = torch.device(device)
    return device, dtype, given.get("non_blocking", False), given.get("memory_format")


def _same_kind(a: Tensor, b: Tensor) -> bool:
    """Whether ``a.data = b`` is possible: a meta tensor cannot turn into one with data, nor back,
    nor into one of another layout."""
    return a.is_meta == b.is_meta and a.layout == b.layout


class Moving:
    """The part of ``Module`` that converts parameters and buffers in place."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[..., Any]

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the data of every parameter, gradient and buffer by ``fn`` of it; parameters
        stay the same objects if they can."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is None:
                continue
            with torch.no_grad():
                applied = fn(param)
            grad = param.grad
            # what it is are the tensors that it holds, which .data does not reach
            holds = is_traceable_wrapper_subclass(applied)
            swaps = holds or _future.get_swap_module_params_on_conversion()
            if (
                not swaps
                and _same_kind(param, applied)
                and not _future.get_overwrite_module_params_on_conversion()
            ):
                param.data = applied
                kept = param
            elif swaps:
                made = Parameter(applied, param.requires_grad)
                param.__class__ = type(made)  # ``fn`` may have made a wrapper of it
                take_over(param, everything(made))  # the object stays, with nothing of what it was
                kept = param
            else:
                kept = self._parameters[key] = Parameter(applied, param.requires_grad)
            if grad is None:
                continue
            with torch.no_grad():
                applied_grad = fn(grad)
            if kept is param and not holds and _same_kind(grad, applied_grad):
                grad.data = applied_grad
                kept.grad = grad
            else:
                kept.grad = applied_grad.requires_grad_(grad.requires_grad)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = owned(buffer, fn(buffer))
        return self

    def cuda(self: Self, device: Device = None) -> Self:
        """Moves parameters and buffers to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self: Self, device: Device = None) -> Self:
        """Moves parameters and buffers to an IPU."""
        return self._apply(lambda t: t.ipu(device))

    def xpu(self: Self, device: Device = None) -> Self:
        """Moves parameters and buffers to an XPU."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self: Self, device: Device = None) -> Self:
        """Moves parameters and buffers to an MTIA device."""
        return self._apply(lambda t: t.mtia(device))

    def cpu(self: Self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def type(self: Self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to ``dst_type``."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: Self) -> Self:
        """Casts floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: Self) -> Self:
        """Casts floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self: Self, *, device: Device, recurse: bool = True) -> Self:
        """Moves parameters and buffers to ``device`` without copying their values."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers: ``to(device, dtype, non_blocking)``,
        ``to(dtype)``, ``to(tensor)``, ``memory_format=``.

        A dtype applies to floating-point and complex tensors only; a memory format to those with 4
        or 5 dimensions.

        Raises:
            TypeError: if the dtype is neither floating-point nor complex.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may "
                    "change, and some modules might not work as expected when using complex "
                    "tensors as parameters or buffers. Please file an issue at "
                    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                    "complex module does not work as expected.",
                    stacklevel=2,
                )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                if memory_format is not None and t.dim() in (4, 5):
                    return t.to(device, wanted, non_blocking, memory_format=memory_format)
                return t.to(device, wanted, non_blocking)
            except NotImplementedError as e:
                if str(e) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{e} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                    "when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def share_memory(self: Self) -> Self:
        """``Tensor.share_memory_`` for all parameters and buffers."""
        return self._apply(lambda t: t.share_memory_())
