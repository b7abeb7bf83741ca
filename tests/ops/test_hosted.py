"""Functions with a formulation of their own on the host: it agrees with XLA's, wherever it is used.
No call is recorded here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import values
from jtorch._src.engine.host import recipes
from jtorch._src.engine.host.rules import Equation, load
from jtorch._src.engine.host.staging import stage
from jtorch._src.facts.native import extension
from jtorch._src.ops import (
    _added,
    _arcs,
    _bags,
    _complex,
    _convolving,
    _hosted,
    _order,
    _remainder,
    _running,
    _sincos,
    bessel,
    bitwise,
    cumulative,
    exponential,
    extrema,
    gamma,
    grid_sampling,
    indexing,
    optim,
    padding,
    pointwise,
    reductions,
    rounding,
    searching,
    signs,
    special,
)

#: The function, units in the last place by which the two may differ, and where it is compared.
WIDE, UNIT, INSIDE, MIDDLE = (-1e6, 1e6), (-1.0, 1.0), (0.001, 0.999), (-8.0, 12.0)
CASES: dict[str, tuple[Callable[..., Any], float, tuple[float, float], int]] = {
    "sin": (_sincos.sin, 2, WIDE, 1),
    "cos": (_sincos.cos, 2, WIDE, 1),
    "tan": (_arcs.tan, 4, WIDE, 1),
    "arctan": (_arcs.atan, 4, WIDE, 1),
    "arcsin": (_arcs.asin, 3, UNIT, 1),
    "arccos": (_arcs.acos, 3, UNIT, 1),
    "arctan2": (_arcs.atan2, 4, WIDE, 2),
    "exp2": (exponential._exp2, 4, (-120.0, 120.0), 1),
    "hypot": (_complex.hypotenuse, 2, WIDE, 2),
    "mantissa": (exponential._mantissa, 0, WIDE, 1),
    "ldexp": (exponential._scaled, 3, (-50.0, 50.0), 2),
    "xlogy": (exponential._xlogy, 4, (0.001, 1e6), 2),
    "xlog1py": (exponential._xlog1py, 300, (-0.9, 1e6), 2),
    "entr": (special.entr, 3, (-1.0, 9.0), 1),
    "ndtri": (special.ndtri, 6, INSIDE, 1),
    "zeta": (special._hurwitz, 8, (1.05, 20.0), 2),
    "k0e": (bessel.scaled_modified_bessel_k0, 16, (0.01, 90.0), 1),
    "k1e": (bessel.scaled_modified_bessel_k1, 16, (0.01, 90.0), 1),
}
#: Where the formula loses what SciPy keeps: near zeros, and of large numbers.
ABSOLUTE: dict[str, tuple[Callable[..., Any], float, tuple[float, float]]] = {
    "erfcx": (special.erfcx, 2e-5, (-2.0, 50.0)),
    "log_ndtr": (special.log_ndtr, 2e-5, (-9.0, 9.0)),
    "j0": (bessel.bessel_j0, 1e-6, (-30.0, 30.0)),
    "j1": (bessel.bessel_j1, 1e-6, (-30.0, 30.0)),
    "digamma": (gamma._digamma, 4e-5, (0.1, 60.0)),
    "trigamma": (gamma._trigamma, 4e-5, (0.1, 60.0)),
    "airy_ai": (bessel._airy, 2e-5, (-15.0, 15.0)),
    "y0": (bessel.bessel_y0, 2e-6, (0.1, 30.0)),
    "y1": (bessel.bessel_y1, 2e-5, (0.1, 30.0)),
    "k0": (bessel.modified_bessel_k0, 2e-5, (0.01, 20.0)),
    "k1": (bessel.modified_bessel_k1, 2e-5, (0.1, 20.0)),
}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def both(f: Callable[..., Any], operands: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What XLA and the host give."""
    jaxpr = jax.make_jaxpr(f)(*operands)
    assert sum(e.primitive.name.startswith("jtorch.") for e in _equations(jaxpr.jaxpr)) == 1
    with np.errstate(all="ignore"):
        (on_host,) = stage(jaxpr)(*operands)
    return np.asarray(jax.jit(f)(*operands)), np.asarray(on_host)


def _equations(jaxpr: Any) -> list[Any]:
    found = []
    for e in jaxpr.eqns:
        inner = [x for x in e.params.values() if hasattr(x, "jaxpr")]
        found += [i for x in inner for i in _equations(x.jaxpr)] if inner else [e]
    return found


