"""Tensors as JAX pytrees: they cross ``jax.jit``, ``jax.grad`` and ``jax.vmap``."""

from __future__ import annotations

from typing import Any

import jax

from .core import Tensor, from_value
from .engine import concrete
from .engine.record import leaf


def _flatten(t: Tensor) -> tuple[tuple[Any, ...], Any]:
    return (t.jax(),), (type(t), t.requires_grad)


def _unflatten(aux: Any, children: Any) -> Any:
    cls, requires_grad = aux
    (array,) = children
    if not isinstance(array, jax.Array):  # JAX also builds trees of placeholders
        t = object.__new__(cls)
        t._placeholder = array
        return t
    tracer = isinstance(array, jax.core.Tracer)
    t = from_value(concrete(array) if tracer else leaf(array))
    if cls is not Tensor:
        t = t.as_subclass(cls)  # type: ignore[attr-defined]
    t._rg = requires_grad and t._aval.differentiable
    return t


def register(cls: type = Tensor) -> None:
    """Makes a Tensor class a pytree node with one leaf, its array."""
    jax.tree_util.register_pytree_node(cls, _flatten, _unflatten)
