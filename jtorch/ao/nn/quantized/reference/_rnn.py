"""Recurrent layers that round their weights."""

from __future__ import annotations

from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch.nn.utils.rnn import PackedSequence

from ._weights import _UNROUNDED, _grid_of, _name_grid, _quantized, _rounded

_SCHEMES = (None, torch.per_tensor_affine, torch.per_channel_affine)


def get_quantized_weight(module: nn.Module, wn: str) -> Any:
    """A weight of a layer on its grid; None if there is none of that name."""
    if not hasattr(module, wn):
        return None
    return _quantized(getattr(module, wn), *_grid_of(module, wn))


def _rounded_weight(module: nn.Module, name: str) -> Any:
    return _rounded(getattr(module, name), *_grid_of(module, name))


def _name_grids(module: Any, given: dict[str, Any], device: Any) -> None:
    module.is_decomposed = given.get("is_decomposed", False)
    for name, grid in given.items():
        if name == "is_decomposed":
            continue
        if grid["qscheme"] is None:
            setattr(module, f"{name}_qscheme", None)
            setattr(module, f"{name}_dtype", grid["dtype"])
        else:
            _name_grid(module, name, grid, device, _SCHEMES)


class RNNCellBase(nn.RNNCellBase):
    """Base of the cells.

    Args:
        weight_qparams_dict: the grids of ``weight_ih`` and ``weight_hh`` by these names.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
        dtype: Any = None, weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, num_chunks, device=device, dtype=dtype)
        given = weight_qparams_dict or {
            "weight_ih": _UNROUNDED, "weight_hh": _UNROUNDED, "is_decomposed": False,
        }  # fmt: skip
        if len(given) != 3:
            raise AssertionError(
                "Expected length for weight_qparams_dict to be 3 for "
                f"QuantizedRNNCellBase(Reference), got {len(given)}"
            )
        _name_grids(self, given, device)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

    def get_quantized_weight_ih(self) -> Any:
        """The weight of inputs on its grid."""
        return get_quantized_weight(self, "weight_ih")

    def get_quantized_weight_hh(self) -> Any:
        """The weight of states on its grid."""
        return get_quantized_weight(self, "weight_hh")

    def get_weight_ih(self) -> Any:
        """The weight of inputs, rounded."""
        return _rounded_weight(self, "weight_ih")

    def get_weight_hh(self) -> Any:
        """The weight of states, rounded."""
        return _rounded_weight(self, "weight_hh")

    def _step(self, name: str, input: Any, hx: Any) -> Any:
        if input.dim() not in (1, 2):
            raise AssertionError(
                f"{type(self).__name__}: Expected input to be 1-D or 2-D but received "
                f"{input.dim()}-D tensor"
            )
        alone = input.dim() == 1
        x = input.unsqueeze(0) if alone else input
        states = hx if isinstance(hx, tuple | list) else (hx,) * (2 if name == "lstm_cell" else 1)
        zeros = None
        if states[0] is None:
            zeros = torch.zeros(x.size(0), self.hidden_size, dtype=x.dtype, device=x.device)
        states = tuple(zeros if s is None else s.unsqueeze(0) if alone else s for s in states)
        found = getattr(torch, name)(
            x, states if name == "lstm_cell" else states[0], self.get_weight_ih(),
            self.get_weight_hh(), self.bias_ih, self.bias_hh,
        )  # fmt: skip
        if not alone:
            return found
        return tuple(f.squeeze(0) for f in found) if isinstance(found, tuple) else found.squeeze(0)

    @classmethod
    def from_float(
        cls, mod: Any, weight_qparams_dict: dict[str, Any], use_precomputed_fake_quant: bool = False
    ) -> Any:
        """The cell of one with floats."""
        more = (mod.nonlinearity,) if isinstance(mod, nn.RNNCell) else ()
        make: Any = cls
        made = make(
            mod.input_size, mod.hidden_size, mod.bias, *more, device=mod.weight_ih.device,
            dtype=mod.weight_ih.dtype, weight_qparams_dict=weight_qparams_dict,
        )  # fmt: skip
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(made, name, getattr(mod, name))
        return made


class RNNCell(RNNCellBase):
    """A simple recurrent cell that rounds its weights."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None, weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype, weight_qparams_dict)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state.

        Raises:
            RuntimeError: for nonlinearities that are none.
        """
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, hx)


class LSTMCell(RNNCellBase):
    """An LSTM's step that rounds its weights."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None, weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype, weight_qparams_dict)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden and cell states."""
        return self._step("lstm_cell", input, hx)


class GRUCell(RNNCellBase):
    """A GRU's step that rounds its weights."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None, weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype, weight_qparams_dict)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        return self._step("gru_cell", input, hx)


class RNNBase(nn.RNNBase):
    """Base of the layers.

    Args:
        weight_qparams_dict: the grids of all weights by their names.
    """

    _mode: ClassVar[str] = ""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip
        given = weight_qparams_dict or {
            name: _UNROUNDED for name in self._flat_weights_names if name.startswith("weight")
        }
        _name_grids(self, given, device)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

    def get_flat_weights(self) -> list[Any]:
        """All weights, rounded, and biases, in the order of the layers."""
        return [
            _rounded_weight(self, name) if name.startswith("weight") else getattr(self, name, None)
            for name in self._flat_weights_names
        ]

    def get_quantized_weight_bias_dict(self) -> dict[str, Any]:
        """The weights on their grids, and the biases, by their names."""
        return {
            name: get_quantized_weight(self, name)
            if name.startswith("weight")
            else getattr(self, name, None)
            for name in self._flat_weights_names
        }

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: dict[str, Any]) -> Any:
        """The layer of one with floats."""
        make: Any = cls
        made = make(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout,
            mod.bidirectional, weight_qparams_dict=weight_qparams_dict,
        )  # fmt: skip
        for name in mod._flat_weights_names:
            setattr(made, name, getattr(mod, name))
        return made

    def _run(self, input: Any, hx: Any) -> Any:
        """What the layer with floats does, with the rounded weights."""
        kind: Any = nn.LSTM if self._mode == "LSTM" else nn.GRU
        plain = kind(
            self.input_size, self.hidden_size, self.num_layers, self.bias, self.batch_first,
            self.dropout, self.bidirectional, device="meta",
        )  # fmt: skip
        plain.train(self.training)
        weights = dict(zip(self._flat_weights_names, self.get_flat_weights(), strict=True))
        arguments = (input,) if hx is None else (input, hx)
        return torch.func.functional_call(plain, weights, arguments)


class LSTM(RNNBase):
    """An LSTM that rounds its weights."""

    _mode = "LSTM"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[torch.Tensor | PackedSequence, Any]:
        """The outputs, and the last hidden and cell states."""
        return self._run(input, hx)


class GRU(RNNBase):
    """A GRU that rounds its weights."""

    _mode = "GRU"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[torch.Tensor | PackedSequence, Any]:
        """The outputs, and the last states."""
        return self._run(input, hx)
