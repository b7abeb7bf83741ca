"""Quantising and its reverse, activations, normalisation and embeddings as modules."""

from __future__ import annotations

from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn

from ._weights import _hide_packed_params_repr, _observed, _quantize_weight, _scale_and_zero


class Quantize(nn.Module):
    """Quantises its input.

    Args:
        scale: the scale.
        zero_point: the zero point.
        dtype: the quantised dtype.

    Examples:
        >>> import jtorch as torch
        >>> torch.ao.nn.quantized.Quantize(1.0, 2, torch.qint8)(torch.tensor([[1.0, -1.0]]))
        tensor([[ 1., -1.]], size=(1, 2), dtype=torch.qint8,
               quantization_scheme=torch.per_tensor_affine, scale=1.0, zero_point=2)
    """

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        options = {k: v for k, v in (factory_kwargs or {}).items() if k == "device"}
        self.register_buffer("scale", torch.tensor([scale], **options))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long, **options))
        self.dtype = dtype

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """The quantised input."""
        return torch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """The module of a stub that was observed."""
        scale, zero = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), zero.long().item(), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        """The grid."""
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """Makes floats of its input."""

    def forward(self, Xq: torch.Tensor) -> torch.Tensor:
        """The numbers."""
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """The module of a stub."""
        return DeQuantize()


# ---- activations ---------------------------------------------------------------------------------


