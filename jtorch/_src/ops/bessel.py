"""Bessel functions of orders 0 and 1, plain, modified and scaled, and Airy's function."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np

from ..engine.host.direct import special
from ..facts.dtypes import finfo
from . import _cephes
from ._declare import Array, defvjp, unary
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._hosted import by_scipy, hosted
from ._numeric import require, require_full, wide

if TYPE_CHECKING:
    from ...core import Tensor


_special = functools.partial(unary, namespace="special", method=False)
#: Functions for which torch has no derivative.
_without_gradient = functools.partial(_special, differentiable=False)


# ---- modified, first kind ------------------------------------------------------------------------


@unary(inplace="both", aliases=("special.i0",), saves=("input",), aten="i0")
@schemas(".", "special_i0. ; =out")
def i0(input: Array) -> Array:
    """The modified Bessel function of the first kind and order 0.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay. Complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.i0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 1.2661, 2.2796])
    """
    require("i0_vml_cpu", input)
    return jsp.i0(wide(input)).astype(input.dtype)


@_special(saves=("input", "result"), aten="special_i0e", node="SpecialI0EBackward0")
def i0e(input: Array) -> Array:
    """``exp(-abs(input)) * i0(input)``.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay. Complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.special.i0e(torch.tensor([0.0, 1.0, 100.0]))
        tensor([1.0000, 0.4658, 0.0399])
    """
    require("i0e_cpu", input)
    return jsp.i0e(wide(input)).astype(input.dtype)


@_special(saves=("input", "result"), aten="special_i1", node="SpecialI1Backward0")
def i1(input: Array) -> Array:
    """The modified Bessel function of the first kind and order 1.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay. Complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.special.i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    require("i1_cpu", input)
    return jsp.i1(wide(input)).astype(input.dtype)


@_special(saves=("input", "result"), aten="special_i1e", node="SpecialI1EBackward0")
def i1e(input: Array) -> Array:
    """``exp(-abs(input)) * i1(input)``.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool become the default dtype, others stay. Complex numbers are refused
    (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.special.i1e(torch.tensor([0.0, 1.0, 100.0]))
        tensor([0.0000, 0.2079, 0.0397])
    """
    require("i1e_cpu", input)
    return jsp.i1e(wide(input)).astype(input.dtype)


def _i0_rule(g: Array, _: None, input: Array) -> tuple[Array]:
    return (g * i1(input),)


def _i0e_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return (g * (i1e(input) - jnp.sign(input) * result),)


def _away_from_zero(x: Array) -> tuple[Array, Array]:
    """Where x is so near 0 that i1(x) / x is 1/2, and x with 1 in those places."""
    near = ~(jnp.abs(x) > jnp.finfo(x.dtype).eps)
    return near, jnp.where(near, jnp.ones((), x.dtype), x)


def _i1_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    near, x = _away_from_zero(input)
    return (g * jnp.where(near, jnp.asarray(0.5, g.dtype), i0(x) - result / x),)


def _i1e_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    near, x = _away_from_zero(input)
    return (
        g * jnp.where(near, jnp.asarray(0.5, g.dtype), i0e(x) - result * (jnp.sign(x) + 1 / x)),
    )


defvjp(i0, _i0_rule)
derivative(A.i0, self=lambda g, self: D.times_slope(A.special_i1.default(self), g))
defvjp(i0e, _i0e_rule)
derivative(
    A.special_i0e,
    self=lambda g, self, result: A.mul.Tensor(
        g, A.sub.Tensor(A.special_i1e.default(self), A.mul.Tensor(A.sgn.default(self), result))
    ),
)
defvjp(i1, _i1_rule)


def _tiny(self: Tensor) -> tuple[object, object]:
    """Where a number is far enough from zero to divide by, and the number there."""
    dtype = self._aval.torch_dtype
    far = A.gt.Scalar(A.abs.default(self), finfo(dtype).eps)
    return far, A.where.self(far, self, D.number_like(finfo(dtype).eps, self))


def _i1_formula(g: object, self: Any, result: object) -> object:
    far, safe = _tiny(self)
    inner = A.mul.Tensor(result, A.reciprocal.default(safe))
    found = A.sub.Tensor(A.i0.default(safe), inner)
    return A.mul.Tensor(g, A.where.self(far, found, D.number_like(0.5, self)))


