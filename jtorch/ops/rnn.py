"""Recurrent networks: whole sequences in one op (``lax.scan`` over time), and single cells. ``composites/rnn.py`` adds dropout."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ._declare import Array, op


class Weights(NamedTuple):
    """The parameters of one layer in one direction; ``hr`` projects the hidden state of an LSTM."""

    ih: Array
    hh: Array
    b_ih: Array | None
    b_hh: Array | None
    hr: Array | None


State = tuple[Array, ...]
Step = Callable[[Array, State, Weights], State]


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    y = x @ weight.T
    return y if bias is None else y + jnp.reshape(bias, (1,) * (y.ndim - 1) + bias.shape)


def _lstm_step(gates: Array, state: State, w: Weights) -> State:
    h, c = state
    i, f, g, o = jnp.split(gates + _affine(h, w.hh, w.b_hh), 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h if w.hr is None else h @ w.hr.T), c


def _gru_step(gates: Array, state: State, w: Weights) -> State:
    (h,) = state
    r_in, z_in, n_in = jnp.split(gates, 3, axis=-1)
    r_h, z_h, n_h = jnp.split(_affine(h, w.hh, w.b_hh), 3, axis=-1)
    r = jax.nn.sigmoid(r_in + r_h)
    z = jax.nn.sigmoid(z_in + z_h)
    n = jnp.tanh(n_in + r * n_h)
    return (n + z * (h - n),)


def _tanh_step(gates: Array, state: State, w: Weights) -> State:
    return (jnp.tanh(gates + _affine(state[0], w.hh, w.b_hh)),)


def _relu_step(gates: Array, state: State, w: Weights) -> State:
    # where, not maximum: the gradient at 0 is 0
    x = gates + _affine(state[0], w.hh, w.b_hh)
    return (jnp.where(x > 0, x, jnp.zeros_like(x)),)


_STEPS: dict[str, Step] = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}


def _unflatten(params: list[Array], has_biases: bool, runs: int) -> list[Weights]:
    """The flat list of parameters, by layer and direction."""
    if runs == 0 or len(params) % runs:
        raise RuntimeError(f"the number of parameters ({len(params)}) does not fit {runs} layers and directions")
    each = len(params) // runs
    with_projection = each - (4 if has_biases else 2)
    if with_projection not in (0, 1):
        raise RuntimeError(f"each layer and direction has {each} parameters, which does not fit has_biases={has_biases}")
    found = []
    for k in range(0, len(params), each):
        ih, hh, *rest = params[k : k + each]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)
        found.append(Weights(ih, hh, b_ih, b_hh, rest[-1] if with_projection else None))
    return found


def _check_dtypes(input: Array, hx: list[Array]) -> None:
    for h in hx:
        if h.dtype != input.dtype:
            raise RuntimeError(
                "Input and hidden tensors are not the same dtype, found input tensor with "
                f"{_name(input)} and hidden tensor with {_name(h)}"
            )


def _name(x: Array) -> str:
    names = {"float64": "Double", "float32": "Float", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long"}
    return names.get(x.dtype.name, x.dtype.name)


def _run(x: Array, state: State, w: Weights, step: Step, reverse: bool, mask: Array | None) -> tuple[Array, State]:
    """One layer in one direction over ``x (T, B, F)``; where ``mask (T, B, 1)`` is false, the state stays."""
    gates = _affine(x, w.ih, w.b_ih)  # one product for all steps

    def body(state: State, at: tuple[Array, Array | None]) -> tuple[State, Array]:
        gates_t, mask_t = at
        new = step(gates_t, state, w)
        if mask_t is not None:
            new = tuple(jnp.where(mask_t, n, s) for n, s in zip(new, state, strict=True))
        return new, new[0]

    state, out = lax.scan(body, state, (gates, mask), reverse=reverse)
    return out, state


def _stack(
    x: Array, hx: list[Array], weights: list[Weights], step: Step, num_layers: int, bidirectional: bool, mask: Array | None
) -> tuple[Array, ...]:
    """All layers over ``x (T, B, F)``: the last layer's outputs and the final states ``(layers · directions, B, H)``."""
    directions = 2 if bidirectional else 1
    finals: list[State] = []
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            out, final = _run(x, tuple(h[k] for h in hx), weights[k], step, direction == 1, mask)
            outs.append(out)
            finals.append(final)
        x = outs[0] if len(outs) == 1 else jnp.concatenate(outs, axis=-1)
    return x, *(jnp.stack(states) for states in zip(*finals, strict=True))


