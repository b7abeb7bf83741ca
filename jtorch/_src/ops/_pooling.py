"""Sums and maxima over sliding windows, and their gradients; knows shapes and arrays, not torch's
signatures or errors.

A window's elements ("taps") are slices of the padded input, so that XLA fuses the whole window into
one elementwise loop: on CPU that is several times faster than ``reduce_window``, and its gradient
(``select_and_scatter``) slower still. The maximum is remembered as the tap it came from, which
makes the gradient another elementwise loop.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.intervals import in_range
from ._declare import Array
from ._extrema import extremum
from ._remainder import whole_modulo, whole_quotient

if TYPE_CHECKING:
    from types import ModuleType


#: Windows of more taps are reduced one dimension after the other.
_MAX_TAPS = 32


@dataclasses.dataclass(frozen=True)
class Windows:
    """Windows over the last dimensions: one entry for each; ``padding`` is the one in front."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def tiles(self) -> bool:
        """Whether the windows lie side by side from the beginning."""
        dense = all(d == 1 or k == 1 for d, k in zip(self.dilation, self.kernel, strict=True))
        return dense and self.kernel == self.stride and not any(self.padding)

    @property
    def taps(self) -> int:
        """How many elements a window has."""
        return math.prod(self.kernel)

    def axis(self, i: int) -> Windows:
        """The windows of one dimension alone."""
        return Windows(
            *[
                (field[i],)
                for field in (
                    self.size,
                    self.kernel,
                    self.stride,
                    self.padding,
                    self.dilation,
                    self.out,
                )
            ]
        )

    def padded(self) -> list[tuple[int, int, int]]:
        """``lax.pad`` configuration that puts every window inside; it may crop what no window
        reaches."""
        config = []
        for n, k, s, p, d, o in zip(
            self.size, self.kernel, self.stride, self.padding, self.dilation, self.out, strict=True
        ):
            config.append((p, (o - 1) * s + d * (k - 1) + 1 - n - p, 0))
        return config


