"""Derivatives of arithmetic, reductions, shapes and products, each as the operators that PyTorch runs."""

# ruff: noqa: PLW0108  (the parameters of these functions say what they need)
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import Tensor
from ..facts.devices import of_placement
from ..facts.layouts import contiguous_format, strided
from ..ops.views import view_strides
from ..tensor.symbols import exact
from .derivatives import rule
from .overloads import aten
from .routes_shape import contiguous

A = aten


def conj(x: Any) -> Any:
    """The complex conjugate; real tensors and numbers as they are."""
    if isinstance(x, Tensor):
        return A._conj.default(x) if x._aval.torch_dtype.is_complex else x
    return x.conjugate() if isinstance(x, complex) else x


def times(g: Any, factor: Any) -> Any:
    """``g`` times a number, which is left out where it is 1."""
    return g if not isinstance(factor, Tensor) and factor == 1 else A.mul.Scalar(g, factor)


def times_after(right: Any, g: Any, factor: Any) -> Any:
    """``factor * g * right``, where ``right`` was computed first."""
    return A.mul.Tensor(A.mul.Scalar(g, factor), conj(right))


def zeros(g: Any) -> Any:
    """Zeros like a gradient."""
    return A.zeros_like.default(g)


# ---- arithmetic ------------------------------------------------------------------------------------------------------------------

rule(A.add.Tensor, self=lambda g: g, other=lambda g, alpha: times(g, conj(alpha)))
rule(A.add.Scalar, self=lambda g: g)
rule(A.sub.Tensor, self=lambda g: g, other=lambda g, alpha: A.neg.default(g) if alpha == 1 else A.mul.Scalar(A.neg.default(g), alpha))
rule(A.sub.Scalar, self=lambda g: g)
rule(A.rsub.Tensor, self=lambda g, alpha: times(A.neg.default(g), alpha), other=lambda g: g)
rule(A.rsub.Scalar, self=lambda g, alpha: times(A.neg.default(g), alpha))
rule(A.mul.Tensor, self=lambda g, other: A.mul.Tensor(g, conj(other)), other=lambda g, self: A.mul.Tensor(g, conj(self)))
rule(A.mul.Scalar, self=lambda g, other: A.mul.Scalar(g, conj(other)))


def _zeros_of(g: Any) -> Any:
    return A.zeros_like.default(g, dtype=g._aval.torch_dtype, layout=_strided(), device=of_placement(g._aval.device))


def _div_other(g: Any, self: Any, other: Any) -> Any:
    quotient = A.div.Tensor(A.div.Tensor(self, other), other)
    return A.mul.Tensor(A.neg.default(g), conj(quotient))


rule(A.div.Tensor, self=lambda g, other: A.div.Tensor(g, conj(other)), other=_div_other)
rule(A.div.Scalar, self=lambda g, other: A.div.Scalar(g, conj(other)))
rule(
    A.div.Tensor_mode,
    self=lambda g, other, rounding_mode: _zeros_of(g) if rounding_mode else A.div.Tensor(g, conj(other)),
    other=lambda g, self, other, rounding_mode: _zeros_of(g) if rounding_mode else _div_other(g, self, other),
)
rule(A.neg, self=lambda g: A.neg.default(g))
rule(A.abs, self=lambda g, self: A.mul.Tensor(g, A.sgn.default(self)))
rule(A.floor, A.ceil, A.round, A.trunc, A.sign, self=lambda g: zeros(g))


def _reciprocal(g: Any, result: Any) -> Any:
    square = conj(A.mul.Tensor(result, result))
    return A.mul.Tensor(A.neg.default(g), square)


