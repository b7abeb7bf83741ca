"""The reductions that masked tensors know: functions, methods and operators."""

from __future__ import annotations

from collections.abc import Callable

import jtorch as torch

from ...wrappers.masked.handlers import REDUCTIONS as _NAMES

__all__: list[str] = []

REDUCE_NAMES = list(_NAMES)
NATIVE_REDUCE_FNS = [getattr(torch.ops.aten, name) for name in REDUCE_NAMES]
TORCH_REDUCE_FNS = [getattr(torch, name) for name in REDUCE_NAMES]
TENSOR_REDUCE_FNS = [getattr(torch.Tensor, name) for name in REDUCE_NAMES]
NATIVE_REDUCE_MAP = {fn: fn for fn in NATIVE_REDUCE_FNS}
TORCH_REDUCE_MAP = {fn: fn for fn in TORCH_REDUCE_FNS}
TENSOR_REDUCE_MAP = {fn: fn for fn in TENSOR_REDUCE_FNS}


def _is_reduction(fn: object) -> bool:
    """Whether a function, method or operator is one of them."""
    return fn in NATIVE_REDUCE_MAP or fn in TORCH_REDUCE_MAP or fn in TENSOR_REDUCE_MAP


def _apply_reduction(fn: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Its result; ``NotImplemented`` if it is none of them."""
    return fn(*args, **kwargs) if _is_reduction(fn) else NotImplemented
