"""Derivatives of special functions, of pairs (maximum, hypot, ...) and of complex numbers, as the operators that PyTorch runs."""

# ruff: noqa: PLW0108  (the parameters of these functions say what they need)
from __future__ import annotations

import math
from typing import Any

from ..facts.devices import of_placement
from ..facts.dtypes import finfo
from ..facts.layouts import preserve_format
from .derivatives import rule
from .formulas import _strided, conj, kept_where, made_zeros, number_like, times, vector_norm, zero_of, zeros
from .formulas_index import general
from .overloads import aten

A = aten
_SQRT_PI = math.sqrt(math.pi)


def full_like(x: Any, number: float) -> Any:
    """A tensor of one number, made as PyTorch makes the left side of ``1 - x`` and ``1 / x``."""
    return A.fill_.Scalar(A.empty_like.default(x, memory_format=preserve_format), number)


def one_minus(x: Any) -> Any:
    """``1 - x``."""
    return A.sub_.Tensor(full_like(x, 1), x)


def one_over(x: Any) -> Any:
    """``1 / x``."""
    return A.div_.Tensor(full_like(x, 1), x)


def _g(x: Any, g: Any) -> Any:
    return A.mul.Tensor(g, conj(x))


# ---- special functions -----------------------------------------------------------------------------------------------------------


def _atanh(g: Any, self: Any) -> Any:
    slope = conj(one_minus(A.pow.Tensor_Scalar(self, 2)))
    return A.div.Tensor(A.mul.Scalar(g, 1), slope)


rule(A.atanh, self=_atanh)
rule(A.lgamma, self=lambda g, self: _g(A.digamma.default(self), g))
rule(A.digamma, self=lambda g, self: _g(A.polygamma.default(1, self), g))
rule(A.polygamma, self=lambda g, n, self: _g(A.polygamma.default(n + 1, self), g))


def _mvlgamma(g: Any, self: Any, p: int) -> Any:
    dtype, device = self._aval.torch_dtype, of_placement(self._aval.device)
    shifts = A.arange.start_step(-p / 2.0 + 0.5, 0.5, 0.5, dtype=dtype, layout=_strided(), device=device)
    return A.mul.Tensor(g, A.sum.dim_IntList(A.digamma_.default(A.add.Tensor(shifts, A.unsqueeze.default(self, -1))), [-1]))


rule(A.mvlgamma, self=_mvlgamma)
rule(A.i0, self=lambda g, self: _g(A.special_i1.default(self), g))


def _tiny(self: Any) -> tuple[Any, Any]:
    """Where a number is far enough from zero to divide by, and the number there."""
    dtype = self._aval.torch_dtype
    far = A.gt.Scalar(A.abs.default(self), finfo(dtype).eps)
    return far, A.where.self(far, self, number_like(finfo(dtype).eps, self))


def _i1(g: Any, self: Any, result: Any) -> Any:
    far, safe = _tiny(self)
    inner = A.mul.Tensor(result, A.reciprocal.default(safe))
    found = A.sub.Tensor(A.i0.default(safe), inner)
    return A.mul.Tensor(g, A.where.self(far, found, number_like(0.5, self)))


rule(A.special_i1, self=_i1)
rule(A.special_i0e, self=lambda g, self, result: A.mul.Tensor(
    g, A.sub.Tensor(A.special_i1e.default(self), A.mul.Tensor(A.sgn.default(self), result))
))  # fmt: skip
rule(A.erfinv, self=lambda g, self: A.mul.Tensor(
    A.mul.Scalar(A.exp.default(A.pow.Tensor_Scalar(A.erfinv.default(self), 2)), 0.5 * _SQRT_PI), g
))  # fmt: skip
rule(A.special_erfcx, self=lambda g, self, result: A.mul.Tensor(
    A.sub.Scalar(A.mul.Tensor(A.mul.Scalar(self, 2), result), 2.0 / _SQRT_PI), g
))  # fmt: skip
rule(A.special_entr, self=lambda g, self: A.mul.Tensor(g, A.neg.default(A.add.Scalar(A.log.default(self), 1))))
rule(A.special_ndtri, self=lambda g, result: A.mul.Tensor(
    g, A.mul.Scalar(A.exp.default(A.div.Scalar(A.pow.Tensor_Scalar(result, 2), 2)), math.sqrt(2 * math.pi))
))  # fmt: skip


def _log_ndtr(g: Any, self: Any, result: Any) -> Any:
    inner = A.add.Tensor(result, A.div.Scalar(A.pow.Tensor_Scalar(self, 2), 2))
    return A.mul.Tensor(A.div.Scalar(A.exp.default(A.neg.default(inner)), math.sqrt(2 * math.pi)), g)


rule(A.special_log_ndtr, self=_log_ndtr)


