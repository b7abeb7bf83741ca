"""The binary operators that masked tensors know, by their ATen names."""

from __future__ import annotations

from collections.abc import Callable

import jtorch as torch

from ...wrappers.masked.handlers import BINARY as _NAMES

__all__: list[str] = []

#: Those that cannot write into their first operand.
_NEW_ONLY = frozenset(("logaddexp", "logaddexp2", "equal", "fmin", "minimum", "maximum", "fmax"))
BINARY_NAMES = list(_NAMES)
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES if name not in _NEW_ONLY]
NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]
NATIVE_BINARY_MAP = {fn: fn for fn in NATIVE_BINARY_FNS}
NATIVE_INPLACE_BINARY_MAP = {fn: fn for fn in NATIVE_INPLACE_BINARY_FNS}


def _is_native_binary(fn: object) -> bool:
    """Whether an operator is one of them, in place or not."""
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Callable[..., object], *args: object, **kwargs: object) -> object:
    """The operator's result; ``NotImplemented`` if it is none of them."""
    return fn(*args, **kwargs) if _is_native_binary(fn) else NotImplemented
