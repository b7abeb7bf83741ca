"""The larger and smaller of two, clamping, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from ..facts.errors import broadcast_shapes
from ._declare import Array, Number, defvjp, pointwise
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import REALS, hosted
from ._nodes import Made, by_operand
from ._numeric import is_bool, is_complex, require, scalar_name, zeros_where

if TYPE_CHECKING:
    from ..facts.kinds import Named


# ---- the larger and the smaller ------------------------------------------------------------------


def _refuse_complex(name: str, x: Array) -> None:
    if is_complex(x):
        raise RuntimeError(f"{name} not implemented for complex tensors.")


@pointwise(saves=("input", "other"), aten="maximum")
def maximum(input: Array, other: Array) -> Array:
    """The larger of each pair; NaN if one is NaN.

    Args:
        input: one tensor.
        other: another.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted.
    Gradient: shared by equal elements.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.maximum(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.0]))
        tensor([2., nan])
    """
    _refuse_complex("maximum", input)
    return jnp.maximum(input, other)


@pointwise(saves=("input", "other"), aten="minimum")
def minimum(input: Array, other: Array) -> Array:
    """The smaller of each pair; NaN if one is NaN.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted.
    Gradient: shared by equal elements.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.minimum(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.0]))
        tensor([1., nan])
    """
    _refuse_complex("minimum", input)
    return jnp.minimum(input, other)


def _maximum_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    shared = jnp.where(input == other, g / 2, g)
    return zeros_where(input < other, shared), zeros_where(input > other, shared)


def _minimum_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    shared = jnp.where(input == other, g / 2, g)
    return zeros_where(input > other, shared), zeros_where(input < other, shared)


defvjp(maximum, _maximum_rule)


def _larger(smaller: Callable[..., object]) -> Callable[..., object]:
    """The gradient of one operand of ``maximum``: half where both are equal, none where it is the
    other one."""

    def gradient(g: object, self: object, other: object) -> object:
        half = A.div.Scalar(g, 2)
        shared = A.where.self(A.eq.Tensor(self, other), half, g)
        return A.masked_fill_.Scalar(shared, smaller(self, other), 0)

    return gradient


derivative(A.maximum, self=_larger(A.lt.Tensor), other=_larger(A.gt.Tensor))
defvjp(minimum, _minimum_rule)
derivative(A.minimum, self=_larger(A.gt.Tensor), other=_larger(A.lt.Tensor))


@pointwise(saves=("input", "other"), aten="fmax")
def fmax(input: Array, other: Array) -> Array:
    """The larger of each pair; the other one if one is NaN.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted.
    Gradient: goes to ``input`` where both are equal.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.fmax(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.0]))
        tensor([2., 0.])
    """
    _refuse_complex("fmax", input)
    return _fmax(*jnp.broadcast_arrays(input, other))


@hosted(lambda: np.fmax, ns=1, dtypes=REALS)
def _fmax(x: Array, y: Array) -> Array:
    return jnp.fmax(x, y)


@pointwise(saves=("input", "other"), aten="fmin")
def fmin(input: Array, other: Array) -> Array:
    """The smaller of each pair; the other one if one is NaN.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted.
    Gradient: goes to ``input`` where both are equal.

    Raises:
        RuntimeError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.fmin(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.0]))
        tensor([1., 0.])
    """
    _refuse_complex("fmin", input)
    return _fmin(*jnp.broadcast_arrays(input, other))


@hosted(lambda: np.fmin, ns=1, dtypes=REALS)
def _fmin(x: Array, y: Array) -> Array:
    return jnp.fmin(x, y)


def _fmax_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    first = (input >= other) | jnp.isnan(other)
    return zeros_where(~first, g), zeros_where(first, g)


def _fmin_rule(g: Array, _: None, input: Array, other: Array) -> tuple[Array, Array]:
    first = (input <= other) | jnp.isnan(other)
    return zeros_where(~first, g), zeros_where(first, g)


defvjp(fmax, _fmax_rule)


def _numbered(better: Callable[..., object]) -> Named:
    """The gradients of ``fmax`` and ``fmin``, which prefer what is a number."""

    def chosen(self: object, other: object) -> object:
        first = better(self, other)
        return A.logical_or_.default(first, A.isnan.default(other))

    return {
        "self": lambda g, self, other: A.masked_fill.Scalar(
            g, A.logical_not_.default(chosen(self, other)), 0
        ),
        "other": lambda g, self, other: A.masked_fill.Scalar(g, chosen(self, other), 0),
    }


derivative(A.fmax, **_numbered(A.ge.Tensor))
defvjp(fmin, _fmin_rule)
derivative(A.fmin, **_numbered(A.le.Tensor))


# ---- clamping ------------------------------------------------------------------------------------


def _node_of_clamp(made: Made) -> str:
    return f"ClampBackward{0 if made.is_tensor('min') or made.is_tensor('max') else 1}"


@pointwise(
    inplace="both",
    aliases=("clip",),
    saves=("input", "min", "max"),
    fits=("min", "max"),
    alike=("min", "max"),
    aten="clamp",
    out_dtype="found",
    node=_node_of_clamp,
)
@schemas("(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor ; _ =out", ".Tensor", "clip")
def clamp(
    input: Array, min: Array | Number | None = None, max: Array | Number | None = None
) -> Array:
    """Moves elements into ``[min, max]``: ``minimum(maximum(input, min), max)``.

    Args:
        input: the tensor.
        min: the lower bound, a number or a tensor; None for no bound.
        max: the upper bound, a number or a tensor; None for no bound.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted with the bounds.
    Gradient: 1 inside and at the edges, 0 outside; tensors as bounds get the gradient of the
    elements they replace.

    Raises:
        RuntimeError: if neither bound is given, or a number does not fit the dtype.
        TypeError: if one bound is a tensor and the other a number.
        NotImplementedError: for complex numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.clamp(torch.tensor([-2, 3, 9]), min=0, max=5)
        tensor([0, 3, 5])
        >>> torch.clamp(torch.tensor([-2.0, 3.0]), max=torch.tensor([-3.0, 4.0]))
        tensor([-3.,  3.])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if is_complex(input):
        raise NotImplementedError("clamp is not supported for complex types")
    if is_bool(input) and min is not None and max is not None:
        require("clamp_cpu", input, "if")
    found = input if min is None else jnp.maximum(input, min)
    return found if max is None else jnp.minimum(found, max)