def _sinc(g: Any, self: Any) -> Any:
    squared = A.mul.Tensor(A.mul.Scalar(self, math.pi), self)
    scaled = A.mul.Scalar(self, math.pi)
    sine = A.sin.default(scaled)
    top = A.sub.Tensor(A.mul.Tensor(A.cos.default(scaled), scaled), sine)
    found = A.mul.Tensor(g, conj(A.div.Tensor(top, squared)))
    zero = zero_of(g)
    return A.where.self(A.eq.Scalar(squared, 0.0), zero, found)


rule(A.sinc, self=_sinc)
rule(A.deg2rad, self=lambda g: A.mul.Scalar(g, math.pi / 180))
rule(A.rad2deg, self=lambda g: A.mul.Scalar(g, 180 / math.pi))
rule(A.frac, self=lambda g: g)


def _sgn(g: Any, self: Any, result: Any, grads: Any, node: Any) -> Any:
    del result  # PyTorch saves it for complex numbers, and so for all
    if not self._aval.torch_dtype.is_complex:
        return made_zeros(self._aval.shape, g)
    return general(grads, node, self)


rule(A.sgn, self=_sgn)
rule(A.round.decimals, self=lambda g: zeros(g))
rule(A.nan_to_num, self=lambda g, self: _finite(g, self))
rule(A.xlogy.Scalar_Self, other=lambda g, self, other: A.div.Tensor(A.mul.Scalar(g, self), other))
rule(A.xlogy.Scalar_Other, self=lambda g, other: A.mul.Scalar(g, math.log(other)) if other > 0 else g)


def _finite(g: Any, self: Any) -> Any:
    bounded = A.ne.Scalar(A.abs.default(self), math.inf)
    return A.mul.Tensor(g, A.mul.Tensor(A.eq.Tensor(self, self), bounded))


def _xlog1py_self(g: Any, self: Any, other: Any) -> Any:
    found = A.special_xlog1py.default(g, other)
    low = A.le.Scalar(other, -1.0)
    return A.masked_fill.Scalar(found, A.bitwise_and.Tensor(A.eq.Scalar(self, 0.0), low), 0.0)


def _xlog1py_other(g: Any, self: Any, other: Any) -> Any:
    below = A.add.Scalar(other, 1)
    return A.div.Tensor(A.mul.Tensor(g, self), below)


rule(A.special_xlog1py, self=_xlog1py_self, other=_xlog1py_other)

# ---- two operands ----------------------------------------------------------------------------------------------------------------


def _larger(smaller: Any) -> Any:
    """The gradient of one operand of ``maximum``: half where both are equal, none where it is the other one."""

    def gradient(g: Any, self: Any, other: Any) -> Any:
        half = A.div.Scalar(g, 2)
        shared = A.where.self(A.eq.Tensor(self, other), half, g)
        return A.masked_fill_.Scalar(shared, smaller(self, other), 0)

    return gradient


rule(A.maximum, self=_larger(A.lt.Tensor), other=_larger(A.gt.Tensor))
rule(A.minimum, self=_larger(A.gt.Tensor), other=_larger(A.lt.Tensor))


def _numbered(better: Any) -> Any:
    """The gradients of ``fmax`` and ``fmin``, which prefer what is a number."""

    def chosen(self: Any, other: Any) -> Any:
        first = better(self, other)
        return A.logical_or_.default(first, A.isnan.default(other))

    return {
        "self": lambda g, self, other: A.masked_fill.Scalar(g, A.logical_not_.default(chosen(self, other)), 0),
        "other": lambda g, self, other: A.masked_fill.Scalar(g, chosen(self, other), 0),
    }


rule(A.fmax, **_numbered(A.ge.Tensor))
rule(A.fmin, **_numbered(A.le.Tensor))


def _clamp_bounds(g: Any, self: Any, min: Any, max: Any, wants: Any) -> Any:
    if min is not None and max is not None:
        first = last = None
        if wants[0]:
            below, ordered = A.lt.Tensor(self, min), A.lt.Tensor(min, max)
            first = kept_where(A.logical_and.default(ordered, below), g)
        if wants[1]:
            above, crossed = A.gt.Tensor(self, max), A.lt.Tensor(max, min)
            last = kept_where(A.logical_or.default(above, crossed), g)
        return first, last
    if min is not None:
        return kept_where(A.lt.Tensor(self, min), g), None
    return None, kept_where(A.gt.Tensor(self, max), g)


def _clamp_self(g: Any, self: Any, min: Any, max: Any) -> Any:
    if min is not None and max is not None:
        low = A.ge.Tensor(self, min)
        return kept_where(A.logical_and.default(low, A.le.Tensor(self, max)), g)
    return kept_where(A.ge.Tensor(self, min) if max is None else A.le.Tensor(self, max), g)


rule(A.clamp.Tensor, min__max=_clamp_bounds, self=_clamp_self)
rule(A.clamp_min.Tensor, min=lambda g, self, min: kept_where(A.lt.Tensor(self, min), g),
     self=lambda g, self, min: kept_where(A.ge.Tensor(self, min), g))  # fmt: skip
rule(A.clamp_max.Tensor, max=lambda g, self, max: kept_where(A.gt.Tensor(self, max), g),
     self=lambda g, self, max: kept_where(A.le.Tensor(self, max), g))  # fmt: skip


def _logaddexp(power: Any) -> Any:
    def gradient(g: Any, one: Any, two: Any) -> Any:
        return A.div.Tensor(g, conj(A.add.Scalar(power(A.sub.Tensor(two, one)), 1)))

    return gradient


for _packet, _power in ((A.logaddexp, lambda x: A.exp.default(x)), (A.logaddexp2, lambda x: A.pow.Scalar(2, x))):
    _share = _logaddexp(_power)
    rule(
        _packet,
        self=lambda g, self, other, _share=_share: _share(g, self, other),
        other=lambda g, self, other, _share=_share: _share(g, other, self),
    )
rule(
    A.hypot,
    self=lambda g, self, result: A.div.Tensor(A.mul.Tensor(g, self), result),
    other=lambda g, other, result: A.div.Tensor(A.mul.Tensor(g, other), result),
)


def _copysign(g: Any, self: Any, result: Any) -> Any:
    ratio = A.div.Tensor(result, self)
    return A.mul.Tensor(g, A.masked_fill_.Scalar(ratio, A.eq.Scalar(self, 0), 0))


rule(
    A.copysign.Tensor,
    other__self=lambda g, self, other_, result: (made_zeros(other_.shape, g), _copysign(g, self, result)),
)
rule(A.copysign.Scalar, self=_copysign)


def _times_taken(rounding_mode: str) -> Any:
    """The gradient of a remainder's divisor: how often it was taken away."""

    def gradient(g: Any, self: Any, other: Any) -> Any:
        count = A.div.Tensor_mode(self, other, rounding_mode=rounding_mode)
        return A.mul.Tensor(A.neg.default(g), count)

    return gradient


rule(A.remainder.Tensor, self=lambda g: g, other=_times_taken("floor"))
rule(A.fmod.Tensor, self=lambda g: g, other=_times_taken("trunc"))


def _addcdiv_second(g: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    square = A.mul.Tensor(tensor2, tensor2)
    slope = conj(A.div.Tensor(A.mul.Scalar(tensor1, value), square))
    return A.mul.Tensor(A.neg.default(g), slope)


rule(
    A.addcdiv,
    self=lambda g: g,
    tensor1=lambda g, tensor2, value: A.mul.Tensor(g, conj(times(one_over(tensor2), value))),
    tensor2=_addcdiv_second,
)
rule(A.lerp.Scalar, self=lambda g, weight: A.mul.Scalar(g, 1 - weight), end=lambda g, weight: A.mul.Scalar(g, weight))
rule(
    A.lerp.Tensor,
    self=lambda g, weight: A.mul.Tensor(g, conj(one_minus(weight))),
    end=lambda g, weight: A.mul.Tensor(g, conj(weight)),
    weight=lambda g, self, end: A.mul.Tensor(g, conj(A.sub.Tensor(end, self))),
)
rule(A.ldexp.Tensor, self=lambda g, other: A.mul.Tensor(g, A.pow.Scalar(2, other)))


def _pnorm(g: Any, self: Any, other: Any, p: Any, result: Any) -> Any:
    return vector_norm(g, A.sub.Tensor(self, other), p, None, False, result)


rule(
    A.dist,
    self=_pnorm,
    other=lambda g, self, other, p, result: A.neg.default(_pnorm(g, self, other, p, result)),
)

# ---- complex numbers -------------------------------------------------------------------------------------------------------------


def real(x: Any) -> Any:
    """The real part of a complex tensor."""
    return A.select.int(A.view_as_real.default(x), x._aval.ndim, 0)


def imag(x: Any) -> Any:
    """The imaginary part of a complex tensor."""
    return A.select.int(A.view_as_real.default(x), x._aval.ndim, 1)


rule(A.complex, real=lambda g: real(g), imag=lambda g: imag(g))


def _polar(g: Any, result: Any) -> Any:
    turned = conj(g)
    size = real(A.mul.Tensor(turned, A.sgn.default(result)))
    return size, real(A.mul.Tensor(turned, A.mul.Scalar(result, 1j)))


rule(A.polar, abs__angle=_polar)


def _angle(g: Any, self: Any) -> Any:
    if not self._aval.torch_dtype.is_complex:
        return A.zeros_like.default(self, memory_format=preserve_format)
    squared = A.pow.Tensor_Scalar(A.abs.default(self), 2)
    found = A.mul.Scalar(A.div.Tensor(A.mul.Tensor(g, self), squared), 1j)
    return A.where.self(A.eq.Scalar(self, 0.0), zero_of(found), found)


rule(A.angle, self=_angle)
