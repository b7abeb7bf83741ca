"""``torch.cuda.amp.autocast`` and the decorators for functions with a backward pass."""

from __future__ import annotations

import warnings
from typing import Any

from ... import amp as _amp
from ..._src.facts.dtypes import dtype as _dtype
from ..._src.facts.dtypes import float16 as _float16
from .common import old as _old

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """``torch.amp.autocast("cuda", ...)``."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype = _float16, cache_enabled: bool = True
    ) -> None:
        _old("autocast", "torch.amp.autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def _old_decorator(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., "
        "device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=3,
    )


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd`` for CUDA."""
    _old_decorator("custom_fwd")
    return _amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """``torch.amp.custom_bwd`` for CUDA."""
    _old_decorator("custom_bwd")
    return _amp.custom_bwd(bwd, device_type="cuda")
