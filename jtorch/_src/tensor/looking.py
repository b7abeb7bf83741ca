"""Views: tensors that look at another's memory, computed at once or when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.grad_mode import MODE
from ...autograd.tape import Node
from ...core import Tensor
from ..engine import LOCAL, SPECIAL, STOPPING, Aval, Value, record, shapes_of, stopping
from ..facts.layouts import contiguous_strides
from .aliases import WIDE, alias_of, derived, wide
from .cells import Alias, Step
from .view_steps import detaching, memory_steps

_new = object.__new__
#: Views of no more bytes are read from NumPy's memory at once.
SMALL_VIEW = 1 << 15


def view(
    t: Tensor,
    step: Step,
    strides: tuple[int, ...],
    offset: int,
    value: Value | None = None,
    edge: tuple[Node | int, ...] | None = None,
    source: Value | None = None,
) -> Tensor:
    """The view of ``t`` that ``step`` describes. Where one op makes several views, ``value`` and
    ``edge`` are given, and of what value.

    Views of tensors made in inference mode (``_writes`` below 0) have no history outside of it:
    autograd knows nothing of their memory.
    """
    al = t._al
    if al is not None and al.base is not None and al.base._rg:
        t._sync()  # the base may have come to require grad since
    if (
        value is None
        and not t._rg
        and (small := small_view(t, (step,), strides, offset)) is not None
    ):
        return small
    trace = LOCAL.trace
    v = t._v
    al = t._al
    if v is None:
        storage = al.storage
        if storage.host is not None and storage.lent() is not None:
            return _unread_view(t, al, step, strides, offset)
        if al.value is None and wide(al):
            return _part_of_wide(t, al, step, strides, offset)
        version, v = al.version, al.value
        # else there is a sharer at once, so that it need not be asked for others
        if v is None or version != storage.version:
            v = t._read()
            al = t._al  # reading may find that nobody shares the storage any more
    r = _new(Tensor)
    grad = t._rg and MODE.enabled and v.aval.differentiable and t._writes >= 0
    if grad and al is not None and al.origin is not None:
        t._check_origin()
    if value is None:
        if trace is None and unread(t, v):  # (asked twice: deferred mode pays for one look)
            return _unread_view(t, alias_of(t), step, strides, offset)
        if 0 in strides and v.trace is not SPECIAL and _widens(t, step):
            return _part_of_wide(t, alias_of(t), step, strides, offset)
        seen: Value = record(step.get, (v,), step.numbers)
        value = seen
        if grad and seen.aval.differentiable:
            r._node = Node(step.get, (v,), (t._edge(),), step.numbers, (seen,))
            r._rg = True
    elif edge is not None:
        r._node, r._nr = edge
        r._rg = True
    if al is None:
        al = alias_of(t)
    base = al.base if al.base is not None else t
    chain = (*al.chain, step)
    if value.trace is SPECIAL and not MODE.enabled and STOPPING.within is not None and stopping():
        chain = (*chain, detaching())
    storage = al.storage
    r._al = mine = _new(Alias)  # as ``Alias`` makes it, each attribute once
    mine.storage = storage
    mine.chain = chain
    mine.value = value
    # asked for before the value that it belongs to: another thread may write into ``t`` meanwhile
    version = al.version
    mine.version = (
        storage.version if value.trace is SPECIAL else version if al.value is (source or v) else -1
    )
    mine.base = base
    mine.counter = counter = al.counter
    mine.gen = counter.n
    aval = value.aval
    mine.offset, mine.aval, mine.strides = offset, aval, strides
    mine.strided = step.geometric and type(step) is Step and (al.strided or not al.chain)
    mine.direct = False
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    derived(value, storage.value)
    if strides != contiguous_strides(aval.shape):
        r._strides = strides
    return r


def small_view(
    t: Tensor,
    steps: tuple[Step, ...],
    strides: tuple[int, ...],
    offset: int,
    aval: Aval | None = None,
) -> Tensor | None:
    """A small view of memory that NumPy's array is, to be computed from that when it is read,
    however many views lie between; None where it would have to be another way. (Reading it runs no
    kernel, so that it is no question whether to record one.)

    Args:
        aval: of the view, where it is known already.
    """
    al = t._al
    if al is None:
        whole = t._v
        if whole is None:
            return None
        before = whole.aval
    else:
        # the base may have come to require grad
        if not (al.strided or not al.chain) or ((base := al.base) is not None and base._rg):
            return None
        storage = al.storage
        whole, before = storage.value, al.aval
        if whole is None or storage.strides is not None:
            return None
    array = whole.array
    # to become a program: recorded
    if type(array) is not np.ndarray or (
        (trace := LOCAL.trace) is not None and trace.ahead is None
    ):
        return None
    if aval is None:
        # Shapes are asked of the step alone, so that a view of a view of a view is one object with
        # a longer chain, and no kernel has run.
        shown: Any = before
        for step in steps:
            if not step.geometric or type(step) is not Step:
                return None
            shown = (
                step.get.shapes.get((shown,)) or shapes_of(step.get, (shown,), shown.device)
            ).outs
        aval = shown
    if aval.nbytes > SMALL_VIEW or aval.dtype != array.dtype:
        return None
    if al is None:
        al = alias_of(t)
        if al.storage.strides is not None:
            return None
    r = _new(Tensor)
    r._al = mine = _new(Alias)  # as ``Alias`` makes it, each attribute once
    mine.storage = al.storage
    mine.chain = (*al.chain, *steps)
    mine.value = None
    # No version of a storage is -1, so that the first reader computes the value.
    mine.version = -1
    base = al.base
    mine.base = t if base is None else base
    mine.counter = counter = al.counter
    mine.gen = counter.n
    mine.offset, mine.aval, mine.strides = offset, aval, strides
    mine.strided = mine.direct = True
    mine.contiguous = contiguous = strides == contiguous_strides(aval.shape)
    if not contiguous:
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    return r


def _widens(t: Tensor, step: Step) -> bool:
    aval: Any = shapes_of(step.get, (t._aval,), t._aval.device).outs
    return (
        type(aval.nbytes) is int
        and aval.nbytes > WIDE
        and aval.size > (t._aval if t._al is None else t._al.storage.aval).size
    )


def _part_of_wide(
    t: Tensor, al: Alias, step: Step, strides: tuple[int, ...], offset: int
) -> Tensor:
    """A view that is wide, or of one that is: read by its strides where they tell, so that the wide
    one is never computed."""
    aval: Any = shapes_of(step.get, (t._aval,), t._aval.device).outs
    chain: tuple[Step, ...] = (*al.chain, step)
    if al.chain and all(s.geometric for s in chain):
        chain = tuple(
            memory_steps(
                al.storage.aval, al.storage.strides, aval.shape, strides, offset, aval.dtype
            )
        )
    r = _new(Tensor)
    r._al = mine = Alias(
        al.storage, chain, None, al.base if al.base is not None else t, al.counter.n, offset
    )
    mine.aval, mine.strides, mine.counter = aval, strides, al.counter
    if strides != contiguous_strides(aval.shape):
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    if t._rg and MODE.enabled and aval.differentiable and t._writes >= 0:
        if al.origin is not None:
            t._check_origin()
        r._node = Node(
            step.get, (_described(t._aval),), (t._edge(),), step.numbers, (_described(aval),)
        )
        r._rg = True
    return r


def _described(aval: Aval) -> Value:
    """A value to make a node of which keeps none: only its shape and dtype are known."""
    v = _new(Value)
    v.aval, v.array, v.index, v.trace, v.meta = aval, None, 0, None, None
    return v


def unread(t: Tensor, v: Value) -> bool:
    """Whether views of ``t``, whose value is ``v``, are left to be computed when they are read:
    immediate mode would copy each at once.

    Only those of whole tensors: views of a view would each compute that one anew.
    """
    if LOCAL.trace is not None or t._rg or v.trace is SPECIAL:
        return False
    al = t._al
    return al is None or not (al.chain or al.base is not None)


def _unread_view(t: Tensor, al: Alias, step: Step, strides: tuple[int, ...], offset: int) -> Tensor:
    """A view whose value is computed when it is needed: of NumPy's memory, and in immediate mode of
    any tensor that is no view itself."""
    aval = shapes_of(step.get, (t._aval,), t._aval.device).outs
    r = _new(Tensor)
    base = al.base if al.base is not None else t
    r._al = mine = Alias(al.storage, (*al.chain, step), None, base, al.counter.n, offset)
    mine.aval, mine.strides, mine.counter = aval, strides, al.counter
    mine.strided = step.geometric and type(step) is Step and (al.strided or not al.chain)
    if strides != contiguous_strides(aval.shape):
        r._strides = strides
    mine.origin = al.origin if MODE.enabled else "inference" if MODE.inference else "no_grad"
    if t._rg and MODE.enabled and t._writes >= 0:
        v = t._read()
        value = record(step.get, (v,), step.numbers)
        r._node = Node(step.get, (v,), (t._edge(),), step.numbers, (value,))
        r._rg = True
    return r


def same_memory(t: Tensor, source: Tensor, origin: str) -> Tensor:
    """A tensor on the memory of ``t``, counted as a view of ``source``; ``origin`` says what made
    it (see ``Alias``)."""
    r = t._detached()
    al = alias_of(source)
    if r._al.storage.detach is not None:  # no data: its class keeps count of views itself
        return r
    r._al.base = source if al.base is None else al.base
    r._al.gen, r._al.origin = al.counter.n, origin
    return r
