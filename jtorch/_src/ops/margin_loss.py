"""Losses with margins between classes, labels or embeddings."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from . import _loops
from ._declare import Array, guard_range, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._kernel import cast
from ._losses import (
    REDUCTIONS,
    aligned,
    hinge,
    not_cast,
    positive,
    reduced,
    reduction_of,
    size_text,
    warn_of_reduction,
)
from ._nodes import by_reduction
from ._numeric import default_float, is_bool, is_complex, number, require, scalar_name
from ._sizes import fewer
from .pointwise import NO_BOOL_MINUS, NO_NEGATED_BOOL, no_bools


def _check_soft_margin(score: dtypes.dtype, target: dtypes.dtype) -> None:
    """The result has the input's dtype."""
    if score is dtypes.bool_:
        raise RuntimeError(NO_NEGATED_BOOL)
    if score.category < dtypes.FLOATING or score.category < target.category == dtypes.COMPLEX:
        raise not_cast(
            target.scalar_name if target.is_complex else dtypes.get_default_dtype().scalar_name,
            score,
        )


def check_hinge(input: Array) -> None:
    """Refuses inputs from which no margin can be taken, in torch's words."""
    if is_bool(input):
        raise RuntimeError(NO_BOOL_MINUS)
    if is_complex(input):
        raise NotImplementedError("clamp is not supported for complex types")


def _check_ranking(kinds: list[dtypes.dtype]) -> None:
    no_bools(kinds[:2])
    if kinds[2] is dtypes.bool_:
        raise RuntimeError(NO_NEGATED_BOOL)
    if any(kind.is_complex for kind in kinds):
        raise NotImplementedError("clamp is not supported for complex types")


