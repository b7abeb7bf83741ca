"""Losses of paired elements: regression, binary classification, margins of one score."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from ..facts.warned_once import outside
from ._declare import Array, defvjp, guard_range, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._kernel import cast
from ._losses import (
    REDUCTIONS,
    aligned,
    checked,
    magnitude,
    not_cast,
    reduced,
    reduction_of,
    size_text,
    warn_of_reduction,
)
from ._nodes import Made, by_reduction, by_weight
from ._numeric import default_float, number, quotient, require, scalar_name
from .pointwise import NO_BOOL_MINUS, no_bools

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Arguments


def _warn_of_sizes(
    input: Any,
    target: Any,
    reduction: str,
    size_average: bool | None = None,
    reduce: bool | None = None,
) -> None:
    if input._aval.shape != target._aval.shape:  # each call asks: not by way of the property
        warnings.warn(
            f"Using a target size ({size_text(target)}) that is different to the input size "
            f"({size_text(input)}). This will likely lead to incorrect results due to "
            "broadcasting. Please ensure they have the same size.",
            stacklevel=outside(),
        )
    if reduction != "mean" or size_average is not None or reduce is not None:
        warn_of_reduction(reduction, size_average, reduce)


def _warn_of_paired_sizes(input: Tensor, target: Tensor, reduction: str) -> None:
    _warn_of_sizes(input, target, reduction)


def _weighted(loss: Array, weight: Array | None, reduction: str) -> Array:
    """The reduced loss with a weight for each element; the mean is over the weights."""
    if weight is None:
        return reduced(loss, reduction)
    loss = loss * weight
    if reduction == "mean":
        return default_float(jnp.sum(loss)) / default_float(
            jnp.sum(jnp.broadcast_to(weight, loss.shape))
        )
    return reduced(loss, reduction)


def _check_weight(input: Array, weight: Array | None) -> None:
    if weight is not None and weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


# What a kernel cannot see once the operands are promoted: torch refuses some combinations by the
# dtypes that were given.


def _check_huber(input: Array, kind: dtypes.dtype) -> None:
    """The result has the input's dtype, and that must be able to hold the difference."""
    own = dtypes.from_np(input.dtype)
    if not dtypes.can_cast(kind, own):
        raise not_cast(kind.scalar_name, own)


def _check_scores(score: dtypes.dtype, target: dtypes.dtype) -> None:
    if not score.is_floating_point:
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{score.scalar_name}'")
    if target is dtypes.bool_:
        raise RuntimeError(NO_BOOL_MINUS)
    if target.category < dtypes.FLOATING:
        raise not_cast(score.scalar_name, target)


