"""Small questions about schemes and dtypes."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals


def _parent_name(target: str) -> tuple[str, str]:
    """A dotted path as that of the parent, and the last name."""
    parent, _, name = target.rpartition(".")
    return parent, name


def is_per_tensor(qscheme: Any) -> bool:
    """Whether a whole tensor has one scale."""
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme: Any) -> bool:
    """Whether each channel has a scale of its own."""
    return qscheme in (
        torch.per_channel_affine,
        torch.per_channel_affine_float_qparams,
        torch.per_channel_symmetric,
    )


def to_underlying_dtype(qdtype: torch.dtype) -> torch.dtype:
    """The integers that a quantised dtype stores.

    Raises:
        AssertionError: for a dtype that is none.
    """
    table = {
        torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32,
        torch.quint4x2: torch.uint8, torch.quint2x4: torch.uint8,
    }  # fmt: skip
    plain = (
        torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.float8_e5m2,
        torch.float8_e4m3fn,
    )  # fmt: skip
    if qdtype not in table and qdtype not in plain:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return table.get(qdtype, qdtype)


__getattr__ = _refusals.missing(__name__)
