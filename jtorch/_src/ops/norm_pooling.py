"""Pooling by the norm of each window."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array, op
from ._numeric import default_float
from .pooling import _avg_pool, _expand


def _lp_pool(n: int, input, norm_type, kernel_size, stride, ceil_mode) -> Array:
    """(sum of x ** p) ** (1 / p), where windows cut off by ``ceil_mode`` are scaled up to a full one."""
    root = 1.0 / norm_type  # a zero raises, as in torch
    input = default_float(input)
    kernel = _expand(f"avg_pool{n}d", "kernel_size", kernel_size, n)
    power = lax.integer_pow(input, int(norm_type)) if float(norm_type).is_integer() else input ** jnp.asarray(norm_type, input.dtype)
    mean = _avg_pool(f"avg_pool{n}d", n, power, kernel, stride, 0, ceil_mode, True, None)
    total = jnp.sign(mean) * jnp.maximum(jnp.abs(mean), 0) * float(np.prod(kernel))
    return total ** jnp.asarray(root, total.dtype)


@op(namespace="nn.functional", strides="signal", native=False, node="PowBackward0")
def lp_pool1d(
    input: Array, norm_type: int | float, kernel_size: int, stride: int | tuple[int, ...] | None = None, ceil_mode: bool = False
) -> Array:
    """The ``norm_type``-norm (without absolute values) of each window of a sequence.

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


@op(namespace="nn.functional", strides="image", native=False, node="PowBackward0")
def lp_pool2d(
    input: Array,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The ``norm_type``-norm (without absolute values) of each window of an image.

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


@op(namespace="nn.functional", native=False, node="PowBackward0")
def lp_pool3d(
    input: Array,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Array:
    """The ``norm_type``-norm (without absolute values) of each window of a volume.

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
