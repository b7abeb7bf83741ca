"""Linear layers of integers."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.ao.nn import intrinsic as nni

from ._weights import (
    WeightedQuantizedModule,
    _fused_batch_norm,
    _hide_packed_params_repr,
    _quantize_weight,
    _scale_and_zero,
)


class LinearPackedParams(nn.Module):
    """The packed weight and bias of a linear layer, which states of models hold."""

    _version = 3

    def __init__(self, dtype: Any = torch.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype is torch.qint8:
            weight = torch._empty_affine_quantized([1, 1], scale=1, zero_point=0, dtype=torch.qint8)
        else:
            weight = torch.zeros([1, 1], dtype=torch.float)
        self.set_weight_bias(weight, None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Packs a weight and a bias.

        Raises:
            RuntimeError: for dtypes that weights cannot have.
        """
        if self.dtype is torch.qint8:
            self._packed_params = torch.ops.quantized.linear_prepack(weight, bias)
        elif self.dtype is torch.float16:
            self._packed_params = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")

    def _weight_bias(self) -> Any:
        return torch.ops.quantized.linear_unpack(self._packed_params)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        self.dtype = (
            torch.qint8 if version is None or version < 2 else state_dict.pop(prefix + "dtype")
        )
        if version is None or version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """A linear layer whose input, weight and result are quantised.

    Attributes:
        scale: the scale of results.
        zero_point: their zero point.

    Args:
        in_features: the size of inputs.
        out_features: the size of results.
        bias_: whether there is a bias.
        dtype: of the weight.

    Examples:
        >>> import jtorch as torch
        >>> layer = torch.ao.nn.quantized.Linear(20, 30)
        >>> x = torch.quantize_per_tensor(torch.randn(2, 20), 0.1, 0, torch.quint8)
        >>> layer(x).shape
        torch.Size([2, 30])
    """

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias = torch.zeros(out_features, dtype=torch.float) if bias_ else None
        if dtype is torch.qint8:
            weight = torch._empty_affine_quantized(
                [out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8
            )
        elif dtype is torch.float16:
            weight = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale: Any = 1.0
        self.zero_point: Any = 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes, grid and scheme."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"scale={self.scale}, zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, LinearPackedParams)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.linear(
            x, self._packed_params._packed_params, self.scale, self.zero_point
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: Any, unexpected_keys: Any, error_msgs: Any,
    ) -> None:  # fmt: skip
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        version = local_metadata.get("version", None)
        if version is None or version == 1:
            weight, bias = state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias")
            state_dict.update(
                {
                    prefix + "_packed_params.weight": weight,
                    prefix + "_packed_params.bias": bias,
                }
            )
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def _weight_bias(self) -> Any:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The quantised weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Packs another weight and bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed or trained one with floats.

        Raises:
            AssertionError: for modules of another class, or without a configuration.
        """
        known = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
        trained = hasattr(mod, "weight_fake_quant")
        observer_of = mod
        if not trained:
            if type(mod) not in known and type(mod) not in (
                nni.LinearReLU, nni.LinearLeakyReLU, nni.LinearTanh
            ):  # fmt: skip
                names = [k.__name__ for k in known]
                raise AssertionError(
                    f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(mod)}"
                )
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined")
            if isinstance(mod, nn.Sequential):
                mod = mod[0]
        config = mod if hasattr(mod, "qconfig") and mod.qconfig else observer_of
        weight, bias = _fused_batch_norm(mod)
        observer = mod.weight_fake_quant if trained else config.qconfig.weight()
        if not (trained and use_precomputed_fake_quant):
            observer(weight)
        if observer.dtype is not torch.qint8:
            raise AssertionError("Weight observer must have dtype torch.qint8")
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(weight, observer), bias)
        made.scale, made.zero_point = _scale_and_zero(observer_of)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""
        if isinstance(ref_qlinear, nn.Sequential):
            ref_qlinear = ref_qlinear[0]
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made
