"""Tensors as raw storages and back: what files hold. The only part of saving and loading that knows
how tensors keep their data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.typed_storage import TypedStorage
from jtorch._src.tensor.untyped_storage import UntypedStorage, storage_of
from jtorch.core import alias_of, from_host, from_value

#: Storage classes of PyTorch's format, by dtype. Other dtypes are saved as ``UntypedStorage`` with
#: the dtype beside it.
TYPED = {
    torch.float64: "DoubleStorage",
    torch.float32: "FloatStorage",
    torch.float16: "HalfStorage",
    torch.int64: "LongStorage",
    torch.int32: "IntStorage",
    torch.int16: "ShortStorage",
    torch.int8: "CharStorage",
    torch.uint8: "ByteStorage",
    torch.bool: "BoolStorage",
    torch.bfloat16: "BFloat16Storage",
    torch.complex128: "ComplexDoubleStorage",
    torch.complex64: "ComplexFloatStorage",
}
#: Storages of quantised tensors: what they store, by the quantised dtype.
QUANTISED = {
    torch.quint8: ("QUInt8Storage", torch.uint8),
    torch.qint8: ("QInt8Storage", torch.int8),
    torch.qint32: ("QInt32Storage", torch.int32),
}
DTYPE_OF = {name: dtype for dtype, name in TYPED.items()}
DTYPE_OF.update(QUANTISED.values())
#: Sizes, strides and offsets are below this.
_LIMIT = 1 << 63
#: How many elements a tensor may have for each one of its storage, and beside them: where they are
#: found by positions in memory, and where one is shown again and again. A file of a few bytes could
#: describe a tensor of any size otherwise.
_OVERLAPS, _BESIDE = 10, 1 << 22
_SHOWN, _SHOWN_BESIDE = 1000, 1 << 26


def brief(value: object) -> str:
    """What an error says of something in a file: containers may be endless to print, and texts
    long."""
    if (
        isinstance(value, (tuple, list))
        and len(value) <= 20
        and all(type(v) in (int, float, str, type(None)) for v in value)
    ):
        value = repr(value)
    elif isinstance(value, torch.Tensor) or (
        isinstance(value, (tuple, list, dict, set, frozenset)) and value
    ):
        return f"a {type(value).__name__}"
    found = str(value)
    return found if len(found) <= 500 else f"{found[:500]}..."


class Piece:
    """The storage of a tensor that is saved, or one that is saved itself, as of a dtype.

    Attributes:
        key: what tensors on one storage have in common.
        location: ``"cpu"``, or the device.
        nbytes: the size of the whole storage.
    """

    def __init__(
        self, owner: torch.Tensor | UntypedStorage, dtype: torch.dtype | None = None
    ) -> None:
        alias = (owner._al and alias_of(owner)) if isinstance(owner, torch.Tensor) else owner
        self.storage: Any = (
            owner
            if alias is None
            else alias._storage
            if isinstance(alias, UntypedStorage)
            else alias.storage
        )
        self.key = id(self.storage)  # the reference kept here makes the id unique
        self.dtype: torch.dtype = owner.dtype if dtype is None else dtype
        device = owner.device
        self.location = (
            device.type
            if device.index is None or device.type == "cpu"
            else f"{device.type}:{device.index}"
        )
        self.nbytes: int = owner.nbytes if alias is None else self._aval().nbytes

    def _aval(self) -> Any:
        value = self.storage.value
        return self.storage.aval if value is None else value.aval

    def memory(self) -> np.ndarray:
        """The elements in the order in which they lie in memory, in one dimension."""
        storage = self.storage
        if isinstance(storage, torch.Tensor):
            array, strides = np.asarray(storage.jax()), storage._strides
        else:
            found = storage.numbers()
            if isinstance(found, np.ndarray):
                return _flat_host(found)
            array, strides = np.asarray(from_value(found).jax()), storage.strides
        if strides is not None:
            array = np.transpose(array, sorted(range(array.ndim), key=lambda i: -strides[i]))
        return np.ascontiguousarray(array).reshape(-1)


def _flat_host(array: np.ndarray) -> np.ndarray:
    order = sorted(range(array.ndim), key=lambda i: -array.strides[i])
    return np.ascontiguousarray(np.transpose(array, order)).reshape(-1)


def geometry(tensor: torch.Tensor) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Offset, sizes and strides of a tensor in its storage."""
    return tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride())