@DTYPES
@pytest.mark.parametrize("name", CASES)
def test_both_agree_in_units_of_the_last_place(name: str, dtype: Any) -> None:
    f, most, (low, high), n = CASES[name]
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [rng.uniform(low, high, 500), rng.uniform(max(low, -2), min(high, 2), 500)]
    ).astype(dtype)
    by_xla, on_host = both(f, [x, *[rng.permutation(x)] * (n - 1)])
    assert on_host.dtype == dtype
    size = np.spacing(np.maximum(np.abs(by_xla), np.finfo(dtype).tiny).astype(dtype))
    with np.errstate(all="ignore"):
        off = np.abs(by_xla.astype(np.longdouble) - on_host) / size
    assert np.where(by_xla == on_host, 0, off).max() <= most


@DTYPES
@pytest.mark.parametrize("name", ABSOLUTE)
def test_both_agree_where_the_formula_is_less_exact(name: str, dtype: Any) -> None:
    f, most, (low, high) = ABSOLUTE[name]
    x = np.random.default_rng(4).uniform(low, high, 1000).astype(dtype)
    by_xla, on_host = both(f, [x])
    assert on_host.dtype == dtype
    tolerance = most if dtype == np.float32 else 1e-11
    assert np.all(np.abs(by_xla - on_host) <= tolerance * np.maximum(1, np.abs(by_xla)))


@DTYPES
@pytest.mark.parametrize("name", [*CASES, *ABSOLUTE])
def test_both_agree_at_the_ends(name: str, dtype: Any) -> None:
    f, n = (CASES[name][0], CASES[name][3]) if name in CASES else (ABSOLUTE[name][0], 1)
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], dtype)
    by_xla, on_host = both(f, [x, *[x[::-1].copy()] * (n - 1)])
    assert np.allclose(by_xla, on_host, rtol=1e-6, equal_nan=True)
    zero = (by_xla == 0) & (on_host == 0)
    assert np.array_equal(np.signbit(by_xla[zero]), np.signbit(on_host[zero]))


def test_one_call_of_numpy_computes_them() -> None:
    if values.tier == "xla":
        pytest.skip("nothing runs on the host")
    program = stage(jax.make_jaxpr(_sincos.sin)(np.ones((2, 2), np.float32)))
    assert [step[0] for step in program.steps] == [np.sin]
    rule = load()["jtorch.sin"]
    aval = program.specs[0]
    assert rule.make(Equation("jtorch.sin", (aval,), (aval,), {}, stage)) is np.sin


@DTYPES
def test_powers_of_two(dtype: Any) -> None:
    most = 4 * (np.finfo(dtype).maxexp - 8)
    x = np.array([1.5, -3.25, 0.0, -0.0, 7.0, 1e-3, 2.0], dtype)
    whole = [
        np.array(n, dtype)
        for n in ([0, 3, -4, 100, -100, 60, 5], [most, most, -3, 2, 1, -most, 0], [7] * 7)
    ]
    broken = [
        np.array(n, dtype)
        for n in ([0.5, -1.25, 3, 4, 1e9, -1e9, 2], [np.inf, -np.inf, np.nan, 1, 2, 3, 4.5])
    ]
    for n in (*whole, *broken):
        by_xla, on_host = both(exponential._scaled, [x, n])
        assert on_host.dtype == dtype
        assert np.allclose(by_xla, on_host, rtol=4 * np.finfo(dtype).eps, atol=0, equal_nan=True)
        assert np.array_equal(np.signbit(by_xla), np.signbit(on_host))
    assert np.array_equal(
        *both(
            exponential._exponent, [np.array([0, -0.0, 1, -5, 1e20, 3e-30, np.inf, np.nan], dtype)]
        )
    )
    assert both(exponential._exponent, [x])[1].dtype == np.int32


@DTYPES
def test_trigamma_below_a_half(dtype: Any) -> None:
    x = np.array([-0.3, 0.2, 0.499, 0.5, 3.0, -2.6, -7.4], dtype)
    by_xla, on_host = both(gamma._trigamma, [x])
    assert np.allclose(by_xla, on_host, rtol=1e-5 if dtype == np.float32 else 1e-10)


