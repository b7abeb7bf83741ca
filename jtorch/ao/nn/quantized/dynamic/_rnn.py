"""Recurrent layers with quantised weights; inputs and states are quantised as they come."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch._src.quantised.recurrent import quantized_gru, quantized_lstm
from jtorch.nn.utils.rnn import PackedSequence

from .._weights import _quantize_weight


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """The elements along a dimension in another order.

    Differs from torch: it does not warn that it is deprecated.
    """
    return tensor.index_select(dim, permutation)


def pack_weight_bias(qweight: Any, bias: Any, dtype: Any) -> Any:
    """A matrix and a bias, packed for a dtype."""
    if dtype is torch.qint8:
        return torch.ops.quantized.linear_prepack(qweight, bias)
    return torch.ops.quantized.linear_prepack_fp16(qweight, bias)


class PackedParameter(nn.Module):
    """The packed weights of one layer in one direction, which states of models hold."""

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.param = state_dict[prefix + "param"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)


class RNNBase(nn.Module):
    """Base of the layers: weights of all layers and directions.

    Args:
        mode: ``"LSTM"`` or ``"GRU"``; the others as in ``nn.RNNBase``.
    """

    _version = 2
    _FLOAT_MODULE: Any = nn.RNNBase
    _gates: ClassVar[dict[str, int]] = {"LSTM": 4, "GRU": 3}

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
        dtype: Any = torch.qint8,
    ) -> None:
        super().__init__()
        if (
            not isinstance(dropout, numbers.Number)
            or not 0 <= dropout <= 1
            or isinstance(dropout, bool)
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}",
                stacklevel=3,
            )
        if mode not in self._gates:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.dtype = float(dropout), bidirectional, dtype
        self.version, self.training = 2, False
        directions, rows = 2 if bidirectional else 1, self._gates[mode] * hidden_size
        packed = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * directions
            for _ in range(directions):
                bias_ = torch.zeros(rows)
                weights = [torch.randn(rows, n).to(torch.float) for n in (width, hidden_size)]
                if dtype is torch.qint8:
                    weights = [torch.quantize_per_tensor(w, 0.1, 0, torch.qint8) for w in weights]
                packed.append(_cell(weights, [bias_, bias_], dtype))
        self._all_weight_values = nn.ModuleList([PackedParameter(p) for p in packed])

    def _get_name(self) -> str:
        return "DynamicQuantizedRNN"

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
            ("bidirectional", False),
        ):  # fmt: skip
            value = getattr(self, name)
            if value != default:
                text += f", {name}={value}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """Checks the sizes of an input.

        Raises:
            RuntimeError: if they do not fit.
        """
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The size that states must have."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        directions = 2 if self.bidirectional else 1
        return self.num_layers * directions, batch, self.hidden_size

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Checks the size of a state.

        Raises:
            RuntimeError: if it does not fit.
        """
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, [*hx.size()]))

    def _states(self, input: Any, sizes: Any, hx: Any, order: Any, count: int) -> list[Any]:
        expected = self.get_expected_hidden_size(input, sizes)
        if hx is None:
            return [torch.zeros(expected, dtype=input.dtype, device=input.device)] * count
        found = [hx] if count == 1 else list(hx)
        for state, word in zip(found, ("hidden[0]", "hidden[1]"), strict=False):
            text = "Expected {} size {{}}, got {{}}".format(word if count == 2 else "hidden")
            self.check_hidden_size(state, expected, text)
        if order is not None:
            found = [apply_permutation(s, order) for s in found]
        return found

    def _run(self, input: Any, hx: Any, function: Any, count: int) -> Any:
        """A sequence or packed rows through all layers."""
        packed = isinstance(input, PackedSequence)
        if packed:
            data, sizes, order, back = input
        else:
            data, sizes, order, back = input, None, None, None
        self.check_input(data, sizes)
        states = self._states(data, sizes, hx, order, count)
        params = [m.param for m in self._all_weight_values]
        given: Any = states if count == 2 else states[0]
        rest = (params, self.bias, self.num_layers, float(self.dropout), self.training,
                self.bidirectional)  # fmt: skip
        if sizes is None:
            out, *last = function(data, given, *rest, self.batch_first)
        else:
            out, *last = function(data, sizes, given, *rest)
            out = PackedSequence(out, sizes, order, back)
            if back is not None:
                last = [apply_permutation(s, back) for s in last]
        return out, (tuple(last) if count == 2 else last[0])

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Packs other weights, by the names of ``nn.RNNBase``."""
        packed = []
        for layer in range(self.num_layers):
            for d in range(2 if self.bidirectional else 1):
                end = f"_l{layer}{'_reverse' if d else ''}"
                weights = [weight_bias_dict[f"weight_{w}{end}"] for w in ("ih", "hh")]
                biases = [weight_bias_dict[f"bias_{w}{end}"] for w in ("ih", "hh")]
                packed.append(PackedParameter(_cell(weights, biases, self.dtype)))
        self._all_weight_values = nn.ModuleList(packed)

    def _parts(self, at: int) -> Any:
        return [getattr(self._all_weight_values[at].param, w).unpack() for w in ("ih", "hh")]

    def _by_names(self, which: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {which: {}}
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            for d in range(directions):
                end = f"_l{layer}{'_reverse' if d else ''}"
                for word, (weight, bias) in zip(
                    ("ih", "hh"), self._parts(layer * directions + d), strict=True
                ):
                    found[which][f"{which}_{word}{end}"] = weight if which == "weight" else bias
        return found

    def get_weight(self) -> dict[str, dict[str, Any]]:
        """The quantised weights by name."""
        return self._by_names("weight")

    def get_bias(self) -> dict[str, dict[str, Any]]:
        """The biases by name."""
        return self._by_names("bias")

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of one with floats and a configuration.

        Raises:
            AssertionError: for modules of another class, or without a configuration.
            RuntimeError: for dtypes that are not offered.
        """
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError(
                "nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.bias:
            raise AssertionError("bias must be True for dynamic quantized layers")
        make, dtype = _weight_observer(mod)
        make_layer: Any = cls
        made = make_layer(
            *(() if cls in (LSTM, GRU) else (mod.mode,)), mod.input_size, mod.hidden_size,
            mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional, dtype=dtype,
        )  # fmt: skip
        packed = []
        for layer in range(mod.num_layers):
            for d in range(2 if mod.bidirectional else 1):
                end = f"_l{layer}{'_reverse' if d else ''}"
                weights = [_packable(getattr(mod, f"weight_{w}{end}"), make, dtype)
                           for w in ("ih", "hh")]  # fmt: skip
                biases = [getattr(mod, f"bias_{w}{end}") for w in ("ih", "hh")]
                packed.append(PackedParameter(_cell(weights, biases, dtype)))
        made._all_weight_values = nn.ModuleList(packed)
        return made

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""
        make: Any = cls
        made = make(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.num_layers, ref_mod.bias,
            ref_mod.batch_first, ref_mod.dropout, ref_mod.bidirectional,
            dtype=ref_mod.weight_ih_l0_dtype,
        )  # fmt: skip
        made.set_weight_bias(ref_mod.get_quantized_weight_bias_dict())
        return made


def _weight_observer(mod: Any) -> tuple[Any, Any]:
    config = mod.qconfig
    make = (
        config.weight
        if config is not None and config.weight is not None
        else torch.ao.quantization.default_dynamic_qconfig.weight
    )
    dtype = make().dtype
    if dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for Dynamic RNN quantization: {dtype}")
    return make, dtype


def _packable(weight: Any, make: Any, dtype: Any) -> Any:
    if dtype is torch.float16:
        return weight.float()
    observer = make()
    observer(weight)
    return _quantize_weight(weight.float(), observer)


def _cell(weights: list[Any], biases: list[Any], dtype: Any) -> Any:
    ops = torch.ops.quantized
    packed = [pack_weight_bias(w, b, dtype) for w, b in zip(weights, biases, strict=True)]
    if dtype is torch.float16:
        return ops.make_quantized_cell_params_fp16(*packed)
    return ops.make_quantized_cell_params_dynamic(*packed, *biases, True)


class LSTM(RNNBase):
    """An LSTM with quantised weights.

    Examples:
        >>> import jtorch as torch
        >>> layer = torch.ao.nn.quantized.dynamic.LSTM(10, 20, 2)
        >>> out, (h, c) = layer(torch.randn(5, 3, 10))
        >>> out.shape, h.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    _FLOAT_MODULE: Any = nn.LSTM

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs, and the last hidden and cell states."""
        return self._run(input, hx, quantized_lstm, 2)


class GRU(RNNBase):
    """A GRU with quantised weights."""

    _FLOAT_MODULE: Any = nn.GRU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRU"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs, and the last states."""
        return self._run(input, hx, quantized_gru, 1)


class RNNCellBase(nn.Module):
    """Base of the cells."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, num_chunks: int = 4,
        dtype: Any = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_dtype = dtype
        rows = num_chunks * hidden_size
        self.bias_ih = torch.zeros(rows) if bias else None
        self.bias_hh = torch.zeros(rows) if bias else None
        weights = [torch.randn(rows, n) for n in (input_size, hidden_size)]
        if dtype is torch.qint8:
            weights = [torch.quantize_per_tensor(w, 1.0, 0, torch.qint8) for w in weights]
        self._packed_weight_ih = pack_weight_bias(weights[0], self.bias_ih, dtype)
        self._packed_weight_hh = pack_weight_bias(weights[1], self.bias_hh, dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        """Sizes, and what is not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _check(self, input: Any, *states: Any) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.size(1)}, expected "
                f"{self.input_size}"
            )
        for hx in states:
            if input.size(0) != hx.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden batch size {hx.size(0)}"
                )
            if hx.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden has inconsistent hidden_size: got {hx.size(1)}, expected "
                    f"{self.hidden_size}"
                )

    def _zeros(self, input: Any) -> Any:
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _step(self, name: str, input: Any, hx: Any) -> Any:
        return getattr(torch.ops.quantized, name)(
            input, hx, self._packed_weight_ih, self._packed_weight_hh, self.bias_ih, self.bias_hh
        )

    def get_weight(self) -> dict[str, Any]:
        """The quantised weights by name."""
        return {
            "weight_ih": self._packed_weight_ih.unpack()[0],
            "weight_hh": self._packed_weight_hh.unpack()[0],
        }

    def get_bias(self) -> dict[str, Any]:
        """The biases by name."""
        return {
            "bias_ih": self._packed_weight_ih.unpack()[1],
            "bias_hh": self._packed_weight_hh.unpack()[1],
        }

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Packs other weights, by name."""
        d, dtype = weight_bias_dict, self.weight_dtype
        self._packed_weight_ih = pack_weight_bias(d["weight_ih"], d["bias_ih"], dtype)
        self._packed_weight_hh = pack_weight_bias(d["weight_hh"], d["bias_hh"], dtype)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The cell of one with floats and a configuration.

        Raises:
            AssertionError: for modules of another class, or without a configuration.
        """
        if type(mod) not in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            raise AssertionError(
                "nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, "
                "nn.GRUCell and nn.RNNCell"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        if not mod.bias:
            raise AssertionError("bias must be True for dynamic quantized cells")
        make, dtype = _weight_observer(mod)
        more = {"nonlinearity": mod.nonlinearity} if isinstance(mod, nn.RNNCell) else {}
        make_cell: Any = cls
        made = make_cell(mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **more)
        made.bias_ih, made.bias_hh = mod.bias_ih, mod.bias_hh
        for word in ("ih", "hh"):
            weight = _packable(getattr(mod, f"weight_{word}"), make, dtype)
            packed = pack_weight_bias(weight, getattr(mod, f"bias_{word}"), dtype)
            setattr(made, f"_packed_weight_{word}", packed)
        return made._with_plain_biases()

    def _with_plain_biases(self) -> Any:
        """As in PyTorch, states of models hold the packed weights alone."""
        for name in ("bias_ih", "bias_hh"):
            if name in self._parameters:
                bias = self._parameters.pop(name)
                self.__dict__[name] = None if bias is None else bias.detach()
        return self

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Any:
        """The cell of one that rounds its weights and computes with floats."""
        more = (ref_mod.nonlinearity,) if hasattr(ref_mod, "nonlinearity") else ()
        make: Any = cls
        made = make(
            ref_mod.input_size, ref_mod.hidden_size, ref_mod.bias, *more,
            dtype=ref_mod.weight_ih_dtype,
        )  # fmt: skip
        made.bias_ih, made.bias_hh = ref_mod.bias_ih, ref_mod.bias_hh
        made.set_weight_bias(
            {
                "weight_ih": ref_mod.get_quantized_weight_ih(), "bias_ih": ref_mod.bias_ih,
                "weight_hh": ref_mod.get_quantized_weight_hh(), "bias_hh": ref_mod.bias_hh,
            }
        )  # fmt: skip
        return made._with_plain_biases()


class RNNCell(RNNCellBase):
    """A simple recurrent cell with quantised weights."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        dtype: Any = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state.

        Raises:
            RuntimeError: for nonlinearities that are none.
        """
        hx = self._zeros(input) if hx is None else hx
        self._check(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"quantized_rnn_{self.nonlinearity}_cell_dynamic", input, hx)


class LSTMCell(RNNCellBase):
    """An LSTM's step with quantised weights."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, num_chunks=4, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden and cell states."""
        hx = (self._zeros(input),) * 2 if hx is None else hx
        self._check(input, *hx)
        return self._step("quantized_lstm_cell_dynamic", input, hx)


class GRUCell(RNNCellBase):
    """A GRU's step with quantised weights."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        hx = self._zeros(input) if hx is None else hx
        self._check(input, hx)
        return self._step("quantized_gru_cell_dynamic", input, hx)
