"""Pinning of batches: transfers to an accelerator are asynchronous already."""

from __future__ import annotations

from typing import Any

from jtorch import Tensor
from jtorch.utils._pytree import tree_map_only


def pin_memory(data: Any, device: Any = None) -> Any:
    """The batch, its tensors as ``Tensor.pin_memory`` gives them."""
    return tree_map_only(Tensor, lambda t: t.pin_memory() if device is None else t.pin_memory(device), data)
