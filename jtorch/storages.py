"""``UntypedStorage`` and ``TypedStorage``: a tensor's memory as programs and files see it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .core import Tensor, alias_of, contiguous_strides, is_contiguous, share_host
from .engine import META, limits, numbers_of
from .errors import check_long
from .resizing import FIXED, resize_storage
from .storage import Alias, Storage
from .tensor_numbers import host_memory


class UntypedStorage:
    """The memory of tensors, as bytes. Two tensors that share memory have storages that compare equal."""

    def __init__(self, size: Any = 0, *, _storage: Storage | None = None, _device: Any = None) -> None:
        self._looked_at = _storage if _storage is not None else alias_of(share_host(_bytes(size), owned=True)).storage
        self._device = _device

    @property
    def _storage(self) -> Storage:
        while (moved := self._looked_at.moved) is not None:
            self._looked_at = moved
        return self._looked_at

    @property
    def _aval(self) -> Any:
        return self._storage.aval if self._storage.value is None else self._storage.value.aval

    def nbytes(self) -> int:
        """Bytes in the storage."""
        return self._aval.nbytes

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """A number that names the memory; not a real address unless it is NumPy's."""
        host = self._storage.host
        return self._storage.address if host is None else host.ctypes.data

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        from . import devices

        return devices.of_placement(self._aval.device)

    def memory(self) -> np.ndarray:
        """The elements in the order in which they lie in memory, as a flat NumPy array (a copy, or NumPy's own memory).

        Raises:
            NotImplementedError: on the meta device.
        """
        storage = self._storage
        if self._aval.device == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self._in_order(storage.host if not storage.adopt() else numbers_of(storage.value))  # type: ignore[arg-type]

    def _in_order(self, array: Any) -> np.ndarray:
        strides = self._storage.strides
        if strides is not None and not is_contiguous(array.shape, strides):  # type: ignore[union-attr]
            order = sorted(range(len(strides)), key=lambda i: -strides[i])  # type: ignore[index]
            array = np.transpose(array, order)  # type: ignore[arg-type]
        return np.ascontiguousarray(array).reshape(-1)

    def _to_bytes(self) -> bytes:
        return self.memory().tobytes()

    def tolist(self) -> list[int]:
        """The bytes as a list."""
        return list(self._to_bytes())

    def _shared(self) -> np.ndarray:
        """The bytes as NumPy's memory, which from now on is the storage's: what is written there is seen by its tensors."""
        storage = self._storage
        if self._aval.device == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        array = storage.host
        if array is None:
            whole: Any = object.__new__(Tensor)
            whole._al = Alias(storage, (), storage.value, None, 0, 0)
            whole._strides = storage.strides
            array = host_memory(whole)
        return self._in_order(array).view(np.uint8)

    def __getitem__(self, index: Any) -> Any:
        """A byte as a number, or for a slice a storage of these bytes, which stay shared.

        Raises:
            IndexError: if it is out of range.
            RuntimeError: for a slice with steps.
        """
        if isinstance(index, slice):
            found = self._shared()[_checked_slice(index)]
            return UntypedStorage(_storage=alias_of(share_host(found)).storage)
        return int(self.memory().view(np.uint8)[_checked_index(self, index)])

    def __setitem__(self, index: Any, value: int) -> None:
        """Writes a byte, or one byte to every place of a slice."""
        if type(value) is not int:
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if isinstance(index, int) and not -self.nbytes() <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        self._shared()[_checked_slice(index) if isinstance(index, slice) else index] = value & 255

    def fill_(self, value: int) -> UntypedStorage:
        """Writes one byte everywhere."""
        if type(value) is not int:
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._shared()[:] = value & 255
        return self

    def __repr__(self) -> str:
        numbers = "..." if self.device.type == META else "".join(f" {n}\n" for n in self.tolist()).removesuffix("\n")
        return f"{numbers}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` bytes of a file, read when they are looked at; with ``shared``, what is written goes to the file."""
        memory = np.memmap(filename, np.uint8, "r+" if shared else "c", 0, (nbytes,)) if nbytes else np.empty(0, np.uint8)
        return cls(_storage=alias_of(share_host(memory)).storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._storage is other._storage

    def __hash__(self) -> int:
        return self._storage.address  # which stays when the storage is given another size

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes: it is not."""
        return False

    def resizable(self) -> bool:
        """Whether the storage may be given another size: not if its memory is NumPy's or a buffer's."""
        return self._storage.resizable

    def resize_(self, size: int) -> UntypedStorage:
        """Gives the storage another size, in bytes, which all its tensors see. It keeps its bytes as far as they fit, and zeros follow.

        Tensors keep their shapes; where the memory has become too small for one, it shows zeros.

        Raises:
            RuntimeError: if the memory belongs to others too, or there is not that much.
        """
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if not -(2**63) <= size < 2**63:
            raise ValueError("Overflow when unpacking long long")
        storage = self._storage
        if not storage.resizable:
            raise RuntimeError(FIXED)
        if size < 0:
            raise _negative(size)
        resize_storage(storage, size)
        return self


def _negative(size: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with negative number: "
        f"{size % 2**64}"
    )


def _bytes(given: Any) -> np.ndarray:
    """The memory of a new storage: of a size, or with the bytes of a sequence."""
    if isinstance(given, (int, np.integer)):
        if given < 0:
            raise _negative(int(given))
        limits.check_bytes(int(given))
        return np.zeros(given, np.uint8)
    try:
        items = list(given)
    except TypeError:
        raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(given).__name__}") from None
    for x in items:
        if not isinstance(x, (int, np.integer)):
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(given).__name__}), but one of the items "
                f"was of type {type(x).__name__} instead of int"
            )
    return np.array([int(x) & 255 for x in items], np.uint8)


def _checked_slice(index: slice) -> slice:
    if index.step not in (None, 1):
        raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
    return index


def _checked_index(storage: UntypedStorage | TypedStorage, index: Any) -> int:
    if not hasattr(type(index), "__index__"):
        raise TypeError(f"can't index a torch.{type(storage).__name__} with {type(index).__name__}")
    i, n = index.__index__(), len(storage)
    check_long(i)
    at = i + n if i < 0 else i
    if not 0 <= at < n:
        raise IndexError(f"index {at} out of range for storage of size {n}")
    return at


class TypedStorage:
    """A storage with the dtype of the tensor it was asked of."""

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: dtypes.dtype, _internal: bool = False) -> None:
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    def __repr__(self) -> str:
        about = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return f"...\n{about}" if self.device.type == META else "".join(f" {n}\n" for n in self.tolist()) + about

    def untyped(self) -> UntypedStorage:
        """The storage without its dtype."""
        return self._untyped_storage

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def data_ptr(self) -> int:
        """As ``UntypedStorage.data_ptr``."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """Bytes in the storage."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Elements in the storage."""
        return self.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: int) -> Any:
        """An element as a Python number.

        Raises:
            RuntimeError: for a slice, as in torch.
        """
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._untyped_storage.memory().view(self.dtype.np)[_checked_index(self, index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes an element, or one to every place of a slice."""
        place = _checked_slice(index) if isinstance(index, slice) else _checked_index(self, index)
        self._untyped_storage._shared().view(self.dtype.np)[place] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Writes one element everywhere."""
        self._untyped_storage._shared().view(self.dtype.np)[:] = value
        return self

    def resizable(self) -> bool:
        """As ``UntypedStorage.resizable``."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """As ``UntypedStorage.resize_``, in elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._untyped_storage.memory().view(self.dtype.np).tolist()

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._untyped_storage.device


def storage_of(t: Tensor) -> UntypedStorage:
    """The storage a tensor looks at."""
    return UntypedStorage(_storage=alias_of(t).storage)


def from_storage(memory: np.ndarray, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """A tensor that looks at flat memory as ``as_strided`` would, in elements. Tensors of one array share one storage if the caller
    passes the tensor that ``base_of`` made for it."""
    return view_of(base_of(memory), offset, size, stride)


def base_of(memory: np.ndarray) -> Tensor:
    """The tensor of a flat array; NumPy's memory is taken over when nobody else refers to it."""
    return share_host(memory.reshape(-1), owned=True)


def view_of(base: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    """The strided look at a flat tensor: the tensor itself, a slice in another shape, or an ``as_strided`` view, without history."""
    numel = int(np.prod(size, dtype=np.int64))
    if tuple(stride) == contiguous_strides(tuple(size)) or is_contiguous(tuple(size), tuple(stride)):
        part = base if (offset, numel) == (0, base.numel()) else base[offset : offset + numel]  # type: ignore[index]
        found = part if tuple(size) == tuple(part.shape) else part.view(tuple(size))  # type: ignore[attr-defined]
    else:
        found = base.as_strided(size, stride, offset)  # type: ignore[attr-defined]
    made = found.detach()
    if tuple(stride) != contiguous_strides(tuple(size)):
        made._strides = tuple(stride)
    return made


#: PyTorch's base of all storages; there is one class of them here.
StorageBase = UntypedStorage
