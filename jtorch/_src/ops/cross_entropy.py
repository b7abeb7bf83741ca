"""Losses on class scores: ``cross_entropy`` and ``nll_loss``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._declare import Array, defvjp, guard_range, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._kernel import cast
from ._losses import REDUCTIONS, reduced, reduction_of, warn_of_reduction
from ._nodes import Made
from ._numeric import is_float, number, require, scalar_name, unsupported, wide

if TYPE_CHECKING:
    from ..facts.kinds import Operand


def _check_weight(weight: Array | None, classes: int) -> None:
    if weight is None:
        return
    if weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )


def _check_classes(input: Array, target: Array, weight: Array | None) -> None:
    """Raises torch's errors for class indices that do not fit the scores."""
    if input.ndim == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    if input.ndim > 1 and input.shape[0] != (target.shape[0] if target.ndim else 0):
        given = target.shape[0] if target.ndim else 0
        raise ValueError(
            f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({given})."
        )
    _check_weight(weight, input.shape[min(input.ndim - 1, 1)])
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input.dtype)} but found {scalar_name(weight.dtype)}"
        )
    if input.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.ndim == 1 and target.size != 1:
            raise ValueError(
                f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                f"({target.shape[0]})."
            )
    elif target.ndim != input.ndim - 1 and input.ndim == 4:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.ndim}"
        )
    elif input.ndim == 4 and target.shape != input.shape[:1] + input.shape[2:]:
        # torch closes nothing
        raise RuntimeError(
            f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}"
        )
    elif target.shape != input.shape[:1] + input.shape[2:]:
        raise RuntimeError(
            f"Expected target size {list(input.shape[:1] + input.shape[2:])}, got "
            f"{list(target.shape)}"
        )
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_name(target.dtype)}"
        )


class _Classes:
    """Class indices against scores: the class dimension in front of the rest, and which elements
    count."""

    def __init__(
        self, input: Array, target: Array, weight: Array | None, ignore_index: int
    ) -> None:
        x = wide(input)
        self.axis = min(input.ndim - 1, 1)
        self.x = x
        self.classes = x.shape[self.axis]
        self.target = target.reshape(()) if input.ndim == 1 else target
        indices = self.target.astype(np.int32)
        self.counted = self.target != ignore_index
        guard_range(
            self.target,
            0,
            self.classes - 1,
            IndexError,
            "Target {} is out of bounds.",
            skip=ignore_index,
            of=target,
        )
        self.index = jnp.expand_dims(indices, self.axis)
        self.weight = None if weight is None else wide(weight)
        zero = number(0, x)
        if self.weight is None:
            self.weights = self.counted.astype(x.dtype)
        else:
            self.weights = jnp.where(
                self.counted, jnp.take(self.weight, indices, mode="clip"), zero
            )

    def picked(self, x: Array) -> Array:
        """The scores at the classes."""
        if self.classes == 0:
            return jnp.zeros(self.target.shape, x.dtype)
        # those that do not count may be anything
        inside = jnp.clip(self.index, 0, self.classes - 1)
        return jnp.squeeze(jnp.take_along_axis(x, inside, self.axis, mode="clip"), self.axis)

    def hot(self, where: Operand, otherwise: Operand) -> Array:
        """``where`` at the classes, ``otherwise`` elsewhere. A comparison, which vectorises and
        fuses, where scattering does not."""
        shape = [1] * self.x.ndim
        shape[self.axis] = self.classes
        return jnp.where(
            jnp.arange(self.classes, dtype=np.int32).reshape(shape) == self.index, where, otherwise
        )

    def along_classes(self) -> Array:
        """The weights of the classes, ready to broadcast over the scores."""
        assert self.weight is not None
        shape = [1] * self.x.ndim
        shape[self.axis] = self.classes
        return self.weight.reshape(shape)

    def outer(self, x: Array) -> Array:
        """A value of each element, ready to broadcast over the scores."""
        return jnp.expand_dims(x, self.axis) if x.ndim else x

    def finish(self, loss: Array, reduction: str) -> Array:
        """``loss`` reduced; the mean is over the sum of the weights."""
        return (
            jnp.sum(loss) / jnp.sum(self.weights)
            if reduction == "mean"
            else reduced(loss, reduction)
        )

    def share(self, g: Array, reduction: str) -> Array:
        """The gradient of each element's loss."""
        return self.outer(g / jnp.sum(self.weights) if reduction == "mean" else g)


