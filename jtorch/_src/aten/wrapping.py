"""Instances of wrapper classes: tensors with the metadata they are told and no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...core import INTERNAL, Tensor, contiguous_strides, format_strides, from_value
from ..bind.everything import T
from ..borders.pytree import known
from ..engine import META, SPECIAL, aval_of, meta_value
from ..facts import devices, dtypes, layouts
from .calling import handles, run
from .state import Below, Kernel, modes_off
from .told import kinds_of, look_of
from .values import Look, NoData, strides_or_none

if TYPE_CHECKING:
    import numpy as np

    from ..engine.values import Aval


_new = object.__new__


def make_wrapper_subclass(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: object = None,
    dtype: dtypes.dtype | None = None,
    layout: dtypes.layout = layouts.strided,
    device: devices.device | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: object = None,
    storage_size: int | None = None,
) -> Tensor:
    """An instance of ``cls`` with this shape, dtype and device, and no data;
    ``Tensor._make_wrapper_subclass``.

    Args:
        dispatch_sizes_strides_policy: ``"strides"`` if ``__torch_dispatch__`` is asked for the
            strides and what follows from them (as ``aten.sym_stride``, ``aten.is_contiguous`` ...),
            ``"sizes"`` if for sizes, numbers of dimensions and elements and the offset too.
        dispatch_device: whether it is asked for the device (``prim.device``).
        dispatch_layout: whether it is asked for the layout (``prim.layout``).

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
    if (
        layout not in (layouts.strided, None)
        and strides is None
        and not isinstance(layout, type(layouts.strided))
    ):
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
    asks = kinds_of(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    t._al = look_of(t, NoData(aval, kept), aval, int(storage_offset or 0), asks)
    t._strides = kept
    if requires_grad:
        t._rg = True
    if MODE.inference:
        t._uncount()
    return t


def like(model: Tensor, cls: type) -> Any:
    """An instance of ``cls`` with the metadata of another, which has begun at the first element."""
    t = _new(cls)
    aval, kept = model._aval, model._strides
    t._al = Look(t, NoData(aval, kept), aval, 0)
    t._strides = kept
    return t


def bare(
    cls: type,
    shape: Sequence[Any],
    dtype: np.dtype,
    place: object,
    strides: Sequence[object] | None,
    offset: int,
) -> Any:
    """An instance of ``cls`` with this metadata; sizes may be symbols, and ``place`` None says that
    it lies nowhere."""
    t = _new(cls)
    aval = aval_of(tuple(shape), dtype, META if place is None else place)
    reshaped(t, aval, strides, offset)
    return t


def is_transformed(t: Tensor) -> bool:
    """Whether a plain tensor's value is one of a transformation that is running (``vmap``, ``jvp``,
    JAX's)."""
    return type(t) is Tensor and t._read().trace is SPECIAL


def reshaped(t: Tensor, aval: Aval, strides: Sequence[Any] | None, offset: int) -> None:
    """Gives an instance other metadata."""
    kept = None if strides is None else strides_or_none(aval.shape, tuple(strides))
    asks = frozenset() if t._al is None else t._al.asks
    t._al = look_of(t, NoData(aval, kept), aval, offset, asks)
    t._strides = kept


def follow(t: Tensor, stand_in: Tensor) -> None:
    """Gives an instance the shape and strides of a tensor that stood for it, where they have
    changed."""
    aval = stand_in._aval
    if aval.shape != t._aval.shape or stand_in._strides != t._strides:
        before = t._al
        reshaped(
            t,
            aval_of(aval.shape, aval.dtype, t._aval.device),
            stand_in._strides,
            t.storage_offset(),
        )
        now, memory = t._al, before.storage
        if type(aval.size) is type(memory.aval.size) is int and aval.size > memory.aval.size:
            memory.aval = now.aval
        now.storage, now.counter, now.seen, now.made, now.rebased = (
            memory,
            before.counter,
            before.seen,
            before.made,
            before.rebased,
        )


def lay_out(func: Any, args: Sequence[Any], kwargs: object) -> None:
    """Gives the instance that an operator writes into the size and strides that it would give a
    tensor like it, which computes nothing."""

    def stand_in(x: Tensor) -> Any:
        if not isinstance(x, Tensor):
            return x
        strides = contiguous_strides(x._aval.shape) if x._strides is None else x._strides
        return T.empty_strided(x._aval.shape, strides, dtype=x._aval.torch_dtype, device="meta")

    with Below(), Kernel(), modes_off():
        model, *others = map(stand_in, args)
        run(func, func.complete((model, *others), kwargs or {}))
    follow(args[0], model)


def share_storage(source: Tensor, view: Tensor) -> None:
    """Has a wrapper lie in the storage of another, which it is a view of."""
    if (
        isinstance(view, Tensor)
        and isinstance(view._al, Look)
        and isinstance(source, Tensor)
        and isinstance(source._al, Look)
    ):
        view._al.storage = source._al.storage


def become(t: Tensor, other: Tensor) -> None:
    """Makes an instance of a wrapper class the plain tensor ``other``, for all who have it."""
    kept = {
        name: getattr(other, name)
        for name in INTERNAL
        if getattr(other, name, None) is not getattr(Tensor, name, None)
    }
    t.__class__ = Tensor
    own = object.__getattribute__(t, "__dict__")
    for name in list(own):
        del own[name]
    for name in INTERNAL:
        if name in kept:
            object.__setattr__(t, name, kept[name])
        else:
            _forget(t, name)


def _forget(t: Tensor, name: str) -> None:
    try:
        object.__delattr__(t, name)
    except AttributeError:
        pass


def on_meta(shape: Sequence[Any], dtype: np.dtype, strides: tuple[object, ...] | None) -> Tensor:
    """A plain tensor without data."""
    made = from_value(meta_value(tuple(shape), dtype))
    made._strides = strides
    return made


def copied(t: Tensor) -> Tensor:
    """Another instance with the same metadata, history and attributes; ``copy.copy``."""
    with Kernel():  # what it was made with
        made = make_wrapper_subclass(
            type(t),
            t._aval.shape,
            t.stride(),
            t.storage_offset(),
            dtype=t._aval.torch_dtype,
            device=t.device,
            requires_grad=t._rg,
        )
        made._al = look_of(made, made._al.storage, made._aval, made._al.offset, t._al.asks)
    for k, v in t.__dict__.items():
        if k not in Tensor.__annotations__:
            made.__dict__[k] = v
    return made