@op(
    namespace="nn.functional",
    aten="cosine_embedding_loss",
    saves=("input1", "input2", "target"),
    native=False,
    node=by_reduction("AddBackward0"),
    autocast="float32",
    dispatched="in parts",
    warns=warn_of_reduction,
    unchecked=("target",),
)
@schemas(
    "(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor"
)
def cosine_embedding_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """``1 - cos`` for pairs with target 1, ``max(0, cos - margin)`` for those with -1.

    Shapes: inputs (N, D) with target (N) -> (), or (N) for reduction ``"none"``; inputs (D) with
    target () -> ().

    Dtypes: real ones; the result has the inputs' common one, integers become the default floating
    dtype.

    Raises:
        RuntimeError: if the numbers of dimensions do not fit.
        ValueError: for an unknown ``reduction``.
        NotImplementedError: for complex inputs.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 2.0], [3.0, 0.0]])
        >>> torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([1, -1]), reduction="none")
        tensor([1., 1.])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, "
            f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    kind = dtypes.promote_types(dtypes.from_np(input1.dtype), dtypes.from_np(input2.dtype))
    if kind.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    dtype = (dtypes.get_default_dtype() if kind.category < dtypes.FLOATING else kind).np
    x, y = input1.astype(dtype), input2.astype(dtype)
    eps = number(1e-12, x)
    cosine = jnp.sum(x * y, -1) / jnp.sqrt((jnp.sum(x * x, -1) + eps) * (jnp.sum(y * y, -1) + eps))
    broadcast_shapes(target.shape, cosine.shape)
    zero = number(0, cosine)
    if target.dtype == np.bool_:
        target = target.astype(np.int64)
    loss = jnp.where(target == 1, number(1, cosine) - cosine, zero)
    return reduced(
        loss + jnp.where(target == -1, hinge(cosine - number(margin, cosine)), zero), reduction
    )


def _rows_of(input: Array) -> Array:
    """Scores as ``(N, C)``.

    Raises:
        RuntimeError: if they are neither a vector nor a matrix with classes.
    """
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    return input.reshape(-1 if input.size else input.shape[0], input.shape[-1] if input.ndim else 1)


@op(
    namespace="nn.functional",
    aten="multi_margin_loss",
    saves=("input", "target", "weight"),
    native=False,
    autocast="float32",
    warns=warn_of_reduction,
    underivable={
        "weight": lambda p, reduction: (
            "multi_margin_loss" if p in (1, 2) and reduction in REDUCTIONS else None
        )
    },
)
@schemas(
    "(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
    "reduction=1) -> Tensor ; =out"
)
def multi_margin_loss(
    input: Array,
    target: Array,
    p: int | float = 1,
    margin: float = 1.0,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The mean over all wrong classes of ``max(0, margin - input[target] + input[class]) ** p``,
    times the weight of the right one.

    Shapes: input (N, C) or (C), target (N) or (), weight (C) -> (), or the target's shape for
    reduction ``"none"``.

    Dtypes: ``input`` real and floating-point, ``weight`` the same, ``target`` int64.

    Raises:
        RuntimeError: if a shape does not fit, a class is out of range, or a dtype differs.
        ValueError: if ``p`` is neither 1 nor 2, the weight is no vector, or for an unknown
            ``reduction``.
        NotImplementedError: for an ``input`` of integers or complex numbers.

    Differs from torch: float16 and bfloat16 are taken, as PyTorch does on GPUs.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.multi_margin_loss(
        ...     torch.tensor([[0.5, 1.0, 2.0]]), torch.tensor([1])
        ... )
        tensor(0.8333)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    rows = _rows_of(input)
    n, classes = rows.shape
    if target.ndim > 1 or target.size != n:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{n}], but got {list(target.shape)}. "
            f"Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight.size != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target.dtype)}")
    require("multi_margin_loss_cpu_kernel", input)
    if weight is not None and weight.dtype != input.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(input.dtype)} but found {scalar_name(weight.dtype)}"
        )
    right = target.reshape(n, 1)
    guard_range(right, 0, classes - 1, RuntimeError, "target out of range", of=target)
    loss = positive(number(margin, rows) - jnp.take_along_axis(rows, right, 1, mode="clip") + rows)
    if p == 2:
        loss = loss * loss
    if weight is not None:
        loss = loss * jnp.take(weight.reshape(-1), right, mode="clip")
    wrong = jnp.arange(classes, dtype=right.dtype)[None, :] != right
    each = jnp.sum(jnp.where(wrong, loss, number(0, loss)), 1) / number(classes, loss)
    return reduced(each.reshape(target.shape if input.ndim < 2 else (n,)), reduction)


@op(
    namespace="nn.functional",
    aten="multilabel_margin_loss",
    saves=("input", "target"),
    native=False,
    autocast="float32",
    dispatched="in parts",
    warns=warn_of_reduction,
)
@schemas(". ; =out")
def multilabel_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The sum of ``max(0, 1 - (input[label] - input[other])) / C`` over a sample's labels and all
    classes that are none of them.

    Shapes: input and target (N, C) or (C), a sample's labels ending at the first -1 -> (), or (N)
    for a batch and reduction ``"none"``.

    Dtypes: ``input`` real and floating-point, ``target`` int64.

    Raises:
        RuntimeError: if the shapes do not fit, a label is out of range, or the target is not int64.
        ValueError: for an unknown ``reduction``.
        NotImplementedError: for an ``input`` of integers or complex numbers.

    Differs from torch: float16 and bfloat16 are taken, as PyTorch does on GPUs.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.multilabel_margin_loss(
        ...     torch.tensor([0.5, 1.0, 0.0]), torch.tensor([1, -1, 0])
        ... )
        tensor(0.1667)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    rows = _rows_of(input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_name(target.dtype)}")
    require("multilabel_margin_loss_forward_out_frame", input)
    labels = target.reshape(rows.shape)
    n, classes = rows.shape
    guard_range(
        labels, -1, classes - 1, RuntimeError, "argument #2 'target' is out of range", of=target
    )
    if fewer(n * classes * classes, _TOGETHER + 1):
        each = jax.vmap(_multilabel_hinge)(rows, labels)
    # sample by sample, and again in the derivative: all pairs of classes of all samples would fill
    # the memory
    else:
        each = _loops.over_rows(
            lambda pair: jax.checkpoint(_multilabel_hinge)(*pair), (rows, labels)
        )
    return reduced(each.reshape((n,) if input.ndim == 2 else ()), reduction)


#: As many pairs of classes are taken at once.
_TOGETHER = 2**20


def _multilabel_hinge(scores: Array, labels: Array) -> Array:
    """``multilabel_margin_loss`` of one sample."""
    given = jnp.cumsum((labels < 0).astype(np.int32)) == 0
    places = jnp.where(given, labels, 0)
    is_label = jnp.zeros(labels.shape, np.bool_).at[places].max(given, mode="clip")
    terms = positive(
        number(1, scores) - scores.at[places].get(mode="clip")[:, None] + scores[None, :]
    )
    counts = given[:, None] & ~is_label[None, :]
    return jnp.sum(jnp.where(counts, terms, number(0, terms))) / number(scores.size, scores)


def _check_scores(kinds: list[dtypes.dtype]) -> None:
    if not kinds[0].is_floating_point:
        raise NotImplementedError(
            f"\"log_sigmoid_cpu\" not implemented for '{kinds[0].scalar_name}'"
        )


@op(
    namespace="nn.functional",
    promote="common",
    check=_check_scores,
    aten="multilabel_soft_margin_loss",
    saves=("input", "target", "weight"),
    native=False,
    node=by_reduction("DivBackward0"),
    autocast="cuda float32",
    warns=warn_of_reduction,
)
@schemas()
def multilabel_soft_margin_loss(
    input: Array,
    target: Array,
    weight: Array | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The mean over classes of the binary cross entropy between the sigmoid of the scores and the
    labels 0 or 1.

    Shapes: input and target (N, C), weight broadcasts to them -> (), or (N) for reduction
    ``"none"``.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        ValueError: for an unknown ``reduction``.
        NotImplementedError: for an ``input`` that is not real and floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.multilabel_soft_margin_loss(
        ...     torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])
        ... )
        tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    ndim = len(broadcast_shapes(target.shape, input.shape))
    x, t = (a.reshape((1,) * (ndim - a.ndim) + a.shape) for a in (input, target))
    zero = number(0, x)
    loss = t * jnp.logaddexp(-x, zero) + (number(1, x) - t) * jnp.logaddexp(x, zero)
    if weight is not None:
        broadcast_shapes(loss.shape, weight.shape)
        loss = loss * weight.reshape((1,) * (ndim - weight.ndim) + weight.shape)
    classes = input.shape[-1] if input.ndim else 1
    return reduced(jnp.sum(loss, -1) / number(classes, loss) if ndim else loss, reduction)


@op(
    namespace="nn.functional",
    aten="soft_margin_loss",
    saves=("input", "target"),
    native=False,
    autocast="float32",
    warns=warn_of_reduction,
    underivable={
        "target": lambda reduction: "soft_margin_loss" if reduction in REDUCTIONS else None
    },
)
@schemas(". ; =out")
def soft_margin_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """``log(1 + exp(-target * input))`` for targets 1 and -1.

    Shapes: ``target`` broadcasts to ``input`` -> (), or the input's shape for reduction ``"none"``.

    Dtypes: floating-point and complex ones; the result has the input's.

    Raises:
        ValueError: for an unknown ``reduction``.
        RuntimeError: for an ``input`` of integers or bool, a complex ``target`` for a real one, or
            a larger ``target``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.soft_margin_loss(
        ...     torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]), reduction="none"
        ... )
        tensor([0.6931, 1.3133])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    full = broadcast_shapes(input.shape, target.shape)
    if full != input.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(full)}"
        )
    own, its = dtypes.from_np(input.dtype), dtypes.from_np(target.dtype)
    _check_soft_margin(own, its)
    common = dtypes.promote_types(own, its).np
    x, t = aligned(cast(input, common), cast(target, common))
    return reduced(cast(jnp.log1p(jnp.exp(-t * x)), input.dtype), reduction)  # type: ignore[operator]


