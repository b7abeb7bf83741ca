"""Recurrent networks: whole sequences in one op, and single cells. ``composites/rnn.py`` adds
dropout between the layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._declare import Array, defvjp, op
from ._facts import schemas
from ._matrix import check_mm, check_same_types, expanded
from ._nodes import Made
from ._numeric import default_float, is_complex, is_integral, scalar_name
from ._recurrent import CELLS, Cell, Trace, Weights, affine, run, run_back, step

if TYPE_CHECKING:
    from ..facts.kinds import Values


def _unflatten(params: list[Array], has_biases: bool, runs: int) -> list[Weights]:
    """The flat list of parameters, by layer and direction."""
    if runs == 0 or len(params) % runs:
        raise RuntimeError(
            f"the number of parameters ({len(params)}) does not fit {runs} layers and directions"
        )
    each = len(params) // runs
    with_projection = each - (4 if has_biases else 2)
    if with_projection not in (0, 1):
        raise RuntimeError(
            f"each layer and direction has {each} parameters, which does not fit "
            f"has_biases={has_biases}"
        )
    found = []
    for k in range(0, len(params), each):
        ih, hh, *rest = params[k : k + each]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)
        found.append(Weights(ih, hh, b_ih, b_hh, rest[-1] if with_projection else None))
    return found


def _flat(weights: list[Weights]) -> list[Array]:
    return [p for w in weights for p in w if p is not None]


def _check_dtypes(input: Array, hx: list[Array]) -> None:
    names = {
        "float64": "Double",
        "float32": "Float",
        "float16": "Half",
        "bfloat16": "BFloat16",
        "int64": "Long",
    }
    for h in hx:
        if h.dtype != input.dtype:
            found = [names.get(x.dtype.name, x.dtype.name) for x in (input, h)]
            raise RuntimeError(
                "Input and hidden tensors are not the same dtype, found input tensor with "
                f"{found[0]} and hidden tensor with {found[1]}"
            )


class _Stack:
    """All layers over ``x (T, B, F)``, with or without what the gradient needs; ``mask (T, B, 1)``
    tells real steps from padding."""

    def __init__(
        self,
        hx: list[Array],
        params: list[Array],
        mode: str,
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
        mask: Array | None,
    ) -> None:
        self.cell: Cell = CELLS[mode]
        self.directions = 2 if bidirectional else 1
        self.num_layers = num_layers
        self.weights = _unflatten(params, has_biases, num_layers * self.directions)
        self.states = [tuple(h[k] for h in hx) for k in range(num_layers * self.directions)]
        self.mask = mask

    def _runs(self, layer: int) -> range:
        return range(layer * self.directions, (layer + 1) * self.directions)

    def forward(self, x: Array, keep: bool) -> tuple[Array, list[Array], list[Trace | None]]:
        """The last layer's outputs, the final states (h, and c of LSTM, each of all runs), and the
        traces."""
        finals, traces = [], []
        for layer in range(self.num_layers):
            outs = []
            for k in self._runs(layer):
                out, final, trace = run(
                    x,
                    self.states[k],
                    self.weights[k],
                    self.cell,
                    k % self.directions == 1,
                    self.mask,
                    keep,
                )
                outs.append(out)
                finals.append(final)
                traces.append(trace)
            x = jnp.concatenate(outs, axis=-1) if len(outs) > 1 else outs[0]
        return x, [jnp.stack(states) for states in zip(*finals, strict=True)], traces

    def backward(
        self, x: Array, traces: list[Trace], d_out: Array, d_finals: list[Array]
    ) -> tuple[Array, list[Array], list[Array]]:
        """The gradients of ``x``, of the first states and of the flat parameters."""
        d_states: list[object] = [None] * len(traces)
        d_weights: Values = [None] * len(traces)
        for layer in reversed(range(self.num_layers)):
            inputs = x
            if layer:
                below = [traces[k].after[0] for k in self._runs(layer - 1)]
                inputs = jnp.concatenate(below, axis=-1) if len(below) > 1 else below[0]
            parts = jnp.split(d_out, self.directions, axis=-1)
            d_out = jnp.zeros_like(inputs)
            for k, part in zip(self._runs(layer), parts, strict=True):
                d_x, d_states[k], d_weights[k] = run_back(
                    inputs, self.states[k], self.weights[k], self.cell, k % self.directions == 1,
                    self.mask, traces[k], part, tuple(d[k] for d in d_finals),
                )  # fmt: skip
                d_out = d_out + d_x
        return (
            d_out,
            [jnp.stack(states) for states in zip(*d_states, strict=True)],
            _flat(d_weights),
        )


def _pack_traces(traces: Values) -> tuple[Array, ...]:
    """The arrays of all traces, in a row."""
    return tuple(
        a for t in traces for a in (*t.after, *((t.full,) if t.full is not None else ()), *t.kept)
    )


def _unpack_traces(arrays: Any, states: int, projected: bool, runs: int) -> list[Trace]:
    each = len(arrays) // runs
    found = []
    for k in range(0, len(arrays), each):
        part = arrays[k : k + each]
        cut = states + projected
        found.append(
            Trace(tuple(part[:states]), part[states] if projected else None, tuple(part[cut:]))
        )
    return found


def _time_first(x: Array, batch_first: bool) -> Array:
    return jnp.swapaxes(x, 0, 1) if batch_first else x


def _node_of_rnn(made: Made) -> str:
    if made.given("bidirectional"):
        return "CatBackward0"
    return "TransposeBackward1" if made.given("batch_first") else "StackBackward0"


@op(namespace="_C", node=_node_of_rnn)
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

    Shapes: input ``(T, B, F)``, ``(B, T, F)`` if ``batch_first``; each of ``hx`` (h, for LSTM also
    c) ``(layers · directions, B, H)`` -> the last layer's outputs, and the final states like
    ``hx``.
    """
    _check_dtypes(input, hx)
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, None)
    out, finals, _ = stack.forward(_time_first(input, batch_first), keep=False)
    return _time_first(out, batch_first), *finals


