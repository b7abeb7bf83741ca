"""Pinning of batches: transfers to an accelerator are asynchronous already."""

from __future__ import annotations

import queue
from typing import Any

from jtorch import Tensor
from jtorch._utils import ExceptionWrapper
from jtorch.utils._pytree import tree_map_only


def pin_memory(data: object, device: object = None) -> Any:
    """The batch, its tensors as ``Tensor.pin_memory`` gives them."""
    return tree_map_only(
        Tensor, lambda t: t.pin_memory() if device is None else t.pin_memory(device), data
    )


def _pin_memory_loop(
    in_queue: Any, out_queue: Any, device_id: object, done_event: Any, device: object
) -> None:
    """Passes batches on from one queue to another and pins them, until the event is set: what a
    thread of a package's loader runs."""
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=5.0)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, data), timeout=5.0)
                break
            except queue.Full:
                continue
