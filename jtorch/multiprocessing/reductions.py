"""How tensors are pickled on their way to other processes: by value, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import jtorch as torch
from jtorch.utils.hooks import warn_if_has_hooks

__all__ = ["ForkingPickler", "init_reductions", "rebuild_tensor", "reduce_storage", "reduce_tensor"]


def rebuild_tensor(cls: Any, array: Any, dtype: torch.dtype, device: str, requires_grad: bool) -> Any:
    """The tensor that ``reduce_tensor`` took apart; on the CPU where its device is not there."""
    tensor = torch.from_numpy(array)
    if tensor.dtype is not dtype:
        tensor = tensor.view(dtype)
    if device != "cpu":
        try:
            tensor = tensor.to(device)
        except RuntimeError:
            pass
    if cls is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta(cls: Any, dtype: torch.dtype, size: Any, stride: Any, requires_grad: bool) -> Any:
    tensor = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    return torch.nn.Parameter(tensor, requires_grad) if cls is torch.nn.Parameter else tensor.requires_grad_(requires_grad)


def reduce_tensor(tensor: torch.Tensor) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function and its arguments that make the tensor anew: data, dtype, device and ``requires_grad``; history is left out.

    Raises:
        RuntimeError: for a tensor with history.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the "
            "queue)."
        )
    warn_if_has_hooks(tensor)
    cls = torch.nn.Parameter if type(tensor) is torch.nn.Parameter else None
    data = tensor.detach()
    if data.is_meta:
        return _rebuild_meta, (cls, data.dtype, tuple(data.shape), data.stride(), tensor.requires_grad)
    if data.layout is not torch.strided:
        return tensor.__reduce_ex__(2)  # type: ignore[return-value]
    device = str(data.device) if data.device.type != "cpu" else "cpu"
    host = data.cpu()
    if host.is_floating_point() and host.element_size() < 4 and host.dtype is not torch.float16:  # NumPy has no such dtype
        host = host.contiguous().view(torch.uint8 if host.element_size() == 1 else torch.int16)
    return rebuild_tensor, (cls, host.numpy(), data.dtype, device, tensor.requires_grad)


def reduce_storage(storage: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function and its arguments that make an untyped storage anew from its bytes."""
    return _rebuild_storage, (bytes(storage.tolist()),)


def _rebuild_storage(data: bytes) -> Any:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).untyped_storage() if data else torch.UntypedStorage(0)


def init_reductions() -> None:
    """Tells the pickler of queues and pipes about tensors, parameters and storages."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
