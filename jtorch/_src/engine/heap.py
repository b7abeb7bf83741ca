"""Lets the memory of one run be used by the next: a program's temporary memory is allocated anew
for each run.

The GNU C library takes every block of more than 32 MB from the kernel and gives it back when it is
freed. A training step whose program needs 40 MB then has 10,000 pages mapped and cleared each time,
which takes longer than many of its kernels (decision 0012). Told not to, the library keeps such
blocks on its heap. What compiling has taken there is given back once: it is more than most steps
need, and nothing would ask for it again.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

#: ``mallopt``'s parameters, of the library's ``malloc.h``.
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
#: Free memory at the end of the heap that is not given back.
KEPT_BYTES = 1 << 30
#: Runs of compiled traces until memory is given back, after one was compiled: by then the arrays
#: that its first run got are gone, too.
REST = 3
#: How many of them are to come; 0 where none was compiled since.
due = 0
_trim: Any = None


def keep_freed_memory() -> bool:
    """Tells the C library to keep large blocks; True where it listened. ``JTORCH_MALLOC=0`` and
    other libraries leave all as it is."""
    if os.environ.get("JTORCH_MALLOC", "1") == "0" or not sys.platform.startswith("linux"):
        return False
    if any(
        name in os.environ
        for name in (
            "MALLOC_MMAP_MAX_",
            "MALLOC_MMAP_THRESHOLD_",
            "MALLOC_TRIM_THRESHOLD_",
            "GLIBC_TUNABLES",
        )
    ):
        return False  # somebody has decided about this
    global _trim
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 (another library's ``mallopt`` means other things)
        if not (libc.mallopt(_M_MMAP_MAX, 0) and libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)):
            return False
        _trim = libc.malloc_trim
    except (OSError, AttributeError):
        return False
    return True


def compiled() -> None:
    """Notes that something was compiled in this process."""
    global due
    due = REST if _trim is not None else 0


def one_run(new: bool) -> None:
    """Counts a run of a compiled trace, from the beginning where the trace is ``new``; at the last
    that is awaited gives free memory back, wherever it lies. Runs that follow take what they need
    from the kernel once more, and keep that."""
    global due
    due = REST if new else due - 1
    if due <= 0:
        due = 0
        _trim(0)
