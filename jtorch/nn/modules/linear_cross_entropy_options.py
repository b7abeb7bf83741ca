"""The settings of ``F.linear_cross_entropy``."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Literal

import jtorch as torch

__all__ = ["LinearCrossEntropyOptions"]


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` trades memory for time and precision: chunks of the batch, and
    the dtype sums are kept in.

    Differs from torch: the settings are checked, but the result is always that of the unchunked
    reference.

    Args:
        allow_retain_graph: whether ``backward(retain_graph=True)`` may be called.
        batch_chunk_size: how many rows are computed at a time.
        chunking_method: how chunks are chosen where no size is given.
        acc_policy: what sums are kept in: ``"accurate"``, ``"balanced"``, ``"compact"``, or
            ``"auto"``.
        acc_dtype: the dtype of sums, instead of what the policy gives.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method = self.chunking_method
        if method not in (None, "auto") and not re.fullmatch(
            r"aspect_ratio(:0*[1-9][0-9]*)?", method
        ):
            raise ValueError(f"invalid chunking_method: {method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (
            None,
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
        ):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )
