"""``torch.lstm`` and its siblings: the ops of ``ops/rnn.py``, layer by layer when dropout acts
between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, F, T
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Function, Operand, Row


def _layers(
    run: Function,
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    num_layers: int,
    dropout: float,
    train: bool,
) -> tuple[Operand, ...]:
    """``run(input, hx, params, layers)`` for all layers at once or, with dropout, one by one."""
    if not (train and dropout > 0 and num_layers > 1):
        return run(input, list(hx), list(params), num_layers)
    states, weights = hx[0].shape[0] // num_layers, len(params) // num_layers
    finals = []
    for layer in range(num_layers):
        if layer:
            input = T.dropout(input, dropout, True)
        at = slice(layer * states, (layer + 1) * states)
        input, *final = run(
            input, [h[at] for h in hx], list(params[layer * weights : (layer + 1) * weights]), 1
        )
        finals.append(final)
    return input, *(T.cat(list(states), 0) for states in zip(*finals, strict=True))


def _padded(
    mode: str, input: Tensor, hx: tuple[Tensor, ...] | list[Tensor], params: list[Tensor],
    has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    def run(x: Tensor, h: list[Tensor], w: list[Tensor], layers: int) -> Row:
        return _C._rnn(x, h, w, mode, has_biases, layers, bidirectional, False)

    if not input.size(1 if batch_first else 0):
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if not batch_first:
        return _layers(run, input, hx, params, num_layers, dropout, train)
    # Time comes first in memory, as in PyTorch: dropout, between layers and after them, draws its
    # numbers in that order.
    output, *finals = _layers(run, input.transpose(0, 1), hx, params, num_layers, dropout, train)
    return output.transpose(0, 1) if mode == "LSTM" else output.transpose_(0, 1), *finals


def _packed(
    mode: str, data: Tensor, batch_sizes: Tensor, hx: tuple[Tensor, ...] | list[Tensor],
    params: list[Tensor], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[object, ...]:  # fmt: skip
    total, steps, batch = data.shape[0], batch_sizes.shape[0], hx[0].shape[1]
    room = _rounded(steps)
    rows = max(room * batch, total)  # fewer if ``batch_sizes`` does not fit ``hx``
    if room > steps:
        batch_sizes = F.pad(batch_sizes, (0, room - steps))

    def run(x: object, h: object, w: object, layers: int) -> Row:
        if rows > total:
            x = F.pad(x, (0, 0, 0, rows - total))
        output, *finals = _C._rnn_packed(
            x, batch_sizes, h, w, mode, has_biases, layers, bidirectional
        )
        return output[:total] if rows > total else output, *finals

    return _layers(run, data, hx, params, num_layers, dropout, train)


def _rounded(steps: int) -> int:
    """The number of steps to make room for: by rounding up, batches of many lengths share few
    programs, which take long to compile."""
    if steps <= 8:
        return steps
    grain = max(2, 1 << ((steps - 1).bit_length() - 4))  # at most an eighth more, beyond 16
    return -(-steps // grain) * grain


def _one_state(mode: str, args: Arguments) -> tuple[object, ...]:
    """Tells the two forms of ``gru``, ``rnn_tanh`` and ``rnn_relu`` apart: the padded one has the
    parameters third."""
    if isinstance(args[2], (list, tuple)):
        return _padded(mode, args[0], [args[1]], *args[2:])
    return _packed(mode, args[0], args[1], [args[2]], *args[3:])


# Both forms have nine parameters; the names are those that torch's override table shows, of the
# packed form.


@composite(
    operands=("data", "batch_sizes"),
    lists=("hx", "params"),
    autocast="cpu lower",
    dispatched="in parts",
)
@schemas(
    ".input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float "
    "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
    ".data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
)
def lstm(
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
) -> tuple[Any, ...]:
    """An LSTM over a packed or a padded batch; ``hx`` is the pair (h, c). Returns the outputs and
    the final h and c.

    The padded form is ``lstm(input, hx, params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)``.

    Shapes: input (L, N, I), or (N, L, I) with ``batch_first``; h and c (layers * directions, N, H)
    -> outputs (L, N, directions * H), h, c.

    Raises:
        RuntimeError: if a shape does not fit.

    Example:
        >>> import jtorch as torch
        >>> x, state = torch.ones(2, 1, 1), (torch.zeros(1, 1, 1), torch.zeros(1, 1, 1))
        >>> out, h, c = torch.lstm(
        ...     x, state, [torch.ones(4, 1), torch.ones(4, 1)], False, 1, 0.0, False, False, False
        ... )
        >>> out.flatten()
        tensor([0.3696, 0.6505])
    """
    if isinstance(batch_sizes, (list, tuple)):
        return _padded(
            "LSTM",
            data,
            batch_sizes,
            hx,
            params,
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
        )
    return _packed(
        "LSTM", data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    )


@composite(
    operands=("data", "batch_sizes", "hx"),
    lists=("params",),
    autocast="cpu state",
    dispatched="in parts",
)
@schemas(
    ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
    "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
)
def gru(
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
) -> tuple[Any, ...]:
    """A GRU over a packed batch, or a padded one with the arguments of ``lstm``; ``hx`` is h.
    Returns the outputs and the final h.

    Shapes: as ``lstm``, with one state.

    Raises:
        RuntimeError: if a shape does not fit.

    Example:
        >>> import jtorch as torch
        >>> out, h = torch.gru(
        ...     torch.ones(2, 1, 1),
        ...     torch.zeros(1, 1, 1),
        ...     [torch.ones(3, 1), torch.ones(3, 1)],
        ...     False,
        ...     1,
        ...     0.0,
        ...     False,
        ...     False,
        ...     False,
        ... )
        >>> out.flatten()
        tensor([0.2048, 0.3468])
    """
    return _one_state(
        "GRU",
        (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional),
    )


@composite(
    operands=("data", "batch_sizes", "hx"),
    lists=("params",),
    autocast="cpu lower",
    dispatched="in parts",
)
@schemas(
    ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
    "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
)
def rnn_tanh(
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
) -> tuple[Any, ...]:
    """An Elman network with tanh over a packed or padded batch, like ``gru``.

    Shapes: as ``lstm``, with one state.

    Raises:
        RuntimeError: if a shape does not fit.

    Example:
        >>> import jtorch as torch
        >>> out, h = torch.rnn_tanh(
        ...     torch.ones(2, 1, 1),
        ...     torch.zeros(1, 1, 1),
        ...     [torch.ones(1, 1), torch.ones(1, 1)],
        ...     False,
        ...     1,
        ...     0.0,
        ...     False,
        ...     False,
        ...     False,
        ... )
        >>> out.flatten()
        tensor([0.7616, 0.9427])
    """
    return _one_state(
        "RNN_TANH",
        (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional),
    )


@composite(
    operands=("data", "batch_sizes", "hx"),
    lists=("params",),
    autocast="cpu lower",
    dispatched="in parts",
)
@schemas(
    ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float "
    "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
)
def rnn_relu(
    data: Any,
    batch_sizes: Any,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
) -> tuple[Any, ...]:
    """An Elman network with relu over a packed or padded batch, like ``gru``.

    Shapes: as ``lstm``, with one state.

    Raises:
        RuntimeError: if a shape does not fit.

    Example:
        >>> import jtorch as torch
        >>> out, h = torch.rnn_relu(
        ...     torch.ones(2, 1, 1),
        ...     torch.zeros(1, 1, 1),
        ...     [torch.ones(1, 1), torch.ones(1, 1)],
        ...     False,
        ...     1,
        ...     0.0,
        ...     False,
        ...     False,
        ...     False,
        ... )
        >>> out.flatten()
        tensor([1., 2.])
    """
    return _one_state(
        "RNN_RELU",
        (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional),
    )
