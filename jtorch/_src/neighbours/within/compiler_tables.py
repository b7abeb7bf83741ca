"""Tables that packages fill for PyTorch's compiler. XLA compiles the operators themselves, so that
nothing reads them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import _decomp

if TYPE_CHECKING:
    from ...aten.overloads import OpOverload
    from ...facts.kinds import Decorator


__all__ = ["decompositions", "register_decomposition", "remove_decompositions"]

#: Operator -> a function that computes the same with other operators.
decompositions: dict[Any, Callable[..., Any]] = {}

remove_decompositions = _decomp.remove_decompositions


def register_decomposition(ops: OpOverload | list[OpOverload]) -> Decorator:
    """A decorator that enters a function into ``decompositions`` under some operators."""
    return _decomp.register_decomposition(ops, decompositions)