@op(
    namespace="nn.functional",
    promote="expanded",
    aten="mse_loss",
    saves=("input", "target", "weight"),
    native=False,
    node=by_weight("MseLossBackward0"),
    autocast="float32",
    warns=_warn_of_sizes,
)
@schemas("(Tensor self, Tensor target, int reduction=1) -> Tensor ; =out")
def mse_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """The squared differences, averaged (over the weights, if given), summed or as they are.

    Args:
        input: the predictions.
        target: what they should be.
        size_average: deprecated: see ``reduction``.
        reduce: deprecated: see ``reduction``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"`` of the losses.
        weight: a factor for each loss, or None.

    Shapes: ``input`` and ``target`` are broadcast, with a warning if their sizes differ; ``weight``
    has the input's shape -> (), or the broadcast shape for reduction ``"none"``.

    Dtypes: real floating-point ones, with a ``weight`` any but bool; the result has the operands'
    common one.

    Raises:
        ValueError: for an unknown ``reduction``, or a ``weight`` of another shape.
        NotImplementedError: without a ``weight``, if ``input`` and ``target`` are both integers, or
            one is complex.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])
        >>> torch.nn.functional.mse_loss(x, y)
        tensor(2.)
        >>> torch.nn.functional.mse_loss(x, y, reduction="none")
        tensor([0., 4.])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_weight(input, weight)
    if weight is None:
        require("mse_cpu", input)
    x, y, w = aligned(input, target, weight)
    difference = x - y  # type: ignore[operator]
    return _weighted(difference * difference, w, reduction)


derivative(
    A.mse_loss,
    self=lambda g, self, target, reduction: A.mse_loss_backward.default(g, self, target, reduction),
    target=lambda g, self, target, reduction: A.mse_loss_backward.default(
        g, target, self, reduction
    ),
)


@op(
    namespace="nn.functional",
    promote="expanded",
    check=no_bools,
    aten="l1_loss",
    saves=("input", "target", "weight"),
    native=False,
    node=by_weight(by_reduction("AbsBackward0")),
    autocast="float32",
    implicit=True,
    warns=_warn_of_sizes,
    unchecked=("input", "target"),
)
@schemas("(Tensor self, Tensor target, int reduction=1) -> Tensor")
def l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array | None = None,
) -> Array:
    """The absolute differences, averaged (over the weights, if given), summed or as they are.

    Shapes: ``input`` and ``target`` are broadcast, with a warning if their sizes differ; ``weight``
    has the input's shape -> (), or the broadcast shape for reduction ``"none"``.

    Dtypes: any but bool; the result has the operands' common one, or its real counterpart if that
    is complex.

    Gradient: 0 where the two are equal.

    Raises:
        ValueError: for an unknown ``reduction``, or a ``weight`` of another shape.
        RuntimeError: for bool tensors, or the unweighted mean of integers.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_weight(input, weight)
    return _l1(input, target, weight, reduction)