def _clamp_rule(
    g: Array, _: None, input: Array, min: Array | None = None, max: Array | None = None
) -> tuple[Array, Array | None, Array | None]:
    if min is None:
        assert max is not None  # the kernel wants one of them
        return zeros_where(~(input <= max), g), None, zeros_where(~(input > max), g)
    if max is None:
        return zeros_where(~(input >= min), g), zeros_where(~(input < min), g), None
    by_input = zeros_where(~((input >= min) & (input <= max)), g)
    by_min = zeros_where(~((input < min) & (min < max)), g)
    by_max = zeros_where(~((input > max) | (max < min)), g)
    return by_input, by_min, by_max


defvjp(clamp, _clamp_rule)


def _kept_where(condition: object, g: object, zero: object = None) -> object:
    """A gradient where a condition holds, zero elsewhere."""
    return A.where.self(condition, g, D.zero_of(g) if zero is None else zero)


def _clamp_formula(g: object, self: object, min: object, max: object) -> object:
    zero = D.zero_of(g)
    if min is not None and max is not None:
        inside = A.logical_and_.default(A.ge.Scalar(self, min), A.le.Scalar(self, max))
    elif min is not None:
        inside = A.ge.Scalar(self, min)
    elif max is not None:
        inside = A.le.Scalar(self, max)
    else:
        return g
    return _kept_where(inside, g, zero)


derivative(A.clamp, self=_clamp_formula)


def _clamp_bounds_formula(g: object, self: object, min: object, max: object, wants: Any) -> object:
    if min is not None and max is not None:
        first = last = None
        if wants[0]:
            below, ordered = A.lt.Tensor(self, min), A.lt.Tensor(min, max)
            first = _kept_where(A.logical_and.default(ordered, below), g)
        if wants[1]:
            above, crossed = A.gt.Tensor(self, max), A.lt.Tensor(max, min)
            last = _kept_where(A.logical_or.default(above, crossed), g)
        return first, last
    if min is not None:
        return _kept_where(A.lt.Tensor(self, min), g), None
    return None, _kept_where(A.gt.Tensor(self, max), g)


