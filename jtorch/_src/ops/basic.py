"""Copies, conversions and fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..facts.layouts import contiguous_format, strided
from ._declare import Array, Dtype, Number, defvjp, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._kernel import cast
from ._nodes import by_operand

if TYPE_CHECKING:
    from ...core import Tensor


@op(
    saves=(),
    aten="clone.default",
    name="clone",
    family="op",
    method=False,
    elementwise=True,
    lazy="conj neg",
)
@schemas("(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor ; =out")
def clone(input: Array) -> Array:
    """A copy with its own memory; gradients pass through."""
    return jnp.copy(input)


derivative(A.clone, A.lift_fresh_copy, self=lambda g: g)
derivative(A.contiguous, A.alias, A.lift_fresh, self=lambda g: g)


@op(
    namespace="_C",
    name="_to_copy",
    saves=(),
    aten="_to_copy.default",
    family="op",
    elementwise=True,
)
@schemas("(Tensor self, ..., bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")
def _to_copy(input: Array, dtype: Dtype) -> Array:
    """A copy in another dtype. Complex to real drops the imaginary parts; numbers become bool by
    comparison with zero."""
    return cast(input, dtype)


def _to(g: Tensor, self_: Any) -> object:
    if g._aval.torch_dtype.is_complex and not self_.dtype.is_complex:
        g = D.real(g)
        if g._aval.torch_dtype is self_.dtype:
            return g
    return A._to_copy.default(g, dtype=self_.dtype, layout=strided, device=self_.device)


derivative(A._to_copy, self=lambda g, self_: _to(g, self_))


@op(
    namespace="_C",
    name="_fill",
    saves=(),
    aten="fill.Scalar",
    node=by_operand("Fill", "value", 3, 2),
    elementwise=True,
)
def _fill(input: Array, value: Array | Number) -> Array:
    """``value`` everywhere, in the shape and dtype of ``input``, to which no gradient flows."""
    return jnp.broadcast_to(cast(jnp.asarray(value), input.dtype), input.shape)


derivative(A.fill_.Scalar, self=lambda g: D.zeros(g))
derivative(A.fill_.Tensor, self=lambda g: D.zeros(g), value=lambda g: A.sum.default(g))
derivative(A.zero_, self=lambda g: D.zeros(g))


@op(
    namespace="_C",
    name="_copy",
    saves=(),
    aten="copy.default",
    node="CopyBackwards",
    elementwise=True,
)
@schemas("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor ; _ =out")
def _copy(input: Array, src: Array) -> Array:
    """``src`` broadcast to the shape and cast to the dtype of ``input``."""
    return jnp.broadcast_to(cast(src, input.dtype), input.shape)


derivative(
    A.copy_,
    self=lambda g: A.zeros_like.default(g, memory_format=contiguous_format),
    src=lambda g: g,
)


@op(namespace="_C", name="_ones_like", differentiable=False, elementwise=True)
def _ones_like(input: Array) -> Array:
    """The gradient of a result with respect to itself."""
    return jnp.ones_like(input)


@op(
    namespace="_C",
    name="_accumulate",
    saves=(),
    aten="add.Tensor",
    node="AddBackward0",
    elementwise=True,
)
def _accumulate(input: Array, other: Array) -> Array:
    """The sum of two gradients of one shape."""
    return input + other


defvjp(_accumulate, lambda g, result, input, other: (g, g), saves=())