# ---- whole numbers of elements, places and orders ------------------------------------------------

_TIES = np.array(
    [
        [2.0, -0.0, 0.0, 2.0, np.nan, -1.0],
        [np.inf, 1.0, -np.inf, 1.0, np.nan, np.nan],
        [0.0, 0.0, -0.0, 5.0, 5.0, -5.0],
    ]
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "int16"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("flag", [False, True])
def test_orders_and_places(dtype: str, axis: int, flag: bool) -> None:
    x = (_TIES if dtype[0] == "f" else np.nan_to_num(_TIES, nan=3, posinf=7, neginf=0) % 5).astype(
        dtype
    )
    by_xla, on_host = both(lambda a: _order._stable_order(a, axis=axis, descending=flag), [x])
    assert np.array_equal(by_xla, on_host)
    assert on_host.dtype == np.int64
    by_xla, on_host = both(lambda a: reductions._place(a, axis=axis, largest=flag), [x])
    assert np.array_equal(by_xla, on_host)
    assert (on_host.dtype, on_host.shape) == (np.int64, by_xla.shape)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint64", "uint8", "int32"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("descending", [False, True])
def test_orders_of_many(dtype: str, wide: bool, axis: int, descending: bool) -> None:
    rng = np.random.default_rng(3)
    if dtype[0] == "f":
        x = np.round(rng.standard_normal((70, 90)) * 5).astype(dtype) * np.dtype(dtype).type(
            0.1 if wide else 1
        )
        x[rng.random(x.shape) < 0.1] = np.nan
        x[0, :4] = np.inf, -np.inf, -0.0, -np.nan
        rank = np.where(np.isnan(x), np.inf, x), np.isnan(x)
    else:
        ends = np.iinfo(dtype)
        x = rng.integers(
            ends.min if wide else 3, ends.max if wide else 40, (70, 90), dtype, endpoint=True
        )
        x[3], x[0, :2] = x[4], (ends.min, ends.max) if wide else (3, 3)
        rank = (x,)
    if descending:
        rank = tuple([~r if r.dtype.kind in "bui" else -r for r in rank])
    place = np.broadcast_to(
        np.arange(x.shape[axis]).reshape([-1 if d == axis else 1 for d in range(2)]), x.shape
    )
    wanted = np.lexsort((place, *rank), axis=axis)
    by_xla, on_host = both(lambda a: _order._stable_order(a, axis=axis, descending=descending), [x])
    assert np.array_equal(by_xla, wanted)
    assert np.array_equal(on_host, wanted)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int16", "uint32", "float32", "float64"])
@pytest.mark.parametrize("flags", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((40, 200), 1), ((200, 40), 0), ((5, 9, 300), 1), ((2, 30, 4), 2), ((3001,), 0), ((9, 0), 1)],
)
def test_running_sums_and_products(
    dtype: str, flags: tuple[int, int], shape: tuple[int, ...], axis: int
) -> None:
    (product, reverse), rng = flags, np.random.default_rng(1)
    if dtype.startswith("float"):
        x = (rng.normal(1, 0.1, shape) if product else rng.normal(0, 9, shape)).astype(dtype)
        wide = np.flip(x, axis).astype(np.float64) if reverse else x.astype(np.float64)
    else:
        x = rng.integers(0, 100, shape, dtype)
        wide = np.flip(x, axis) if reverse else x
    wanted = (np.multiply if product else np.add).accumulate(wide, axis, wide.dtype).astype(dtype)
    wanted = np.flip(wanted, axis) if reverse else wanted
    on_host = _running._on_host(axis, product, reverse)(x)
    assert on_host.dtype == dtype
    if x.dtype not in _running._HOSTED:  # NumPy's sums of these are not accumulated in float64
        return
    assert np.array_equal(on_host, wanted)  # one after another, to the bit
    strided = np.swapaxes(np.ascontiguousarray(np.swapaxes(x, 0, -1)), 0, -1)
    assert np.array_equal(_running._on_host(axis, product, reverse)(strided), wanted)
    if not x.size:
        return
    by_xla, on_host = both(
        lambda a: _running._along(a, axis=axis, product=product, reverse=reverse), [x]
    )
    assert by_xla.dtype == dtype
    assert np.array_equal(on_host, wanted)
    if dtype == "float64":  # XLA adds up blocks
        np.testing.assert_allclose(by_xla, wanted, 1e-12, 1e-10)
    else:
        assert np.array_equal(by_xla, wanted)


