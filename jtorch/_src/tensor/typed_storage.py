"""``TypedStorage``: a tensor's memory with its dtype. What it holds are the bytes of an
``UntypedStorage``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import share_host
from .. import hooks
from ..bind.everything import T
from ..composites.tensor_info import DEPRECATED
from ..engine import META
from ..facts import devices, dtypes
from ..facts.warned_once import warn_once
from .untyped_storage import StorageBase, UntypedStorage, _checked_index, _checked_slice, storage_of

if TYPE_CHECKING:
    from ..facts.kinds import Function


#: Dtype -> the name of the class that torch had for storages of it.
NAMES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "bfloat16": "BFloat16Storage",
    "complex128": "ComplexDoubleStorage", "complex64": "ComplexFloatStorage",
}  # fmt: skip


def _wrong(what: str, kind: type[Exception] = RuntimeError) -> Exception:
    return kind(
        "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
        " * (*, torch.device device, torch.dtype dtype)\n"
        " * (int size, *, torch.device device, torch.dtype dtype)\n"
        " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
        f" * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n{what}"
    )


def numbers_from(given: object, dtype: dtypes.dtype, refuse: Function) -> np.ndarray:
    """The elements of a new storage: of a size, or of a sequence.

    Raises:
        TypeError: for anything else; ``refuse`` words it.
    """
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return np.zeros(int(given), dtype.np)
    if isinstance(given, str):
        raise TypeError(f"new(): invalid data type '{type(given).__name__}'")
    if isinstance(given, (list, tuple, range, np.ndarray)):
        return np.asarray(given).astype(dtype.np).reshape(-1)
    raise refuse(f"Argument type not recognized: {type(given)}", TypeError)


class TypedStorage(StorageBase):
    """A storage with the dtype of the tensor it was asked of.

    ``TypedStorage(size, dtype=, device=)`` has memory of its own, ``TypedStorage(sequence, ...)``
    these elements in it, and ``TypedStorage(wrap_storage=, dtype=)`` the memory of an
    ``UntypedStorage``.

    Making one warns, once, that ``UntypedStorage`` is what will stay.

    Raises:
        RuntimeError: for other combinations.
        TypeError: for arguments of other types.
    """

    dtype: dtypes.dtype

    def __init__(
        self,
        *args: object,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: object = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            warn_once(DEPRECATED)
        if wrap_storage is not None:
            if args:
                raise _wrong("No positional arguments should be given when using 'wrap_storage'")
            if dtype is None:
                raise _wrong("Argument 'dtype' must be specified")
            if not isinstance(dtype, dtypes.dtype):
                raise _wrong(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}", TypeError)
            if device is not None:
                raise _wrong(
                    "Argument 'device' should not be specified when 'wrap_storage' is given"
                )
            if not isinstance(wrap_storage, UntypedStorage):
                raise _wrong(
                    f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}",
                    TypeError,
                )
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if not isinstance(self.dtype, dtypes.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        if len(args) > 1:
            raise _wrong("Too many positional arguments")
        data = numbers_from(args[0] if args else 0, self.dtype, _wrong)
        self._untyped_storage = UntypedStorage(0 if device is None else data.nbytes, device=device)
        if device is None or self.device.type == "cpu":
            self._untyped_storage = storage_of(
                share_host(np.ascontiguousarray(data).view(np.uint8), owned=True)
            )
        elif self.device.type != META:
            self._untyped_storage = storage_of(T.from_numpy(data.view(np.uint8)).to(device))

    def __repr__(self) -> str:
        about = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size "
            f"{len(self)}]"
        )
        return (
            f"...\n{about}"
            if self.device.type == META
            else " " + "\n ".join(map(str, self.tolist())) + f"\n{about}"
        )

    def untyped(self) -> UntypedStorage:
        """The storage without its dtype."""
        return self._untyped_storage

    def _tensor(self) -> object:
        return self._untyped_storage._tensor().view(self.dtype)

    def _around(self, memory: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=memory, dtype=self.dtype)

    def data_ptr(self) -> int:
        """As ``UntypedStorage.data_ptr``."""
        return self._untyped_storage.data_ptr()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def nbytes(self) -> int:
        """Bytes in the storage."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes in an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """Elements in the storage."""
        return self.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: int) -> float:
        """An element as a Python number.

        Raises:
            RuntimeError: for a slice, as in torch.
            NotImplementedError: on the meta device.
        """
        self._untyped_storage._check_readable()
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._untyped_storage.memory().view(self.dtype.np)[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Writes an element, or one to every place of a slice."""
        place = _checked_slice(index) if isinstance(index, slice) else self._place(index)
        self._write(place, value)

    def _place(self, index: int) -> int:
        if not hasattr(type(index), "__index__"):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return _checked_index(self, index)

    def _write(self, place: int | slice, value: Any) -> None:
        if isinstance(value, StorageBase):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if self.device.type != META:
            self._untyped_storage._shared().view(self.dtype.np)[place] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Writes one element everywhere."""
        self._write(slice(None), value)
        return self

    def copy_(self, source: object, non_blocking: bool | None = None) -> TypedStorage:
        """Takes over the bytes of another storage, as ``UntypedStorage.copy_``: elements of another
        dtype are not converted."""
        self._untyped_storage.copy_(source, non_blocking)
        return self

    def clone(self) -> TypedStorage:
        """A storage with the same elements and memory of its own."""
        return self._around(self._untyped_storage.clone())

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The storage on a device."""
        return self._around(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def cpu(self) -> TypedStorage:
        """The storage in the host's memory."""
        return self._around(self._untyped_storage.cpu())

    def pin_memory(self, device: str = "cuda") -> TypedStorage:
        """As ``UntypedStorage.pin_memory``."""
        return self._around(self._untyped_storage.pin_memory(device))

    def is_shared(self) -> bool:
        """As ``UntypedStorage.is_shared``."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """As ``UntypedStorage.share_memory_``."""
        self._untyped_storage.share_memory_()
        return self

    def _new_shared(self, size: int, *, device: Any = None) -> TypedStorage:
        """A new storage of this dtype in memory that processes share."""
        made = UntypedStorage._new_shared(
            size * self.element_size(), device="cpu" if device is None else device
        )
        return self._around(made)

    def _share_fd_cpu_(self) -> tuple[int, int]:
        fd, size = self._untyped_storage._share_fd_cpu_()
        return fd, size // self.element_size()

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        manager, handle, size = self._untyped_storage._share_filename_cpu_()
        return manager, handle, size // self.element_size()

    def _shared_incref(self) -> None:
        self._untyped_storage._shared_incref()

    def _shared_decref(self) -> TypedStorage:
        self._untyped_storage._shared_decref()
        return self

    def _weak_ref(self) -> object:
        return self._untyped_storage._weak_ref()

    _expired = staticmethod(UntypedStorage._expired)
    _free_weak_ref = staticmethod(UntypedStorage._free_weak_ref)

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, if any."""
        return self._untyped_storage.filename

    def pickle_storage_type(self) -> str:
        """The name of the old class for storages of this dtype, which files say.

        Raises:
            KeyError: if there was none.
        """
        try:
            return NAMES[
                self.dtype.scalar_name
                if self.dtype.scalar_name in NAMES
                else str(self.dtype).removeprefix("torch.")
            ]
        except KeyError:
            raise KeyError(f"dtype {self.dtype} is not recognized") from None

    def type(self, dtype: object = None, non_blocking: bool = False) -> Any:
        """The name of the old class for storages of this dtype; with ``dtype``, as
        ``UntypedStorage.type``."""
        if dtype is None:
            return (
                f"torch.{'' if self.device.type == 'cpu' else self.device.type + '.'}"
                f"{self.pickle_storage_type()}"
            )
        return self._untyped_storage.type(dtype, non_blocking)

    def _get_legacy_storage_class(self) -> object:
        found = NAMES.get(str(self.dtype).removeprefix("torch."))
        return None if found is None or self.device.type != "cpu" else hooks.storage_class(found)

    def resizable(self) -> bool:
        """As ``UntypedStorage.resizable``."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """As ``UntypedStorage.resize_``, in elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        self._untyped_storage._check_readable()
        return self._untyped_storage.memory().view(self.dtype.np).tolist()

    @property
    def device(self) -> devices.device:
        """Where the memory lies."""
        return self._untyped_storage.device

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> Any:
        """Offered by the classes of one dtype: ``torch.FloatStorage.from_buffer``."""
        del args, kwargs
        raise RuntimeError("from_buffer can only be called on derived classes")

    @classmethod
    def from_file(cls, filename: object, shared: bool, size: int) -> TypedStorage:
        """The first ``size`` elements of a file, for the classes of one dtype:
        ``torch.FloatStorage.from_file``."""
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        dtype = cls.dtype
        return TypedStorage(
            wrap_storage=UntypedStorage.from_file(filename, shared, size * dtype.itemsize),
            dtype=dtype,
        )
