"""Recurrent layers whose products are of integers: ``torch.quantized_lstm`` and its like. Steps and
gates are computed with floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bind.everything import F, T
from .operators import _SPACE, _dynamic, linear_dynamic_fp16, operator
from .packed import CellWeights, LinearWeight


def _product(w: LinearWeight, x: Any, half: bool, reduce: bool) -> Any:
    return linear_dynamic_fp16(x, w) if half else _dynamic(x, w, reduce, False)


def _inputs(p: CellWeights, x: Any) -> Any:
    return _product(p.ih, x, p.half, p.reduce)


def _hidden(p: CellWeights, h: Any) -> Any:
    return _product(p.hh, h, p.half, p.reduce)


def _lstm_step(gates: Any, c: Any) -> tuple[Any, Any]:
    i, f, g, o = gates.chunk(4, -1)
    c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
    return T.sigmoid(o) * T.tanh(c), c


def _gru_step(ig: Any, hg: Any, h: Any) -> Any:
    ir, iz, inew = ig.chunk(3, -1)
    hr, hz, hnew = hg.chunk(3, -1)
    reset, update = T.sigmoid(hr + ir), T.sigmoid(hz + iz)
    new = T.tanh(inew + hnew * reset)
    return (h - new) * update + new


def _layer(
    p: CellWeights, x: Any, state: tuple[Any, ...], step: Callable[..., tuple[Any, ...]],
    sizes: Any, reverse: bool,
) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
    """One layer in one direction: its outputs and last state. ``x`` is (T, B, F), or packed rows
    with the ``sizes`` of their steps."""
    found = []
    if sizes is None:
        gates = _inputs(p, x).unbind(0)
        for g in reversed(gates) if reverse else gates:
            state = step(g, state)
            found.append(state[0])
        if reverse:
            found.reverse()
        return T.stack(found, 0), state
    starts = [0]
    for n in sizes:
        starts.append(starts[-1] + n)
    last: list[Any] = [None] * len(state)
    whole = state
    order = list(range(len(sizes)))
    if reverse:
        order.reverse()
    current = None
    ended: list[tuple[Any, ...]] = []
    for at in order:
        n = sizes[at]
        g = _inputs(p, x[starts[at] : starts[at + 1]])
        if current is None:
            current = tuple(s[:n] for s in whole)
        elif current[0].shape[0] > n:
            ended.append(tuple(s[n:] for s in current))
            current = tuple(s[:n] for s in current)
        elif current[0].shape[0] < n:
            more = current[0].shape[0]
            current = tuple(T.cat([s, w[more:n]], 0) for s, w in zip(current, whole, strict=True))
        current = step(g, current)
        found.append(current[0])
    if reverse:
        found.reverse()
    assert current is not None
    ended.append(current)
    last = [T.cat([e[i] for e in reversed(ended)], 0) for i in range(len(state))]
    return T.cat(found, 0), tuple(last)


def _run(
    x: Any, states: Sequence[Any], params: Sequence[CellWeights], makes: Callable[..., Any],
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    sizes: Any,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """All layers; ``states`` are of all layers and directions each."""
    if batch_first and sizes is None:
        x = x.transpose(0, 1)
    directions = 2 if bidirectional else 1
    last: list[list[Any]] = [[] for _ in states]
    for layer in range(num_layers):
        outs = []
        for d in range(directions):
            at = layer * directions + d
            state = tuple(s[at] for s in states)
            out, state = _layer(params[at], x, state, makes(params[at]), sizes, bool(d))
            outs.append(out)
            for into, s in zip(last, state, strict=True):
                into.append(s)
        x = outs[0] if directions == 1 else T.cat(outs, -1)
        if dropout and train and layer < num_layers - 1:
            x = F.dropout(x, dropout, True)
    if batch_first and sizes is None:
        x = x.transpose(0, 1)
    return x, [T.stack(s, 0) for s in last]


def _lstm_cell(p: CellWeights) -> Callable[..., tuple[Any, ...]]:
    return lambda g, state: _lstm_step(g + _hidden(p, state[0]), state[1])


def _gru_cell(p: CellWeights) -> Callable[..., tuple[Any, ...]]:
    return lambda g, state: (_gru_step(g, _hidden(p, state[0]), state[0]),)


def quantized_lstm(input: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """``torch.quantized_lstm`` of a sequence, or of packed rows with the sizes of their steps."""
    out, (h, c) = _called(input, _lstm_cell, args, kwargs)
    return out, h, c


def quantized_gru(input: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """``torch.quantized_gru``, likewise."""
    out, (h,) = _called(input, _gru_cell, args, kwargs)
    return out, h


def _called(x: Any, makes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args = args[: 9 - ("batch_sizes" in kwargs)]
    sizes = None
    first = args[0]
    if hasattr(first, "dim") and first.dim() == 1 and not first.dtype.is_floating_point:
        sizes, (states, params, _, layers, dropout, train, both) = first.tolist(), args[1:8]
        batch_first = False
    else:
        states, params, _, layers, dropout, train, both, batch_first = args[:8]
    states = [states] if hasattr(states, "dim") else list(states)
    return _run(x, states, params, makes, layers, dropout, train, both, batch_first, sizes)


# ---- cells ---------------------------------------------------------------------------------------


@operator("quantized_lstm_cell_dynamic")
def quantized_lstm_cell_dynamic(
    input: Any, hx: Any, w_ih: LinearWeight, w_hh: LinearWeight, bias_ih: Any, bias_hh: Any
) -> Any:
    """One step of an LSTM."""
    p = CellWeights(w_ih, w_hh, bias_ih, bias_hh, True)
    return _lstm_step(_inputs(p, input) + _hidden(p, hx[0]), hx[1])


@operator("quantized_gru_cell_dynamic")
def quantized_gru_cell_dynamic(
    input: Any, hx: Any, w_ih: LinearWeight, w_hh: LinearWeight, bias_ih: Any, bias_hh: Any
) -> Any:
    """One step of a GRU."""
    p = CellWeights(w_ih, w_hh, bias_ih, bias_hh, True)
    return _gru_step(_inputs(p, input), _hidden(p, hx), hx)


def _simple(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def step(
        input: Any, hx: Any, w_ih: LinearWeight, w_hh: LinearWeight, bias_ih: Any, bias_hh: Any
    ) -> Any:
        """One step of a simple recurrent layer."""
        p = CellWeights(w_ih, w_hh, bias_ih, bias_hh, True)
        return f(_inputs(p, input) + _hidden(p, hx))

    return step


operator("quantized_rnn_tanh_cell_dynamic")(_simple(T.tanh))
operator("quantized_rnn_relu_cell_dynamic")(_simple(T.relu))
__all__ = ["_SPACE", "quantized_gru", "quantized_lstm"]