def _rnn_fwd(
    input: Array,
    hx: list[Array],
    params: list[Array],
    mode: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    _check_dtypes(input, hx)
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, None)
    out, finals, traces = stack.forward(_time_first(input, batch_first), keep=True)
    return (_time_first(out, batch_first), *finals), _pack_traces(traces)


def _rnn_rule(
    g: tuple[Array, ...], residuals: object, input: Array, hx: list[Array], params: list[Array],
    mode: str,
    has_biases: bool, num_layers: int, bidirectional: bool, batch_first: bool,
) -> tuple[Array, ...]:  # fmt: skip
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, None)
    traces = _unpack_traces(residuals, len(hx), stack.weights[0].hr is not None, len(stack.weights))
    d_x, d_states, d_params = stack.backward(
        _time_first(input, batch_first), traces, _time_first(g[0], batch_first), list(g[1:])
    )
    return _time_first(d_x, batch_first), *d_states, *d_params


defvjp(_rnn, _rnn_rule, fwd=_rnn_fwd)


def _places(batch_sizes: Array, batch: int) -> tuple[Array, Array]:
    """For each step and sample: whether it is there, and its row in packed data."""
    sizes = batch_sizes.astype(jnp.int32)
    column = jnp.arange(batch, dtype=jnp.int32)[None, :]
    rows = (jnp.cumsum(sizes, dtype=jnp.int32) - sizes)[:, None] + column
    return column < sizes[:, None], rows


def _padded(data: Array, mask: Array, rows: Array) -> Array:
    """Packed ``data`` as ``(T, B, F)``, zero where there is nothing: a NaN there would reach the
    gradients of the weights."""
    found = jnp.take(data, jnp.where(mask, rows, 0), axis=0)
    return jnp.where(mask[:, :, None], found, jnp.zeros((), data.dtype))


