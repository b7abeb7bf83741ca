"""Pooling by the norm of each window."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, op
from ._nodes import Made
from ._numeric import default_float, number
from .pooling import _avg_pool, _expand, _max_pool


def _node(of_maximum: str) -> Callable[[Made], str]:
    """The rule for the node's name: that of torch's last step."""
    return lambda made: {math.inf: of_maximum, -math.inf: "NegBackward0"}.get(
        made.given("norm_type"), "PowBackward0"
    )


def _lp_pool(n: int, input, norm_type, kernel_size, stride, ceil_mode) -> Array:
    """(sum of x ** p) ** (1 / p), or the largest size for an infinite p; windows cut off by
    ``ceil_mode`` are scaled up to a full one."""
    root = 1.0 / norm_type  # a zero raises, as in torch
    input = default_float(input)
    if math.isinf(norm_type):
        return _extreme(n, input, -1 if norm_type < 0 else 1, kernel_size, stride, ceil_mode)
    kernel = _expand(f"avg_pool{n}d", "kernel_size", kernel_size, n)
    power = (
        lax.integer_pow(input, int(norm_type))
        if float(norm_type).is_integer()
        else input ** jnp.asarray(norm_type, input.dtype)
    )
    mean = _avg_pool(f"avg_pool{n}d", n, power, kernel, stride, 0, ceil_mode, True, None)
    empty, total = mean == 0, mean * float(np.prod(kernel))
    found = jnp.where(empty, np.ones((), total.dtype), total) ** jnp.asarray(root, total.dtype)
    # a sum of 0 gets no gradient
    return jnp.where(empty, np.asarray(0.0 if root > 0 else np.inf, total.dtype), found)


def _extreme(n: int, input: Array, side: int, kernel_size, stride, ceil_mode) -> Array:
    """The largest size of each window, or the smallest for a negative ``side``; the first of those
    that are equal gets the gradient."""
    size = jnp.sign(lax.stop_gradient(input)) * input
    taken = lax.stop_gradient(number(side, size) * size)
    _, places = _max_pool(f"max_pool{n}d", n, taken, kernel_size, stride, 0, 1, ceil_mode, True)
    lead = input.shape[: input.ndim - n]
    found = jnp.take_along_axis(size.reshape(*lead, -1), places.reshape(*lead, -1), -1)
    return found.reshape(places.shape)


@op(namespace="nn.functional", strides="signal", native=False, node=_node("SqueezeBackward1"))
def lp_pool1d(
    input: Array,
    norm_type: int | float,
    kernel_size: int,
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The ``norm_type``-norm of each window of a sequence: without absolute values, but of the
    sizes where ``norm_type`` is infinite.

    The gradient is 0 where the sum of powers is.

    Shapes: input (N, C, L) or (C, L) -> (N, C, L') or (C, L').

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        ZeroDivisionError: if ``norm_type`` is 0.
        NotImplementedError: for complex tensors.

    Differs from torch: integers of every width are taken, and their averages are not rounded.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
        tensor([[ 5., 10.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@op(
    namespace="nn.functional",
    strides="image",
    native=False,
    node=_node("MaxPool2DWithIndicesBackward0"),
)
def lp_pool2d(
    input: Array,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The ``norm_type``-norm of each window of an image, as ``lp_pool1d``.

    Shapes: input (N, C, H, W) or (C, H, W) -> (N, C, H', W') or (C, H', W').

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        ZeroDivisionError: if ``norm_type`` is 0.
        NotImplementedError: for complex tensors.

    Differs from torch: integers of every width are taken, and their averages are not rounded.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 4), 2, 2)
        tensor([[[2., 2.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@op(namespace="nn.functional", native=False, node=_node("MaxPool3DWithIndicesBackward0"))
def lp_pool3d(
    input: Array,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The ``norm_type``-norm of each window of a volume, as ``lp_pool1d``.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> (N, C, D', H', W') or (C, D', H', W').

    Dtypes: real floating-point ones, kept; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: for other dimensions, or windows that do not fit.
        ZeroDivisionError: if ``norm_type`` is 0.
        NotImplementedError: for complex tensors.

    Differs from torch: integers of every width are taken, and their averages are not rounded.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.lp_pool3d(torch.ones(1, 1, 2, 2), 2, (1, 2, 2))
        tensor([[[[2.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
