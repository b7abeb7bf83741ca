"""LSTMs written out step by step, so that each step can be observed."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import jtorch as torch
from jtorch import nn

_GATES = ("input", "forget", "cell", "output")


class LSTMCell(nn.Module):
    """An LSTM's step from layers and operations that can each be observed.

    Shapes:
        ``x (N, input_dim)``, ``hidden`` two of ``(N, hidden_dim)`` or None ->
        two of ``(N, hidden_dim)``.

    Args:
        split_gates: one layer for each gate instead of one for the four.

    Examples:
        >>> import jtorch as torch
        >>> h, c = torch.ao.nn.quantizable.LSTMCell(3, 4)(torch.ones(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    _FLOAT_MODULE: Any = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_dim, hidden_dim, bias
        self.split_gates = split_gates
        observed = torch.ao.nn.quantized.FloatFunctional
        factory: Any = {"device": device, "dtype": dtype}
        self.igates: Any
        self.hgates: Any
        self.gates: Any
        if split_gates:
            self.igates, self.hgates = nn.ModuleDict(), nn.ModuleDict()
            self.gates = nn.ModuleDict()
            for gate in _GATES:
                self.igates[gate] = nn.Linear(input_dim, hidden_dim, bias=bias, **factory)
                self.hgates[gate] = nn.Linear(hidden_dim, hidden_dim, bias=bias, **factory)
                self.gates[gate] = observed()
        else:
            self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **factory)
            self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **factory)
            self.gates = observed()
        self.input_gate, self.forget_gate = nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate, self.output_gate = nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate = observed(), observed()
        self.fgate_cx_igate_cgate, self.ogate_cy = observed(), observed()
        self.initial_hidden_state_qparams, self.initial_cell_state_qparams = (1.0, 0), (1.0, 0)
        self.hidden_state_dtype: Any = torch.quint8
        self.cell_state_dtype: Any = torch.quint8

    def _summed(self, x: Any, hx: Any) -> Any:
        """What the four gates are computed from."""
        if not self.split_gates:
            # PyTorch's order, which graphs made of a cell show.
            igates = self.igates(x)
            hgates = self.hgates(hx)
            return self.gates.add(igates, hgates).chunk(4, 1)
        found = []
        for gate, igates, hgates in zip(
            self.gates.values(), self.igates.values(), self.hgates.values(), strict=True
        ):
            found.append(gate.add(igates(x), hgates(hx)))
        return found

    def forward(
        self, x: torch.Tensor, hidden: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[Any, Any]:
        """The next hidden state and the next cell state."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        hx, cx = hidden
        input_gate, forget_gate, cell_gate, out_gate = self._summed(x, hx)
        input_gate = self.input_gate(input_gate)
        forget_gate = self.forget_gate(forget_gate)
        cell_gate = self.cell_gate(cell_gate)
        out_gate = self.output_gate(out_gate)
        fgate_cx = self.fgate_cx.mul(forget_gate, cx)
        igate_cgate = self.igate_cgate.mul(input_gate, cell_gate)
        cy = self.fgate_cx_igate_cgate.add(fgate_cx, igate_cgate)
        # The activation of the new state has no module of its own in PyTorch either.
        tanh_cy = torch.tanh(cy)
        return self.ogate_cy.mul(out_gate, tanh_cy), cy

    def initialize_hidden(
        self, batch_size: int, is_quantized: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States of zeros; quantised ones on the grids of ``initial_hidden_state_qparams`` and
        ``initial_cell_state_qparams``."""
        h: Any = torch.zeros((batch_size, self.hidden_size))
        c: Any = torch.zeros((batch_size, self.hidden_size))
        if is_quantized:
            h = torch.quantize_per_tensor(
                h, *self.initial_hidden_state_qparams, self.hidden_state_dtype
            )
            c = torch.quantize_per_tensor(
                c, *self.initial_cell_state_qparams, self.cell_state_dtype
            )
        return h, c

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(
        cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None, split_gates: bool = False
    ) -> LSTMCell:
        """A cell with the weights and biases of an ``nn.LSTM``.

        Raises:
            AssertionError: if only one of the biases is given.
        """
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        cell = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for layers, weight, bias in ((cell.igates, wi, bi), (cell.hgates, wh, bh)):
            several, weights, biases = [layers], [weight], [bias]
            if split_gates:
                several, weights = [*layers.values()], weight.chunk(4, 0)
                biases = [None] * 4 if bias is None else bias.chunk(4, 0)
            for layer, w, b in zip(several, weights, biases, strict=True):
                layer.weight = nn.Parameter(w)
                if b is not None:
                    layer.bias = nn.Parameter(b)
        return cell

    @classmethod
    def from_float(
        cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False
    ) -> LSTMCell:
        """The cell with the parameters and the configuration of an ``nn.LSTMCell``.

        Raises:
            AssertionError: for other classes, and cells without ``qconfig``.
        """
        del use_precomputed_fake_quant
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made: Any = cls.from_params(
            other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh, split_gates=split_gates
        )
        layers = [made, made.igates, made.hgates]
        if split_gates:
            layers += [*made.igates.values(), *made.hgates.values()]
        for layer in layers:
            layer.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """A cell along a sequence, in one direction."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.cell: Any = LSTMCell(
            input_dim, hidden_dim, bias=bias, device=device, dtype=dtype, split_gates=split_gates
        )

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, Any]:
        """The hidden states of all steps, and the last two states."""
        found = []
        for i in range(x.shape[0]):
            hidden = self.cell(x[i], hidden)
            found.append(hidden[0])
        return torch.stack(found, 0), hidden

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> _LSTMSingleLayer:
        """A layer of a cell from weights and biases."""
        cell = LSTMCell.from_params(*args, **kwargs)
        layer = cls(cell.input_size, cell.hidden_size, cell.bias, split_gates=cell.split_gates)
        layer.cell = cell
        return layer


class _LSTMLayer(nn.Module):
    """A layer in one direction or both."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, bidirectional
        factory: Any = {"device": device, "dtype": dtype, "split_gates": split_gates}
        self.layer_fw = _LSTMSingleLayer(input_dim, hidden_dim, bias=bias, **factory)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(input_dim, hidden_dim, bias=bias, **factory)

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, Any]:
        """The hidden states of all steps, and the last two states, of each direction."""
        if self.batch_first:
            x = x.transpose(0, 1)
        forth, back = hidden, None
        if self.bidirectional and hidden is not None:
            hx, cx = hidden
            forth = (hx if hx is None else hx[0], cx if cx is None else cx[0])
            back = None if hx is None or cx is None else (hx[1], cx[1])
        if forth is not None and forth[0] is None and forth[1] is None:
            forth = None
        result, states = self.layer_fw(x, forth)
        h, c = states
        if self.bidirectional:
            reverse, states = self.layer_bw(x.flip(0), back)
            result = torch.cat([result, reverse.flip(0)], result.dim() - 1)
            h, c = torch.stack([h, states[0]], 0), torch.stack([c, states[1]], 0)
        if self.batch_first:
            result.transpose_(0, 1)
        return result, (h, c)

    @classmethod
    def from_float(
        cls, other: Any, layer_idx: int = 0, qconfig: Any = None, **kwargs: Any
    ) -> _LSTMLayer:
        """A layer of an ``nn.LSTM``."""
        if not hasattr(other, "qconfig") and qconfig is None:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        split = kwargs.get("split_gates", False)
        names = ("input_size", "hidden_size", "bias", "batch_first", "bidirectional")
        given: Any = [kwargs.get(name, getattr(other, name)) for name in names]
        layer: Any = cls(*given, split_gates=split)
        layer.qconfig = getattr(other, "qconfig", qconfig)

        def made(end: str) -> _LSTMSingleLayer:
            kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            parameters = [getattr(other, f"{kind}_l{layer_idx}{end}", None) for kind in kinds]
            return _LSTMSingleLayer.from_params(*parameters, split_gates=split)

        layer.layer_fw = made("")
        if other.bidirectional:
            layer.layer_bw = made("_reverse")
        return layer


