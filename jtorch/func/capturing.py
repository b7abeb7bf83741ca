"""Which operator writes into a tensor that a transformed function shares with others, for torch's
words about it.

Only errors ask, so calls do not carry their names: these are read from the stack, and what they
mean from the declarations.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from .._src.aten.schema import Schema, texts
from .._src.bind.argument_errors import numbers_may_stand
from .._src.bind.cores import COMPOSITES, Composite
from .._src.bind.forms import inplace_names
from .._src.engine import Lifted
from .._src.ops._declare import OPS, Op
from .._src.ops._facts import WRITERS
from ..core import Tensor
from ..dispatch import MISSING


@functools.cache
def _forms() -> dict[str, Op | Composite]:
    """The declarations by the names of their in-place forms."""
    return {
        name: record for record in (*COMPOSITES, *OPS.values()) for name in inplace_names(record)
    }


def _writes() -> Iterator[tuple[str, Op | Composite | None, FrameType]]:
    """The calls of this package that are running, the innermost first: their names, or the
    operators that they are known to be."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "jtorch",
        "torch",
    ):
        name = WRITERS.get(frame.f_code, frame.f_code.co_name)
        record = _forms().get(name)
        # taken apart, or one of Python's operators
        if record is not None and (record.writes or name.startswith("__")):
            name = record.writes or f"{record.name}_"
            record = _forms()[name]
        yield name, record, frame
        frame = frame.f_back


def writer() -> str:
    """The operator that the program is calling, which writes into its first operand, as
    ``aten::mul_.Tensor``; "" where torch lets it."""
    packets = texts()
    found: tuple[str, dict[Any, Any]] = ("copy_", {})
    for name, _, frame in _writes():
        if name.startswith("_foreach"):
            return ""
        if name.endswith("_") and name in packets and (found[0] != name or _given(frame)):
            found = (name, _given(frame))
    name, given = found
    overload = _overload(packets[name], given, numbers_may_stand(name))
    return f"aten::{name}" if overload == "default" else f"aten::{name}.{overload}"


def shared_by_examples(value: Lifted) -> RuntimeError:
    """torch's error for writing the value of one example of a ``vmap`` into a tensor that all
    examples share."""
    name, kind = "", "arithmetic"
    for called, record, _ in _writes():
        if called.startswith("_foreach"):
            return RuntimeError(
                f"Batching rule not implemented for aten::{called}. We could not generate a "
                "fallback."
            )
        if record is not None:
            name, kind = called, record.refused_as
    if kind == "randomness":
        return RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. If this is necessary for your usage, please file an "
            "issue with functorch."
        )
    what = {"name": name, "arithmetic": "inplace arithmetic"}.get(kind, f"aten::{name}")
    where = f"at level {value.depth}" if what.startswith("aten") else "in a vmap"
    return RuntimeError(
        f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
        f"over but `self` not being vmapped over {where}. Please try to use out-of-place operators "
        f"instead of {what}. If said operator is being called inside the PyTorch framework, please "
        "file a bug report instead."
    )


def _given(frame: FrameType) -> dict[Any, Any]:
    """The arguments of a call that is running, but for the first, by name, or by number where
    public callables have no name for them."""
    code = frame.f_code
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    given = {
        n: v
        for n in names
        if n in frame.f_locals and (v := frame.f_locals[n]) is not MISSING and v is not None
    }
    return {int(n[1:]) if n[1:].isdigit() else n: v for n, v in given.items()}


def _overload(overloads: dict[str, str], given: dict[object, object], numbers_do: bool) -> str:
    """The overload that takes tensors and numbers where they were given; where ``numbers_do``, they
    count as tensors."""
    if len(overloads) == 1:
        return next(iter(overloads))
    if numbers_do and "Tensor" in overloads:
        return "Tensor"
    for overload, text in overloads.items():
        arguments = Schema(text).arguments
        kinds: dict[Any, bool] = {a.name: a.is_tensor for a in arguments} | {
            i: a.is_tensor for i, a in enumerate(arguments)
        }
        if all(kinds.get(n) == isinstance(v, Tensor) for n, v in given.items()):
            return overload
    return next(iter(overloads))
