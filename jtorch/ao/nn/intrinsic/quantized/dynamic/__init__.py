"""Layers that belong together, whose inputs are quantised as they come."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from ....quantized.dynamic import Linear as _Linear
from ... import LinearReLU as _LinearReLU


class LinearReLU(_Linear):
    """A linear layer with a quantised weight, and a ReLU."""

    _FLOAT_MODULE: Any = _LinearReLU

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The result, in the dtype of the input."""
        packed = self._packed_params
        if packed.dtype is torch.qint8:
            found = torch.ops.quantized.linear_relu_dynamic(
                x, packed._packed_params, reduce_range=True
            )
        else:
            found = torch.ops.quantized.linear_relu_dynamic_fp16(x, packed._packed_params)
        return found.to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "linear_relu": (LinearReLU,),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
