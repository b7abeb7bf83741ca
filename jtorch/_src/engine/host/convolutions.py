"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .kinds import FLOAT32, kind
from .products import cast_around, default_precision, even_in, exact_in, seconds
from .rules import BYTE, CALL, Compute, Equation, nbytes, rule
from .windows import padder

if TYPE_CHECKING:
    from ...facts.kinds import Function, Row


#: Bytes of the largest array of windows, and with kernels of fewer bytes, which stay in the cache
#: while parts of the input go by.
_COLUMNS, _CACHED_COLUMNS, _CACHED = 1 << 26, 1 << 21, 1 << 19
#: Depthwise convolutions of more groups with fewer elements in a kernel are what XLA's code has
#: much less memory go by for.
_GROUPS, _TAPS = 4, 64


class Form(NamedTuple):
    """A convolution as all are computed: input (batch, groups * features, *padded), kernel
    (groups * outs, features, *kernel).

    Attributes:
        batch, groups, features, outs: sizes.
        size, kernel, strides, dilation, out: per spatial dimension; ``size`` is that of the padded
            input, and ``out`` that of the result, which is (batch, groups * outs, *out).
        dtype: in which it is computed.
    """

    batch: int
    groups: int
    features: int
    outs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]
    dtype: np.dtype

    @property
    def columns(self) -> int:
        """The bytes of all windows."""
        windows = (
            self.batch * self.groups * self.features * math.prod(self.kernel) * math.prod(self.out)
        )
        return windows * self.dtype.itemsize

    @property
    def flops(self) -> int:
        """The multiplications."""
        return (
            self.batch
            * self.groups
            * self.outs
            * self.features
            * math.prod(self.kernel)
            * math.prod(self.out)
        )


def _form(e: Equation, dtype: np.dtype) -> Form:
    p = e.params
    (lhs, rhs, out), groups = (
        p["dimension_numbers"],
        p["feature_group_count"] * p["batch_group_count"],
    )
    spatial = zip(
        [e.ins[0].shape[i] for i in lhs[2:]], p["lhs_dilation"], p["padding"], strict=True
    )
    w = [e.ins[1].shape[i] for i in rhs]
    result = [e.out.shape[i] for i in out]
    return Form(
        batch=result[0],
        groups=groups,
        features=w[1],
        outs=w[0] // groups,
        size=tuple([max(0, (n - 1) * d + 1) + lo + hi for n, d, (lo, hi) in spatial]),
        kernel=tuple(w[2:]),
        strides=tuple(p["window_strides"]),
        dilation=tuple(p["rhs_dilation"]),
        out=tuple(result[2:]),
        dtype=dtype,
    )


def cost_of(f: Form, e: Equation) -> float:
    """The seconds that an equation takes which computes a convolution, about."""
    return (
        12 * CALL
        + seconds(e.out.dtype, f.flops)
        + BYTE * (2 * f.columns + 4 * nbytes((*e.ins, *e.outs)))
    )


def _cost(e: Equation) -> float:
    return cost_of(_form(e, np.dtype(e.out.dtype)), e)


def _even(e: Equation) -> float:
    f = _form(e, np.dtype(e.out.dtype))
    return seconds(e.out.dtype, f.flops) if even_in(e.out.dtype) and not _is_depthwise(f) else 0.0


def _is_depthwise(f: Form) -> bool:
    """Whether a convolution adds up shifted inputs, by which XLA's code has less memory go by."""
    return f.features == 1 and f.groups >= _GROUPS and math.prod(f.kernel) <= _TAPS


@rule("conv_general_dilated", cost=_cost, even=_even)
def _convolution(e: Equation) -> Compute | None:
    p, (a, b) = e.params, e.ins
    da, db, out = np.dtype(a.dtype), np.dtype(b.dtype), np.dtype(e.out.dtype)
    kinds = [kind(d) for d in (da, db, out)]
    if not all(kinds) or "b" in kinds or not default_precision(p["precision"]) or len(a.shape) < 3:
        return None
    f = _form(e, out)
    if 0 in e.out.shape or not f.features * math.prod(f.kernel) or 0 in a.shape:
        nothing = np.broadcast_to(np.zeros((), out), e.out.shape)
        return lambda *_: nothing
    if not {"i", "u"}.isdisjoint(kinds):
        if not set(kinds) <= {"i", "u"}:
            return None
        through = exact_in(da, db, f.features * math.prod(f.kernel)) or out
    else:
        through = np.result_type(*[FLOAT32 if kind(d) == "h" else d for d in (da, db, out)])
        if through.kind == "c" and out.kind != "c":
            return None
    casts = (da != through, db != through, out != through)
    return cast_around(_arranged(e, f._replace(dtype=through)), casts, through, out)


def _arranged(e: Equation, f: Form) -> Compute:
    """The convolution between its own orders of dimensions."""
    p = e.params
    lhs, rhs, out = p["dimension_numbers"]
    plain, split = tuple(range(len(lhs))), p["batch_group_count"]
    lhs, rhs = tuple(lhs), tuple(rhs)
    back = tuple([tuple(out).index(i) for i in plain])
    spatial = [e.ins[0].shape[i] for i in lhs[2:]]
    shape = (f.batch, f.groups * f.features, *spatial)
    ones = (1, 1)
    pad = padder(shape, ((0, 0), (0, 0), *p["padding"]), (*ones, *p["lhs_dilation"]), np.float32(0))
    core = _core(f)

    def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        if lhs != plain:
            x = x.transpose(lhs)
        if split > 1:
            # The groups of the batch become groups of features.
            x = x.reshape(split, f.batch, f.features, *spatial).swapaxes(0, 1).reshape(shape)
        if pad is not None:
            x = pad(x)
        found = core(x, w if rhs == plain else w.transpose(rhs))
        return found if back == plain else found.transpose(back)

    return convolve


