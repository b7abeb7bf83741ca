"""Recurrent layers on plain arrays: the cells, a scan over time that keeps what the gradient needs,
and the scan back.

A step is split into ``x_part = x W_ihᵀ + b_ih``, computed for all steps at once, and
``h_part = h W_hhᵀ + b_hh``. The gradient starts from the states that the forward run kept, so that
nothing is run twice; in it only the recurrence itself goes step by step, and every product that
sums over time is one product for the whole sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import _loops
from ._declare import Array
from ._matrix import by_weight, over_rows, product, unrounded
from ._numeric import wide

if TYPE_CHECKING:
    from ..facts.kinds import Row


State = tuple[Array, ...]  # h, and for LSTM c


class Weights(NamedTuple):
    """The parameters of one layer in one direction; ``hr`` projects the hidden state of an LSTM."""

    ih: Array
    hh: Array
    b_ih: Array | None
    b_hh: Array | None
    hr: Array | None


class Cell(NamedTuple):
    """One kind of recurrent network.

    ``step(x_part, h_part, state)`` gives the new state before projection. ``keep(x_part, h_part)``
    says what the gradient needs of a step besides the states.
    ``slopes(x_part, kept, before, after)`` gives factors for ``back(d_state, factors)``: step by
    step, because for all steps at once they would take as much memory again as what was kept.
    ``back`` returns the gradients of ``x_part``, of ``h_part``, and of the state before as far as
    it does not come through ``h_part``.
    """

    step: Callable[[Array, Array, State], State]
    keep: Callable[[Array, Array], State]
    slopes: Callable[[Array, State, State, State], State]
    back: Callable[[State, State], tuple[Array, Array, State]]
    wants_x: bool = False  # whether ``slopes`` needs ``x_part``


def affine(x: Array, weight: Array, bias: Array | None, rounded: bool = True) -> Array:
    """``x @ weight.T + bias``, of halves rounded once, or not at all (float32)."""
    if bias is None:
        return by_weight(x, weight, None if rounded else unrounded(x))
    y = by_weight(x, weight, unrounded(x))
    y = y + jnp.reshape(bias, (1,) * (y.ndim - 1) + bias.shape).astype(y.dtype)
    return y.astype(x.dtype) if rounded else y


def _sigmoid(x: Array) -> Array:
    return lax.logistic(wide(x)).astype(x.dtype)


def _split(x: Array, parts: int) -> list[Array]:
    return jnp.split(x, parts, axis=-1)


def _lstm_gates(x_part: Array, h_part: Array) -> Array:
    """The gates after their activations, side by side: what the step needs and the gradient keeps,
    so that nothing is computed twice."""
    i, f, g, o = _split(x_part + h_part, 4)
    return jnp.concatenate([_sigmoid(i), _sigmoid(f), jnp.tanh(g), _sigmoid(o)], axis=-1)


def _lstm_step(x_part: Array, h_part: Array, state: State) -> State:
    i, f, g, o = _split(lax.optimization_barrier(_lstm_gates(x_part, h_part)), 4)
    c = f * state[1] + i * g
    return o * jnp.tanh(c), c


def _lstm_slopes(x_part: Array, kept: State, before: State, after: State) -> State:
    i, f, g, o = _split(kept[0], 4)
    tanh_c = jnp.tanh(after[1])
    by_c = jnp.concatenate([g * i * (1 - i), before[1] * f * (1 - f), i * (1 - g * g)], axis=-1)
    return by_c, tanh_c * o * (1 - o), o * (1 - tanh_c * tanh_c), f


def _lstm_back(d: State, factors: State) -> tuple[Array, Array, State]:
    by_c, o_by_h, c_by_h, f = factors
    dh, dc = d
    dc = dc + dh * c_by_h
    gates = jnp.concatenate([jnp.concatenate([dc, dc, dc], axis=-1) * by_c, dh * o_by_h], axis=-1)
    return gates, gates, (jnp.zeros_like(dh), dc * f)


def _gru_step(x_part: Array, h_part: Array, state: State) -> State:
    (h,) = state
    r_x, z_x, n_x = _split(x_part, 3)
    r_h, z_h, n_h = _split(h_part, 3)
    z = _sigmoid(z_x + z_h)
    n = jnp.tanh(n_x + _sigmoid(r_x + r_h) * n_h)
    return (n + z * (h - n),)


def _gru_slopes(x_part: Array, kept: State, before: State, after: State) -> State:
    r_x, z_x, n_x = _split(x_part, 3)
    r_h, z_h, n_h = _split(kept[0], 3)
    r, z = _sigmoid(r_x + r_h), _sigmoid(z_x + z_h)
    n = jnp.tanh(n_x + r * n_h)
    by_n = (1 - z) * (1 - n * n)
    by_r, by_z = by_n * n_h * r * (1 - r), (before[0] - n) * z * (1 - z)
    return (
        jnp.concatenate([by_r, by_z, by_n], axis=-1),
        jnp.concatenate([by_r, by_z, by_n * r], axis=-1),
        z,
    )


def _gru_back(d: State, factors: State) -> tuple[Array, Array, State]:
    by_x, by_h, z = factors
    dh = jnp.concatenate([d[0]] * 3, axis=-1)
    return dh * by_x, dh * by_h, (d[0] * z,)


def _tanh_step(x_part: Array, h_part: Array, state: State) -> State:
    return (jnp.tanh(x_part + h_part),)


def _relu_step(x_part: Array, h_part: Array, state: State) -> State:
    x = x_part + h_part
    return (jnp.where(x > 0, x, jnp.zeros_like(x)),)  # not maximum: the gradient at 0 is 0


def _simple_back(d: State, factors: State) -> tuple[Array, Array, State]:
    gates = d[0] * factors[0]
    return gates, gates, (jnp.zeros_like(d[0]),)


def _tanh_slopes(x_part: Array, kept: State, before: State, after: State) -> State:
    return (1 - after[0] * after[0],)


def _relu_slopes(x_part: Array, kept: State, before: State, after: State) -> State:
    return ((after[0] > 0).astype(after[0].dtype),)


CELLS: dict[str, Cell] = {
    "LSTM": Cell(
        _lstm_step,
        lambda x, h: (lax.optimization_barrier(_lstm_gates(x, h)),),
        _lstm_slopes,
        _lstm_back,
    ),
    "GRU": Cell(_gru_step, lambda x, h: (h,), _gru_slopes, _gru_back, wants_x=True),
    "RNN_TANH": Cell(_tanh_step, lambda x, h: (), _tanh_slopes, _simple_back),
    "RNN_RELU": Cell(_relu_step, lambda x, h: (), _relu_slopes, _simple_back),
}


def step(cell: Cell, x_part: Array, state: State, w: Weights) -> tuple[State, Array, Array]:
    """One step: the new state, the hidden state before projection, and ``h_part``."""
    h_part = affine(state[0], w.hh, w.b_hh)
    full, *rest = cell.step(x_part, h_part, state)
    return ((full if w.hr is None else full @ w.hr.T), *rest), full, h_part


class Trace(NamedTuple):
    """What a run keeps for its gradient: the states after each step, the hidden ones before
    projection, and what the cell wants."""

    after: State
    full: Array | None
    kept: State


def run(
    x: Array,
    state: State,
    w: Weights,
    cell: Cell,
    reverse: bool,
    mask: Array | None,
    keep: bool = False,
) -> tuple[Array, State, Trace | None]:
    """One layer in one direction over ``x (T, B, F)``: all hidden states, the final state, and the
    trace if ``keep``.

    Where ``mask (T, B, 1)`` is false, the state stays. An LSTM in bfloat16 without projections is
    rounded where oneDNN rounds, which runs it for PyTorch: the sum of both biases and the states,
    nothing else.
    """
    half = within = x.dtype
    b_ih, b_hh = w.b_ih, w.b_hh
    if cell is CELLS["LSTM"] and half == jnp.bfloat16 and w.hr is None:
        within = np.dtype(np.float32)
        b_ih, b_hh = None if b_ih is None or b_hh is None else b_ih + b_hh, None
    rounded = half == within

    def body(state: State, at: tuple[Array, Array | None]) -> tuple[State, Any]:
        x_part, mask_t = at
        h_part = affine(state[0], w.hh, b_hh, rounded)
        wider = cell.step(x_part, h_part, tuple(s.astype(within) for s in state))
        full, *rest = (s.astype(half) for s in wider)
        new = (full if w.hr is None else full @ w.hr.T, *rest)
        if mask_t is not None:
            new = tuple(jnp.where(mask_t, n, s) for n, s in zip(new, state, strict=True))
        if not keep:
            return new, new[0]
        kept = tuple(a.astype(half) for a in cell.keep(x_part, h_part))
        return new, (new, None if w.hr is None else full, kept)

    state, found = _loops.scan(body, state, (affine(x, w.ih, b_ih, rounded), mask), reverse=reverse)
    if not keep:
        return found, state, None
    trace = Trace(*found)
    return trace.after[0], state, trace


def _shifted(first: Array, states: Array, reverse: bool) -> Array:
    """The state before each of ``states``, of which ``first`` came before all."""
    n = states.shape[0]
    rest = lax.slice_in_dim(states, 1, n) if reverse else lax.slice_in_dim(states, 0, n - 1)
    return jnp.concatenate([rest, first] if reverse else [first, rest])


def run_back(
    x: Array,
    state: State,
    w: Weights,
    cell: Cell,
    reverse: bool,
    mask: Array | None,
    trace: Trace,
    d_out: Array,
    d_final: State,
) -> tuple[Array, State, Weights]:
    """The gradients of ``run`` for ``x``, the first state and the weights, given those of its
    outputs and final state. Between two steps all is float32, of halves."""
    half, within = x.dtype, unrounded(x) or x.dtype
    x_part: Any = affine(x, w.ih, w.b_ih, False) if cell.wants_x else None
    before = tuple(
        _shifted(s[None], seq, reverse) for s, seq in zip(state, trace.after, strict=True)
    )
    zero = jnp.zeros((), within)

    def body(d: State, at: Row) -> tuple[State, Any]:
        d_out_t, x_part_t, kept_t, before_t, after_t, mask_t = at
        factors_t = cell.slopes(
            x_part_t, *jax.tree.map(lambda a: a.astype(within), (kept_t, before_t, after_t))
        )
        d = (d[0] + d_out_t.astype(within), *d[1:])
        passed = None
        # a masked step hands the gradient on unchanged and takes none itself
        if mask_t is not None:
            passed = tuple(jnp.where(mask_t, zero, s) for s in d)
            d = tuple(jnp.where(mask_t, s, zero) for s in d)
        d_h = d[0]
        full = d if w.hr is None else (product(d_h.astype(half), w.hr, within), *d[1:])
        d_x, d_hp, direct = cell.back(full, factors_t)
        shared = d_hp is d_x
        d_x = d_x.astype(half)
        d_hp = d_x if shared else d_hp.astype(half)
        back = product(d_hp, w.hh, within)
        # With a projection, what the cell hands on directly is of the unprojected size, and zero.
        new = (back if w.hr is not None else back + direct[0], *direct[1:])
        if passed is not None:
            new = tuple(n + p for n, p in zip(new, passed, strict=True))
        # With a dimension more, XLA does not take the empty buffers of both scans for one, which
        # would have to be kept and copied.
        return new, (
            d_x[None],
            None if d_hp is d_x else d_hp[None],
            None if w.hr is None else d_h.astype(half)[None],
        )

    d_final = tuple(d.astype(within) for d in d_final)
    d_state, found = _loops.scan(
        body, d_final, (d_out, x_part, trace.kept, before, trace.after, mask), reverse=not reverse
    )
    d_x, d_hp, d_h = [None if a is None else lax.index_in_dim(a, 0, 1, False) for a in found]
    assert d_x is not None
    d_hp = d_x if d_hp is None else d_hp
    grads = Weights(
        ih=_over_time(d_x, x),
        hh=_over_time(d_hp, before[0]),
        b_ih=None if w.b_ih is None else jnp.sum(d_x, axis=(0, 1)),
        b_hh=None if w.b_hh is None else jnp.sum(d_hp, axis=(0, 1)),
        hr=None if w.hr is None else _over_time(d_h, trace.full),  # type: ignore[arg-type]
    )
    return d_x @ w.ih, tuple(d.astype(half) for d in d_state), grads


def _over_time(d: Array, x: Array) -> Array:
    """The gradient of a weight: the sum over steps and batch of the outer products of
    ``d (T, B, G)`` and ``x (T, B, F)``."""
    return over_rows(d.reshape(-1, d.shape[-1]), x.reshape(-1, x.shape[-1]))
