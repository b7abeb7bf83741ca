"""Bases of observers."""

from __future__ import annotations

import abc
from typing import Any

import jtorch as torch
from jtorch import nn

from ._partials import _with_args, _with_callable_args
from .utils import calculate_qmin_qmax, check_min_max_valid, validate_qmin_qmax

_EPS = torch.finfo(torch.float32).eps


def _options(factory_kwargs: Any) -> dict[str, Any]:
    return {k: v for k, v in (factory_kwargs or {}).items() if v is not None}


class ObserverBase(abc.ABC, nn.Module):
    """Base of observers: ``forward`` notes a value, ``calculate_qparams`` tells the grid.

    Args:
        dtype: the dtype that the grid is for.
        is_dynamic: whether values are to be quantised as they come.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abc.abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Notes a value and gives it back."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Scale and zero point for what was seen."""

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """Base of observers of ranges: scale and zero point of even steps between two bounds.

    Args:
        dtype: the dtype that the grid is for.
        qscheme: one grid or one for each channel, symmetric or not.
        reduce_range: whether half of the integers are left unused.
        quant_min: the least integer, if not the dtype's.
        quant_max: the largest.
        factory_kwargs: device and dtype of buffers.
        eps: the least scale.
        is_dynamic: whether values are to be quantised as they come.

    Raises:
        AssertionError: for schemes and dtypes that are none.
    """

    _version = 3

    eps: torch.Tensor

    def __init__(
        self,
        dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: Any = None,
        quant_max: Any = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.register_buffer("eps", torch.tensor([eps], **_options(factory_kwargs)))
        known = (
            torch.per_tensor_affine, torch.per_tensor_symmetric, torch.per_channel_affine,
            torch.per_channel_symmetric, torch.per_channel_affine_float_qparams,
        )  # fmt: skip
        if qscheme not in known:
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, "
                "per_channel_affine, per_channel_symmetric and per_channel_float_qparams "
                "quantization scheme"
            )
        taken = (
            torch.qint8, torch.quint8, torch.quint4x2, torch.qint32, torch.int8, torch.uint8,
            torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16,
        )  # fmt: skip
        if dtype not in taken:
            raise AssertionError(
                f"Default Observer only works for {taken} data type, but got {dtype}"
            )
        self.has_customized_qrange = False
        if quant_min is not None and quant_max is not None:
            self.has_customized_qrange = True
            validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        if version is None or version == 1:
            state_dict[prefix + "eps"] = torch.tensor([_EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val: torch.Tensor, max_val: torch.Tensor) -> Any:
        if not check_min_max_valid(min_val, max_val):
            return torch.tensor([1.0]), torch.tensor([0])
        low, high = self.quant_min, self.quant_max
        below = torch.min(min_val, torch.zeros_like(min_val))
        above = torch.max(max_val, torch.zeros_like(max_val))
        zero = torch.zeros(below.size(), dtype=torch.int64, device=below.device)
        if self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            above = torch.max(-below, above)
            scale = torch.max(above / (float(high - low) / 2), self.eps)
            if self.dtype in (torch.quint8, torch.uint8):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero = torch.full_like(zero, middle)
            elif self.dtype is torch.uint16:
                zero = torch.full_like(zero, 2**15)
        elif self.qscheme is torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(high - low)
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            zero = -1 * min_val / scale
        else:
            scale = torch.max((above - below) / float(high - low), self.eps)
            zero = low - torch.round(below / scale).to(torch.int)
            zero = torch.clamp(zero, low, high)
        return scale.reshape(-1) if not scale.dim() else scale, (
            zero.reshape(-1) if not zero.dim() else zero
        )

    @abc.abstractmethod
    def reset_min_max_vals(self) -> None:
        """Forgets what was seen."""


ObserverBase.__module__ = UniformQuantizationObserverBase.__module__ = f"{__package__}.observer"
