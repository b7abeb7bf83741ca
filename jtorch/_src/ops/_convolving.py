"""Convolution, its two gradients and the formulation each runs fastest in; knows shapes and arrays,
not torch's signatures or errors.

``forward``, ``grad_input`` and ``grad_weight`` are the three bilinear maps behind every
convolution: a transposed convolution is ``grad_input``, and each one's derivatives are the other
two. On accelerators all go to ``lax.conv_general_dilated``; on CPU the formulation depends on the
shapes. ``docs/decisions/0002-convolution.md`` holds the measurements behind the choices.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.host.convolutions import Form, between, cost_of, padding_first
from ..engine.host.rules import BYTE, CALL, Compute, Equation, nbytes
from ._declare import Array
from ._hosted import hosted
from ._numeric import wide
from ._sizes import fewer, numbers

if TYPE_CHECKING:
    from ..facts.kinds import Row


#: Longest sum of products that is written as one fused expression.
_MAX_TERMS = 32
#: Longest sum that is written so in parts for few outputs, which have that many products together;
#: those of several channels count more.
_MORE_TERMS, _MOST_PRODUCTS = 150, 6000
#: For so many outputs the gradient of a weight shifts the gradient instead of the input.
_FEW_OUTS = 8
#: Most groups that are convolved one by one.
_MAX_PARTS = 64
#: Longest row for which the gradient of a depthwise weight multiplies whole rows.
_MAX_ROW = 128
#: Most positions of all samples for which it adds up vectors of channels instead, one for each
#: weight.
_FEW_ROWS = 256
#: Most positions of a result, and fewest elements of a weight, for which a product with all windows
#: beats XLA's CPU convolution.
_FEW_POSITIONS, _MANY_WEIGHTS = 512, 1 << 17
#: The same of a gradient for its input, whose shares have to be added up.
_FEW_SHARES = 128
#: Types that XLA's CPU convolution has a fast routine for; the others would run as naive loops.
_FAST_TYPES = (np.dtype(np.float32),)
#: What is computed in single precision on the CPU, and rounded once: most formulations below add up
#: numbers of the operands' dtype.
_HALF = (np.dtype(np.float16), np.dtype(jnp.bfloat16))


@dataclasses.dataclass(frozen=True)
class Geometry:
    """How the kernel meets the input: one entry for each spatial dimension; ``padding`` holds pairs
    (before, after)."""

    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int

    def out_size(self, size: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, ...]:
        """Spatial shape of the convolution's result."""
        return tuple(
            (n + lo + hi - d * (k - 1) - 1) // s + 1
            for n, k, s, (lo, hi), d in zip(
                size, kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )

    def unused(
        self, size: tuple[int, ...], kernel: tuple[int, ...], out: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Rows at the end of the padded input that no window reaches."""
        return tuple(
            n + lo + hi - (d * (k - 1) + 1 + (o - 1) * s)
            for n, k, o, s, (lo, hi), d in zip(
                size, kernel, out, self.stride, self.padding, self.dilation, strict=True
            )
        )

    @property
    def ungrouped(self) -> Geometry:
        """The same for one group alone."""
        return dataclasses.replace(self, groups=1)

    @property
    def flat(self) -> Geometry:
        """The same without the first spatial dimension."""
        return Geometry(self.stride[1:], self.padding[1:], self.dilation[1:], self.groups)

    @property
    def plain(self) -> bool:
        """Whether nothing is padded or dilated."""
        return not any(map(any, self.padding)) and all(d == 1 for d in self.dilation)

    @property
    def steps_by_one(self) -> bool:
        """Whether there is a window at each place."""
        return all(s == 1 for s in self.stride)


def computed(x: Array) -> Array:
    """An operand in what convolutions compute with: single precision for halves on the CPU."""
    return wide(x) if _on_cpu() else x


def forward(x: Array, w: Array, geo: Geometry) -> Array:
    """Convolves ``x (N, C, *size)`` with ``w (O, C / groups, *kernel)``."""
    kernel = w.shape[2:]
    out = geo.out_size(x.shape[2:], kernel)
    if not x.size or not w.size or 0 in out:
        return jnp.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    if not _on_cpu():
        return _lax(x, w, geo)
    if x.dtype in _HALF:
        return forward(wide(x), wide(w), geo).astype(x.dtype)
    taps = math.prod(kernel)
    if _few_terms(w, geo) and (geo.groups > 1 or taps > 1):
        return _few_products(x, w, geo)
    if taps == 1:
        return _dot_channels(
            w.reshape(w.shape[:2]), _tap(_padded(x, geo), (0,) * len(out), out, geo), geo.groups
        )
    if kernel == geo.stride and geo.plain and geo.groups == 1:
        patches = _split_patches(x, kernel, out)
        return _from_rows(
            jnp.tensordot(patches, w.reshape(w.shape[0], -1), ((1,), (1,))), x.shape[0], out
        )
    if 1 < geo.groups <= _MAX_PARTS and x.dtype in _FAST_TYPES:
        parts = zip(jnp.split(x, geo.groups, 1), jnp.split(w, geo.groups), strict=True)
        return jnp.concatenate([forward(part, weight, geo.ungrouped) for part, weight in parts], 1)
    if (
        geo.groups > 1
        or x.dtype not in _FAST_TYPES
        or (len(out) < 3 and _in_columns(x.shape[0], x.shape[2:], out, w, _FEW_POSITIONS))
    ):
        columns = _columns(x, kernel, geo, out)
        return _leading_channels(
            _batched_dot(w.reshape(geo.groups, w.shape[0] // geo.groups, -1), columns),
            x.shape[0],
            out,
        )
    if len(out) == 3:
        return _unfolded(
            forward(_depth_taps(x, kernel[0], out[0], geo), _depth_as_channels(w), geo.flat),
            x.shape[0],
        )
    layout = _spec(len(out), "N*C", "*IO", "N*C")
    return _to_nchw(
        lax.conv_general_dilated(
            _to_nhwc(x),
            _weight_last(w),
            geo.stride,
            geo.padding,
            rhs_dilation=geo.dilation,
            dimension_numbers=layout,
        )
    )


def grad_input(g: Array, w: Array, x_shape: tuple[int, ...], geo: Geometry) -> Array:
    """The gradient of ``forward`` for its input of shape ``x_shape``, given that of its result."""
    kernel, out, groups = w.shape[2:], g.shape[2:], geo.groups
    if not g.size or not w.size or 0 in x_shape:
        return jnp.zeros(x_shape, g.dtype)
    if not _on_cpu():
        return jax.vjp(lambda x: _lax(x, w, geo), jnp.zeros(x_shape, g.dtype))[1](g)[0]
    if g.dtype in _HALF:
        return grad_input(wide(g), wide(w), x_shape, geo).astype(g.dtype)
    taps = math.prod(kernel)
    if (w.shape[0] == groups if groups > 1 else taps > 1 and geo.steps_by_one) and _few_terms(
        _swapped(w, groups), geo
    ):
        return _flipped(g, w, x_shape, geo)
    if taps == 1:
        wt = _swapped(w, groups)
        return _placed(
            _dot_channels(wt.reshape(wt.shape[:2]), g, groups),
            (0,) * len(out),
            x_shape[2:],
            kernel,
            geo,
        )
    if kernel == geo.stride and geo.plain and groups == 1:
        rows = jnp.tensordot(_to_rows(g), w.reshape(w.shape[0], -1), ((1,), (0,)))
        return _join_patches(rows, x_shape, kernel, out)
    if 1 < groups <= _MAX_PARTS and g.dtype in _FAST_TYPES:
        shape = (x_shape[0], x_shape[1] // groups, *x_shape[2:])
        parts = zip(jnp.split(g, groups, 1), jnp.split(w, groups), strict=True)
        return jnp.concatenate(
            [grad_input(part, weight, shape, geo.ungrouped) for part, weight in parts], 1
        )
    if groups > 1 and geo.steps_by_one:
        return _flipped(g, w, x_shape, geo)
    summed = x_shape[1] <= 4 or g.dtype not in _FAST_TYPES
    summed = summed or (
        len(out) < 3 and g.dtype == np.float32 and _in_columns(g.shape[0], out, out, w, _FEW_SHARES)
    )
    if groups == 1 and summed:
        return _columns_summed(g, w, x_shape, geo)
    if groups > 1:
        return _grouped_columns_summed(g, w, x_shape, geo)
    if len(out) == 3:
        taps_shape = (x_shape[0] * out[0], x_shape[1] * kernel[0], *x_shape[3:])
        shares = grad_input(_folded(g), _depth_as_channels(w), taps_shape, geo.flat)
        return _depth_taps_summed(shares, x_shape, kernel[0], out[0], geo)
    unused = geo.unused(x_shape[2:], kernel, out)
    padding = [
        (d * (k - 1) - lo, d * (k - 1) - hi + u)
        for k, d, (lo, hi), u in zip(kernel, geo.dilation, geo.padding, unused, strict=True)
    ]
    flipped = lax.rev(_weight_last(w), tuple(range(len(out))))
    return _to_nchw(
        lax.conv_general_dilated(
            _to_nhwc(g),
            flipped,
            (1,) * len(out),
            padding,
            lhs_dilation=geo.stride,
            rhs_dilation=geo.dilation,
            dimension_numbers=_spec(len(out), "N*C", "*OI", "N*C"),
        )
    )


def grad_weight(g: Array, x: Array, w_shape: tuple[int, ...], geo: Geometry) -> Array:
    """The gradient of ``forward`` for its weight of shape ``w_shape``, given that of its result."""
    kernel, out, groups = w_shape[2:], g.shape[2:], geo.groups
    if not g.size or not x.size or 0 in w_shape:
        return jnp.zeros(w_shape, g.dtype)
    if not _on_cpu():
        return jax.vjp(lambda w: _lax(x, w, geo), jnp.zeros(w_shape, g.dtype))[1](g)[0]
    if g.dtype in _HALF:
        return grad_weight(wide(g), wide(x), w_shape, geo).astype(g.dtype)
    n = x.shape[0]
    taps = math.prod(kernel)
    if groups > 1 and w_shape[1] == 1:
        return _depthwise_grad_weight(g, x, w_shape, geo)
    if taps == 1:
        picked = _tap(_padded(x, geo), (0,) * len(out), out, geo).reshape(n, groups, w_shape[1], -1)
        per_sample = lax.dot_general(
            g.reshape(n, groups, w_shape[0] // groups, -1), picked, (((3,), (3,)), ((0, 1), (0, 1)))
        )
        return jnp.sum(lax.optimization_barrier(per_sample), 0, dtype=g.dtype).reshape(w_shape)
    if kernel == geo.stride and geo.plain and groups == 1:
        return jnp.tensordot(_to_rows(g), _split_patches(x, kernel, out), ((0,), (0,))).reshape(
            w_shape
        )
    if 1 < groups <= _MAX_PARTS and g.dtype in _FAST_TYPES:
        shape = (w_shape[0] // groups, *w_shape[1:])
        parts = zip(jnp.split(g, groups, 1), jnp.split(x, groups, 1), strict=True)
        return jnp.concatenate(
            [grad_weight(part, inputs, shape, geo.ungrouped) for part, inputs in parts]
        )
    if groups > 1 or g.dtype not in _FAST_TYPES:
        columns = _columns(x, kernel, geo, out)
        gt = lax.optimization_barrier(
            jnp.swapaxes(g, 0, 1).reshape(groups, w_shape[0] // groups, -1)
        )
        return lax.dot_general(gt, columns, (((2,), (2,)), ((0,), (0,)))).reshape(w_shape)
    if (
        w_shape[0] <= min(_FEW_OUTS, w_shape[1] - 1)
        and w_shape[0] * taps <= 4 * w_shape[1]
        and geo.steps_by_one
    ):
        return _grad_weight_of_few(g, x, w_shape, geo)
    if len(out) == 3:
        shape = (w_shape[0], w_shape[1] * kernel[0], *kernel[1:])
        flat = grad_weight(_folded(g), _depth_taps(x, kernel[0], out[0], geo), shape, geo.flat)
        return jnp.swapaxes(flat.reshape(w_shape[0], kernel[0], w_shape[1], *kernel[1:]), 1, 2)
    unused = geo.unused(x.shape[2:], kernel, out)
    padding = [(lo, hi - u) for (lo, hi), u in zip(geo.padding, unused, strict=True)]
    last = lax.conv_general_dilated(
        _to_nhwc(x),
        _to_nhwc(g),
        geo.dilation,
        padding,
        rhs_dilation=geo.stride,
        dimension_numbers=_spec(len(out), "C*N", "I*O", "*NC"),
    )
    return jnp.moveaxis(last, (-1, -2), (0, 1))


# ------------------------------------------------------------------------------------- formulations


def _on_cpu() -> bool:
    """Whether to choose formulations for CPU. An array placed elsewhere than the default costs
    speed, not correctness."""
    return jax.default_backend() == "cpu"


def _few_terms(w: Array, geo: Geometry) -> bool:
    """Whether each result is a sum over so few products that a fused multiply-add beats matrix
    products."""
    outs, features, *kernel = w.shape
    terms = features * math.prod(kernel)
    if (geo.groups > 1 and features == 1) or (features <= 3 and terms <= _MAX_TERMS):
        return True
    few = features <= 3 and terms <= _MORE_TERMS and outs * terms * (features + 2) <= _MOST_PRODUCTS
    return few and geo.steps_by_one  # reading every other element takes as long as the sums


def _in_columns(
    samples: int, size: tuple[int, ...], out: tuple[int, ...], w: Array, few: int
) -> bool:
    """Whether windows are laid out for one matrix product: XLA has a naive loop for kernels that
    are larger than what they meet (of ``size``), and its routine is slow for few positions (of
    ``out``) and many weights.
    """
    if any(fewer(n, k) for k, n in zip(w.shape[2:], size, strict=True)):
        return True
    return math.prod(w.shape) >= _MANY_WEIGHTS and fewer(samples * math.prod(out), few + 1)


def _lax(x: Array, w: Array, geo: Geometry) -> Array:
    return lax.conv_general_dilated(
        x,
        w,
        geo.stride,
        geo.padding,
        rhs_dilation=geo.dilation,
        feature_group_count=geo.groups,
        dimension_numbers=_spec(x.ndim - 2, "NC*", "OI*", "NC*"),
    )


def _multiply_add(x: Array, w: Array, geo: Geometry, out: tuple[int, ...]) -> Array:
    """The sum of shifted inputs times weights as one elementwise loop: depthwise convolutions and
    inputs of few channels."""
    groups, per_group = geo.groups, w.shape[1]
    ones = (1,) * len(out)
    padded = lax.optimization_barrier(_padded(x, geo))
    padded = padded.reshape(x.shape[0], groups, per_group, *padded.shape[2:])
    weights = w.reshape(groups, -1, per_group, *w.shape[2:])
    total = None
    for terms, (offset, c) in enumerate(
        itertools.product(_offsets(w.shape[2:]), range(per_group)), 1
    ):
        shifted = _tap(lax.index_in_dim(padded, c, 2, False), offset, out, geo)[:, :, None]
        product = shifted * weights[(slice(None), slice(None), c, *offset)].reshape(
            1, groups, -1, *ones
        )
        total = product if total is None else total + product
        if terms % _MAX_TERMS == 0:
            total = lax.optimization_barrier(total)
    assert total is not None
    return total.reshape(x.shape[0], w.shape[0], *out)


def _few_products(x: Array, w: Array, geo: Geometry) -> Array:
    """``_multiply_add``, which on the host is one product of a matrix of windows for each group."""
    if numbers(*x.shape, *w.shape):
        return _products(x, w, geo=dataclasses.astuple(geo))
    return _multiply_add(x, w, geo, geo.out_size(x.shape[2:], w.shape[2:]))


def _products_formula(x: Array, w: Array, *, geo: Row) -> Array:
    form = Geometry(*geo)
    return _multiply_add(x, w, form, form.out_size(x.shape[2:], w.shape[2:]))


def _products_by_numpy(*, geo: Row) -> Compute:
    computed = functools.cache(
        lambda size, weight, dtype: padding_first(_on_host(size, weight, geo, dtype), size, geo[1])
    )
    return lambda x, w: computed(x.shape, w.shape, x.dtype)(x, w)


def _on_host(size: tuple[int, ...], weight: tuple[int, ...], geo: Row, dtype: np.dtype) -> Form:
    return between(size, weight, Geometry(*geo).out_size(size[2:], weight[2:]), geo, dtype)


def _cost_of_products(e: Equation) -> float:
    return cost_of(
        _on_host(e.ins[0].shape, e.ins[1].shape, e.params["geo"], np.dtype(e.out.dtype)), e
    )


def _shape_of_products(x: Array, w: Array, *, geo: Row) -> tuple[int, ...]:
    return x.shape[0], w.shape[0], *Geometry(*geo).out_size(x.shape[2:], w.shape[2:])


_products = hosted(
    _products_by_numpy,
    elementwise=False,
    alike=False,
    cost=_cost_of_products,
    shape=_shape_of_products,
)(_products_formula)


def _depthwise_grad_weight(g: Array, x: Array, w_shape: tuple[int, ...], geo: Geometry) -> Array:
    """The correlation of rows with rows as matrix products (XLA's reductions are slower), of which
    a few diagonals are kept.

    For each channel and each tap of the dimensions before the last, all rows of ``g`` times all
    rows of ``x`` give the sum over rows at every pair of columns; a tap of the last dimension is
    the sum over the pairs that lie that far apart.
    """
    groups, out, kernel = geo.groups, g.shape[2:], w_shape[2:]
    if out[-1] > _MAX_ROW:
        return _depthwise_grad_weight_summed(g, x, w_shape, geo)
    if g.shape[1] == groups and fewer(g.shape[0] * math.prod(out), _FEW_ROWS + 1):
        return _depthwise_grad_weight_of_few(g, x, w_shape, geo)
    padded = jnp.swapaxes(_padded(x, geo), 0, 1)
    # (groups, N, *rows, multiples, columns)
    gt = jnp.moveaxis(g.reshape(g.shape[0], groups, -1, *out), (1, 2), (0, -2))
    gt = lax.optimization_barrier(gt.reshape(groups, -1, gt.shape[-2] * out[-1]))
    column = np.arange(out[-1]) * geo.stride[-1]
    tap = np.arange(kernel[-1]) * geo.dilation[-1]
    found = []
    for offset in _offsets(kernel[:-1]):
        start, stop, step = [0] * padded.ndim, list(padded.shape), [1] * padded.ndim
        for i, (t, o, s, d) in enumerate(
            zip(offset, out[:-1], geo.stride[:-1], geo.dilation[:-1], strict=True), 2
        ):
            start[i], stop[i], step[i] = t * d, t * d + (o - 1) * s + 1, s
        rows = lax.optimization_barrier(
            lax.slice(padded, start, stop, step).reshape(groups, -1, padded.shape[-1])
        )
        pairs = lax.dot_general(gt, rows, (((1,), (1,)), ((0,), (0,))))
        pairs = lax.optimization_barrier(pairs).reshape(groups, -1, out[-1], padded.shape[-1])
        diagonals = pairs[:, :, np.arange(out[-1])[None], column[None] + tap[:, None]]
        found.append(jnp.sum(diagonals, -1, dtype=g.dtype).reshape(w_shape[0], -1))
    return jnp.stack(found, 1).reshape(w_shape)


def _depthwise_grad_weight_summed(
    g: Array, x: Array, w_shape: tuple[int, ...], geo: Geometry
) -> Array:
    """One reduction over positions for each tap."""
    groups, out = geo.groups, g.shape[2:]
    padded = lax.optimization_barrier(_padded(x, geo))
    gs = g.reshape(g.shape[0], groups, -1, *out)
    found = []
    for offset in _offsets(w_shape[2:]):
        product = _tap(padded, offset, out, geo)[:, :, None] * gs
        per_sample = jnp.sum(product, tuple(range(3, product.ndim)), dtype=g.dtype)
        found.append(jnp.sum(per_sample, 0, dtype=g.dtype).reshape(-1))
    return jnp.stack(found, 1).reshape(w_shape)


def _depthwise_grad_weight_of_few(
    g: Array, x: Array, w_shape: tuple[int, ...], geo: Geometry
) -> Array:
    """One sum for each tap, over few samples and positions; the channels are the vectors that are
    added up."""
    config = [(0, 0, 0), *[(lo, hi, 0) for lo, hi in geo.padding], (0, 0, 0)]
    padded, gt = lax.optimization_barrier(
        (lax.pad(_to_nhwc(x), jnp.zeros((), x.dtype), config), _to_nhwc(g))
    )
    leading = tuple(range(g.ndim - 1))
    found = []
    for offset in _offsets(w_shape[2:]):
        rows = lax.slice(padded, *_window(offset, g.shape[2:], geo, padded.shape, 1))
        found.append(jnp.sum(rows * gt, leading, dtype=g.dtype))
    return jnp.stack(found, 1).reshape(w_shape)


def _grad_weight_of_few(g: Array, x: Array, w_shape: tuple[int, ...], geo: Geometry) -> Array:
    """The gradient for few outputs: shifted under each tap, it meets the input in one product for
    each sample."""
    n, outs, kernel = x.shape[0], w_shape[0], w_shape[2:]
    padding = tuple(
        [
            (d * (k - 1) - lo, d * (k - 1) - hi)
            for k, d, (lo, hi) in zip(kernel, geo.dilation, geo.padding, strict=True)
        ]
    )
    shifts = Geometry(geo.stride, padding, geo.dilation, 1)
    padded = lax.optimization_barrier(_padded(g, shifts))
    shifted = [_tap(padded, offset, x.shape[2:], shifts) for offset in _offsets(kernel)]
    columns = lax.optimization_barrier(jnp.stack(shifted, 2).reshape(n, outs * len(shifted), -1))
    each = lax.dot_general(columns, x.reshape(n, w_shape[1], -1), (((2,), (2,)), ((0,), (0,))))
    total = jnp.sum(lax.optimization_barrier(each), 0, dtype=g.dtype).reshape(
        outs, len(shifted), w_shape[1]
    )
    return jnp.swapaxes(total[:, ::-1], 1, 2).reshape(w_shape)


def _depth_taps(x: Array, kernel: int, out: int, geo: Geometry) -> Array:
    """What a kernel meets along the first spatial dimension as channels, its positions as samples:
    ``(N * out, kernel * C, ...)``."""
    (lo, hi), s, d = geo.padding[0], geo.stride[0], geo.dilation[0]
    padded = lax.pad(
        x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), (lo, hi, 0)] + [(0, 0, 0)] * (x.ndim - 3)
    )
    return jnp.concatenate(
        [
            _folded(lax.slice_in_dim(padded, t * d, t * d + (out - 1) * s + 1, s, 2))
            for t in range(kernel)
        ],
        1,
    )


def _depth_taps_summed(
    shares: Array, x_shape: tuple[int, ...], kernel: int, out: int, geo: Geometry
) -> Array:
    """The transpose of ``_depth_taps``."""
    (lo, _), s, d = geo.padding[0], geo.stride[0], geo.dilation[0]
    total = None
    for t, part in enumerate(jnp.split(shares, kernel, 1)):
        low = t * d - lo
        around = (low, x_shape[2] - low - ((out - 1) * s + 1), s - 1)
        config = [(0, 0, 0), (0, 0, 0), around] + [(0, 0, 0)] * (len(x_shape) - 3)
        placed = lax.pad(_unfolded(part, x_shape[0]), jnp.zeros((), shares.dtype), config)
        total = placed if total is None else total + placed
    assert total is not None
    return total


def _depth_as_channels(w: Array) -> Array:
    """``(O, C, D, ...)`` as ``(O, D * C, ...)``."""
    return jnp.swapaxes(w, 1, 2).reshape(w.shape[0], -1, *w.shape[3:])


def _folded(x: Array) -> Array:
    """The first spatial dimension among the samples."""
    return jnp.swapaxes(x, 1, 2).reshape(-1, x.shape[1], *x.shape[3:])


def _unfolded(x: Array, n: int) -> Array:
    """The inverse of ``_folded`` for ``n`` samples."""
    return jnp.swapaxes(x.reshape(n, -1, *x.shape[1:]), 1, 2)


def _flipped(g: Array, w: Array, x_shape: tuple[int, ...], geo: Geometry) -> Array:
    """``grad_input`` as a convolution of the gradient, spread out by the stride, with the flipped
    kernel."""
    kernel, out = w.shape[2:], g.shape[2:]
    unused = geo.unused(x_shape[2:], kernel, out)
    config = [(0, 0, 0), (0, 0, 0)]
    for k, d, s, (lo, hi), u in zip(
        kernel, geo.dilation, geo.stride, geo.padding, unused, strict=True
    ):
        config.append((d * (k - 1) - lo, d * (k - 1) - hi + u, s - 1))
    spread = lax.pad(g, jnp.zeros((), g.dtype), config)
    n = len(out)
    inner = Geometry((1,) * n, ((0, 0),) * n, geo.dilation, geo.groups)
    return forward(spread, lax.rev(_swapped(w, geo.groups), tuple(range(2, 2 + n))), inner)


def _columns(x: Array, kernel: tuple[int, ...], geo: Geometry, out: tuple[int, ...]) -> Array:
    """The input under each tap: ``(groups, C / groups * taps, N * positions)``."""
    xt = _padded(jnp.swapaxes(x, 0, 1), geo)
    columns = jnp.stack([_tap(xt, offset, out, geo) for offset in _offsets(kernel)], 1)
    return lax.optimization_barrier(columns.reshape(geo.groups, -1, x.shape[0] * math.prod(out)))


def _columns_summed(g: Array, w: Array, x_shape: tuple[int, ...], geo: Geometry) -> Array:
    """``grad_input`` as one matrix product giving each tap's share, added up where it falls."""
    kernel, out = w.shape[2:], g.shape[2:]
    wt = jnp.moveaxis(w, 1, -1).reshape(w.shape[0], -1)
    shares = jnp.tensordot(lax.optimization_barrier(_to_rows(g)), wt, ((1,), (0,)))
    shares = lax.optimization_barrier(shares).reshape(g.shape[0], *out, -1, x_shape[1])
    known = numbers(*shares.shape, *x_shape)
    return (_summed if known else _summed_formula)(
        shares, size=tuple(x_shape[2:]), kernel=tuple(kernel), geo=dataclasses.astuple(geo)
    )


def _summed_formula(
    shares: Array, *, size: tuple[int, ...], kernel: tuple[int, ...], geo: Row
) -> Array:
    """The shares of all taps ``(N, *out, taps, C)``, each added where it falls:
    ``(N, C, *size)``."""
    total = None
    for t, offset in enumerate(_offsets(kernel)):
        placed = _placed(
            _to_nchw(lax.index_in_dim(shares, t, shares.ndim - 2, False)),
            offset,
            size,
            kernel,
            Geometry(*geo),
        )
        total = placed if total is None else total + placed
    assert total is not None
    return total


def _summed_by_numpy(*, size: tuple[int, ...], kernel: tuple[int, ...], geo: Row) -> Compute:
    stride, padding, dilation, _ = geo
    order = (0, len(size) + 1, *range(1, len(size) + 1))

    @functools.cache
    def places(out: tuple[int, ...]) -> list[tuple[Any, Any]]:
        found = []
        for t, offset in enumerate(_offsets(kernel)):
            source, target = [slice(None)], [slice(None)]
            for o, at, s, (lo, _), d, n in zip(
                out, offset, stride, padding, dilation, size, strict=True
            ):
                begin = at * d - lo
                # those that fall inside
                first, end = max(0, -(begin // s)), min(o, (n - 1 - begin) // s + 1)
                source.append(slice(first, end))
                target.append(slice(begin + first * s, begin + (end - 1) * s + 1, s))
            if all(part.start < part.stop for part in source[1:]):
                found.append((tuple(target), (*source, t)))
        return found

    def summed(shares: np.ndarray) -> np.ndarray:
        total = np.zeros((shares.shape[0], *size, shares.shape[-1]), shares.dtype)
        for target, source in places(shares.shape[1:-2]):
            total[target] += shares[source]
        return total.transpose(order)

    return summed


def _cost_of_sums(e: Equation) -> float:
    shares = e.ins[0]
    # few channels are short rows, of which each costs NumPy a little
    rows = shares.size // max(shares.shape[-1], 1)
    calls = 3 * CALL * math.prod(e.params["kernel"])
    return calls + 2 * BYTE * nbytes((*e.ins, *e.outs)) + 1.5e-8 * rows


def _shape_of_sums(shares: Array, *, size: tuple[int, ...], **_: object) -> tuple[int, ...]:
    return shares.shape[0], shares.shape[-1], *size


_summed = hosted(
    _summed_by_numpy,
    elementwise=False,
    cost=_cost_of_sums,
    shape=_shape_of_sums,
    linear=_summed_formula,
)(_summed_formula)


def _grouped_columns_summed(g: Array, w: Array, x_shape: tuple[int, ...], geo: Geometry) -> Array:
    kernel, out, groups = w.shape[2:], g.shape[2:], geo.groups
    gt = lax.optimization_barrier(jnp.swapaxes(g, 0, 1).reshape(groups, w.shape[0] // groups, -1))
    wt = w.reshape(groups, w.shape[0] // groups, -1)
    shares = lax.optimization_barrier(lax.dot_general(wt, gt, (((1,), (1,)), ((0,), (0,)))))
    shares = jnp.swapaxes(shares.reshape(x_shape[1], -1, g.shape[0], *out), 0, 2)
    total = None
    for t, offset in enumerate(_offsets(kernel)):
        placed = _placed(
            lax.index_in_dim(jnp.swapaxes(shares, 1, 2), t, 2, False),
            offset,
            x_shape[2:],
            kernel,
            geo,
        )
        total = placed if total is None else total + placed
    assert total is not None
    return total


def _dot_channels(w: Array, x: Array, groups: int) -> Array:
    """``w (O, C / groups)`` applied to the channels of ``x (N, C, *size)``."""
    columns = lax.optimization_barrier(
        jnp.swapaxes(x, 0, 1).reshape(groups, x.shape[1] // groups, -1)
    )
    result = _batched_dot(w.reshape(groups, w.shape[0] // groups, w.shape[1]), columns)
    return _leading_channels(result, x.shape[0], x.shape[2:])


def _batched_dot(w: Array, columns: Array) -> Array:
    if w.shape[0] == 1:  # a plain product is faster than a batch of one
        return jnp.tensordot(w[0], columns[0], ((1,), (0,)))[None]
    return lax.dot_general(w, columns, (((2,), (1,)), ((0,), (0,))))


# -------------------------------------------------------------------------------------- rearranging


def _spec(n: int, lhs: str, rhs: str, result: str) -> tuple[str, str, str]:
    names = "DHW"[-n:]
    return lhs.replace("*", names), rhs.replace("*", names), result.replace("*", names)


def _offsets(kernel: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, kernel))


def _padded(x: Array, geo: Geometry) -> Array:
    """``x`` with its last dimensions padded."""
    if not any(map(any, geo.padding)):
        return x
    config = [(0, 0, 0)] * (x.ndim - len(geo.padding)) + [(lo, hi, 0) for lo, hi in geo.padding]
    return lax.pad(x, jnp.zeros((), x.dtype), config)


def _window(
    offset: tuple[int, ...], out: tuple[int, ...], geo: Geometry, shape: tuple[int, ...], axis: int
) -> tuple[list[int], list[int], list[int]]:
    """Bounds and strides of the elements that one tap of the kernel meets; the spatial dimensions
    begin at ``axis``."""
    start, stop, step = [0] * len(shape), list(shape), [1] * len(shape)
    for i, (t, o, s, d) in enumerate(zip(offset, out, geo.stride, geo.dilation, strict=True), axis):
        start[i], stop[i], step[i] = t * d, t * d + (o - 1) * s + 1, s
    return start, stop, step


def _tap(x: Array, offset: tuple[int, ...], out: tuple[int, ...], geo: Geometry) -> Array:
    return lax.slice(x, *_window(offset, out, geo, x.shape, x.ndim - len(out)))


def _placed(
    share: Array,
    offset: tuple[int, ...],
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    geo: Geometry,
) -> Array:
    """The transpose of padding and ``_tap``: ``share`` at the places of the input that it was taken
    from, zeros elsewhere."""
    unused = geo.unused(size, kernel, share.shape[2:])
    config = [(0, 0, 0), (0, 0, 0)]
    for t, k, s, (lo, hi), d, u in zip(
        offset, kernel, geo.stride, geo.padding, geo.dilation, unused, strict=True
    ):
        config.append((t * d - lo, (k - 1 - t) * d + u - hi, s - 1))
    return lax.pad(share, jnp.zeros((), share.dtype), config)


def _split_patches(x: Array, kernel: tuple[int, ...], out: tuple[int, ...]) -> Array:
    """Windows that do not overlap as rows: ``(N * positions, C * taps)``."""
    n = len(out)
    x = lax.slice(
        x, (0,) * x.ndim, (*x.shape[:2], *(o * k for o, k in zip(out, kernel, strict=True)))
    )
    split = x.reshape(*x.shape[:2], *(v for pair in zip(out, kernel, strict=True) for v in pair))
    order = (0, *range(2, 2 + 2 * n, 2), 1, *range(3, 3 + 2 * n, 2))
    return lax.optimization_barrier(split.transpose(order).reshape(x.shape[0] * math.prod(out), -1))


def _join_patches(
    rows: Array, x_shape: tuple[int, ...], kernel: tuple[int, ...], out: tuple[int, ...]
) -> Array:
    n = len(out)
    split = lax.optimization_barrier(rows).reshape(x_shape[0], *out, x_shape[1], *kernel)
    order = (0, n + 1, *(v for i in range(n) for v in (1 + i, n + 2 + i)))
    joined = split.transpose(order).reshape(
        *x_shape[:2], *(o * k for o, k in zip(out, kernel, strict=True))
    )
    config = [(0, size - have, 0) for size, have in zip(x_shape, joined.shape, strict=True)]
    return lax.pad(joined, jnp.zeros((), rows.dtype), config)


def _swapped(w: Array, groups: int) -> Array:
    """The weight with input and output channels exchanged within each group:
    ``(C, O / groups, *kernel)``."""
    split = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    return jnp.swapaxes(split, 1, 2).reshape(
        groups * w.shape[1], w.shape[0] // groups, *w.shape[2:]
    )


def _to_nhwc(x: Array) -> Array:
    return jnp.moveaxis(x, 1, -1)


def _to_nchw(x: Array) -> Array:
    return jnp.moveaxis(x, -1, 1)


def _weight_last(w: Array) -> Array:
    """``(O, I, *kernel)`` as ``(*kernel, I, O)``."""
    return jnp.moveaxis(w, (1, 0), (-2, -1))


def _to_rows(g: Array) -> Array:
    return _to_nhwc(g).reshape(-1, g.shape[1])


def _from_rows(rows: Array, n: int, out: tuple[int, ...]) -> Array:
    return _to_nchw(lax.optimization_barrier(rows).reshape(n, *out, -1))


def _leading_channels(result: Array, n: int, out: tuple[int, ...]) -> Array:
    """``(groups, O / groups, N * positions)`` as ``(N, O, *out)``."""
    return jnp.swapaxes(lax.optimization_barrier(result).reshape(-1, n, *out), 0, 1)
