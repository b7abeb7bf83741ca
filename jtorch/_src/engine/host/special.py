"""Element by element: the special functions, by SciPy, which is loaded when the first kernel that
needs one is staged.

What is infinite or NaN agrees with XLA, but for two limits that some versions of it give as NaN and
others as they are: ``digamma`` of zeros, and ``igamma`` and ``igammac`` of infinite first
arguments. Finite results are SciPy's, from which XLA's are off by more than a few units in the last
place, SciPy's being nearer to the function: ``erfc`` of large numbers and ``erf_inv`` (to 60),
``lgamma`` and ``digamma`` (to 100 units of 1 near their zeros), ``igamma`` and ``igammac``
(hundreds; for first arguments in the thousands 1e-3 in float32 and 1e-11 in float64), ``polygamma``
(hundreds), and ``zeta`` and ``polygamma`` at negative numbers, where XLA's in float32 are noise.

Left to XLA: ``igamma_grad_a``, which SciPy lacks, and ``regularized_incomplete_beta``, which is off
by thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from .direct import count_nonzero, special, where
from .rules import Compute, Equation, by_elements, rule

if TYPE_CHECKING:
    from ...facts.kinds import Operand


_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_REALS = (*_HALVES, np.dtype(np.float32), np.dtype(np.float64))

_Make = Callable[[Any, Any], Compute]
#: From this many float32 on functions are computed without SciPy's branches, so many at a time.
_MANY, _AT_A_TIME = 1 << 12, 1 << 15
#: ``artanh(erf(x)) / x`` as a polynomial of x², highest power first, for |x| <= 4: what is beyond
#: has 1 or -1 as its ``erf``.
_ARTANH_OF_ERF = [
    np.array(c, np.float32)
    for c in (
        5.42154225e-09, 2.75777625e-08, -4.79462256e-06, 8.45966686e-05, -6.14838445e-4,
        -1.95287939e-4, 0.102769864, 1.12837925,
    )
]  # fmt: skip
#: In arrays, as NumPy has vector code for the extrema of two of them only.
_LARGEST, _SMALLEST = [np.full(_AT_A_TIME, x, np.float32) for x in (4, -4)]


class _Functions:
    """SciPy's special functions by name, each loaded when it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return special(name)


_SCIPY = _Functions()


def _special(
    *names: str, ns: float, calls: int = 1, many: Compute | None = None, kept: bool = False
) -> Callable[[_Make], _Make]:
    """Declares primitives: the function below gets SciPy's functions and the name, and gives what
    computes float32 and float64.

    ``many`` computes from ``_MANY`` float32 on.
    """

    def declare(make: _Make) -> _Make:
        @rule(*names, cost=by_elements(ns, ns + 4, calls), broadcasts=True, kept=kept)
        def _(e: Equation) -> Compute | None:
            dtype = e.out.dtype
            if dtype not in _REALS:
                return None
            compute = (
                make(_SCIPY, e.name)
                if many is None or e.out.size < _MANY or dtype == np.float64
                else many
            )
            if dtype in _HALVES:  # the function of the float32 numbers, rounded once
                return lambda *operands: compute(*[x.astype(np.float32) for x in operands]).astype(
                    dtype
                )
            return compute

        return make

    return declare


def _erf_of_many(x: np.ndarray) -> np.ndarray:
    """``erf`` of float32, off by at most 4 units in the last place, in a seventh of SciPy's time:
    that branches at each element."""
    found = np.empty(x.shape, np.float32)
    numbers, results = x.reshape(-1), found.reshape(-1)
    inside, square = np.empty((2, min(x.size, _AT_A_TIME)), np.float32)
    for start in range(0, x.size, _AT_A_TIME):
        out = results[start : start + _AT_A_TIME]
        y, s = inside[: out.size], square[: out.size]
        np.minimum(numbers[start : start + _AT_A_TIME], _LARGEST[: out.size], out=y)
        np.maximum(y, _SMALLEST[: out.size], out=y)
        np.multiply(y, y, out=s)
        np.multiply(s, _ARTANH_OF_ERF[0], out=out)
        np.add(out, _ARTANH_OF_ERF[1], out=out)
        for c in _ARTANH_OF_ERF[2:]:
            np.multiply(out, s, out=out)
            np.add(out, c, out=out)
        np.multiply(out, y, out=out)
        np.tanh(out, out=out)
    return found


@_special("erf", ns=3, many=_erf_of_many)
@_special("erfc", ns=14)
def _plain(scipy: _Functions, name: str) -> Compute:
    return getattr(scipy, name)


