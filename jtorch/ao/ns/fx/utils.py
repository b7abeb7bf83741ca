"""How far two tensors are from each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _of_several(measure: Measure) -> Callable[[Any, Any], Any]:
    """The same for lists and tuples, whose tensors are compared one by one, and for None where
    either is no tensor."""

    @functools.wraps(measure)
    def compare(x: Any, y: Any) -> Any:
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            return type(x)([compare(a, b) for a, b in zip(x, y, strict=False)])
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
            return measure(
                x.dequantize() if x.is_quantized else x, y.dequantize() if y.is_quantized else y
            )
        return None

    return compare


@_of_several
def compute_sqnr(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The ratio of a signal and its noise, the difference, in decibels."""
    return 20 * torch.log10(torch.norm(x) / torch.norm(x - y))


@_of_several
def compute_normalized_l2_error(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The length of the difference relative to that of the first."""
    return torch.sqrt(((x - y) ** 2).sum() / (x**2).sum())


@_of_several
def compute_cosine_similarity(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The cosine of the angle between two tensors as vectors, as a tensor with one element."""
    return torch.nn.functional.cosine_similarity(x.reshape(1, -1), y.reshape(1, -1))


__getattr__ = _refusals.missing(__name__)
