"""``torch.FloatStorage`` and its kin: storages of one dtype under their old names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import share_host
from .dtypes import BY_NAME
from .storages import TypedStorage, UntypedStorage, storage_of

#: Name -> dtype.
NAMES = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "LongStorage": "int64", "IntStorage": "int32",
    "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool", "BFloat16Storage": "bfloat16",
    "ComplexDoubleStorage": "complex128", "ComplexFloatStorage": "complex64",
}  # fmt: skip


class _LegacyStorageMeta(type):
    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, TypedStorage):
            return False
        return cls is _LegacyStorage or (instance.dtype is cls.dtype and instance.device.type == "cpu")


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Base of the storages of one dtype; making one gives a ``TypedStorage``."""

    def __new__(cls, *args: Any, wrap_storage: UntypedStorage | None = None, **kwargs: Any) -> Any:
        """A storage of ``size`` elements, of the elements of a sequence, or on the memory of another."""
        if kwargs:
            raise cls._wrong(f"Keyword argument '{next(iter(kwargs))}' cannot be specified")
        if len(args) > 1 or (args and wrap_storage is not None):
            raise cls._wrong("Too many positional arguments")
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)
        given = args[0] if args else 0
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            data = np.zeros(int(given), cls.dtype.np)
        elif isinstance(given, (list, tuple, range, np.ndarray)):
            data = np.asarray(given).astype(cls.dtype.np)
        else:
            raise cls._wrong(f"Argument type not recognized: {type(given)}", TypeError)
        return cls._of(data)

    @classmethod
    def _of(cls, data: np.ndarray) -> TypedStorage:
        flat = np.ascontiguousarray(data).reshape(-1)
        return TypedStorage(wrap_storage=storage_of(share_host(flat.view(np.uint8), owned=True)), dtype=cls.dtype)

    @classmethod
    def from_buffer(
        cls, buffer: Any, *, byte_order: str | None = None, count: int = -1, offset: int = 0, dtype: Any = None
    ) -> TypedStorage:
        """A storage of the numbers in a buffer of bytes."""
        del dtype  # the class says it
        number = np.dtype(cls.dtype.np)
        if byte_order is None and number.itemsize > 1:
            raise ValueError("function missing required argument 'byte_order' (pos 2)")
        data = np.frombuffer(buffer, number.newbyteorder(">" if byte_order == "big" else "="), count, offset)
        return cls._of(data.astype(number))

    _from_buffer = from_buffer

    @classmethod
    def _wrong(cls, what: str, kind: type[Exception] = RuntimeError) -> Exception:
        return kind(
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n * (int size)\n"
            f" * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n{what}"
        )


def _made() -> dict[str, Any]:
    def one(name: str, dtype: str) -> Any:
        return _LegacyStorageMeta(name, (_LegacyStorage,), {"dtype": BY_NAME[dtype], "__module__": "torch"})

    return {name: one(name, dtype) for name, dtype in NAMES.items()}


_classes = _made()


def __getattr__(name: str) -> Any:
    try:
        return _classes[name]
    except KeyError:
        raise AttributeError(f"module 'jtorch.legacy_storages' has no attribute '{name}'") from None