def test_running_sums_begin_with_a_positive_zero_and_keep_what_is_not_finite() -> None:
    x = np.full((4, 2000), -0.0, np.float32)
    x[1, 5], x[2, 7], x[3, 9] = np.nan, np.inf, 3e38
    x[3, 10] = 3e38
    found = torch.tensor(x).cumsum(1).numpy()
    assert not np.signbit(found[0]).any()
    assert np.isnan(found[1, 5:]).all()
    assert not found[1, :5].any()
    assert np.isposinf(found[2, 7:]).all()
    assert found[3, 9] == np.float32(3e38)
    assert np.isposinf(found[3, 10:]).all()


@pytest.mark.skipif(extension() is None, reason="there is no extension in C")
def test_the_extension_refuses_what_it_has_no_loop_for() -> None:
    native, x = extension(), np.zeros((3, 4), np.float32)
    for wrong in (x.astype(np.float16), x.astype(">f4"), x.astype(bool), x.astype(np.uint8)):
        with pytest.raises(ValueError, match="no running sums"):
            native.running(wrong, 0, 0, 0)
    for axis in (-1, 2):
        with pytest.raises(ValueError, match="no running sums"):
            native.running(x, axis, 0, 0)
    places = np.zeros((3, 4), np.int64)
    fixed = x.copy()
    fixed.flags.writeable = False
    for into, at, numbers, axis in (
        (fixed, places, x, 0),
        (x.T, places.T, x.T, 0),
        (x, places[:2], x, 0),
        (x, np.zeros((3, 5), np.int64), np.zeros((3, 5), np.float32), 0),
        (x, places.astype(np.uint64), x, 0),
        (x, places.astype(np.int16), x, 0),
        (x, places, x.astype(np.float64), 0),
        (x, places, x, 2),
        (np.zeros((0, 4), np.float32), places, x, 0),
    ):
        with pytest.raises(ValueError, match="cannot be added"):
            native.add_along(into, at, numbers, axis)


