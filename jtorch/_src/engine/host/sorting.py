"""Sorts and largest elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .direct import lexsort
from .kinds import FLOAT32, kind
from .rules import CALL, Compute, Equation, rule

#: From so many elements on, preparing numbers that sort fast pays.
_MANY = 64


def _cost(e: Equation) -> float:
    a, p = e.ins[0], e.params
    n = a.shape[p["axis"] if "axis" in p else p["dimension"]]
    each = 1e-9 if e.name == "top_k" else 4e-9
    return 4 * CALL + a.size * len(e.ins) * each * max(1.0, math.log2(max(n, 1)))


def _picker(shape: tuple[int, ...]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What takes elements along the last axis of arrays whose other dimensions are those of
    ``shape``."""
    lead, n = shape[:-1], shape[-1]
    if not lead:
        return lambda x, i: x.take(i)
    rows = (np.arange(math.prod(lead)) * n).reshape(*lead, 1)
    return lambda x, i: x.reshape(-1).take(i + rows)


@rule("sort", cost=_cost)
def _sort(e: Equation) -> Compute | None:
    p, aval = e.params, e.ins[0]
    keys = e.ins[: p["num_keys"]]
    kinds = [kind(a.dtype) for a in keys]
    if not all(kinds) or not all(kind(a.dtype) for a in e.ins):
        return None
    axis, shape = p["dimension"], aval.shape
    if aval.size == 0 or shape[axis] == 1:
        return lambda *xs: list(xs)
    if len(e.ins) == 1 and kinds[0] != "c":
        # Zeros of both signs are equal: only stable sorts keep their order.
        sort, stable = np.sort, "stable" if p["is_stable"] and kinds[0] in "fh" else None
        if kinds[0] == "h":
            dtype = np.dtype(aval.dtype)
            return lambda x: [sort(x.astype(FLOAT32), axis, stable).astype(dtype)]
        return lambda x: [sort(x, axis, stable)]
    last = aval.ndim - 1
    moved = shape if axis == last else (*shape[:axis], *shape[axis + 1 :], shape[axis])
    pick, order, swap = _picker(moved), _orderer(kinds), axis != last

    def sort_all(*xs: np.ndarray) -> list[np.ndarray]:
        if swap:
            xs = tuple([np.moveaxis(x, axis, last) for x in xs])
        i = order(xs)
        found = [pick(x, i) for x in xs]
        return [np.moveaxis(x, last, axis) for x in found] if swap else found

    return sort_all


def _orderer(kinds: list[str]) -> Callable[[Any], np.ndarray]:
    """What gives the stable order of the first operands along the last axis; NaN comes last."""
    if kinds in (["b"], ["i"], ["u"], ["f"]):
        return lambda xs: xs[0].argsort(-1, "stable")
    if kinds == ["h"]:
        return lambda xs: xs[0].astype(FLOAT32).argsort(-1, "stable")

    def order(xs: Any) -> np.ndarray:
        keys: list[np.ndarray] = []
        for k, x in zip(kinds, xs, strict=False):
            keys.extend((x.real, x.imag) if k == "c" else (x.astype(FLOAT32) if k == "h" else x,))
        return lexsort(keys[::-1], -1)

    return order


@rule("top_k", cost=_cost)
def _top_k(e: Equation) -> Compute | None:
    aval, k, axis = e.ins[0], e.params["k"], e.params["axis"]
    if kind(aval.dtype) in ("", "c") or aval.size == 0:
        return None
    last = aval.ndim - 1
    axis %= aval.ndim
    shape = (*aval.shape[:axis], *aval.shape[axis + 1 :], aval.shape[axis])
    pick, order, place = (
        _picker(shape),
        _largest(np.dtype(aval.dtype), shape[-1], k),
        np.dtype(e.outs[1].dtype),
    )

    def top(x: np.ndarray) -> list[np.ndarray]:
        if axis != last:
            x = np.moveaxis(x, axis, last)
        i = order(x)
        found = [pick(x, i), i.astype(place)]
        return found if axis == last else [np.moveaxis(y, last, axis) for y in found]

    return top


def _largest(dtype: np.dtype, n: int, k: int) -> Callable[[np.ndarray], np.ndarray]:
    """What gives the places of the ``k`` largest along the last axis, of ``n``, in order; the first
    of equal ones first."""
    rank = _descending(dtype)
    if dtype.itemsize > 4 or n < _MANY or not k:
        return lambda x: rank(x).argsort(-1, "stable")[..., :k]
    places, part = np.arange(n), 4 * k < n

    def order(x: np.ndarray) -> np.ndarray:
        # Rank and place in one number: no two are equal, so that faster ways of sorting will do.
        both = rank(x).astype(np.int64) << 32
        both |= places
        if part:
            both = np.partition(both, k - 1)[..., :k]
        both.sort(-1)
        return both[..., :k] & 0xFFFFFFFF

    return order


def _descending(dtype: np.dtype) -> Callable[[np.ndarray], np.ndarray]:
    """What gives keys that rise as numbers fall, in the order of IEEE: 0.0 above -0.0, NaN above
    infinity, or below -inf by its sign."""
    if dtype.kind in "biu":
        return np.logical_not if dtype.kind == "b" else np.invert
    whole = np.dtype(f"i{dtype.itemsize}")
    top, last = np.iinfo(whole).max, dtype.itemsize * 8 - 1

    def keys(x: np.ndarray) -> np.ndarray:
        bits = x.view(whole)
        return ~(bits ^ ((bits >> last) & top))

    return keys
