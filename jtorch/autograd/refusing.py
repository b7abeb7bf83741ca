"""The node of a result whose gradient nobody knows: a backward pass that comes to it raises instead
of losing the gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core import Tensor
from .tape import Node, next_seq

if TYPE_CHECKING:
    pass


class Refusing(Node):
    """Raises ``error`` when a gradient reaches it."""

    __slots__ = ("error",)

    def __init__(
        self, operands: Sequence[Tensor], results: Sequence[Tensor], name: str, error: Exception
    ) -> None:
        self.call = None
        self.saved, self.kept = [], ()
        self.hooked = self.rare = None
        self.avals, self.numbers = tuple([t._aval for t in operands]), ()
        self.outs = tuple([t._aval for t in results])
        self.visible = len(results)
        self.seq = next_seq()
        self.edges = [t._edge() for t in operands]
        self.label = name
        self.error = error

    def apply(self, grads: Sequence[Any]) -> list[Any]:
        """Raises the error."""
        raise self.error

    apply_tracked = apply


def refuse_gradients(
    operands: Sequence[Tensor], results: Sequence[Tensor], name: str, error: Exception
) -> None:
    """Makes floating-point results part of the graph where an operand requires grad."""
    node = Refusing(operands, results, name, error)
    for j, t in enumerate(results):
        if t._aval.differentiable:
            t._node, t._nr, t._rg = node, j, True
