"""Recurrent kernels against loops in NumPy, and their gradients against those that JAX derives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtorch._src.ops import rnn

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
T, B, F, H = 5, 3, 4, 6


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def reference_step(mode: str, x: Any, state: list[Any], w: list[Any]) -> list[Any]:
    ih, hh, b_ih, b_hh, *proj = w
    a, b = x @ ih.T + b_ih, state[0] @ hh.T + b_hh
    if mode == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return [h @ proj[0].T if proj else h, c]
    if mode == "GRU":
        (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
        r, z = sigmoid(ar + br), sigmoid(az + bz)
        n = np.tanh(an + r * bn)
        return [(1 - z) * n + z * state[0]]
    return [np.tanh(a + b) if mode == "RNN_TANH" else np.maximum(a + b, 0)]


def problem(
    mode: str, layers: int, directions: int, proj: int = 0
) -> tuple[Any, list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    gates, out = GATES[mode] * H, proj or H
    params = []
    for layer in range(layers):
        for _ in range(directions):
            size = F if layer == 0 else out * directions
            shapes = [(gates, size), (gates, out), (gates,), (gates,)] + (
                [(proj, H)] if proj else []
            )
            params += [rng.normal(size=s) * 0.3 for s in shapes]
    hx = [rng.normal(size=(layers * directions, B, out))] + (
        [rng.normal(size=(layers * directions, B, H))] if mode == "LSTM" else []
    )
    return rng.normal(size=(T, B, F)), hx, params


def reference(
    mode: str, x: Any, hx: list[Any], params: list[Any], layers: int, directions: int
) -> list[Any]:
    each = len(params) // (layers * directions)
    finals = []
    for layer in range(layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            w, state, out = params[k * each : (k + 1) * each], [h[k] for h in hx], [None] * T
            for t in range(T) if d == 0 else reversed(range(T)):
                state = reference_step(mode, x[t], state, w)
                out[t] = state[0]
            outs.append(np.stack(out))
            finals.append(state)
        x = np.concatenate(outs, -1)
    return [x, *(np.stack(s) for s in zip(*finals))]


CASES = [
    (m, layers, d, p)
    for m in GATES
    for layers, d in ((1, 1), (2, 2))
    for p in ((0, 2) if m == "LSTM" else (0,))
]


@pytest.mark.parametrize(("mode", "layers", "directions", "proj"), CASES)
def test_values(mode: str, layers: int, directions: int, proj: int) -> None:
    x, hx, params = problem(mode, layers, directions, proj)
    got = rnn._rnn(
        jnp.asarray(x),
        [*map(jnp.asarray, hx)],
        [*map(jnp.asarray, params)],
        mode,
        True,
        layers,
        directions == 2,
        False,
    )
    for g, w in zip(got, reference(mode, x, hx, params, layers, directions), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9)


def derived(function: Any, operands: list[Any], g: Any) -> list[Any]:
    _, vjp = jax.vjp(function, *operands)
    return vjp(g)


def assert_close(got: Any, want: Any) -> None:
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("mode", "layers", "directions", "proj"), CASES)
def test_rule_is_the_derived_gradient(mode: str, layers: int, directions: int, proj: int) -> None:
    x, hx, params = (
        jax.tree.map(jnp.asarray, part) for part in problem(mode, layers, directions, proj)
    )
    static = (mode, True, layers, directions == 2, False)
    result, residuals = rnn._rnn_fwd(x, hx, params, *static)
    assert_close(result, rnn._rnn(x, hx, params, *static))
    g = tuple(jnp.sin(jnp.arange(r.size, dtype=r.dtype)).reshape(r.shape) for r in result)
    got = rnn._rnn_rule(g, residuals, x, hx, params, *static)
    assert_close(
        got, derived(lambda x, hx, params: rnn._rnn(x, hx, params, *static), [x, hx, params], g)
    )


@pytest.mark.parametrize("mode", GATES)
def test_packed_sequences_are_those_of_their_items(mode: str) -> None:
    x, hx, params = (jax.tree.map(jnp.asarray, part) for part in problem(mode, 2, 2))
    lengths = [5, 3, 2]
    sizes = [sum(n > t for n in lengths) for t in range(T)]
    data = jnp.concatenate([x[t, :n] for t, n in enumerate(sizes)])
    static = (mode, True, 2, True)
    out, *finals = rnn._rnn_packed(data, jnp.asarray(sizes), hx, params, *static)
    starts = np.cumsum([0, *sizes])
    for b, n in enumerate(lengths):
        alone = rnn._rnn(x[:n, b : b + 1], [h[:, b : b + 1] for h in hx], params, *static, False)
        np.testing.assert_allclose(
            jnp.stack([out[starts[t] + b] for t in range(n)]), alone[0][:, 0], rtol=1e-9
        )
        for final, want in zip(finals, alone[1:], strict=True):
            np.testing.assert_allclose(final[:, b], want[:, 0], rtol=1e-9)


@pytest.mark.parametrize("mode", GATES)
def test_packed_rule_is_the_derived_gradient(mode: str) -> None:
    x, hx, params = (jax.tree.map(jnp.asarray, part) for part in problem(mode, 2, 2))
    sizes = jnp.asarray([3, 3, 2, 1, 1])
    data = x.reshape(-1, F)[:10]
    static = (mode, True, 2, True)
    result, residuals = rnn._rnn_packed_fwd(data, sizes, hx, params, *static)
    g = tuple(jnp.cos(jnp.arange(r.size, dtype=r.dtype)).reshape(r.shape) for r in result)
    d_data, d_sizes, *rest = rnn._rnn_packed_rule(g, residuals, data, sizes, hx, params, *static)
    assert d_sizes is None
    want = derived(
        lambda data, hx, params: rnn._rnn_packed(data, sizes, hx, params, *static),
        [data, hx, params],
        g,
    )
    assert_close([d_data, *rest], want)


def test_batch_first() -> None:
    x, hx, params = (jax.tree.map(jnp.asarray, part) for part in problem("GRU", 1, 1))
    out, h = rnn._rnn(jnp.swapaxes(x, 0, 1), hx, params, "GRU", True, 1, False, True)
    want, want_h = rnn._rnn(x, hx, params, "GRU", True, 1, False, False)
    np.testing.assert_array_equal(jnp.swapaxes(out, 0, 1), want)
    np.testing.assert_array_equal(h, want_h)


@pytest.mark.parametrize("mode", GATES)
def test_cells(mode: str) -> None:
    x, hx, params = problem(mode, 1, 1)
    cell = {
        "LSTM": rnn.lstm_cell,
        "GRU": rnn.gru_cell,
        "RNN_TANH": rnn.rnn_tanh_cell,
        "RNN_RELU": rnn.rnn_relu_cell,
    }[mode]
    state = [jnp.asarray(h[0]) for h in hx]
    got = cell(jnp.asarray(x[0]), state if mode == "LSTM" else state[0], *map(jnp.asarray, params))
    want = reference_step(mode, x[0], [h[0] for h in hx], params)
    for g, w in zip(got if mode == "LSTM" else [got], want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9)


def test_dtypes_must_agree() -> None:
    x, hx, params = problem("GRU", 1, 1)
    with pytest.raises(
        RuntimeError, match="found input tensor with Float and hidden tensor with Double"
    ):
        rnn._rnn(
            jnp.asarray(x, jnp.float32),
            [*map(jnp.asarray, hx)],
            [*map(jnp.asarray, params)],
            "GRU",
            True,
            1,
            False,
            False,
        )
