"""Attention masks that are known by their kind: causal, aligned at either corner."""

from __future__ import annotations

import warnings
from enum import IntEnum, auto
from typing import Any

import jtorch as torch
from jtorch import Tensor

from ...types import Device

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins or ends."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask for ``scaled_dot_product_attention``; other functions see its elements."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    @staticmethod
    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:  # noqa: D102
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=2,
            )
        made = _elements(variant, seq_len_q, seq_len_kv).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        del variant, seq_len_q, seq_len_kv

    def _materialize(self, device: Device = None) -> Tensor:
        """The mask as an ordinary tensor of truth values."""
        return _elements(self.variant, self.seq_len_q, self.seq_len_kv, device)

    def __repr__(self) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Tensor:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention:
            mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
            if kwargs.get("is_causal"):
                raise ValueError("CausalBias should not be used with causal=True")
            plain = mask._materialize(args[0].device if args else kwargs["query"].device)
            if len(args) > 3:
                args = (*args[:3], plain, *args[4:])
            else:
                kwargs = {**kwargs, "attn_mask": plain}
            return func(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)


def _elements(variant: CausalVariant, rows: int, columns: int, device: Device = None) -> Tensor:
    offset = columns - rows if variant is CausalVariant.LOWER_RIGHT else 0
    return torch.tril(torch.ones(rows, columns, device=device, dtype=torch.bool), diagonal=offset)


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask ``(queries, keys)`` whose diagonal begins at the upper left corner."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask ``(queries, keys)`` whose diagonal ends at the lower right corner: the last
    query sees all keys."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
