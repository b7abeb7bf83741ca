"""Derivatives of indexed writes, parts, products and running reductions, as the operators that PyTorch runs."""

# ruff: noqa: PLW0108  (the parameters of these functions say what they need)
from __future__ import annotations

import math
from typing import Any

from ...autograd.grad_mode import MODE
from ..facts.devices import of_placement
from ..facts.dtypes import finfo, int64
from ..facts.errors import broadcast_shapes
from ..facts.layouts import preserve_format
from ..tensor.symbols import exact
from .derivatives import rule
from .formulas import _std, _strided, _var, conj, dims_of, made_zeros, number_like, reshaped, sum_of, times, unsqueezed, zeros
from .generic import generic_rule
from .overloads import aten
from .routes_shape import contiguous, is_contiguous
from .state import STATE

A = aten

# ---- indexed reads and writes ----------------------------------------------------------------------------------------------------


def _index_select(g: Any, self_: Any, dim: int, index: Any) -> Any:
    made = A.new_zeros.default(g, self_.shape, dtype=self_.dtype, layout=_strided(), device=self_.device)
    return (A.index_add if STATE.modes else A.index_add_).default(made, dim, index, g)


def _selected(g: Any, source_: Any, dim: int, index: Any) -> Any:
    if not source_.ndim:
        return A.index_select.default(g, dim, A.squeeze.dim(index, 0))
    return A.expand.default(A.index_select.default(g, dim, index), source_.shape)


rule(A.index_select, self=_index_select)
rule(
    A.index_add,
    self=lambda g: g,
    source=lambda g, source_, dim, index, alpha: times(_selected(g, source_, dim, index), alpha),
)
rule(
    A.index_copy,
    self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0),
    source=lambda g, source_, dim, index: _selected(g, source_, dim, index),
)
rule(A.index_fill.int_Scalar, self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0))
rule(
    A.index_fill.int_Tensor,
    self=lambda g, dim, index: A.index_fill.int_Scalar(g, dim, index, 0),
    value=lambda g, dim, index: A.sum.default(A.index_select.default(g, dim, A._unique.default(index, False)[0])),
)
rule(
    A.index_put,
    self=lambda g, indices, values_, accumulate: g if accumulate else A.index_put.default(g, indices, made_zeros(values_.shape, g)),
    values=lambda g, indices: A.index.Tensor(g, indices),
)
rule(
    A.put,
    self=lambda g, index, source_, accumulate: g if accumulate else A.put.default(g, index, made_zeros(source_.shape, g)),
    source=lambda g, index, source_: reshaped(A.take.default(g, index), source_.shape),
)
rule(A.take, self=lambda g, self, index: A.put.default(A.zeros_like.default(self), index, g, True))


def _masked_select(g: Any, self: Any, mask: Any) -> Any:
    whole = A.expand.default(self, list(broadcast_shapes(self._aval.shape, mask._aval.shape)))
    return A.masked_scatter.default(A.zeros_like.default(whole, memory_format=preserve_format), mask, g)


rule(A.masked_select, self=_masked_select)
rule(
    A.masked_scatter,
    self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0),
    source=lambda g, mask, source_: A.masked_scatter_backward.default(g, mask, source_.shape),
)
rule(
    A.select_scatter,
    self=lambda g, src_, dim, index: A.select_scatter.default(g, made_zeros(src_.shape, g), dim, index),
    src=lambda g, dim, index: A.select.int(g, dim, index),
)
rule(
    A.slice_scatter,
    self=lambda g, src_, dim, start, end, step: A.slice_scatter.default(g, made_zeros(src_.shape, g), dim, start, end, step),
    src=lambda g, dim, start, end, step: A.slice.Tensor(g, dim, start, end, step),
)
rule(
    A.diagonal_scatter,
    self=lambda g, src_, offset, dim1, dim2: A.diagonal_scatter.default(g, made_zeros(src_.shape, g), offset, dim1, dim2),
    src=lambda g, offset, dim1, dim2: A.diagonal.default(g, offset, dim1, dim2),
)


