"""The kernels of dropout and of sampling: what is random was drawn before and comes as an
operand."""

from __future__ import annotations

import math

import jax.numpy as jnp

from ._axes import to_dtype
from ._declare import Array, Number, defvjp, op
from ._numeric import conj, wide

#: The negative saturation value of SELU, which alpha dropout sets elements to.
_ALPHA = 1.7580993408473766


def _noise(input: Array, mask: Array, keep: Array) -> Array:
    one = jnp.real(wide(input)).dtype
    return to_dtype(mask.astype(one) / keep.astype(one), input.dtype)


@op(namespace="_C", saves=("mask",), aten="dropout", strides="preserve", node="MulBackward0")
def _dropout(input: Array, mask: Array, keep: Number) -> Array:
    """``input`` where ``mask`` (broadcast) is true, divided by ``keep``, and zero elsewhere."""
    return input * _noise(input, mask, keep)


def _dropout_rule(
    g: Array, result: None, input: Array, mask: Array, keep: Array
) -> tuple[Array, None]:
    return g * conj(_noise(g, mask, keep)), None


defvjp(_dropout, _dropout_rule, saves=("mask",))


def _scale(p: float) -> float:
    """What alpha dropout multiplies by to keep the variance."""
    return 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))


@op(namespace="_C", saves=("mask",), aten="alpha_dropout", strides="preserve", node="AddBackward0")
def _alpha_dropout(input: Array, mask: Array, p: float) -> Array:
    """``input`` where ``mask`` (broadcast) is true, SELU's saturation value elsewhere, scaled and
    shifted to keep mean and variance."""
    a = _scale(p)
    kept = mask.astype(input.dtype)
    shift = (kept - 1) * (_ALPHA * a) + _ALPHA * a * p
    return input * (kept * a) + shift


def _alpha_dropout_rule(
    g: Array, result: None, input: Array, mask: Array, p: float
) -> tuple[Array, None]:
    return g * (mask.astype(g.dtype) * _scale(p)), None


defvjp(_alpha_dropout, _alpha_dropout_rule, saves=("mask",))


@op(namespace="_C", saves=(), aten="bernoulli", node="NormalBackward3")
def _drawn(sample: Array, parameters: list[Array]) -> Array:
    """The sample, as a result that depends on the parameters of its distribution, with zero
    gradients."""
    return sample


def _drawn_rule(g: Array, result: None, sample: Array, parameters: list[Array]) -> tuple[None, ...]:
    return (None, *(None for _ in parameters))


defvjp(_drawn, _drawn_rule, saves=())
