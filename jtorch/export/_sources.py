"""Where the nodes of exported graphs come from: the function that was called, or the module of
``torch.nn`` that called it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch.overrides import TorchFunctionMode

#: Methods that stand for operators of Python's where a program is read rather than run.
_OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "truediv": operator.truediv, "matmul": operator.matmul, "neg": operator.neg, "gt": operator.gt,
    "lt": operator.lt, "ge": operator.ge, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
    "iadd": operator.iadd, "isub": operator.isub, "imul": operator.imul, "idiv": operator.itruediv,
    "itruediv": operator.itruediv, "radd": operator.add, "rsub": operator.sub, "rmul": operator.mul,
    "rdiv": operator.truediv, "rtruediv": operator.truediv, "rmatmul": operator.matmul,
    "getitem": operator.getitem, "setitem": operator.setitem,
}  # fmt: skip


class Functions(TorchFunctionMode):
    """Notes which function of PyTorch's is being called.

    Attributes:
        now: the function; None outside of all.
        called: its name with the number of its call, and with what it is in PyTorch; for
            ``node.meta["torch_fn"]``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now: Callable[..., object] | None = None
        self.called: tuple[str, str] | None = None
        self.counts = {}

    def __torch_function__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> object:
        """Calls it, with its name noted."""
        del types
        before = self.now, self.called
        name, kind = _named(func)
        self.counts[func] = self.counts.get(func, 0) + 1
        self.now, self.called = func, (f"{name}_{self.counts[func]}", f"{kind}.{name}")
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.now, self.called = before


def _named(func: object) -> tuple[str, str]:
    """A function's name, and the kind of thing that it is in PyTorch."""
    name = getattr(func, "__name__", type(func).__name__)
    if name == "__get__":
        return name, "method-wrapper"
    if name.startswith("__") or getattr(torch.Tensor, name, None) is func:
        if name in ("__iadd__", "__isub__", "__imul__", "__idiv__", "__itruediv__"):
            name = f"{name[3:-2].removeprefix('true')}_"
        return name, "function" if name.startswith(
            "__r"
        ) else "wrapper_descriptor" if name.startswith("__") else "method_descriptor"
    return name, "builtin_function_or_method" if getattr(torch, name, None) is func else "function"


def source(func: object, kind: type | None) -> object:
    """What a node's operator was called by, for ``node.meta["source_fn_stack"]``.

    Args:
        func: the function of PyTorch's.
        kind: the class of the module that called it.

    Returns:
        The class of the module, for those of ``torch.nn`` that are no containers; the function; for
        a method, its name.
    """
    if kind is not None:
        where = kind.__module__.partition(".")[2]
        if where.startswith(("nn.modules.", "ao.")) and not where.startswith(
            "nn.modules.container"
        ):
            return kind
    name = getattr(func, "__name__", "")
    if not name.startswith("__") and getattr(torch.Tensor, name, None) is not func:
        return func
    return _OPERATORS.get(name.removeprefix("__").removesuffix("__"), name)
