"""The modes by which a profiler sees the functions that a program calls, and the operators that
these are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import Tensor
from jtorch.overrides import TorchFunctionMode
from jtorch.utils import _pytree as pytree
from jtorch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.facts.devices import device
    from .._src.facts.kinds import Keywords
    from .profiler import Recorder
    from .profiler_util import FunctionEvent


class Functions(TorchFunctionMode):
    """Notes each function or method that calls an operator, under the name of the operator it
    stands for."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: tuple[type, ...],
        args: tuple[Tensor | int, ...] = (),
        kwargs: dict[str, bool | None] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        # that of an operator's library, where one is called as such
        space = getattr(func, "_namespace", "aten")
        # the last open and close what is noted
        if name.endswith("__") or name in ("backward", "") or space == "profiler":
            return func(*args, **(kwargs or {}))
        recorder = self.recorder
        event = recorder.begin(f"{space}::{getattr(func, '_opname', name)}", args)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            recorder.end(event)
            if not event.cpu_children and not event.is_operator:
                recorder.drop(event)


class Operators(TorchDispatchMode):
    """Runs each operator, and notes how long it takes, unless the function around it is the same
    one."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(
        self,
        func: Any,
        types: tuple[object, ...],
        args: tuple[object, ...] = (),
        kwargs: dict[str, device | bool] | None = None,
    ) -> Tensor:
        name = func.name().partition(".")[0]
        # a step of this package where PyTorch has none; a block's end
        if name == "aten::detach" or func.namespace == "profiler":
            return func(*args, **(kwargs or {}))
        recorder = self.recorder
        around = recorder.innermost
        if around is not None and around.name == name and not around.is_user_annotation:
            around.is_operator = True
            return self._measured(around, func, args, kwargs or {})
        event = recorder.begin(name, args)
        try:
            return self._measured(event, func, args, kwargs or {})
        finally:
            recorder.end(event)

    def _measured(
        self, event: FunctionEvent, func: OpOverload, args: tuple[object, ...], kwargs: Keywords
    ) -> Tensor:
        recorder = self.recorder
        result = recorder.ran(func(*args, **kwargs))
        if recorder.memory:
            made = [
                t for t in pytree.tree_leaves(result) if isinstance(t, Tensor) and t._base is None
            ]
            given = {id(t) for t in pytree.tree_leaves((args, kwargs))}
            event.self_cpu_memory_usage += sum(t.nbytes for t in made if id(t) not in given)
        if recorder.flops:
            from jtorch.utils.flop_counter import flop_registry

            formula = flop_registry.get(func.overloadpacket)
            if formula is not None:
                event.flops += formula(*args, **kwargs, out_val=result)
        return result
