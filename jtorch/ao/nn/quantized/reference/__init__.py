"""Layers that keep floats, round their weights to a grid each time and compute with floats: what a
quantised model is made of before it is made for a backend."""

from __future__ import annotations

from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.nn import functional as F

from ._rnn import GRU as GRU
from ._rnn import LSTM as LSTM
from ._rnn import GRUCell as GRUCell
from ._rnn import LSTMCell as LSTMCell
from ._rnn import RNNBase as RNNBase
from ._rnn import RNNCell as RNNCell
from ._rnn import RNNCellBase as RNNCellBase
from ._rnn import get_quantized_weight as get_quantized_weight
from ._weights import ReferenceQuantizedModule as ReferenceQuantizedModule
from ._weights import _with_weights

__all__ = [
    "Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "RNNCell", "LSTMCell", "GRUCell", "LSTM", "GRU", "Embedding",
    "EmbeddingBag",
]  # fmt: skip


class Linear(nn.Linear, ReferenceQuantizedModule):
    """A linear layer that rounds its weight.

    Args:
        weight_qparams: ``qscheme``, ``dtype``, ``scale``, ``zero_point`` and ``axis`` of the grid.

    Examples:
        >>> import jtorch as torch
        >>> grid = {"qscheme": torch.per_tensor_affine, "dtype": torch.qint8, "scale": 0.5,
        ...         "zero_point": 0}
        >>> float_layer = torch.nn.Linear(2, 1, bias=False)
        >>> float_layer.weight = torch.nn.Parameter(torch.tensor([[0.6, 0.9]]))
        >>> torch.ao.nn.quantized.reference.Linear.from_float(float_layer, grid).get_weight()
        tensor([[0.5000, 1.0000]])
    """

    _IS_REFERENCE = True

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, device: Any = None,
        dtype: Any = None, weight_qparams: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias_, device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self) -> str:
        return "QuantizedLinear(Reference)"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return F.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear: Any, weight_qparams: dict[str, Any]) -> Linear:
        """The layer of one with floats."""
        made = Linear(
            float_linear.in_features, float_linear.out_features, float_linear.bias is not None,
            device=float_linear.weight.device, dtype=float_linear.weight.dtype,
            weight_qparams=weight_qparams,
        )  # fmt: skip
        return _with_weights(made, float_linear)


class _ConvNd(ReferenceQuantizedModule):
    _n: ClassVar[int] = 2
    _transposed: ClassVar[bool] = False
    _IS_REFERENCE = True

    def __init__(
        self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        layer: Any = super()
        layer.__init__(*args, **kwargs)
        self._init_weight_qparams(weight_qparams, kwargs.get("device"))

    def _get_name(self) -> str:
        return f"QuantizedConv{'Transpose' if self._transposed else ''}{self._n}d(Reference)"

    @classmethod
    def from_float(cls, float_conv: Any, weight_qparams: dict[str, Any]) -> Any:
        """The layer of one with floats."""
        c, more = float_conv, {}
        if cls._transposed:
            more["output_padding"] = c.output_padding
        made: Any = cls(
            c.in_channels, c.out_channels, c.kernel_size, stride=c.stride, padding=c.padding,
            dilation=c.dilation, groups=c.groups, bias=c.bias is not None,
            padding_mode=c.padding_mode, device=c.weight.device, dtype=c.weight.dtype,
            weight_qparams=weight_qparams, **more,
        )  # fmt: skip
        return _with_weights(made, c)

    def forward(self: Any, x: Any, output_size: Any = None) -> Any:
        """The result with the rounded weight."""
        if not self._transposed:
            return getattr(F, f"conv{self._n}d")(
                x, self.get_weight(), self.bias, self.stride, self.padding, self.dilation,
                self.groups,
            )  # fmt: skip
        sizes = self._output_padding(
            x, output_size, self.stride, self.padding, self.kernel_size, self._n, self.dilation
        )
        return getattr(F, f"conv_transpose{self._n}d")(
            x, self.get_weight(), self.bias, self.stride, self.padding, sizes, self.groups,
            self.dilation,
        )  # fmt: skip


class Conv1d(_ConvNd, nn.Conv1d):
    """A convolution of rows that rounds its weight."""

    _n = 1


class Conv2d(_ConvNd, nn.Conv2d):
    """A convolution of images that rounds its weight."""

    _n = 2


class Conv3d(_ConvNd, nn.Conv3d):
    """A convolution of volumes that rounds its weight."""

    _n = 3


class ConvTranspose1d(_ConvNd, nn.ConvTranspose1d):
    """A transposed convolution of rows that rounds its weight."""

    _n, _transposed = 1, True


class ConvTranspose2d(_ConvNd, nn.ConvTranspose2d):
    """A transposed convolution of images that rounds its weight."""

    _n, _transposed = 2, True


class ConvTranspose3d(_ConvNd, nn.ConvTranspose3d):
    """A transposed convolution of volumes that rounds its weight."""

    _n, _transposed = 3, True


class Embedding(nn.Embedding, ReferenceQuantizedModule):
    """A table that is rounded."""

    def __init__(
        self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._init_weight_qparams(weight_qparams, kwargs.get("device"))

    def _get_name(self) -> str:
        return "QuantizedEmbedding(Reference)"

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Rows of the rounded table."""
        return F.embedding(
            input, self.get_weight(), self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: dict[str, Any]) -> Embedding:
        """The table of one with floats."""
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.sparse, mod.weight, device=mod.weight.device,
            dtype=mod.weight.dtype, weight_qparams=weight_qparams,
        )  # fmt: skip


class EmbeddingBag(nn.EmbeddingBag, ReferenceQuantizedModule):
    """A table that is rounded, whose rows are summed up."""

    def __init__(
        self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._init_weight_qparams(weight_qparams, kwargs.get("device"))

    def _get_name(self) -> str:
        return "QuantizedEmbedding(Reference)"

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """Sums of rows of the rounded table."""
        return F.embedding_bag(
            input, self.get_weight(), offsets, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(
        cls, mod: Any, weight_qparams: dict[str, Any], use_precomputed_fake_quant: bool = False
    ) -> EmbeddingBag:
        """The table of one with floats."""
        return cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type,
            mod.scale_grad_by_freq, mod.mode, mod.sparse, mod.weight, mod.include_last_offset,
            mod.padding_idx, device=mod.weight.device, dtype=mod.weight.dtype,
            weight_qparams=weight_qparams,
        )  # fmt: skip


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "linear": (Linear,),
    "conv": (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d),
    "sparse": (Embedding, EmbeddingBag),
    "rnn": (RNNCellBase, RNNCell, LSTMCell, GRUCell, RNNBase, LSTM, GRU),
    "utils": (ReferenceQuantizedModule,),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