class LoadedStorage(TypedStorage):
    """Bytes read from a file, on which tensors are made. The tensors of one storage share memory,
    as they did when saved."""

    def __init__(self, data: np.ndarray, dtype: torch.dtype | None, location: str) -> None:
        self.data = data
        self.dtype = torch.uint8 if dtype is None else dtype
        self.location = location
        self._whole: torch.Tensor | None = None

    @property
    def _untyped_storage(self) -> UntypedStorage:
        """The memory of the tensors: a program that saved a storage by itself gets one back."""
        if self._whole is None:
            self._whole = self._make(self.dtype, (self.size(),))
        return storage_of(self._whole)

    @property
    def device(self) -> torch.device:
        """Where tensors on this storage are made."""
        return torch.device(self.location)

    def nbytes(self) -> int:
        """The size."""
        return self.data.nbytes

    def size(self) -> int:
        """The number of elements."""
        return self.data.nbytes // self.dtype.itemsize

    __len__ = size

    def to(self, device: Any) -> LoadedStorage:
        """This storage, to be on another device."""
        return LoadedStorage(self.data, self.dtype, str(device))

    def cpu(self) -> LoadedStorage:
        """This storage, to be on the host."""
        return self.to("cpu")

    def cuda(self, device: object = None) -> LoadedStorage:
        """This storage, to be on an accelerator."""
        return self.to(
            "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        )

    def tensor(
        self, dtype: torch.dtype, offset: int, size: Sequence[int], stride: Sequence[int]
    ) -> torch.Tensor:
        """The tensor with this geometry.

        Raises:
            RuntimeError: if it reaches beyond the storage.
        """
        size, stride = tuple(size), tuple(stride)
        if not isinstance(dtype, torch.dtype):
            raise TypeError(
                f"the dtype of a saved tensor must be a torch.dtype, not {type(dtype).__name__}"
            )
        if len(size) != len(stride) or not all(
            type(n) is int and 0 <= n < _LIMIT for n in (offset, *size, *stride)
        ):
            told = (
                f"sizes {brief(size)}, strides {brief(stride)} and storage offset {brief(offset)}"
            )
            raise RuntimeError(f"setStorage: {told} are not those of a tensor")
        if self.location == "meta":
            return torch.empty_strided(size, stride, dtype=dtype, device="meta")
        elements = self.data.nbytes // dtype.itemsize
        count = math.prod(size)
        reach = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride)) if count else 0
        if count >= _LIMIT:
            raise RuntimeError(f"setStorage: a tensor of sizes {list(size)} has too many elements")
        if reach > elements:
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
                f"and itemsize {dtype.itemsize} requiring a storage size of "
                f"{reach * dtype.itemsize} are out of bounds for storage of size {self.data.nbytes}"
            )
        # Dimensions of one element that is shown again and again need no positions in memory, all
        # others one for each element.
        once = tuple(1 if s == 0 else n for n, s in zip(size, stride)) if count else size
        if (
            math.prod(once) > _OVERLAPS * elements + _BESIDE
            or count > _SHOWN * elements + _SHOWN_BESIDE
        ):
            raise not_offered(
                f"torch.load() of a tensor of {count} elements on a storage of {elements}",
                "where elements lie on each other, as in views by expand() or unfold(), each takes "
                "memory of its own; save a clone()",
            )
        if self._whole is None:
            if offset == 0 and count == elements and stride == _contiguous(size):
                self._whole = self._make(dtype, size)
                return self._whole
            self._whole = self._make(dtype, (elements,))
        whole = self._whole
        if whole.dtype is not dtype:
            whole = whole.view(-1).view(dtype)
        with torch.no_grad():
            found = whole.detach().as_strided(once, stride, offset)
            return (found if once == size else found.expand(size)).detach()

    def _make(self, dtype: torch.dtype, size: tuple[int, ...]) -> torch.Tensor:
        count = math.prod(size)
        return from_host(
            self.data[: count * dtype.itemsize].view(dtype.np).reshape(size), self.device
        )


def _contiguous(size: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
