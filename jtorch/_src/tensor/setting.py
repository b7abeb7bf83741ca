"""``t[index] = value`` for elements that are at hand: written into NumPy's array at once, if nobody
else has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.grad_mode import MODE
from ...core import Tensor
from ..engine import SPECIAL, THREADS, Value, at_hand, made_at_hand, settled
from .aliases import BIRTHS
from .cells import Alias
from .overwriting import is_alone, is_recorded, known_places, may_be_written, region_of
from .writing import stale

if TYPE_CHECKING:
    from ..facts.kinds import Tree
    from .cells import Storage


#: Numbers that every real dtype of so many bits has; of whole ones, those that it has without
#: rounding.
_LARGEST = {np.dtype(np.float32): 1e38, np.dtype(np.float64): 1e308}
_WHOLE = {np.dtype(np.float32): 1 << 24, np.dtype(np.float64): 1 << 53}
_INTEGERS = {
    np.dtype(t): (int(np.iinfo(t).min), int(np.iinfo(t).max))
    for t in (np.int8, np.int16, np.int32, np.int64, np.uint8)
}
_BOOL = np.dtype(np.bool_)


def set_at_once(t: Tensor, index: Tree, value: Tensor | float) -> bool:
    """``t[index] = value`` for ints, slices and tuples of them, and a number or a tensor of the
    same dtype whose elements are there.

    False if it is to be done elsewhere, where what is wrong with it is found out, too.
    """
    if t._rg or t._state or not _is_plain(index):
        return False
    came = THREADS.came
    al = t._al
    storage: Any = None
    if al is None:
        v, holders = t._v, 1
        if v is None or t._ver < 0 or t._strides is not None:
            return False
    else:
        storage, base = al.storage, al.base
        v = storage.value
        if (
            v is None
            or not (al.strided or not al.chain)
            or storage.strides is not None
            or storage.seen
            or al.counter.n < 0
        ):
            return False
        if (al.counter is not storage.counter and not al.counter.heeded) or (
            t._strides is not None and 0 in t._strides
        ):
            return False
        if base is not None and (base._rg or base._state):
            return False
        holders = known_places(al, v)
    if v.trace is SPECIAL or MODE.inference or is_recorded() or BIRTHS:
        return False
    if type(value) is Tensor:
        if not at_hand(v) or (number := _elements(value, v)) is None:
            return False
    elif (number := _number(value, v.aval.dtype)) is None or not at_hand(v):
        return False
    if not may_be_written(v) or not is_alone(v, holders):
        return False
    array = v.array
    if type(array) is not np.ndarray:  # another thread has had it converted
        return False
    region = array if al is None or not al.chain else region_of(array, al)
    try:
        part = region[index]
    except IndexError:
        return False
    if (
        type(number) is np.ndarray
        and number.ndim
        and (type(part) is not np.ndarray or number.shape != part.shape)
    ):
        return False
    if not _count(t, al, storage, v):
        return False
    region[index] = number
    # one that came in between may have read what was there: the number is written once more
    return THREADS.came == came


def _is_plain(index: tuple[object, ...] | Tensor | int) -> bool:
    for item in index if type(index) is tuple else (index,):
        if type(item) is int:
            continue
        if type(item) is not slice:
            return False
        step = item.step
        if type(step) is int and step < 1:
            return False
        for bound in (item.start, item.stop, step):
            if bound is not None and type(bound) is not int:
                return False
    return True


def _number(value: Any, dtype: np.dtype) -> float | int | None:
    """A Python number that may be written as it is; None for others, of which some are errors."""
    kind = type(value)
    if kind is bool:
        return value if dtype is _BOOL or dtype in _LARGEST or dtype in _INTEGERS else None
    if kind is int:
        if dtype in _WHOLE:
            return value if -_WHOLE[dtype] <= value <= _WHOLE[dtype] else None
        low, high = _INTEGERS.get(dtype, (1, 0))
        return value if low <= value <= high else None
    if kind is float and dtype in _LARGEST:
        return value if -_LARGEST[dtype] < value < _LARGEST[dtype] else None
    return None


def _elements(value: Tensor, v: Value) -> np.ndarray | None:
    """A tensor's elements, if they are at hand, or soon made, and of the dtype of ``v``."""
    if value._rg:
        return None
    its = value._v or value._read()
    if its is v or its.aval.torch_dtype is not v.aval.torch_dtype or its.trace is SPECIAL:
        return None
    return made_at_hand(its)


def _count(t: Tensor, al: Alias | None, storage: Storage | None, v: Value) -> bool:
    """Counts a write, before it is done: who is interrupted between the two has written nothing,
    and views are read again.

    False if another thread has made a view, or has written, since the tensor was looked at; nothing
    is counted then.
    """
    now = v
    if v.meta is not None:  # something is known of the elements, or of what was read from them
        stale(v, t, t._ver if al is None else al.counter.n)
        now = settled(v.array, v.aval)
    # From the questions on no call, so that no other thread comes in between.
    if al is None:
        if t._al is not None or t._v is not v:
            return False
        t._v = now
        t._ver += 1
        return True
    if storage.value is not v:
        return False
    al.counter.n += 1
    storage.value = now
    storage.version += 1
    whole = al if not al.chain else al.base._al if al.base is not None else None
    # which would have the array, too
    if whole is not None and not whole.chain and (whole is al or whole.value is v):
        whole.now(now, storage.version)
    return True
