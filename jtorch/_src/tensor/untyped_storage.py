"""``UntypedStorage``: a tensor's memory as programs and files see it. ``typed_storages`` has those
with a dtype."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor, alias_of, from_host, from_value, is_contiguous, share_host
from .. import hooks
from ..bind.everything import PUBLIC
from ..engine import META, Several, limits, numbers_of, record
from ..facts import devices, dtypes
from ..facts.errors import check_long, not_offered
from ..ops._declare import OPS
from ..ops._kernel import T, call_of
from . import shared_memory
from .cells import Alias, Storage
from .numbers import host_memory
from .resizing import FIXED, resize_storage

if TYPE_CHECKING:
    from collections.abc import Callable


class StorageBase:
    """What storages have, with a dtype of their own or none: conversions, copies, and the questions
    that all of them answer alike."""

    is_cuda = is_hpu = is_sparse = False
    device: Any

    def __new__(cls, *_args: object, **_kwargs: object) -> Any:
        """Of a subclass only."""
        if cls is StorageBase:
            raise RuntimeError(
                "Cannot directly construct StorageBase; subclass it and then construct that"
            )
        return super().__new__(cls)

    def untyped(self) -> UntypedStorage:
        """The storage without a dtype."""
        raise NotImplementedError

    def _tensor(self) -> Any:
        """The memory as a flat tensor, which shares it."""
        raise NotImplementedError

    def _converted(self, dtype: dtypes.dtype) -> Any:
        """The elements in another dtype, or copied, as a ``TypedStorage``."""
        found = self._tensor()
        made = found.to(dtype) if dtype is not found.dtype else found.clone()
        return hooks.storage_class("TypedStorage")(wrap_storage=storage_of(made), dtype=dtype)

    def get_device(self) -> int | None:
        """The accelerator's number; None where the memory is no accelerator's."""
        return self.device.index

    def is_pinned(self, device: str = "cuda") -> bool:
        """Whether the memory is page-locked for an accelerator: it never is."""
        del device
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])  # type: ignore[index,arg-type]

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[object, object]) -> Any:
        return self._around(storage_of(copied_storage(self.untyped()._storage, memo)))

    def _around(self, memory: UntypedStorage) -> object:
        """A storage of this kind on other memory."""
        return memory

    def __reduce__(self) -> Any:
        buffer = io.BytesIO()
        hooks.serialization.get().save(self, buffer, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (buffer.getvalue(),)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.untyped().nbytes()


def _conversion(name: str, dtype: str) -> Callable[..., object]:
    def convert(self: StorageBase) -> object:
        return self._converted(dtypes.BY_NAME[dtype])

    convert.__name__, convert.__qualname__ = name, f"StorageBase.{name}"
    convert.__doc__ = f"The elements as ``{dtype}``, in memory of their own."
    return convert


for _name, _dtype in {
    "double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16",
    "complex_double": "complex128", "complex_float": "complex64", "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2", "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
}.items():  # fmt: skip
    if _dtype in dtypes.BY_NAME:
        setattr(StorageBase, _name, _conversion(_name, _dtype))


def _load_from_bytes(saved: bytes) -> object:
    return hooks.serialization.get().load(io.BytesIO(saved), weights_only=False)


_load_from_bytes.__module__ = "jtorch.storage"  # where pickles find it


class UntypedStorage(StorageBase):
    """The memory of tensors, as bytes. Two tensors that share memory have storages that compare
    equal.

    ``UntypedStorage(size)`` has memory of its own, and ``UntypedStorage(sequence)`` with these
    bytes in it.
    """

    is_sparse_csr = False

    def __new__(cls, *args: object, device: Any = None, _storage: Storage | None = None) -> Any:
        """The memory, which is there before a subclass's ``__init__`` runs."""
        if len(args) > 1:
            got = ", ".join(type(a).__name__ for a in args)
            raise TypeError(
                "torch.UntypedStorage() received an invalid combination of arguments - got "
                f"({got}), but expected one of:\n"
                " * (*, int allocator = None, torch.device device = None)\n"
                " * (int size, *, int allocator = None, torch.device device = None)\n"
                " * (object sequence, *, int allocator = None, torch.device device = None)\n"
            )
        self = super().__new__(cls)
        self._looked_at = (
            _storage if _storage is not None else _made(args[0] if args else 0, device)
        )
        return self

    @property
    def _storage(self) -> Storage:
        while (moved := self._looked_at.moved) is not None:
            self._looked_at = moved
        return self._looked_at

    @property
    def _aval(self) -> Any:
        storage = self._storage
        return storage.aval if storage.value is None else storage.value.aval

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, if what is written goes there."""
        return shared_memory.file_of(self._storage)

    def nbytes(self) -> int:
        """Bytes in the storage."""
        return self._aval.nbytes

    size = nbytes

    def __len__(self) -> int:
        return self.nbytes()

    def data_ptr(self) -> int:
        """A number that names the memory; not a real address unless it is NumPy's. 0 without
        memory: of no bytes, or on the meta device."""
        if self._storage.detach is not None:
            raise RuntimeError("Attempted to access the data pointer on an invalid python storage.")
        if self._aval.device == META or not self.nbytes():
            return 0
        host = self._storage.host
        return self._storage.address if host is None else host.ctypes.data

    @property
    def _cdata(self) -> int:
        return self._storage.address

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return devices.of_placement(self._aval.device)

    def memory(self) -> np.ndarray:
        """The elements in the order in which they lie in memory, as a flat NumPy array (a copy, or
        NumPy's own memory).

        Raises:
            NotImplementedError: on the meta device.
        """
        storage = self._storage
        if self._aval.device == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if storage.detach is not None:
            raise RuntimeError(
                "The tensor has a non-zero number of elements, but its data is not allocated yet."
            )
        found: Any = storage.numbers()
        return self._in_order(found if isinstance(found, np.ndarray) else numbers_of(found))

    def _in_order(self, array: np.ndarray) -> np.ndarray:
        strides = self._storage.strides
        if strides is not None and not is_contiguous(array.shape, strides):
            order = sorted(range(len(strides)), key=lambda i: -strides[i])
            array = np.transpose(array, order)
        return np.ascontiguousarray(array).reshape(-1)

    def _to_bytes(self) -> bytes:
        return self.memory().tobytes()

    def tolist(self) -> list[int]:
        """The bytes as a list."""
        self._check_readable()
        return list(self._to_bytes())

    def _check_valid(self, what: str) -> None:
        """Raises RuntimeError for the storage of a wrapper, which has no memory."""
        if self._storage.detach is not None:
            raise RuntimeError(f"Attempted to call {what}() on an invalid python storage.")

    def _check_readable(self) -> None:
        if self._aval.device == META:
            raise NotImplementedError("Not available for 'meta' device type")

    def _tensor(self) -> Any:
        if self._aval.device == META:
            return PUBLIC["empty"](self.nbytes(), dtype=dtypes.uint8, device="meta")
        return share_host(self._shared())

    def element_size(self) -> int:
        """Bytes in an element: one."""
        return 1

    def type(self, dtype: object = None, non_blocking: bool = False) -> Any:
        """The class's name; with ``dtype``, the bytes as elements of it."""
        del non_blocking
        if dtype is None:
            return "torch.storage.UntypedStorage"
        raise not_offered(
            "UntypedStorage.type(dtype)",
            "PyTorch refuses it for every dtype that is wider; use a tensor",
        )

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    def clone(self) -> UntypedStorage:
        """A storage with the same bytes and memory of its own."""
        if self._aval.device == META:
            return UntypedStorage(self.nbytes(), device="meta")
        return UntypedStorage(
            _storage=alias_of(share_host(self.memory().view(np.uint8).copy(), owned=True)).storage
        )

    def copy_(self, source: object, non_blocking: object = None) -> UntypedStorage:
        """Takes over the bytes of another storage.

        Raises:
            RuntimeError: if they are not as many.
        """
        del non_blocking
        if not isinstance(source, StorageBase):
            raise TypeError(
                "copy_(): argument 'src' (position 1) must be torch.Storage, not "
                f"{type(source).__name__}"
            )
        self._check_valid("copy_")
        given = source.untyped()
        if given.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {given.nbytes()} "
                "bytes"
            )
        if self._aval.device != META:
            self._shared()[:] = given.memory().view(np.uint8)
        return self

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The storage on a device: itself if it lies there."""
        del non_blocking
        if devices.device(device) == self.device:
            return self
        return storage_of(self._tensor().to(device))

    def cpu(self) -> UntypedStorage:
        """The storage in the host's memory: itself if it lies there."""
        if self._aval.device == META:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return self.to(device="cpu")

    def pin_memory(self, device: str = "cuda") -> UntypedStorage:
        """Not offered: there is no accelerator to lock pages for."""
        del device
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Turns the order of the bytes within elements of ``dtype`` round, for complex ones within
        each part."""
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        self._shared().reshape(-1, size)[:] = self._shared().reshape(-1, size)[:, ::-1].copy()

    def share_memory_(self) -> UntypedStorage:
        """Moves the storage into memory that other processes can look at too; accelerators' memory
        stays as it is.

        All tensors on it go along; NumPy's arrays keep the memory that they have.

        Raises:
            RuntimeError: on the meta device, or if there is not that much shared memory.
        """
        if self.device.type in ("cpu", META) and not self.is_shared():
            self._share("filename" if shared_memory.STRATEGY[0] == "file_system" else "fd")
        return self

    def _share(self, how: str) -> shared_memory.Mapping:
        if self.device.type != "cpu":
            raise RuntimeError(f"_share_{how}_: only available on CPU")
        storage = self._storage
        if self.filename is not None:
            raise RuntimeError(
                "the storage is mapped from a file, and can be shared as that alone: have others "
                "map the file too"
            )
        if storage.detach is not None or type(self._aval.device) is Several:
            raise not_offered(
                "UntypedStorage.share_memory_",
                "the tensor has no memory of its own, or is spread over several devices",
            )
        return shared_memory.shared(storage, how == "filename")

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """Moves the storage into shared memory; gives its descriptor and its size."""
        mapping = self._share("fd")
        return mapping.fd, mapping.nbytes

    def _share_filename_cpu_(self) -> tuple[bytes, bytes, int]:
        """Moves the storage into shared memory; gives what manages it (nothing does), its name and
        its size."""
        mapping = self._share("filename")
        return b"", f"/{mapping.name}".encode(), mapping.nbytes

    @classmethod
    def _on(cls, mapping: shared_memory.Mapping) -> UntypedStorage:
        return cls(_storage=alias_of(share_host(mapping.array())).storage)

    @classmethod
    def _new_using_fd_cpu(cls, size: int) -> UntypedStorage:
        """A new storage in memory that is shared by its descriptor."""
        limits.check_bytes(size)
        return cls._on(shared_memory.by_descriptor(size))

    @classmethod
    def _new_using_filename_cpu(cls, size: int) -> UntypedStorage:
        """A new storage in memory that is shared by its name."""
        limits.check_bytes(size)
        return cls._on(shared_memory.by_name(size))

    @classmethod
    def _new_shared_fd_cpu(cls, fd: int, size: int) -> UntypedStorage:
        """The storage in the memory behind another process's descriptor, which stays the
        caller's."""
        return cls._on(shared_memory.from_descriptor(fd, size))

    @classmethod
    def _new_shared_filename_cpu(cls, manager: bytes, handle: bytes, size: int) -> UntypedStorage:
        """The storage in another process's memory of this name."""
        del manager
        return cls._on(shared_memory.from_name(handle.decode().removeprefix("/"), size))

    @classmethod
    def _new_shared(cls, size: int, *, device: str = "cpu") -> UntypedStorage:
        """A new storage in memory that processes share."""
        if devices.device(device).type != "cpu":
            return cls(size, device=device)
        return (
            cls._new_using_filename_cpu(size)
            if shared_memory.STRATEGY[0] == "file_system"
            else cls._new_using_fd_cpu(size)
        )

    def _shared_incref(self) -> None:
        """Counts who will look at memory with a name once it has got what is sent."""
        if (
            mapping := shared_memory.mapping_of(self._storage)
        ) is not None and mapping.name is not None:
            shared_memory.count(mapping.name, 1)

    def _shared_decref(self) -> UntypedStorage:
        """Takes ``_shared_incref`` back: what was sent has come."""
        if (
            mapping := shared_memory.mapping_of(self._storage)
        ) is not None and mapping.name is not None:
            shared_memory.count(mapping.name, -1)
        return self

    def _weak_ref(self) -> weakref.ref[Storage]:
        """Leads to the memory as long as something looks at it (a number in PyTorch)."""
        return weakref.ref(self._storage)

    @staticmethod
    def _expired(reference: weakref.ref[Storage]) -> bool:
        """Whether nothing looks at the memory any more."""
        return reference() is None

    @staticmethod
    def _free_weak_ref(reference: weakref.ref[Storage]) -> None:
        """Nothing to do: references are Python's own."""

    @classmethod
    def _new_with_weak_ptr(cls, reference: weakref.ref[Storage]) -> UntypedStorage | None:
        """The storage; None if nothing looks at it any more."""
        return None if (found := reference()) is None else cls(_storage=found)

    @classmethod
    def from_buffer(
        cls,
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        dtype: Any = None,
    ) -> Any:
        """A storage with the bytes of a buffer, read as elements of ``dtype`` in ``byte_order``."""
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        return cls(
            _storage=alias_of(
                share_host(
                    swapped(buffer, byte_order, dtype, count, offset).view(np.uint8), owned=True
                )
            ).storage
        )

    def _shared(self) -> np.ndarray:
        """The bytes as NumPy's memory, which from now on is the storage's: what is written there is
        seen by its tensors."""
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
        self._check_readable()
        if isinstance(index, slice):
            found = self._shared()[_checked_slice(index)]
            return UntypedStorage(_storage=alias_of(share_host(found)).storage)
        return int(self.memory().view(np.uint8)[_checked_index(self, index)])

    def __setitem__(self, index: object, value: int) -> None:
        """Writes a byte, or one byte to every place of a slice."""
        if type(value) is not int:
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type(value).__name__} "
                "instead"
            )
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if isinstance(index, int) and not -self.nbytes() <= index < self.nbytes():
            raise RuntimeError("out of bounds")
        self._shared()[_checked_slice(index) if isinstance(index, slice) else index] = value & 255

    def fill_(self, value: int) -> UntypedStorage:
        """Writes one byte everywhere."""
        if type(value) is not int:
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        self._check_valid("fill_")
        if self._aval.device != META:
            self._shared()[:] = value & 255
        return self

    def __repr__(self) -> str:
        numbers = "..." if self.device.type == META else " " + "\n ".join(map(str, self.tolist()))
        return (
            f"{numbers}\n"
            f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        )

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` bytes of a file, read when they are looked at; with ``shared``, what
        is written goes to the file."""
        memory = (
            np.memmap(filename, np.uint8, "r+" if shared else "c", 0, (nbytes,))
            if nbytes
            else np.empty(0, np.uint8)
        )
        return cls(_storage=alias_of(share_host(memory)).storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._storage is other._storage

    def __hash__(self) -> int:
        return self._storage.address  # which stays when the storage is given another size

    def is_shared(self) -> bool:
        """Whether other processes may look at the memory: it is shared, an accelerator's, or mapped
        from a file."""
        if self.device.type not in ("cpu", META):
            return True
        return shared_memory.mapping_of(self._storage) is not None or shared_memory.is_file(
            self._storage
        )

    def resizable(self) -> bool:
        """Whether the storage may be given another size: not if its memory is NumPy's or a
        buffer's."""
        return self._storage.resizable

    def resize_(self, size: int) -> UntypedStorage:
        """Gives the storage another size, in bytes, which all its tensors see. It keeps its bytes
        as far as they fit, and zeros follow.

        Tensors keep their shapes; where the memory has become too small for one, it shows zeros.

        Raises:
            RuntimeError: if the memory belongs to others too, or there is not that much.
        """
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        if not -(2**63) <= size < 2**63:
            raise ValueError("Overflow when unpacking long long")
        self._check_valid("resize_")
        storage = self._storage
        if not storage.resizable:
            raise RuntimeError(FIXED)
        if size < 0:
            raise _negative(size)
        resize_storage(storage, size)
        return self


def _negative(size: int) -> RuntimeError:
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have "
        f"been called with negative number: {size % 2**64}"
    )


def swapped(
    buffer: Any, byte_order: str | None, dtype: dtypes.dtype, count: int, offset: int
) -> np.ndarray:
    """The numbers in a buffer of bytes, in the machine's order.

    Raises:
        RuntimeError: if numbers of several bytes come without their order.
        ValueError: if order, count or offset do not fit.
    """
    number = np.dtype(dtype.np)
    if byte_order is None and number.itemsize > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "big", "little", "native"):
        raise ValueError(
            f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
        )
    size, there = number.itemsize, memoryview(buffer).nbytes
    if not 0 <= offset <= there:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({offset}) , but got "
            f"{there}"
        )
    if count > 0 and (there - offset) // size < count:
        raise ValueError(
            f"buffer has only {there - offset} elements after offset {offset}, but specified a "
            f"size of {count}"
        )
    if count < 0 and (there - offset) % size:
        raise ValueError(f"buffer size ({there}) must be a multiple of element size ({size})")
    data = np.frombuffer(
        buffer, number.newbyteorder(">" if byte_order == "big" else "="), count, offset
    )
    return np.ascontiguousarray(data.astype(number))


def _made(given: object, device: devices.device | int | str) -> Storage:
    """New memory on a device: of a size, or with the bytes of a sequence."""
    if device is not None:
        place = devices.device(device)
        if place.type != "cpu":
            if place.type not in ("meta", "cuda", "xpu", "mps"):
                raise RuntimeError(
                    f"torch.UntypedStorage(): Storage device not recognized: {place.type}"
                )
            return alias_of(share_host(_bytes(given), owned=True).to(device)).storage
    return alias_of(share_host(_bytes(given), owned=True)).storage


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
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type(given).__name__}"
        ) from None
    for x in items:
        if not isinstance(x, (int, np.integer)):
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type(given).__name__}), but one of the items was of type {type(x).__name__} "
                "instead of int"
            )
    return np.array([int(x) & 255 for x in items], np.uint8)


def _checked_slice(index: slice) -> slice:
    if index.step not in (None, 1):
        raise RuntimeError(
            f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
        )
    return index


def _checked_index(storage: Any, index: int) -> int:
    if not hasattr(type(index), "__index__"):
        raise TypeError(f"can't index a torch.{type(storage).__name__} with {type(index).__name__}")
    i, n = index.__index__(), len(storage)
    check_long(i)
    at = i + n if i < 0 else i
    if not 0 <= at < n:
        raise IndexError(f"index {at} out of range for storage of size {n}")
    return at


def copied_storage(storage: Storage, memo: dict[Any, Any]) -> Tensor:
    """A tensor on a copy of the memory, the same one for all storages and tensors that are copied
    together and share theirs."""
    made = memo.setdefault("torch", {})
    if storage.address not in made:
        value: Any = storage.numbers()
        if isinstance(value, np.ndarray):
            value = from_host(value)._read()
        made[storage.address] = root = from_value(
            value if value.aval.device == META else record(call_of(OPS["clone"], (T,)), (value,))
        )
        root._strides = alias_of(root).storage.strides = storage.strides
    return made[storage.address]


def storage_of(t: Tensor) -> UntypedStorage:
    """The storage a tensor looks at."""
    return UntypedStorage(_storage=alias_of(t).storage)
