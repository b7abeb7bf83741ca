"""Convolutions of integers."""

from __future__ import annotations

from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F

from ._weights import (
    WeightedQuantizedModule,
    _fused_batch_norm,
    _quantize_weight,
    _scale_and_zero,
)


def _many(x: Any, n: int) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,) * n


class _ConvNd(WeightedQuantizedModule):
    """Base of the quantised convolutions.

    Attributes:
        scale: the scale of results.
        zero_point: their zero point.
    """

    _n: ClassVar[int] = 2
    _transposed: ClassVar[bool] = False
    _FLOAT_MODULE: Any = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        n = self._n
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = _many(kernel_size, n), _many(stride, n)
        self.padding = padding if isinstance(padding, str) else _many(padding, n)
        self.dilation, self.groups = _many(dilation, n), groups
        self.transposed, self.output_padding = self._transposed, _many(output_padding, n)
        self.padding_mode = padding_mode
        if padding_mode not in ("zeros", "reflect"):
            raise ValueError(
                f"'padding_mode' {padding_mode} is not supported by quantized convolution"
            )
        shape = (
            [in_channels, out_channels // groups]
            if self._transposed
            else [out_channels, in_channels // groups]
        )
        weight = torch._empty_affine_quantized(
            [*shape, *self.kernel_size], scale=1, zero_point=0, dtype=torch.qint8
        )
        self.set_weight_bias(weight, torch.zeros(out_channels) if bias else None)
        self.scale: Any = 1.0
        self.zero_point: Any = 0

    def _get_name(self) -> str:
        return f"QuantizedConv{'Transpose' if self._transposed else ''}{self._n}d"

    def _placed(self) -> tuple[int, ...]:
        if self.padding_mode != "zeros":
            return (0,) * self._n
        if isinstance(self.padding, str):
            if self.padding == "valid":
                return (0,) * self._n
            sizes = zip(self.dilation, self.kernel_size, strict=True)
            return tuple(d * (k - 1) // 2 for d, k in sizes)
        return self.padding

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Packs a weight and a bias."""
        ops, n = torch.ops.quantized, self._n
        if self._transposed:
            self._packed_params = getattr(ops, f"conv_transpose{n}d_prepack")(
                w, b, self.stride, self._placed(), self.output_padding, self.dilation, self.groups
            )
        else:
            self._packed_params = getattr(ops, f"conv{n}d_prepack")(
                w, b, self.stride, self._placed(), self.dilation, self.groups
            )

    def _weight_bias(self) -> Any:
        word = "conv_transpose" if self._transposed else "conv"
        return getattr(torch.ops.quantized, f"{word}{self._n}d_unpack")(self._packed_params)

    def weight(self) -> Any:
        """The quantised weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias."""
        return self._weight_bias()[1]

    def _padded(self, x: Any) -> Any:
        if x.dim() != self._n + 2:
            shape = (
                "(N, C, L)"
                if self._n == 1
                else "`(N, C, H, W)`"
                if self._n == 2
                else ("`(N, C, D, H, W)`")
            )
            raise ValueError(f"Input shape must be {shape}!")
        if self.padding_mode == "zeros":
            return x
        sides = [p for p in reversed(_many(self.padding, self._n)) for _ in range(2)]
        return F.pad(x, sides, mode=self.padding_mode)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        word = "conv_transpose" if self._transposed else "conv"
        return getattr(torch.ops.quantized, f"{word}{self._n}d")(
            self._padded(input), self._packed_params, self.scale, self.zero_point
        )

    def extra_repr(self) -> str:
        """Sizes, grid and how windows lie."""
        first = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, scale={self.scale}, zero_point={self.zero_point}"
        )
        parts = [first]
        if self.padding != (0,) * self._n:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self._n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * self._n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias() is None:
            parts.append("bias=False")
        return ", ".join(parts)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        weight, bias = self._weight_bias()
        destination[prefix + "weight"] = weight
        destination[prefix + "bias"] = bias
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    @classmethod
    def _made(cls, mod: Any, weight: Any, bias: Any) -> Any:
        options: dict[str, Any] = {}
        if cls._transposed:
            options["output_padding"] = mod.output_padding
        made = cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, mod.stride, mod.padding,
            dilation=mod.dilation, groups=mod.groups, bias=bias is not None,
            padding_mode=mod.padding_mode, **options,
        )  # fmt: skip
        made.set_weight_bias(weight, bias)
        return made

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of an observed or trained one with floats.

        Raises:
            AssertionError: for modules of another class, or without a configuration.
        """
        outer = mod
        trained = hasattr(mod, "weight_fake_quant")
        if not trained and isinstance(mod, nn.Sequential):
            mod = mod[0]
        elif not trained and type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f" nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__} but "
                f"got:{type(mod)}"
            )
        config = getattr(mod, "qconfig", None) or getattr(outer, "qconfig", None)
        if config is None:
            raise AssertionError("Input float module must have qconfig defined.")
        weight, bias = _fused_batch_norm(mod)
        observer = mod.weight_fake_quant if trained else config.weight()
        if not (trained and use_precomputed_fake_quant):
            observer(weight)
        if observer.dtype is not torch.qint8:
            raise AssertionError("Weight observer must have a dtype of qint8")
        made = cls._made(mod, _quantize_weight(weight, observer), bias)
        if not _is_dynamic(mod, config):
            made.scale, made.zero_point = _scale_and_zero(outer)
        return made

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""
        if isinstance(ref_qconv, nn.Sequential):
            ref_qconv = ref_qconv[0]
        made = cls._made(ref_qconv, ref_qconv.get_quantized_weight(), ref_qconv.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


def _is_dynamic(mod: Any, config: Any) -> bool:
    observer = getattr(mod, "activation_post_process", None) or config.activation()
    return bool(getattr(observer, "is_dynamic", False)) or observer.dtype in (
        torch.float, torch.float16
    )  # fmt: skip


class Conv1d(_ConvNd):
    """A convolution of rows whose input, weight and result are quantised."""

    _n = 1
    _FLOAT_MODULE: Any = nn.Conv1d


class Conv2d(_ConvNd):
    """A convolution of images whose input, weight and result are quantised.

    Examples:
        >>> import jtorch as torch
        >>> layer = torch.ao.nn.quantized.Conv2d(3, 8, 3, padding=1)
        >>> x = torch.quantize_per_tensor(torch.randn(1, 3, 5, 5), 0.1, 0, torch.quint8)
        >>> layer(x).shape
        torch.Size([1, 8, 5, 5])
    """

    _n = 2
    _FLOAT_MODULE: Any = nn.Conv2d


class Conv3d(_ConvNd):
    """A convolution of volumes whose input, weight and result are quantised."""

    _n = 3
    _FLOAT_MODULE: Any = nn.Conv3d


class _ConvTransposeNd(_ConvNd):
    """Base of the transposed ones, whose parameters come in another order."""

    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {self.__class__.__name__}'
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype, output_padding,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution of rows whose input, weight and result are quantised."""

    _n = 1
    _FLOAT_MODULE: Any = nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution of images whose input, weight and result are quantised."""

    _n = 2
    _FLOAT_MODULE: Any = nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution of volumes whose input, weight and result are quantised."""

    _n = 3
    _FLOAT_MODULE: Any = nn.ConvTranspose3d
