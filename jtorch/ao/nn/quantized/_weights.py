"""What layers with quantised weights share."""

from __future__ import annotations

import abc
from typing import Any

import jtorch as torch
from jtorch import nn


class WeightedQuantizedModule(nn.Module, metaclass=abc.ABCMeta):
    """Base of quantised layers with weights."""

    @classmethod
    @abc.abstractmethod
    def from_reference(cls, ref_module: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The layer of one that rounds its weights and computes with floats."""


def _quantize_weight(float_wt: torch.Tensor, observer: Any) -> torch.Tensor:
    """A weight on the grid that an observer has found for it.

    Raises:
        ValueError: for schemes that are none.
    """
    scale, zero = observer.calculate_qparams()
    weight = float_wt.detach().float()
    bounds: Any = getattr(observer, "activation_post_process", observer)
    scheme = observer.qscheme
    if scheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        scale, zero = float(scale), int(zero)
        found = torch.quantize_per_tensor(weight, scale, zero, torch.qint8)
        held = _held(found, bounds)
        return found if held is None else torch._make_per_tensor_quantized_tensor(held, scale, zero)
    axis = observer.ch_axis if hasattr(observer, "ch_axis") else 0
    if scheme in (torch.per_channel_symmetric, torch.per_channel_affine):
        scale, zero, dtype = scale.to(torch.double), zero.to(torch.int64), torch.qint8
    elif scheme is torch.per_channel_affine_float_qparams:
        scale, zero, dtype = scale.to(torch.float), zero.to(torch.float), observer.dtype
    else:
        raise ValueError(f"Unexpected qscheme {scheme}")
    found = torch.quantize_per_channel(weight, scale, zero, axis, dtype)
    held = _held(found, bounds)
    if held is None:
        return found
    return torch._make_per_channel_quantized_tensor(held, scale, zero, axis)


def _held(quantised: Any, observer: Any) -> Any:
    """The integers within an observer's bounds; None if it takes all that the dtype has. Weights
    may lie outside of what an observer has averaged."""
    bounds = torch.iinfo(quantised.dtype)
    least, most = observer.quant_min, observer.quant_max
    if least <= bounds.min and most >= bounds.max:
        return None
    return quantised.int_repr().clamp(least, most)


def _observed(mod: Any, weight: torch.Tensor) -> Any:
    """An observer of a layer's weight, which has seen it: the one of training, or a new one."""
    if hasattr(mod, "weight_fake_quant"):
        return mod.weight_fake_quant
    observer = mod.qconfig.weight()
    observer(weight)
    return observer


def _scale_and_zero(mod: Any) -> tuple[float, int]:
    """The grid that a layer's observer of results has found; 1 and 0 without one."""
    observer = getattr(mod, "activation_post_process", None)
    if observer is None:
        return 1.0, 0
    scale, zero = observer.calculate_qparams()
    return float(scale), int(zero)


def _fused_batch_norm(mod: Any) -> tuple[torch.Tensor, Any]:
    """Weight and bias of a layer, into which its batch normalisation is folded if it has one."""
    weight, bias = mod.weight, mod.bias
    bn = getattr(mod, "bn", None)
    if bn is None:
        return weight, bias
    linear = isinstance(mod, nn.Linear)
    fuse = nn.utils.fuse_linear_bn_weights if linear else nn.utils.fuse_conv_bn_weights
    return fuse(weight, bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)


def _hide_packed_params_repr(self: nn.Module, params_type: type) -> str:
    """A layer's text without its packed weights."""
    lines = [self.extra_repr()] if self.extra_repr() else []
    children = [
        f"({name}): {_indented(repr(child))}"
        for name, child in self._modules.items()
        if not isinstance(child, params_type)
    ]
    if not children:
        return f"{self._get_name()}({self.extra_repr()})"
    return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
