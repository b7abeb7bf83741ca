"""Layers written out so that each of their steps can be observed: ``LSTMCell``. They compute with
floats."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.refusals.names import names

from ..quantized import FloatFunctional


class _SplitGates(nn.Module):
    """One linear layer for each gate, side by side as those of one layer would be."""

    def __init__(self, features: int, hidden: int, bias: bool, **factory: Any) -> None:
        super().__init__()
        for gate in ("input", "forget", "cell", "output"):
            self.add_module(gate, nn.Linear(features, hidden, bias=bias, **factory))

    def __getitem__(self, gate: str) -> nn.Module:
        return self._modules[gate]

    def forward(self, x: object) -> Any:
        """The gates' values, one after the other in the last dimension."""
        return torch.cat([gate(x) for gate in self.children()], -1)


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
        self.input_size, self.hidden_size, self.bias, self.split_gates = (
            input_dim,
            hidden_dim,
            bias,
            split_gates,
        )
        factory = {"device": device, "dtype": dtype}
        if split_gates:
            self.igates: nn.Module = _SplitGates(input_dim, hidden_dim, bias, **factory)
            self.hgates: nn.Module = _SplitGates(hidden_dim, hidden_dim, bias, **factory)
        else:
            self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **factory)
            self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **factory)
        self.gates = FloatFunctional()
        self.input_gate, self.forget_gate, self.cell_gate, self.output_gate = (
            nn.Sigmoid(),
            nn.Sigmoid(),
            nn.Tanh(),
            nn.Sigmoid(),
        )
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        self.initial_hidden_state_qparams, self.initial_cell_state_qparams = (1.0, 0), (1.0, 0)
        self.hidden_state_dtype = self.cell_state_dtype = None

    def forward(
        self, x: torch.Tensor, hidden: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[Any, Any]:
        """The next hidden state and the next cell state."""
        hx, cx = (
            self.initialize_hidden(x.shape[0])
            if hidden is None or hidden[0] is None or hidden[1] is None
            else hidden
        )
        i, f, c, o = self.gates.add(self.igates(x), self.hgates(hx)).chunk(4, 1)
        i, f, c, o = self.input_gate(i), self.forget_gate(f), self.cell_gate(c), self.output_gate(o)
        cy = self.fgate_cx_igate_cgate.add(self.fgate_cx.mul(f, cx), self.igate_cgate.mul(i, c))
        # The activation of the new state has no module of its own in PyTorch either.
        return self.ogate_cy.mul(o, torch.tanh(cy)), cy

    def initialize_hidden(
        self, batch_size: int, is_quantized: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """States of zeros.

        Raises:
            NotImplementedError: for quantised ones.
        """
        if is_quantized:
            raise not_offered(
                "ao.nn.quantizable.LSTMCell.initialize_hidden(is_quantized=True)",
                "quantised tensors are left out",
            )
        zeros = torch.zeros((batch_size, self.hidden_size))
        return zeros, zeros

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
        assert (bi is None) == (bh is None)
        cell = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for layer, weight, bias in ((cell.igates, wi, bi), (cell.hgates, wh, bh)):
            if split_gates:
                layers = list(layer.children())
                weights, biases = (
                    weight.chunk(4, 0),
                    [None] * 4 if bias is None else bias.chunk(4, 0),
                )
            else:
                layers, weights, biases = [layer], [weight], [bias]
            for one, w, b in zip(layers, weights, biases, strict=True):
                one.weight = nn.Parameter(w)
                if b is not None:
                    one.bias = nn.Parameter(b)
        return cell


__all__ = [*names()["ao.nn.quantizable"], "LSTMCell"]  # noqa: PLE0604  # pyright: ignore
__getattr__ = _refusals.missing(__name__)
