"""What calls become in the graphs of ``torch.compile``: targets of nodes, arguments that code can
hold, and what tells graphs apart."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch._subclasses.fake_tensor import FakeTensor
from jtorch.fx.node import Node
from jtorch.overrides import is_tensor_method_or_property

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Tree


_OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "pow": operator.pow, "matmul": operator.matmul, "gt": operator.gt, "ge": operator.ge,
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne, "neg": operator.neg,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem, "__iadd__": operator.iadd,
    "__isub__": operator.isub, "__imul__": operator.imul, "__itruediv__": operator.itruediv,
}  # fmt: skip
_REFLECTED = {"__radd__": operator.add, "__rsub__": operator.sub, "__rmul__": operator.mul,
              "__rtruediv__": operator.truediv,
              "__rpow__": operator.pow,
              "__rfloordiv__": operator.floordiv, "__rmod__": operator.mod,
              "__rmatmul__": operator.matmul}  # fmt: skip


def node_target(
    func: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[str, Any, tuple[Any, ...]]:
    """The kind of node that a call is, as PyTorch has it: operators of Python, methods,
    functions."""
    name = getattr(func, "__name__", "")
    if func is not getattr and is_tensor_method_or_property(func):
        if name in _REFLECTED and not kwargs:
            return "call_function", _REFLECTED[name], (args[1], args[0])
        if name in _OPERATORS and not kwargs:
            return "call_function", _OPERATORS[name], args
        return "call_method", name, args
    return "call_function", func, args


#: What code can be written of, beside tensors and what Python writes.
_WRITABLE = (torch.Tensor, torch.dtype, torch.device, torch.layout, torch.memory_format, np.generic,
             type, types.FunctionType,
             types.BuiltinFunctionType)  # fmt: skip


def writable(x: torch.Tensor | int) -> bool:
    """Whether a graph's code can hold an argument."""
    return (
        x is None or x is ... or isinstance(x, _WRITABLE) or type(x) in (bool, int, float, complex,
            str, bytes)
        or (isinstance(x, slice) and writable(x.start) and writable(x.stop) and writable(x.step))
    )  # fmt: skip


def makes_leaf(name: str, args: Arguments, kwargs: Mapping[str, object]) -> bool:
    """Whether a call gives a leaf that gradients gather in: the caller's object itself must be that
    leaf."""
    if name == "requires_grad_":
        return bool((*args[1:], *kwargs.values(), True)[0]) and not args[0].requires_grad
    return kwargs.get("requires_grad") is True


def placed(index: Tree) -> object:
    """An index with numbers for integer tensors without dimensions: whatever they say, the result
    is of the same size."""
    if isinstance(index, tuple):
        items = tuple([placed(i) for i in index])
        return index if all(a is b for a, b in zip(items, index, strict=True)) else items
    number = (
        isinstance(index, FakeTensor)
        and not index.ndim
        and index.dtype not in (torch.bool, torch.uint8)
        and index.constant is None
    )
    return (
        0 if number and not index.dtype.is_floating_point and not index.dtype.is_complex else index
    )


def mapped(f: Callable[..., object], x: object) -> Tree:
    if isinstance(x, (list, tuple)):
        items = [mapped(f, i) for i in x]
        if isinstance(x, list):
            return items
        if type(x) is torch.Size and all(map(operator.is_, items, x)):
            return x
        return (
            tuple(items)
            if type(x) in (tuple, torch.Size)
            else type(x)(*items)
            if hasattr(x, "_make")
            else type(x)(items)
        )
    if isinstance(x, dict):
        return {k: mapped(f, v) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(mapped(f, x.start), mapped(f, x.stop), mapped(f, x.step))
    return f(x)


def fingerprint(x: object, kept: list[object]) -> tuple[object, ...]:
    """What an argument is, so that equal ones give one graph; objects that cannot be compared are
    themselves."""
    if isinstance(x, Node):
        return "node", x.name
    if isinstance(x, (list, tuple)):
        return type(x).__name__, tuple([fingerprint(i, kept) for i in x])
    if isinstance(x, dict):
        return "dict", tuple([(k, fingerprint(v, kept)) for k, v in x.items()])
    if isinstance(x, slice):
        return "slice", fingerprint((x.start, x.stop, x.step), kept)
    if x is None or x is ... or type(x) in (bool, int, str, bytes):
        return type(x).__name__, x
    if type(x) in (float, complex):
        return type(x).__name__, repr(x)  # which tells -0.0 from 0.0
    kept.append(x)
    return "object", id(x)
