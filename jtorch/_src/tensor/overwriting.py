"""Writes into NumPy's arrays where the elements lie, if nobody else has them: no program runs, and
the rest is not copied."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from ..engine import (
    HOLDING,
    LOCAL,
    SPECIAL,
    STOPPING,
    THREADS,
    Value,
    at_hand,
    made_at_hand,
    settled,
)

if TYPE_CHECKING:
    from .cells import Alias, Storage

_refs = sys.getrefcount
_new = object.__new__
#: Memory of more bytes is not copied at once.
SMALL_COPY = 1 << 15


def _holders(v: Value) -> tuple[int, int]:
    """How many hold a value, and its array."""
    return _refs(v), _refs(v.array)


def _alone() -> tuple[int, int]:
    v = _new(Value)
    v.array = np.zeros(1)
    return _holders(v)


#: What these are where one variable holds the value, and nobody but that the array.
_VARIABLE, _ARRAY = _alone()


def is_alone(v: Value, holders: int) -> bool:
    """Whether nobody but so many known places and the caller's variable have the value, and nobody
    else its array."""
    value, array = _holders(v)
    if value > _VARIABLE + 1 + holders or array > _ARRAY:
        return False
    found = v.array
    return (
        type(found) is np.ndarray
        and found.base is None
        and found.flags.c_contiguous
        and found.flags.writeable
    )


def known_places(alias: Alias, v: Value) -> int:
    """In how many places that a write through a view of a storage brings up to date the storage's
    value is.

    What the view itself showed is given up: it may lie in the same memory, and would have to be
    read again.
    """
    if alias.chain:
        alias.value, alias.version = None, -1
    base = alias.base._al if alias.base is not None else None
    return 1 + (alias.value is v) + (base is not None and base is not alias and base.value is v)


def may_be_written(v: Value) -> bool:
    """Whether a value is a NumPy array, of the host's own and of no transformation, that has not
    been promised to anybody."""
    return (
        type(v.array) is np.ndarray
        and v.trace is None
        and (v.meta is None or not v.meta.keep)
        and type(v) is Value
    )


def put_at_once(storage: Storage, alias: Alias, base: Value, value: Value) -> bool:
    """Writes a view's value into the array of its storage, whose value ``base`` is; False if that
    cannot be."""
    aval, came = alias.aval, THREADS.came
    if (
        not alias.strided
        or storage.strides is not None
        or base.trace is SPECIAL
        or value.trace is SPECIAL
        or is_recorded()
    ):
        return False
    if (
        aval.dtype != base.aval.dtype
        or value.aval.shape != aval.shape
        or value.aval.dtype != aval.dtype
    ):
        return False
    if not at_hand(base) or (elements := made_at_hand(value)) is None or not may_be_written(base):
        return False
    if not is_alone(base, known_places(alias, base) + 1):  # the caller has it, too
        return False
    array = base.array
    if type(array) is not np.ndarray:  # another thread has had it converted
        return False
    region = region_of(array, alias)
    fresh = settled(array, base.aval)
    if storage.value is not base:
        return False
    # First the version, so that who is interrupted between the two has written nothing, and views
    # are read again.
    storage.value = fresh
    storage.version += 1
    whole = alias.base._al if alias.base is not None else None
    # which would have the array, too
    if whole is not None and whole.value is base and not whole.chain:
        whole.now(fresh, storage.version)
    region[...] = elements
    # one that came in between may have read what was there: the elements are written once more
    return THREADS.came == came


def in_a_copy(alias: Alias, value: Value) -> Value | None:
    """The value of a copy of all memory that a strided view looks at, but that the view has another
    value; None unless it is small and at hand."""
    storage, aval = alias.storage, alias.aval
    base = storage.value
    if (
        base is None
        or not alias.strided
        or storage.strides is not None
        or is_recorded()
        or type(base.array) is not np.ndarray
    ):
        return None
    if (
        base.trace is SPECIAL
        or value.trace is SPECIAL
        or base.aval.nbytes > SMALL_COPY
        or not _are_apart(aval.shape, alias.strides)
    ):
        return None
    if (
        base.aval.dtype != aval.dtype
        or value.aval.shape != aval.shape
        or value.aval.torch_dtype is not aval.torch_dtype
    ):
        return None
    elements = value.array if type(value.array) is np.ndarray else made_at_hand(value)
    if elements is None:
        return None
    array = base.array.copy()
    region_of(array, alias)[...] = elements
    return settled(array, base.aval)


def _are_apart(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether each element of a view is seen to lie at a place of its own."""
    reach = 0
    for step, n in sorted(zip(strides, shape, strict=True)):
        if n > 1:
            if step <= reach:
                return False
            reach += step * (n - 1)
    return True


def region_of(array: np.ndarray, alias: Alias) -> np.ndarray:
    """The part of a storage's array that a strided view shows."""
    if not alias.aval.size:  # wherever it lies
        return np.empty(alias.aval.shape, array.dtype)
    shape, size = alias.aval.shape, array.dtype.itemsize
    try:
        return np.ndarray(
            shape, array.dtype, array, alias.offset * size, tuple([n * size for n in alias.strides])
        )
    except ValueError:  # where there is one index, the step to the next may be beyond all memory
        steps = tuple(
            [n * size if m > 1 else size for n, m in zip(alias.strides, shape, strict=True)]
        )
        return np.ndarray(shape, array.dtype, array, alias.offset * size, steps)


def is_recorded() -> bool:
    """Whether all that a program does is to be recorded, or several threads are at work."""
    trace = LOCAL.trace
    return (
        (trace is not None and trace.ahead is None)
        or bool(HOLDING.stack)
        or STOPPING.within is not None
        or THREADS.many
    )
