"""Memory that gets another size: all tensors on a storage look at the new one. Floor 2."""

from __future__ import annotations

import numpy as np

from ...core import Tensor, contiguous_strides, lazy_bits
from ..engine import Value, aval_of, limits, record
from ..facts.errors import not_offered
from ..ops import views
from .cells import Alias, Step, Storage, follow
from .view_steps import first_step, memory_steps, step_of

FIXED = "Trying to resize storage that is not resizable"
_BYTES = np.dtype(np.uint8)


def resize_storage(storage: Storage, nbytes: int) -> None:
    """Gives a storage another size: it keeps its bytes as far as they fit, and zeros follow.

    The storage itself is left with the place to which its memory has gone, which those who look at
    it find when they next do (``storage.follow``): it does not know them.

    Raises:
        RuntimeError: if others have a say in the memory, or there is not that much.
    """
    if storage.detach is not None:
        raise not_offered(
            "resizing the storage of a tensor subclass without data",
            "there is no memory of its own",
        )
    if not storage.resizable:
        raise RuntimeError(FIXED)
    limits.check_bytes(nbytes, storage.aval.device)
    if storage.lent() is not None:
        raise not_offered(
            "UntypedStorage.resize_",
            "a slice of the storage, or a NumPy array, refers to its memory",
        )
    value = storage.value
    assert value is not None
    base = value.aval
    dtype = _BYTES if nbytes % base.dtype.itemsize else base.dtype
    flat = _recorded(value, memory_steps(base, storage.strides, (base.size,), (1,), 0, base.dtype))
    if dtype != base.dtype:
        flat = _recorded(flat, [step_of(views.VIEWS["_C._view_dtype"], (dtype,))])
    held = flat.aval.size
    made = Storage(
        _recorded(flat, _first(held, nbytes // dtype.itemsize)), None, storage.version + 1
    )
    made.apart = storage.apart
    made.address, made.counter, made.birth = storage.address, storage.counter, storage.birth
    storage.aval, storage.moved = base, made
    storage.value = None
    storage.version += 1


def _first(held: int, numel: int) -> list[Step]:
    return [] if held == numel else [first_step(numel)]


def _recorded(value: Value, steps: list[Step]) -> Value:
    for step in steps:
        value = record(step.get, (value,), step.numbers)
    return value


def look_at(
    t: Tensor, source: Alias, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    """Has a tensor look at the memory of an alias by strides, in its own dtype; the memory grows if
    it ends before.

    Raises:
        RuntimeError: if it cannot.
    """
    mine = t._aval
    end = (
        0
        if 0 in size
        else (offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]))
        * mine.dtype.itemsize
    )
    if end > limits.MOST:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    if end > nbytes_of(source.storage):
        resize_storage(source.storage, end)
        follow(source)
    storage = source.storage
    base = storage.aval if storage.value is None else storage.value.aval
    steps = memory_steps(base, storage.strides, size, stride, offset, mine.dtype, lazy_bits(t))
    made = Alias(storage, tuple(steps), None, source.base, source.gen, offset)
    made.aval, made.strides, made.counter = (
        aval_of(size, mine.dtype, base.device),
        stride,
        source.counter,
    )
    made.origin = source.origin
    t._al, t._v = made, None  # in this order: other threads look for a value first
    t._strides = None if stride == contiguous_strides(size) else stride


def nbytes_of(storage: Storage) -> int:
    """The size of a storage."""
    return (storage.aval if storage.value is None else storage.value.aval).nbytes
