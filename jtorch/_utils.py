"""Helpers that libraries reach for under ``torch._utils``: rebuilding of saved tensors, flat
buffers, errors of other processes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._src.aten.overloads import _operator_by_name as _operator_by_name
from ._src.facts import devices as _devices
from ._src.facts.dtypes import _dtype_by_name as _dtype_by_name
from ._src.files.raw_storage import LoadedStorage
from ._src.hooks import quantised
from ._src.refusals import stand_ins as _refusals
from ._src.tensor.objects import _rebuild_from_array as _rebuild_from_array
from ._src.tensor.objects import _rebuild_on_meta as _rebuild_on_meta
from ._src.tensor.state import put, restored, state_of
from ._src.tensor.views import with_bits

if TYPE_CHECKING:
    from ._src.facts.kinds import Arguments, Function


# ---- what checkpoints name -----------------------------------------------------------------------


def _rebuild_tensor(
    storage: Any, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> torch.Tensor:
    """The tensor on ``storage`` with a given geometry: on what a file holds, or on a program's own
    storage, whose memory it shares."""
    return _looking(storage, storage.dtype, storage_offset, size, stride)


def _looking(
    storage: LoadedStorage,
    dtype: torch.dtype,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    if isinstance(storage, LoadedStorage):
        return storage.tensor(dtype, offset, size, stride)
    memory = storage._untyped_storage
    return torch.empty(0, dtype=dtype, device=memory.device).set_(
        memory, offset, tuple(size), tuple(stride)
    )


def _rebuild_tensor_v2(
    storage: object,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: object,  # noqa: ARG001 (always empty: hooks are not saved)
    metadata: object = None,
) -> torch.Tensor:
    """The tensor on ``storage`` with a given geometry; ``storage`` gives the dtype."""
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: LoadedStorage,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
    backward_hooks: object,  # noqa: ARG001
    dtype: torch.dtype,
    metadata: object = None,
) -> torch.Tensor:
    """The tensor on an untyped ``storage`` with a given geometry and dtype."""
    return _finish(_looking(storage, dtype, storage_offset, size, stride), requires_grad, metadata)


def _finish(tensor: torch.Tensor, requires_grad: bool, metadata: object) -> torch.Tensor:
    if metadata:
        if not isinstance(metadata, dict) or not set(metadata) <= {"conj", "neg"}:
            raise NotImplementedError(
                f"torch.load() of a tensor with metadata {metadata!r} is not offered by jtorch"
            )
        tensor = with_bits(tensor, (bool(metadata.get("conj")), bool(metadata.get("neg"))))
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(
    dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> torch.Tensor:
    return torch.empty_strided(
        tuple(size), tuple(stride), dtype=dtype, device="meta", requires_grad=requires_grad
    )


def _rebuild_parameter(
    data: torch.Tensor,
    requires_grad: bool,
    backward_hooks: object,  # noqa: ARG001
) -> torch.Tensor:
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: torch.Tensor, requires_grad: bool, backward_hooks: object, state: dict[str, int]
) -> object:
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_wrapper_subclass(
    cls: object,
    dtype: object,
    size: object,
    stride: object,
    storage_offset: int,
    layout: object,
    device: object,
    requires_grad: bool,
) -> object:
    """A wrapper without its attributes, which come as state."""
    return torch.Tensor._make_wrapper_subclass(
        cls,
        size,
        strides=stride,
        dtype=dtype,
        storage_offset=storage_offset,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def _rebuild_from_type_v2(
    func: Function, new_type: type, args: Arguments, state: tuple[object, ...] | dict[str, object]
) -> object:
    """A tensor of a subclass, or with attributes: rebuilt plainly, given its type, then its
    state."""
    made = func(*args)
    # sparse and nested tensors say that they are plain ones, as PyTorch's are
    if made.__class__ is not new_type:
        made = made.as_subclass(new_type)
    return restored(made, state)


def _get_obj_state(obj: object) -> object:
    return state_of(obj) if isinstance(obj, torch.Tensor) else obj.__getstate__()


def _set_obj_state(obj: torch.Tensor, state: dict[str, int]) -> object:
    """The object, with its state attribute by attribute: what a ``__setstate__`` of its class may
    call."""
    return put(obj, state)


def _rebuild_sparse_tensor(layout: torch.layout, data: tuple[object, ...]) -> object:
    """The sparse tensor of a layout's parts."""
    import jtorch.sparse  # noqa: F401 (its modules need each other in this order)
    from jtorch.sparse._methods import rebuild

    return rebuild(layout, data)


