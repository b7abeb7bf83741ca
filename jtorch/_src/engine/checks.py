"""Checks on values that kernels state (``guard``): what answers them before anything runs, and the
error of one that failed.

A check is ``(exception type, message, span)``. The span says where it holds, if it is about one
operand's elements: it is ``(at, low, high, hole, skip, exact)`` for ``low <= x <= high`` but not
``hole``, or ``x == skip``; ``at`` counts operands, then numbers, and ``exact`` tells whether the
check fails if one element is none of that. Whatever is known of that operand, its numbers or the
interval that kernels before it imply, may then answer the check, so that the trace goes on. What
stays unanswered is run by the call that asks (``record``): errors are raised where they happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..facts.dtypes import int64
from .calls import Call, known
from .intervals import EMPTY, Interval, Kept, flow, join, limits, of_array, outcome
from .trie import ROOT, State
from .values import META, SPECIAL, Aval, Meta, Value

if TYPE_CHECKING:
    import jax

    from ..facts.kinds import Operands


Span: TypeAlias = "tuple[int, float, float, float | None, float | None, bool]"
Check: TypeAlias = "tuple[type[Exception], str, Span | None]"

#: Nothing is known.
_ANY: Interval = (-math.inf, math.inf)
#: So many steps are looked back at for one answer.
_STEPS = 64
#: Lists are faster than NumPy for so many elements.
_FEW = 64
_UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


def answered(
    call: Call, checks: Sequence[Check], ins: Sequence[Value], numbers: Sequence[float]
) -> bool:
    """Whether what is known of the operands says that no check fails."""
    for k, (_, _, span) in enumerate(checks):
        if span is None:
            if call.chains is None or not _chained(call.chains[k], ins, numbers):
                return False
            continue
        at, low, high, hole, skip, _ = span
        if at >= len(ins):
            x = numbers[at - len(ins)]
            if not (x == skip or (low <= x <= high and x != hole)):
                return False
            continue
        v = ins[at]
        least, most = bounds(v, skip)
        # Of NaN nothing holds.
        if not (least >= low and most <= high):
            return False
        if hole is not None and least <= hole <= most and not _without(v, hole):
            return False
    return True


def test_of(span: Span, dtype: np.dtype | None) -> Callable[..., object]:
    """What tells of a NumPy array of ``dtype``, or of a number where that is None, whether the
    check of a span holds for sure."""
    _, low, high, hole, skip, _ = span
    if dtype is None:
        return lambda x: x == skip or (low <= x <= high and x != hole)

    # Negative numbers are large without their sign: one look at the elements instead of two.
    unsigned = _UNSIGNED.get(dtype) if low == 0 <= high else None

    def of_all(x: np.ndarray) -> bool:
        if skip is not None:
            x = x[x != skip]
        if not x.size:
            return True
        if unsigned is not None:
            if not np.maximum.reduce(x.view(unsigned), None) <= high:
                return False
        elif not (np.minimum.reduce(x, None) >= low and np.maximum.reduce(x, None) <= high):
            return False
        return hole is None or not (x == hole).any()

    if dtype.kind not in "iu":
        return of_all

    def of_integers(x: np.ndarray) -> bool:
        size = x.size
        if not 0 < size <= _FEW:
            return of_all(x)
        numbers = x.ravel().tolist()
        if skip is not None and skip in numbers:
            numbers = [n for n in numbers if n != skip]
            if not numbers:
                return True
        return (
            min(numbers) >= low and max(numbers) <= high and (hole is None or hole not in numbers)
        )

    return of_integers


def bounds(v: Value, skip: object = None) -> Interval:
    """The interval of a value's elements, those that equal ``skip`` left out; remembered."""
    if v.meta is None:
        fresh = Meta()
        if v.meta is None:  # no call since: another thread may have noted something else
            v.meta = fresh
    meta = v.meta
    known = meta.bounds
    if known is None:
        known = meta.bounds = {}
    found = known.get(skip)
    if found is None:
        if v.trace is SPECIAL:
            return _ANY
        found = known[skip] = _of_pending(v, skip) if v.array is None else _of_concrete(v, skip)
    return found


def _of_concrete(v: Value, skip: object) -> Interval:
    aval = v.aval
    size = aval.size
    # of most index tensors: no more is done than must be
    if 0 < size <= _FEW and aval.torch_dtype is int64:
        try:
            numbers = memoryview(v.array).cast("B").cast("q").tolist()
        # on another device, or laid out in another way
        except (TypeError, ValueError, BufferError):
            numbers = np.asarray(v.array).ravel().tolist()
        if skip is not None:
            numbers = [x for x in numbers if x != skip]
        return (min(numbers), max(numbers)) if numbers else EMPTY
    if aval.device == META or aval.torch_dtype is None:
        return _ANY
    if not size:
        return EMPTY
    a = np.asarray(v.array)
    if a.dtype.kind in "iub":
        return of_array(a, skip)
    if a.dtype.kind == "c":
        return _ANY
    if skip is not None:
        a = a[a != skip]
    return (float(a.min()), float(a.max())) if a.size else EMPTY


