"""Layers that belong together, as one module each: what ``fuse_modules`` makes."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
    "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU", "BNReLU2d", "BNReLU3d", "LinearBn1d",
    "LinearLeakyReLU", "LinearTanh", "ConvAdd2d", "ConvAddReLU2d",
]  # fmt: skip


class _FusedModule(nn.Sequential):
    """Base of layers that belong together."""


def _kind(module: Any) -> type:
    """The class that a module had before it was parametrised."""
    kind = type(module)
    return kind.__bases__[0] if kind.__name__.startswith("Parametrized") else kind


def _fused(name: str, *kinds: type, text: str) -> Any:
    """A class for one each of some classes."""

    def __init__(self: Any, *layers: nn.Module) -> None:
        if tuple(map(_kind, layers)) != kinds:
            shown = [k.__name__ for k in map(_kind, layers)]
            words = " and ".join(["".join(f"{w}, " for w in shown[:-1])[:-2], shown[-1]])
            raise AssertionError(f"Incorrect types for input modules: {words}")
        nn.Sequential.__init__(self, *layers)

    return type(
        name,
        (_FusedModule,),
        {"__init__": __init__, "__doc__": text, "__module__": __name__, "__qualname__": name},
    )


_CONV = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
_NORM = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}

ConvReLU1d = _fused("ConvReLU1d", nn.Conv1d, nn.ReLU, text="A convolution and a ReLU.")
ConvReLU2d = _fused("ConvReLU2d", nn.Conv2d, nn.ReLU, text="A convolution and a ReLU.")
ConvReLU3d = _fused("ConvReLU3d", nn.Conv3d, nn.ReLU, text="A convolution and a ReLU.")
LinearReLU = _fused("LinearReLU", nn.Linear, nn.ReLU, text="A linear layer and a ReLU.")
BNReLU2d = _fused("BNReLU2d", nn.BatchNorm2d, nn.ReLU, text="A normalisation and a ReLU.")
BNReLU3d = _fused("BNReLU3d", nn.BatchNorm3d, nn.ReLU, text="A normalisation and a ReLU.")
ConvBn1d, ConvBn2d, ConvBn3d = (
    _fused(f"ConvBn{n}d", _CONV[n], _NORM[n], text="A convolution and a normalisation.")
    for n in (1, 2, 3)
)
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (
    _fused(
        f"ConvBnReLU{n}d", _CONV[n], _NORM[n], nn.ReLU,
        text="A convolution, a normalisation and a ReLU.",
    )
    for n in (1, 2, 3)
)  # fmt: skip
LinearBn1d = _fused(
    "LinearBn1d", nn.Linear, nn.BatchNorm1d, text="A linear layer and a normalisation."
)
LinearLeakyReLU = _fused(
    "LinearLeakyReLU", nn.Linear, nn.LeakyReLU, text="A linear layer and a leaky ReLU."
)
LinearTanh = _fused("LinearTanh", nn.Linear, nn.Tanh, text="A linear layer and a tangent.")


class ConvAdd2d(_FusedModule):
    """A convolution to whose result another tensor is added."""

    def __init__(self, conv: Any, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """The sum."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A convolution to whose result another tensor is added, and a ReLU."""

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv)
        self.add, self.relu = add, relu

    def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        """The larger of the sum and 0."""
        return self.relu(self.add(self[0](x1), x2))


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "fused": (
        ConvBn1d,
        ConvBn2d,
        ConvBn3d,
        ConvBnReLU1d,
        ConvBnReLU2d,
        ConvBnReLU3d,
        ConvReLU1d,
        ConvReLU2d,
        ConvReLU3d,
        LinearReLU,
        BNReLU2d,
        BNReLU3d,
        LinearBn1d,
        LinearLeakyReLU,
        LinearTanh,
        ConvAdd2d,
        ConvAddReLU2d,
        _FusedModule,
    ),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
