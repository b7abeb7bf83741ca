"""Instances of wrapper classes: tensors with the metadata they are told and no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import devices, dtypes, layouts
from ..core import Tensor, contiguous_strides, format_strides
from ..engine import aval_of
from ..errors import not_offered
from ..pytree import known
from .calling import handles
from .values import Look, NoData, strides_or_none

_new = object.__new__


def make_wrapper_subclass(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Any:
    """An instance of ``cls`` with this shape, dtype and device, and no data; ``Tensor._make_wrapper_subclass``.

    Raises:
        TypeError: if the class has no ``__torch_dispatch__``.
        RuntimeError: if an integer tensor is to require grad.
    """
    del pin_memory, _extra_dispatch_keys, storage_size  # say nothing about metadata
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a subclass of Tensor (got {cls.__name__})")
    if not handles(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise not_offered("Tensor._make_wrapper_subclass with computed metadata", "sizes, strides, device and layout are those it is given")
    if layout not in (layouts.strided, None) and strides is None and not isinstance(layout, type(layouts.strided)):
        raise TypeError(f"layout must be torch.layout, not {type(layout).__name__}")
    if hasattr(cls, "__tensor_flatten__"):
        known(cls)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    shape = tuple([int(n) for n in size])
    place = devices.placement(device)
    t = _new(cls)
    aval = aval_of(shape, kind.np, place)
    if requires_grad and not aval.differentiable:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if strides is not None:
        steps = tuple([int(s) for s in strides])
    elif memory_format is not None:
        steps = format_strides(shape, memory_format)
    else:
        steps = contiguous_strides(shape)
    kept = strides_or_none(shape, steps)
    t._al = Look(t, NoData(aval, kept), aval, int(storage_offset or 0))
    t._strides = kept
    if requires_grad:
        t._rg = True
    return t




def copied(t: Tensor) -> Any:
    """Another instance with the same metadata, history and attributes; ``copy.copy``."""
    made = make_wrapper_subclass(
        type(t), t._aval.shape, t.stride(), t.storage_offset(), dtype=t._aval.torch_dtype, device=t.device, requires_grad=t._rg
    )
    for k, v in t.__dict__.items():
        if k not in Tensor.__annotations__:
            made.__dict__[k] = v
    return made
