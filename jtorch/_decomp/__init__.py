"""Operators written with others: tables of functions for ``make_fx``, ``ExportedProgram.run_decompositions`` and other tracers.

The functions are ordinary ones on tensors. PyTorch's tables are longer: what is not here stays an operator, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jtorch import _refusals
from jtorch.aten.overloads import OpOverload, OpOverloadPacket

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "register_decomposition"]

#: All decompositions: operators and the functions that write them with others.
decomposition_table: dict[Any, Callable[..., Any]] = {}
global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": decomposition_table, "pre_autograd": {}, "meta": {},
}  # fmt: skip


def _overloads(op: Any) -> list[OpOverload]:
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return op.all()
    raise TypeError(f"Expected an operator of torch.ops, got {op!r}")


def register_decomposition(
    aten_op: Any, registry: dict[Any, Callable[..., Any]] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function writes one operator, or each of several, with others.

    Raises:
        RuntimeError: if an operator has a decomposition in the table already.
        AssertionError: for another ``type`` than ``"post_autograd"``, ``"pre_autograd"`` and ``"meta"``.
    """
    del unsafe
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type}")

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        table = global_decomposition_table[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads(op):
                if overload._schema.outs and isinstance(op, OpOverloadPacket):
                    continue  # what writes into a tensor that is given is not what the function does
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return register


def get_decompositions(aten_ops: Iterable[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The entries of the table for some operators; packets stand for all their overloads. Those without are left out."""
    _load()
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops for overload in _overloads(op) if overload in table}


def remove_decompositions(decompositions: dict[Any, Callable[..., Any]], aten_ops: Iterable[Any]) -> None:
    """Takes some operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """A table that writes operators outside of PyTorch's core set with those in it."""
    _load()
    from .decompositions import NOT_CORE

    return {op: decomposition_table[op] for op in NOT_CORE}


def _load() -> None:
    from . import decompositions  # noqa: F401  (fills the table)


_refused = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    return _refused(name)


_load()