def _scatter_reduce(
    g: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any, grads: Any, node: Any
) -> Any:
    if reduce == "sum":
        mine, theirs = g, A.gather.default(g, dim, index)
    elif reduce == "mean":
        count = A.ones_like.default(g) if include_self else A.zeros_like.default(g)
        count = A.scatter_add.default(count, dim, index, A.ones_like.default(src))
        count = A.masked_fill_.Scalar(count, A.eq.Scalar(count, 0), 1)
        mine = A.div.Tensor(g, count)
        share = A.gather.default(count, dim, index)
        theirs = A.div.Tensor(A.gather.default(g, dim, index), share)
    elif reduce in ("amax", "amin"):
        dtype = self._aval.torch_dtype
        value = A.gather.default(result, dim, index)
        is_mine = A._to_copy.default(A.eq.Tensor(self, result), dtype=dtype)
        is_theirs = A._to_copy.default(A.eq.Tensor(src, value), dtype=dtype)
        shared = A.div.Tensor(g, A.scatter_add.default(is_mine, dim, index, is_theirs))
        mine = A.mul.Tensor(A.eq.Tensor(self, result), shared)
        picked = A.gather.default(shared, dim, index)
        theirs = A.mul.Tensor(A.eq.Tensor(src, value), picked)
    else:
        return general(grads, node, self, dim, index, src, reduce, include_self)
    return (mine if include_self else A.scatter.value(mine, dim, index, 0)), theirs


def general(grads: Any, node: Any, *values: Any) -> Any:
    """The gradients by one operator, for what has no formula."""
    found = generic_rule(node.func)
    assert found is not None
    return found.parts[0][1](grads, node, *values)


def _scatter_reduce_operands(
    g: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any, grads: Any, node: Any
) -> Any:
    found = _scatter_reduce(g, self, dim, index, src, reduce, include_self, result, grads, node)
    return found if len(found) == 2 else (found[0], found[2])


rule(A.scatter_reduce.two, self__src=_scatter_reduce_operands)

# ---- parts -----------------------------------------------------------------------------------------------------------------------

