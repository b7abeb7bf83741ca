"""What the derivative of an operator is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..facts.kinds import Function


class Rule:
    """The derivative of an operator.

    Attributes:
        parts: ``(names of operands, function, names of what it takes)``; the function gives the
            gradient of its operand, or a tuple of gradients if it serves several.
        results: the numbers of the results that have a gradient, or None for all floating point
            ones.
    """

    __slots__ = ("parts", "results")

    def __init__(
        self, parts: list[tuple[tuple[str, ...], Function, tuple[str, ...]]], results: Any
    ) -> None:
        self.parts, self.results = parts, results
