"""Averages of gradients over all processes at first, over a part of them later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch

from . import default_hooks

if TYPE_CHECKING:
    pass


__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What the hook is told: both groups, and from which step on the second one counts, if
    gradients are averaged then at all."""

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter, self.post_local_gradient_allreduce = (
            start_localSGD_iter,
            post_local_gradient_allreduce,
        )
        self.iter = 0

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: Any) -> Any:
    """The mean over ``state.process_group``, from step ``state.start_localSGD_iter`` on over
    ``state.subgroup``."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        state.subgroup = torch.distributed.new_subgroups()[0]
    return default_hooks.allreduce_hook(state.subgroup, bucket)