rule(
    A.unfold,
    self=lambda g, self_, dimension, size, step: A.unfold_backward.default(g, self_.shape, dimension, size, step),
)
rule(A.diag_embed, self=lambda g, offset, dim1, dim2: A.diagonal.default(g, offset, dim1, dim2))
rule(A.diagonal_copy, self=lambda g, self_, offset, dim1, dim2: A.diagonal_backward.default(g, self_.shape, offset, dim1, dim2))
rule(A.rot90, self=lambda g, k, dims: A.rot90.default(g, -k, dims))
rule(A.channel_shuffle, self=lambda g, self_, groups: A.channel_shuffle.default(g, self_.shape[1] // groups))


def _trace(g: Any, self_: Any) -> Any:
    rows, columns = self_.shape
    made = made_zeros([rows * columns], g)
    places = A.arange.start_step(0, min(rows, columns) * (columns + 1), columns + 1, dtype=int64, layout=_strided(), device=self_.device)
    return A.view.default(A.index_fill.int_Tensor(made, 0, places, g), [rows, columns])


rule(A.trace, self=_trace)


def _block_diag(g: Any, node: Any) -> Any:
    found: dict[int, Any] = {}
    row = column = 0
    for (_, k, aval), edge in zip(node.slots, node.edges, strict=True):
        height, width = {0: (1, 1), 1: (1, *aval.shape)}.get(len(aval.shape), aval.shape)
        part = None
        if edge is not None:
            part = A.slice.Tensor(A.slice.Tensor(g, 0, row, row + height), 1, column, column + width)
            if len(aval.shape) < 2:
                part = A.view.default(part, list(aval.shape)) if not aval.shape else A.squeeze.dim(part, 0)
        found[k] = part
        row, column = row + height, column + width
    return found


rule(A.block_diag, tensors=_block_diag)


def _as_strided(g: Any, self: Any, size: Any, stride: Any, storage_offset: Any, grads: Any, node: Any) -> Any:
    begin = self.storage_offset()
    start = begin if storage_offset is None else storage_offset
    mine, strides = list(self._aval.shape), list(exact(self.stride()))
    if 0 in mine or 0 in size or _overlaps(mine, strides):
        return general(grads, node, self, size, stride, storage_offset)
    low = min(begin, start)
    length = max(begin + _reach(mine, strides), start + _reach(size, stride)) - low + 1
    memory = A.new_zeros.default(g, [length])
    if _overlaps(size, stride):
        every = A.arange.start(0, length, dtype=int64, layout=_strided(), device=node.about[0].device)
        places = A.as_strided.default(every, list(size), list(stride), start - low)
        flat = A.view.default(g, [math.prod(size)]) if _packed(g) else reshaped(g, [math.prod(size)])
        memory = A.index_add_.default(memory, 0, reshaped(places, [math.prod(size)]), flat)
    else:
        A.copy_.default(A.as_strided.default(memory, list(size), list(stride), start - low), g)
    return A.as_strided.default(memory, mine, strides, begin - low)


def _packed(g: Any) -> bool:
    return is_contiguous(g)


def _reach(size: Any, stride: Any) -> int:
    return sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def _overlaps(size: Any, stride: Any) -> bool:
    """Whether two places of a strided tensor may be one."""
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False


rule(A.as_strided, self=_as_strided)

# ---- products and running reductions ---------------------------------------------------------------------------------------------


def _products_of_others(g: Any, x: Any, dim: int) -> Any:
    """``g`` times, for each element along a dimension, the product of all the others: right with zeros, too."""
    n = x._aval.shape[dim]
    if not x._aval.size:
        return A.expand.default(g, list(x._aval.shape))
    if n == 1:
        return g
    shape = list(x._aval.shape)
    shape[dim] = 1
    one = A.ones.default(shape, dtype=g._aval.torch_dtype, layout=_strided(), device=of_placement(g._aval.device))
    before = A.cumprod.default(A.cat.default([one, A.slice.Tensor(x, dim, 0, n - 1)], dim), dim)
    rest = A.flip.default(A.slice.Tensor(x, dim, 1, n), [dim])
    after = A.flip.default(A.cumprod.default(A.cat.default([one, rest], dim), dim), [dim])
    return A.mul.Tensor(g, conj(A.mul.Tensor(before, after)))


def _prod(g: Any, self: Any, result: Any) -> Any:
    if not self._aval.ndim:
        return A.mul.Tensor(g, conj(A.div.Tensor(result, self)))
    found = _products_of_others(g, A.view.default(contiguous(self), [-1]), 0)
    return A.view.default(found, list(self._aval.shape))


def _prod_dim(g: Any, self: Any, dim: int, keepdim: bool, result: Any) -> Any:
    if not self._aval.ndim:
        return A.mul.Tensor(g, conj(A.div.Tensor(result, self)))
    d = dim % self._aval.ndim
    if not keepdim:
        g = A.unsqueeze.default(g, d)
        A.unsqueeze.default(result, d)  # PyTorch prepares it for the case without zeros
    return _products_of_others(g, self, d)


rule(A.prod, self=_prod)
rule(A.prod.dim_int, self=_prod_dim)


def _reversed_sum(x: Any, dim: int) -> Any:
    return A.flip.default(A.cumsum.default(A.flip.default(x, [dim]), dim), [dim])


def _cumprod(g: Any, self: Any, dim: int, result: Any, grads: Any, node: Any) -> Any:
    if self._aval.size <= 1 or self._aval.shape[dim] == 1:
        return g
    if MODE.enabled:
        return general(grads, node, self, dim, None)
    x, out = conj(self), conj(result)
    weighted = A.mul.Tensor(out, g)
    before = A.cumsum.default(A.eq.Scalar(self, 0), dim)  # zeros up to each element
    first = A.eq.Scalar(before, 0)
    kept = A.masked_fill.Scalar(weighted, A.bitwise_not.default(first), 0.0)
    found = A.where.self(first, A.div.Tensor(_reversed_sum(kept, dim), x), made_zeros(self._aval.shape, g))
    mask = A.eq.Scalar(before, 1)
    place = A.max.dim(mask, dim, True)[1]
    at_zero = A.logical_and_.default(A.scatter_.value(A.zeros_like.default(mask), dim, place, 1), mask)
    mask = A.bitwise_and_.Tensor(mask, A.bitwise_not.default(at_zero))
    following = A.cumprod.default(A.masked_fill.Scalar(x, A.bitwise_not.default(mask), 1.0), dim)
    following = A.masked_fill.Scalar(following, A.ne.Scalar(before, 1), 0.0)
    leading = A.gather.default(out, dim, A.relu_.default(A.sub.Scalar(place, 1)))
    leading = A.masked_fill_.Scalar(leading, A.eq.Scalar(place, 0), 1.0)
    total = A.mul.Tensor(A.sum.dim_IntList(A.mul.Tensor(following, g), [dim], True), leading)
    return A.where.self(at_zero, total, found)


rule(A.cumprod, self=_cumprod)


def _logcumsumexp(g: Any, self: Any, dim: int, result: Any) -> Any:
    if not g._aval.ndim or not g._aval.size:
        return g
    dtype = g._aval.torch_dtype
    lowest = number_like(finfo(dtype).min, g)
    size = A.log.default(A.abs.default(g))
    above = A.where.self(A.gt.Scalar(g, 0), size, lowest)
    below = A.where.self(A.lt.Scalar(g, 0), size, lowest)

    def part(logs: Any) -> Any:
        back = A.flip.default(A.sub.Tensor(logs, result), [dim])
        sums = A.flip.default(A.logcumsumexp.default(back, dim), [dim])
        return A.exp.default(A.add.Tensor(sums, self))

    first = part(above)
    return A.sub.Tensor(first, part(below))


rule(A.logcumsumexp, self=_logcumsumexp)
rule(
    A.cummax, A.cummin, results=(0,),
    self=lambda g, self_, dim, result1: A.scatter_add.default(made_zeros(self_.shape, g), dim, result1, g),
)  # fmt: skip


def _nansum(g: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    present = A.logical_not.default(A.isnan.default(self))
    return A.mul.Tensor(sum_of(g, self, dim, keepdim), present)


rule(A.nansum, self=_nansum)


def _aminmax(grads: Any, self: Any, dim: Any, keepdim: bool, result: Any, result1: Any) -> Any:
    found = None
    for g, value in zip(grads, (result, result1), strict=True):
        if g is not None:
            part = _spread(g, value, self, dim, keepdim)
            found = part if found is None else A.add.Tensor(found, part)
    return found


def _spread(g: Any, value: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    ndim = self._aval.ndim
    dims = None if dim is None else [dim]
    if ndim and not keepdim:
        reduced = dims_of(dims, ndim)
        shape = [1 if d in reduced else n for d, n in enumerate(self._aval.shape)]
        value, g = A.view.default(value, shape), A.view.default(g, shape)
    mask = A.eq.Tensor(self, value)
    return A.mul.Tensor(A.div.Tensor(g, A.sum.dim_IntList(mask, dims or [], True)), mask)


rule(A.aminmax, self=_aminmax)


def _moments(operator: Any, spread: Any) -> None:
    def gradient(grads: Any, self: Any, dim: Any, correction: Any, keepdim: bool, result: Any) -> Any:
        found = None if grads[0] is None else spread(grads[0], self, dim, correction, keepdim, result)
        if grads[1] is not None:
            n = math.prod(self._aval.shape[d] for d in dims_of(dim, self._aval.ndim))
            part = A.div.Scalar(A.expand.default(unsqueezed(grads[1], dim, self._aval.ndim, keepdim), list(self._aval.shape)), n)
            found = part if found is None else A.add.Tensor(found, part)
        return found

    rule(operator, self=gradient)


_moments(A.var_mean.correction, lambda *given: _var(*given[:-1]))
_moments(A.std_mean.correction, _std)

# ---- random numbers --------------------------------------------------------------------------------------------------------------

rule(A.bernoulli, A.normal_, A.uniform_, A.exponential_, A.geometric_, A.cauchy_, A.log_normal_, self=lambda g: zeros(g))
rule(
    A.normal.Tensor_Tensor,
    mean=lambda g, mean_: made_zeros(mean_.shape, g),
    std=lambda g, std_: made_zeros(std_.shape, g),
)
