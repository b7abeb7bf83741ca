"""Layers that belong together and round their weights as they train. Batch normalisation is folded
into the weight before it is rounded, as it will be when the model is quantised."""

from __future__ import annotations

from typing import Any, ClassVar

import jtorch as torch
from jtorch import nn
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.nn import functional as F

from ... import qat as nnqat
from .. import ConvBn1d as _ConvBn1d
from .. import ConvBn2d as _ConvBn2d
from .. import ConvBn3d as _ConvBn3d
from .. import ConvBnReLU1d as _ConvBnReLU1d
from .. import ConvBnReLU2d as _ConvBnReLU2d
from .. import ConvBnReLU3d as _ConvBnReLU3d
from .. import ConvReLU1d as _ConvReLU1d
from .. import ConvReLU2d as _ConvReLU2d
from .. import ConvReLU3d as _ConvReLU3d
from .. import LinearBn1d as _LinearBn1d
from .. import LinearReLU as _LinearReLU
from .. import _FusedModule


class LinearReLU(nnqat.Linear, _FusedModule):
    """A linear layer that rounds its weight, and a ReLU."""

    _FLOAT_MODULE: Any = _LinearReLU

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return F.relu(super().forward(input))

    def to_float(self) -> Any:
        """The layers without rounding."""
        return _LinearReLU(super().to_float(), nn.ReLU())


class _ReLU:
    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return F.relu(nnqat._ConvNd.forward(self, input))

    def to_float(self: Any) -> Any:
        """The layers without rounding."""
        made = self._FLOAT_MODULE(nnqat._ConvNd.to_float(self), nn.ReLU())
        made.train(self.training)
        return made


class ConvReLU1d(_ReLU, nnqat.Conv1d, _FusedModule):
    """A convolution of rows that rounds its weight, and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU1d


class ConvReLU2d(_ReLU, nnqat.Conv2d, _FusedModule):
    """A convolution of images that rounds its weight, and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU2d


class ConvReLU3d(_ReLU, nnqat.Conv3d, _FusedModule):
    """A convolution of volumes that rounds its weight, and a ReLU."""

    _FLOAT_MODULE: Any = _ConvReLU3d


class _Normed:
    """What layers with a batch normalisation share."""

    _relu: ClassVar[bool] = False

    def _with_norm(self: Any, bn: Any, freeze_bn: bool, qconfig: Any) -> None:
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = bn
        nnqat._fake_quantised(self, qconfig)
        if self.training and freeze_bn:
            self.freeze_bn_stats()
        self._enable_slow_path_for_better_numerical_stability = False

    def _scaled(self: Any, input: Any) -> Any:
        """The layer with the rounded folded weight, unfolded again and normalised."""
        if self._enable_slow_path_for_better_numerical_stability:
            raise not_offered(
                f"{type(self).__name__}._enable_slow_path_for_better_numerical_stability",
                "weights are scaled by running statistics, as PyTorch does it without",
            )
        bn = self.bn
        factor = bn.weight / torch.sqrt(bn.running_var + bn.eps)
        rows = [-1] + [1] * (self.weight.dim() - 1)
        weight = self.weight_fake_quant(self.weight * factor.reshape(rows))
        found = self._applied(input, weight)
        across = [1, -1] + [1] * (found.dim() - 2)
        found = found / factor.reshape(across)
        if self.bias is not None:
            found = found + self.bias.reshape(across)
        found = bn(found)
        return F.relu(found) if self._relu else found

    def forward(self: Any, input: torch.Tensor) -> torch.Tensor:
        """The result with the rounded weight."""
        return self._scaled(input)

    def reset_running_stats(self: Any) -> None:
        """Forgets the statistics."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self: Any) -> None:
        """Begins the normalisation anew."""
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)

    def update_bn_stats(self: Any) -> Any:
        """Lets statistics follow the values."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self: Any) -> Any:
        """Keeps statistics as they are."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self: Any, mode: bool = True) -> Any:
        """Sets training mode, but for frozen statistics."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self


