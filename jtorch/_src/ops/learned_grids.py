"""Rounding to a grid whose scale and zero point are learned."""

from __future__ import annotations

import jax.numpy as jnp

from ..facts.errors import canonical_dim
from ._declare import Array, defvjp, op
from .fake_quantization import _along, _quantised


def _whole(zero_point: Array, quant_min: int, quant_max: int) -> Array:
    return jnp.clip(jnp.round(zero_point), quant_min, quant_max)


@op(
    method=False,
    saves=("input", "scale", "zero_point"),
    aten="_fake_quantize_learnable_per_tensor_affine",
)
def _fake_quantize_learnable_per_tensor_affine(
    input: Array,
    scale: Array,
    zero_point: Array,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Array:
    """Rounds ``input`` to a grid, as ``fake_quantize_per_tensor_affine`` does, with gradients for
    the grid.

    Shapes: that of ``input``; scale and zero point have one element.
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).
    Gradient: that of the identity where nothing was clipped, else 0. That of ``scale`` is how far
        the result is from ``input`` in steps, or the clipped number; that of ``zero_point`` is
        ``-scale`` where something was clipped. Both are summed up, times ``grad_factor``.

    Example:
        >>> import jtorch as torch
        >>> torch._fake_quantize_learnable_per_tensor_affine(
        ...     torch.tensor([0.3, 9.0]), torch.tensor([0.5]), torch.zeros(1), 0, 10
        ... )
        tensor([0.5000, 5.0000])
    """
    ones = (1,) * input.ndim
    zero = _whole(zero_point, quant_min, quant_max).reshape(ones)
    return _quantised(input, scale.reshape(ones), zero, quant_min, quant_max, zero_point)


def _gradients(
    g: Array, input: Array, scale: Array, zero_point: Array, low: int, high: int, factor: float
) -> tuple[Array, Array, Array]:
    """Those of input, scale and zero point, all of the input's size."""
    zero = jnp.trunc(jnp.clip(zero_point + 0.5, low, high))
    place = jnp.round(input * (1 / scale)) + zero
    inside = (place >= low) & (place <= high)
    nothing = jnp.zeros((), g.dtype)
    of_scale = jnp.where(
        inside, ((place - zero) * scale - input) * (1 / scale), jnp.clip(place, low, high) - zero
    )
    of_zero = jnp.where(inside, nothing, -scale)
    return jnp.where(inside, g, nothing), g * of_scale * factor, g * of_zero * factor


def _per_tensor_rule(
    g: Array,
    result: None,
    input: Array,
    scale: Array,
    zero_point: Array,
    low: int,
    high: int,
    grad_factor: float,
) -> tuple[Array, Array, Array]:
    ones = (1,) * input.ndim
    found = _gradients(
        g, input, scale.reshape(ones), zero_point.reshape(ones), low, high, grad_factor
    )
    return (
        found[0],
        found[1].sum().reshape(scale.shape).astype(scale.dtype),
        found[2].sum().reshape(zero_point.shape).astype(scale.dtype),
    )


defvjp(_fake_quantize_learnable_per_tensor_affine, _per_tensor_rule)


@op(
    method=False,
    saves=("input", "scale", "zero_point"),
    aten="_fake_quantize_learnable_per_channel_affine",
)
def _fake_quantize_learnable_per_channel_affine(
    input: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Array:
    """Rounds ``input`` to a grid for each channel, as ``fake_quantize_per_channel_affine`` does,
    with gradients for the grids.

    Shapes: input (*, C, *) with C at ``axis``, scale and zero point (C) -> (*, C, *).
    Dtypes: floating-point -> the same; others are refused (NotImplementedError).
    Gradient: as for one grid, summed up for each channel.

    Example:
        >>> import jtorch as torch
        >>> x, scale = torch.tensor([[0.3], [0.3]]), torch.tensor([0.5, 0.25])
        >>> torch._fake_quantize_learnable_per_channel_affine(x, scale, torch.zeros(2), 0, 0, 255)
        tensor([[0.5000],
                [0.2500]])
    """
    at, n = canonical_dim(axis, input.ndim), input.ndim
    zero = _along(_whole(zero_point, quant_min, quant_max), at, n)
    return _quantised(input, _along(scale, at, n), zero, quant_min, quant_max, zero_point)


def _per_channel_rule(
    g: Array,
    result: None,
    input: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    low: int,
    high: int,
    grad_factor: float,
) -> tuple[Array, Array, Array]:
    at, n = canonical_dim(axis, input.ndim), input.ndim
    found = _gradients(
        g, input, _along(scale, at, n), _along(zero_point, at, n), low, high, grad_factor
    )
    others = tuple([d for d in range(n) if d != at])
    return (
        found[0],
        found[1].sum(others).astype(scale.dtype),
        found[2].sum(others).astype(scale.dtype),
    )


defvjp(_fake_quantize_learnable_per_channel_affine, _per_channel_rule)
