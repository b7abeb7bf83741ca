"""The tables of decompositions, and how they are written into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jtorch._src.aten.overloads import OpOverload, OpOverloadPacket

if TYPE_CHECKING:
    from .._src.facts.kinds import Decorator, Function


#: All decompositions: operators and the functions that write them with others.
decomposition_table: dict[object, Callable[..., object]] = {}
global_decomposition_table: dict[str, dict[object, Callable[..., object]]] = {
    "post_autograd": decomposition_table, "pre_autograd": {}, "meta": {},
}  # fmt: skip


def _overloads(op: OpOverload | OpOverloadPacket) -> list[OpOverload]:
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return op.all()
    raise TypeError(f"Expected an operator of torch.ops, got {op!r}")


def register_decomposition(
    aten_op: list[OpOverload] | OpOverload,
    registry: dict[OpOverload, Callable[..., object]] | None = None,
    *,
    type: str = "post_autograd",
    unsafe: bool = False,
) -> Decorator:
    """A decorator: the function writes one operator, or each of several, with others.

    Raises:
        RuntimeError: if an operator has a decomposition in the table already.
        AssertionError: for another ``type`` than ``"post_autograd"``, ``"pre_autograd"`` and
            ``"meta"``.
    """
    del unsafe
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type}")

    def register(fn: Callable[..., object]) -> Function:
        table = global_decomposition_table[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads(op):
                if overload._schema.outs and isinstance(op, OpOverloadPacket):
                    # what writes into a tensor that is given is not what the function does
                    continue
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return register


register_decomposition.__module__ = f"{__package__}"
