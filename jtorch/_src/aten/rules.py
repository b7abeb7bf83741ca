"""What the derivative of an operator is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
        self, parts: list[tuple[tuple[str, ...], Callable[..., Any], tuple[str, ...]]], results: Any
    ) -> None:
        self.parts, self.results = parts, results