def _core(f: Form) -> Compute:
    if math.prod(f.kernel) == 1 and f.groups == 1:
        return _pointwise(f)
    weights = f.outs * f.features * math.prod(f.kernel) * f.dtype.itemsize
    most = (
        min(_COLUMNS, _CACHED_COLUMNS)
        if f.features == 1 or (f.groups == 1 and weights < _CACHED)
        else _COLUMNS
    )
    return _by_parts(f, most) if f.columns > most else _columns(f)


def _strided(f: Form) -> tuple[slice, ...]:
    return tuple([slice(0, (n - 1) * s + 1, s) for n, s in zip(f.out, f.strides, strict=True)])


def _pointwise(f: Form) -> Compute:
    at = (slice(None), slice(None), *_strided(f))
    whole, matrix, rows, shape = (
        all(s == 1 for s in f.strides),
        (f.outs, f.features),
        (f.batch, f.features, -1),
        (f.batch, f.outs, *f.out),
    )

    def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.matmul(w.reshape(matrix), (x if whole else x[at]).reshape(rows)).reshape(shape)

    return convolve


def _windows(f: Form) -> Callable[[np.ndarray], np.ndarray]:
    """What gives all windows of an input as a view: (groups, features, *kernel, batch, *out)."""
    dtype, strides = f.dtype, [f.dtype.itemsize]
    for n in reversed((f.groups * f.features, *f.size)):
        strides.insert(0, strides[0] * n)
    batch, feature, *spatial = strides
    kernel = [s * d for s, d in zip(spatial, f.dilation, strict=True)]
    out = [s * d for s, d in zip(spatial, f.strides, strict=True)]
    shape = (f.groups, f.features, *f.kernel, f.batch, *f.out)
    steps = (feature * f.features, feature, *kernel, batch, *out)
    # Much faster to make than by as_strided.
    return lambda x: np.ndarray(shape, dtype, np.ascontiguousarray(x), 0, steps)


def _columns(f: Form) -> Compute:
    """Windows as columns of a matrix, kernels as rows of another."""
    depth = f.features * math.prod(f.kernel)
    single = f.groups == 1
    matrix = (f.outs, depth) if single else (f.groups, f.outs, depth)
    count = f.batch * math.prod(f.out)
    columns = (depth, count) if single else (f.groups, depth, count)
    shape = (f.groups * f.outs, f.batch, *f.out)
    product: Function = np.dot if single else np.matmul
    windows = _windows(f)

    def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return product(w.reshape(matrix), windows(x).reshape(columns)).reshape(shape).swapaxes(0, 1)

    return convolve


def _by_parts(f: Form, most: int) -> Compute:
    """A part of the batch, or of the first spatial dimension of one sample, at a time: the windows
    of all take more than ``most`` bytes."""
    sample = f.columns // f.batch
    step = max(1, most // sample)
    lines = f.out[0] if step > 1 or sample <= most else max(1, f.out[0] * most // sample)
    reach = (f.kernel[0] - 1) * f.dilation[0] + 1
    shape = (f.batch, f.groups * f.outs, *f.out)
    cores = {}
    for n in {min(step, f.batch - i) for i in range(0, f.batch, step)}:
        for m in {min(lines, f.out[0] - i) for i in range(0, f.out[0], lines)}:
            cores[n, m] = _columns(
                f._replace(
                    batch=n, size=((m - 1) * f.strides[0] + reach, *f.size[1:]), out=(m, *f.out[1:])
                )
            )

    def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        found = np.empty(shape, x.dtype)
        for i in range(0, f.batch, step):
            n = min(step, f.batch - i)
            for j in range(0, f.out[0], lines):
                m = min(lines, f.out[0] - j)
                at = j * f.strides[0]
                found[i : i + n, :, j : j + m] = cores[n, m](
                    x[i : i + n, :, at : at + (m - 1) * f.strides[0] + reach], w
                )
        return found

    return convolve


def between(
    size: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...], geo: Row, dtype: np.dtype
) -> Form:
    """The form of a convolution in PyTorch's order of dimensions; ``geo`` has stride, padding,
    dilation and groups."""
    stride, padding, dilation, groups = geo
    padded = tuple([n + lo + hi for n, (lo, hi) in zip(size[2:], padding, strict=True)])
    outs, features, *kernel = weight
    return Form(
        size[0],
        groups,
        features,
        outs // groups,
        padded,
        tuple(kernel),
        stride,
        dilation,
        out,
        dtype,
    )


def padding_first(f: Form, size: tuple[int, ...], padding: tuple[tuple[int, int], ...]) -> Compute:
    """What pads an input of ``size`` and convolves it."""
    pad = padder(size, ((0, 0), (0, 0), *padding), (1,) * len(size), np.float32(0))
    core = _core(f)
    return core if pad is None else lambda x, w: core(pad(x), w)
