"""Questions about compiling that programs ask."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator

import jtorch as torch
from jtorch.compiler import config

#: PyTorch's statistics of its compiler, by subject; nothing is counted here.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: object) -> bool:
    """Whether functions on a device can be compiled: wherever there are devices."""
    del device_type
    return True


@contextlib.contextmanager
def disable_cache_limit() -> Iterator[None]:
    """A block in which compiled functions may be recorded anew as often as it takes."""
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


#: The words of the warnings that ``warn_once`` has given.
warn_once_cache: set[str] = set()


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warns, unless there was a warning with the same words."""
    if msg not in warn_once_cache:
        warn_once_cache.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)


def clone_input(x: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A copy with memory, strides and ``grad`` of its own, which requires grad where a leaf does.

    Args:
        dtype: that of the copy; None: that of ``x``.
    """
    with torch.no_grad():
        found = x.clone() if dtype is None else x.to(dtype, copy=True)
        if x.is_leaf:
            found.requires_grad_(x.requires_grad)
            if x.grad is not None:
                found.grad = clone_input(x.grad, dtype=dtype)
    return found