rule(A.reciprocal, self=_reciprocal)
rule(A.exp, self=lambda g, result: A.mul.Tensor(g, conj(result)))
rule(A.exp2, self=lambda g, result: A.mul.Scalar(A.mul.Tensor(g, conj(result)), math.log(2)))
rule(A.expm1, self=lambda g, result: A.mul.Tensor(g, A.add.Scalar(conj(result), 1)))
rule(A.log, self=lambda g, self: A.div.Tensor(g, conj(self)))
rule(A.log2, self=lambda g, self: A.div.Tensor(g, A.mul.Scalar(conj(self), math.log(2))))
rule(A.log10, self=lambda g, self: A.div.Tensor(g, A.mul.Scalar(conj(self), math.log(10))))
rule(A.log1p, self=lambda g, self: A.div.Tensor(g, conj(A.add.Scalar(self, 1))))
rule(A.sqrt, self=lambda g, result: A.div.Tensor(g, A.mul.Scalar(conj(result), 2)))
rule(A.rsqrt, self=lambda g, result: times_after(A.pow.Tensor_Scalar(result, 3), g, -0.5))
rule(A.sin, self=lambda g, self: A.mul.Tensor(g, conj(A.cos.default(self))))
rule(A.cos, self=lambda g, self: A.mul.Tensor(g, A.neg.default(conj(A.sin.default(self)))))
rule(A.tan, self=lambda g, result: A.mul.Tensor(g, conj(A.add.Scalar(A.pow.Tensor_Scalar(result, 2), 1))))
rule(A.sinh, self=lambda g, self: A.mul.Tensor(g, conj(A.cosh.default(self))))
rule(A.cosh, self=lambda g, self: A.mul.Tensor(g, conj(A.sinh.default(self))))
rule(A.tanh, self=lambda g, result: A.tanh_backward.default(g, result))
rule(A.sigmoid, self=lambda g, result: A.sigmoid_backward.default(g, result))
rule(A.atan, self=lambda g, self: A.div.Tensor(g, conj(A.add.Scalar(A.mul.Tensor(self, self), 1))))
rule(A.acosh, self=lambda g, self: A.mul.Tensor(g, conj(A.rsqrt.default(A.sub.Scalar(A.mul.Tensor(self, self), 1)))))
rule(A.asinh, self=lambda g, self: A.mul.Tensor(g, conj(A.rsqrt.default(A.add.Scalar(A.pow.Tensor_Scalar(self, 2), 1)))))


def _atan2(g: Any, self: Any, other: Any, wants: Any) -> Any:
    length = A.add.Tensor(A.mul.Tensor(self, self), A.mul.Tensor(other, other))
    inverse = A.reciprocal.default(length)
    inverse = A.masked_fill.Scalar(inverse, A.eq.Scalar(length, 0), 0)
    first = A.mul.Tensor(A.mul.Tensor(g, other), inverse) if wants[0] else None
    return first, A.mul.Tensor(A.mul.Tensor(g, A.neg.default(self)), inverse) if wants[1] else None


rule(A.atan2, self__other=_atan2)
rule(
    A.asin,
    self=lambda g, self: A.mul.Tensor(g, conj(A.rsqrt.default(A.add.Scalar(A.mul.Tensor(A.neg.default(self), self), 1)))),
)
rule(
    A.acos,
    self=lambda g, self: A.mul.Tensor(g, conj(A.neg.default(A.rsqrt.default(A.add.Scalar(A.mul.Tensor(A.neg.default(self), self), 1))))),
)


def _bell(g: Any, self: Any, height: float) -> Any:
    return A.mul.Tensor(A.mul.Scalar(A.exp.default(A.neg.default(A.pow.Tensor_Scalar(self, 2))), height), g)


rule(A.erf, self=lambda g, self: _bell(g, self, 2 / math.sqrt(math.pi)))
rule(A.erfc, self=lambda g, self: _bell(g, self, -2 / math.sqrt(math.pi)))


def _pow_scalar(g: Any, self: Any, exponent: Any) -> Any:
    if exponent == 0:
        return A.zeros_like.default(self, memory_format=_contiguous())
    lower = exponent - 1 if isinstance(exponent, complex) else float(exponent) - 1
    inner = A.mul.Scalar(A.pow.Tensor_Scalar(self, lower), exponent if isinstance(exponent, complex) else float(exponent))
    return A.mul.Tensor(g, conj(inner))


def _pow_self(g: Any, self: Any, exponent: Any) -> Any:
    inner = A.mul.Tensor(A.pow.Tensor_Tensor(self, A.sub.Scalar(exponent, 1)), exponent)
    found = A.mul.Tensor(g, conj(inner))
    zero = zero_of(g)
    return A.where.self(A.eq.Scalar(exponent, 0.0), zero, found)


