"""Questions about compiling that programs ask."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict

#: PyTorch's statistics of its compiler, by subject; nothing is counted here.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: object) -> bool:
    """Whether functions on a device can be compiled: wherever there are devices."""
    del device_type
    return True


#: The words of the warnings that ``warn_once`` has given.
warn_once_cache: set[str] = set()


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warns, unless there was a warning with the same words."""
    if msg not in warn_once_cache:
        warn_once_cache.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)