def _l1(input: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    x, y, w = aligned(input, target, weight)
    difference = x - y  # type: ignore[operator]
    if jnp.issubdtype(difference.dtype, jnp.complexfloating):
        return _weighted(jnp.abs(difference), w, reduction)
    return _weighted(magnitude(difference), w, reduction)


def _node_of_smooth(made: Made) -> str:
    return (
        by_reduction("AbsBackward0")(made) if made.given("beta") == 0 else "SmoothL1LossBackward0"
    )


@op(
    namespace="nn.functional",
    promote="expanded",
    check_if=lambda options: no_bools if options["beta"] == 0 else None,
    aten="smooth_l1_loss",
    saves=("input", "target"),
    native=False,
    node=_node_of_smooth,
    autocast="float32",
    warns=_warn_of_sizes,
)
@schemas(". ; =out")
def smooth_l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Array:
    """``0.5 * d**2 / beta`` for differences below ``beta``, ``|d| - 0.5 * beta`` beyond.

    Shapes: ``input`` and ``target`` are broadcast, with a warning if their sizes differ -> (), or
    the broadcast shape for reduction ``"none"``.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        RuntimeError: for a negative ``beta``.
        ValueError: for an unknown ``reduction``.
        NotImplementedError: if ``input`` and ``target`` are both integers, or one is complex.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.smooth_l1_loss(
        ...     torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none"
        ... )
        tensor([0.1250, 2.5000])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not beta >= 0:  # NaN too
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0.0:
        return _l1(input, target, None, reduction)
    require("smooth_l1_cpu", input)
    x, y = aligned(input, target)
    difference = x - y  # type: ignore[operator]
    size = difference * lax.stop_gradient(jnp.sign(difference))
    near = size < number(beta, size)
    close, far = _split(near, difference, size)
    half = number(0.5 * beta, size)
    return reduced(
        jnp.where(
            near, quotient(number(0.5, size) * close * close, number(beta, size)), far - half
        ),
        reduction,
    )


derivative(
    A.smooth_l1_loss,
    self=lambda g, self, target, reduction, beta: A.smooth_l1_loss_backward.default(
        g, self, target, reduction, beta
    ),
    target=lambda g, self, target, reduction, beta: A.smooth_l1_loss_backward.default(
        g, target, self, reduction, beta
    ),
)


def _split(near: Array, difference: Array, size: Array) -> tuple[Array, Array]:
    """What the two branches of a loss work on, with 0 where it is the other's turn: infinite
    differences would make NaN of its gradient."""
    zero = number(0, size)
    return jnp.where(near, difference, zero), jnp.where(near, zero, size)


@op(
    namespace="nn.functional",
    aten="huber_loss",
    saves=("input", "target", "weight"),
    strides="pointwise",
    native=False,
    node=by_weight("HuberLossBackward0", mean="MeanBackward0"),
    autocast="float32",
    warns=_warn_of_paired_sizes,
)
@schemas("(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor ; =out")
def huber_loss(
    input: Array,
    target: Array,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Array | None = None,
) -> Array:
    """``0.5 * d**2`` for differences up to ``delta``, ``delta * (|d| - 0.5 * delta)`` beyond.

    Shapes: ``input`` and ``target`` are broadcast, with a warning if their sizes differ; ``weight``
    has the input's shape -> (), or the broadcast shape for reduction ``"none"``.

    Dtypes: real floating-point ones; the result has the input's, promoted with the ``weight``'s.

    Raises:
        RuntimeError: unless ``delta`` is positive, or for a ``target`` of a kind that the input's
            dtype cannot hold.
        ValueError: for an unknown ``reduction``, or a ``weight`` of another shape.
        NotImplementedError: if both are integers, or complex.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.huber_loss(
        ...     torch.tensor([1.0, 5.0]), torch.zeros(2), reduction="none", delta=2.0
        ... )
        tensor([0.5000, 8.0000])
    """
    reduction = checked(reduction)
    if not delta > 0:  # NaN too
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _check_weight(input, weight)
    kind = dtypes.promote_types(dtypes.from_np(input.dtype), dtypes.from_np(target.dtype))
    _check_huber(input, kind)
    own = input.dtype
    input, target = input.astype(kind.np), target.astype(kind.np)
    require("huber_cpu", input)
    x, y, w = aligned(input, target, weight)
    difference = x - y  # type: ignore[operator]
    size = difference * lax.stop_gradient(jnp.sign(difference))
    bound = number(delta, size)
    # at ``delta`` both have one value and slope, and the line no curvature
    near = size <= bound if math.isinf(delta) else size < bound
    close, far = _split(near, difference, size)
    far = (far - number(0.5 * delta, size)) * number(delta, size)
    loss = jnp.where(near, close * close * number(0.5, size), far).astype(own)
    if w is not None:
        wide = dtypes.promote_types(dtypes.from_np(own), dtypes.from_np(w.dtype)).np
        loss, w = loss.astype(wide), w.astype(wide)
    return _weighted(loss, w, reduction)


derivative(
    A.huber_loss,
    self=lambda g, self, target, reduction, delta: A.huber_loss_backward.default(
        g, self, target, reduction, delta
    ),
    target=lambda g, self, target, reduction, delta: A.huber_loss_backward.default(
        g, target, self, reduction, delta
    ),
)


def _check_binary(input: Array, target: Array, message: str) -> None:
    if input.shape != target.shape:
        raise ValueError(message.format(target=size_text(target), input=size_text(input)))


def _operator_of_weight(input: Any, target: Any, weight: Any, reduction: str) -> str | None:
    """The operator that refuses a weight with a history, unless the sizes or the reduction are
    refused before."""
    lead = input.ndim - weight.ndim
    fits = lead >= 0 and all(
        n in (1, m) for n, m in zip(weight.shape, input.shape[max(lead, 0) :], strict=False)
    )
    return (
        "binary_cross_entropy"
        if fits and input.shape == target.shape and reduction in REDUCTIONS
        else None
    )


def _operator_of_logits(input: Any, target: Any, reduction: str) -> str | None:
    return (
        "binary_cross_entropy_with_logits"
        if input.shape == target.shape and reduction in REDUCTIONS
        else None
    )


@op(
    namespace="nn.functional",
    aten="binary_cross_entropy",
    saves=("input", "target", "weight"),
    native=False,
    autocast="cpu float32",
    warns=warn_of_reduction,
    underivable={"weight": _operator_of_weight},
)
@schemas(". ; =out")
def binary_cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, the logarithms no smaller than
    -100.

    Shapes: ``input`` and ``target`` of one shape, ``weight`` broadcasts to it -> (), or that shape
    for reduction ``"none"``.

    Dtypes: real floating-point ones, the same for both.

    Raises:
        ValueError: if the sizes differ, or for an unknown ``reduction``.
        RuntimeError: if an element of ``input`` or ``target`` is outside [0, 1], or the dtypes
            differ.
        NotImplementedError: for integers and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.binary_cross_entropy(
        ...     torch.tensor([0.5, 0.25]), torch.tensor([1.0, 0.0]), reduction="none"
        ... )
        tensor([0.6931, 0.2877])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_binary(input, target,
                  "Using a target size ({target}) that is different to the input size ({input}) is "
                  "deprecated. Please ensure they have the same size.")  # fmt: skip
    if target.dtype != input.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_name(target.dtype)} but expected {scalar_name(input.dtype)}"
        )
    require("binary_cross_entropy", input)
    for name, x in (("input", input), ("target", target)):
        guard_range(x, 0, 1, RuntimeError, f"all elements of {name} should be between 0 and 1")
    low = number(-100, input)
    loss = (target - number(1, input)) * jnp.maximum(jnp.log1p(-input), low) - target * jnp.maximum(
        jnp.log(input), low
    )
    return reduced(loss if weight is None else _scaled(loss, weight), reduction)


def _scaled(loss: Array, weight: Array) -> Array:
    """``loss`` times a weight, which PyTorch multiplies in place: the result has the dtype of
    ``loss``."""
    own, its = dtypes.from_np(loss.dtype), dtypes.from_np(weight.dtype)
    common = dtypes.promote_types(own, its)
    if not dtypes.can_cast(common, own):
        raise not_cast(common.scalar_name, own)
    return cast(cast(loss, common.np) * cast(_over(weight, loss), common.np), loss.dtype)


def _over(weight: Array, x: Array) -> Array:
    broadcast_shapes(weight.shape, x.shape)
    return weight.reshape((1,) * (x.ndim - weight.ndim) + weight.shape)


def _binary_cross_entropy_rule(
    g: Array,
    result: None,
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> tuple[Array, Array, Array | None]:
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    share = g / number(input.size, g) if reduction == "mean" else g
    share = jnp.broadcast_to(share, input.shape)
    scaled = share if weight is None else _scaled(share, weight)
    one = number(1, input)
    grad_input = (
        scaled * (input - target) / jnp.maximum((one - input) * input, number(1e-12, input))
    )
    grad_target = scaled * (jnp.log1p(-input) - jnp.log(input))
    if weight is None:
        return grad_input, grad_target, None
    low = number(-100, input)
    loss = (target - one) * jnp.maximum(jnp.log1p(-input), low) - target * jnp.maximum(
        jnp.log(input), low
    )
    return grad_input, grad_target, share * loss


defvjp(binary_cross_entropy, _binary_cross_entropy_rule)


def _weighed(found: object, weight: object, reduction: int, count: int) -> object:
    if weight is not None:
        found = A.mul.Tensor(found, weight)
    return A.div_.Scalar(found, count) if reduction == 1 else found


def _bce_target_formula(
    g: object, self: object, target_: Any, weight: object, reduction: int
) -> object:
    found = A.sub.Tensor(A.log.default(A.rsub.Scalar(self, 1)), A.log.default(self))
    return _weighed(A.mul.Tensor(found, g), weight, reduction, target_.size)


derivative(
    A.binary_cross_entropy,
    self=lambda g, self, target, weight, reduction: A.binary_cross_entropy_backward.default(
        g, self, target, weight, reduction
    ),
    target=_bce_target_formula,
)


@jax.custom_jvp
def _scored(x: Array, target: Array, weight: Array | None) -> Array:
    """The cross entropy of scores. Its derivative by them, as it stands, is a difference of two
    numbers near 1 where they are small."""
    one, soft = number(1, x), jnp.logaddexp(-x, number(0, x))
    return (one - target) * x + (soft if weight is None else soft * ((weight - one) * target + one))


@_scored.defjvp
def _(primals: Arguments, tangents: Arguments) -> tuple[Array, Array]:
    x, target, weight = primals
    dx, dt, dw = tangents
    made = _scored(x, target, weight)
    if weight is None:
        return made, (jax.nn.sigmoid(x) - target) * dx - x * dt
    one, soft = number(1, x), jnp.logaddexp(-x, number(0, x))
    by_x = jax.nn.sigmoid(x) * ((weight - one) * target + one) - weight * target
    return made, by_x * dx + (soft * (weight - one) - x) * dt + soft * target * dw


@op(
    namespace="nn.functional",
    aten="binary_cross_entropy_with_logits",
    saves=("input", "target", "weight", "pos_weight"),
    native=False,
    autocast="float32",
    warns=warn_of_reduction,
    underivable=dict.fromkeys(("weight", "pos_weight"), _operator_of_logits),
)
@schemas(
    "(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) "
    "-> Tensor ; =out"
)
def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Array | None = None,
) -> Array:
    """``binary_cross_entropy`` of ``sigmoid(input)``, computed so that large scores lose nothing;
    ``pos_weight`` multiplies the first term.

    Shapes: ``input`` and ``target`` of one shape, the weights broadcast to it -> (), or that shape
    for reduction ``"none"``.

    Dtypes: real floating-point ones; the result has the target's.

    Raises:
        ValueError: if the sizes differ, or for an unknown ``reduction``.
        RuntimeError: for a ``target`` of integers or bool, and complex weights.
        NotImplementedError: for an ``input`` that is not real and floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.binary_cross_entropy_with_logits(
        ...     torch.tensor([0.0, 100.0]), torch.tensor([1.0, 0.0]), reduction="none"
        ... )
        tensor([  0.6931, 100.0000])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_binary(input, target, "Target size ({target}) must be the same as input size ({input})")
    own, its = dtypes.from_np(input.dtype), dtypes.from_np(target.dtype)
    _check_scores(own, its)
    common = dtypes.promote_types(own, its)
    if pos_weight is not None:
        common = dtypes.promote_types(common, dtypes.from_np(pos_weight.dtype))
    if not dtypes.can_cast(common, its):
        raise not_cast(common.scalar_name, its)
    more = None if pos_weight is None else cast(_over(pos_weight, input), common.np)
    loss = cast(_scored(cast(input, common.np), cast(target, common.np), more), target.dtype)
    return reduced(loss if weight is None else _scaled(loss, weight), reduction)


def _bce_logits_formula(
    g: object, self: Tensor, target: object, weight: object, pos_weight: object, reduction: int
) -> object:
    if pos_weight is None:
        found = A.mul.Tensor(A.sub.Tensor(A.sigmoid.default(self), target), g)
    else:
        t = A.mul.Tensor(pos_weight, target)
        inner = A.sub.Tensor(
            A.mul.Tensor(A.sub.Tensor(A.add.Scalar(t, 1), target), A.sigmoid.default(self)), t
        )
        found = A.mul.Tensor(inner, g)
    return _weighed(found, weight, reduction, self._aval.size)


def _bce_logits_target_formula(
    g: object, self: object, target_: Any, weight: object, pos_weight: object, reduction: int
) -> object:
    if pos_weight is None:
        found = A.neg.default(self)
    else:
        p = A.sigmoid.default(self)
        found = A.sub.Tensor(
            A.log.default(A.rsub.Scalar(p, 1)), A.mul.Tensor(pos_weight, A.log.default(p))
        )
    return _weighed(A.mul.Tensor(found, g), weight, reduction, target_.size)


derivative(
    A.binary_cross_entropy_with_logits, self=_bce_logits_formula, target=_bce_logits_target_formula
)
