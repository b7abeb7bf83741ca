"""``torch.cuda._utils``: which GPU is meant."""

from __future__ import annotations

import jtorch as torch
from jtorch._utils import _get_device_index as _index_of

__all__ = ["_get_device_index"]


def _get_device_index(
    device: object, optional: bool = False, allow_cpu: bool = False
) -> int | None:
    """The index of a GPU: of the current one where ``device`` has none, with ``optional``; -1 for
    the CPU, with ``allow_cpu``.

    Raises:
        ValueError: if it is another device, or has no index.
    """
    if isinstance(device, str):
        device = torch.device(device)
    kinds = ("cuda", "cpu") if allow_cpu else ("cuda",)
    if isinstance(device, torch.device) and device.type not in kinds:
        raise ValueError(f"Expected a {' or '.join(kinds)} device, but got: {device}")
    return _index_of(device, optional, allow_cpu)