def _pow_exponent(g: Any, self: Any, exponent: Any, result: Any) -> Any:
    positive = A.ge.Scalar(exponent, 0)
    at_zero = A.logical_and.default(A.eq.Scalar(self, 0), positive)
    slope = A.mul.Tensor(result, A.log.default(self))
    return A.mul.Tensor(g, conj(A.where.self(at_zero, zero_of(g), slope)))


rule(A.pow.Tensor_Scalar, self=_pow_scalar)
rule(A.pow.Tensor_Tensor, self=_pow_self, exponent=_pow_exponent)
rule(A.pow.Scalar, exponent=lambda g, self, result: A.mul.Tensor(g, A.mul.Scalar(result, math.log(self))) if self else zeros(g))
rule(
    A.addcmul,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: A.mul.Tensor(g, conj(A.mul.Scalar(tensor2, value))),
    tensor2=lambda g, tensor1, value: A.mul.Tensor(g, conj(A.mul.Scalar(tensor1, value))),
)
rule(A.remainder.Scalar, A.fmod.Scalar, self=lambda g: g)

# ---- choosing --------------------------------------------------------------------------------------------------------------------

rule(
    A.where.self,
    self=lambda g, condition: A.where.self(condition, g, zero_of(g)),
    other=lambda g, condition: A.where.self(condition, zero_of(g), g),
)
rule(A.masked_fill.Scalar, self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0))
rule(
    A.masked_fill.Tensor,
    self=lambda g, mask: A.masked_fill.Scalar(g, mask, 0),
    value=lambda g, mask: A.sum.default(A.where.self(mask, g, zero_of(g))),
)


def zero_of(g: Any) -> Any:
    """A 0-dim zero of a gradient's dtype."""
    return number_like(0.0, g)


def number_like(number: float, like: Any) -> Any:
    """A number as a 0-dim tensor of a gradient's dtype: modes see it being made, wrapper classes do not."""
    return A.scalar_tensor.default(number, dtype=like._aval.torch_dtype, layout=_strided(), device=of_placement(like._aval.device))


def made_zeros(shape: Sequence[int], like: Any) -> Any:
    """Plain zeros of a gradient's dtype: modes see them being made, wrapper classes do not."""
    return A.zeros.default(list(shape), dtype=like._aval.torch_dtype, layout=_strided(), device=of_placement(like._aval.device))


def kept_where(condition: Any, g: Any, zero: Any = None) -> Any:
    """A gradient where a condition holds, zero elsewhere."""
    return A.where.self(condition, g, zero_of(g) if zero is None else zero)


def _clamp(g: Any, self: Any, min: Any, max: Any) -> Any:
    zero = zero_of(g)
    if min is not None and max is not None:
        inside = A.logical_and_.default(A.ge.Scalar(self, min), A.le.Scalar(self, max))
    elif min is not None:
        inside = A.ge.Scalar(self, min)
    elif max is not None:
        inside = A.le.Scalar(self, max)
    else:
        return g
    return kept_where(inside, g, zero)


rule(A.clamp, self=_clamp)
rule(A.clamp_min, self=lambda g, self, min: _clamp(g, self, min, None))
rule(A.clamp_max, self=lambda g, self, max: _clamp(g, self, None, max))

# ---- reductions ------------------------------------------------------------------------------------------------------------------


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Reduced dimensions as a sorted list; none given means all."""
    if dim is None or dim == []:
        return list(range(ndim))
    return sorted(d % ndim if ndim else 0 for d in (dim if isinstance(dim, (list, tuple)) else [dim]))


def unsqueezed(g: Any, dim: Any, ndim: int, keepdim: bool) -> Any:
    """A reduced tensor with its reduced dimensions back, of size 1."""
    if not keepdim and ndim:
        for d in dim if isinstance(dim, (list, tuple)) and len(dim) == 1 else dims_of(dim, ndim):
            g = A.unsqueeze.default(g, d)
    return g


def _sum(g: Any, self_: Any, dim: Any, keepdim: Any) -> Any:
    return A.expand.default(unsqueezed(g, dim, self_.ndim, keepdim), self_.shape)


def sum_of(g: Any, self: Any, dim: Any, keepdim: Any) -> Any:
    """The gradient of a sum, in the shape of its operand."""
    return A.expand.default(g if dim is None else unsqueezed(g, dim, self._aval.ndim, keepdim), list(self._aval.shape))


rule(A.sum, self=lambda g, self_: A.expand.default(g, self_.shape))
rule(A.sum.dim_IntList, self=_sum)
rule(A.mean, self=lambda g, self_: A.div.Scalar(A.expand.default(g, self_.shape), self_.size))
rule(
    A.mean.dim,
    self=lambda g, self_, dim, keepdim: A.div.Scalar(
        _sum(g, self_, dim, keepdim), math.prod(self_.shape[d] for d in dims_of(dim, self_.ndim))
    ),
)


def _var(g: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    ndim = self._aval.ndim
    correction = 1 if correction is None else correction
    n = math.prod(self._aval.shape[d] for d in dims_of(dim, ndim))
    left = n - correction
    scale = 2 / left if left else math.inf
    if dim is None or dim == [] or not ndim:
        centred = A.sub.Tensor(self, A.mean.default(self))
    else:
        g = unsqueezed(g, dim, ndim, keepdim)
        centred = A.sub.Tensor(self, A.mean.dim(self, dim, True))
    return A.mul.Tensor(A.mul.Scalar(g, scale), centred)


def _std(g: Any, self: Any, dim: Any, correction: Any, keepdim: Any, result: Any) -> Any:
    scaled = A.div.Tensor(g, A.mul.Scalar(result, 2))
    scaled = A.masked_fill_.Scalar(scaled, A.eq.Scalar(result, 0), 0)
    return _var(scaled, self, dim, correction, keepdim)


rule(A.var.correction, self=_var)
rule(A.std.correction, self=_std)


def _picked(g: Any, self_: Any, dim: int, index: Any, keepdim: bool) -> Any:
    """The gradient of values that were picked along a dimension."""
    if not self_.ndim:
        return g
    if not keepdim:
        g, index = A.unsqueeze.default(g, dim), A.unsqueeze.default(index, dim)
    return A.scatter.src(A.new_zeros.default(g, self_.shape), dim, index, g)


rule(
    A.max.dim, A.min.dim, A.mode, A.median.dim, A.nanmedian.dim, A.kthvalue, results=(0,),
    self=lambda g, self_, dim, keepdim, result1: _picked(g, self_, dim, result1, keepdim),
)  # fmt: skip
rule(A.topk, results=(0,), self=lambda g, self_, dim, result1: _picked(g, self_, dim, result1, True))
rule(A.sort, A.sort.stable, results=(0,), self=lambda g, self_, dim, result1: _picked(g, self_, dim, result1, True))


def _evenly(g: Any, self: Any, result: Any) -> Any:
    missing = A.logical_and.default(A.isnan.default(self), A.isnan.default(result))
    mask = A.logical_or_.default(A.eq.Tensor(self, result), missing)
    share = A.div.Tensor(g, A.sum.default(mask))
    return A.mul.Tensor(mask, share)


rule(A.max, A.min, A.median, A.nanmedian, self=_evenly)


def _amax(g: Any, self: Any, dim: Any, keepdim: Any, result: Any) -> Any:
    ndim = self._aval.ndim
    reduced = dims_of(dim, ndim)
    shape = [1 if d in reduced else n for d, n in enumerate(self._aval.shape)] if dim else []
    mask = A.eq.Tensor(result if keepdim or not ndim else A.view.default(result, shape), self)
    g = g if keepdim or not ndim else A.view.default(g, shape)
    return A.mul.Tensor(A.div.Tensor(g, A.sum.dim_IntList(mask, dim, True)), mask)


rule(A.amax, A.amin, self=_amax)


def vector_norm(g: Any, self: Any, ord: Any, dim: Any, keepdim: Any, result: Any) -> Any:
    """The gradient of a vector norm."""
    ndim = self._aval.ndim
    if dim is not None:
        g, result = unsqueezed(g, dim, ndim, keepdim), unsqueezed(result, dim, ndim, keepdim)
    if ord == 0:
        return A.zeros_like.default(self)
    if ord == 1:
        return A.mul.Tensor(A.sgn.default(self), g)
    if ord == 2:
        return A.mul.Tensor(g, A.masked_fill_.Scalar(A.div.Tensor(self, result), A.eq.Scalar(result, 0), 0))
    if ord in (math.inf, -math.inf):
        size = A.abs.default(self)
        mask = A.logical_or.default(A.eq.Tensor(size, result), A.isnan.default(size))
        count = A.sum.dim_IntList(mask, [] if dim is None else dim, True)
        share = A.mul.Tensor(A.div.Tensor(g, count), mask)
        return A.mul.Tensor(A.sgn.default(self), share)
    if ord < 1:
        powers = A.pow_.Scalar(A.abs.default(self), ord - 1)
        scaled = A.masked_fill_.Scalar(A.mul.Tensor(A.sgn.default(self), powers), A.eq.Scalar(self, 0), 0)
        return A.mul.Tensor(A.mul.Tensor(scaled, g), A.pow.Tensor_Scalar(result, 1 - ord))
    if ord < 2:
        powers = A.pow_.Scalar(A.abs.default(self), ord - 1)
        scaled = A.mul.Tensor(A.sgn.default(self), powers)
    else:
        scaled = A.mul.Tensor(self, A.pow_.Scalar(A.abs.default(self), ord - 2))
    scale = A.div.Tensor(g, A.pow.Tensor_Scalar(result, ord - 1))
    scale = A.masked_fill_.Scalar(scale, A.eq.Scalar(result, 0), 0)
    return A.mul.Tensor(scaled, scale)


rule(A.linalg_vector_norm, self=vector_norm)


def _logsumexp(g: Any, self: Any, dim: Any, keepdim: Any, result: Any) -> Any:
    ndim = self._aval.ndim
    g, result = unsqueezed(g, dim, ndim, keepdim), unsqueezed(result, dim, ndim, keepdim)
    return A.mul.Tensor(g, A.exp.default(A.sub.Tensor(self, result)))


rule(A.logsumexp, self=_logsumexp)


def _cumsum(g: Any, dim: int) -> Any:
    if not g._aval.ndim or g._aval.size <= 1:
        return g
    return A.flip.default(A.cumsum.default(A.flip.default(g, [dim]), dim), [dim])


rule(A.cumsum, self=_cumsum)

# ---- products --------------------------------------------------------------------------------------------------------------------


def _t(x: Any) -> Any:
    return A.t.default(conj(x))


def _mT(x: Any) -> Any:
    return A.transpose.int(conj(x), 1, 2)


def _by_columns(x: Any) -> bool:
    """Whether a matrix lies in memory column by column: its gradient then is computed so, too."""
    return x.stride() == [1, x.shape[0]]


def mm_first(g: Any, mat2: Any, mat1_: Any, alpha: Any) -> Any:
    """The gradient of the first factor of a matrix product."""
    if _by_columns(mat1_):
        return times(A.t.default(A.mm.default(conj(mat2), A.t.default(g))), conj(alpha))
    return times(A.mm.default(g, _t(mat2)), conj(alpha))


def mm_second(g: Any, mat1: Any, mat2_: Any, alpha: Any) -> Any:
    """The gradient of the second factor of a matrix product."""
    if _by_columns(mat2_):
        return times(A.t.default(A.mm.default(A.t.default(g), conj(mat1))), conj(alpha))
    return times(A.mm.default(_t(mat1), g), conj(alpha))


rule(A.mm, self=lambda g, mat2, self_: mm_first(g, mat2, self_, 1), mat2=lambda g, self, mat2_: mm_second(g, self, mat2_, 1))
rule(A.bmm, self=lambda g, mat2: A.bmm.default(g, _mT(mat2)), mat2=lambda g, self: A.bmm.default(_mT(self), g))
rule(
    A.mv,
    self=lambda g, vec: A.mul.Tensor(A.view.default(g, [g._aval.shape[0], 1]), conj(vec)),
    vec=lambda g, self: A.mv.default(_t(self), g),
)
rule(A.dot, self=lambda g, tensor: A.mul.Tensor(g, conj(tensor)), tensor=lambda g, self: A.mul.Tensor(g, conj(self)))
rule(
    A.addmm,
    self=lambda g, beta: times(g, conj(beta)),
    mat1=lambda g, mat2, mat1_, alpha: mm_first(g, mat2, mat1_, alpha),
    mat2=lambda g, mat1, mat2_, alpha: mm_second(g, mat1, mat2_, alpha),
)
rule(
    A.baddbmm,
    self=lambda g, beta: times(g, conj(beta)),
    batch1=lambda g, batch2, alpha: times(A.bmm.default(g, _mT(batch2)), conj(alpha)),
    batch2=lambda g, batch1, alpha: times(A.bmm.default(_mT(batch1), g), conj(alpha)),
)
rule(
    A.addmv,
    self=lambda g, beta: times(g, conj(beta)),
    mat=lambda g, vec, alpha: times(A.mul.Tensor(A.view.default(g, [g._aval.shape[0], 1]), conj(vec)), conj(alpha)),
    vec=lambda g, mat, alpha: times(A.mv.default(_t(mat), g), conj(alpha)),
)

# ---- shapes ----------------------------------------------------------------------------------------------------------------------

rule(A.view, A._unsafe_view, A._reshape_alias, self=lambda g, self_: reshaped(g, self_.shape))
rule(A.t, self=lambda g: A.t.default(g))
rule(A.transpose.int, self=lambda g, dim0, dim1: A.transpose.int(g, dim0, dim1))
rule(A.permute, self=lambda g, dims: A.permute.default(g, _inverse(dims)))
rule(A.expand, self=lambda g: g)
rule(A.clone, A.lift_fresh_copy, self=lambda g: g)
rule(A.contiguous, A.alias, A.lift_fresh, A.positive, self=lambda g: g)
rule(A.unsqueeze, self=lambda g, dim: A.squeeze.dim(g, dim))
rule(A.squeeze, self=lambda g, self_: _unsqueeze_to(g, self_, None))
rule(A.squeeze.dim, self=lambda g, self_, dim: _unsqueeze_to(g, self_, [dim]))
rule(A.squeeze.dims, self=lambda g, self_, dim: _unsqueeze_to(g, self_, dim))
rule(A.select.int, self=lambda g, self_, dim, index: A.select_backward.default(g, self_.shape, dim, index))
rule(
    A.slice.Tensor,
    self=lambda g, self_, dim, start, end, step: A.slice_backward.default(
        g, self_.shape, dim, 0 if start is None else start, 9223372036854775807 if end is None else end, step
    ),
)
rule(A.diagonal, self=lambda g, self_, offset, dim1, dim2: A.diagonal_backward.default(g, self_.shape, offset, dim1, dim2))
rule(A.flip, self=lambda g, dims: A.flip.default(g, dims))
rule(A.roll, self=lambda g, shifts, dims: A.roll.default(g, [-s for s in reversed(shifts)], list(reversed(dims))))
rule(A.repeat, self=lambda g, self_, repeats: _repeat(g, self_.shape, repeats))
rule(A.tril, self=lambda g, diagonal: A.tril.default(g, diagonal))
rule(A.triu, self=lambda g, diagonal: A.triu.default(g, diagonal))
rule(A.view_as_complex, self=lambda g: A.view_as_real.default(g))
rule(A.view_as_real, self=lambda g: A.view_as_complex.default(packed(g)))
rule(A._conj, self=lambda g: conj(g))
rule(A._neg_view, self=lambda g: A.neg.default(g))
rule(A._to_copy, self=lambda g, self_: _to(g, self_))
rule(A.constant_pad_nd, self=lambda g, pad: A.constant_pad_nd.default(g, [-p for p in pad]))


def packed(g: Any) -> Any:
    """A gradient itself, or a copy of it, that lies in memory without gaps."""
    return contiguous(g)


def reshaped(g: Any, shape: Sequence[int]) -> Any:
    """A gradient in another shape: as a view where its memory allows it."""
    strides = view_strides(g._aval.shape, exact(g.stride()), tuple(shape))
    if strides is not None:
        return A.view.default(g, list(shape))
    return A._unsafe_view.default(A.clone.default(g, memory_format=contiguous_format), list(shape))


def _to(g: Any, self_: Any) -> Any:
    if g._aval.torch_dtype.is_complex and not self_.dtype.is_complex:
        g = A.select.int(A.view_as_real.default(g), g._aval.ndim, 0)
        if g._aval.torch_dtype is self_.dtype:
            return g
    return A._to_copy.default(g, dtype=self_.dtype, layout=strided, device=self_.device)


def _inverse(dims: Sequence[int]) -> list[int]:
    order = [d % len(dims) for d in dims]
    return [order.index(i) for i in range(len(order))]


def _unsqueeze_to(g: Any, self_: Any, dims: Any) -> Any:
    for i, n in enumerate(self_.shape):
        if n == 1 and (dims is None or any(d % max(self_.ndim, 1) == i for d in dims)):
            g = A.unsqueeze.default(g, i)
    return g


def _repeat(g: Any, shape: list[int], repeats: Sequence[int]) -> Any:
    lead = len(repeats) - len(shape)
    if not shape:
        return A.sum.default(g)
    if lead:
        g = A.sum.dim_IntList(g, list(range(lead)))
    sizes: list[int] = []
    dims: list[int] = []
    for n, r in zip(shape, repeats[lead:], strict=True):
        if r != 1:
            dims.append(len(sizes))
            sizes.append(r)
        sizes.append(n)
    if not dims:
        return g
    return A.sum.dim_IntList(reshaped(g, sizes), dims)


# ---- joining and picking ---------------------------------------------------------------------------------------------------------


def _cat(g: Any, node: Any, dim: int) -> Any:
    found: dict[int, Any] = {}
    at = 0
    ndim = g._aval.ndim
    dim = dim % ndim
    for (_, k, aval), edge in zip(node.slots, node.edges, strict=True):
        if aval.shape == (0,) and ndim != 1:
            found[k] = A.new_zeros.default(g, [0]) if edge is not None else None
            continue
        n = aval.shape[dim]
        found[k] = A.slice.Tensor(g, dim, at, at + n) if edge is not None else None
        at += n
    return found


rule(A.cat, tensors=_cat)
rule(
    A.stack,
    tensors=lambda g, node, dim: {
        k: A.select.int(g, dim, k) if e is not None else None for (_, k, _), e in zip(node.slots, node.edges, strict=True)
    },
)


def _missing(shape: list[int], like: Any, stacked: bool) -> Any:
    return A.expand.default(made_zeros([], like), shape) if stacked else made_zeros(shape, like)


def _joined(grads: list[Any], node: Any, dim: int, stacked: bool) -> Any:
    like = next(g for g in grads if g is not None)
    filled = [_missing(node.about[j].shape, like, stacked) if g is None else g for j, g in enumerate(grads)]
    return A.stack.default(filled, dim) if stacked else A.cat.default(filled, dim)


rule(A.split.Tensor, A.split_with_sizes, self=lambda grads, node, dim: _joined(grads, node, dim, False))
rule(A.unsafe_split.Tensor, A.unsafe_split_with_sizes, self=lambda grads, node, dim: _joined(grads, node, dim, False))
rule(A.unbind.int, self=lambda grads, node, dim: _joined(grads, node, dim, True))
rule(
    A.index.Tensor,
    self=lambda g, self_, indices: A.index_put.default(
        A.new_zeros.default(g, self_.shape, dtype=self_.dtype, layout=_strided(), device=self_.device), indices, g, True
    ),
)
rule(
    A.gather,
    self=lambda g, self_, dim, index: A.scatter_add.default(A.new_zeros.default(g, self_.shape), dim, index, g),
)
rule(A.scatter_add, self=lambda g: g, src=lambda g, dim, index: A.gather.default(g, dim, index))
rule(A.scatter.src, self=lambda g, dim, index: A.scatter.value(g, dim, index, 0), src=lambda g, dim, index: A.gather.default(g, dim, index))
rule(A.scatter.value, self=lambda g, dim, index: A.scatter.value(g, dim, index, 0))


def _strided() -> Any:
    return strided


# ---- writing ---------------------------------------------------------------------------------------------------------------------

rule(A.fill_.Scalar, self=lambda g: zeros(g))
rule(A.fill_.Tensor, self=lambda g: zeros(g), value=lambda g: A.sum.default(g))
rule(A.zero_, self=lambda g: zeros(g))
rule(A.copy_, self=lambda g: A.zeros_like.default(g, memory_format=_contiguous()), src=lambda g: g)
rule(A.select_backward, grad_output=lambda g, dim, index: A.select.int(g, dim, index))
rule(A.slice_backward, grad_output=lambda g, dim, start, end, step: A.slice.Tensor(g, dim, start, end, step))


def _contiguous() -> Any:
    return contiguous_format
