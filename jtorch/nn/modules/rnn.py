"""Recurrent networks over sequences, and their cells."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

if TYPE_CHECKING:
    from typing import Self

    from ..._src.facts.kinds import Function


__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The deprecated name of ``tensor.index_select(dim, permutation)``."""
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` "
        "instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _check_settings(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    dropout: float,
    proj_size: int,
) -> None:
    if (
        not isinstance(dropout, numbers.Number)
        or not 0 <= dropout <= 1
        or isinstance(dropout, bool)
    ):  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element "
            "being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What all recurrent networks share: settings, parameters by layer and direction, and checks of
    the input.

    Layer k, direction d has ``weight_ih_l{k}``, ``weight_hh_l{k}``, ``bias_ih_l{k}``,
    ``bias_hh_l{k}`` and, with projections, ``weight_hr_l{k}``; the backward direction's names end
    in ``_reverse``.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
        input_size: features of the input.
        hidden_size: features of the state.
        num_layers: layers, each of which takes the states of the one below.
        bias: whether there are biases.
        batch_first: whether the batch comes before the sequence, ``(N, L, …)`` instead of
            ``(L, N, …)``.
        dropout: the probability with which a state that goes to the next layer is set to zero in
            training.
        bidirectional: whether there is a second network that goes from the end to the beginning.
        proj_size: to how many features the state of an LSTM is projected; 0 for none.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        _check_settings(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weight_refs: list[weakref.ReferenceType[object] | None] = []
        gates = _GATES[mode] * hidden_size
        out_size = proj_size or hidden_size
        self._flat_weights = []
        self._all_weights = self._names()
        self._flat_weights_names: list[str] = []
        for k, names in enumerate(self._all_weights):
            layer_input = input_size if k < self._directions else out_size * self._directions
            shapes = {
                "weight_ih": (gates, layer_input),
                "weight_hh": (gates, out_size),
                "weight_hr": (proj_size, hidden_size),
            }
            for name in names:
                shape = shapes.get(name[:9], (gates,))
                setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
            self._flat_weights_names.extend(names)
        self._init_flat_weights()
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _names(self) -> list[list[str]]:
        """The parameters' names, a list for each layer and direction."""
        kinds = (
            ["weight_ih", "weight_hh"]
            + (["bias_ih", "bias_hh"] if self.bias else [])
            + (["weight_hr"] if self.proj_size else [])
        )
        return [
            [f"{kind}_l{layer}{suffix}" for kind in kinds]
            for layer in range(self.num_layers)
            for suffix in ("", "_reverse")[: self._directions]
        ]

    def _init_flat_weights(self) -> None:
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]
        self.flatten_parameters()

    def __setattr__(self, attr: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names")
        if names is not None and attr in names and len(self._flat_weights) == len(names):
            self._flat_weights[names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Nothing to do: XLA lays the parameters out."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> object:
        self._flat_weight_refs = []
        found = super()._apply(fn, recurse)
        self._init_flat_weights()  # the parameters may be new objects
        return found

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Checks dtype, number of dimensions and last size of an input."""
        wanted = self._flat_weights[0].dtype
        if input.dtype != wanted and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). Convert "
                f"input: input.to({wanted}), or convert model: model.to({input.dtype})"
            )
        ndim = 2 if batch_sizes is not None else 3
        if input.dim() != ndim:
            raise RuntimeError(f"input must have {ndim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}"
            )

    def _state_shape(
        self, size: int, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions, batch, size

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the hidden state that goes with an input."""
        return self._state_shape(self.proj_size or self.hidden_size, input, batch_sizes)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Checks the shape of a hidden state."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Checks an input together with its hidden state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """The hidden state with its batch reordered."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    def _weights_have_changed(self) -> bool:
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names, strict=True):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                return True
        return False

    def _update_flat_weights(self) -> None:
        # parametrizations and direct writes into _parameters pass __setattr__ by
        if self._weights_have_changed():
            self._init_flat_weights()

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, default in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
        ):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bidirectional is not False:
            parts.append(f"bidirectional={self.bidirectional}")
        return ", ".join(parts)

    def __getstate__(self) -> dict[str, Any]:
        self._update_flat_weights()
        state = super().__getstate__()
        del state["_flat_weight_refs"]  # weak references cannot be pickled
        return state

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        self.__dict__.setdefault("proj_size", 0)
        if "all_weights" in d:
            self._all_weights = d["all_weights"]
        if not isinstance(self._all_weights[0][0], str):  # very old pickles held the tensors
            self._all_weights = self._names()
            self._flat_weights_names = [name for names in self._all_weights for name in names]
            self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def _replicate_for_data_parallel(self) -> Self:
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        replica._flat_weights_names = replica._flat_weights_names[:]
        return replica

    # ---- running ---------------------------------------------------------------------------------

    def _forward(self, function: Function, name: str, input: Tensor, hx: Any) -> tuple[Any, Any]:
        """Unpacks, checks, runs and packs again. ``hx`` is a tuple of states, as is the second
        result."""
        self._update_flat_weights()
        single = self.mode != "LSTM"
        packed = isinstance(input, PackedSequence)
        unsorted: Tensor | None = None
        batch_dim = 0 if self.batch_first else 1
        if packed:
            input, batch_sizes, order, unsorted = input
            batch = int(batch_sizes[0])
            unbatched = False
        else:
            batch_sizes = order = None
            if input.dim() not in (2, 3):
                kind = "D tensor instead" if name == "RNN" else "D instead"
                raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}{kind}")
            unbatched = input.dim() == 2
            if unbatched:
                input = input.unsqueeze(batch_dim)
            batch = input.size(batch_dim)
            if hx is not None:
                self._check_hidden_dims(hx, unbatched)
                if unbatched:
                    hx = tuple(h.unsqueeze(1) for h in hx)
        if hx is None:
            sizes = [self.proj_size or self.hidden_size] + ([] if single else [self.hidden_size])
            layers = self.num_layers * self._directions
            hx = tuple(
                torch.zeros(layers, batch, size, dtype=input.dtype, device=input.device)
                for size in sizes
            )
            self.check_forward_args(input, hx[0] if single else hx, batch_sizes)
        else:
            # torch permutes before it checks here, and after it for LSTM; the shapes are the same
            if packed and single:
                hx = tuple(self._permuted(h, order) for h in hx)
            self.check_forward_args(input, hx[0] if single else hx, batch_sizes)
            if packed and not single:
                hx = tuple(self._permuted(h, order) for h in hx)
        common = (
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        state = hx[0] if single else hx
        if packed:
            output, *finals = function(input, batch_sizes, state, *common)
            return PackedSequence(output, batch_sizes, order, unsorted), tuple(
                self._permuted(h, unsorted) for h in finals
            )
        output, *finals = function(input, state, *common, self.batch_first)
        if unbatched:
            return output.squeeze(batch_dim), tuple(h.squeeze(1) for h in finals)
        return output, tuple(finals)

    @staticmethod
    def _permuted(h: Tensor, permutation: Tensor | None) -> Tensor:
        return h if permutation is None else _apply_permutation(h, permutation)

    def _check_hidden_dims(self, hx: tuple[Tensor, ...], unbatched: bool) -> None:
        ndim, kind, what = (2, "unbatched 2-D", "2-D") if unbatched else (3, "batched 3-D", "3-D")
        if all(h.dim() == ndim for h in hx):
            return
        if self.mode == "LSTM":
            given = ", ".join(f"{h.dim()}-D" for h in hx)
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {what} but got ({given}) tensors"
            )
        raise RuntimeError(
            f"For {kind} input, hx should also be {what} but got {hx[0].dim()}-D tensor"
        )


def _refuse_projection(kwargs: dict[str, object]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """An Elman network: ``h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} +
    b_hh)`` (or relu), in ``num_layers`` layers.

    ``RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)``.

    Args:
        *args, **kwargs: as for ``RNNBase``, without its mode; and ``nonlinearity``, ``"tanh"`` or
            ``"relu"``.

    Shapes: ``input (L, N, input_size)``, ``(N, L, input_size)`` if ``batch_first``,
    ``(L, input_size)`` or a PackedSequence; ``hx (layers · directions, N, hidden_size)`` -> output
    ``(L, N, directions · hidden_size)`` and the final ``hx``.
    """

    def __init__(self, *args: Any, **kwargs: object) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """``(L, N, input_size)`` -> ``(L, N, directions · hidden_size)`` and
        ``(layers · directions, N, hidden_size)``."""
        function = torch.rnn_tanh if self.mode == "RNN_TANH" else torch.rnn_relu
        output, (hidden,) = self._forward(function, "RNN", input, None if hx is None else (hx,))
        return output, hidden


class LSTM(RNNBase):
    """A long short-term memory network in ``num_layers`` layers.

    ``i, f, o = sigmoid(…)``, ``g = tanh(…)``, ``c_t = f c_{t-1} + i g``, ``h_t = o tanh(c_t)``,
    each … being ``W_ih x_t + b_ih + W_hh h_{t-1} + b_hh``; with ``proj_size``, h is projected to
    that size. ``LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None)``.

    Args:
        *args, **kwargs: as for ``RNNBase``, without its mode.

    Shapes: input as for ``RNN``; ``hx`` the pair of h ``(layers · directions, N, proj_size or
    hidden_size)`` and c ``(…, hidden_size)``. Source: Hochreiter and Schmidhuber (1997).
    """

    def __init__(self, *args: Any, **kwargs: object) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the cell state that goes with an input."""
        return self._state_shape(self.hidden_size, input, batch_sizes)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Checks an input together with the pair of states."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> Any:
        """Both states with their batch reordered."""
        return hx if permutation is None else tuple(_apply_permutation(h, permutation) for h in hx)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """``(L, N, input_size)`` -> ``(L, N, directions · H)`` and the final (h, c)."""
        output, hidden = self._forward(torch.lstm, "LSTM", input, hx)
        return output, hidden


class GRU(RNNBase):
    """A network of gated recurrent units in ``num_layers`` layers.

    ``r, z = sigmoid(…)``, ``n = tanh(W_in x_t + b_in + r (W_hn h_{t-1} + b_hn))``, ``h_t = (1 - z)
    n + z h_{t-1}``. ``GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)``.

    Args:
        *args, **kwargs: as for ``RNNBase``, without its mode.

    Shapes: as for ``RNN``. Source: Cho et al. (2014).
    """

    def __init__(self, *args: Any, **kwargs: object) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """``(L, N, input_size)`` -> ``(L, N, directions · hidden_size)`` and
        ``(layers · directions, N, hidden_size)``."""
        output, (hidden,) = self._forward(torch.gru, "GRU", input, None if hx is None else (hx,))
        return output, hidden


class RNNCellBase(Module):
    """What the cells share: parameters, checks, repr.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        num_chunks: how many gates there are.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias

        def new(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih = new(num_chunks * hidden_size, input_size)
        self.weight_hh = new(num_chunks * hidden_size, hidden_size)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new(num_chunks * hidden_size) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.__dict__.get("bias", True) is not True:
            parts.append(f"bias={self.bias}")
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)

    def reset_parameters(self) -> None:
        """Draws all parameters from U(-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(
        self,
        function: Function,
        input: Tensor,
        hx: tuple[Tensor, ...] | None,
        states: int,
    ) -> tuple[Tensor, ...]:
        """Runs ``function`` with a batch dimension, and with zeros for a missing ``hx``, which is a
        tuple of ``states`` tensors."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, h in enumerate(hx or ()):
            if h.dim() not in (1, 2):
                what = "hidden" if states == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {h.dim()}D instead")
        unbatched = input.dim() == 1
        if unbatched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = (
                torch.zeros(
                    input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
                ),
            ) * states
        elif unbatched:
            hx = tuple(h.unsqueeze(0) for h in hx)
        self._check_sizes(input, hx)
        state = hx[0] if states == 1 else hx
        found = function(input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        results = (found,) if states == 1 else found
        return tuple(r.squeeze(0) for r in results) if unbatched else tuple(results)

    def _check_sizes(self, input: Tensor, hx: tuple[Tensor, ...]) -> None:
        if input.size(1) != self.weight_ih.size(1):
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.size(1)} expected "
                f"{self.weight_ih.size(1)}"
            )
        for i, h in enumerate(hx):
            if h.size(0) != input.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden{i} batch size "
                    f"{h.size(0)}"
                )
            if h.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {h.size(1)}, expected "
                    f"{self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """One step of an Elman network. Shapes: ``input (N, input_size)`` or ``(input_size)``,
    ``hx (N, hidden_size)`` -> like ``hx``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """``(N, input_size)`` and ``(N, hidden_size)`` -> ``(N, hidden_size)``."""
        functions = {"tanh": torch.rnn_tanh_cell, "relu": torch.rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[self.nonlinearity], input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM. Shapes: ``input (N, input_size)`` or ``(input_size)``, ``hx`` the pair
    h, c ``(N, hidden_size)`` -> (h, c).

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """``(N, input_size)`` and twice ``(N, hidden_size)`` -> (h, c)."""
        h, c = self._step(torch.lstm_cell, input, hx, 2)
        return h, c


class GRUCell(RNNCellBase):
    """One step of a GRU. Shapes: ``input (N, input_size)`` or ``(input_size)``,
    ``hx (N, hidden_size)`` -> like ``hx``.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are biases.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """``(N, input_size)`` and ``(N, hidden_size)`` -> ``(N, hidden_size)``."""
        return self._step(torch.gru_cell, input, None if hx is None else (hx,), 1)[0]
