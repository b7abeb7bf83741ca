"""Steps of the less common optimisers over whole lists of parameters at once, as ``optim.py`` has
those of SGD and Adam.

Each takes the parameters, their gradients, the lists of buffers, and the step count (with what else
is one number for all of them), and returns the new parameters, buffers and numbers in that order.
Operands of choices are arrays of the parameters' shapes, never numbers, so that the host computes
many small parameters together.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from ..facts.errors import broadcast_shapes
from ._declare import Array, Number, op
from ._numeric import inverse_sqrt
from .combining import lerp
from .optim import _as, _exact, _norm_of, _with_decay


def _next(step: Array) -> Array:
    return step + jnp.ones((), step.dtype)


def _fits(param: Array, *buffers: Array) -> None:
    """Refuses the buffers of a loaded state that are of another shape."""
    for buffer in buffers:
        broadcast_shapes(buffer.shape, param.shape)


def _gradient(grad: Array, param: Array, weight_decay: Array, maximize: bool) -> Array:
    return _with_decay(-grad if maximize else grad, param, weight_decay)


def _average(old: Array, new: Array, keep: Array) -> Array:
    """``old`` moved towards ``new``."""
    return old + _as(1 - keep, old) * (new - old)


def _average_of_squares(old: Array, x: Array, keep: Array) -> Array:
    return old * _as(keep, old) + _as(1 - keep, old) * x * x


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "square_avgs", "grad_avgs", "momentum_buffers"),
)
def _fused_rmsprop(
    params: list[Array],
    grads: list[Array],
    square_avgs: list[Array],
    grad_avgs: list[Array],
    momentum_buffers: list[Array],
    step: Array,
    *,
    lr: Number,
    alpha: Number,
    eps: Number,
    weight_decay: Number,
    momentum: Number,
    centered: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of RMSprop; with momentum where there are buffers for it."""
    rate, keep, small, decay, repeated = map(_exact, (lr, alpha, eps, weight_decay, momentum))
    new, squares, averages, buffers = [], [], [], []
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        _fits(param, square_avgs[i])
        grad = _gradient(grad, param, decay, maximize)
        square = _average_of_squares(square_avgs[i], grad, keep)
        squares.append(square)
        if centered:
            average = _average(grad_avgs[i], grad, keep)
            averages.append(average)
            square = square - average * average
        update = grad / (jnp.sqrt(square) + _as(small, param))
        if momentum_buffers:
            update = _as(repeated, param) * momentum_buffers[i] + update
            buffers.append(update)
        new.append(param - _as(rate, param) * update)
    return (*new, *squares, *averages, *buffers, _next(step))