def _shift_and_log_sum(x: Array, axis: int) -> tuple[Array, Array]:
    """``top`` and ``log(sum(exp(x - top)))`` along ``axis``, which is kept. Apart they lose nothing
    where scores are large."""
    top = (
        jnp.max(x, axis, keepdims=True)
        if x.shape[axis]
        else jnp.max(x, axis, keepdims=True, initial=-np.inf)
    )
    top = lax.stop_gradient(top)
    return top, jnp.log(jnp.sum(jnp.exp(x - top), axis, keepdims=True))


def _index_loss(
    c: _Classes, top: Array, log_sum: Array, reduction: str, label_smoothing: float
) -> Array:
    loss = c.weights * (jnp.squeeze(log_sum, c.axis) - (c.picked(c.x) - jnp.squeeze(top, c.axis)))
    if label_smoothing:
        scores = log_sum - (c.x - top)
        smooth = jnp.sum(scores if c.weight is None else scores * c.along_classes(), c.axis)
        smooth = jnp.where(c.counted, smooth, number(0, c.x)) * number(
            label_smoothing / c.classes, c.x
        )
        loss = loss * number(1 - label_smoothing, c.x) + smooth
    return c.finish(jnp.where(c.counted, loss, number(0, c.x)), reduction)


def _index_fwd(
    input: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> tuple[Array, tuple[Array, Array]]:
    _check_classes(input, target, weight)
    c = _Classes(input, target, weight, ignore_index)
    top, log_sum = _shift_and_log_sum(c.x, c.axis)
    return cast(_index_loss(c, top, log_sum, reduction, label_smoothing), input.dtype), (
        top,
        log_sum,
    )


def _index_grad(
    g: Array,
    residuals: tuple[Array, Array],
    input: Array,
    target: Array,
    weight: Array | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Array:
    top, log_sum = residuals
    c = _Classes(input, target, weight, ignore_index)
    share = c.share(wide(g), reduction)
    probabilities = jnp.exp((c.x - top) - log_sum)
    if not label_smoothing:
        # What does not count gets 0, also where nothing counts and the mean has no value.
        scale = jnp.where(c.outer(c.counted), share * c.outer(c.weights), number(0, c.x))
        return cast((probabilities - c.hot(number(1, c.x), number(0, c.x))) * scale, input.dtype)
    even = number(label_smoothing / c.classes, c.x)
    at_class = c.outer(c.weights) * number(1 - label_smoothing, c.x)
    everywhere, total = (
        (even, number(label_smoothing, c.x))
        if c.weight is None
        else (even * c.along_classes(), even * jnp.sum(c.weight))
    )
    wanted = c.hot(at_class, number(0, c.x)) + everywhere
    grad = (probabilities * (at_class + total) - wanted) * share
    return cast(jnp.where(c.outer(c.counted), grad, number(0, c.x)), input.dtype)


def _weight_grad(g: Array, loss: Callable[[Array], Array], weight: Array) -> Array:
    """The gradient with respect to the classes' weights, which torch refuses to compute."""
    return jax.vjp(loss, weight)[1](g)[0]


def _common(*arrays: Array) -> np.dtype:
    return functools.reduce(dtypes.promote_types, [dtypes.from_np(x.dtype) for x in arrays]).np


def _probability_loss(
    input: Array, target: Array, weight: Array | None, reduction: str, label_smoothing: float
) -> Array:
    dtype = _common(input, target)
    axis = min(input.ndim - 1, 1)
    x, t = wide(cast(input, dtype)), wide(cast(target, dtype))
    classes = x.shape[axis]
    if label_smoothing:
        t = t * number(1 - label_smoothing, t) + number(label_smoothing / classes, t)
    if weight is not None:
        dtype = _common(input, target, weight)
        weight = cast(weight, _common(t, weight)).reshape((-1,) + (1,) * (x.ndim - axis - 1))[
            (None,) * axis
        ]
        t = cast(t, weight.dtype) * weight
        x = cast(x, weight.dtype)
    top, log_sum = _shift_and_log_sum(x, axis)
    loss = jnp.sum((log_sum - (x - top)) * t, axis)
    if reduction == "mean":
        return cast(jnp.sum(loss) / number(x.size // max(classes, 1), x), dtype)
    return cast(reduced(loss, reduction), dtype)


def _smoothing(label_smoothing: float) -> float:
    """What is below 0, and what is not a number, is no smoothing, as in torch.

    Raises:
        RuntimeError: above 1.
    """
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    return max(0.0, label_smoothing)  # in this order, which gives 0 for NaN


def _is_probabilities(input: Array, target: Array, ignore_index: int) -> bool:
    if not is_float(input):
        raise unsupported("log_softmax_lastdim_kernel_impl", input)
    if input.shape != target.shape:
        return False
    if not is_float(target):
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{scalar_name(target.dtype)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    return True


def _cross_entropy_fwd(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[Array, tuple[Array, Array]]:
    reduction, label_smoothing = (
        reduction_of(size_average, reduce, reduction),
        _smoothing(label_smoothing),
    )
    if _is_probabilities(input, target, ignore_index):
        _check_weight(weight, input.shape[min(input.ndim - 1, 1)])
        # As many residuals as for indices: their number must not depend on shapes.
        none = jnp.zeros((), input.dtype)
        return _probability_loss(input, target, weight, reduction, label_smoothing), (none, none)
    return _index_fwd(input, target, weight, ignore_index, reduction, label_smoothing)


def _cross_entropy_rule(
    g: Array,
    residuals: tuple[Array, Array],
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[Array | None, Array | None, Array | None]:
    if size_average is not None or reduce is not None:  # the forward pass has warned
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    label_smoothing = _smoothing(label_smoothing)
    if input.shape != target.shape:
        grad = _index_grad(
            g, residuals, input, target, weight, ignore_index, reduction, label_smoothing
        )
        if weight is None:
            return grad, None, None

        def of_weight(weight: Array) -> Array:
            return _index_fwd(input, target, weight, ignore_index, reduction, label_smoothing)[0]

        return grad, None, _weight_grad(g, of_weight, weight)
    operands = (input, target) if weight is None else (input, target, weight)

    def loss(input: Array, target: Array, weight: Array | None = None) -> Array:
        return _probability_loss(input, target, weight, reduction, label_smoothing)

    grads = jax.vjp(loss, *operands)[1](g)
    return (*grads, None) if weight is None else grads


def _node_of_likelihood(made: Made, plain: bool = False) -> str:
    n = made.ndims[0]
    if n < 3:
        return "NllLossBackward0"
    return (
        "ViewBackward0"
        if made.given("reduction") == "none" and (n != 4 or plain)
        else "NllLoss2DBackward0"
    )


def _node_of_entropy(made: Made) -> str:
    """Of class indices or probabilities, with smoothed labels or without."""
    none, mean = made.given("reduction") == "none", made.given("reduction") in (None, "mean")
    if made.avals[1].differentiable:
        return "DivBackward1" if mean else "NegBackward0"
    if made.given("label_smoothing"):
        return "AddBackward0"
    return _node_of_likelihood(made, none and made.ndims[0] == 4)


def _likelihood(input: Any, reduction: str) -> str | None:
    """The operator that refuses a weight with a history, unless the reduction is refused before."""
    return (
        None
        if reduction not in REDUCTIONS
        else "nll_loss_forward"
        if input.ndim < 3
        else "nll_loss2d_forward"
    )


@op(
    namespace="nn.functional",
    aten="cross_entropy_loss",
    saves=("input", "target", "weight"),
    native=False,
    node=_node_of_entropy,
    autocast="float32",
    warns=warn_of_reduction,
    underivable={
        "weight": lambda input, target, reduction: (
            _likelihood(input, reduction) if input.shape != target.shape else None
        )
    },
    unchecked=("input",),
)
@schemas(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100, float label_smoothing=0.) -> Tensor",
)
def cross_entropy(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """The cross entropy between ``target`` and the softmax of the scores ``input``.

    Targets are class indices or probabilities. Indices equal to ``ignore_index`` do not count; the
    mean is over the weights of the others.

    Args:
        input: scores, with a class for each index of the second dimension (of the first without a
            batch).
        target: class numbers, or probabilities of the input's shape.
        weight: a factor for each class, or None.
        size_average: deprecated: see ``reduction``.
        ignore_index: the class number whose elements do not count.
        reduce: deprecated: see ``reduction``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"`` of the losses.
        label_smoothing: how much of the probability is spread over all classes.

    Shapes: input (C), (N, C) or (N, C, *); target (), (N) or (N, *), or for probabilities as the
    input; weight (C) -> () or, for the reduction ``"none"``, input without C.

    Dtypes: floating-point -> the same; class indices are int64 or uint8, probabilities
    floating-point.

    Raises:
        IndexError: if a class is out of range.
        ValueError: if batch sizes differ or ``reduction`` is unknown.
        RuntimeError: if other shapes or dtypes do not fit.
        NotImplementedError: for scores that are not floating-point.

    Example:
        >>> import jtorch as torch
        >>> scores = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
        >>> torch.nn.functional.cross_entropy(scores, torch.tensor([0, 1]), reduction="none")
        tensor([0.1269, 0.6931])
        >>> torch.nn.functional.cross_entropy(scores, torch.tensor([0, -100]))
        tensor(0.1269)
    """
    return _cross_entropy_fwd(
        input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
    )[0]


defvjp(cross_entropy, _cross_entropy_rule, fwd=_cross_entropy_fwd)


@op(
    namespace="nn.functional",
    aten="nll_loss_nd",
    saves=("target", "weight"),
    native=False,
    node=_node_of_likelihood,
    autocast="float32",
    implicit=True,
    warns=warn_of_reduction,
    underivable={"weight": lambda input, reduction: _likelihood(input, reduction)},
)
@schemas(
    "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) "
    "-> Tensor ; =out",
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100) -> Tensor",
    "nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
    "ignore_index=-100) -> Tensor ; =out",
)
def nll_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The negative log likelihood of the classes ``target`` under the log probabilities ``input``.
    The mean is as for ``cross_entropy``.

    Shapes: input (C), (N, C) or (N, C, *), target (), (N) or (N, *), weight (C) -> () or, for the
    reduction ``"none"``, that of target.
    Dtypes: floating-point -> the same; targets are int64 or uint8.

    Raises:
        IndexError: if a class is out of range.
        ValueError: if batch sizes differ or ``reduction`` is unknown.
        RuntimeError: if other shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.nll_loss(
        ...     torch.tensor([[-0.5, -1.0], [-2.0, -0.25]]), torch.tensor([0, 1])
        ... )
        tensor(0.3750)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_classes(input, target, weight)
    require("nll_loss2d_forward_out_frame" if input.ndim > 2 else "nll_loss_out_frame", input)
    c = _Classes(input, target, weight, ignore_index)
    loss = jnp.where(c.counted, -c.weights * c.picked(c.x), number(0, c.x))
    return cast(c.finish(loss, reduction), input.dtype)


def _nll_loss_rule(
    g: Array,
    result: None,
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> tuple[Array, None, Array | None]:
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    c = _Classes(input, target, weight, ignore_index)
    grad = cast(
        c.hot(-c.share(wide(g), reduction) * c.outer(c.weights), number(0, c.x)), input.dtype
    )
    if weight is None:
        return grad, None, None

    def of_weight(weight: Array) -> Array:
        return nll_loss(input, target, weight, None, ignore_index, None, reduction)

    return grad, None, _weight_grad(g, of_weight, weight)


defvjp(nll_loss, _nll_loss_rule)
derivative(
    A.nll_loss_forward,
    results=(0,),
    self=lambda g, self, target, weight, reduction, ignore_index, result1: (
        A.nll_loss_backward.default(g, self, target, weight, reduction, ignore_index, result1)
    ),
)
derivative(
    A.nll_loss2d_forward,
    results=(0,),
    self=lambda g, self, target, weight, reduction, ignore_index, result1: (
        A.nll_loss2d_backward.default(g, self, target, weight, reduction, ignore_index, result1)
    ),
)
