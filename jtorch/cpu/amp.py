"""``torch.cpu.amp``: mixed precision on the CPU, under its old names."""

from __future__ import annotations

import warnings

from .. import amp as _amp
from .._src.facts.dtypes import bfloat16 as _bfloat16
from .._src.facts.dtypes import dtype as _dtype

__path__: list[str] = []  # it has submodules in PyTorch

__all__ = ["GradScaler", "autocast"]


def _old(name: str) -> None:
    warnings.warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', "
        "args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_amp.autocast):
    """``torch.amp.autocast("cpu", ...)``."""

    def __init__(
        self, enabled: bool = True, dtype: _dtype = _bfloat16, cache_enabled: bool = True
    ) -> None:
        _old("autocast")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """``torch.amp.GradScaler("cpu", ...)``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _old("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