@pytest.mark.parametrize(
    "pairs", [((1, 2),), ((3, 0), (0, 7)), ((4, 5), (1, 0), (2, 3)), ((0, 0), (2, 2))]
)
@pytest.mark.parametrize("reflect", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_mirrored_edges(pairs: tuple[tuple[int, int], ...], reflect: int, dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 100, (3, 9, 10, 11)).astype(dtype)
    wanted = np.pad(
        x, [*[(0, 0)] * (4 - len(pairs)), *pairs[::-1]], "reflect" if reflect else "edge"
    )
    for found in both(lambda a: padding._at_once(a, pairs=pairs, reflect=reflect), [x]):
        assert np.array_equal(found, wanted)
    if dtype == "float32":
        slopes = [
            jax.grad(lambda a, f=f: (f(a, pairs=pairs, reflect=reflect) ** 2).sum())(x)
            for f in (padding._at_once, padding._step_by_step)
        ]
        assert np.array_equal(*slopes)
        text = str(
            jax.make_jaxpr(
                jax.grad(lambda a: (padding._at_once(a, pairs=pairs, reflect=reflect)).sum())
            )(x)
        )
        assert "scatter" not in text  # which takes four times as long as adding up slices


@DTYPES
@pytest.mark.parametrize("f", [_remainder.rem, _remainder.modulo, pointwise._floored])
def test_quotients(f: Callable[..., Any], dtype: Any) -> None:
    rng = np.random.default_rng(5)
    special_ones = [0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 3.0, 1e30, -1e-30, np.inf, -np.inf, np.nan]
    a, b = np.array([(p, q) for p in special_ones for q in special_ones], dtype).T
    a = np.concatenate([a, rng.uniform(-20, 20, 300), np.arange(-9.0, 9.0)]).astype(dtype)
    b = np.concatenate([b, rng.uniform(-3, 3, 300), np.repeat(3.0, 18)]).astype(dtype)
    by_xla, on_host = both(f, [a, b])
    assert np.array_equal(by_xla, on_host, equal_nan=True)
    zero = by_xla == 0
    assert np.array_equal(np.signbit(by_xla[zero]), np.signbit(on_host[zero]))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("f", [_remainder.whole_modulo, _remainder.whole_quotient])
def test_quotients_of_integers(f: Callable[..., Any], dtype: str) -> None:
    limits = np.iinfo(dtype)
    ends = [
        limits.min,
        limits.min + 1,
        0,
        1,
        2,
        7,
        limits.max - 1,
        limits.max,
        *([-1, -2, -7] if limits.min else []),
    ]
    a, b = np.array([(p, q) for p in ends for q in ends if q], dtype).T
    by_xla, on_host = both(f, [a, b])
    assert on_host.dtype == dtype
    assert np.array_equal(by_xla, on_host)


@pytest.mark.parametrize(
    ("out", "size", "stride", "padding", "dilation", "kernel"),
    [
        ((3,), (5,), (1,), ((0, 0),), (1,), (3,)),
        ((3,), (4,), (2,), ((1, 1),), (1,), (2,)),
        ((2, 3), (5, 4), (2, 1), ((1, 0), (1, 2)), (1, 2), (3, 2)),
        ((2, 2), (1, 2), (1, 1), ((3, 3), (0, 0)), (3, 1), (3, 1)),  # some taps fall outside
        ((1, 2, 2), (3, 3, 5), (1, 2, 3), ((0, 0), (0, 0), (0, 1)), (1, 1, 1), (2, 2, 2)),
    ],
)
def test_shares_fall_into_their_places(
    out: Any, size: Any, stride: Any, padding: Any, dilation: Any, kernel: Any
) -> None:
    shares = (
        np.random.default_rng(0)
        .integers(-9, 9, (2, *out, int(np.prod(kernel)), 3))
        .astype(np.float32)
    )
    geo = (stride, padding, dilation, 1)
    f = functools.partial(_convolving._summed, size=size, kernel=kernel, geo=geo)
    by_xla, on_host = both(f, [shares])
    assert on_host.shape == (2, 3, *size)
    assert np.array_equal(by_xla, on_host)
    # with room for what falls outside, 32 on either side
    whole = np.zeros((2, 3, *[n + 64 for n in size]), np.float32)
    for place in np.ndindex(*out):
        for t, tap in enumerate(np.ndindex(*kernel)):
            at = [
                32 + o * s + k * d - lo
                for o, s, k, d, (lo, _) in zip(place, stride, tap, dilation, padding, strict=True)
            ]
            whole[(slice(None), slice(None), *at)] += shares[(slice(None), *place, t)]
    assert np.array_equal(on_host, whole[(..., *[slice(32, 32 + n) for n in size])])
    slope = jax.grad(lambda x: (f(x) ** 2).sum())(shares)
    assert np.array_equal(
        slope,
        jax.grad(
            lambda x: (_convolving._summed_formula(x, size=size, kernel=kernel, geo=geo) ** 2).sum()
        )(shares),
    )


@pytest.mark.parametrize("dtype", ["bool", "float32", "int16"])
@pytest.mark.parametrize("size", [0, 3, 40])
def test_first_places(dtype: str, size: int) -> None:
    x = np.random.default_rng(0).integers(0, 2, (3, 2, 4)).astype(dtype)
    f = functools.partial(indexing._first_places, size=size, fill_value=-5)
    by_xla, on_host = both(f, [x])
    assert on_host.dtype == np.int64
    assert np.array_equal(by_xla, on_host)
    count = min(size, int(x.astype(bool).sum()))
    assert on_host[:count].tolist() == np.argwhere(x)[:count].tolist()
    assert (on_host[count:] == -5).all()


def test_places_have_no_derivative() -> None:
    x = jnp.asarray([3.0, 1.0, 2.0])
    closed = jax.make_jaxpr(
        jax.grad(
            lambda a: (a[_order._stable_order(a, axis=0, descending=False)] * jnp.arange(3.0)).sum()
        )
    )(x)
    recipe = recipes.recipe_of(closed)
    again = recipes.unpacked(recipes.packed(recipe))  # as another process finds it
    assert stage(again)(np.asarray(x))[0].tolist() == [2.0, 0.0, 1.0]


@DTYPES
@pytest.mark.parametrize("f", [exponential._logaddexp, exponential._logaddexp2])
def test_logarithms_of_sums(f: Callable[..., Any], dtype: Any) -> None:
    rng = np.random.default_rng(5)
    by_xla, on_host = both(
        f, [rng.uniform(-20, 20, 500).astype(dtype), rng.uniform(-20, 20, 500).astype(dtype)]
    )
    # near zero they cancel
    np.testing.assert_allclose(
        on_host, by_xla, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps
    )


SPECIAL_NUMBERS = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    -2.0,
    3.0,
    1e30,
    300.0,
    -300.0,
    0.25,
]


