"""Layers with quantised weights, whose inputs are quantised as they come and whose results are
floats."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn import intrinsic as nni
from jtorch.ao.nn.qat import dynamic as nnqatd

from .. import _conv
from .._linear import Linear as _Linear
from .._weights import _quantize_weight
from ._rnn import GRU as GRU
from ._rnn import LSTM as LSTM
from ._rnn import GRUCell as GRUCell
from ._rnn import LSTMCell as LSTMCell
from ._rnn import PackedParameter as PackedParameter
from ._rnn import RNNBase as RNNBase
from ._rnn import RNNCell as RNNCell
from ._rnn import RNNCellBase as RNNCellBase
from ._rnn import apply_permutation as apply_permutation
from ._rnn import pack_weight_bias as pack_weight_bias


class Linear(_Linear):
    """A linear layer with a quantised weight: inputs are quantised as they come, by their range.

    Examples:
        >>> import jtorch as torch
        >>> layer = torch.ao.nn.quantized.dynamic.Linear(20, 30)
        >>> layer(torch.randn(128, 20)).shape
        torch.Size([128, 30])
    """

    _version = 4

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The result, in the dtype of the input.

        Raises:
            RuntimeError: for weights of dtypes that are not offered.
        """
        packed = self._packed_params
        if packed.dtype is torch.qint8:
            found = torch.ops.quantized.linear_dynamic(
                x,
                packed._packed_params,
                reduce_range=self.version is not None and self.version >= 4,
            )
        elif packed.dtype is torch.float16:
            found = torch.ops.quantized.linear_dynamic_fp16(x, packed._packed_params)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
        return found.to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes, dtype and scheme."""
        text = (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"dtype={self._packed_params.dtype}"
        )
        if self._packed_params.dtype is torch.qint8:
            text += f", qscheme={self.weight().qscheme()}"
        return text

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        self.version = local_metadata.get("version", None)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of one with floats.

        Raises:
            AssertionError: for modules of another class, or without a configuration.
            RuntimeError: for dtypes that are not offered.
        """
        known = (
            nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear, nni.LinearReLU,
            nnqatd.Linear,
        )  # fmt: skip
        if type(mod) not in known:
            raise AssertionError(
                "nn.quantized.dynamic.Linear.from_float only works for one of "
                f"{[k.__name__ for k in known]}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        config = mod.qconfig
        if type(mod) is nni.LinearReLU:
            mod = mod[0]
        if config is not None and config.weight is not None:
            make = config.weight
        else:
            make = torch.ao.quantization.default_dynamic_qconfig.weight
        observer = getattr(mod, "weight_fake_quant", None) or make()
        dtype = observer.dtype
        if dtype not in (torch.qint8, torch.float16):
            raise AssertionError(
                "The only supported dtypes for dynamic quantized linear are qint8 and float16 "
                f"got: {dtype}"
            )
        observer(mod.weight)
        if dtype is torch.qint8:
            weight = _quantize_weight(mod.weight.float(), observer)
        else:
            weight = mod.weight.float()
        made = cls(mod.in_features, mod.out_features, dtype=dtype)
        made.set_weight_bias(weight, mod.bias)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""
        if isinstance(ref_qlinear, nn.Sequential):
            ref_qlinear = ref_qlinear[0]
        made = cls(
            ref_qlinear.in_features, ref_qlinear.out_features, dtype=ref_qlinear.weight_dtype
        )
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        return made


class _Dynamic:
    """What the convolutions here have in place of a grid for results."""

    _reduces = True

    def forward(self: Any, input: torch.Tensor, reduce_range: bool = True) -> torch.Tensor:
        """The result, as floats."""
        word = "conv_transpose" if self._transposed else "conv"
        return getattr(torch.ops.quantized, f"{word}{self._n}d_dynamic")(
            self._padded(input), self._packed_params, reduce_range
        )

    def _get_name(self: Any) -> str:
        return f"DynamicQuantizedConv{'Transpose' if self._transposed else ''}{self._n}d"


class Conv1d(_Dynamic, _conv.Conv1d):
    """A convolution of rows with a quantised weight; inputs are quantised as they come."""


class Conv2d(_Dynamic, _conv.Conv2d):
    """A convolution of images with a quantised weight; inputs are quantised as they come."""


class Conv3d(_Dynamic, _conv.Conv3d):
    """A convolution of volumes with a quantised weight; inputs are quantised as they come."""


class ConvTranspose1d(_Dynamic, _conv.ConvTranspose1d):
    """A transposed convolution of rows with a quantised weight."""


class ConvTranspose2d(_Dynamic, _conv.ConvTranspose2d):
    """A transposed convolution of images with a quantised weight."""


class ConvTranspose3d(_Dynamic, _conv.ConvTranspose3d):
    """A transposed convolution of volumes with a quantised weight."""


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "linear": (Linear,),
    "conv": (
        Conv1d,
        Conv2d,
        Conv3d,
        ConvTranspose1d,
        ConvTranspose2d,
        ConvTranspose3d,
    ),
    "rnn": (
        GRU,
        LSTM,
        GRUCell,
        LSTMCell,
        PackedParameter,
        RNNBase,
        RNNCell,
        RNNCellBase,
    ),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
