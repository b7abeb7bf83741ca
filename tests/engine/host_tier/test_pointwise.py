"""NumPy's element by element functions agree with XLA's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import Equation
from jtorch._src.engine.host.direct import where
from jtorch._src.engine.host.rules import Reordered, load

from .agreement import FLOATS, compare, edges, equal, run

COMPLEX = (np.complex64, np.complex128)
EXACT = "neg sign floor ceil round abs square sqrt is_finite".split()
#: Within 4 units in the last place: 2 of NumPy's and 2 of XLA's.
CLOSE = (
    "exp log log1p expm1 sin cos tan asin acos atan asinh acosh atanh sinh cosh tanh rsqrt cbrt "
    "logistic exp2"
).split()
#: Where XLA itself is further from the function than that, by so many units: (float32, float64).
FURTHER = {
    "exp2": (200, 1500),  # exp of a rounded product
    "log1p": (4, 300),
    "atanh": (4, 300),
    "sinh": (60, 1000),  # exp of a rounded sum
    "cosh": (60, 1000),
    "tanh": (6, 12),
}


def pairs(dtype: Any, n: int = 15) -> list[np.ndarray]:
    """Every pair of the numbers on which functions are likely to differ."""
    x = edges(dtype, n)
    return [a.ravel() for a in np.broadcast_arrays(x[:, None], x)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(dtype: Any) -> None:
    names, powers = [*EXACT, "round to even", *CLOSE], (-5, -2, -1, 0, 1, 2, 3, 4, 7)
    x = edges(dtype, 300)
    # Without squares too small to be normal: their reciprocals are infinite in XLA.
    moderate = x[((np.abs(x) > 1e-2) & (np.abs(x) < 1e2)) | ~np.isfinite(x) | (x == 0)]

    def fn(x: Any, moderate: Any) -> Any:
        to_even = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
        exact, close = ([getattr(lax, name)(x) for name in some] for some in (EXACT, CLOSE))
        return exact, to_even, close, [lax.integer_pow(moderate, n) for n in powers]

    close = [
        FURTHER.get(name, (4, 4))[dtype == np.float64] if dtype in FLOATS[:2] else 2
        for name in CLOSE
    ]
    bounds = [0] * (len(EXACT) + 1) + close + [0] * len(powers)
    compare(
        fn,
        x,
        np.resize(moderate, x.shape),
        ulp=bounds,
        names=[*names, *powers],
        flushed=True,
        pointwise=True,
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two(dtype: Any) -> None:
    names = "add sub mul div rem nextafter eq ne lt le gt ge".split()

    def fn(x: Any, y: Any) -> Any:
        total = [p.bind(x, y) for p in (lax.eq_to_p, lax.lt_to_p, lax.le_to_p)]
        of_int = lax.pow(x, lax.round(y).astype(np.int32))
        return (
            [getattr(lax, name)(x, y) for name in names],
            total,
            lax.pow(x, y),
            lax.atan2(x, y),
            of_int,
        )

    every = [*names, "eq_to", "lt_to", "le_to", "pow", "atan2", "pow of int"]
    compare(fn, *pairs(dtype), ulp=[0] * 15 + [2, 2, 2], names=every, flushed=True, pointwise=True)


@pytest.mark.parametrize("dtype", [*FLOATS, np.bool_])
def test_extremes(dtype: Any) -> None:
    """Which zero the extreme of 0.0 and -0.0 is, is not said: XLA orders them, NumPy (and PyTorch)
    take either."""
    x = edges(dtype)
    x = x[~((x == 0) & np.signbit(x))] if dtype in FLOATS else x
    few = x[:: max(len(x) // 12, 1)]
    low, middle, high = (
        a.ravel() for a in np.broadcast_arrays(few[:, None, None], few[:, None], few)
    )

    def fn(low: Any, middle: Any, high: Any) -> Any:
        return lax.max(low, high), lax.min(high, middle), lax.clamp(low, middle, high)

    compare(fn, low, middle, high, pointwise=True)
    compare(lax.clamp, few[1], x, few[-2])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_integers(dtype: Any) -> None:
    ones = "neg sign square bitwise_not population_count clz".split() + ["abs"] * (
        np.dtype(dtype).kind == "i"
    )
    twos = "add sub mul div rem eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor".split()
    twos += "shift_left shift_right_logical shift_right_arithmetic".split()

    def fn(x: Any, y: Any) -> Any:
        powers = [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 7)]
        total = [p.bind(x, y) for p in (lax.eq_to_p, lax.lt_to_p, lax.le_to_p)]
        extremes = lax.max(x, y), lax.min(x, y), lax.clamp(x, y, y), lax.clamp(y, x, x)
        high = [lax.mulhi(x, y)] if x.dtype.itemsize < 8 else []
        return (
            [getattr(lax, n)(x) for n in ones],
            [getattr(lax, n)(x, y) for n in twos],
            powers,
            total,
            extremes,
            high,
        )

    others = [*["integer_pow"] * 5, *["total order"] * 3, *["extremes"] * 4, "mulhi"]
    compare(fn, *pairs(dtype), names=[*ones, *twos, *others], pointwise=True)


def test_bools() -> None:
    names = "bitwise_and bitwise_or bitwise_xor eq ne lt le gt ge max min".split()

    def fn(x: Any, y: Any) -> Any:
        return [getattr(lax, n)(x, y) for n in names], lax.bitwise_not(x)

    compare(fn, *pairs(np.bool_), pointwise=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_, np.complex64, FLOATS[3]])
def test_selection(dtype: Any) -> None:
    x = edges(dtype)
    cases = [x, x[::-1].copy(), np.roll(x, 3), np.roll(x, 5)]
    which = (np.arange(len(x)) % 7 - 2).astype(np.int32)  # also beyond the cases

    def fn(which: Any, mask: Any, one: Any, at: Any, *cases: Any) -> Any:
        return (
            lax.select_n(mask, *cases[:2]),
            lax.select_n(which, *cases),
            lax.select_n(which, *cases[:2]),
            lax.select_n(which, *cases[:1]),
            lax.select_n(one, *cases[:2]),
            lax.select_n(at, *cases),
            lax.select_n(one, cases[0][0], cases[1][0]),
            lax.select_n(at, *[c[1] for c in cases]),
        )

    for one, at in ((False, 2), (True, -1), (True, 9)):
        compare(fn, which, which > 0, np.bool_(one), np.int32(at), *cases)


@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float64, FLOATS[2], FLOATS[3], np.int16, np.bool_, np.complex64, np.complex128],
)
def test_selection_of_many(dtype: Any) -> None:
    """By bits, so that NaN, zeros and what else compares equal or not come out as they went in."""
    n = 100_000
    words = np.random.default_rng(0).integers(
        0, 256, (3, n * np.dtype(dtype).itemsize), dtype=np.uint8
    )
    mask, (x, y) = (
        words[0, :n] > 127,
        (words[1:] & 1 if dtype == np.bool_ else words[1:]).view(dtype),
    )
    shape = (n // 4, 4)
    aval = jax.core.ShapedArray(shape, np.dtype(dtype))
    made = load()["select_n"].make(
        Equation(
            "select_n", (aval.update(dtype=np.dtype(bool)), aval, aval), (aval,), {}, lambda _: None
        )
    )
    assert isinstance(made, Reordered) and made.order == (0, 2, 1)
    assert (made.compute is where) == (dtype == np.complex128)  # no integers have its size
    mask, x, y = mask.reshape(shape), x.reshape(shape), y.reshape(shape)
    for at, yes, no in (
        (mask, x, y),
        (mask, x, y[3, 1]),
        (mask, x[:1, :1], y),
        (mask, x[2, 3], y[3, 1]),
        (mask, np.asfortranarray(x), y),
        (np.asfortranarray(mask), x, y),
        (mask, x, y[:1]),
        (mask[:, :1], x, y),
    ):
        found, wanted = made.compute(at, yes, no), np.where(at, yes, no)
        assert (
            found.dtype == wanted.dtype
            and found.shape == wanted.shape
            and found.tobytes() == wanted.tobytes()
        )


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers(dtype: Any) -> None:
    part = np.float32 if dtype == np.complex64 else np.float64

    def fn(x: Any, y: Any, a: Any, b: Any, known: Any) -> Any:
        exact = (
            x + y,
            x - y,
            -x,
            x == y,
            x != y,
            lax.real(x),
            lax.imag(x),
            lax.conj(x),
            lax.complex(a, b),
            lax.conj(a),
        )
        powers = [lax.integer_pow(x, n) for n in (0, 1, 2, 3, 5, -1, -2)]
        return (
            exact,
            x * y,
            x / y,
            powers,
            abs(known),
            [getattr(lax, name)(x) for name in "sign square exp log sqrt".split()],
        )

    x, y = pairs(dtype, 12)
    a, b = (np.resize(v, x.shape) for v in pairs(part, 0))
    # The modulus of infinity and NaN is infinite; some versions of XLA have NaN.
    lost = (np.isinf(x.real) & np.isnan(x.imag)) | (np.isnan(x.real) & np.isinf(x.imag))
    assert lost.any()
    for modulus in run(jnp.abs, x[lost]):
        np.testing.assert_array_equal(modulus, np.full(lost.sum(), np.inf, part), strict=True)
    # XLA's log is the further from the logarithm the nearer the modulus is to one.
    compare(
        fn,
        x,
        y,
        a,
        b,
        np.where(lost, 1, x).astype(dtype),
        ulp=[0] * 10 + [4, 4] + [12] * 7 + [4, 4, 4, 4, 300, 4],
        pointwise=True,
    )


NUMBERS = "add sub mul div eq ne".split()
REALS = [*NUMBERS, *"rem max min lt le gt ge clamp".split()]
BITS = "bitwise_and bitwise_or bitwise_xor".split()
SHIFTS = "shift_left shift_right_logical shift_right_arithmetic".split()


@pytest.mark.parametrize(
    ("dtype", "names"),
    [
        (
            np.float32,
            [
                *REALS,
                "pow",
                "atan2",
                "nextafter",
                "complex",
                "igamma",
                "igammac",
                "zeta",
                "polygamma",
            ],
        ),
        (FLOATS[3], [*REALS, "pow", "atan2", "nextafter", "zeta"]),
        (np.int16, [*REALS, *BITS, *SHIFTS, "mulhi"]),
        (np.uint8, [*REALS, *BITS, *SHIFTS]),
        (np.complex64, NUMBERS),
        (np.bool_, [*BITS, "max", "eq"]),
    ],
)
def test_broadcasts_may_be_left_to_the_rules(dtype: Any, names: list[str]) -> None:
    """As long as another operand is whole, an operand may be what a broadcast gets instead of what
    it makes."""
    whole = np.resize(edges(dtype), (3, 4))
    smaller = whole[1], whole[:, :1], whole[2, 3]
    functions = [(name, getattr(lax, name), 3 if name == "clamp" else 2) for name in names]
    functions += [
        ("select", lambda x, y: lax.select_n(np.arange(12).reshape(3, 4) > 5, x, y), 2),
        ("select by one", lambda x, y: lax.select_n(np.bool_(True), x, y), 2),
        (
            "select of three",
            lambda x, y, z: lax.select_n(np.arange(12, dtype=np.int32).reshape(3, 4) - 3, x, y, z),
            3,
        ),
    ]
    for name, fn, n in functions:
        closed = jax.make_jaxpr(fn)(*[whole] * n)
        eqn = closed.jaxpr.eqns[-1]
        rule = load()[eqn.primitive.name]
        assert rule.broadcasts
        compute = rule.make(
            Equation(
                eqn.primitive.name,
                _avals(eqn.invars),
                _avals(eqn.outvars),
                eqn.params,
                lambda _: None,
            )
        )
        assert compute is not None, name
        if type(compute) is Reordered:
            compute = _as_given(*compute)
        which = [np.asarray(getattr(v, "val", v)) for v in (*closed.consts, eqn.invars[0])][
            : len(eqn.invars) - n
        ]
        for small in smaller:
            for at in range(n):
                given = [*which, *[small if i == at else whole[::-1] for i in range(n)]]
                with np.errstate(all="ignore"):
                    found = compute(*given)
                    wanted = compute(
                        *which, *[np.broadcast_to(v, whole.shape) for v in given[len(which) :]]
                    )
                equal(np.asarray(found), np.asarray(wanted), name=name)


def _avals(variables: Any) -> tuple[Any, ...]:
    return tuple([v.aval for v in variables])


def _as_given(compute: Any, order: tuple[int, ...]) -> Any:
    return lambda *operands: compute(*[operands[k] for k in order])


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "asin", "atan2"])
def test_a_few_numbers_are_rounded_once(name: str) -> None:
    """Programs compare such with seven digits; NumPy's own functions of single precision are up to
    three units off."""
    x = np.random.default_rng(0).uniform(0.01, 0.99, (256,)).astype(np.float32)
    operands = (x, x[::-1].copy()) if name == "atan2" else (x,)
    function = getattr(np, {"asin": "arcsin", "atan2": "arctan2"}.get(name, name))
    wanted = function(*(a.astype(np.float64) for a in operands)).astype(np.float32)
    np.testing.assert_array_equal(run(getattr(lax, name), *operands)[0], wanted)
    with np.errstate(all="ignore"):
        assert np.isposinf(run(lax.exp, np.full(1, 100, np.float32))[0]).all()
