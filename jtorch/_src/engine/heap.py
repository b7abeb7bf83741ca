"""Lets the memory of one run be used by the next: a program's temporary memory is allocated anew for each run.

The GNU C library takes every block of more than 32 MB from the kernel and gives it back when it is freed. A training step whose
program needs 40 MB then has 10,000 pages mapped and cleared each time, which takes longer than many of its kernels (decision 0012). Told
not to, the library keeps such blocks on its heap.
"""

from __future__ import annotations

import ctypes
import os
import sys

#: ``mallopt``'s parameters, of the library's ``malloc.h``.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
#: Free memory at the end of the heap that is not given back.
KEPT_BYTES = 1 << 30


def keep_freed_memory() -> bool:
    """Tells the C library to keep large blocks; True where it listened. ``JTORCH_MALLOC=0`` and other libraries leave all as it is."""
    if os.environ.get("JTORCH_MALLOC", "1") == "0" or not sys.platform.startswith("linux"):
        return False
    if any(name in os.environ for name in ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")):
        return False  # somebody has decided about this
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 (another library's ``mallopt`` means other things)
        return bool(libc.mallopt(_M_MMAP_MAX, 0) and libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
    except (OSError, AttributeError):
        return False