class _ConvBnNd(_Normed):
    _n: ClassVar[int] = 2
    _FLOAT_MODULE: Any = None
    _version = 2

    def __init__(
        self: Any,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        layer: Any = super()
        layer.__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bool(bias),
            padding_mode,
        )  # fmt: skip
        norm = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}[self._n]
        self._with_norm(norm(out_channels, eps, momentum, True, True), freeze_bn, qconfig)
        self.reset_bn_parameters()

    def _applied(self: Any, input: Any, weight: Any) -> Any:
        return self._conv_forward(input, weight, None)

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of ones with a configuration."""
        config, conv, bn = getattr(mod, "qconfig", None), nnqat._plain(cls, mod), mod[1]
        made = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding,
            conv.dilation, conv.groups, conv.bias is not None, conv.padding_mode, bn.eps,
            bn.momentum, False, config,
        )  # fmt: skip
        made.weight, made.bias = conv.weight, conv.bias
        return _take_norm(made, bn)

    def to_float(self: Any) -> Any:
        """The layers without rounding, the normalisation folded into the weight."""
        kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[self._n]
        conv = kind(
            self.in_channels, self.out_channels, self.kernel_size, self.stride, self.padding,
            self.dilation, self.groups, self.bias is not None, self.padding_mode,
        )  # fmt: skip
        bn = self.bn
        conv.weight, conv.bias = nn.utils.fuse_conv_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        if not self._relu:
            conv.train(self.training)
            return conv
        pair = {1: _ConvReLU1d, 2: _ConvReLU2d, 3: _ConvReLU3d}[self._n](conv, nn.ReLU())
        pair.train(self.training)
        return pair


def _take_norm(made: Any, bn: Any) -> Any:
    for name in ("weight", "bias"):
        setattr(made.bn, name, getattr(bn, name))
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        setattr(made.bn, name, getattr(bn, name))
    return made


class ConvBn1d(_ConvBnNd, nn.Conv1d):
    """A convolution of rows that rounds its weight, and a normalisation."""

    _n, _FLOAT_MODULE = 1, _ConvBn1d


class ConvBn2d(_ConvBnNd, nn.Conv2d):
    """A convolution of images that rounds its weight, and a normalisation."""

    _n, _FLOAT_MODULE = 2, _ConvBn2d


class ConvBn3d(_ConvBnNd, nn.Conv3d):
    """A convolution of volumes that rounds its weight, and a normalisation."""

    _n, _FLOAT_MODULE = 3, _ConvBn3d


class ConvBnReLU1d(ConvBn1d):
    """A convolution of rows that rounds its weight, a normalisation and a ReLU."""

    _relu, _FLOAT_MODULE = True, _ConvBnReLU1d


class ConvBnReLU2d(ConvBn2d):
    """A convolution of images that rounds its weight, a normalisation and a ReLU."""

    _relu, _FLOAT_MODULE = True, _ConvBnReLU2d


class ConvBnReLU3d(ConvBn3d):
    """A convolution of volumes that rounds its weight, a normalisation and a ReLU."""

    _relu, _FLOAT_MODULE = True, _ConvBnReLU3d


class LinearBn1d(_Normed, nn.Linear, _FusedModule):
    """A linear layer that rounds its weight, and a normalisation."""

    _FLOAT_MODULE: Any = _LinearBn1d

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-05,
        momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        self._with_norm(nn.BatchNorm1d(out_features, eps, momentum, True, True), freeze_bn, qconfig)
        self.reset_bn_parameters()

    def _applied(self, input: Any, weight: Any) -> Any:
        return F.linear(input, weight)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of ones with a configuration."""
        config, linear, bn = getattr(mod, "qconfig", None), nnqat._plain(cls, mod), mod[1]
        made = cls(
            linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum,
            False, config,
        )  # fmt: skip
        made.weight, made.bias = linear.weight, linear.bias
        return _take_norm(made, bn)

    def to_float(self) -> Any:
        """The layer without rounding, the normalisation folded into the weight."""
        made, bn = nn.Linear(self.in_features, self.out_features), self.bn
        made.weight, made.bias = nn.utils.fuse_linear_bn_weights(
            self.weight, self.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
        )
        return made


def update_bn_stats(mod: Any) -> None:
    """For ``Module.apply``: statistics follow the values."""
    if isinstance(mod, _Normed):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """For ``Module.apply``: statistics stay as they are."""
    if isinstance(mod, _Normed):
        mod.freeze_bn_stats()


#: Where files of whole models name the classes.
_PLACES: dict[str, tuple[type, ...]] = {
    "conv_fused": (
        ConvBn1d,
        ConvBn2d,
        ConvBn3d,
        ConvBnReLU1d,
        ConvBnReLU2d,
        ConvBnReLU3d,
        ConvReLU1d,
        ConvReLU2d,
        ConvReLU3d,
    ),
    "linear_fused": (LinearBn1d,),
    "linear_relu": (LinearReLU,),
}
for _place, _classes in _PLACES.items():
    for _class in _classes:
        _class.__module__ = f"{__name__}.modules.{_place}"

__getattr__ = _refusals.missing(__name__)
