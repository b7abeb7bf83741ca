"""``scatter`` and ``gather``, in torch's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._src.facts.devices import device
from .replicate import gather as gather
from .replicate import scatter as scatter

__all__ = ["scatter", "scatter_kwargs", "gather"]


def scatter_kwargs(
    inputs: tuple[object, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[int | device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The arguments of each part, and the named ones: there is one part."""
    return tuple(scatter(inputs, target_gpus, dim)), tuple(scatter(kwargs or {}, target_gpus, dim))
