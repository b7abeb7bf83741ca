"""SciPy's special functions agree with XLA's: as far as XLA's are from the functions, and on what
is infinite or not a number."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from scipy import special

from jtorch._src.engine.host import Unstaged, stage

from .agreement import FLOATS, compare, edges, run

#: Units in the last place, of one where results are smaller: (float32, float64).
ONE = {
    "erf": (6, 6),
    "erfc": (8, 8),
    "erf_inv": (60, 60),
    "bessel_i0e": (8, 12),
    "bessel_i1e": (8, 8),
}
ONE |= {"lgamma": (120, 120), "digamma": (40, 60)}


def grid(dtype: Any, n: int = 500) -> list[np.ndarray]:
    """Pairs of special numbers, and of moderate positive ones."""
    few = np.array([0, -0.0, 0.5, 1, 2, 3, 10, -0.5, -1, -2, -2.5, np.inf, -np.inf, np.nan])
    r = np.random.default_rng(1)
    first, second = (a.ravel() for a in np.broadcast_arrays(few[:, None], few))
    # without those of test_limits
    known = ~((first == np.inf) & (second >= 1)) & ~((first == 0) & (second == 0))
    first, second = first[known], second[known]
    return [np.concatenate([v, np.exp(r.uniform(-3, 3, n))]).astype(dtype) for v in (first, second)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(dtype: Any) -> None:
    def fn(x: Any) -> Any:
        return [getattr(lax, name)(x) for name in ONE]

    x = edges(dtype, 200)
    # where digamma has limits that XLA has otherwise; the others are compared there below
    x = x[x != 0]
    bounds = [b[dtype == np.float64] if dtype in FLOATS[:2] else 2 for b in ONE.values()]
    compare(fn, x, ulp=bounds, least=1.0, names=list(ONE), flushed=True, pointwise=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros(dtype: Any) -> None:
    x = np.array([0.0, -0.0], dtype)
    compare(lambda x: [getattr(lax, name)(x) for name in ONE if name != "digamma"], x, ulp=4)


@pytest.mark.parametrize("dtype", FLOATS)
def test_limits(dtype: Any) -> None:
    """Where versions of XLA differ, and some give NaN, the limits stand."""
    zero, endless, x = (
        np.array([0.0, -0.0], dtype),
        np.full(5, np.inf, dtype),
        np.array([0.5, 1, 2, 1000, np.inf], dtype),
    )

    def fn(zero: Any, endless: Any, x: Any) -> Any:
        return (
            lax.digamma(zero),
            lax.polygamma(0 * zero, zero),
            lax.igamma(endless, x),
            lax.igammac(endless, x),
        )

    poles, lower, upper = [-np.inf, np.inf], [0.0] * 4 + [np.nan], [1.0] * 4 + [np.nan]
    for found, wanted in zip(run(fn, zero, endless, x), [poles, poles, lower, upper], strict=True):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype(np.float64), wanted)


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_tails(dtype: Any) -> None:
    """Small results are right to as many digits as XLA's."""
    x = np.concatenate([np.linspace(0, 9, 300), np.linspace(-30, 0, 30)]).astype(dtype)
    compare(
        lambda x: (lax.erfc(x), lax.erf(x), lax.bessel_i1e(x)), x, ulp=(100, 6, 20), flushed=True
    )


def test_erf_of_many() -> None:
    """Large arrays are computed without SciPy's branches, nearly as precisely."""
    few = np.array([0, -0.0, np.inf, -np.inf, np.nan, 4, -4, 5, 1e-45, 3e38], np.float32)
    powers = 10 ** np.linspace(-38, 1, 60_000, dtype=np.float32)
    x = np.concatenate([few, np.linspace(-6, 6, 60_000, dtype=np.float32), powers, -powers])
    wanted = special.erf(x.astype(np.float64))
    (found,) = run(lax.erf, x)
    single = wanted.astype(np.float32)
    assert found.dtype == np.float32 and not np.array_equal(found, special.erf(x), equal_nan=True)
    assert np.array_equal(found[: len(few)], single[: len(few)], equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(x))
    rest = slice(len(few), None)
    assert (np.abs(found - wanted) / np.spacing(np.abs(single)))[rest].max() <= 4
    (turned,) = run(lax.erf, x[rest].reshape(-1, 100).T)
    assert np.array_equal(turned, found[rest].reshape(-1, 100).T)
    half = x[(np.abs(x) < 1e4) & (np.abs(x) > 1e-4)].astype(np.float16)
    np.testing.assert_allclose(
        run(lax.erf, half)[0], special.erf(half.astype(np.float32)), rtol=2**-10, atol=2**-24
    )


@pytest.mark.parametrize("dtype", FLOATS[:2])
def test_functions_of_two(dtype: Any) -> None:
    def fn(a: Any, x: Any, order: Any) -> Any:
        return (
            lax.igamma(a, x),
            lax.igammac(a, x),
            lax.polygamma(order, x),
            lax.zeta(a, x),
            lax.zeta(a + dtype(1), abs(x)),
        )

    a, x = grid(dtype)
    order = np.where(np.arange(len(a)) < len(a) - 500, a, np.minimum(np.rint(a), 6))
    # Between the poles XLA's polygamma is a difference of large numbers.
    order = np.where((x < 0) & (x != np.floor(x)), -order * order - 0.5, order).astype(dtype)
    names = ["igamma", "igammac", "polygamma", "zeta", "zeta beyond 1"]
    compare(
        fn,
        a,
        x,
        order,
        ulp=[400, 400, 300, 30, 30],
        least=1.0,
        names=names,
        flushed=True,
        pointwise=True,
    )


def test_halves_of_two() -> None:
    a, x = grid(np.float16, 50)
    compare(
        lambda a, x: (lax.zeta(a, x), lax.igamma(a, x)),
        a,
        x,
        ulp=2,
        names=["zeta", "igamma"],
        flushed=True,
    )


@pytest.mark.parametrize("name", ["igamma_grad_a", "betainc"])
def test_what_scipy_lacks_is_left_to_the_compiler(name: str) -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(Unstaged):
        stage(jax.make_jaxpr(getattr(lax, name))(*[x] * (3 if name == "betainc" else 2)))