@op(namespace="_C")
def _rnn(
    input: Array,
    hx: list[Array],
    params: list[Array],
    mode: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Array, ...]:
    """Runs stacked recurrent layers (``mode``: LSTM, GRU, RNN_TANH, RNN_RELU) over a padded batch.

    Shapes: input ``(T, B, F)``, ``(B, T, F)`` if ``batch_first``; each of ``hx`` (h, for LSTM also c) ``(layers · directions, B, H)``
    -> the last layer's outputs, and the final states like ``hx``.
    """
    _check_dtypes(input, hx)
    weights = _unflatten(params, has_biases, num_layers * (2 if bidirectional else 1))
    x = jnp.swapaxes(input, 0, 1) if batch_first else input
    out, *finals = _stack(x, hx, weights, _STEPS[mode], num_layers, bidirectional, None)
    return jnp.swapaxes(out, 0, 1) if batch_first else out, *finals


@op(namespace="_C")
def _rnn_packed(
    data: Array,
    batch_sizes: Array,
    hx: list[Array],
    params: list[Array],
    mode: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
) -> tuple[Array, ...]:
    """Runs stacked recurrent layers over a packed batch: ``data (sum of batch_sizes, F)`` holds the steps one after the other.

    The steps are padded to the largest batch and masked, so that ``batch_sizes`` may vary without a new program.
    """
    _check_dtypes(data, hx)
    weights = _unflatten(params, has_biases, num_layers * (2 if bidirectional else 1))
    total, batch = data.shape[0], hx[0].shape[1]
    sizes = batch_sizes.astype(jnp.int32)
    column = jnp.arange(batch, dtype=jnp.int32)[None, :]
    mask = column < sizes[:, None]
    rows = (jnp.cumsum(sizes, dtype=jnp.int32) - sizes)[:, None] + column
    x = jnp.take(data, jnp.where(mask, rows, 0), axis=0)
    out, *finals = _stack(x, hx, weights, _STEPS[mode], num_layers, bidirectional, mask[:, :, None])
    packed = jnp.zeros((total, out.shape[-1]), out.dtype)
    return packed.at[jnp.where(mask, rows, total)].set(out, mode="drop"), *finals


@op(method=False)
def lstm_cell(
    input: Array, hx: list[Array], w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
) -> tuple[Array, Array]:
    """One step of an LSTM. Shapes: input ``(B, F)``, ``hx`` the pair h and c ``(B, H)`` -> h and c."""
    w = Weights(w_ih, w_hh, b_ih, b_hh, None)
    h, c = _lstm_step(_affine(input, w_ih, b_ih), (hx[0], hx[1]), w)
    return h, c


@op(method=False)
def gru_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None) -> Array:
    """One step of a GRU. Shapes: input ``(B, F)``, ``hx (B, H)`` -> the new hidden state."""
    return _gru_step(_affine(input, w_ih, b_ih), (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]


@op(method=False)
def rnn_tanh_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None) -> Array:
    """One step of an Elman network with tanh. Shapes: input ``(B, F)``, ``hx (B, H)`` -> the new hidden state."""
    return _tanh_step(_affine(input, w_ih, b_ih), (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]


@op(method=False)
def rnn_relu_cell(input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None) -> Array:
    """One step of an Elman network with relu. Shapes: input ``(B, F)``, ``hx (B, H)`` -> the new hidden state."""
    return _relu_step(_affine(input, w_ih, b_ih), (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]
