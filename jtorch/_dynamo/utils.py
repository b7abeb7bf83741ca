"""Questions about compiling that programs ask."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

#: PyTorch's statistics of its compiler, by subject; nothing is counted here.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether functions on a device can be compiled: wherever there are devices."""
    del device_type
    return True
