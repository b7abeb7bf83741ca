"""Automatic differentiation: the tape, ``backward``, ``grad`` and the modes that switch recording.

What needs floors above the tape is loaded when it is asked for, so that the tape itself stays on
its floor.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .grad_mode import enable_grad as enable_grad
from .grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_grad_enabled as is_grad_enabled
from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled

if TYPE_CHECKING:  # what ``__getattr__`` finds
    from ..core import Tensor
    from . import forward_ad as forward_ad
    from . import function as function
    from . import functional as functional
    from . import graph as graph
    from . import profiler as profiler
    from .anomaly_mode import detect_anomaly as detect_anomaly
    from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
    from .asking import backward as backward
    from .asking import grad as grad
    from .function import Function as Function
    from .function import FunctionCtx as FunctionCtx
    from .function import NestedIOFunction as NestedIOFunction
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .variable import Variable as Variable

__all__ = [
    "Variable", "Function", "NestedIOFunction", "backward", "grad_mode", "detect_anomaly",
    "enable_grad", "enforce_grad_layout_policy", "grad", "gradcheck", "gradgradcheck",
    "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]  # fmt: skip

#: Where each public name that is loaded late lives.
_LATE = {
    "backward": "asking", "grad": "asking", "Function": "function", "FunctionCtx": "function",
    "Variable": "variable", "NestedIOFunction": "function", "SavedTensor": "saved",
    "gradgradcheck": "gradcheck", "DeviceType": "device_types", "GradcheckError": "gradcheck",
    "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode",
}  # fmt: skip
_SUBMODULES = (
    "grad_mode",
    "function",
    "graph",
    "functional",
    "forward_ad",
    "gradcheck",
    "variable",
    "profiler",
    "anomaly_mode",
)


def kineto_available() -> bool:
    """True: ``torch.profiler`` does what programs that ask this go on to do."""
    return True


def _calculate_shape(output: Tensor, grad: Tensor, is_grads_batched: bool) -> tuple[object, object]:
    """The sizes of a result and of its gradient, which for nested tensors are tables of sizes."""
    if output.is_nested:
        return output._nested_tensor_size(), grad._nested_tensor_size()
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def _profiler_enabled() -> bool:
    """Whether a ``profile`` block is being run."""
    found = sys.modules.get(f"{__name__}.profiler")  # nobody records who has not imported it
    return found is not None and bool(found._RECORDING)


def _is_checkpoint_valid() -> bool:
    """Whether reentrant checkpoints may be computed again here: not within a backward pass for
    certain tensors alone, in which they would add to ``grad`` of others too."""
    found = sys.modules.get(f"{__name__}.engine")  # nobody walks who has not imported it
    return found is None or all(walk.only_leaves is None for walk in found.walks())


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            pass
    if name == "torch":  # PyTorch's package imports itself under this name
        return sys.modules["jtorch"]
    if name == "_disable_profiler":
        refusals = importlib.import_module("jtorch._src.refusals.stand_ins")
        return refusals.make(
            "torch.autograd._disable_profiler", "operations have no times of their own"
        )
    # imports ask for those; the table need not be read
    if name.startswith("_") or name == "engine":
        raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
    return importlib.import_module("jtorch._src.refusals.stand_ins").find("jtorch.autograd", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_SUBMODULES})