@DTYPES
@pytest.mark.parametrize(
    "name",
    [
        "_trunc",
        "_copysign",
        "_fmax",
        "_fmin",
        "_exp2",
        "hypotenuse",
        "_logaddexp",
        "_logaddexp2",
        "_xlogy",
        "_xlog1py",
        "_digamma",
        "_airy",
    ],
)
def test_limits_are_those_of_the_formulas(name: str, dtype: Any) -> None:
    homes = {
        "_digamma": gamma,
        "_airy": bessel,
        "_trunc": rounding,
        "_copysign": signs,
        "hypotenuse": _complex,
    }
    home = {**homes, "_fmax": extrema, "_fmin": extrema}.get(name, exponential)
    x = np.array(SPECIAL_NUMBERS, dtype)
    if name in ("_exp2", "_digamma", "_airy", "_trunc"):
        operands = [x]
    else:
        operands = [np.repeat(x, x.size), np.tile(x, x.size)]
    by_xla, on_host = both(getattr(home, name), operands)
    if name == "_airy":  # far from zero the formula has no digit of the angle
        operands[0][np.abs(operands[0]) > 100] = 1
        by_xla, on_host = both(getattr(home, name), operands)
    np.testing.assert_allclose(
        on_host, by_xla, rtol=3e-5, atol=1e-7 if name == "_logaddexp2" else 1e-37
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
def test_divisors_and_multiples(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.array(
        [
            0,
            1,
            2,
            12,
            18,
            35,
            100,
            info.max,
            info.max - 1,
            *([-1, -12, info.min, info.min + 1] if info.min else []),
        ],
        dtype,
    )
    for f in (rounding._gcd, rounding._lcm):
        by_xla, on_host = both(f, [np.repeat(x, x.size), np.tile(x, x.size)])
        assert on_host.dtype == dtype
        np.testing.assert_array_equal(on_host, by_xla)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint16])
def test_shifts(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.array(
        [0, 1, 5, 100, info.max, info.max - 1, *([-1, -12, info.min] if info.min else [])], dtype
    )
    by = np.array(
        [
            0,
            1,
            3,
            7,
            8,
            15,
            16,
            31,
            63,
            64,
            100,
            info.max % 128,
            *([-1, -64, info.min] if info.min else []),
        ]
    ).astype(dtype)
    for f in (bitwise._shift_left, bitwise._shift_right):
        by_xla, on_host = both(f, [np.repeat(x, by.size), np.tile(by, x.size)])
        assert on_host.dtype == dtype
        np.testing.assert_array_equal(on_host, by_xla)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("right", [0, 1])
def test_places_in_sorted_rows(dtype: Any, right: int) -> None:
    rng = np.random.default_rng(2)
    rows, values = (
        np.sort(rng.integers(-5, 5, (3, 7)), -1).astype(dtype),
        rng.integers(-7, 7, (3, 11)).astype(dtype),
    )
    if dtype is not np.int64:
        rows[0, -2:], values[0, :3] = np.nan, [np.nan, np.inf, -np.inf]
        rows[1, 0], rows[1][rows[1] == 0], values[1, :2] = -np.inf, -0.0, [0.0, -0.0]
    for boundaries, x in ((rows, values), (rows[0], values), (rows[0], values[0])):
        by_xla, on_host = both(lambda a, b: searching._ranks(a, b, right=right), [boundaries, x])
        np.testing.assert_array_equal(on_host, by_xla)


@DTYPES
def test_running_sums_of_exponentials(dtype: Any) -> None:
    x = np.random.default_rng(1).uniform(-30, 30, (4, 9)).astype(dtype)
    x[0, 3], x[1, 4], x[2, :3], x[3, 5] = np.inf, np.nan, -np.inf, -np.inf
    for axis in (0, 1):
        by_xla, on_host = both(
            lambda a, axis=axis: cumulative._running_logsumexp(a, axis=axis), [x]
        )
        assert on_host.dtype == dtype
        np.testing.assert_allclose(on_host, by_xla, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8])
