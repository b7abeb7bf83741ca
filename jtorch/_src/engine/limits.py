"""Sizes that no result may have: more elements than can be counted, more bytes than the machine
has. Floor 1.

XLA ends the process where a size overflows 64 bits, and a trace would only notice when it runs that
an array can never be had. So sizes are looked at as results are first described, before XLA hears
of them. Views need no memory of their own: only their elements must be countable.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence

from .values import META, Aval

#: The largest number of elements, or of bytes.
MOST = 2**63 - 1
UNSIGNED = 2**64 - 1
#: Arrays up to so many bytes are not asked about.
SMALL = 1 << 30
#: Lists of up to so many tensors are not asked about, and the bytes that each of a longer one takes
#: at least.
MANY, OBJECT = 1 << 20, 64
UNCOUNTABLE = "numel: integer multiplication overflow"


@functools.cache
def machine_bytes() -> int:
    """Bytes of memory that the machine has, swap included, as Linux counts when it refuses an
    allocation outright."""
    try:
        with open("/proc/meminfo") as file:
            found = {
                name: int(rest.split()[0]) << 10
                for name, _, rest in (line.partition(":") for line in file)
                if rest
            }
        return found["MemTotal"] + found.get("SwapTotal", 0)
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # not known here
        return MOST


def available_bytes() -> int:
    """Bytes that one array on the host may have: those of the machine, or of the limit that the
    process was given."""
    found = machine_bytes()
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):  # no such limits on this system
        return found
    return found if limit == resource.RLIM_INFINITY else min(found, limit)


def check(outs: Aval | tuple[Aval, ...], view: bool) -> None:
    """Refuses what a call would give if it can never be had.

    Raises:
        RuntimeError: in torch's words.
    """
    for aval in (outs,) if type(outs) is Aval else outs:
        if type(aval.size) is not int:
            continue  # a size that is not known yet
        if aval.nbytes > SMALL or not aval.nbytes:
            check_size(aval.shape, aval.dtype.itemsize, aval.device, view)


def check_size(
    shape: Sequence[int], itemsize: int, device: object = None, view: bool = False
) -> None:
    """Refuses a shape with more elements than can be counted, and unless nothing is to be stored,
    with more bytes than there are.

    Raises:
        RuntimeError: in torch's words.
    """
    elements = overflown = 1
    if not all(type(n) is int for n in shape):
        return  # a size that is not known yet
    for n in shape:
        elements *= n
        overflown = max(overflown, elements)
    if overflown <= MOST and elements and view:
        return
    strides = math.prod([n or 1 for n in shape[1:]])
    if view:
        if overflown > MOST or strides > MOST:
            raise RuntimeError(UNCOUNTABLE)
        _check_empty(shape, itemsize, device)
        return
    # Counted dimension by dimension, in unsigned words: an empty tensor may be impossible, too.
    if overflown > UNSIGNED or elements * itemsize > MOST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if strides > MOST:
        raise RuntimeError("Stride calculation overflowed")
    if not elements:
        _check_empty(shape, itemsize, device)
    check_bytes(elements * itemsize, device)


def _check_empty(shape: Sequence[int], itemsize: int, device: object) -> None:
    """Refuses a shape without elements whose other sizes multiply beyond 64 bits, for which XLA
    ends the process."""
    if device != META and math.prod([n or 1 for n in shape]) * itemsize > MOST:
        raise NotImplementedError(
            f"an empty tensor of sizes {list(shape)} is not offered by jtorch: neither NumPy nor "
            "XLA has arrays whose other sizes multiply beyond 64 bits"
        )


def check_bytes(size: int, device: object = None) -> None:
    """Refuses an array of more bytes than the host can give; other devices say so themselves.

    Raises:
        RuntimeError: in torch's words.
    """
    if (
        size > SMALL
        and (device is None or getattr(device, "platform", "") == "cpu")
        and size > available_bytes()
    ):
        raise no_memory(size)


def check_count(count: int) -> None:
    """Refuses so many tensors that not even their objects fit into memory.

    Raises:
        RuntimeError: in torch's words.
    """
    if count > MANY and count * OBJECT > available_bytes():
        raise RuntimeError("std::bad_alloc")


def no_memory(size: int) -> RuntimeError:
    """The error for an array that the host has no memory for."""
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
        f"you tried to allocate {size} bytes. Error code 12 (Cannot allocate memory)"
    )


def translated(error: MemoryError | ValueError) -> RuntimeError | None:
    """NumPy's lack of memory, or refusal of a shape, in torch's words; None for other errors."""
    if isinstance(error, MemoryError):
        shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
        return (
            None if shape is None or dtype is None else no_memory(math.prod(shape) * dtype.itemsize)
        )
    return (
        RuntimeError("Storage size calculation overflowed")
        if str(error).startswith(_TOO_LARGE)
        else None
    )


_TOO_LARGE = (
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
)
