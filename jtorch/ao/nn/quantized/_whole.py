"""Layers that are made of quantised ones by converting all that is in them."""

from __future__ import annotations

from typing import Any

import jtorch as torch

from ..quantizable import LSTM as _ObservedLSTM
from ..quantizable import MultiheadAttention as _ObservedAttention


class LSTM(_ObservedLSTM):
    """An LSTM whose steps are computed with quantised values: what ``convert`` makes of an
    observed one."""

    _FLOAT_MODULE: Any = _ObservedLSTM

    def _get_name(self) -> str:
        return "QuantizedLSTM"

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        """Is for ``torch.ao.nn.quantizable.LSTM``.

        Raises:
            NotImplementedError: always.
        """
        del args, kwargs
        raise NotImplementedError(
            "It looks like you are trying to convert a non-observed LSTM module. Please, see the "
            "examples on quantizable LSTMs."
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The quantised LSTM of an observed one.

        Raises:
            AssertionError: for other classes.
        """
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        made: Any = torch.ao.quantization.convert(other, inplace=False, remove_qconfig=True)
        made.__class__ = cls
        return made


class MultiheadAttention(_ObservedAttention):
    """Attention with quantised layers: what ``convert`` makes of an observed one."""

    _FLOAT_MODULE: Any = _ObservedAttention

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """Is for ``torch.ao.nn.quantizable.MultiheadAttention``.

        Raises:
            NotImplementedError: always.
        """
        del other
        raise NotImplementedError(
            "It looks like you are trying to convert a non-observed MHA module. Please, see the "
            "examples on quantizable MHAs."
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """The quantised module of an observed one. Its extra key and value are quantised, both on
        the grid of the key, as in PyTorch."""
        made: Any = torch.ao.quantization.convert(
            other, mapping=None, inplace=False, remove_qconfig=True, convert_custom_config_dict=None
        )
        made.__class__ = cls
        key = None
        for name in ("bias_k", "bias_v"):
            bias = getattr(made, name)
            if bias is None:
                continue
            del made._parameters[name]
            grid = torch._choose_qparams_per_tensor(bias if key is None else key, False)
            key = torch.quantize_per_tensor(bias, *grid, torch.quint8)
            setattr(made, name, key)
        del made.in_proj_weight
        del made.in_proj_bias
        return made
