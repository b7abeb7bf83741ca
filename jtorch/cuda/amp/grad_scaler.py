"""``torch.cuda.amp.GradScaler``."""

from __future__ import annotations

from ... import amp as _amp
from ...amp import grad_scaler as _scaler
from .common import old as _old

__all__ = ["GradScaler", "OptState"]
OptState = _scaler.OptState


class GradScaler(_amp.GradScaler):
    """``torch.amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _old("GradScaler", "torch.amp.GradScaler('cuda', args...)")
        super().__init__(
            "cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