derivative(
    A.soft_margin_loss,
    self=lambda g, self, target, reduction: A.soft_margin_loss_backward.default(
        g, self, target, reduction
    ),
)


@op(
    namespace="nn.functional",
    aten="hinge_embedding_loss",
    saves=("input", "target"),
    strides="pointwise",
    native=False,
    node=by_reduction("AddBackward0"),
    autocast="float32",
    dispatched="in parts",
    warns=warn_of_reduction,
    unchecked=("input", "target"),
)
def hinge_embedding_loss(
    input: Array,
    target: Array,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The input where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    Shapes: ``input`` and ``target`` are broadcast -> (), or the broadcast shape for reduction
    ``"none"``.

    Dtypes: real ones; the result has the input's, and integers cannot be averaged.

    Raises:
        ValueError: for an unknown ``reduction``.
        RuntimeError: for the mean of integers, or a bool ``input``.
        NotImplementedError: for a complex ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.hinge_embedding_loss(
        ...     torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none"
        ... )
        tensor([0.5000, 0.7500])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    check_hinge(input)
    t, x = aligned(target, input)
    assert x is not None
    zero = number(0, x)
    return reduced(
        jnp.where(t != 1, hinge(number(margin, x) - x), zero) + jnp.where(t != -1, x, zero),
        reduction,
    )


@op(
    namespace="nn.functional",
    promote="common",
    check=_check_ranking,
    aten="margin_ranking_loss",
    saves=("input1", "input2", "target"),
    native=False,
    node=by_reduction("ClampMinBackward0"),
    autocast="float32",
    warns=warn_of_reduction,
    unchecked=("input1", "input2", "target"),
)
@schemas(
    "(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor"
)
def margin_ranking_loss(
    input1: Array,
    input2: Array,
    target: Array,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """``max(0, -target * (input1 - input2) + margin)``: ``target`` is 1 where the first input
    should rank higher, -1 where the second.

    Shapes: three tensors of as many dimensions, broadcast -> (), or the broadcast shape for
    reduction ``"none"``.

    Dtypes: real ones; the result has the operands' common one, integers become the default floating
    dtype.

    Raises:
        RuntimeError: if the numbers of dimensions differ, or for bool tensors.
        NotImplementedError: for complex tensors.
        ValueError: for an unknown ``reduction``.

    Example:
        >>> import jtorch as torch
        >>> high, low = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 3.0])
        >>> torch.nn.functional.margin_ranking_loss(high, low, torch.ones(2), reduction="none")
        tensor([0., 2.])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {size_text(input1)}, input2: {size_text(input2)}, target: "
            f"{size_text(target)} "
        )
    broadcast_shapes(input1.shape, input2.shape, target.shape)
    loss = default_float(-target * (input1 - input2))
    return reduced(hinge(loss + number(margin, loss)), reduction)
