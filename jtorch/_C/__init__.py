"""Names that programs reach for in ``torch._C``, and the internal ops that optimisers and modules
call."""

from __future__ import annotations

from collections.abc import Iterable as _Iterable
from collections.abc import Sequence
from itertools import islice as _islice
from itertools import repeat as _repeat
from sys import getrefcount as _refs
from typing import Any

from .._src import engine
from .._src.bind.everything import _C as _ops
from .._src.composites.foreach import _clamp_ as _clamp_
from .._src.composites.foreach import _scale_ as _scale_
from .._src.composites.foreach import _total_norm_of as _total_norm_of
from .._src.engine import OutOfMemoryError as OutOfMemoryError
from .._src.facts.errors import LinAlgError as _LinAlgError
from .._src.refusals import stand_ins as _refusals
from .._src.tensor.module_state import check_state
from .._src.tensor.running import ALONE as _ALONE
from .._src.tensor.writing import swap, undoable
from ..autograd.grad_mode import MODE as _MODE
from ..autograd.grad_mode import no_grad as _no_grad
from ..core import Tensor as _Tensor
from ..dispatch import DisableTorchFunction as DisableTorchFunction
from ..dispatch import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ..dispatch import disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from ..dispatch import disabled_torch_function_impl as _disabled_torch_function_impl
from ..dispatch import is_torch_function_enabled as _is_torch_function_enabled

TensorBase = _TensorBase = _Tensor

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "OutOfMemoryError",
    "TensorBase",
    "_LinAlgError",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_is_torch_function_enabled",
]


def _swap_(
    tensors: Sequence[_Tensor], news: Sequence[_Tensor], writes: _Iterable[int] | None = None
) -> None:
    """Gives each tensor the value of its counterpart, as an in-place update without history would.

    ``writes`` are the times that PyTorch writes into each of them, which its version counts; once
    otherwise. Tensors of which the first is its own counterpart have been written, up to one that
    is not.
    """
    if news and news[0] is tensors[0]:
        begin = next((i for i, n in enumerate(news) if n is not tensors[i]), len(tensors))
        tensors, news = tensors[begin:], news[begin:]
        writes = None if writes is None else _islice(writes, begin, None)
    if news and (first := news[0]._v) is not None and first.trace is engine.SPECIAL:
        for t, n in zip(tensors, news, strict=True):
            check_state(t, n._read())
        with _no_grad():
            for t, n, count in zip(tensors, news, _repeat(1) if writes is None else writes):
                swap(t, n._read(), count)
        return
    assert len(tensors) == len(news)
    undoable(tensors)
    for t, n, count in zip(tensors, news, _repeat(1) if writes is None else writes):
        old, v = t._v, n._v
        # Unless a graph (or someone else) holds the old value, nobody needs to be told that it is
        # superseded.
        if (
            old is None
            or v is None
            or (t._rg and _refs(old) > (_ALONE if old.trace is None else _ALONE + 1))
            or t._al is not None
        ):
            swap(t, v or n._read(), count)
        else:
            t._v = v
            t._ver += count


def _flush_hint() -> None:
    """Says that a step of the program ends here: what is pending is run, unless the step is being
    made a program of its own."""
    holding = engine.HOLDING.stack
    if holding and holding[-1].trace is engine.LOCAL.trace:
        holding[-1].hinted = True
    else:
        engine.flush()


def _planned_by(t: _Tensor) -> float:
    """The number of a tensor, read by what arranges a computation that gives the same however it is
    arranged: a program that is being made does not depend on it."""
    holding = engine.HOLDING.stack
    if not holding:
        return t.item()
    holding[-1].arranging += 1
    try:
        return t.item()
    finally:
        holding[-1].arranging -= 1


def _set_grad_enabled(arg: bool) -> None:
    """Sets recording for autograd on or off, as nodes of graphs do."""
    _MODE.set(arg)


def is_grad_enabled() -> bool:
    """Whether operations are recorded for autograd."""
    return _MODE.enabled


#: Parts of ``torch._C`` that load when they are first touched.
_SUBMODULES = frozenset(
    (
        "_autograd",
        "_cpu",
        "_profiler",
        "_functions",
        "_nn",
        "_functorch",
        "_distributed_c10d",
        "_distributed_rpc",
    )
)


def __getattr__(name: str) -> Any:
    try:
        return getattr(_ops, name)
    except AttributeError:
        pass
    if not name.startswith("__"):
        import importlib

        if name == "_VariableFunctions":
            return importlib.import_module("jtorch._VF")
        if name in _SUBMODULES:
            return importlib.import_module(f"{__package__}.{name}")
        for module in ("_answers", "_keys", "_stacks", "_convolutions", "_cpu", "_published"):
            found = importlib.import_module(f"{__package__}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
    return _refusals.find(__name__, name)