def out_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Number of windows along a dimension of size ``n``, as torch counts them."""
    out = (
        n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    ) // stride + 1
    # the last window must start inside the input or the padding in front
    if ceil_mode and (out - 1) * stride >= n + padding:
        out -= 1
    return out


def _pad(x: Array, value: object, win: Windows, axis: int) -> Array:
    config = [(0, 0, 0)] * x.ndim
    config[axis : axis + len(win.size)] = win.padded()
    return lax.pad(x, jnp.asarray(value, x.dtype), config) if any(map(any, config)) else x


def _apart(x: Array) -> Array:
    """Keeps what windows share from being computed again for each of them, as XLA does on the
    CPU."""
    return lax.optimization_barrier(x) if jax.default_backend() == "cpu" else x


def _shared(padded: Array, win: Windows) -> Array:
    """What windows are taken of. Those that lie side by side share nothing."""
    return padded if win.tiles else _apart(padded)


def _slices(x: Array, win: Windows, axis: int) -> list[Array]:
    """One array for each tap, of the padded ``x`` whose windowed dimensions begin at ``axis``."""
    found = []
    for offset in itertools.product(*map(range, win.kernel)):
        start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for i, (t, s, d, o) in enumerate(
            zip(offset, win.stride, win.dilation, win.out, strict=True), axis
        ):
            start[i], stop[i], step[i] = t * d, t * d + (o - 1) * s + 1, s
        found.append(lax.slice(x, start, stop, step))
    return found


def _separately(win: Windows) -> bool:
    return win.taps > _MAX_TAPS and len(win.size) > 1


# ------------------------------------------------------------------------------------------- maxima


def lowest(dtype: np.dtype) -> object:
    """The value that is never the maximum."""
    return -np.inf if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype).min


def take_over(value: Array, best: Array) -> Array:
    """Where torch's search for the maximum moves on to ``value``: the first of equals wins, a nan
    always."""
    better = value > best
    return better | (value != value) if jnp.issubdtype(value.dtype, jnp.floating) else better


def window_max(x: Array, win: Windows) -> Array:
    """The maximum of each window; nan where there is one."""
    return _reduce(x, win, lowest(x.dtype), jnp.maximum)


def window_argmax(x: Array, win: Windows) -> tuple[Array, Array]:
    """The maximum of each window, and the tap (counted row by row in the window) that it is first
    found at."""
    first = x.ndim - len(win.size)
    value, tap = x, None
    if _separately(win):
        taps_below = 1
        for i in reversed(range(len(win.size))):
            value, tap = _argmax_step(value, tap, win.axis(i), first + i, taps_below)
            taps_below *= win.kernel[i]
    else:
        value, tap = _argmax_step(value, None, win, first, 1)
    assert tap is not None
    return value, tap


def _argmax_step(
    x: Array, carried: Array | None, win: Windows, axis: int, scale: int
) -> tuple[Array, Array]:
    """``window_argmax`` over some dimensions; ``carried`` are the taps already chosen in later
    dimensions, numbered below ``scale``."""
    if win.taps > (_MAX_TAPS if win.tiles and len(win.size) == 1 else _MAX_TAPS * 4):
        return _argmax_together(x, carried, win, axis, scale)
    values = _slices(_shared(_pad(x, lowest(x.dtype), win, axis), win), win, axis)
    shape = [1] * x.ndim
    shape[axis : axis + len(win.out)] = win.out
    initial = _numbers(values[0].shape).broadcast_to(
        _first_inside(win).reshape(shape), values[0].shape
    )
    carried_taps = None if carried is None else _slices(_pad(carried, 0, win, axis), win, axis)
    best, tap = values[0], jnp.asarray(initial * scale, np.int32)
    if carried_taps is not None:
        tap = tap + carried_taps[0]
    for t, value in enumerate(values[1:], 1):
        better = take_over(value, best)
        candidate = (
            jnp.int32(t * scale) if carried_taps is None else carried_taps[t] + jnp.int32(t * scale)
        )
        best, tap = jnp.where(better, value, best), jnp.where(better, candidate, tap)
    return best, tap


def _argmax_together(
    x: Array, carried: Array | None, win: Windows, axis: int, scale: int
) -> tuple[Array, Array]:
    """For wide windows over one dimension: all their elements side by side."""
    if len(win.size) != 1:
        raise AssertionError("wide windows are reduced one dimension after the other")
    (k,), (o,) = win.kernel, win.out
    values = _side_by_side(_pad(x, lowest(x.dtype), win, axis), win, axis)
    largest = jnp.max(values, axis + 1, keepdims=True)
    each = lax.broadcasted_iota(np.int32, values.shape, axis + 1)
    tap = jnp.min(jnp.where(values == largest, each, jnp.int32(k)), axis + 1)
    if jnp.issubdtype(x.dtype, jnp.floating):
        last_nan = jnp.max(jnp.where(values != values, each, jnp.int32(-1)), axis + 1)
        tap = jnp.where(last_nan >= 0, last_nan, tap)
    shape = [1] * x.ndim
    shape[axis] = o
    tap = jnp.maximum(tap, jnp.asarray(_first_inside(win).reshape(shape), np.int32))
    index = jnp.expand_dims(tap, axis + 1)
    best = jnp.take_along_axis(values, index, axis + 1).squeeze(axis + 1)
    chosen = tap * jnp.int32(scale)
    if carried is not None:
        below = _side_by_side(_pad(carried, 0, win, axis), win, axis)
        chosen = chosen + jnp.take_along_axis(below, index, axis + 1).squeeze(axis + 1)
    return best, chosen


def _side_by_side(x: Array, win: Windows, axis: int) -> Array:
    """The elements of windows over one dimension, along one more behind it."""
    (k,), (s,), (d,), (o,) = win.kernel, win.stride, win.dilation, win.out
    if win.tiles and type(o) is type(k) is int:
        x = lax.slice_in_dim(x, 0, o * k, axis=axis)
        return x.reshape(*x.shape[:axis], o, k, *x.shape[axis + 1 :])
    places = _numbers((o,)).arange(o)[:, None] * s + np.arange(k) * d
    return jnp.take(x, places, axis)


def _numbers(sizes: tuple[int, ...]) -> ModuleType:
    """NumPy, which computes while the kernel is traced, where all sizes are known."""
    return np if all(type(n) is int for n in sizes) else jnp


def _first_inside(win: Windows) -> np.ndarray:
    """For each window, its first tap that is not padding: what torch names where all elements are
    the lowest value."""
    xp = _numbers(win.out)
    total = xp.zeros(win.out, np.int64)
    for i, (k, s, p, d, o) in enumerate(
        zip(win.kernel, win.stride, win.padding, win.dilation, win.out, strict=True)
    ):
        first = xp.maximum(0, -(-(p - xp.arange(o) * s) // d))
        total = total * k + first.reshape([-1 if j == i else 1 for j in range(len(win.out))])
    return total


def flat_index(tap: Array, win: Windows) -> Array:
    """The place of each window's chosen tap in its plane, counted row by row."""
    first = tap.ndim - len(win.size)
    rest = tap.astype(np.int64)
    places: list[Array] = []
    for i in reversed(range(len(win.size))):
        t, k = rest, win.kernel[i]
        if i:  # what the first dimension leaves is below its size
            by = jnp.full(rest.shape, k, np.int64)
            t, rest = whole_modulo(rest, by), whole_quotient(rest, by)
        start = (
            lax.broadcasted_iota(np.int64, tap.shape, first + i) * win.stride[i] - win.padding[i]
        )
        places.insert(0, start + t * win.dilation[i])
    flat = places[0]
    for size, place in zip(win.size[1:], places[1:], strict=True):
        flat = flat * size + place
    return in_range(flat, 0, math.prod(win.size) - 1)


