"""Losses of distributions: divergences and negative log-likelihoods."""

from __future__ import annotations

import math
import warnings

import jax.numpy as jnp
from jax import lax

from ..facts import dtypes
from ..facts.warned_once import outside
from ._declare import Array, guard_range, op
from ._facts import schemas
from ._losses import aligned, checked, reduced, reduction_of, warn_of_reduction
from ._matrix import cpp_name
from ._nodes import by_reduction
from ._numeric import default_float, is_bool, is_complex, is_integral, number, unsupported
from .margin_loss import check_hinge
from .pointwise import NO_BOOL_MINUS, NO_MINUS_BOOL


def _check_divergence(kinds: list[dtypes.dtype]) -> None:
    if any(kind.is_complex for kind in kinds):
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if any(kind.category < dtypes.FLOATING for kind in kinds):
        raise RuntimeError("kl_div: Integral inputs not supported.")


def _check_counts(kinds: list[dtypes.dtype]) -> None:
    if all(kind is dtypes.bool_ for kind in kinds):
        raise RuntimeError(NO_MINUS_BOOL)


def _check_stirling(kinds: list[dtypes.dtype]) -> None:
    if kinds[1] is dtypes.bool_:
        raise RuntimeError(NO_MINUS_BOOL)


def _x_log_y(x: Array, y: Array) -> Array:
    """``x * log(y)``, 0 where ``x`` is 0."""
    return jnp.where(x == 0, number(0, x), x * jnp.log(jnp.where(x == 0, number(1, y), y)))


def _warn_of_mean(reduction: str, size_average: bool | None, reduce: bool | None) -> None:
    warn_of_reduction(reduction, size_average, reduce)
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            stacklevel=outside(),
        )


@op(
    namespace="nn.functional",
    promote="common",
    check=_check_divergence,
    aten="kl_div",
    saves=("input", "target"),
    native=False,
    node=by_reduction(lambda made: "MulBackward0" if made.given("log_target") else "SubBackward0"),
    autocast="float32",
    warns=_warn_of_mean,
)
@schemas("(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor")
def kl_div(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Array:
    """``target * (log(target) - input)`` for log probabilities ``input``; with ``log_target`` the
    target is in logarithms too.

    ``"batchmean"`` divides the sum by the first dimension's size, ``"mean"`` by the number of
    elements.

    Shapes: ``input`` and ``target`` are broadcast -> (), or the broadcast shape for reduction
    ``"none"``.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Raises:
        ValueError: for an unknown ``reduction``.
        RuntimeError: for integers, bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.functional.kl_div(q.log(), p, reduction="batchmean")
        tensor(0.1438)
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    check_hinge(input)
    t, x = aligned(target, input)
    assert x is not None
    assert t is not None
    loss = jnp.exp(t) * (t - x) if log_target else _x_log_y(t, t) - t * x
    if reduction == "batchmean":
        total = jnp.sum(loss)
        return total / number(input.shape[0], total) if input.ndim else total
    return reduced(loss, checked(reduction))


@op(
    namespace="nn.functional",
    promote="float",
    check=_check_counts,
    check_if=lambda options: _check_stirling if options["full"] else None,
    aten="poisson_nll_loss",
    saves=("input", "target"),
    native=False,
    node=by_reduction(lambda made: "AddBackward0" if made.given("full") else "SubBackward0"),
    autocast="float32",
    dispatched="in parts",
    warns=warn_of_reduction,
)
@schemas(
    "(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor"
)
def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """The negative log likelihood of counts ``target`` under Poisson distributions with (the
    logarithms of) rates ``input``.

    ``full`` adds Stirling's approximation of the constant for targets above 1.

    Shapes: ``input`` and ``target`` are broadcast -> (), or the broadcast shape for reduction
    ``"none"``.

    Dtypes: the operands' common one; integers become the default floating dtype.

    Raises:
        ValueError: for an unknown ``reduction``.
        RuntimeError: if both are bool.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.poisson_nll_loss(
        ...     torch.tensor([0.0, 1.0]), torch.tensor([2.0, 1.0]), reduction="none"
        ... )
        tensor([1.0000, 1.7183])
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    elif reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    x, t = aligned(input, target)
    assert x is not None
    assert t is not None
    loss = jnp.exp(x) - t * x if log_input else x - t * jnp.log(x + number(eps, x))
    if full:
        large = t > 1
        safe = jnp.where(large, t, number(1, t))
        stirling = t * jnp.log(safe) - t + number(0.5, t) * jnp.log(number(2 * math.pi, t) * safe)
        loss = loss + jnp.where(large, stirling, number(0, t))
    return reduced(loss, reduction)


@op(
    namespace="nn.functional",
    aten="gaussian_nll_loss",
    saves=("input", "target", "var"),
    native=False,
    node=by_reduction(lambda made: "AddBackward0" if made.given("full") else "MulBackward0"),
    unchecked=("input", "target", "var"),
)
@schemas()
def gaussian_nll_loss(
    input: Array,
    target: Array,
    var: Array | float,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Array:
    """The negative log likelihood of ``target`` under normal distributions with means ``input`` and
    variances ``var``, at least ``eps``.

    Shapes: ``var`` as the input, or with its last dimension missing or 1; or a number. ``full``
    adds the constant.

    Dtypes: real floating-point ones; the result has the operands' common one.

    Gradient: passes ``var`` where it was raised to ``eps``.

    Raises:
        RuntimeError: for a ``var`` of integers.
        NotImplementedError: for a complex one.
        ValueError: if the size or an entry of ``var`` is wrong, or for an unknown ``reduction``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.gaussian_nll_loss(
        ...     torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), torch.ones(2), reduction="none"
        ... )
        tensor([0., 2.])
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance = jnp.full(input.shape, var, default_float(input).dtype)
    else:
        variance = var
    if variance.shape != input.shape:
        if input.shape[:-1] == variance.shape:
            variance = variance[..., None]
        elif variance.ndim != input.ndim or any(
            n not in (1, m) for n, m in zip(variance.shape, input.shape, strict=True)
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if is_complex(variance):
        raise unsupported("lt_cpu", variance)
    if is_integral(variance):  # torch clamps it in place by the float ``eps``
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {cpp_name(variance)}"
        )
    guard_range(variance, 0, None, ValueError, "var has negative entry/entries", nan=True)
    if is_bool(input) or is_bool(target):
        raise RuntimeError(NO_BOOL_MINUS if is_bool(input) and is_bool(target) else NO_MINUS_BOOL)
    dtype = dtypes.from_np(variance.dtype)
    for operand in (input, target):
        dtype = dtypes.promote_types(dtype, dtypes.from_np(operand.dtype))
    dtype = dtype.np
    x, t, v = aligned(input.astype(dtype), target.astype(dtype), variance.astype(dtype))
    assert x is not None
    assert t is not None
    assert v is not None
    v = v + lax.stop_gradient(jnp.maximum(v, number(eps, v)) - v)
    difference = x - t
    loss = number(0.5, x) * (jnp.log(v) + difference * difference / v)
    if full:
        loss = loss + number(0.5 * math.log(2 * math.pi), loss)
    return reduced(loss, reduction)
