"""Gradients sent in 8 bits: each process sends its own on a scale of its own, and all add up what
they get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    pass


__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_STEPS = 255
_LEAST = float(torch.finfo(torch.float32).eps)


def _scaled(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """For each row the width of a step and the step that means zero, such that all its elements are
    between step 0 and the last."""
    low, high = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    width = ((high - low) / _STEPS).clamp(min=_LEAST)
    return width, (-torch.round(low / width)).clamp(0, _STEPS)


def _averaged(process_group: object, rows: torch.Tensor) -> torch.Tensor:
    pg = torch.distributed.distributed_c10d.world(process_group)
    scale = torch.stack(_scaled(rows))
    scales = [torch.empty_like(scale) for _ in range(pg.size())]
    torch.distributed.all_gather(scales, scale, group=pg)
    width, zero = scale.unsqueeze(2)
    sent = (torch.round(rows / width) + zero).clamp(0, _STEPS).to(torch.uint8)
    parts = [torch.empty_like(sent) for _ in range(pg.size())]
    torch.distributed.all_gather(parts, sent, group=pg)
    total = torch.zeros_like(rows, dtype=torch.float32)
    for part, (width, zero) in zip(parts, scales, strict=True):
        total += width.unsqueeze(1) * (part.float() - zero.unsqueeze(1))
    return total / pg.size()


def _done(value: torch.Tensor) -> object:
    future = torch.futures.Future()
    future.set_result(value)
    return future


def quantization_pertensor_hook(process_group: object, bucket: Any) -> Any:
    """The mean over the processes, each bucket on one scale of 256 steps."""
    buffer = bucket.buffer()
    return _done(_averaged(process_group, buffer.reshape(1, -1)).reshape(-1))


def quantization_perchannel_hook(process_group: object, bucket: Any, bucket_size: int = 512) -> Any:
    """The mean over the processes, with a scale for each ``bucket_size`` elements."""
    buffer = bucket.buffer()
    rows = torch.nn.functional.pad(buffer, (0, -buffer.numel() % bucket_size)).view(-1, bucket_size)
    return _done(_averaged(process_group, rows).reshape(-1)[: buffer.numel()])