def test_places_of_ranks(dtype: Any) -> None:
    x = np.random.default_rng(4).integers(0, 5, (5, 6)).astype(dtype)
    if dtype in (np.float32, np.float64):
        x[0, 1] = x[1, 2] = x[1, 4] = np.nan
        x[2] = np.nan
        x[3, :3] = [-0.0, 0.0, -np.inf]
    for axis in (0, 1):
        for rank in (0, 2, x.shape[axis] - 1, _order.MEDIAN, _order.MEDIAN_OF_NUMBERS):
            by_xla, on_host = both(
                lambda a, axis=axis, rank=rank: _order._selected_place(a, axis=axis, rank=rank), [x]
            )
            assert on_host.dtype == np.int64
            np.testing.assert_array_equal(on_host, by_xla)


# ---- sampling at the places of a grid ------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "ranks"),
    [(grid_sampling.BILINEAR, 2), (grid_sampling.BILINEAR, 3), (grid_sampling.NEAREST, 3)],
)
@pytest.mark.parametrize(
    "padding", [grid_sampling.ZEROS, grid_sampling.BORDER, grid_sampling.REFLECTION]
)
@pytest.mark.parametrize("corners", [0, 1])
def test_sampling_at_a_grid(mode: int, ranks: int, padding: int, corners: int) -> None:
    _compare_sampling(mode, ranks, padding, corners)


@pytest.mark.parametrize(
    "padding", [grid_sampling.ZEROS, grid_sampling.BORDER, grid_sampling.REFLECTION]
)
def test_sampling_with_cubics(padding: int) -> None:
    _compare_sampling(grid_sampling.BICUBIC, 2, padding, padding % 2)


def _compare_sampling(mode: int, ranks: int, padding: int, corners: int) -> None:
    rng = np.random.default_rng(7)
    dtype = np.dtype(np.float64 if corners else np.float32)
    # of one element; more than are taken at once
    for size, count in (((3, 4, 2), 9), ((1, 5, 1), 3), ((3, 4, 2), 9000)):
        if count == 9000 and (padding or mode == grid_sampling.NEAREST):
            continue
        x = rng.standard_normal((2, 3, *size[:ranks])).astype(dtype)
        grid = (rng.standard_normal((2, count, ranks)) * 1.2).astype(dtype)
        # a reflection of infinity is NaN
        grid[0, :3] = np.array([np.nan, np.inf, -np.inf]).reshape(3, 1)
        grid[1, :3] = np.array([-1, 1, 0]).reshape(3, 1)
        sample = functools.partial(
            grid_sampling._sampled, mode=mode, padding=padding, align_corners=corners
        )
        by_xla, on_host = both(sample, [x, grid])
        assert (on_host.dtype, on_host.shape) == (dtype, (2, 3, count))
        most = 2e-5 if dtype == np.float32 else 1e-12
        assert np.allclose(on_host, by_xla, rtol=most, atol=most, equal_nan=True)


@DTYPES
def test_zeta_of_large_numbers_and_of_infinity(dtype: Any) -> None:
    x, q = (
        np.array([np.inf, np.inf, 2.0, 0.5, 1.0, np.nan, 3.0], dtype),
        np.array([1e9, np.inf, np.inf, np.inf, np.inf, 3.0, 1e9], dtype),
    )
    by_xla, on_host = both(special._hurwitz, [x, q])
    np.testing.assert_allclose(on_host, by_xla, rtol=1e-6)


def _same(f: Callable[..., Any], x: np.ndarray) -> None:
    by_xla, on_host = both(f, [x])
    assert by_xla.dtype == on_host.dtype
    np.testing.assert_array_equal(on_host, by_xla)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.float32])
