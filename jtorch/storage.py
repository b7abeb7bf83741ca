"""``torch.storage``: the classes of storages, a tensor's memory as programs and files see it."""

from __future__ import annotations

from ._src.tensor.legacy_storage import _dtype_to_storage_type_map as _dtype_to_storage_type_map
from ._src.tensor.legacy_storage import _LegacyStorage as _LegacyStorage
from ._src.tensor.legacy_storage import _LegacyStorageMeta as _LegacyStorageMeta
from ._src.tensor.legacy_storage import _storage_type_to_dtype_map as _storage_type_to_dtype_map
from ._src.tensor.typed_storage import TypedStorage as TypedStorage
from ._src.tensor.untyped_storage import UntypedStorage as UntypedStorage
from ._src.tensor.untyped_storage import _load_from_bytes as _load_from_bytes

__all__ = ["TypedStorage", "UntypedStorage"]

_StorageBase = UntypedStorage
