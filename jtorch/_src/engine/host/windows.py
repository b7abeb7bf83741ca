"""Reductions over windows, and what their gradients scatter back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from .kinds import FLOAT32, identity, kind
from .reductions import operation, ufunc_of
from .rules import BYTE, CALL, Compute, Equation, nbytes, rule

#: Windows with more elements than this along an axis are reduced by doubling, not element by
#: element.
_SHORT = 8


def padder(
    shape: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    value: np.generic,
) -> Compute | None:
    """What pads arrays of ``shape`` (negative: crops) and puts ``dilation - 1`` values between
    elements; None if nothing changes."""
    if all(
        lo == hi == 0 and (d == 1 or n <= 1)
        for n, (lo, hi), d in zip(shape, padding, dilation, strict=True)
    ):
        return None
    size, source, target = [], [], []
    for n, (lo, hi), d in zip(shape, padding, dilation, strict=True):
        total = max(0, (n - 1) * d + 1 if n else 0) + lo + hi
        size.append(max(0, total))
        first = max(0, -(lo // d))  # the first element at or after the start: i * d + lo >= 0
        last = min(n, (total - 1 - lo) // d + 1)
        last = max(first, last)
        source.append(slice(first, last))
        target.append(
            slice(first * d + lo, max(first * d + lo, (last - 1) * d + lo + 1), d)
            if last > first
            else slice(0, 0)
        )
    if all(lo <= 0 and hi <= 0 for lo, hi in padding) and all(d == 1 for d in dilation):
        crop = tuple(source)
        return lambda x: x[crop]
    size, source, target = tuple(size), tuple(source), tuple(target)
    whole = all(s == slice(0, n) for s, n in zip(source, shape, strict=True))
    zero, empty, zeros = not np.any(value), np.empty, np.zeros

    def pad(x: np.ndarray) -> np.ndarray:
        if zero:
            found = zeros(size, x.dtype)
        else:
            found = empty(size, x.dtype)
            found.fill(value)
        found[target] = x if whole else x[source]
        return found

    return pad


def _cost(e: Equation) -> float:
    window = e.params["window_dimensions"]
    if e.name.startswith("reduce"):
        taps = sum([min(n, 12) for n in window if n > 1])
        return 2 * CALL + taps * (CALL + BYTE * nbytes(e.outs)) + BYTE * nbytes(e.ins)
    return (
        8 * CALL
        + 4 * math.prod(window) * (CALL + 1e-9 * min([a.size for a in (*e.ins, e.out)]))
        + 2 * BYTE * nbytes(e.ins)
    )


@rule("reduce_window_sum", "reduce_window_max", "reduce_window_min", cost=_cost)
def _reduce_window(e: Equation) -> Compute | None:
    return _windows({"sum": "add"}.get(e.name[14:], e.name[14:]), e)


@rule("reduce_window", cost=_cost)
def _general(e: Equation) -> Compute | None:
    p = e.params
    name = operation(p["jaxpr"])
    if name is None or len(e.ins) != 2 or p.get("consts"):
        return None
    compute, ufunc = _windows(name, e), ufunc_of(name, e.ins[0].dtype)
    if compute is None or ufunc is None:
        return None
    dtype = e.out.dtype
    return lambda x, init: [ufunc(compute(x), init).astype(dtype, copy=False)]


def _windows(name: str, e: Equation) -> Compute | None:
    p, aval, out = e.params, e.ins[0], e.outs[0]
    dtype, k = np.dtype(aval.dtype), kind(aval.dtype)
    ufunc = ufunc_of(name, dtype)
    if ufunc is None:
        return None
    wide = FLOAT32 if k == "h" else dtype
    start = identity(name, wide)
    if 0 in out.shape or 0 in aval.shape:
        constant = np.broadcast_to(np.asarray(start, dtype), out.shape)
        return lambda *_: constant
    pad = padder(aval.shape, p["padding"], p["base_dilation"], start)
    steps: list[Compute] = []
    for axis, (size, stride, dilation) in enumerate(
        zip(p["window_dimensions"], p["window_strides"], p["window_dilation"], strict=True)
    ):
        if size > 1 or stride > 1:
            steps.append(_along(ufunc, axis, size, stride, dilation, out.shape[axis]))

    def reduce(x: np.ndarray) -> np.ndarray:
        if wide is not dtype:
            x = x.astype(wide)
        if pad is not None:
            x = pad(x)
        for step in steps:
            x = step(x)
        return x if wide is dtype else x.astype(dtype)

    return reduce


def _along(
    ufunc: np.ufunc, axis: int, size: int, stride: int, dilation: int, count: int
) -> Compute:
    """Reduces windows of ``size`` elements, ``dilation`` apart, along one axis; there are
    ``count``, ``stride`` apart."""
    before = (slice(None),) * axis

    def part(start: int, length: int, step: int) -> tuple[slice, ...]:
        return (*before, slice(start, start + (length - 1) * step + 1, step))

    if size <= _SHORT or size < stride or (size == stride and dilation > 1):
        first, *others = [part(i * dilation, count, stride) for i in range(size)]
        if not others:
            return lambda x: x[first]
        second, *others = others

        def taps(x: np.ndarray) -> np.ndarray:
            found = ufunc(x[first], x[second])
            for tap in others:
                ufunc(found, x[tap], out=found)
            return found

        return taps
    if stride == size and dilation == 1:

        def side_by_side(x: np.ndarray) -> np.ndarray:
            x = x[(*before, slice(0, count * size))]
            shape = (*x.shape[:axis], count, size, *x.shape[axis + 1 :])
            return ufunc.reduce(x.reshape(shape), axis + 1, x.dtype)

        return side_by_side
    # Windows of 1, 2, 4, ... elements at every place, and those put together that make up the size.
    span = (count - 1) * stride + 1
    plan = []
    have, offset = 1, 0
    sums = []
    while True:
        if size & have:
            sums.append((len(plan), part(offset * dilation, count, stride)))
            offset += have
        if 2 * have > size:
            break
        # After this step windows must reach as far as those still to be taken.
        length = span + (size - 2 * have) * dilation
        plan.append((part(0, length, 1), part(have * dilation, length, 1)))
        have *= 2
    takes = dict(sums)

    def doubling(x: np.ndarray) -> np.ndarray:
        found = x[takes[0]] if 0 in takes else None
        for i, (a, b) in enumerate(plan, 1):
            x = ufunc(x[a], x[b])
            if i in takes:
                found = x[takes[i]] if found is None else ufunc(found, x[takes[i]])
        return found  # type: ignore[return-value]

    return doubling


def _taps(
    window: Sequence[int], strides: Sequence[int], dilation: Sequence[int], out: Sequence[int]
) -> list[tuple[slice, ...]]:
    """For each element of a window, where the padded operand has it for all windows."""
    return [
        tuple(
            [
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, s, d, n in zip(place, strides, dilation, out, strict=True)
            ]
        )
        for place in itertools.product(*[range(w) for w in window])
    ]


def _choice(e: Equation) -> tuple[np.ufunc, str] | None:
    """The comparison that keeps what was chosen, and the operation it is of."""
    name = e.params["select_prim"].name
    return {"ge": (np.greater_equal, "max"), "le": (np.less_equal, "min")}.get(name)


@rule("select_and_scatter_add", cost=_cost)
def _select_and_scatter_add(e: Equation) -> Compute | None:
    source, operand = e.ins
    p, choice, k = e.params, _choice(e), kind(operand.dtype)
    if choice is None or k not in ("f", "h") or not operand.ndim:
        return None
    keeps, name = choice
    dtype = np.dtype(operand.dtype)
    wide = FLOAT32 if k == "h" else dtype
    if 0 in source.shape or 0 in operand.shape:
        nothing = np.broadcast_to(np.zeros((), dtype), operand.shape)
        return lambda *_: nothing
    ones = (1,) * operand.ndim
    pad = padder(operand.shape, p["padding"], ones, identity(name, wide))
    padded = tuple([n + lo + hi for n, (lo, hi) in zip(operand.shape, p["padding"], strict=True)])
    crop = (
        None
        if pad is None
        else tuple(
            [slice(lo, lo + n) for n, (lo, _) in zip(operand.shape, p["padding"], strict=True)]
        )
    )
    if any(lo < 0 or hi < 0 for lo, hi in p["padding"]):
        return None
    taps = _taps(p["window_dimensions"], p["window_strides"], ones, source.shape)
    # Where windows begin, and where their elements are from there, in the padded operand as one
    # line.
    steps = [math.prod(padded[i + 1 :]) for i in range(operand.ndim)]
    begins = [
        (np.arange(n) * s * t).reshape([-1 if j == i else 1 for j in range(operand.ndim)])
        for i, (n, s, t) in enumerate(zip(source.shape, p["window_strides"], steps, strict=True))
    ]
    begins = [b for b in begins if b.size > 1]
    within = np.array([np.dot([s.start for s in tap], steps) for tap in taps], np.int64)

    def scatter(s: np.ndarray, x: np.ndarray) -> np.ndarray:
        if k == "h":
            s, x = s.astype(wide), x.astype(wide)
        if pad is not None:
            x = pad(x)
        places = within.take(_chosen(x, taps, keeps))
        for begin in begins:
            places += begin
        out = np.zeros(padded, wide)
        np.add.at(out.reshape(-1), places.ravel(), s.ravel())
        if crop is not None:
            out = out[crop]
        return out if k != "h" else out.astype(dtype)

    return scatter


def _chosen(x: np.ndarray, taps: Sequence[tuple[slice, ...]], keeps: np.ufunc) -> np.ndarray:
    """Which element of each window is chosen. NaN is, and gives way to whatever comes after it, as
    in XLA."""
    best = x[taps[0]].copy()
    index = np.min_scalar_type(len(taps)).type
    chosen = np.zeros(best.shape, index)
    for i, tap in enumerate(taps[1:], 1):
        new = x[tap]
        change = ~keeps(best, new)
        np.copyto(best, new, where=change)
        # Places only rise.
        np.maximum(chosen, change * index(i), out=chosen)
    return chosen


@rule("select_and_gather_add", cost=_cost)
def _select_and_gather_add(e: Equation) -> Compute | None:
    _, operand = e.ins
    p, choice, k, out = e.params, _choice(e), kind(operand.dtype), e.out
    if (
        choice is None
        or k not in ("f", "h")
        or not out.ndim
        or 0 in out.shape
        or 0 in operand.shape
    ):
        return None
    keeps, name = choice
    dtype = np.dtype(operand.dtype)
    start = identity(name, dtype)
    pad = padder(operand.shape, p["padding"], p["base_dilation"], start)
    pad_tangents = padder(operand.shape, p["padding"], p["base_dilation"], dtype.type(0))
    taps = _taps(p["window_dimensions"], p["window_strides"], p["window_dilation"], out.shape)
    inside = None
    if pad is not None:
        pad_inside = padder(operand.shape, p["padding"], p["base_dilation"], np.False_)
        inside = [pad_inside(np.ones(operand.shape, bool))[tap] for tap in taps]  # type: ignore[misc]

    def gather(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        if pad is not None:
            x, t = pad(x), pad_tangents(t)  # type: ignore[misc]
        best = np.full(out.shape, start, dtype)
        found = np.zeros(out.shape, dtype)
        for i, tap in enumerate(taps):
            new = x[tap]
            change = ~keeps(best, new)
            if inside is not None:
                change &= inside[i]
            np.copyto(best, new, where=change)
            np.copyto(found, t[tap], where=change)
        return found

    return gather
