"""Optimiser steps over whole lists of parameters at once, and gradient norms. The optimisers write
the results back.

Steps are of the family ``program``: even alone in a trace they are compiled with donation, so that
parameters are updated in place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import dtypes as jax_dtypes
from jax import lax

from ..engine.host.rules import CALL, Equation
from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from ._axes import to_dtype
from ._declare import Array, Number, op
from ._hosted import hosted
from ._numeric import wide
from .combining import addcdiv, addcmul, lerp
from .norms import _power_sum
from .pointwise import add, div, mul

#: Tensors of at most so many elements are joined where one call of NumPy takes many of them, if
#: there are not fewer than ``FEW``.
SMALL, FEW = 1 << 12, 4
#: The norms of which one call of NumPy computes many.
JOINED = (1.0, 2.0, np.inf)


def _exact(number: Number | Array) -> Array:
    """A scalar in the widest float there is: torch computes bias corrections and step sizes in
    Python floats."""
    return lax.convert_element_type(number, jax_dtypes.canonicalize_dtype(np.float64))


def _as(number: Array, x: Array) -> Array:
    return lax.convert_element_type(number, x.dtype)


def _with_decay(grad: Array, param: Array, weight_decay: Array) -> Array:
    """``grad + weight_decay * param``; exactly ``grad`` where there is no decay, whatever the
    parameter holds."""
    return jnp.where(weight_decay == 0, grad, grad + _as(weight_decay, param) * param)


@op(namespace="_C", differentiable=False, family="program", replaces=("params", "momentum_buffers"))
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
            buffer = (
                _as(keep, param) * momentum_buffers[i] + _as(take, param) * update
                if momentum_buffers
                else update
            )
            new_buffers.append(buffer)
            update = update + _as(keep, param) * buffer if nesterov else buffer
        new_params.append(param - _as(_exact(lr), param) * update)
    return tuple(new_params + new_buffers)


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"),
)
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

    Returns the new parameters, averages, averaged squares, their maxima (``amsgrad``) and step.
    ``step`` counts the steps taken before.
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
    made = _power_sum(wide(x), ord, tuple(range(x.ndim)))
    return to_dtype(made, dtypes.from_np(x.dtype).to_real().np)


def _norms_by_joining(ord: float) -> Callable[..., np.ndarray]:
    """Norms by NumPy, which adds, or compares, the elements of all arrays in one call."""
    reduceat = np.maximum.reduceat if ord == np.inf else np.add.reduceat

    def norms(*arrays: np.ndarray) -> np.ndarray:
        begins, ones = _parts(tuple([x.size for x in arrays]))
        joined = np.concatenate(arrays, None)
        if ord != 2:
            return reduceat(np.abs(joined), begins)
        found = reduceat(joined * joined, begins)
        np.sqrt(found, found)
        if len(ones):  # one element's norm is its magnitude, also where its square is out of range
            found[ones] = np.abs(joined[begins[ones]])
        return found

    return norms


@functools.lru_cache(64)
def _parts(sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Where arrays of these sizes begin once they are joined, and which have one element."""
    ends = np.cumsum(sizes)
    return ends - sizes, np.flatnonzero(np.equal(sizes, 1))


def _cost(e: Equation) -> float:
    return 5 * CALL + sum([0.1e-6 + 0.5e-9 * x.size for x in e.ins])


@hosted(
    _norms_by_joining,
    elementwise=False,
    alike=False,
    cost=_cost,
    shape=lambda *avals, ord: (len(avals),),
)
def _norms_of_small(*arrays: Array, ord: float) -> Array:
    """The norms of small arrays, as one array; ``ord`` is one of ``JOINED``."""
    return jnp.stack([lax.reshape(_norm_of(x, ord), ()) for x in arrays])


