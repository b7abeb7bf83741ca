"""Which operator writes into a tensor that a function captured, for torch's words about it."""

from __future__ import annotations

import sys
from typing import Any

from .._src.aten.schema import Schema, texts
from .._src.bind.argument_errors import numbers_may_stand
from ..core import Tensor
from ..dispatch import MISSING

#: What Python's own notations for writing call, and what torch makes of others.
_OPERATORS = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ifloordiv__": "floor_divide_",
    "__imod__": "remainder_", "__ipow__": "pow_", "__setitem__": "copy_", "setitem": "copy_", "dropout_": "mul_",
}  # fmt: skip


def writer() -> str:
    """The operator that the program is calling, which writes into its first operand, as ``aten::mul_.Tensor``; "" where none is."""
    frame: Any = sys._getframe(1)
    packets = texts()
    found: tuple[str, dict[Any, Any]] = ("copy_", {})
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("jtorch", "torch"):
        name = frame.f_code.co_name
        if name == "_scattered":  # by ``x[index] = value``
            return "aten::index_put_"
        if name.startswith("_foreach"):
            return ""
        name = _OPERATORS.get(name, name)
        if name.endswith("_") and name in packets and (found[0] != name or _given(frame)):
            found = (name, _given(frame))
        frame = frame.f_back
    name, given = found
    overload = _overload(packets[name], given, numbers_may_stand(name))
    return f"aten::{name}" if overload == "default" else f"aten::{name}.{overload}"


def _given(frame: Any) -> dict[Any, Any]:
    """The arguments of a call that is running, but for the first, by name, or by number where public callables have no name for them."""
    code = frame.f_code
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    given = {n: v for n in names if n in frame.f_locals and (v := frame.f_locals[n]) is not MISSING and v is not None}
    return {int(n[1:]) if n[1:].isdigit() else n: v for n, v in given.items()}


def _overload(overloads: dict[str, str], given: dict[Any, Any], numbers_do: bool) -> str:
    """The overload that takes tensors and numbers where they were given; where ``numbers_do``, they count as tensors."""
    if len(overloads) == 1:
        return next(iter(overloads))
    if numbers_do and "Tensor" in overloads:
        return "Tensor"
    for overload, text in overloads.items():
        arguments = Schema(text).arguments
        kinds: dict[Any, bool] = {a.name: a.is_tensor for a in arguments} | {i: a.is_tensor for i, a in enumerate(arguments)}
        if all(kinds.get(n) == isinstance(v, Tensor) for n, v in given.items()):
            return overload
    return next(iter(overloads))
