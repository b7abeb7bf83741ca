"""Marks where values become quantised and floats again."""

from __future__ import annotations

from typing import Any

from jtorch import nn

from ...core import Tensor


class QuantStub(nn.Module):
    """Marks where values are to be quantised: gives its input until a model is converted."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class DeQuantStub(nn.Module):
    """Marks where values are to be floats again: gives its input until a model is converted."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class QuantWrapper(nn.Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        config = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(config))
        self.add_module("dequant", DeQuantStub(config))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        """The module's result."""
        return self.dequant(self.module(self.quant(X)))