def spread_to_tap(g: Array, tap: Array, win: Windows) -> Array:
    """The gradient of ``window_max``: each window's ``g`` at the element that was its maximum."""
    n = len(win.size)
    lead = g.shape[: g.ndim - n]
    if win.tiles:
        wide = tuple(v for o in win.out for v in (o, 1))
        full = tuple(v for o, k in zip(win.out, win.kernel, strict=True) for v in (o, k))
        numbers = np.arange(win.taps, dtype=np.int32).reshape(
            [v for k in win.kernel for v in (1, k)]
        )
        mine = tap.reshape(*lead, *wide) == numbers.reshape((1,) * len(lead) + numbers.shape)
        spread = jnp.where(
            mine, jnp.broadcast_to(g.reshape(*lead, *wide), (*lead, *full)), jnp.zeros((), g.dtype)
        )
        return _fit(
            spread.reshape(*lead, *(o * k for o, k in zip(win.out, win.kernel, strict=True))),
            win.size,
        )
    if win.taps > _MAX_TAPS:
        return add_at(g, flat_index(tap, win), win.size)
    zero = jnp.zeros((), g.dtype)
    around = _reached(win, len(lead))
    shares = _apart(lax.pad(g, zero, around))
    taps = _apart(lax.pad(tap.astype(np.int8), jnp.int8(-1), around))
    total = None
    for t, offset in enumerate(itertools.product(*map(range, win.kernel))):
        start = [0] * len(lead) + [
            (k - 1 - o) * d for k, o, d in zip(win.kernel, offset, win.dilation, strict=True)
        ]
        stop = [*lead, *(first + n for first, n in zip(start[len(lead) :], win.size, strict=True))]
        share = jnp.where(
            lax.slice(taps, start, stop) == jnp.int8(t), lax.slice(shares, start, stop), zero
        )
        total = share if total is None else total + share
    assert total is not None
    return total


def _reached(win: Windows, lead: int) -> list[tuple[int, int, int]]:
    """``lax.pad`` configuration that spreads results over the input, with room for each window that
    reaches a first or last element."""
    config = [(0, 0, 0)] * lead
    for n, k, s, p, d, o in zip(
        win.size, win.kernel, win.stride, win.padding, win.dilation, win.out, strict=True
    ):
        reach = (k - 1) * d
        config.append((reach - p, n + p - ((o - 1) * s + 1), s - 1))
    return config


def add_at(g: Array, index: Array, size: tuple[int, ...]) -> Array:
    """A plane of ``size`` for each leading index of ``g``, holding the sum of ``g`` at the flat
    places ``index``."""
    n = len(size)
    lead = g.shape[: g.ndim - n]
    planes, count = math.prod(lead), math.prod(g.shape[-n:])
    rows = jnp.arange(planes, dtype=index.dtype)[:, None]
    zeros = jnp.zeros((planes, math.prod(size)), g.dtype)
    return (
        zeros.at[rows, index.reshape(planes, count)]
        .add(g.reshape(planes, count), mode="drop")
        .reshape(*lead, *size)
    )


# --------------------------------------------------------------------------------------------- sums


def window_sum(x: Array, win: Windows) -> Array:
    """The sum of each window; elements outside the input count as zero."""
    return _reduce(x, win, 0, jnp.add)