class ReLU6(nn.ReLU):
    """Numbers from 0 to 6, on the grid of the input."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """The module of one with floats."""
        return ReLU6(mod.inplace)


def _grid_buffers(
    module: Any, scale: Any, zero_point: Any, device: Any = None, dtype: Any = None
) -> None:
    """Gives a layer its grid, both numbers of ``dtype`` if there is one, as in PyTorch."""
    options = {"device": device, "dtype": dtype}
    module.register_buffer("scale", torch.tensor(float(scale), **options))
    module.register_buffer("zero_point", torch.tensor(int(zero_point), **options))


class Hardswish(nn.Hardswish):
    """Hardswish on a grid of its own."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(self, scale: Any, zero_point: Any, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        _grid_buffers(self, scale, zero_point, device, dtype)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.hardswish(input, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedHardswish"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return Hardswish(*_scale_and_zero(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(float(scale), int(zero_point))


class ELU(nn.ELU):
    """ELU on a grid of its own."""

    def __init__(self, scale: Any, zero_point: Any, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return ELU(*_scale_and_zero(mod), mod.alpha)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(float(scale), int(zero_point), mod.alpha)


class LeakyReLU(nn.LeakyReLU):
    """Leaky ReLU on a grid of its own."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self,
        scale: Any,
        zero_point: Any,
        negative_slope: float = 0.01,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(negative_slope, inplace)
        _grid_buffers(self, scale, zero_point, device, dtype)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.leaky_relu(
            input, self.negative_slope, self.inplace, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return cls(*_scale_and_zero(mod), mod.negative_slope, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(float(scale), int(zero_point), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """Sigmoid on a grid of its own."""

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return cls(*_scale_and_zero(mod))


class Softmax(nn.Softmax):
    """Softmax on a grid of its own."""

    def __init__(self, dim: Any = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return torch.ops.quantized.softmax(input, dim, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return Softmax(mod.dim, *_scale_and_zero(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(mod.dim, float(scale), int(zero_point))


class PReLU(nn.Module):
    """PReLU with quantised slopes on a grid of its own."""

    def __init__(
        self, output_scale: float, output_zero_point: int, num_parameters: int = 1
    ) -> None:
        super().__init__()
        self.num_parameters, self.scale, self.zero_point = (
            num_parameters, output_scale, output_zero_point,
        )  # fmt: skip
        self.set_weight(
            torch.quantize_per_tensor(
                torch.randn(num_parameters, dtype=torch.float), 1.0, 0, torch.quint8
            )
        )

    def set_weight(self, w: Any) -> None:
        """Takes other slopes."""
        self.weight = w

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result."""
        return torch.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        made = cls(*_scale_and_zero(mod), mod.num_parameters)
        observer = mod.qconfig.weight()
        observer(mod.weight)
        if observer.dtype is not torch.quint8:
            raise AssertionError("PReLU weight observer must have dtype quint8")
        made.set_weight(_quantize_weight(mod.weight, observer))
        return made

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats and a configuration."""
        made = cls.from_float(mod)
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made


# ---- normalisation -------------------------------------------------------------------------------


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    _n: ClassVar[int] = 2
    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, True, True, device=device, dtype=dtype)
        _grid_buffers(self, 1.0, 0, device, dtype)

    def _get_name(self) -> str:
        return f"QuantizedBatchNorm{self._n}d"

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() != self._n + 2:
            raise ValueError("Input shape must be `(N, C, H, W)`!")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return self._applied(input, "")

    def _applied(self, input: Any, word: str) -> Any:
        self._check_input_dim(input)
        return getattr(torch.ops.quantized, f"batch_norm{self._n}d{word}")(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps,
            self.scale, self.zero_point,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        scale, zero = _scale_and_zero(mod)
        if isinstance(mod, nn.Sequential):
            mod = mod[0]
        made = cls(mod.num_features, mod.eps)
        made.weight, made.bias = mod.weight, mod.bias
        made.running_mean, made.running_var = mod.running_mean, mod.running_var
        _grid_buffers(made, scale, zero)
        return made

    @classmethod
    def from_reference(cls, bn: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The module of one with floats."""
        if isinstance(bn, nn.Sequential):
            bn = bn[0]
        made = cls(bn.num_features, bn.eps, device=bn.weight.device, dtype=bn.weight.dtype)
        made.weight, made.bias = bn.weight, bn.bias
        made.running_mean, made.running_var = bn.running_mean, bn.running_var
        _grid_buffers(made, output_scale, output_zero_point)
        return made


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of quantised images by given statistics."""

    _n = 2


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of quantised volumes by given statistics."""

    _n = 3


class LayerNorm(nn.LayerNorm):
    """Layer normalisation on a grid of its own."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self, normalized_shape: Any, weight: Any, bias: Any, scale: Any, zero_point: Any,
        eps: float = 1e-5, elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            normalized_shape, eps=eps, elementwise_affine=elementwise_affine, device=device,
            dtype=dtype,
        )  # fmt: skip
        self.weight, self.bias = weight, bias
        _grid_buffers(self, scale, zero_point, device, dtype)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale,
            self.zero_point,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return cls.from_reference(mod, *_scale_and_zero(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(
            mod.normalized_shape, mod.weight, mod.bias, float(scale), int(zero_point), mod.eps,
            mod.elementwise_affine,
        )  # fmt: skip


class GroupNorm(nn.GroupNorm):
    """Group normalisation on a grid of its own."""

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: Any,
        zero_point: Any, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine, device=device, dtype=dtype)
        self.weight, self.bias = weight, bias
        _grid_buffers(self, scale, zero_point, device, dtype)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        scale, zero = _scale_and_zero(mod)
        return cls(
            mod.num_groups, mod.num_channels, mod.weight, mod.bias, scale, zero, mod.eps, mod.affine
        )


class _InstanceNorm(nn.modules.instancenorm._InstanceNorm):
    _n: ClassVar[int] = 1
    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self, num_features: int, weight: Any, bias: Any, scale: Any, zero_point: Any,
        eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype
        )
        self.weight, self.bias = weight, bias
        _grid_buffers(self, scale, zero_point, device, dtype)

    def _get_no_batch_dim(self) -> int:
        return self._n + 1

    def _check_input_dim(self, input: Any) -> None:
        pass

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The quantised result."""
        return torch.ops.quantized.instance_norm(
            input, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return f"QuantizedInstanceNorm{self._n}d"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of an observed one."""
        return cls.from_reference(mod, *_scale_and_zero(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module of one with floats."""
        return cls(
            mod.num_features, mod.weight, mod.bias, float(scale), int(zero_point), mod.eps,
            mod.affine,
        )  # fmt: skip


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of rows on a grid of its own."""


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images on a grid of its own."""

    _n = 2


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes on a grid of its own."""

    _n = 3


# ---- embeddings ----------------------------------------------------------------------------------


class EmbeddingPackedParams(nn.Module):
    """The packed table of an embedding, which states of models hold."""

    _version = 1

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = torch.quint8) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype is not torch.quint8:
            raise NotImplementedError(
                "embeddings are offered by jtorch with rows of quint8; Unsupported dtype on "
                f"quantized embedding: {dtype}"
            )
        scales = torch.ones(num_embeddings, dtype=torch.float)
        self.set_weight(
            torch._empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim],
                scales=scales,
                zero_points=torch.zeros(num_embeddings),
                axis=0,
                dtype=torch.quint8,
            )
        )

    def set_weight(self, weight: Any) -> None:
        """Packs a table."""
        self._packed_weight = torch.ops.quantized.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return torch.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The value."""
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(nn.Module):
    """Rows of a quantised table, as floats.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: their size.

    Examples:
        >>> import jtorch as torch
        >>> table = torch.ao.nn.quantized.Embedding(10, 12)
        >>> table(torch.tensor([9, 6, 5])).shape
        torch.Size([3, 12])
    """

    _version = 1
    _name: ClassVar[str] = "QuantizedEmbedding"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        dtype: Any = torch.quint8,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if _weight is None:
            scales = torch.ones(num_embeddings, dtype=torch.float)
            _weight = torch._empty_per_channel_affine_quantized(
                [num_embeddings, embedding_dim], scales=scales,
                zero_points=torch.zeros(num_embeddings), axis=0, dtype=torch.quint8,
            )  # fmt: skip
        elif [*_weight.shape] != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        self._packed_params.set_weight(_weight)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        """The rows."""
        return torch.ops.quantized.embedding_byte(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, EmbeddingPackedParams)

    def extra_repr(self) -> str:
        """Sizes and scheme."""
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: Any) -> None:
        """Packs another table."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """The quantised table."""
        return self._packed_params._weight()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of one with floats and a configuration.

        Raises:
            AssertionError: for other configurations than of floats for each row.
        """
        weight = _table(cls, mod)
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.set_weight(weight)
        return made

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Any:
        """The module of one that rounds its table."""
        made = cls(ref_embedding.num_embeddings, ref_embedding.embedding_dim)
        made.set_weight(ref_embedding.get_quantized_weight())
        return made


def _table(cls: type, mod: Any) -> Any:
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Embedding input float module must have qconfig defined")
    if mod.qconfig is not None and mod.qconfig.weight is not None:
        observer = _observed(mod, mod.weight)
    else:
        observer = torch.ao.quantization.float_qparams_weight_only_qconfig.weight()
        observer(mod.weight)
    if observer.qscheme is not torch.per_channel_affine_float_qparams:
        raise AssertionError(
            f"{cls.__name__} quantization is only supported with float_qparams_weight_only_qconfig."
        )
    return _quantize_weight(mod.weight.float(), observer)


class EmbeddingBag(Embedding):
    """Sums of rows of a quantised table, as floats."""

    _name = "QuantizedEmbeddingBag"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "sum",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        dtype: Any = torch.quint8,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.pruned_weights, self.include_last_offset = mode, False, include_last_offset
        self.sparse = sparse

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None,
        compressed_indices_mapping: Any = None,
    ) -> Any:  # fmt: skip
        """The sums."""
        return torch.ops.quantized.embedding_bag_byte(
            self._packed_params._packed_weight, indices, offsets, False, 0, self.pruned_weights,
            per_sample_weights, compressed_indices_mapping, self.include_last_offset,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module of one with floats and a configuration."""
        weight = _table(cls, mod)
        made = cls(
            mod.num_embeddings, mod.embedding_dim, max_norm=mod.max_norm, norm_type=mod.norm_type,
            mode=mod.mode, include_last_offset=mod.include_last_offset,
        )  # fmt: skip
        made.set_weight(weight)
        return made

    @classmethod
    def from_reference(cls, ref_embedding: Any) -> Any:
        """The module of one that rounds its table."""
        made = cls(
            ref_embedding.num_embeddings, ref_embedding.embedding_dim,
            max_norm=ref_embedding.max_norm, norm_type=ref_embedding.norm_type,
            mode=ref_embedding.mode, include_last_offset=ref_embedding.include_last_offset,
        )  # fmt: skip
        made.set_weight(ref_embedding.get_quantized_weight())
        return made