@op(namespace="_C", differentiable=False, family="program", replaces=("params", "state_sums"))
def _fused_adagrad(
    params: list[Array],
    grads: list[Array],
    state_sums: list[Array],
    step: Array,
    *,
    lr: Number,
    lr_decay: Number,
    weight_decay: Number,
    eps: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of Adagrad."""
    step = _next(step)
    rate, fall, decay, small = map(_exact, (lr, lr_decay, weight_decay, eps))
    rate = rate / (1 + (_exact(step) - 1) * fall)
    new, sums = [], []
    for param, grad, total in zip(params, grads, state_sums, strict=True):
        _fits(param, total)
        grad = _gradient(grad, param, decay, maximize)
        total = total + grad * grad
        sums.append(total)
        new.append(param - _as(rate, param) * (grad / (jnp.sqrt(total) + _as(small, param))))
    return (*new, *sums, step)


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "square_avgs", "acc_deltas"),
)
def _fused_adadelta(
    params: list[Array],
    grads: list[Array],
    square_avgs: list[Array],
    acc_deltas: list[Array],
    step: Array,
    *,
    lr: Number,
    rho: Number,
    eps: Number,
    weight_decay: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of Adadelta."""
    rate, keep, small, decay = map(_exact, (lr, rho, eps, weight_decay))
    new, squares, deltas = [], [], []
    for param, grad, square, moved in zip(params, grads, square_avgs, acc_deltas, strict=True):
        _fits(param, square, moved)
        grad = _gradient(grad, param, decay, maximize)
        square = _average_of_squares(square, grad, keep)
        delta = jnp.sqrt(moved + _as(small, param)) / jnp.sqrt(square + _as(small, param)) * grad
        squares.append(square)
        deltas.append(_average_of_squares(moved, delta, keep))
        new.append(param - _as(rate, param) * delta)
    return (*new, *squares, *deltas, _next(step))


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "exp_avgs", "exp_infs"),
)
def _fused_adamax(
    params: list[Array],
    grads: list[Array],
    exp_avgs: list[Array],
    exp_infs: list[Array],
    step: Array,
    *,
    lr: Number,
    beta1: Number,
    beta2: Number,
    eps: Number,
    weight_decay: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of Adamax."""
    step = _next(step)
    rate, b1, b2, small, decay = map(_exact, (lr, beta1, beta2, eps, weight_decay))
    rate = rate / (1 - b1 ** _exact(step))
    new, averages, largest = [], [], []
    for param, grad, average, norm in zip(params, grads, exp_avgs, exp_infs, strict=True):
        _fits(param, average, norm)
        grad = _gradient(grad, param, decay, maximize)
        average = _average(average, grad, b1)
        norm = jnp.maximum(norm * _as(b2, param), jnp.abs(grad) + _as(small, param))
        averages.append(average)
        largest.append(norm)
        new.append(param - _as(rate, param) * (average / norm))
    return (*new, *averages, *largest, step)


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "exp_avgs", "exp_avg_sqs"),
)
def _fused_nadam(
    params: list[Array],
    grads: list[Array],
    exp_avgs: list[Array],
    exp_avg_sqs: list[Array],
    mu_product: Array,
    step: Array,
    *,
    lr: Number,
    beta1: Number,
    beta2: Number,
    eps: Number,
    weight_decay: Number,
    momentum_decay: Number,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of NAdam."""
    step = _next(step)
    rate, b1, b2, small, decay, grown = map(
        _exact, (lr, beta1, beta2, eps, weight_decay, momentum_decay)
    )
    count = _exact(step)
    mu, mu_next = [b1 * (1 - 0.5 * _exact(0.96) ** (n * grown)) for n in (count, count + 1)]
    mu_product = mu_product * _as(mu, mu_product)
    product = _exact(mu_product)
    by_grad, by_average = rate * (1 - mu) / (1 - product), rate * mu_next / (1 - product * mu_next)
    correction2 = 1 - b2**count
    new, averages, squares = [], [], []
    for param, grad, average, square in zip(params, grads, exp_avgs, exp_avg_sqs, strict=True):
        _fits(param, average, square)
        param, grad = _decayed(param, grad, rate, decay, decoupled_weight_decay, maximize)
        average, square = _average(average, grad, b1), _average_of_squares(square, grad, b2)
        averages.append(average)
        squares.append(square)
        denominator = jnp.sqrt(square / _as(correction2, param)) + _as(small, param)
        param = param - _as(by_grad, param) * (grad / denominator)
        new.append(param - _as(by_average, param) * (average / denominator))
    return (*new, *averages, *squares, mu_product, step)


def _decayed(
    param: Array, grad: Array, rate: Array, decay: Array, decoupled: bool, maximize: bool
) -> tuple[Array, Array]:
    """Parameter and gradient with the decay in one of them."""
    if not decoupled:
        return param, _gradient(grad, param, decay, maximize)
    return param * _as(1 - rate * decay, param), -grad if maximize else grad


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "exp_avgs", "exp_avg_sqs"),
)
def _fused_radam(
    params: list[Array],
    grads: list[Array],
    exp_avgs: list[Array],
    exp_avg_sqs: list[Array],
    step: Array,
    *,
    lr: Number,
    beta1: Number,
    beta2: Number,
    eps: Number,
    weight_decay: Number,
    decoupled_weight_decay: bool,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of RAdam."""
    step = _next(step)
    rate, b1, b2, small, decay = map(_exact, (lr, beta1, beta2, eps, weight_decay))
    count = _exact(step)
    correction2 = 1 - b2**count
    longest = 2 / (1 - b2) - 1
    length = longest - 2 * count * b2**count / correction2
    rectified = length > 5
    # where the root is not taken its formula may be out of its domain
    inside = jnp.where(rectified, length, 6.0)
    root = jnp.sqrt(
        (inside - 4)
        * (inside - 2)
        * longest
        / ((longest - 4) * (longest - 2) * inside)
        * correction2
    )
    step_size = rate / (1 - b1**count)
    new, averages, squares = [], [], []
    for param, grad, average, square in zip(params, grads, exp_avgs, exp_avg_sqs, strict=True):
        _fits(param, average, square)
        param, grad = _decayed(param, grad, rate, decay, decoupled_weight_decay, maximize)
        average, square = _average(average, grad, b1), _average_of_squares(square, grad, b2)
        averages.append(average)
        squares.append(square)
        update = average * _as(step_size, param)
        adapted = update * (_as(root, param) / (jnp.sqrt(square) + _as(small, param)))
        new.append(param - lax.select(rectified, adapted, update))
    return (*new, *averages, *squares, step)


@op(namespace="_C", differentiable=False, family="program", replaces=("params", "axs"))
def _fused_asgd(
    params: list[Array],
    grads: list[Array],
    axs: list[Array],
    mu: Array,
    eta: Array,
    step: Array,
    *,
    lr: Number,
    lambd: Number,
    t0: Number,
    alpha: Number,
    weight_decay: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of ASGD."""
    step = _next(step)
    rate, fall, begin, power, decay = map(_exact, (lr, lambd, t0, alpha, weight_decay))
    count, step_size = _exact(step), _exact(eta)
    new, averages = [], []
    for param, grad, average in zip(params, grads, axs, strict=True):
        _fits(param, average)
        grad = _gradient(grad, param, decay, maximize)
        param = param * _as(1 - fall * step_size, param) - _as(step_size, param) * grad
        new.append(param)
        averages.append(lax.select(mu == 1, param, average + (param - average) * _as(mu, param)))
    eta = _as(rate / (1 + fall * rate * count) ** power, eta)
    mu = _as(1 / jnp.maximum(count - begin, 1), mu)
    return (*new, *averages, mu, eta, step)


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "prevs", "step_sizes"),
)
def _fused_rprop(
    params: list[Array],
    grads: list[Array],
    prevs: list[Array],
    step_sizes: list[Array],
    step: Array,
    *,
    etaminus: Number,
    etaplus: Number,
    step_size_min: Number,
    step_size_max: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of Rprop: an element rests once where its gradient changes its sign."""
    minus, plus, least, most = map(_exact, (etaminus, etaplus, step_size_min, step_size_max))
    new, before, sizes = [], [], []
    for param, grad, prev, size in zip(params, grads, prevs, step_sizes, strict=True):
        _fits(param, prev, size)
        if maximize:
            grad = -grad
        agreement = jnp.sign(grad * prev)
        changed = agreement < 0
        # NaN stays
        kept = lax.select(changed, size * _as(minus, param), size * (agreement * agreement))
        kept = lax.select(
            agreement == 0, size, lax.select(agreement > 0, size * _as(plus, param), kept)
        )
        size = jnp.minimum(jnp.maximum(kept, _as(least, param)), _as(most, param))
        grad = lax.select(changed, agreement + 1, grad)  # zero, as an array
        sizes.append(size)
        before.append(grad)
        new.append(param - jnp.sign(grad) * size)
    return (*new, *before, *sizes, _next(step))


@op(
    namespace="_C",
    differentiable=False,
    family="program",
    replaces=("params", "row_vars", "col_vars", "variances"),
)
def _fused_adafactor(
    params: list[Array],
    grads: list[Array],
    row_vars: list[Array],
    col_vars: list[Array],
    variances: list[Array],
    step: Array,
    *,
    lr: Number,
    beta2_decay: Number,
    weight_decay: Number,
    eps1: Number,
    eps2: Number,
    d: Number,
    maximize: bool,
) -> tuple[Array, ...]:
    """One step of Adafactor on parameters that all have rows and columns, or all have none."""
    step = _next(step)
    rate, power, decay, floor, least, most = map(
        _exact, (lr, beta2_decay, weight_decay, eps1, eps2, d)
    )
    count = _exact(step)
    fresh, rate = count**power, jnp.minimum(count**-0.5, rate)
    kept = 1 - _exact(lr) * decay
    new, rows, columns, squares = [], [], [], []
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        grad = -grad if maximize else grad
        alpha = jnp.maximum(_mean_root(param), least) * rate
        if row_vars:
            square = grad * grad
            row = lerp(row_vars[i], jnp.mean(square, axis=-1, keepdims=True), _as(fresh, grad))
            column = lerp(col_vars[i], jnp.mean(square, axis=-2, keepdims=True), _as(fresh, grad))
            rows.append(row)
            columns.append(column)
            estimate = (
                row * column / jnp.maximum(jnp.mean(row, axis=-2, keepdims=True), _as(floor, row))
            )
        else:
            estimate = lerp(variances[i], grad * grad, _as(fresh, grad))
            squares.append(estimate)
        update = inverse_sqrt(jnp.maximum(estimate, _as(floor * floor, grad))) * grad
        scale = -alpha / jnp.maximum(_mean_root(update) / most, 1.0)
        new.append(param * _as(kept, param) + update * _as(scale, param))
    return (*new, *rows, *columns, *squares, step)


def _mean_root(x: Array) -> Array:
    """The root of the mean of squares."""
    return lax.reshape(_exact(_norm_of(x, 2.0)), ()) / x.size**0.5
