"""The unary operators that masked tensors know, by their ATen names."""

from __future__ import annotations

from collections.abc import Callable

import jtorch as torch

from ...wrappers.masked.handlers import UNARY as _NAMES

__all__: list[str] = []

UNARY_NAMES = list(_NAMES)
INPLACE_UNARY_NAMES = [
    f"{name}_" for name in UNARY_NAMES if name not in ("angle", "isnan", "positive", "signbit")
]
NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]
NATIVE_UNARY_MAP = {fn: fn for fn in NATIVE_UNARY_FNS}
NATIVE_INPLACE_UNARY_MAP = {fn: fn for fn in NATIVE_INPLACE_UNARY_FNS}


def _is_native_unary(fn: object) -> bool:
    """Whether an operator is one of them, in place or not."""
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Callable[..., object], *args: object, **kwargs: object) -> object:
    """The operator's result; ``NotImplemented`` if it is none of them."""
    return fn(*args, **kwargs) if _is_native_unary(fn) else NotImplemented
