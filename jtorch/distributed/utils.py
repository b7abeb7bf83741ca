"""Helpers of wrappers for several processes."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import Any

from .group import world as _world


def _sync_module_states(
    module: Any, process_group: Any, broadcast_bucket_size: int, src: int, params_and_buffers_to_ignore: Any, broadcast_buffers: bool = True
) -> None:
    """Gives all processes the parameters and buffers of one: with one process, nothing to do."""
    _world(process_group)
