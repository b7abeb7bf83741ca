"""Connectionist temporal classification: the likelihood of label sequences under frame-wise class
probabilities."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from . import _loops
from ._declare import Array, defvjp, guard, guard_range, op
from ._facts import schemas
from ._numeric import number


def _log_sum(*terms: Array) -> Array:
    """``log(sum(exp(term)))`` where terms may be -inf."""
    top = jnp.maximum(terms[0], terms[1])
    for t in terms[2:]:
        top = jnp.maximum(top, t)
    top = jnp.where(jnp.isneginf(top), number(0, top), top)
    total = jnp.exp(terms[0] - top)
    for t in terms[1:]:
        total = total + jnp.exp(t - top)
    return jnp.log(total) + top


def _extended(targets: Array, target_lengths: Array, blank: int) -> tuple[Array, Array]:
    """The labels with blanks between and around them, and which of those states may be entered from
    two states before.

    These are the labels that differ from the one before. Whether a label is the blank itself is not
    asked, as in torch.
    """
    n, width = targets.shape
    labels = jnp.full((n, 2 * width + 1), blank, np.int32).at[:, 1::2].set(targets.astype(np.int32))
    before = jnp.concatenate([jnp.full((n, 2), -1, np.int32), labels[:, :-2]], 1)[
        :, : 2 * width + 1
    ]
    return labels, (labels != before) & (
        jnp.arange(2 * width + 1)[None, :] < 2 * target_lengths[:, None] + 1
    )


def _shifted(x: Array, by: int) -> Array:
    """``x`` moved along its last dimension, -inf moving in: towards higher places for positive
    ``by``."""
    fill = jnp.full((x.shape[0], min(abs(by), x.shape[1])), -np.inf, x.dtype)
    return (
        jnp.concatenate([fill, x[:, :-by]], 1) if by > 0 else jnp.concatenate([x[:, -by:], fill], 1)
    )


def _emissions(log_probs: Array, labels: Array) -> Array:
    """The log probability of every state's label at every time: ``(T, N, states)``."""
    index = jnp.broadcast_to(labels[None], (log_probs.shape[0], *labels.shape))
    return jnp.take_along_axis(log_probs, index, 2, mode="clip")


def _at(x: Array, states: Array) -> Array:
    return jnp.take_along_axis(x, jnp.maximum(states, 0)[:, None], 1, mode="clip")[:, 0]