derivative(A.special_i1, self=_i1_formula)
defvjp(i1e, _i1e_rule)


@_without_gradient(aten="special_modified_bessel_i0")
def modified_bessel_i0(input: Array) -> Array:
    """The modified Bessel function of the first kind and order 0.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.modified_bessel_i0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 1.2661, 2.2796])
    """
    require_full("modified_bessel_i0_cpu", input)
    return jsp.i0(input)


@_without_gradient(aten="special_modified_bessel_i1")
def modified_bessel_i1(input: Array) -> Array:
    """The modified Bessel function of the first kind and order 1.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.modified_bessel_i1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.5652, 1.5906])
    """
    require_full("modified_bessel_i1_cpu", input)
    return jsp.i1(input)


# ---- modified, second kind -----------------------------------------------------------------------


def _chebyshev(x: Array, coefficients: Sequence[float]) -> Array:
    """Clenshaw's sum of a Chebyshev series in ``x / 2``, the constant halved as Cephes keeps it."""
    before = second = jnp.zeros_like(x)
    found = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        before, second = second, found
        found = x * second - before + c
    return 0.5 * (found - before)


def _scaled_k(x: Array, order: int) -> Array:
    """``exp(x) * K(x)``: infinite at 0, NaN below."""
    near = jnp.minimum(x, 2)
    if order == 0:
        small = (
            _chebyshev(near * near - 2, _cephes.K0_A) - jnp.log(0.5 * near) * jsp.i0(near)
        ) * jnp.exp(near)
        large = _chebyshev(8 / x - 2, _cephes.K0_B) / jnp.sqrt(x)
    else:
        small = (
            jnp.log(0.5 * near) * jsp.i1(near) + _chebyshev(near * near - 2, _cephes.K1_A) / near
        ) * jnp.exp(near)
        large = _chebyshev(8 / x - 2, _cephes.K1_B) / jnp.sqrt(x)
    found = jnp.where(x <= 2, small, large)
    return jnp.where(
        x == 0,
        jnp.asarray(jnp.inf, x.dtype),
        jnp.where(x < 0, jnp.asarray(jnp.nan, x.dtype), found),
    )


@hosted(by_scipy("k0"), ns=25)
def _k0(x: Array) -> Array:
    return _scaled_k(x, 0) * jnp.exp(-x)


@hosted(by_scipy("k1"), ns=25)
def _k1(x: Array) -> Array:
    return _scaled_k(x, 1) * jnp.exp(-x)


@hosted(by_scipy("k0e"), ns=25)
def _k0e(x: Array) -> Array:
    return _scaled_k(x, 0)


@hosted(by_scipy("k1e"), ns=25)
def _k1e(x: Array) -> Array:
    return _scaled_k(x, 1)


@_without_gradient(aten="special_modified_bessel_k0")
def modified_bessel_k0(input: Array) -> Array:
    """The modified Bessel function of the second kind and order 0: infinite at 0, NaN below.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.modified_bessel_k0(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([   nan,    inf, 0.4210])
    """
    require_full("modified_bessel_k0_cpu", input)
    return _k0(input)


@_without_gradient(aten="special_modified_bessel_k1")
def modified_bessel_k1(input: Array) -> Array:
    """The modified Bessel function of the second kind and order 1: infinite at 0, NaN below.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.modified_bessel_k1(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([   nan,    inf, 0.6019])
    """
    require_full("modified_bessel_k1_cpu", input)
    return _k1(input)


@_without_gradient(aten="special_scaled_modified_bessel_k0", spelled={"input": "x"})
def scaled_modified_bessel_k0(input: Array) -> Array:
    """``exp(input) * modified_bessel_k0(input)``, which does not vanish where ``input`` is large.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.scaled_modified_bessel_k0(torch.tensor([1.0, 100.0]))
        tensor([1.1445, 0.1252])
    """
    require_full("scaled_modified_bessel_k0_cpu", input)
    return _k0e(input)


@_without_gradient(aten="special_scaled_modified_bessel_k1", spelled={"input": "x"})
def scaled_modified_bessel_k1(input: Array) -> Array:
    """``exp(input) * modified_bessel_k1(input)``, which does not vanish where ``input`` is large.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.scaled_modified_bessel_k1(torch.tensor([1.0, 100.0]))
        tensor([1.6362, 0.1258])
    """
    require_full("scaled_modified_bessel_k1_cpu", input)
    return _k1e(input)


