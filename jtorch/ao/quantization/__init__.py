"""Quantised modules, which are left out; the marks that models carry for them do nothing until a
model is quantised, and are offered."""

from __future__ import annotations

from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals

from ...core import Tensor
from .qconfig_mapping import QConfigMapping as QConfigMapping


class QuantStub(nn.Module):
    """Marks where values would be quantised: gives its input."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """Marks where values would be floats again: gives its input."""


class QuantWrapper(nn.Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.add_module("quant", QuantStub())
        self.add_module("dequant", DeQuantStub())
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Any:
        """The module's result."""
        return self.dequant(self.module(self.quant(X)))


def _remove_qconfig(module: nn.Module) -> None:
    """Takes what was to be quantised how from a module and those in it."""
    for inner in module.modules():
        there: Any = inner.__dict__
        there.pop("qconfig", None)
        inner._modules.pop("activation_post_process", None)


__getattr__ = _refusals.missing(__name__)
