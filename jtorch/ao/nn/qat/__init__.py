"""Layers that round their weights to a grid as they train."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.nn import functional as F


def _fake_quantised(module: Any, qconfig: Any, device: Any = None, dtype: Any = None) -> None:
    """Gives a layer its configuration, and what rounds its weight, whose bounds are of ``dtype``.

    Raises:
        AssertionError: without a configuration.
    """
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    module.qconfig = qconfig
    module.weight_fake_quant = qconfig.weight(factory_kwargs={"device": device, "dtype": dtype})


def _plain(cls: Any, mod: Any) -> Any:
    """The layer with the weights: the first of those that belong together.

    Raises:
        AssertionError: for modules of another class, or without a configuration.
    """
    if type(mod) is not cls._FLOAT_MODULE:
        raise AssertionError(
            f" qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}"
        )
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError("Input float module must have a valid qconfig")
    return mod[0] if isinstance(mod, nn.Sequential) else mod


class Linear(nn.Linear):
    """A linear layer that rounds its weight.

    Attributes:
        weight_fake_quant: what rounds it.
    """

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        _fake_quantised(self, qconfig, device, dtype)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of one with a configuration."""
        config, mod = getattr(mod, "qconfig", None), _plain(cls, mod)
        made = cls(mod.in_features, mod.out_features, bias=mod.bias is not None, qconfig=config)
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def to_float(self) -> Any:
        """The layer without rounding."""
        made = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made


class _ConvNd(nn.modules.conv._ConvNd):
    _FLOAT_MODULE: Any = None

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _fake_quantised(self, qconfig, kwargs.get("device"), kwargs.get("dtype"))

    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of one with a configuration."""
        config, mod = getattr(mod, "qconfig", None), _plain(cls, mod)
        made: Any = cls(
            mod.in_channels, mod.out_channels, mod.kernel_size, stride=mod.stride,
            padding=mod.padding, dilation=mod.dilation, groups=mod.groups,
            bias=mod.bias is not None, padding_mode=mod.padding_mode, qconfig=config,
        )  # fmt: skip
        made.weight, made.bias = mod.weight, mod.bias
        return made

    def to_float(self: Any) -> Any:
        """The layer without rounding."""
        kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[len(self.kernel_size)]
        made = kind(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding,
            self.dilation, self.groups, self.bias is not None, self.padding_mode,
        )  # fmt: skip
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = nn.Parameter(self.bias.detach())
        made.train(self.training)
        return made


class Conv1d(_ConvNd, nn.Conv1d):
    """A convolution of rows that rounds its weight."""

    _FLOAT_MODULE: Any = nn.Conv1d


class Conv2d(_ConvNd, nn.Conv2d):
    """A convolution of images that rounds its weight."""

    _FLOAT_MODULE: Any = nn.Conv2d


class Conv3d(_ConvNd, nn.Conv3d):
    """A convolution of volumes that rounds its weight."""

    _FLOAT_MODULE: Any = nn.Conv3d


def _rounded_table(module: Any, qconfig: Any, words: str) -> None:
    """The same for a table, whose rows have grids of floats.

    Raises:
        AssertionError: for other grids.
    """
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    _check_rows(qconfig, words)
    _fake_quantised(module, qconfig)


def _check_rows(qconfig: Any, words: str) -> None:
    scheme = qconfig.weight().qscheme
    if scheme is not torch.per_channel_affine_float_qparams:
        raise AssertionError(
            f"{words} weights requires a qscheme of torch.per_channel_affine_float_qparams Got "
            f"{scheme}"
        )


class Embedding(nn.Embedding):
    """A table that is rounded."""

    _FLOAT_MODULE: Any = nn.Embedding

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _rounded_table(self, qconfig, "Embedding")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Rows of the rounded table."""
        return F.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm,
            self.norm_type, self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The table of one with a configuration."""
        config, mod = getattr(mod, "qconfig", None), _plain(cls, mod)
        _check_rows(config, "Embedding")
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.sparse, mod.weight, qconfig=config,
        )  # fmt: skip

    def to_float(self) -> Any:
        """The table without rounding."""
        return nn.Embedding(
            self.num_embeddings, self.embedding_dim, self.padding_idx, self.max_norm,
            self.norm_type, self.scale_grad_by_freq, self.sparse, self.weight.detach(),
        )  # fmt: skip


class EmbeddingBag(nn.EmbeddingBag):
    """A table that is rounded, whose rows are summed up."""

    _FLOAT_MODULE: Any = nn.EmbeddingBag

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _rounded_table(self, qconfig, "Embedding Bag")

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sums of rows of the rounded table."""
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The table of one with a configuration."""
        config, mod = getattr(mod, "qconfig", None), _plain(cls, mod)
        _check_rows(config, "Embedding Bag")
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.mode, mod.sparse, mod.weight, mod.include_last_offset,
            mod.padding_idx, qconfig=config,
        )  # fmt: skip

    def to_float(self) -> Any:
        """The table without rounding."""
        return nn.EmbeddingBag(
            self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, self.weight.detach(),
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "linear": (Linear,),
    "conv": (
        Conv1d,
        Conv2d,
        Conv3d,
    ),
    "embedding_ops": (
        Embedding,
        EmbeddingBag,
    ),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