def _packed(x: Array, mask: Array, rows: Array, total: int) -> Array:
    return (
        jnp.zeros((total, x.shape[-1]), x.dtype)
        .at[jnp.where(mask, rows, total)]
        .set(x, mode="drop")
    )


@op(
    namespace="_C",
    apart=True,
    node=lambda made: "ViewBackward0" if made.given("mode") == "LSTM" else "CatBackward0",
)
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
    """Runs stacked recurrent layers over a packed batch: ``data (sum of batch_sizes, F)`` holds the
    steps one after the other.

    The steps are padded to the largest batch and masked, so that ``batch_sizes`` may vary without a
    new program. Steps of no sample and rows of ``data`` beyond the last are allowed: the results
    are zero there.
    """
    _check_dtypes(data, hx)
    mask, rows = _places(batch_sizes, hx[0].shape[1])
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, mask[:, :, None])
    out, finals, _ = stack.forward(_padded(data, mask, rows), keep=False)
    return _packed(out, mask, rows, data.shape[0]), *finals


def _rnn_packed_fwd(
    data: Array,
    batch_sizes: Array,
    hx: list[Array],
    params: list[Array],
    mode: str,
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    _check_dtypes(data, hx)
    mask, rows = _places(batch_sizes, hx[0].shape[1])
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, mask[:, :, None])
    out, finals, traces = stack.forward(_padded(data, mask, rows), keep=True)
    return (_packed(out, mask, rows, data.shape[0]), *finals), _pack_traces(traces)


def _rnn_packed_rule(
    g: tuple[Array, ...], residuals: object, data: Array, batch_sizes: Array, hx: list[Array],
    params: list[Array], mode: str, has_biases: bool, num_layers: int, bidirectional: bool,
) -> tuple[Array | None, ...]:  # fmt: skip
    mask, rows = _places(batch_sizes, hx[0].shape[1])
    stack = _Stack(hx, params, mode, has_biases, num_layers, bidirectional, mask[:, :, None])
    traces = _unpack_traces(residuals, len(hx), stack.weights[0].hr is not None, len(stack.weights))
    d_out = _padded(g[0], mask, rows)
    d_x, d_states, d_params = stack.backward(_padded(data, mask, rows), traces, d_out, list(g[1:]))
    return _packed(d_x, mask, rows, data.shape[0]), None, *d_states, *d_params


defvjp(_rnn_packed, _rnn_packed_rule, fwd=_rnn_packed_fwd)


_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_cell(mode: str, input: Array, state: tuple[Array, ...], w: Weights) -> None:
    """Raises torch's errors for sizes and dtypes that do not fit together."""
    if input.ndim < 2:
        canonical_dim(1, input.ndim)
    if input.shape[1] != w.ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[1]} expected {w.ih.shape[1]}"
        )
    hidden, gates = w.hh.shape[1], _GATES[mode]
    for i, h in enumerate(state):
        if input.shape[0] != h.shape[0]:
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{i} batch size {h.shape[0]}"
            )
        if h.shape[1] != hidden:
            raise RuntimeError(
                f"hidden{i} has inconsistent hidden_size: got {h.shape[1]}, expected {hidden}"
            )
    for name, weight in (("ih", w.ih), ("hh", w.hh)):
        if weight.shape[0] != gates * hidden:
            raise RuntimeError(
                f"weight_{name} first dim must be {gates} * hidden_size = {gates * hidden}, but "
                f"got {weight.shape[0]}"
            )
    for x, weight, bias in ((input, w.ih, w.b_ih), (state[0], w.hh, w.b_hh)):
        if bias is not None:
            check_same_types(bias, x, weight)
        check_mm(x, weight.T)
        if bias is not None:
            expanded(bias, (input.shape[0], gates * hidden))
    if mode == "RNN_RELU" and is_complex(input):
        raise NotImplementedError("clamp is not supported for complex types")
    if gates > 1 and is_integral(input):
        default = dtypes.get_default_dtype().scalar_name
        raise RuntimeError(
            f"result type {default} can't be cast to the desired output type "
            f"{scalar_name(input.dtype)}"
        )


