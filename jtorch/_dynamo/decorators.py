"""``_DimRange``: what PyTorch's nested tensors with a jagged layout keep beside them, and write to
files."""

from __future__ import annotations

from dataclasses import dataclass

__all__: list[str] = []


@dataclass(frozen=True, slots=True)
class _DimRange:
    """A dimension that compiled code must not specialise on, with the bounds that are known of
    it."""

    dim: int
    min: int
    max: int