def _norms(tensors: list[Array], ord: float) -> Array:
    """The norm of each tensor, as one array; they have one dtype."""
    small = [i for i, x in enumerate(tensors) if 0 < x.size <= SMALL] if ord in JOINED else []
    if len(small) < FEW:
        return jnp.stack([lax.reshape(_norm_of(x, ord), ()) for x in tensors])
    joined = _norms_of_small(*[tensors[i] for i in small], ord=ord)
    if len(small) == len(tensors):
        return joined
    chosen = set(small)
    others = [i for i in range(len(tensors)) if i not in chosen]
    found = jnp.concatenate(
        [joined, jnp.stack([lax.reshape(_norm_of(tensors[i], ord), ()) for i in others])]
    )
    return found[np.argsort(np.array(small + others))]


@op(namespace="_C", differentiable=False)
def _norm_of_each(tensors: list[Array], ord: float = 2.0) -> tuple[Array, ...]:
    """The vector norm of each tensor; they have one dtype."""
    found = _norms(tensors, ord)
    return tuple([lax.squeeze(x, (0,)) for x in jnp.split(found, len(tensors))])


@op(namespace="_C", differentiable=False)
def _total_norm(tensors: list[Array], ord: float = 2.0) -> Array:
    """The norm of all tensors as one vector; they have one dtype."""
    return lax.reshape(_norm_of(_norms(tensors, ord), ord), ())


@op(namespace="_C", differentiable=False, numbers_do=True, replaces=("tensors",))
def _scaled(tensors: list[Array], factor: Array | Number) -> tuple[Array, ...]:
    """Each tensor times a number."""
    return tuple([x * _as(factor, x) for x in tensors])


@op(namespace="_C", differentiable=False, numbers_do=True, replaces=("tensors",))
def _clamped(tensors: list[Array], low: Number, high: Number) -> tuple[Array, ...]:
    """The elements of each tensor, moved into an interval."""
    return tuple(
        [jnp.minimum(jnp.maximum(x, _as(_exact(low), x)), _as(_exact(high), x)) for x in tensors]
    )


@op(namespace="_C", differentiable=False)
def _zeroed(tensors: list[Array]) -> tuple[Array, ...]:
    """Zeros like each tensor."""
    return tuple([jnp.zeros_like(x) for x in tensors])


@op(namespace="_C", differentiable=False, replaces=("tensors",))
def _sums_of_each(
    tensors: list[Array], others: list[Array], alpha: Number, scaled: bool
) -> tuple[Array, ...]:
    """Each tensor plus its one of the others, which is multiplied by ``alpha`` if ``scaled``."""
    pairs = zip(tensors, others, strict=True)
    return tuple(
        [add(x, y, alpha=_as(_exact(alpha), x)) if scaled else add(x, y) for x, y in pairs]
    )


@op(namespace="_C", differentiable=False, replaces=("tensors",))
def _products_of_each(tensors: list[Array], others: list[Array]) -> tuple[Array, ...]:
    """Each tensor times its one of the others."""
    return tuple(map(mul, tensors, others))


@op(namespace="_C", differentiable=False, replaces=("tensors",))
def _quotients_of_each(tensors: list[Array], others: list[Array]) -> tuple[Array, ...]:
    """Each tensor by its one of the others."""
    return tuple(map(div, tensors, others))


@op(namespace="_C", differentiable=False, replaces=("tensors",))
def _lerps_of_each(tensors: list[Array], ends: list[Array], weight: Number) -> tuple[Array, ...]:
    """Each tensor moved towards its end."""
    return tuple([lerp(x, y, _exact(weight)) for x, y in zip(tensors, ends, strict=True)])


@op(namespace="_C", differentiable=False, replaces=("tensors",))
def _terms_of_each(
    tensors: list[Array], firsts: list[Array], seconds: list[Array], value: Number, by: bool
) -> tuple[Array, ...]:
    """Each tensor plus ``value`` times the product of two others, or their quotient with ``by``."""
    term = addcdiv if by else addcmul
    return tuple(
        [
            term(x, a, b, value=_as(_exact(value), x))
            for x, a, b in zip(tensors, firsts, seconds, strict=True)
        ]
    )
