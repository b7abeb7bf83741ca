"""Automatic differentiation: the tape, ``backward``, ``grad`` and the modes that switch recording.

What needs floors above the tape is loaded when it is asked for, so that the tape itself stays on its floor.
"""

from __future__ import annotations

import importlib
from typing import Any

from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_grad_enabled as is_grad_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled

#: Where each public name that is loaded late lives.
_LATE = {
    "backward": "engine", "grad": "engine", "Function": "function", "FunctionCtx": "function", "Variable": "variable",
    "gradgradcheck": "gradcheck", "GradcheckError": "gradcheck", "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
    if name in ("grad_mode", "function", "graph", "functional", "forward_ad", "gradcheck", "variable", "profiler", "anomaly_mode"):
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
