"""Layers that round their weights as they train, for models whose inputs are quantised as they
come."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from .. import Linear as _Linear


class Linear(_Linear):
    """A linear layer that rounds its weight."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not torch.ao.quantization.qconfig._activation_is_memoryless(qconfig):
            raise ValueError(
                "Dynamic QAT requires a memoryless observer."
                "This means a MovingAverage observer with averaging constant equal to 1"
            )


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "linear": (Linear,),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
