"""Layers whose inputs, weights and results are quantised, and operations as modules with a place
for an observer."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals

_FORWARD = (
    "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
)


class FXFloatFunctional(nn.Module):
    """Operations as methods of a module, whose results nobody looks at: what ``torch.fx``
    replaces."""

    def _observed(self, value: object) -> object:
        return value

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Is not meant to be called.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(_FORWARD)

    def add(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.add(x, y)``."""
        return self._observed(torch.add(x, y))

    def add_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """``torch.add(x, y)`` with a number, not observed."""
        return torch.add(x, y)

    def mul(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.mul(x, y)``."""
        return self._observed(torch.mul(x, y))

    def mul_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        """``torch.mul(x, y)`` with a number, not observed."""
        return torch.mul(x, y)

    def cat(self, x: list[torch.Tensor], dim: int = 0) -> Any:
        """``torch.cat(x, dim)``."""
        return self._observed(torch.cat(x, dim=dim))

    def add_relu(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.nn.functional.relu(torch.add(x, y))``."""
        return self._observed(nn.functional.relu(torch.add(x, y)))

    def matmul(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        """``torch.matmul(x, y)``."""
        return self._observed(torch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Operations as methods of a module, so that their results can be observed: they pass through
    ``activation_post_process``.

    Examples:
        >>> import jtorch as torch
        >>> f = torch.ao.nn.quantized.FloatFunctional()
        >>> f.add_relu(torch.tensor([-2.0, 2.0]), torch.ones(2))
        tensor([0., 3.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _observed(self, value: object) -> object:
        return self.activation_post_process(value)


class QFunctional(nn.Module):
    """Operations of quantised tensors as methods of a module, whose results have its grid.

    Attributes:
        scale: the scale of results.
        zero_point: their zero point.

    Examples:
        >>> import jtorch as torch
        >>> f = torch.ao.nn.quantized.QFunctional()
        >>> x = torch.quantize_per_tensor(torch.tensor([1.0]), 1.0, 0, torch.qint8)
        >>> f.add(x, x).dequantize()
        tensor([2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale: Any = 1.0
        self.zero_point: Any = 0
        self.activation_post_process = nn.Identity()

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        """The grid."""
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Is not meant to be called.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def _pair(self, name: str, x: Any, y: Any) -> Any:
        made = getattr(torch.ops.quantized, name)(
            x, y, scale=self.scale, zero_point=self.zero_point
        )
        return self.activation_post_process(made)

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""
        return self._pair("add", x, y)

    def add_scalar(self, x: Any, y: float) -> Any:
        """The sum with a number, whose grid follows from both."""
        return torch.ops.quantized.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """The product."""
        return self._pair("mul", x, y)

    def mul_scalar(self, x: Any, y: float) -> Any:
        """The product with a number, whose grid follows from both."""
        return torch.ops.quantized.mul_scalar(x, y)

    def cat(self, x: list[Any], dim: int = 0) -> Any:
        """The tensors one after the other."""
        made = torch.ops.quantized.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim)
        return self.activation_post_process(made)

    def add_relu(self, x: Any, y: Any) -> Any:
        """The larger of the sum and 0."""
        return self._pair("add_relu", x, y)

    def matmul(self, x: Any, y: Any) -> Any:
        """The product of matrices."""
        return torch.ops.quantized.matmul(x, y, scale=self.scale, zero_point=self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> QFunctional:
        """The module of an observed ``FloatFunctional``.

        Raises:
            AssertionError: for others.
        """
        if type(mod) is not FloatFunctional:
            raise AssertionError("QFunctional.from_float expects an instance of FloatFunctional")
        scale, zero = mod.activation_post_process.calculate_qparams()
        made = QFunctional()
        made.scale, made.zero_point = float(scale), int(zero)
        return made


class Dropout(nn.Dropout):
    """Dropout in a quantised model, which is never trained: gives its input."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The input."""
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of one with floats."""
        return cls(mod.p, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(mod.p, mod.inplace)


class MaxPool2d(nn.MaxPool2d):
    """Largest elements of windows, which need no other scale than their input's."""

    def _get_name(self) -> str:
        return "QuantizedMaxPool2d"


from . import functional as functional  # noqa: E402  (they are written with what is above)
from ._conv import Conv1d as Conv1d  # noqa: E402
from ._conv import Conv2d as Conv2d  # noqa: E402
from ._conv import Conv3d as Conv3d  # noqa: E402
from ._conv import ConvTranspose1d as ConvTranspose1d  # noqa: E402
from ._conv import ConvTranspose2d as ConvTranspose2d  # noqa: E402
from ._conv import ConvTranspose3d as ConvTranspose3d  # noqa: E402
from ._conv import _ConvNd as _ConvNd  # noqa: E402
from ._linear import Linear as Linear  # noqa: E402
from ._linear import LinearPackedParams as LinearPackedParams  # noqa: E402
from ._others import ELU as ELU  # noqa: E402
from ._others import BatchNorm2d as BatchNorm2d  # noqa: E402
from ._others import BatchNorm3d as BatchNorm3d  # noqa: E402
from ._others import DeQuantize as DeQuantize  # noqa: E402
from ._others import Embedding as Embedding  # noqa: E402
from ._others import EmbeddingBag as EmbeddingBag  # noqa: E402
from ._others import EmbeddingPackedParams as EmbeddingPackedParams  # noqa: E402
from ._others import GroupNorm as GroupNorm  # noqa: E402
from ._others import Hardswish as Hardswish  # noqa: E402
from ._others import InstanceNorm1d as InstanceNorm1d  # noqa: E402
from ._others import InstanceNorm2d as InstanceNorm2d  # noqa: E402
from ._others import InstanceNorm3d as InstanceNorm3d  # noqa: E402
from ._others import LayerNorm as LayerNorm  # noqa: E402
from ._others import LeakyReLU as LeakyReLU  # noqa: E402
from ._others import PReLU as PReLU  # noqa: E402
from ._others import Quantize as Quantize  # noqa: E402
from ._others import ReLU6 as ReLU6  # noqa: E402
from ._others import Sigmoid as Sigmoid  # noqa: E402
from ._others import Softmax as Softmax  # noqa: E402
from ._weights import WeightedQuantizedModule as WeightedQuantizedModule  # noqa: E402
from ._weights import _quantize_weight as _quantize_weight  # noqa: E402
from ._whole import LSTM as LSTM  # noqa: E402
from ._whole import MultiheadAttention as MultiheadAttention  # noqa: E402

#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "": (Quantize, DeQuantize, MaxPool2d),
    ".activation": (
        ELU,
        Hardswish,
        LeakyReLU,
        MultiheadAttention,
        PReLU,
        ReLU6,
        Sigmoid,
        Softmax,
    ),
    ".batchnorm": (BatchNorm2d, BatchNorm3d),
    ".conv": (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d),
    ".dropout": (Dropout,),
    ".embedding_ops": (Embedding, EmbeddingBag, EmbeddingPackedParams),
    ".functional_modules": (FloatFunctional, FXFloatFunctional, QFunctional),
    ".linear": (Linear, LinearPackedParams),
    ".normalization": (GroupNorm, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, LayerNorm),
    ".rnn": (LSTM,),
    ".utils": (WeightedQuantizedModule,),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules{_place}"

__all__ = [
    "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "ELU", "Embedding", "EmbeddingBag",
    "GroupNorm", "Hardswish", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm",
    "LeakyReLU", "Linear", "Quantize", "ReLU6", "Sigmoid", "Softmax",
    "LSTM", "MultiheadAttention", "Dropout", "PReLU", "FloatFunctional", "FXFloatFunctional",
    "QFunctional",
]  # fmt: skip
__getattr__ = _refusals.missing(__name__)
