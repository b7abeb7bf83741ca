"""The modes by which a profiler sees the functions that a program calls, and the operators that these are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch.overrides import TorchFunctionMode
from jtorch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from .profiler import Recorder


class Functions(TorchFunctionMode):
    """Notes each function or method that calls an operator, under the name of the operator it stands for."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name.endswith("__") or name in ("backward", ""):
            return func(*args, **(kwargs or {}))
        recorder = self.recorder
        event = recorder.begin(f"aten::{name}", args)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            recorder.end(event)
            if not event.cpu_children and not event.is_operator:
                recorder.drop(event)


class Operators(TorchDispatchMode):
    """Runs each operator, and notes how long it takes, unless the function around it is the same one."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0]
        if name == "aten::detach":  # a step of this package where PyTorch has none
            return func(*args, **(kwargs or {}))
        recorder = self.recorder
        around = recorder.innermost
        if around is not None and around.name == name and not around.is_user_annotation:
            around.is_operator = True
            return recorder.ran(func(*args, **(kwargs or {})))
        event = recorder.begin(name, args)
        try:
            return recorder.ran(func(*args, **(kwargs or {})))
        finally:
            recorder.end(event)
