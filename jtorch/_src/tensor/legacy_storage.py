"""``torch.FloatStorage`` and its kin: storages of one dtype under their old names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import share_host
from ..facts.dtypes import BY_NAME, get_default_dtype
from .typed_storage import NAMES as DTYPES
from .typed_storage import TypedStorage, numbers_from
from .untyped_storage import UntypedStorage, storage_of, swapped

#: Name -> dtype.
NAMES = {name: dtype for dtype, name in DTYPES.items()}


class _LegacyStorageMeta(type):
    dtype: Any
    on = "cpu"

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, TypedStorage):
            return False
        return cls is _LegacyStorage or (
            instance.dtype is cls.dtype and instance.device.type == cls.on
        )


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Base of the storages of one dtype; making one gives a ``TypedStorage``."""

    def __new__(
        cls, *args: object, wrap_storage: UntypedStorage | None = None, **kwargs: object
    ) -> Any:
        """A storage of ``size`` elements, of the elements of a sequence, or on the memory of
        another."""
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for word in kwargs:
            if word not in ("device", "dtype"):
                raise TypeError(
                    f"TypedStorage.__new__() got an unexpected keyword argument '{word}'"
                )
            raise cls._wrong(f"Keyword argument '{word}' cannot be specified")
        if wrap_storage is not None:
            if args:
                raise cls._wrong(
                    "No positional arguments should be given when using 'wrap_storage'"
                )
            if not isinstance(wrap_storage, UntypedStorage):
                raise cls._wrong(
                    f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}",
                    TypeError,
                )
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)
        if len(args) > 1:
            raise cls._wrong("Too many positional arguments")
        data = numbers_from(args[0] if args else 0, cls.dtype, cls._wrong)
        return cls._of(data)

    @classmethod
    def _of(cls, data: np.ndarray) -> TypedStorage:
        flat = np.ascontiguousarray(data).reshape(-1)
        return TypedStorage(
            wrap_storage=storage_of(share_host(flat.view(np.uint8), owned=True)), dtype=cls.dtype
        )

    @classmethod
    def from_buffer(
        cls,
        buffer: object,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        dtype: object = None,
    ) -> TypedStorage:
        """A storage of the numbers in a buffer of bytes."""
        del dtype  # the class says it
        return cls._of(swapped(buffer, byte_order, cls.dtype, count, offset))

    _from_buffer = from_buffer

    @classmethod
    def _new_shared(cls, size: int) -> TypedStorage:
        """A new storage of ``size`` elements in memory that processes share."""
        return TypedStorage(
            wrap_storage=UntypedStorage._new_shared(size * cls.dtype.itemsize), dtype=cls.dtype
        )

    @classmethod
    def _wrong(cls, what: str, kind: type[Exception] = RuntimeError) -> Exception:
        return kind(
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n"
            " * no arguments\n"
            " * (int size)\n"
            f" * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{what}"
        )


class _CudaStorage(_LegacyStorage):
    """Base of the storages of one dtype on CUDA."""

    on = "cuda"

    @classmethod
    def _of(cls, data: np.ndarray) -> TypedStorage:
        return super()._of(data).to(device="cuda")

    @classmethod
    def from_buffer(cls, *args: object, **kwargs: object) -> TypedStorage:
        """Not for CUDA."""
        del args, kwargs
        raise RuntimeError("from_buffer: Not available for CUDA storage")

    @classmethod
    def _new_with_weak_ptr(cls, *args: object, **kwargs: object) -> TypedStorage:
        del args, kwargs
        raise RuntimeError("_new_with_weak_ptr: Not available for CUDA storage")

    @classmethod
    def _new_shared_filename(
        cls,
        manager: object,
        obj: object,
        size: object,
        *,
        device: object = None,
        dtype: object = None,
    ) -> TypedStorage:
        del manager, obj, size, device, dtype
        raise RuntimeError("_new_shared_filename: Not available for CUDA storage")


def _made(base: type, module: str) -> dict[str, type]:
    def one(name: str, dtype: str) -> type:
        return _LegacyStorageMeta(name, (base,), {"dtype": BY_NAME[dtype], "__module__": module})

    return {name: one(name, dtype) for name, dtype in NAMES.items()}


_classes = _made(_LegacyStorage, "torch")
#: ``torch.cuda.FloatStorage`` and its kin.
CUDA = _made(_CudaStorage, "torch.cuda")
#: All classes of storages.
_storage_classes = {UntypedStorage, TypedStorage, *_classes.values(), *CUDA.values()}


def _dtype_to_storage_type_map() -> dict[object, str]:
    return {BY_NAME[dtype]: name for name, dtype in NAMES.items()}


def _storage_type_to_dtype_map() -> dict[str, object]:
    return {name: BY_NAME[dtype] for name, dtype in NAMES.items()}


def __getattr__(name: str) -> Any:
    if name == "Storage":  # that of the default dtype
        return next(made for made in _classes.values() if made.dtype is get_default_dtype())
    try:
        return _classes[name]
    except KeyError:
        raise AttributeError(
            f"module 'jtorch._src.tensor.legacy_storage' has no attribute '{name}'"
        ) from None
