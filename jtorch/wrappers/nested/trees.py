"""Nested tensors as JAX pytrees: their values cross ``jax.jit`` and ``jax.grad``, their structure
is static."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from jtorch import Tensor

from .strided import Form, StridedNestedTensor
from .tensor import NestedTensor, build

if TYPE_CHECKING:
    from ..._src.facts.kinds import Row


def _flatten_jagged(nt: NestedTensor) -> tuple[tuple[Any, ...], Any]:
    # The structure is compared by identity: results of a compiled function must combine with the
    # very operands it was called with.
    return (nt._values,), (type(nt), nt._cut, nt._ragged_idx)


def _unflatten_jagged(structure: Row, children: tuple[Tensor, ...]) -> Any:
    cls, cut, ragged_idx = structure
    (values,) = children
    if isinstance(values, Tensor) and not hasattr(values, "_placeholder"):
        return build(values, cut, ragged_idx, cls)
    made = object.__new__(cls)  # JAX also builds trees of placeholders
    made._values, made._cut, made._ragged_idx = values, cut, ragged_idx
    return made


def _flatten_strided(nt: StridedNestedTensor) -> tuple[tuple[Any, ...], Any]:
    form = nt._form
    return (nt._values,), (form.sizes, form.strides, form.starts, form.rank)


def _unflatten_strided(structure: Row, children: tuple[Tensor, ...]) -> StridedNestedTensor:
    return StridedNestedTensor.of(children[0], Form(*structure))


jax.tree_util.register_pytree_node(NestedTensor, _flatten_jagged, _unflatten_jagged)
jax.tree_util.register_pytree_node(StridedNestedTensor, _flatten_strided, _unflatten_strided)