def _rebuild_qtensor(
    storage: Any,
    storage_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    quantizer_params: tuple[Any, ...],
    requires_grad: bool,  # noqa: ARG001
    backward_hooks: object,  # noqa: ARG001
) -> torch.Tensor:
    """The quantised tensor on a storage of its integers."""
    ints = _rebuild_tensor(storage, storage_offset, size, stride)
    return _rebuild_quantised(ints, quantizer_params)


def _rebuild_quantised(
    ints: torch.Tensor, params: tuple[Any, ...], attributes: dict[str, Any] | None = None
) -> torch.Tensor:
    """The quantised tensor of integers, and of scheme, scale and zero point."""
    return quantised.get().rebuild(ints, params, attributes)


def _empty_script_object() -> Any:
    """Packed weights to which their state is to be given."""
    return object.__new__(quantised.get().ScriptObject)


def _rebuild_nested_tensor(
    buffer: torch.Tensor, sizes: torch.Tensor, strides: torch.Tensor, storage_offsets: torch.Tensor
) -> torch.Tensor:
    """The strided nested tensor of a buffer and where its items lie."""
    from jtorch.wrappers.nested.strided import from_parts

    return from_parts(buffer, sizes, strides, storage_offsets)


# ---- flat buffers --------------------------------------------------------------------------------


def _flatten_dense_tensors(tensors: Iterable[torch.Tensor]) -> torch.Tensor:
    """All elements of the tensors, one after the other, in one dimension."""
    return torch.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(
    flat: torch.Tensor, tensors: Iterable[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Views of ``flat`` with the shapes of ``tensors``."""
    views, start = [], 0
    for t in tensors:
        views.append(flat[start : start + t.numel()].view(t.shape))
        start += t.numel()
    return tuple(views)


def _take_tensors(tensors: Iterable[torch.Tensor], size_limit: int) -> Iterable[list[torch.Tensor]]:
    """Groups of tensors of one type whose bytes pass ``size_limit`` with their last member."""
    waiting: dict[str, tuple[list[torch.Tensor], int]] = {}
    for t in tensors:
        members, size = waiting.pop(t.type(), ([], 0))
        members.append(t)
        size += t.numel() * t.element_size()
        if size >= size_limit:
            yield members
        else:
            waiting[t.type()] = (members, size)
    for members, _size in waiting.values():
        yield members


# ---- errors of other processes -------------------------------------------------------------------


class KeyErrorMessage(str):
    """A message that a KeyError shows as it is rather than quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, so that it can be sent and raised elsewhere."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raises an exception of the same type that tells where and how the original was raised."""
        msg = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            msg = KeyErrorMessage(msg)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=msg)
        try:
            exception = self.exc_type(msg)
        except Exception:  # its constructor wants something else
            raise RuntimeError(msg) from None
        raise exception


def cpu_count() -> int | None:
    """The number of processors this process may use."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _element_size(dtype: torch.dtype) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def _get_available_device_type() -> str | None:
    """The accelerator's type, None if there is none."""
    return _devices.accelerator_type()


def _is_privateuse1_backend_available() -> bool:
    """False: there are JAX's devices, and none of a program's own."""
    return False


def _get_device_module(device_type: str) -> object:
    """``torch.cpu`` for ``"cpu"``.

    Raises:
        RuntimeError: if there is no such module.
    """
    found = getattr(torch, device_type, None)
    if found is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return found


def _get_device_index(
    device: object, optional: bool = False, allow_cpu: bool = False
) -> int | None:
    """The index of a device; with ``optional`` that of the current one if ``device`` has none.

    Raises:
        ValueError: if there is none, or the device is the CPU, unless ``allow_cpu`` (which gives
            -1).
    """
    if isinstance(device, str):
        device = torch.device(device)
    index = device if isinstance(device, int) else None
    if isinstance(device, torch.device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is None:
        if not optional:
            raise ValueError(
                f"Expected a torch.device with a specified index or an integer, but got:{device}"
            )
        kind = _devices.accelerator_type()
        index = None if kind is None else _devices.current_index(kind)
    return index


__getattr__ = _refusals.missing(__name__)
