"""Recurrent networks over whole sequences, as operators: a linear map of all inputs, and the cell
for each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.everything import T
from ..facts import dtypes
from .functions import route
from .overloads import aten
from .routes_math import linear
from .routes_nn import dropout
from .routes_recurrent import elman_step, gru_step, lstm_step
from .state import Kernel

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Row, Values
    from .overloads import OpOverload


A = aten

#: What a cell does with the part that comes from the input, its states and weights.
Step = Callable[[Any, list[Any], Any, Any, Any], list[Any]]


def _elman(apply: OpOverload) -> Step:
    def step(
        of_input: object, states: list[object], w_hh: object, b_hh: object, _w_hr: object
    ) -> list[Any]:
        return [elman_step(apply, of_input, states[0], w_hh, b_hh)]

    return step


def _gru(
    of_input: Tensor, states: list[Tensor], w_hh: Tensor, b_hh: Tensor, _w_hr: object
) -> list[object]:
    return [gru_step(of_input, states[0], w_hh, b_hh)]


def _lstm(
    of_input: object, states: Sequence[object], w_hh: object, b_hh: object, w_hr: object
) -> list[object]:
    h, c = lstm_step(of_input, states[0], states[1], w_hh, b_hh)
    return [h if w_hr is None else linear(h, w_hr), c]


def _declare(function: object, step: Step, fused: bool) -> None:
    """Routes both forms of a function, whose ninth argument tells the padded one from that of a
    packed batch."""

    def run(*args: Any, **kwargs: object) -> Row:
        if kwargs or len(args) != 9:
            return NotImplemented
        padded = (
            isinstance(args[2], (list, tuple))
            and isinstance(args[8], bool)
            and not isinstance(args[3], (list, tuple))
        )
        if not padded:
            data, sizes, hx, params, has_biases, layers, p, train, bidirectional = args
            with Kernel():
                sizes = sizes.tolist()
            walk: Any = _Packed(sizes)
        else:
            data, hx, params, has_biases, layers, p, train, bidirectional, batch_first = args
            empty = not data._aval.shape[0 if not batch_first else 1]
            if empty or (
                fused and _is_fused(data, params, has_biases, layers * (1 + bidirectional))
            ):
                return NotImplemented
            data = A.transpose.int(data, 0, 1) if batch_first else data
            walk = _Padded()
        states = [A.unbind.int(h) for h in (hx if isinstance(hx, (list, tuple)) else [hx])]
        weights = _of_layers(params, has_biases, layers * (1 + bidirectional))
        found, finals = _layers(
            walk, step, data, states, weights, layers, p if train else 0.0, 1 + bidirectional
        )
        if padded and args[8]:
            found = A.transpose.int(found, 0, 1) if fused else A.transpose_.default(found, 0, 1)
        return found, *finals

    route(function)(run)


def _is_fused(data: Tensor, params: Sequence[object], has_biases: bool, parts: int) -> bool:
    """Whether PyTorch runs each layer as one operator, which is one of this package's here."""
    projected = len(params) == parts * (3 + 2 * has_biases)
    dtype = data._aval.torch_dtype
    return (
        not projected
        and dtype in (dtypes.float32, dtypes.bfloat16)
        and bool(data._aval.size)
        and data.device.type == "cpu"
    )


def _of_layers(params: Sequence[object], has_biases: bool, parts: int) -> list[Row]:
    """The weights of each layer and direction: of the input, of the hidden state, their biases, of
    the projection."""
    each = len(params) // parts
    found = []
    for at in range(0, len(params), each):
        w_ih, w_hh, *rest = params[at : at + each]
        b_ih, b_hh = rest[:2] if has_biases else (None, None)
        found.append((w_ih, w_hh, b_ih, b_hh, rest[-1] if len(rest) % 2 else None))
    return found


def _layers(
    walk: _Padded,
    step: Step,
    data: Tensor,
    states: Sequence[Any],
    weights: Sequence[Any],
    layers: int,
    p: float,
    directions: int,
) -> tuple[object, list[object]]:
    finals = []
    for layer in range(layers):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh, b_ih, b_hh, w_hr = weights[at]

            def run(
                x: Tensor,
                now: list[Tensor],
                w_hh: Tensor = w_hh,
                b_hh: Tensor = b_hh,
                w_hr: object = w_hr,
            ) -> list[Operand]:
                return step(x, now, w_hh, b_hh, w_hr)

            out, final = walk.over(
                linear(data, w_ih, b_ih), [s[at] for s in states], run, bool(direction)
            )
            outputs.append(out)
            finals.append(final)
        data = A.cat.default(outputs, walk.last) if directions == 2 else outputs[0]
        if p and layer < layers - 1:
            data = dropout(data, p)
    return data, [A.stack.default(list(each)) for each in zip(*finals, strict=True)]


class _Padded:
    """All sequences have the same length."""

    last = 2

    @staticmethod
    def over(
        parts: object, states: list[Tensor], run: Function, backwards: bool
    ) -> tuple[Any, list[Any]]:
        """The outputs of all steps, and the last states."""
        found = []
        for x in A.unbind.int(parts)[:: -1 if backwards else 1]:
            states = run(x, states)
            found.append(states[0])
        return A.stack.default(found[::-1] if backwards else found), states


def _parts(states: Sequence[object], begin: int, end: int) -> Values:
    """The states of some sequences; the last kind is looked at first, which decides the order of
    gradients, as in PyTorch."""
    return [A.slice.Tensor(s, 0, begin, end) for s in reversed(states)][::-1]


class _Packed:
    """Sequences of falling lengths, of which ``sizes`` says how many have each step."""

    last = -1

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def over(
        self, parts: object, states: list[object], run: object, backwards: bool
    ) -> tuple[Any, list[Any]]:
        """The outputs of all steps, and the last states of each sequence."""
        return (self._backwards if backwards else self._forwards)(parts, states, run)

    def _forwards(
        self, parts: object, states: list[object], run: Any
    ) -> tuple[object, list[object]]:
        found, ended, start, before = [], [], 0, self.sizes[0]
        for size in self.sizes:
            x = A.slice.Tensor(parts, 0, start, start + size)
            start += size
            if size < before:
                ended.append(_parts(states, size, before))
                states = _parts(states, 0, size)
            before = size
            states = run(x, states)
            found.append(states[0])
        ended.append(states)
        return A.cat.default(found), [
            A.cat.default(list(each)) for each in zip(*ended[::-1], strict=True)
        ]

    def _backwards(
        self, parts: object, states: list[object], run: Any
    ) -> tuple[object, list[object]]:
        first, found, end, before = states, [], sum(self.sizes), self.sizes[-1]
        states = _parts(first, 0, before)
        for size in self.sizes[::-1]:
            if size > before:
                states = [
                    A.cat.default([s, A.slice.Tensor(f, 0, before, size)])
                    for s, f in zip(states, first, strict=True)
                ]
            before = size
            states = run(A.slice.Tensor(parts, 0, end - size, end), states)
            end -= size
            found.append(states[0])
        return A.cat.default(found[::-1]), states


_declare(T.gru, _gru, False)
_declare(T.rnn_tanh, _elman(A.tanh.default), False)
_declare(T.rnn_relu, _elman(A.relu.default), False)
_declare(T.lstm, _lstm, True)