class LSTM(nn.Module):
    """An LSTM whose steps can be observed: what ``prepare`` puts in the place of ``nn.LSTM``.

    Shapes:
        as ``nn.LSTM``, with a dimension of batches.

    Args:
        dropout: is ignored, with a warning.
        split_gates: one layer for each gate instead of one for the four.

    Raises:
        ValueError: if ``dropout`` is no probability.

    Examples:
        >>> import jtorch as torch
        >>> out, (h, c) = torch.ao.nn.quantizable.LSTM(3, 4)(torch.ones(5, 2, 3))
        >>> out.shape, h.shape, c.shape
        (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """

    _FLOAT_MODULE: Any = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.bidirectional = bias, batch_first, bidirectional
        self.dropout = float(dropout)
        self.training = False  # as in PyTorch: it is made for inference
        number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0:
            warnings.warn(
                "dropout option for quantizable LSTM is ignored. If you are training, please, use "
                "nn.LSTM version followed by `prepare` step.",
                stacklevel=2,
            )
            if num_layers == 1:
                warnings.warn(
                    "dropout option adds dropout after all but last recurrent layer, so non-zero "
                    f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                    f"num_layers={num_layers}",
                    stacklevel=2,
                )
        # As in PyTorch all layers but the first take ``hidden_size``, in both directions, too.
        self.layers: Any = nn.ModuleList(
            _LSTMLayer(
                hidden_size if i else input_size, hidden_size, bias, batch_first=False,
                bidirectional=bidirectional, device=device, dtype=dtype, split_gates=split_gates,
            )
            for i in range(max(num_layers, 1))
        )  # fmt: skip

    def _states(self, x: Any, hidden: Any, directions: int) -> Any:
        """The first two states of each layer."""
        if hidden is None:
            zeros = torch.zeros(
                directions, x.size(1), self.hidden_size, dtype=torch.float, device=x.device
            )
            zeros.squeeze_(0)
            if x.is_quantized:
                zeros = torch.quantize_per_tensor(zeros, scale=1.0, zero_point=0, dtype=x.dtype)
            return [(zeros, zeros)] * self.num_layers
        if not isinstance(hidden[0], torch.Tensor):
            return hidden
        hx, cx = (
            h.reshape(self.num_layers, directions, x.size(1), self.hidden_size) for h in hidden
        )
        return [(hx[i].squeeze(0), cx[i].squeeze(0)) for i in range(self.num_layers)]

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, tuple[Any, Any]]:
        """The hidden states of all steps, and the last hidden and cell states of all layers."""
        if self.batch_first:
            x = x.transpose(0, 1)
        states = self._states(x, hidden, 2 if self.bidirectional else 1)
        last = []
        for i, layer in enumerate(self.layers):
            x, state = layer(x, states[i])
            last.append(state)
        hx, cx = (torch.stack(list(each)) for each in zip(*last, strict=True))
        hx = hx.reshape(-1, hx.shape[-2], hx.shape[-1])
        cx = cx.reshape(-1, cx.shape[-2], cx.shape[-1])
        if self.batch_first:
            x = x.transpose(0, 1)
        return x, (hx, cx)

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """The observed LSTM of an ``nn.LSTM`` that has ``qconfig``.

        Raises:
            AssertionError: for other classes, and without a configuration.
        """
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig") and not qconfig:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        made: Any = cls(
            other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first,
            other.dropout, other.bidirectional, split_gates=split_gates,
        )  # fmt: skip
        made.qconfig = getattr(other, "qconfig", qconfig)
        for i in range(other.num_layers):
            made.layers[i] = _LSTMLayer.from_float(
                other, i, qconfig, batch_first=False, split_gates=split_gates
            )
        if other.training:
            made.train()
            return torch.ao.quantization.prepare_qat(made, inplace=True)
        made.eval()
        return torch.ao.quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Is for ``torch.ao.nn.quantized.LSTM``.

        Raises:
            NotImplementedError: always.
        """
        del other
        raise NotImplementedError(
            "It looks like you are trying to convert a non-quantizable LSTM module. Please, see "
            "the examples on quantizable LSTMs."
        )