# ---- plain ---------------------------------------------------------------------------------------

_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    found = jnp.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        found = found * x + c
    return found


def _far(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y for x > 5: a wave whose amplitude and phase are rational functions of 25 / x**2."""
    pp, pq, qp, qq = (getattr(_cephes, f"J{order}_{name}") for name in ("PP", "PQ", "QP", "QQ"))
    z = 25 / (x * x)
    in_phase = _polynomial(z, pp) / _polynomial(z, pq)
    quadrature = 5 / x * (_polynomial(z, qp) / _polynomial(z, qq))
    angle = x - (order / 2 + 0.25) * math.pi
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    amplitude = _SQRT_2_OVER_PI / jnp.sqrt(x)
    return (in_phase * cosine - quadrature * sine) * amplitude, (
        in_phase * sine + quadrature * cosine
    ) * amplitude


#: Squares of the first two positive roots of J0 and J1.
_ROOTS = (
    (5.78318596294678452118, 30.4712623436620863991),
    (14.6819706421238932572, 49.2184563216946036703),
)


def _bessel_j(x: Array, order: int) -> Array:
    size = jnp.abs(x)
    square = size * size
    rp, rq = ((_cephes.J0_RP, _cephes.J0_RQ), (_cephes.J1_RP, _cephes.J1_RQ))[order]
    first, second = _ROOTS[order]
    near = (square - first) * (square - second) * _polynomial(square, rp) / _polynomial(square, rq)
    if order == 0:
        near = jnp.where(size < 1e-5, 1 - square / 4, near)
    else:
        near = near * size
    found = jnp.where(size <= 5, near, _far(jnp.maximum(size, 5), order)[0])
    return jnp.where(x == 0, x, jnp.where(x < 0, -found, found)) if order else found


def _bessel_y(x: Array, order: int) -> Array:
    square = x * x
    logarithmic = _bessel_j(x, order) * jnp.log(x)
    if order == 0:
        near = (
            _polynomial(square, _cephes.Y0_YP) / _polynomial(square, _cephes.Y0_YQ)
            + 2 / math.pi * logarithmic
        )
    else:
        near = x * (
            _polynomial(square, _cephes.Y1_YP) / _polynomial(square, _cephes.Y1_YQ)
        ) + 2 / math.pi * (logarithmic - 1 / x)
    found = jnp.where(x <= 5, near, _far(jnp.maximum(x, 5), order)[1])
    return jnp.where(
        x == 0,
        jnp.asarray(-jnp.inf, x.dtype),
        jnp.where(x < 0, jnp.asarray(jnp.nan, x.dtype), found),
    )


@hosted(by_scipy("j0"), ns=25)
def _j0(x: Array) -> Array:
    return _bessel_j(x, 0)


@hosted(by_scipy("j1"), ns=25)
def _j1(x: Array) -> Array:
    return _bessel_j(x, 1)


@hosted(by_scipy("y0"), ns=25)
def _y0(x: Array) -> Array:
    return _bessel_y(x, 0)


@hosted(by_scipy("y1"), ns=25)
def _y1(x: Array) -> Array:
    return _bessel_y(x, 1)


@_without_gradient(aten="special_bessel_j0")
def bessel_j0(input: Array) -> Array:
    """The Bessel function of the first kind and order 0.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.bessel_j0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 0.7652, 0.2239])
    """
    require_full("bessel_j0_cpu", input)
    return _j0(input)


@_without_gradient(aten="special_bessel_j1")
def bessel_j1(input: Array) -> Array:
    """The Bessel function of the first kind and order 1.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.bessel_j1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([0.0000, 0.4401, 0.5767])
    """
    require_full("bessel_j1_cpu", input)
    return _j1(input)


@_without_gradient(aten="special_bessel_y0")
def bessel_y0(input: Array) -> Array:
    """The Bessel function of the second kind and order 0: negative infinity at 0, NaN below.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.bessel_y0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([  -inf, 0.0883, 0.5104])
    """
    require_full("bessel_y0_cpu", input)
    return _y0(input)


@_without_gradient(aten="special_bessel_y1")
def bessel_y1(input: Array) -> Array:
    """The Bessel function of the second kind and order 1: negative infinity at 0, NaN below.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.bessel_y1(torch.tensor([0.0, 1.0, 2.0]))
        tensor([   -inf, -0.7812, -0.1070])
    """
    require_full("bessel_y1_cpu", input)
    return _y1(input)


@_without_gradient(aten="special_spherical_bessel_j0", spelled={"input": "x"})
def spherical_bessel_j0(input: Array) -> Array:
    """``sin(input) / input``, the spherical Bessel function of the first kind and order 0.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.spherical_bessel_j0(torch.tensor([0.0, 1.0, 2.0]))
        tensor([1.0000, 0.8415, 0.4546])
    """
    require_full("spherical_bessel_j0_cpu", input)
    square = input * input
    series = _polynomial(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(6, -1, -1)])
    found = jnp.where(jnp.abs(input) < 0.5, series, jnp.sin(input) / input)
    return jnp.where(jnp.isinf(input), jnp.zeros((), input.dtype), found)


# ---- Airy ----------------------------------------------------------------------------------------

_INV_SQRT_PI = 1 / math.sqrt(math.pi)


@_without_gradient(aten="special_airy_ai", spelled={"input": "x"})
def airy_ai(input: Array) -> Array:
    """Airy's function Ai.

    Shapes: input (*) -> (*).
    Dtypes: float32 and float64 -> the same; integers and bool become the default dtype. Others are
    refused (NotImplementedError).
    Gradient: none: the result takes no part in differentiation.

    Example:
        >>> import jtorch as torch
        >>> torch.special.airy_ai(torch.tensor([-1.0, 0.0, 1.0]))
        tensor([0.5356, 0.3550, 0.1353])
    """
    require_full("airy_ai_cpu", input)
    return _airy(input)


def _by_scipys_airy() -> Callable[[np.ndarray], np.ndarray]:
    airy = special("airy")

    def compute(x: np.ndarray) -> np.ndarray:
        found = airy(x)[0]
        endless = np.isinf(x)
        return (
            np.where(endless, x.dtype.type(np.nan), found) if np.count_nonzero(endless) else found
        )

    return compute


@hosted(_by_scipys_airy, ns=150, calls=4)
def _airy(input: Array) -> Array:
    found = jnp.where(
        input < -2.09,
        _airy_wave(input),
        jnp.where(input < 2.09, _airy_series(input), _airy_decay(input)),
    )
    found = jnp.where(input > 103.892, jnp.zeros((), input.dtype), found)
    return jnp.where(jnp.isinf(input), jnp.asarray(jnp.nan, input.dtype), found)


def _airy_wave(x: Array) -> Array:
    depth = jnp.maximum(-x, 2)
    zeta = 2 * depth * jnp.sqrt(depth) / 3
    z = 1 / zeta
    sine_part = 1 + z * z * _polynomial(z * z, _cephes.AIRY_AFN) / _polynomial(
        z * z, _cephes.AIRY_AFD
    )
    cosine_part = z * _polynomial(z * z, _cephes.AIRY_AGN) / _polynomial(z * z, _cephes.AIRY_AGD)
    angle = zeta + 0.25 * math.pi
    return (
        _INV_SQRT_PI
        / jnp.sqrt(jnp.sqrt(depth))
        * (jnp.sin(angle) * sine_part - jnp.cos(angle) * cosine_part)
    )


def _airy_decay(x: Array) -> Array:
    height = jnp.maximum(x, 2)
    zeta = 2 * height * jnp.sqrt(height) / 3
    ratio = _polynomial(1 / zeta, _cephes.AIRY_AN) / _polynomial(1 / zeta, _cephes.AIRY_AD)
    return _INV_SQRT_PI * ratio / (2 * jnp.sqrt(jnp.sqrt(height)) * jnp.exp(zeta))


#: Enough terms of Ai's power series for double precision where it is used, at magnitudes up to
#: 2.09.
_AIRY_TERMS = 20
_AIRY_AT_0, _AIRY_SLOPE_AT_0 = 0.355028053887817239260, 0.258819403792806798405


def _airy_series(x: Array) -> Array:
    x = jnp.clip(x, -2.1, 2.1)
    cube = x * x * x
    f, g, m, n = jnp.ones_like(x), x, jnp.ones_like(x), x
    for k in range(1, _AIRY_TERMS):
        m = m * cube / ((3 * k - 1) * (3 * k))
        n = n * cube / ((3 * k) * (3 * k + 1))
        f, g = f + m, g + n
    return _AIRY_AT_0 * f - _AIRY_SLOPE_AT_0 * g