def _clamp_self_formula(g: object, self: object, min: object, max: object) -> object:
    if min is not None and max is not None:
        low = A.ge.Tensor(self, min)
        return _kept_where(A.logical_and.default(low, A.le.Tensor(self, max)), g)
    return _kept_where(A.ge.Tensor(self, min) if max is None else A.le.Tensor(self, max), g)


derivative(A.clamp.Tensor, min__max=_clamp_bounds_formula, self=_clamp_self_formula)


@pointwise(
    inplace="both",
    saves=("input", "min"),
    fits=("min",),
    aten="clamp_min",
    node=by_operand("ClampMin", "min", 1, 0),
)
@schemas("(Tensor self, Scalar min) -> Tensor ; _ =out", ".Tensor")
def clamp_min(input: Array, min: Array | Number) -> Array:
    """Raises elements below ``min`` to ``min``.

    Args:
        input: the tensor.
        min: the lower bound, a number or a tensor.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted with the bound; complex numbers are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.clamp_min(torch.tensor([-2, 3, 9]), 0)
        tensor([0, 3, 9])
    """
    require("maximum_cpu", input, "bif")
    return jnp.maximum(input, min)


def _clamp_min_rule(g: Array, _: None, input: Array, min: Array) -> tuple[Array, Array]:
    return zeros_where(~(input >= min), g), zeros_where(~(input < min), g)


defvjp(clamp_min, _clamp_min_rule)
derivative(A.clamp_min, self=lambda g, self, min: _clamp_formula(g, self, min, None))
derivative(
    A.clamp_min.Tensor,
    min=lambda g, self, min: _kept_where(A.lt.Tensor(self, min), g),
    self=lambda g, self, min: _kept_where(A.ge.Tensor(self, min), g),
)


@pointwise(
    inplace="both",
    saves=("input", "max"),
    fits=("max",),
    aten="clamp_max",
    node=by_operand("ClampMax", "max", 1, 0),
)
@schemas("(Tensor self, Scalar max) -> Tensor ; _ =out", ".Tensor")
def clamp_max(input: Array, max: Array | Number) -> Array:
    """Lowers elements above ``max`` to ``max``.

    Shapes: that of the operands, broadcast.
    Dtypes: real ones, promoted with the bound; complex numbers are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.clamp_max(torch.tensor([-2, 3, 9]), 5)
        tensor([-2,  3,  5])
    """
    require("minimum_cpu", input, "bif")
    return jnp.minimum(input, max)


def _clamp_max_rule(g: Array, _: None, input: Array, max: Array) -> tuple[Array, Array]:
    return zeros_where(~(input <= max), g), zeros_where(~(input > max), g)


defvjp(clamp_max, _clamp_max_rule)
derivative(A.clamp_max, self=lambda g, self, max: _clamp_formula(g, self, None, max))
derivative(
    A.clamp_max.Tensor,
    max=lambda g, self, max: _kept_where(A.gt.Tensor(self, max), g),
    self=lambda g, self, max: _kept_where(A.le.Tensor(self, max), g),
)


# ---- choosing ------------------------------------------------------------------------------------


@pointwise(
    namespace="_C",
    name="_where",
    promote=("input", "other"),
    broadcast=False,
    saves=("condition",),
    aten="where.self",
)
def where(condition: Array, input: Array | Number, other: Array | Number) -> Array:
    """``input`` where ``condition`` holds, else ``other``. The public function, which also takes a
    condition alone, is a composite.

    Dtypes: ``input`` and ``other`` are promoted; ``condition`` takes no part.
    """
    if condition.dtype not in (np.bool_, np.uint8):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{scalar_name(condition.dtype)}"
        )
    shape = broadcast_shapes(condition.shape, input.shape, other.shape)
    condition = condition if is_bool(condition) else condition != 0
    return jnp.where(*(jnp.broadcast_to(x, shape) for x in (condition, input, other)))
