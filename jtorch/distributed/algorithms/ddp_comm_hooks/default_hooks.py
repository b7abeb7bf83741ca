"""Averages of gradients, also in half precision on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    from ...._src.facts.kinds import Function
    from ....nn.parallel._reducer import GradBucket


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _averaged(group: object, tensor: torch.Tensor) -> Any:
    pg = torch.distributed.distributed_c10d.world(group)
    work = torch.distributed.all_reduce(tensor.div_(pg.size()), group=pg, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: object, bucket: Any) -> Any:
    """What happens without a hook: the mean over the processes."""
    return _averaged(process_group, bucket.buffer())


def _through(dtype: object, process_group: object, bucket: Any) -> object:
    buffer = bucket.buffer()

    def widened(future: Any) -> object:
        buffer.copy_(future.value())
        return buffer

    return _averaged(process_group, buffer.to(dtype)).then(widened)


def fp16_compress_hook(process_group: object, bucket: object) -> Any:
    """The mean, sent in float16."""
    return _through(torch.float16, process_group, bucket)


def bf16_compress_hook(process_group: object, bucket: object) -> Any:
    """The mean, sent in bfloat16."""
    return _through(torch.bfloat16, process_group, bucket)


def _wrapped(dtype: object, hook: Function) -> Callable[..., object]:
    def wrapper(state: object, bucket: GradBucket) -> Any:
        before = bucket.buffer()
        bucket.set_buffer(before.to(dtype))

        def widened(future: Any) -> object:
            value = future.value()
            before.copy_(value[0] if isinstance(value, (list, tuple)) else value)
            return before

        return hook(state, bucket).then(widened)

    return wrapper


def fp16_compress_wrapper(hook: Callable[..., object]) -> Callable[..., Any]:
    """A hook whose buckets are float16."""
    return _wrapped(torch.float16, hook)


def bf16_compress_wrapper(hook: Callable[..., object]) -> Callable[..., Any]:
    """A hook whose buckets are bfloat16."""
    return _wrapped(torch.bfloat16, hook)
