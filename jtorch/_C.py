"""Names that programs reach for in ``torch._C``, and the internal ops that optimisers and modules call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import engine
from .core import Tensor as _Tensor
from .core import swap
from .dispatch import DisableTorchFunction as DisableTorchFunction
from .dispatch import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .dispatch import disabled_torch_function_impl as _disabled_torch_function_impl
from .dispatch import is_torch_function_enabled as _is_torch_function_enabled
from .functional import _C as _ops

TensorBase = _Tensor

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TensorBase",
    "_disabled_torch_function_impl",
    "_is_torch_function_enabled",
]


def _swap_(tensors: Sequence[_Tensor], news: Sequence[_Tensor]) -> None:
    """Gives each tensor the value of its counterpart, as an in-place update without history would."""
    for t, n in zip(tensors, news, strict=True):
        swap(t, n._v or n._read())


def _flush_hint() -> None:
    """Says that a step of the program ends here: what is pending is run."""
    engine.flush()


def __getattr__(name: str) -> Any:
    try:
        return getattr(_ops, name)
    except AttributeError:
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'") from None
