"""Tensor types that are users of the override protocols: each lives in a module of its own here."""

from __future__ import annotations

import importlib
from typing import Any

#: Where each type lives; modules load when they are first touched.
_TYPES = {
    "TensorLike": "tensor_like", "MetadataTensor": "metadata", "MetadataError": "metadata",
    "CompactTensor": "compact", "ScalarTensor": "compact", "ScalarTensorWithFallback": "compact",
    "DiagonalTensor": "compact", "DiagonalTensorWithFallback": "compact", "UnitTensor": "units",
    "UnitError": "units", "MaskedTensor": "masked", "NestedTensor": "nested",
    "LoggingTensor": "logging", "Int8Tensor": "quantized", "UInt4Tensor": "quantized",
    "LoggingTensorMode": "logging", "capture_logs": "logging", "log_input": "logging",
}  # fmt: skip

__all__ = sorted(_TYPES)  # noqa: PLE0605  (read by `from ... import *` and by readers)


def __getattr__(name: str) -> Any:
    module = _TYPES.get(name, name if not name.startswith("_") else None)
    if module is not None:
        try:
            found = importlib.import_module(f"{__name__}.{module}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{module}":
                raise
        else:
            return getattr(found, name) if name in _TYPES else found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_TYPES})
