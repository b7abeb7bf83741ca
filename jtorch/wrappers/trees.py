"""Wrapper types as trees with their data as leaves, for ``jax.jit``, ``jax.grad``, ``jax.vmap`` and
``torch.utils._pytree``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from jtorch.utils import _pytree

if TYPE_CHECKING:
    from .._src.facts.kinds import Values
    from .tensor_like import TensorLike


class Static:
    """What a tree keeps beside its leaves: compared by value, hashable whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        try:
            return self.value is other.value or bool(self.value == other.value)
        # arrays among the entries compare element by element
        except (TypeError, ValueError, RuntimeError):
            return False

    def __hash__(self) -> int:
        return hash(repr(type(self.value)))

    def __repr__(self) -> str:
        return repr(self.value)


def register(
    cls: type, split: Callable[[Any], tuple[Any, Any]], join: Callable[[Any, Any], Any]
) -> None:
    """Registers a type: ``split(x) -> (data, rest)``, ``join(data, rest) -> x``."""

    def flatten(x: object) -> tuple[Values, Static]:
        data, rest = split(x)
        return [data], Static(rest)

    def unflatten(children: Any, context: Static) -> TensorLike:
        return join(next(iter(children)), context.value)

    jax.tree_util.register_pytree_node(
        cls, flatten, lambda context, children: unflatten(children, context)
    )
    _pytree.register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=f"{cls.__module__}.{cls.__qualname__}"
    )
