"""What losses share: how they are reduced, and pieces whose gradients at kinks are torch's."""

from __future__ import annotations

import warnings

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from ..facts.warned_once import outside
from ._declare import Array
from ._numeric import is_integral, scalar_name

#: What PyTorch looks at in Python, before the operator looks at histories.
REDUCTIONS = ("none", "mean", "sum", "elementwise_mean")


def warn_of_reduction(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> None:
    """The warning of a call that asks for its reduction in an old way (the option ``warns``)."""
    if size_average is not None or reduce is not None:
        found = reduction_of(size_average, reduce, reduction)
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' "
            "instead.",
            stacklevel=outside(),
        )
    elif reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=outside(),
        )


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that the arguments ask for: the old ``size_average`` and ``reduce`` win over
    ``reduction``.

    Raises:
        ValueError: if it is unknown.
    """
    if size_average is not None or reduce is not None:
        return "none" if reduce is False else "sum" if size_average is False else "mean"
    return checked(reduction)


def checked(reduction: str) -> str:
    """``reduction`` itself, by its name of today.

    Raises:
        ValueError: if it is unknown.
    """
    if reduction == "elementwise_mean":
        return "mean"
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Array, reduction: str) -> Array:
    """The loss itself, its mean or its sum."""
    if reduction == "none":
        return loss
    if reduction == "mean" and is_integral(loss):
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {scalar_name(loss.dtype)}"
        )
    return (
        jnp.mean(loss)
        if reduction == "mean"
        else jnp.sum(loss, dtype=np.int64 if is_integral(loss) else None)
    )


def spread(g: Array, reduction: str, count: int) -> Array:
    """The gradient of every element, given the gradient of ``reduced``: a scalar for mean and
    sum."""
    return g / np.asarray(count, g.dtype) if reduction == "mean" else g


def hinge(x: Array) -> Array:
    """``max(x, 0)`` with gradient 1 at 0, as torch's ``clamp_min``."""
    # NaN stays, without a gradient
    below = lax.stop_gradient(jnp.where(x < 0, np.zeros((), x.dtype), x))
    return jnp.where(x >= 0, x, below)


def positive(x: Array) -> Array:
    """``x`` where it is above 0, else 0, for NaN too; gradient 0 at 0: what torch's kernels for
    margins of classes compute."""
    return jnp.where(x > 0, x, np.zeros((), x.dtype))


def magnitude(x: Array) -> Array:
    """The absolute values of real numbers, with gradient 0 where they are 0 or NaN."""
    sign = lax.stop_gradient(jnp.sign(x))
    return x * jnp.where(sign == sign, sign, np.zeros((), x.dtype))


def aligned(*arrays: Array | None) -> list[Array | None]:
    """The arrays with equal rank: size-1 dimensions in front of the shorter ones.

    Raises:
        RuntimeError: if they do not broadcast.
    """
    ndim = len(broadcast_shapes(*[a.shape for a in arrays if a is not None]))
    return [None if a is None else a.reshape((1,) * (ndim - a.ndim) + a.shape) for a in arrays]


def not_cast(found: str, kind: dtypes.dtype) -> RuntimeError:
    """The error of a result whose dtype does not fit the input's."""
    return RuntimeError(
        f"result type {found} can't be cast to the desired output type {kind.scalar_name}"
    )


def size_text(x: Array) -> str:
    """The size as messages give it."""
    return f"torch.Size({list(x.shape)})"