def _forward(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int
) -> tuple[Array, Array, Array]:
    """The negative log likelihoods ``(N)``, the forward variables ``(T, N, states)`` and the
    states' labels."""
    labels, skips = _extended(targets, target_lengths, blank)
    emitted = _emissions(log_probs, labels)
    low = number(-np.inf, log_probs)
    state = jnp.arange(labels.shape[1])[None, :]
    start = jnp.where(state < jnp.minimum(2, 2 * target_lengths[:, None] + 1), emitted[0], low)

    def step(alpha: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        t, emission = now
        moved = (
            _log_sum(alpha, _shifted(alpha, 1), jnp.where(skips, _shifted(alpha, 2), low))
            + emission
        )
        alpha = jnp.where((t < input_lengths)[:, None], moved, alpha)
        return alpha, alpha

    last, rest = _loops.scan(step, start, (jnp.arange(1, log_probs.shape[0]), emitted[1:]))
    final = _at(last, 2 * target_lengths)
    before = jnp.where(target_lengths > 0, _at(last, 2 * target_lengths - 1), low)
    found = -_log_sum(final, before)
    # Without any frame only the empty sequence has a probability: 1.
    found = jnp.where(
        input_lengths == 0,
        jnp.where(target_lengths == 0, number(0, low), number(np.inf, low)),
        found,
    )
    return found, jnp.concatenate([start[None], rest]), labels


def _ctc_fwd(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, tuple[Array, Array]]:
    frames, n, classes = log_probs.shape
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    width = targets.shape[1]
    narrow = (
        f"Expected tensor to have size at least {{}} at dimension 1, but got size {width} for "
        f"argument #2 'targets' {where}"
    )
    _check_range(target_lengths, width, narrow, "target", where)
    long = f"Expected input_lengths to have value at most {frames}, but got value {{}} {where}"
    _check_range(input_lengths, frames, long, "input", where)
    # torch reads the numbers that lie beside those of the classes. What comes after a sequence may
    # be anything.
    wrong = ((targets < 0) | (targets >= classes)) & (
        jnp.arange(width)[None, :] < target_lengths[:, None]
    )
    guard(
        wrong,
        RuntimeError,
        f"Expected targets to be classes from 0 to {classes - 1}, but got {{}} {where}",
        targets,
    )
    if frames == 0:
        loss = jnp.where(target_lengths == 0, number(0, log_probs), number(np.inf, log_probs))
        alphas = jnp.zeros((0, n, 2 * targets.shape[1] + 1), log_probs.dtype)
    else:
        loss, alphas, _ = _forward(log_probs, targets, input_lengths, target_lengths, blank)
    shown = jnp.where(jnp.isposinf(loss), number(0, loss), loss) if zero_infinity else loss
    return shown, (loss, alphas)


def _check_range(lengths: Array, most: int, message: str, name: str, where: str) -> None:
    if not lengths.size:
        return
    guard_range(lengths, None, most, RuntimeError, message)
    guard_range(
        lengths,
        0,
        None,
        RuntimeError,
        f"Expected {name}_lengths to have value at least 0, but got value {{}} {where}",
    )


def _ctc_rule(
    g: Array,
    residuals: tuple[Array, Array],
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, None, None, None]:
    loss, alphas = residuals
    if log_probs.shape[0] == 0:
        return jnp.zeros_like(log_probs), None, None, None
    labels, skips = _extended(targets, target_lengths, blank)
    emitted = _emissions(log_probs, labels)
    low = number(-np.inf, log_probs)
    state = jnp.arange(labels.shape[1])[None, :]
    last = 2 * target_lengths[:, None]
    ends = (state == last) | ((state == last - 1) & (last > 0))
    skips_to = jnp.concatenate([skips[:, 2:], jnp.zeros((skips.shape[0], 2), bool)], 1)[
        :, : skips.shape[1]
    ]

    def step(beta: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        t, emission = now
        moved = (
            _log_sum(beta, _shifted(beta, -1), jnp.where(skips_to, _shifted(beta, -2), low))
            + emission
        )
        final = (t == input_lengths - 1)[:, None]
        beta = jnp.where(
            final,
            jnp.where(ends, emission, low),
            jnp.where((t < input_lengths)[:, None], moved, low),
        )
        return beta, beta

    frames = jnp.arange(log_probs.shape[0])
    _, betas = _loops.scan(
        step, jnp.full(labels.shape, -np.inf, log_probs.dtype), (frames, emitted), reverse=True
    )
    # alpha and beta both hold the emission: the probability to be in a state, given the labels,
    # leaves one of them out.
    inside = frames[:, None, None] < input_lengths[None, :, None]
    log_share = alphas + betas - emitted + loss[None, :, None]
    share = jnp.where(
        inside & ~jnp.isneginf(alphas) & ~jnp.isneginf(betas), jnp.exp(log_share), number(0, low)
    )
    n = jnp.arange(labels.shape[0])[None, :, None]
    sums = (
        jnp.zeros_like(log_probs).at[frames[:, None, None], n, labels[None]].add(share, mode="drop")
    )
    grad = (jnp.exp(log_probs) - sums) * g[None, :, None]
    # What cannot be said in so many steps has no gradient, in torch: NaN, or 0 where that was asked
    # for.
    grad = jnp.where(
        jnp.isposinf(loss)[None, :, None], number(0 if zero_infinity else np.nan, grad), grad
    )
    grad = jnp.where(inside, grad, number(0, grad))
    return grad, None, None, None


@op(
    namespace="_C",
    aten="_ctc_loss",
    unchecked=("input_lengths", "target_lengths"),
    saves=("log_probs", "targets", "input_lengths", "target_lengths"),
    node=lambda made: "WhereBackward0" if made.given("zero_infinity") else "CtcLossBackward0",
)
@schemas(
    "(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, "
    "bool zero_infinity=False) -> (Tensor, Tensor) ; =out:out0,out1",
    ".Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int "
    "blank=0, bool zero_infinity=False) -> (Tensor, Tensor) ; =Tensor_out:out0,out1",
)
def _ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The negative log likelihood of each sample's labels: ``(T, N, C)`` log probabilities and
    ``(N, S)`` targets give ``(N)``.

    Gradient: torch's, which takes the log probabilities for the outcome of a log softmax.
    """
    return _ctc_fwd(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]


defvjp(_ctc_loss, _ctc_rule, fwd=_ctc_fwd)
