"""Rules of operators that programs state themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch._src.aten.overloads import OpOverload

from .. import _shortcuts
from .._dispatch import STATED, Call, Way, forget

if TYPE_CHECKING:
    from ...._src.facts.kinds import Function


__all__ = ["register_sharding"]


def register_sharding(
    op: OpOverload | list[OpOverload],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function as the rule of an operator, or of several.

    It is called with the operator's arguments, a ``DTensorSpec`` for each tensor, and gives the
    ways the operator may be carried out on one dimension of a mesh: pairs of a list with the
    placement of each result and a list with the placement of each argument, None for what is no
    tensor. On each dimension of a mesh the one with the least communication is taken.

    Raises:
        TypeError: for what is no operator.
        ValueError: when the operator is called, if a pair has not one placement for each tensor.
    """
    operators = op if isinstance(op, list) else [op]
    for item in operators:
        if not isinstance(item, OpOverload):
            raise TypeError(
                f"register_sharding takes operators such as torch.ops.aten.add.Tensor, not {item!r}"
            )

    def declare(body: Function) -> Callable[..., object]:
        def rule(call: Call) -> list[Way]:
            args, kwargs = call.func.trimmed(call.with_leaves(call.specs))
            found: list[Way] = []
            for outs, ins in body(*args, **kwargs):
                placements = [p for p in ins if p is not None]
                if len(placements) != len(call.leaves):
                    raise ValueError(
                        f"{call.func}: {len(placements)} placements are stated for "
                        f"{len(call.leaves)} tensors"
                    )
                found.append((list(outs), placements))
            return found

        for item in operators:
            STATED[item] = rule
        forget()
        _shortcuts.forget()
        return body

    return declare