def _one_step(mode: str, input: Array, state: tuple[Array, ...], w: Weights) -> tuple[Array, ...]:
    _check_cell(mode, input, state, w)
    if mode == "RNN_TANH" and is_integral(input):
        biases = [None if b is None else default_float(b) for b in (w.b_ih, w.b_hh)]
        input, state = default_float(input), tuple(default_float(h) for h in state)
        w = Weights(default_float(w.ih), default_float(w.hh), biases[0], biases[1], None)
    return step(CELLS[mode], affine(input, w.ih, w.b_ih), state, w)[0]


@op(method=False, node="MulBackward0", autocast="cpu state, cuda lower", implicit=True)
@schemas(
    "(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
    "-> (Tensor, Tensor)"
)
def lstm_cell(
    input: Array,
    hx: list[Array],
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[Array, Array]:
    """One step of an LSTM: the hidden state and the cell state that follow ``hx``.

    Shapes: input (B, F), hx the pair (B, H), (B, H), w_ih (4H, F), w_hh (4H, H), biases (4H) -> (B,
    H), (B, H).

    Dtypes: floating-point and complex ones, the same for input, hidden state and weights.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
        IndexError: for an input without a batch dimension.

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1, 1)
        >>> h, c = torch.lstm_cell(one, (one, one), torch.zeros(4, 1), torch.zeros(4, 1))
        >>> c
        tensor([[0.5000]])
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    h, c = _one_step("LSTM", input, (hx[0], hx[1]), Weights(w_ih, w_hh, b_ih, b_hh, None))
    return h, c


@op(method=False, node="AddBackward0", autocast="cpu state, cuda lower", implicit=True)
@schemas(
    "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
    "Tensor"
)
def gru_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """One step of a GRU: the hidden state that follows ``hx``.

    Shapes: input (B, F), hx (B, H), w_ih (3H, F), w_hh (3H, H), biases (3H) -> (B, H).

    Dtypes: floating-point and complex ones, the same for input, hidden state and weights.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
        IndexError: for an input without a batch dimension.

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1, 1)
        >>> torch.gru_cell(one, one, torch.zeros(3, 1), torch.zeros(3, 1))
        tensor([[0.5000]])
    """
    return _one_step("GRU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]


@op(method=False, node="TanhBackward0", autocast="lower", implicit=True)
@schemas(
    "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
    "Tensor"
)
def rnn_tanh_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """One step of an Elman network with tanh: the hidden state that follows ``hx``.

    Shapes: input (B, F), hx (B, H), w_ih (H, F), w_hh (H, H), biases (H) -> (B, H).

    Dtypes: any but bool, the same for input, hidden state and weights; integers become the default
    floating dtype.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
        IndexError: for an input without a batch dimension.
        NotImplementedError: for bool tensors.

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1, 1)
        >>> torch.rnn_tanh_cell(one, one, one, -one)
        tensor([[0.]])
    """
    return _one_step("RNN_TANH", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]


@op(method=False, node="ReluBackward0", autocast="lower", implicit=True)
@schemas(
    "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> "
    "Tensor"
)
def rnn_relu_cell(
    input: Array,
    hx: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> Array:
    """One step of an Elman network with relu: the hidden state that follows ``hx``.

    Shapes: input (B, F), hx (B, H), w_ih (H, F), w_hh (H, H), biases (H) -> (B, H).

    Dtypes: real ones, the same for input, hidden state and weights.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.
        IndexError: for an input without a batch dimension.
        NotImplementedError: for bool and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1, 1)
        >>> torch.rnn_relu_cell(one, one, 2 * one, 3 * one)
        tensor([[5.]])
    """
    return _one_step("RNN_RELU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh, None))[0]