@_special("erf_inv", "bessel_i1e", ns=20, calls=2)
def _odd(scipy: _Functions, name: str) -> Compute:
    compute = {"erf_inv": scipy.erfinv, "bessel_i1e": scipy.i1e}[name]
    return lambda x: np.copysign(compute(x), x)  # SciPy's of -0.0 is 0.0


@_special("bessel_i0e", ns=20)
def _i0e(scipy: _Functions, _: str) -> Compute:
    return scipy.i0e


@_special("lgamma", ns=18, calls=2, kept=True)
def _lgamma(scipy: _Functions, _: str) -> Compute:
    # The finite numbers that are large are integers, where it is infinite; SciPy's of -inf is -inf.
    return lambda x: scipy.gammaln(np.maximum(x, np.finfo(x.dtype).min))


def _digamma(x: np.ndarray) -> object:
    psi = special("psi")
    if np.greater(x, 0).all():
        return psi(x)
    # Reflected at 1/2 with the distance from the pole, which SciPy loses; NaN at the poles but
    # zero, from whose sides the limits differ.
    one, low = x.dtype.type(1), np.less(x, 0.5)
    found = psi(where(low, one - x, x))
    off = np.subtract(x, np.rint(x))
    found = where(low, found - x.dtype.type(np.pi) / np.tan(x.dtype.type(np.pi) * off), found)
    found = where(np.equal(off, 0) & low, x.dtype.type(np.nan), found)
    return where(np.equal(x, 0), np.copysign(x.dtype.type(np.inf), -x), found)


@_special("digamma", ns=20, calls=4)
def _digammas(_: _Functions, __: str) -> Compute:
    return _digamma


def _zeta(x: Operand, q: Operand) -> Any:
    found, dtype = special("zeta")(x, q), q.dtype
    if (
        np.isfinite(found).all()
        and np.isfinite(q).all()
        and np.isfinite(x).all()
        and np.greater(q, 0).all()
    ):
        return found
    nan, endless = dtype.type(np.nan), dtype.type(np.inf)
    even = np.equal(np.fmod(x, 2), 0)
    pole = np.less_equal(q, 0) & np.equal(q, np.floor(q))
    between = np.less_equal(q, 0) & ~pole & np.not_equal(x, np.floor(x))
    beyond = np.isinf(q) | (np.isinf(x) & np.less_equal(q, 1))
    return np.select(
        [np.equal(x, 1), pole & even, pole | between | beyond | np.less(x, 1)],
        [endless, endless, nan],
        found,
    )


@_special("zeta", ns=130, calls=5)
def _zetas(_: object, __: str) -> Compute:
    return _zeta


@_special("polygamma", ns=180, calls=16)
def _polygamma(scipy: Any, _: str) -> Compute:
    def compute(n: Operand, x: np.ndarray) -> Any:
        dtype = x.dtype
        after = n + dtype.type(1)
        size = np.exp(scipy.gammaln(after)) * _zeta(after, x)
        found = where(np.equal(np.fmod(n, 2), 0), -size, size)
        found = where(np.equal(n, 0), _digamma(x), found)
        return where(np.less(n, 0) | np.not_equal(n, np.floor(n)), dtype.type(np.nan), found)

    return compute


# SciPy takes 90 to 240 ns a number for the lower one, 200 to 2,500 for the upper one: longest for
# small ones
@_special("igamma", ns=200, calls=12)
@_special("igammac", ns=600, calls=12)
def _incomplete(scipy: Any, name: str) -> Compute:
    lower = name == "igamma"
    compute = scipy.gammainc if lower else scipy.gammaincc

    def found(a: Operand, x: Operand) -> Any:
        if all(
            count_nonzero(test(v, bound)) == v.size
            for test, bound in ((np.greater, 0), (np.less, np.inf))
            for v in (a, x)
        ):
            return compute(a, x)
        one, zero, nan = (a.dtype.type(v) for v in (1, 0, np.nan))
        wrong = (
            np.less(x, 0)
            | np.less(a, 0)
            | (np.equal(a, 0) & np.equal(x, 0))
            | np.isnan(a)
            | np.isnan(x)
        )
        endless = np.isinf(x) & ~np.isinf(a)  # SciPy's of infinite orders are right
        if lower:
            nothing = np.equal(a, 0) & np.less(x, 1)
            return np.select(
                [wrong, endless, np.equal(x, 0), nothing], [nan, one, zero, nan], compute(a, x)
            )
        return np.select([wrong, endless | np.equal(a, 0)], [nan, zero], compute(a, x))

    return found
