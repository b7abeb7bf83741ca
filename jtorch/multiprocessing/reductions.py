"""How tensors are pickled on their way to other processes: by where their memory is, which both
sides look at from then on."""

from __future__ import annotations

# loaded before a fork could find it half made by a queue's thread
import multiprocessing.resource_sharer
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import reduction
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from multiprocessing.util import Finalize, register_after_fork
from typing import Any

import jtorch as torch
from jtorch._src.tensor import shared_memory
from jtorch.utils.hooks import warn_if_has_hooks

from .._src.refusals import stand_ins as _refusals

__all__ = [
    "ForkingPickler", "SharedCache", "StorageWeakRef", "fd_id", "init_reductions",
    "rebuild_storage_empty", "rebuild_storage_fd", "rebuild_storage_filename", "rebuild_tensor",
    "rebuild_typed_storage", "rebuild_typed_storage_child", "reduce_storage", "reduce_tensor",
    "reduce_typed_storage", "reduce_typed_storage_child", "shared_cache", "storage_from_cache",
]  # fmt: skip

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


class StorageWeakRef:
    """Leads to a storage without keeping it. Those of one storage are equal, and have its number
    (``_cdata``) as their hash.

    Args:
        storage: what it leads to.
    """

    __slots__ = ("cdata", "reference")

    def __init__(self, storage: Any) -> None:
        self.cdata: int = storage._cdata
        self.reference: weakref.ref[Any] = storage._weak_ref()

    def expired(self) -> bool:
        """Whether nothing looks at the memory any more."""
        return self.reference() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, StorageWeakRef) and self.cdata == other.cdata)


class SharedCache(dict[Any, StorageWeakRef]):
    """The storages that are known to lie in shared memory, by what tells that from others: what is
    received twice is one storage."""

    def __init__(self) -> None:
        self.limit = 128
        self._after_fork()
        register_after_fork(self, SharedCache._after_fork)

    def _after_fork(self) -> None:
        self.lock = threading.Lock()

    def get(self, key: Any, default: Any = None) -> Any:
        """The reference for a key."""
        with self.lock:
            return dict.get(self, key, default)

    def __setitem__(self, key: Any, reference: StorageWeakRef) -> None:
        with self.lock:
            dict.__setitem__(self, key, reference)
            if len(self) > self.limit:
                self.free_dead_references()

    def free_dead_references(self) -> None:
        """Forgets storages that nothing looks at any more."""
        for key, reference in list(self.items()):
            if reference.expired():
                del self[key]
        self.limit = max(128, len(self) * 2)


shared_cache = SharedCache()


def storage_from_cache(cls: object, key: object) -> Any:
    """The storage that is known by a key; None if there is none, or it has gone."""
    del cls
    reference = shared_cache.get(key)
    return (
        None if reference is None else torch.UntypedStorage._new_with_weak_ptr(reference.reference)
    )


def fd_id(fd: int) -> tuple[int, int]:
    """What tells the memory behind a descriptor from others."""
    stat = os.fstat(fd)
    return stat.st_ino, stat.st_dev


class Handed:
    """A descriptor on its way to another process, which asks this one for it.

    A process that ends before it has been asked, other than the first of the program, leaves the
    memory behind in a file.
    """

    def __init__(self, fd: int, size: int) -> None:
        kept = os.dup(fd)
        self.key, self.name, self.size = fd_id(kept), shared_memory.new_name(), size
        if _waiting.setdefault("process", os.getpid()) != os.getpid():  # a fork's are not its own
            _waiting.clear()
            _waiting["process"] = os.getpid()
        if len(_waiting) == 1 and multiprocessing.parent_process() is not None:
            Finalize(None, _leave_behind, exitpriority=-15)  # after queues have sent what they hold
        _waiting[kept] = (self.name, size)

        def send(connection: Any, pid: int) -> None:
            _waiting.pop(kept, None)
            reduction.send_handle(connection, kept, pid)

        def close() -> None:
            _waiting.pop(kept, None)
            os.close(kept)

        self.id = multiprocessing.resource_sharer._resource_sharer.register(send, close)

    def storage(self, cls: Any) -> Any:
        """The storage in the memory behind the descriptor."""
        try:
            with multiprocessing.resource_sharer._resource_sharer.get_connection(
                self.id
            ) as connection:
                fd = reduction.recv_handle(connection)
        except (OSError, EOFError):  # the process has gone
            known = storage_from_cache(cls, self.key)
            return (
                rebuild_storage_filename(cls, b"", f"/{self.name}".encode(), self.size)
                if known is None
                else known
            )
        try:
            return storage_behind(cls, fd, self.size)
        finally:
            os.close(fd)


#: The descriptors that nobody has asked for yet, with names for their memory and its size; under
#: "process", whose they are.
_waiting: dict[Any, Any] = {}


def _leave_behind() -> None:
    for fd, (name, size) in [(k, v) for k, v in _waiting.items() if k != "process"]:
        made = shared_memory.by_name(size, name)
        made.array()[:] = shared_memory.from_descriptor(fd, size).array()
        # for who is to look at it; this process's own count goes with it
        shared_memory.count(name, 1)


# ---- storages ------------------------------------------------------------------------------------


def reduce_storage(storage: Any) -> Reduced:
    """A function and its arguments that give another process an untyped storage, which moves into
    shared memory.

    Raises:
        RuntimeError: for accelerators' memory, and where there is none.
    """
    if storage.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    if storage.device.type != "cpu":
        raise RuntimeError(
            f"Cannot pickle {storage.device.type.upper()} storage; try pickling a "
            f"{storage.device.type.upper()} tensor instead"
        )
    cls = type(storage)
    if shared_memory.STRATEGY[0] == "file_system":
        manager, handle, size = storage._share_filename_cpu_()
        storage._shared_incref()
        shared_cache[handle] = StorageWeakRef(storage)
        return rebuild_storage_filename, (cls, manager, handle, size)
    if not storage.size():
        return rebuild_storage_empty, (cls,)
    fd, size = storage._share_fd_cpu_()
    shared_cache[fd_id(fd)] = StorageWeakRef(storage)
    starts_process = get_spawning_popen() is not None  # which takes descriptors along
    return rebuild_storage_fd, (
        cls,
        reduction.DupFd(fd) if starts_process else Handed(fd, size),
        size,
    )


def rebuild_storage_empty(cls: Callable[..., object]) -> Any:
    """A storage without elements."""
    return cls()


def rebuild_storage_fd(cls: object, df: Any, size: int) -> Any:
    """The storage behind a descriptor that was sent."""
    if isinstance(df, Handed):
        return df.storage(cls)
    fd = df.detach()
    try:
        return storage_behind(cls, fd, size)
    finally:
        os.close(fd)


def storage_behind(cls: Any, fd: int, size: int) -> Any:
    """The storage behind a descriptor, which stays the caller's; the same one as long as anything
    looks at it."""
    key = fd_id(fd)
    storage = storage_from_cache(cls, key)
    if storage is None:
        storage = cls._new_shared_fd_cpu(fd, size)
        shared_cache[key] = StorageWeakRef(storage)
    return storage


def rebuild_storage_filename(
    cls: object, manager: bytes, handle: bytes, size: int, dtype: torch.dtype | None = None
) -> Any:
    """The storage in memory whose name was sent; with ``dtype``, of ``size`` elements."""
    storage = storage_from_cache(cls, handle)
    if storage is None:
        nbytes = size if dtype is None else size * dtype.itemsize
        storage = torch.UntypedStorage._new_shared_filename_cpu(manager, handle, nbytes)
        shared_cache[handle] = StorageWeakRef(storage)
    storage = storage._shared_decref()
    return storage if dtype is None else rebuild_typed_storage(storage, dtype)


def reduce_typed_storage(storage: Any) -> Reduced:
    """A storage with a dtype goes as one without."""
    return rebuild_typed_storage, (storage.untyped(), storage.dtype)


def rebuild_typed_storage(storage: object, dtype: torch.dtype) -> Any:
    """A storage as one of a dtype."""
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def reduce_typed_storage_child(storage: Any) -> Reduced:
    """A storage of one of the old classes, as ``reduce_typed_storage``."""
    return rebuild_typed_storage_child, (storage.untyped(), type(storage))


def rebuild_typed_storage_child(storage: object, storage_type: Callable[..., object]) -> Any:
    """A storage as one of an old class."""
    return storage_type(wrap_storage=storage)


# ---- tensors -------------------------------------------------------------------------------------


def _finished(cls: object, tensor: torch.Tensor, requires_grad: bool) -> torch.Tensor:
    if cls is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def rebuild_tensor(
    cls: object, storage: Any, metadata: tuple[int, object, object, bool]
) -> torch.Tensor:
    """The tensor that looks at a storage with a dtype, a parameter if that is ``cls``; ``metadata``
    are offset, size, stride and ``requires_grad``."""
    offset, size, stride, requires_grad = metadata
    tensor = torch.empty(0, dtype=storage.dtype).set_(storage.untyped(), offset, size, stride)
    return _finished(cls, tensor, requires_grad)


def _rebuild_copied(
    cls: object, tensor: torch.Tensor, device: str, requires_grad: bool
) -> torch.Tensor:
    """The copy of a tensor of ``device``; on the CPU where that is not there."""
    try:
        tensor = tensor.to(device)
    except RuntimeError:
        pass
    return _finished(cls, tensor, requires_grad)


def _rebuild_meta(
    cls: object, dtype: torch.dtype, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> torch.Tensor:
    return _finished(
        cls, torch.empty_strided(size, stride, dtype=dtype, device="meta"), requires_grad
    )


def reduce_tensor(tensor: torch.Tensor) -> Reduced:
    """A function and its arguments that make the tensor in another process; history is left out.

    A tensor on the CPU goes by its storage, which moves into shared memory once that is pickled;
    any other as a copy.

    Raises:
        RuntimeError: for a tensor with history.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    warn_if_has_hooks(tensor)
    # `torch.Tensor` is found only where `torch` means jtorch
    cls = torch.nn.Parameter if type(tensor) is torch.nn.Parameter else None
    data = tensor.detach()
    if data.is_meta:
        return _rebuild_meta, (
            cls,
            data.dtype,
            tuple(data.shape),
            data.stride(),
            tensor.requires_grad,
        )
    if data.layout is not torch.strided:
        return tensor.__reduce_ex__(2)
    if shared_memory.is_spread(data):
        return _rebuild_copied, (cls, torch.tensor(data.numpy()), "cpu", tensor.requires_grad)
    if data.device.type != "cpu":
        return _rebuild_copied, (cls, data.cpu(), str(data.device), tensor.requires_grad)
    data = data.resolve_conj().resolve_neg()  # the other side knows of memory alone
    storage = torch.storage.TypedStorage(
        wrap_storage=data.untyped_storage(), dtype=data.dtype, _internal=True
    )
    return rebuild_tensor, (
        cls,
        storage,
        (data.storage_offset(), tuple(data.shape), data.stride(), tensor.requires_grad),
    )


def init_reductions() -> None:
    """Tells the pickler of queues and pipes about tensors, parameters and storages."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
    ForkingPickler.register(torch.storage.TypedStorage, reduce_typed_storage)


__getattr__ = _refusals.missing(__name__)
