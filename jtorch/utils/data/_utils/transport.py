"""Messages between the main process and its workers: tensors as raw arrays, and what cannot be
found by name by value.

Tensors in memory that processes share stay in it: the descriptors of that memory go along with the
message.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import socket
import sys
import threading
import types
from collections.abc import Callable
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import jtorch as torch
from jtorch._src.tensor import shared_memory

_Base: Any
try:
    from cloudpickle import Pickler as _Base
# the extra 'workers': without it, what workers get has to be importable by name
except ImportError:
    from pickle import Pickler as _Base


def _rebuild(array: object, requires_grad: bool, dtype: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    if dtype is not None:
        tensor = tensor.view(dtype)
    return tensor.requires_grad_() if requires_grad else tensor


def _named(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), torch)


class Unsendable(Exception):
    """Raised for what a process that is started afresh could not find by its name."""


@functools.cache
def _is_elsewhere(top: str) -> bool:
    """Whether another process finds a package or module too: whether any finder does, whatever has
    been loaded here."""
    for finder in sys.meta_path:
        try:
            if finder.find_spec(top, None) is not None:
                return True
        except (AttributeError, ImportError):
            continue
    return False


def _check_findable(obj: Callable[..., object] | type) -> None:
    """Refuses classes and functions of modules that a program has made or loaded in ways of its
    own."""
    module = obj.__module__
    if (
        module == "__main__"
        or module is None
        or "<" in obj.__qualname__
        or module not in sys.modules
    ):
        return  # goes by value, or fails in words of its own
    if not _is_elsewhere(module.partition(".")[0]):
        raise Unsendable(f"{module}.{obj.__qualname__}")


#: Whether lambdas and classes of the main program can be sent.
_BY_VALUE = _Base is not pickle.Pickler


class Packed:
    """A message, and the memory that it speaks of by number: pieces that are shared where it is
    sent, descriptors where it has come.

    Attributes:
        data: the pickle.
        memory: kept until the message is gone.
        fds: of a message that has come, closed with it.
    """

    __slots__ = ("data", "memory", "fds")

    def __init__(
        self,
        data: bytes,
        memory: list[shared_memory.Mapping] | None = None,
        fds: list[int] | None = None,
    ) -> None:
        self.data, self.memory, self.fds = data, memory or [], fds or []

    def __del__(self) -> None:
        for fd in self.fds:
            os.close(fd)


#: How many descriptors the system takes at once.
_MOST = 200


def send(connection: Connection, packed: Packed) -> None:
    """Sends a message.

    Raises:
        OSError: if the other process has gone.
    """
    if packed.memory:
        connection.send_bytes(b"%d" % len(packed.memory))  # no pickle begins so
        with socket.socket(fileno=os.dup(connection.fileno())) as there:
            for i in range(0, len(packed.memory), _MOST):
                reduction.sendfds(there, [m.fd for m in packed.memory[i : i + _MOST]])
    connection.send_bytes(packed.data)


def receive(connection: Connection) -> Packed:
    """Waits for a message.

    Raises:
        EOFError, OSError: if the other process has gone.
    """
    data = connection.recv_bytes()
    if not data[:1].isdigit():
        return Packed(data)
    packed = Packed(b"")
    count = int(data)
    with socket.socket(fileno=os.dup(connection.fileno())) as there:
        while count > len(packed.fds):
            packed.fds += reduction.recvfds(there, min(count - len(packed.fds), _MOST))
    packed.data = connection.recv_bytes()
    return packed


class _Loading(threading.local):
    packed: Packed | None = None


_loading = _Loading()


def _in_shared(number: int, size: int) -> object:
    """The storage in the memory that goes by a number in the message which is loaded."""
    assert _loading.packed is not None
    return torch.multiprocessing.reductions.storage_behind(
        torch.UntypedStorage, _loading.packed.fds[number], size
    )


def _is_shared(t: Any) -> bool:
    return (
        t.layout is torch.strided
        and t.device.type == "cpu"
        and shared_memory.mapping_of(t.untyped_storage()._storage) is not None
    )


class _Pickler(_Base):
    def __init__(self, file: object, **options: object) -> None:
        super().__init__(file, **options)
        self.memory: list[shared_memory.Mapping] = []

    def _reduced_storage(self, storage: Any) -> object:
        mapping = shared_memory.mapping_of(storage._storage)
        if mapping is None:
            return None
        if mapping.name is not None or not mapping.is_all_of(storage._storage.host):
            return torch.multiprocessing.reductions.reduce_storage(storage)
        if mapping not in self.memory:
            self.memory.append(mapping)
            reductions = torch.multiprocessing.reductions
            # should it come back
            reductions.shared_cache[reductions.fd_id(mapping.fd)] = reductions.StorageWeakRef(
                storage
            )
        return _in_shared, (self.memory.index(mapping), mapping.nbytes)

    def reducer_override(self, obj: Any) -> object:
        """Plain tensors as arrays: views do not carry their whole storage along. What is shared
        already stays so."""
        if (
            isinstance(obj, type)
            and obj.__module__ == "torch"
            and getattr(torch, obj.__qualname__, None) is obj
        ):
            return _named, (obj.__qualname__,)  # found by name only where `torch` stands for jtorch
        if type(obj) in (torch.Tensor, torch.nn.Parameter) and _is_shared(obj):
            found: Any = obj
            return torch.multiprocessing.reductions.reduce_tensor(
                found if found.is_leaf else found.detach()
            )
        if (
            type(obj) is torch.UntypedStorage
            and (reduced := self._reduced_storage(obj)) is not None
        ):
            return reduced
        if type(obj) is torch.TypedStorage:
            return torch.multiprocessing.reductions.reduce_typed_storage(obj)
        if type(obj) is torch.Tensor:
            data = obj.detach().cpu()
            bits = torch.uint8 if data.element_size() == 1 else torch.uint16
            no_numpy = (
                data.is_floating_point()
                and data.element_size() < 4
                and data.dtype is not torch.float16
            )
            array = (data.contiguous().view(bits) if no_numpy else data).numpy()
            return _rebuild, (array, obj.requires_grad, data.dtype if no_numpy else None)
        if isinstance(obj, (type, types.FunctionType)):
            _check_findable(obj)
        if _BY_VALUE:
            return super().reducer_override(obj)
        if isinstance(obj, (type, types.FunctionType)) and (
            obj.__module__ == "__main__" or "<" in obj.__qualname__
        ):
            raise RuntimeError(
                f"DataLoader workers cannot find {obj.__qualname__} of {obj.__module__} by name. "
                "Install cloudpickle (the extra 'workers' of jtorch-jax) to send lambdas and what "
                "the main program defines, or move it into a module."
            )
        return NotImplemented


def dumps(obj: object) -> Packed:
    """The message that says ``obj``."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.dump(obj)
    return Packed(buffer.getvalue(), pickler.memory)


def loads(packed: Packed) -> Any:
    """What a message that has come says."""
    before, _loading.packed = _loading.packed, packed
    try:
        return pickle.loads(packed.data)
    finally:
        _loading.packed = before
