"""Calls on lists of tensors of which the first results take the places of operands, as a step of an
optimiser has them: what nobody else has is written where it lies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import BIRTHS, Tensor
from ..engine import Call, Value, ran_at_once, replacing, settled
from .overwriting import is_recorded
from .writing import swap

_refs = sys.getrefcount
_new = object.__new__
_ndarray = np.ndarray


def replaced(
    call: Call,
    tensors: Sequence[Tensor],
    ins: Sequence[Value],
    numbers: tuple[float, ...],
    spans: Sequence[tuple[int, int]],
    writes: Sequence[int],
) -> tuple[Tensor, ...] | None:
    """Runs a call and writes its first results into operands, if NumPy runs it now and can do that.

    ``spans`` are where these begin and end among all operands, ``writes`` how often each counts as
    written. Gives the results, of which the first are those operands; None if nothing was done.
    """
    if BIRTHS or is_recorded():
        return None
    arrays = [v.array for v in ins]
    if set(map(type, arrays)) != {_ndarray}:
        return None
    found = replacing(call, ins, spans)
    if found is None:
        return None
    shared = {}
    for begin, end in spans:
        own = tensors[begin:end]
        held, holders = _held(ins[begin:end])
        if any([t._state and not t._rg for t in own]):  # noqa: C419 (a list is faster)
            return None  # a module's buffer may be refused
        if (
            max(held, default=0) > _VALUE
            or max(holders, default=0) > _ARRAY
            or not all(map(_is_own, own))
        ):
            each = zip(range(begin, end), own, held, holders, strict=True)
            shared |= {i: t for i, t, n, m in each if n > _VALUE or m > _ARRAY or not _is_own(t)}
    for i in shared:
        arrays[i] = arrays[i].copy()
    run, shapes = found
    ran_at_once(shapes)
    results = run(*arrays, *numbers)
    assert type(shapes.outs) is tuple
    made: list[Tensor] = []
    for (begin, end), count in zip(spans, writes, strict=True):
        first = len(made)
        for i, t, v, array in zip(
            range(begin, end), tensors[begin:end], ins[begin:end], results[first:], strict=False
        ):
            if i in shared:
                swap(t, settled(array, v.aval), count)
                continue
            v.array = array
            t._ver += count
        made += tensors[begin:end]
    for aval, array in zip(shapes.outs[len(made) :], results[len(made) :], strict=True):
        t = _new(Tensor)
        t._v = settled(array, aval)
        made.append(t)
    return tuple(made)


def _held(values: Sequence[Value]) -> tuple[list[int], list[int]]:
    """How many have each value, and its array."""
    return [_refs(v) for v in values], [_refs(v.array) for v in values]


def _alone() -> tuple[int, int]:
    """What these are where one tensor alone has them."""
    t = _new(Tensor)
    t._v = _new(Value)
    t._v.array = np.zeros(1)
    ins = [t._v]
    arrays = [v.array for v in ins]
    (value,), (array,) = _held(ins[0 : len(arrays)])
    return value, array


_VALUE, _ARRAY = _alone()


def _is_own(t: Tensor) -> bool:
    """Whether a tensor has memory of its own, of which nothing is known."""
    v: Any = t._v
    return t._al is None and v.trace is None and v.meta is None and v.array.base is None
