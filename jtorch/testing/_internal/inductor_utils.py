"""Helpers of tests of compiled functions."""

from __future__ import annotations

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals

HAS_CPU = True
HAS_GPU = HAS_CUDA_AND_TRITON = HAS_XPU_AND_TRITON = HAS_MULTIGPU = HAS_TRITON = False
GPU_TYPE = "cuda"


def clone_preserve_strides_offset(
    x: torch.Tensor, device: torch.device | str | None = None
) -> torch.Tensor:
    """A copy in memory that is laid out in the same way, gaps and offset included; gradients do not
    pass."""
    if not isinstance(x, torch.Tensor):
        return x
    needed = (
        x.storage_offset() + sum((n - 1) * s for n, s in zip(x.shape, x.stride(), strict=True)) + 1
        if x.numel()
        else 0
    )
    buffer = torch.as_strided(x.detach(), (needed,), (1,), 0).clone()
    if device is not None:
        buffer = buffer.to(device)
    return torch.as_strided(buffer, x.shape, x.stride(), x.storage_offset())


__getattr__ = _refusals.missing(__name__)
