"""Layers that belong together, with quantised inputs, weights and results."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

from ...quantized import _conv, _linear, _others
from .. import BNReLU2d as _BNReLU2d
from .. import BNReLU3d as _BNReLU3d
from .. import ConvAdd2d as _ConvAdd2d
from .. import ConvAddReLU2d as _ConvAddReLU2d
from .. import ConvReLU1d as _ConvReLU1d
from .. import ConvReLU2d as _ConvReLU2d
from .. import ConvReLU3d as _ConvReLU3d
from .. import LinearLeakyReLU as _LinearLeakyReLU
from .. import LinearReLU as _LinearReLU
from .. import LinearTanh as _LinearTanh

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU",
    "LinearLeakyReLU", "LinearTanh", "ConvAdd2d", "ConvAddReLU2d",
]  # fmt: skip


class _ReLU:
    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return getattr(torch.ops.quantized, f"conv{self._n}d_relu")(
            self._padded(input), self._packed_params, self.scale, self.zero_point
        )

    def _get_name(self: Any) -> str:
        return f"QuantizedConvReLU{self._n}d"


class ConvReLU1d(_ReLU, _conv.Conv1d):
    """A convolution of rows and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU1d


class ConvReLU2d(_ReLU, _conv.Conv2d):
    """A convolution of images and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU2d


class ConvReLU3d(_ReLU, _conv.Conv3d):
    """A convolution of volumes and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU3d


class _Adds:
    _operator = "conv2d_add"

    def forward(self: Any, input: torch.Tensor, extra_input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return getattr(torch.ops.quantized, self._operator)(
            self._padded(input), extra_input, self._packed_params, self.scale, self.zero_point
        )


class ConvAdd2d(_Adds, _conv.Conv2d):
    """A convolution of images to whose result another tensor is added."""

    _FLOAT_MODULE: Any = _ConvAdd2d

    def _get_name(self) -> str:
        return "QuantizedConvAdd2d"


class ConvAddReLU2d(_Adds, _conv.Conv2d):
    """The same, and a ReLU."""

    _operator = "conv2d_add_relu"
    _FLOAT_MODULE: Any = _ConvAddReLU2d

    def _get_name(self) -> str:
        return "QuantizedConvAddReLU2d"


class LinearReLU(_linear.Linear):
    """A linear layer and a ReLU.

    Examples:
        >>> import jtorch as torch
        >>> layer = torch.ao.nn.intrinsic.quantized.LinearReLU(20, 30)
        >>> x = torch.quantize_per_tensor(torch.randn(2, 20), 0.1, 0, torch.quint8)
        >>> layer(x).shape
        torch.Size([2, 30])
    """

    _FLOAT_MODULE: Any = _LinearReLU

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.linear_relu(
            x, self._packed_params._packed_params, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


class LinearLeakyReLU(_linear.Linear):
    """A linear layer and a leaky ReLU."""

    _FLOAT_MODULE: Any = _LinearLeakyReLU

    def __init__(
        self, in_features: int, out_features: int, negative_slope: float = 0.01, bias: bool = True,
        dtype: Any = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.linear_leaky_relu(
            x, self._packed_params._packed_params, self.scale, self.zero_point, self.negative_slope
        )

    def _get_name(self) -> str:
        return "QuantizedLinearLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed one."""
        made = super().from_float(mod, use_precomputed_fake_quant)
        made.negative_slope = mod[1].negative_slope
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""
        made = super().from_reference(ref_qlinear, output_scale, output_zero_point)
        made.negative_slope = ref_qlinear[1].negative_slope
        return made


class LinearTanh(_linear.Linear):
    """A linear layer and a hyperbolic tangent."""

    _FLOAT_MODULE: Any = _LinearTanh

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.linear_tanh(
            x, self._packed_params._packed_params, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLinearTanh"


class _NormReLU:
    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return self._applied(input, "_relu")

    def _get_name(self: Any) -> str:
        return f"QuantizedBNReLU{self._n}d"


class BNReLU2d(_NormReLU, _others.BatchNorm2d):
    """Batch normalisation of images and a ReLU."""

    _FLOAT_MODULE: Any = _BNReLU2d


class BNReLU3d(_NormReLU, _others.BatchNorm3d):
    """Batch normalisation of volumes and a ReLU."""

    _FLOAT_MODULE: Any = _BNReLU3d


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "bn_relu": (
        BNReLU2d,
        BNReLU3d,
    ),
    "conv_relu": (
        ConvReLU1d,
        ConvReLU2d,
        ConvReLU3d,
    ),
    "conv_add": (
        ConvAdd2d,
        ConvAddReLU2d,
    ),
    "linear_relu": (
        LinearReLU,
        LinearLeakyReLU,
        LinearTanh,
    ),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
