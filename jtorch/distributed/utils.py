"""Helpers of wrappers for several processes."""

from __future__ import annotations

from typing import Any

from .collectives import broadcast as _broadcast
from .group import world as _world


def _sync_module_states(
    module: Any, process_group: Any, broadcast_bucket_size: int, src: int, params_and_buffers_to_ignore: Any, broadcast_buffers: bool = True
) -> None:
    """Gives all processes the parameters and buffers of one, a rank of the group; they have the same shapes."""
    del broadcast_bucket_size
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    group = _world(process_group)
    for name, t in named:
        if group.size() > 1 and name not in params_and_buffers_to_ignore:
            _broadcast(t.detach(), group_src=src, group=group)