def spread_evenly(g: Array, win: Windows) -> Array:
    """The gradient of ``window_sum``: ``g`` at every element of its window."""
    n = len(win.size)
    lead = g.shape[: g.ndim - n]
    if win.tiles:
        wide = tuple(v for o in win.out for v in (o, 1))
        full = tuple(v for o, k in zip(win.out, win.kernel, strict=True) for v in (o, k))
        spread = jnp.broadcast_to(g.reshape(*lead, *wide), (*lead, *full))
        return _fit(
            spread.reshape(*lead, *(o * k for o, k in zip(win.out, win.kernel, strict=True))),
            win.size,
        )
    for i in range(n):  # the sum over a box is a sum in each dimension
        one = win.axis(i)
        axis = g.ndim - n + i
        total = None
        for t in range(win.kernel[i]):
            share = _placed(jnp.moveaxis(g, axis, -1), (t,), one)
            total = share if total is None else total + share
        assert total is not None
        g = jnp.moveaxis(total, -1, axis)
    return g


def _reduce(x: Array, win: Windows, outside: object, combine: object) -> Array:
    first = x.ndim - len(win.size)
    only = all(o == 1 for o in win.out) and all(d == 1 for d in win.dilation)
    if _separately(win) and not (only and combine is jnp.maximum):
        for i in reversed(range(len(win.size))):
            x = _reduce_step(x, win.axis(i), first + i, outside, combine)
        return x
    return _reduce_step(x, win, first, outside, combine)


def _reduce_step(x: Array, win: Windows, axis: int, outside: object, combine: object) -> Array:
    padded = _pad(x, outside, win, axis)
    n = len(win.size)
    if all(o == 1 for o in win.out) and all(d == 1 for d in win.dilation):
        axes = tuple(range(axis, axis + n))
        if combine is jnp.maximum:
            return extremum(padded, axes, keepdims=True, largest=True)
        return jnp.sum(padded, axes, keepdims=True).astype(x.dtype)
    if win.taps > _MAX_TAPS:  # of one dimension
        if combine is jnp.maximum:
            return _maxima_along(padded, win, axis)
        around = lambda values, rest: (1,) * axis + values + (1,) * rest  # noqa: E731
        rest = x.ndim - axis - n
        return lax.reduce_window(
            padded, np.asarray(outside, x.dtype), lax.add, around(win.kernel, rest),
            around(win.stride, rest), "VALID", window_dilation=around(win.dilation, rest),
        )  # fmt: skip
    slices = _slices(_shared(padded, win), win, axis)
    total = slices[0]
    for s in slices[1:]:
        total = combine(total, s)  # type: ignore[operator]
    return total


def _maxima_along(x: Array, win: Windows, axis: int) -> Array:
    """The maxima of wide windows over one dimension of what is padded already.

    XLA's own, ``reduce_window``, loses nan on the CPU. Windows of 1, 2, 4, ... elements at each
    place give those of any size, as maxima may be taken of what overlaps.
    """
    if win.tiles:
        return extremum(_side_by_side(x, win, axis), axis + 1, largest=True)
    (k,), (s,), (d,), (o,) = win.kernel, win.stride, win.dilation, win.out

    def later(x: Array, step: int) -> Array:
        n = x.shape[axis]
        return jnp.maximum(
            lax.slice_in_dim(x, 0, n - step, axis=axis), lax.slice_in_dim(x, step, n, axis=axis)
        )

    have = 1
    while 2 * have <= k:
        x = later(x, have * d)
        have *= 2
    if have < k:
        x = later(x, (k - have) * d)
    return lax.slice_in_dim(x, 0, (o - 1) * s + 1, s, axis)


# -------------------------------------------------------------------------------------- rearranging


def _placed(share: Array, offset: tuple[int, ...], win: Windows) -> Array:
    """``share`` at the places of the input where the tap ``offset`` of each window lies, zeros
    elsewhere."""
    config = [(0, 0, 0)] * (share.ndim - len(offset))
    for t, n, s, p, d, o in zip(
        offset, win.size, win.stride, win.padding, win.dilation, win.out, strict=True
    ):
        low = t * d - p
        config.append((low, n - low - ((o - 1) * s + 1), s - 1))
    return lax.pad(share, jnp.zeros((), share.dtype), config)


def _fit(x: Array, size: tuple[int, ...]) -> Array:
    """Crops the last dimensions to ``size``, or fills them up with zeros."""
    lead = x.ndim - len(size)
    config = [(0, 0, 0)] * lead + [
        (0, n - have, 0) for n, have in zip(size, x.shape[lead:], strict=True)
    ]
    return lax.pad(x, jnp.zeros((), x.dtype), config) if any(map(any, config)) else x