def _without(v: Value, hole: Any) -> bool:
    """Whether a number between a value's least and greatest is none of its elements."""
    if v.array is None:
        return False
    assert v.meta is not None
    assert v.meta.bounds is not None
    known = v.meta.bounds.get(("without", hole))
    if known is None:
        known = v.meta.bounds["without", hole] = not bool((np.asarray(v.array) == hole).any())
    return known


# ---- pending values ------------------------------------------------------------------------------


def _of_pending(v: Value, skip: object) -> Interval:
    trace = v.trace
    if trace is None:
        return _ANY
    return _Steps(trace.state, lambda i, skip: bounds(trace.leaves[i], skip), trace.numbers).of(
        v.index, skip
    )


class _Steps:
    """Looks back at the steps of a trace. ``leaf`` gives the interval of an input, ``numbers`` are
    those of all steps in order."""

    def __init__(self, end: State, leaf: Callable[[int, Any], Interval], numbers: Operands) -> None:
        self.end, self.leaf, self.numbers = end, leaf, numbers
        self.left = _STEPS

    def of(self, index: int, skip: Any) -> Interval:
        """The interval of a result, or of an input as -1, -2, ..."""
        if index < 0:
            return self.leaf(-index - 1, skip)
        node = self.end
        while node.first > index:
            assert node.parent is not None
            node = node.parent
        outs = node.outs
        aval = outs if type(outs) is Aval else outs[index - node.first]
        most = limits(aval.dtype)
        self.left -= 1
        if most == _ANY or self.left < 0 or node is ROOT:
            return most
        call, ids = node.call, node.ids
        assert call is not None

        def operand(i: int, kept: Kept = None) -> Interval:
            if i < len(ids):
                return self.of(ids[i], kept[0] if kept else None)
            x = self.numbers[node.numbers_at + i - len(ids)]
            if type(x) not in (int, bool):
                return _ANY
            return EMPTY if kept and x == kept[0] else (int(x), int(x))

        if call.bounds is not None:
            found = call.bounds(operand)
            if found is not None:
                return found if most[0] <= found[0] and found[1] <= most[1] else most
        shapes = known(call, node.avals)
        j, kept = index - node.first, (skip,)
        try:
            handed = shapes.flows[j, skip]
        except KeyError:
            handed = shapes.flows[j, skip] = flow(shapes.traced(call, node.avals), j, kept)
        if handed is None:
            return outcome(shapes.traced(call, node.avals), j, operand, kept)
        found, places = handed
        for i in places:
            found = join(found, operand(i, kept))
        return found


# ---- programs made of recorded steps -------------------------------------------------------------


class Chain:
    """A check of a step inside a program: what it is about is a result of the steps before, an
    input, or a number of the program."""

    __slots__ = ("end", "index", "number", "span")

    def __init__(self, node: State, span: Span) -> None:
        at = span[0]
        self.end, self.span = node, span
        self.index = node.ids[at] if at < len(node.ids) else None
        self.number = node.numbers_at + at - len(node.ids)


def chains(steps: Sequence[State]) -> tuple[Chain | None, ...]:
    """For each check of recorded steps, in order, what may answer it when they are one call
    (``Call.chains``)."""
    return tuple(
        [None if span is None else Chain(s, span) for s in steps for _, _, span in s.checks]
    )


def _chained(chain: Chain | None, ins: Sequence[Value], numbers: Sequence[float]) -> bool:
    if chain is None:
        return False
    _, low, high, hole, skip, _ = chain.span
    if chain.index is None:
        x = numbers[chain.number]
        return x == skip or (low <= x <= high and x != hole)
    if chain.index < 0:
        v = ins[-chain.index - 1]
        least, most = bounds(v, skip)
        clear = hole is None or not least <= hole <= most or _without(v, hole)
    else:
        least, most = _Steps(chain.end, lambda i, skip: bounds(ins[i], skip), numbers).of(
            chain.index, skip
        )
        clear = hole is None or not least <= hole <= most
    return clear and least >= low and most <= high


# ---- errors --------------------------------------------------------------------------------------


def refuted(
    checks: Sequence[Check], ins: Sequence[Value], numbers: Sequence[object]
) -> Exception | None:
    """The error of the first check that numbers which are there make fail: inside ``jax.jit``
    nobody can read the call's own answer."""
    for kind, message, span in checks:
        if span is None or not span[-1]:
            continue
        at, low, high, hole, skip, _ = span
        if at < len(ins):
            v = ins[at]
            if v.trace is SPECIAL or v.array is None:
                continue
            least, most = bounds(v, skip)
            if least >= low and most <= high and not (hole is not None and least <= hole <= most):
                continue
            a = np.asarray(v.array).ravel()
        else:
            a = np.asarray([numbers[at - len(ins)]])
        bad = ~((a >= low) & (a <= high))
        if hole is not None:
            bad |= a == hole
        if skip is not None:
            bad &= a != skip
        if bad.any():
            return kind(message.replace("{}", str(a[bad][0]), 1))
    return None


def failure(flags: jax.Array | np.ndarray, checks: Sequence[Check]) -> Exception | None:
    """The error of the first check that failed, if one did."""
    # reading numbers one by one out of an array takes several times as long
    table = np.asarray(flags).tolist()
    for (bad, value), (kind, message, _) in zip(table, checks, strict=True):
        if bad:
            return kind(message.replace("{}", str(value), 1))
    return None
