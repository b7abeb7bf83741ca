"""Optimiser steps over whole lists of parameters at once, and gradient norms. The optimisers write the results back.

Steps are of the family ``program``: even alone in a trace they are compiled with donation, so that parameters are updated in place.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import dtypes as jax_dtypes
from jax import lax

from ..facts.errors import broadcast_shapes
from ._declare import Array, Number, op


def _exact(number: Number | Array) -> Any:
    """A scalar in the widest float there is: torch computes bias corrections and step sizes in Python floats."""
    return lax.convert_element_type(number, jax_dtypes.canonicalize_dtype(np.float64))


def _as(number: Any, x: Array) -> Array:
    return lax.convert_element_type(number, x.dtype)


def _with_decay(grad: Array, param: Array, weight_decay: Array) -> Array:
    """``grad + weight_decay * param``; exactly ``grad`` where there is no decay, whatever the parameter holds."""
    return jnp.where(weight_decay == 0, grad, grad + _as(weight_decay, param) * param)


@op(namespace="_C", differentiable=False, family="program")
def _fused_sgd(
    params: list[Array],
    grads: list[Array],
    momentum_buffers: list[Array],
    *,
    lr: Number,
    momentum: Number,
    dampening: Number,
    weight_decay: Number,
    use_momentum: bool,
    nesterov: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of SGD: the new parameters, then the new momentum buffers if there is momentum.

    Without buffers on entry they start as the gradients, undampened, as in torch.
    """
    new_params, new_buffers = [], []
    decay, keep, take = _exact(weight_decay), _exact(momentum), 1 - _exact(dampening)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        update = _with_decay(-grad if maximize else grad, param, decay)
        if use_momentum:
            if momentum_buffers:
                broadcast_shapes(momentum_buffers[i].shape, param.shape)  # of a loaded state
            buffer = _as(keep, param) * momentum_buffers[i] + _as(take, param) * update if momentum_buffers else update
            new_buffers.append(buffer)
            update = update + _as(keep, param) * buffer if nesterov else buffer
        new_params.append(param - _as(_exact(lr), param) * update)
    return tuple(new_params + new_buffers)


@op(namespace="_C", differentiable=False, family="program")
def _fused_adam(
    params: list[Array],
    grads: list[Array],
    exp_avgs: list[Array],
    exp_avg_sqs: list[Array],
    max_exp_avg_sqs: list[Array],
    step: Array,
    *,
    lr: Number,
    beta1: Number,
    beta2: Number,
    weight_decay: Number,
    eps: Number,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
) -> tuple[Array, ...]:
    """One step of Adam, or AdamW if ``decoupled``.

    Returns the new parameters, averages, averaged squares, their maxima (``amsgrad``) and step. ``step`` counts the steps taken before.
    """
    step = step + jnp.ones((), step.dtype)
    rate, b1, b2, decay = _exact(lr), _exact(beta1), _exact(beta2), _exact(weight_decay)
    count = _exact(step)
    step_size = rate / (1 - b1**count)
    correction2 = jnp.sqrt(1 - b2**count)
    new_params, averages, squares, maxima = [], [], [], []
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        broadcast_shapes(exp_avgs[i].shape, param.shape)  # of a loaded state
        broadcast_shapes(exp_avg_sqs[i].shape, param.shape)
        if maximize:
            grad = -grad
        if decoupled:
            param = param * _as(1 - rate * decay, param)
        else:
            grad = _with_decay(grad, param, decay)
        average = exp_avgs[i] + _as(1 - b1, param) * (grad - exp_avgs[i])
        square = exp_avg_sqs[i] * _as(b2, param) + _as(1 - b2, param) * grad * grad
        averages.append(average)
        squares.append(square)
        if amsgrad:
            square = jnp.maximum(max_exp_avg_sqs[i], square)
            maxima.append(square)
        denominator = jnp.sqrt(square) / _as(correction2, param) + _as(_exact(eps), param)
        new_params.append(param - _as(step_size, param) * average / denominator)
    return (*new_params, *averages, *squares, *maxima, step)


def _norm_of(x: Array, ord: float) -> Array:
    magnitude = jnp.abs(x)
    if x.size == 0:
        return jnp.zeros((), magnitude.dtype)
    if ord == np.inf:
        return jnp.max(magnitude)
    if ord == -np.inf:
        return jnp.min(magnitude)
    if ord == 0:
        return jnp.sum(magnitude != 0, dtype=magnitude.dtype)
    if ord == 1:
        return jnp.sum(magnitude)
    if ord == 2:
        return jnp.sqrt(jnp.sum(magnitude * magnitude))
    return jnp.sum(magnitude ** _as(ord, magnitude)) ** _as(1 / ord, magnitude)


@op(namespace="_C", differentiable=False)
def _foreach_norm(tensors: list[Array], ord: float = 2.0) -> tuple[Array, ...]:
    """The vector norm of each tensor."""
    return tuple(_norm_of(x, ord) for x in tensors)


@op(namespace="_C", differentiable=False)
def _clip_grad_norm(grads: list[Array], max_norm: Number, norm_type: float) -> tuple[Array, ...]:
    """The norm of all gradients as one vector, then the gradients scaled down so that it is at most ``max_norm``."""
    dtype = jnp.result_type(*[jnp.abs(g).dtype for g in grads])
    total = _norm_of(jnp.stack([_norm_of(g, norm_type).astype(dtype) for g in grads]), norm_type)
    factor = jnp.minimum(_as(_exact(max_norm), total) / (total + _as(1e-6, total)), _as(1.0, total))
    return (total, *[g * factor.astype(g.dtype) for g in grads])