@pytest.mark.parametrize("descending", [False, True])
def test_the_first_of_many_are_those_of_their_stable_order(dtype: type, descending: bool) -> None:
    draw = np.random.default_rng(0)
    tied, apart = (
        draw.integers(0, 9, (7, 5, 90)).astype(dtype),
        draw.permutation(7 * 5 * 90).reshape(7, 5, 90).astype(dtype),
    )
    apart[:, 1] = 3  # all equal
    if np.dtype(dtype).kind == "f":
        tied[2, :, ::40], tied[3, :, ::3], tied[4, :, 5:9] = np.nan, -np.inf, -0.0
    for x in (tied, apart):
        for axis, k in ((2, 11), (2, 1), (0, 0)):
            if k:
                _same(
                    lambda x, axis=axis, k=k: _order._leading(
                        x, k=k, axis=axis, descending=descending
                    ),
                    x,
                )
        _same(
            lambda x: _order._leading(x, k=4, axis=1, descending=descending),
            np.moveaxis(x, 1, 2).copy(),
        )


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("rank", [17, _order.MEDIAN, _order.MEDIAN_OF_NUMBERS])
def test_elements_of_sixty_four_bits_are_found_as_in_compiled_code(dtype: type, rank: int) -> None:
    draw = np.random.default_rng(0)
    for sizes, axis in (((60, 90), 1), ((60, 90), 0), ((7000,), 0), ((4, 20), 1)):
        x = draw.integers(-40, 40, sizes).astype(dtype)
        _same(lambda x, axis=axis: _order._selected_place_of_wide(x, axis=axis, rank=rank), x)
        if dtype is np.float64:
            x.reshape(-1)[::7] = np.nan
            _same(lambda x, axis=axis: _order._selected_place_of_wide(x, axis=axis, rank=rank), x)


_F, _I = np.float32, np.int64
#: Functions that are not elementwise, with operands.
DESCRIBED: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "added_along": (
        functools.partial(_added.added_along, axis=1),
        [np.zeros((3, 5), _F), np.zeros((3, 2), _I), np.zeros((3, 2), _F)],
    ),
    "sums of bags": (_bags._sums, [np.zeros((9, 4), _F), np.zeros((3, 2), _I)]),
    "sums of many": (_bags._sums_of_many, [np.zeros((9, 40)), np.zeros((3, 2), _I)]),
    "order": (
        functools.partial(_order._stable_order, axis=0, descending=False),
        [np.zeros((3, 5), _F)],
    ),
    "leading": (
        functools.partial(_order._leading, k=2, axis=1, descending=True),
        [np.zeros((3, 5), _F)],
    ),
    "place of a rank": (
        functools.partial(_order._selected_place, axis=1, rank=2),
        [np.zeros((3, 5), _F)],
    ),
    "wide": (functools.partial(_order._selected_place_of_wide, axis=0, rank=2), [np.zeros((3, 5))]),
    "logcumsumexp": (
        functools.partial(cumulative._running_logsumexp, axis=1),
        [np.zeros((3, 5), _F)],
    ),
    "grid": (
        functools.partial(grid_sampling._sampled, mode=0, padding=0, align_corners=0),
        [np.zeros((2, 3, 4, 5), _F), np.zeros((2, 6, 7, 2), _F)],
    ),
    "first places": (
        functools.partial(indexing._first_places, size=7, fill_value=-1),
        [np.zeros((3, 5), _F)],
    ),
    "padding": (
        functools.partial(padding._at_once, pairs=((1, 2), (0, 3)), reflect=1),
        [np.zeros((2, 5, 6), _F)],
    ),
    "place": (functools.partial(reductions._place, axis=1, largest=True), [np.zeros((3, 5), _F)]),
    "ranks": (
        functools.partial(searching._ranks, right=1),
        [np.zeros(4, _F), np.zeros((3, 5), _F)],
    ),
    "norms": (
        functools.partial(optim._norms_of_small, ord=2.0),
        [np.zeros((3, 5), _F), np.zeros(4, _F)],
    ),
    "shares": (
        functools.partial(
            _convolving._summed,
            size=(6, 6),
            kernel=(2, 2),
            geo=((1, 1), ((0, 0), (0, 0)), (1, 1), 1),
        ),
        [np.zeros((2, 5, 5, 4, 3), _F)],
    ),
    "exponent": (exponential._exponent, [np.zeros((3, 5), _F)]),
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_results_are_described_without_tracing_the_formula(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, operands = DESCRIBED[name]
    eval_shape = jax.eval_shape
    monkeypatch.setattr(jax, "eval_shape", None)
    (equation,) = _equations(jax.make_jaxpr(f)(*operands).jaxpr)
    wanted = eval_shape(
        functools.partial(_hosted.FORMULAS[equation.primitive.name], **equation.params), *operands
    )
    (found,) = equation.outvars
    assert (found.aval.shape, found.aval.dtype) == (wanted.shape, wanted.dtype)
