"""Steps that are one call of inner loops give the bits that calls of NumPy's give, and reach no
memory but their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax import lax

from jtorch._src.engine.host.staging import Program, stage
from jtorch._src.engine.host.straight import Straight

pytestmark = pytest.mark.skipif(Straight is None, reason="the extension was not built: no compiler")
F4, F8, I4, I8 = (np.dtype(t) for t in ("f4", "f8", "i4", "i8"))


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Numbers of all signs and sizes, with zeros, infinities and NaN among those of floats."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -90, 90, shape).astype(dtype)
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    if dtype.kind == "c":
        return np.asarray(x + 1j * rng.standard_normal(shape), dtype)
    x = np.asarray(x)
    flat = x.reshape(-1)
    for value, k in zip((0.0, -0.0, np.inf, np.nan), rng.integers(0, flat.size, 4), strict=True):
        if flat.size > 8:
            flat[k] = value
    return x.astype(dtype)


def both(fn: Callable[..., Any], *operands: np.ndarray) -> tuple[list[Any], list[Any], Program]:
    """What a function gives by calls of NumPy's, and by as few steps as can be; and the program of
    the latter."""
    program = stage(jax.make_jaxpr(fn)(*operands))
    with np.errstate(all="ignore"):
        called = [np.array(x) for x in program(*operands)]
        program = program.straightened()
        joined = program._walk(*operands)
    return called, joined, program


def check(fn: Callable[..., Any], *operands: np.ndarray, steps: int | None = None) -> None:
    """Compares bits; all is one step, or so many."""
    called, joined, program = both(fn, *operands)
    assert any(type(compute) is Straight for compute, *_ in program.steps), program.steps
    assert steps is None or len(program.steps) == steps, program.steps
    for a, b in zip(called, joined, strict=True):
        assert type(b) is np.ndarray or b.ndim == 0
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.isnan(a).tobytes() == np.isnan(b).tobytes()
        assert np.where(np.isnan(a), 0, a).tobytes() == np.where(np.isnan(b), 0, b).tobytes()


def softmax(x: Any) -> Any:
    shifted = jnp.exp(x - jnp.max(x, -1, keepdims=True))
    return shifted / jnp.sum(shifted, -1, keepdims=True)


def layer_norm(x: Any, weight: Any) -> Any:
    mean = jnp.mean(x, -1, keepdims=True)
    return (
        (x - mean)
        * lax.rsqrt(jnp.mean(jnp.square(x - mean), -1, keepdims=True) + 1e-5)
        * jnp.broadcast_to(weight, x.shape)
    )


@pytest.mark.parametrize("shape", [(4, 4), (1, 4), (3, 1), (2, 3, 5), (9, 33), (1,)])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_formulas(shape: tuple[int, ...], dtype: Any) -> None:
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    check(softmax, x)
    check(layer_norm, x, numbers(shape[-1:], dtype, 2))
    check(
        lambda x, y: (x + y, x * y - 2, jnp.where(x > y, x, jnp.tanh(y)), jnp.sqrt(jnp.abs(x))),
        x,
        y,
        steps=1,
    )
    check(lambda x, y: jnp.transpose(x) * 2 + jnp.transpose(y), x, y, steps=1)
    check(lambda x, y: (x + y).reshape(-1) / 3, x, y, steps=1)


@pytest.mark.parametrize("dtype", "b1 i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 c8 c16".split())
def test_dtypes(dtype: str) -> None:
    x, y = numbers((3, 5), dtype), numbers((3, 5), dtype, 1)
    check(lambda x, y: (x == y, jnp.where(x == y, x, y)), x, y, steps=1)
    if dtype != "b1":
        check(lambda x, y: lax.mul(lax.add(x, y), y), x, y, steps=1)
        check(lambda x, y: lax.reduce_sum_p.bind(lax.add(x, y), axes=(1,), out_sharding=None), x, y)
    if dtype[0] in "iuf":
        check(lambda x, y: (lax.max(lax.min(x, y), y), x < y), x, y, steps=1)
    for other in "b1 i1 u4 i8 f4 f8".split():
        if np.dtype(dtype).kind in "biu" or (dtype[0] == other[0] == "f" and dtype != other):
            check(
                lambda x, y, other=other: lax.convert_element_type(
                    lax.select(x == y, x, y), np.dtype(other)
                ),
                x,
                y,
            )


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(4, 3, 5), (1, 40, 9), (7, 1, 130)])
def test_reductions(axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
    for dtype in (F4, F8, I8):
        x = numbers(shape, dtype)
        x = np.where(np.isfinite(x), x, 1).astype(dtype)  # sums that are not NaN
        for reduced in (jnp.sum, jnp.prod, jnp.max, jnp.min):
            check(lambda x, reduced=reduced: reduced(x * 2 + 1, axes, keepdims=True) * 3, x)


def test_arrays_are_moved() -> None:
    x, y = numbers((3, 4), F4), numbers((3, 4), F4, 1)
    check(lambda x, y: jnp.concatenate([x, y * 2, x[:1]]), x, y, steps=1)
    check(lambda x, y: jnp.stack([x, y + 1], 1), x, y, steps=1)
    check(
        lambda x, y: jnp.pad(x, ((1, 2), (0, 3))) + jnp.pad(y, ((2, 1), (3, 0)), constant_values=2),
        x,
        y,
        steps=1,
    )
    check(lambda x: lax.pad(x + 1, np.float32(5), ((-1, 2, 1), (1, -1, 0))), x, steps=1)
    check(lambda x: x[1:, ::2] - x[:2, 1::2], x, steps=1)
    check(lambda x: lax.rev(x, (0,)) + x, x, steps=1)
    check(lambda x: jnp.sum(jnp.broadcast_to((x + 1)[:, None], (3, 3, 4)), 0) * 2, x)
    check(lambda x: (jnp.broadcast_to(x[0][:, None], (4, 3)) * 2).reshape(-1), x, steps=1)


def test_elements_are_looked_up() -> None:
    x, rows = numbers((5, 6), F4), np.array([[3, 0], [4, 4], [1, -1]])
    beyond = np.array([[0, 7], [-2, 5], [4, -9]])
    for i in (rows, rows.astype(np.int32), beyond):
        for mode in ("clip", "fill"):
            check(lambda x, i, mode=mode: jnp.take(x, i, 0, mode=mode) + 1, x, i)
            check(lambda x, i, mode=mode: jnp.take(x, i, 1, mode=mode) + 1, x, i)
            check(lambda x, i, mode=mode: x.at[i[:, 0], i[:, 1]].get(mode=mode) + 1, x, i)
            check(lambda x, i, mode=mode: jnp.take_along_axis(x[:3], i, 1, mode=mode) + 1, x, i)
            check(lambda x, i, mode=mode: x.at[i[:, 0]].get(mode=mode, fill_value=9) * 2, x, i)
    check(lambda x, i: lax.dynamic_slice(x, (i[0, 0], i[1, 1]), (2, 3)) + 1, x, rows)
    for dtype in "b1 i1 i2 f8 c16".split():
        y = numbers((5, 6), dtype)
        check(
            lambda y, i: (y.at[i[:, 0], i[:, 1]].get(mode="fill"), y[i[:, 0]] == y[0, 0]), y, beyond
        )
    places = (0, 0, (0, 0)), (1, 0, (24, 8)), (2, 0, (12, 4))
    given, made = ((F4, (5,)), (I8, (2, 3))), ((F4, (2, 3)),)

    def look_up(*what: Any) -> Any:
        return Straight(given, made, (), 0, ((what, 0, (2, 3), places),))

    found = look_up(4, 8, ((4, 4),), True, None)(
        np.arange(5, dtype=F4), np.array([[0, 4, -1], [9, -9, 2]])
    )
    assert found.tolist() == [[0, 4, 4], [4, 0, 2]]
    for bad in (
        (4, 8, ((4, 5),), True, None), (4, 8, ((-4, 4),), True, None),
        (4, 8, ((4, -1),), True, None), (3, 8, ((4, 4),), True, None),
        (4, 2, ((4, 4),), True, None), (4, 4, ((4, 4),) * 5, True, None), (4, 8, (), True, None),
        (4, 8, ((4, 4),), True, b"abc"), (4, 8, ((4, 4),), True), (8, 8, ((4, 4),), True, None),
        (4, 8, (4,), True, None), (4, 8, ((4, 4), (4, 4)), True, None),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            look_up(*bad)


def test_products() -> None:
    for dtype in (F4, F8, np.dtype("c8")):
        a, b, v = numbers((3, 4), dtype), numbers((4, 5), dtype, 1), numbers((4,), dtype, 2)
        a, b, v = [np.where(np.isfinite(x), x, 1).astype(dtype) for x in (a, b, v)]
        check(lambda a, b: (a + 1) @ b - 1, a, b, steps=1)
        check(
            lambda a, b: lax.dot_general(a, b, (((1,), (1,)), ((), ()))) + 1, a, b.T.copy(), steps=1
        )
        check(
            lambda a, b: lax.dot_general(a, b, (((0,), (0,)), ((), ()))) + 1, a.T.copy(), b, steps=1
        )
        check(
            lambda a, b: lax.dot_general(a, b, (((0,), (1,)), ((), ()))) + 1,
            a.T.copy(),
            b.T.copy(),
            steps=1,
        )
        check(lambda a, v: a @ v + 1, a, v, steps=1)
        check(lambda v, b: v @ b + 1, v, b, steps=1)
        check(lambda v, w: v @ w + 1, v, v)
        check(lambda a: a @ a.T + 1, a, steps=1)
        check(
            lambda a, b: jnp.matmul(a, b) + 1, np.stack([a, a + 1]), np.stack([b, b - 1]), steps=1
        )


def test_floats_become_integers() -> None:
    for dtype in (F4, F8):
        ends = [2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64)]
        x = np.array(
            [
                0.0,
                -0.0,
                0.9,
                -0.9,
                1.5,
                -1.5,
                np.inf,
                -np.inf,
                np.nan,
                1e30,
                -1e30,
                *ends,
                *np.negative(ends),
            ],
            dtype,
        )
        x = np.concatenate([x, np.nextafter(x, dtype.type(0)), np.nextafter(x, dtype.type(np.inf))])
        for to in "i1 u1 i2 u2 i4 u4 i8 u8".split():
            check(
                lambda x, to=to: lax.convert_element_type(x, np.dtype(to)) + np.dtype(to).type(1),
                x,
                steps=1,
            )


def test_signs_powers_and_bounds() -> None:
    for dtype in (F4, F8):
        x = numbers((4, 5), dtype)
        check(lambda x: [lax.integer_pow(x, n) for n in (-5, -2, -1, 3, 4, 7)], x, steps=1)
        check(lambda x: lax.sign(x) + lax.clamp(x.dtype.type(-1), x, x.dtype.type(2)), x, steps=1)


def test_parameters_that_are_numbers_of_numpy() -> None:
    x, one = numbers((3, 4), F4), np.int64(1)
    x = np.where(np.isfinite(x), x, 1).astype(F4)
    check(lambda x: lax.reduce_sum_p.bind(x * 2, axes=(one,), out_sharding=None), x, steps=1)
    check(
        lambda x: lax.reduce_max_p.bind(x * 2, axes=(one - 1, one), out_sharding=None), x, steps=1
    )
    check(lambda x: (x + 1).reshape(np.int64(4), np.int64(3)) * 2, x, steps=1)


def test_single_numbers_are_as_arrays() -> None:
    for dtype in ("f4", "f8", "i8"):
        x, y = numbers((1,), dtype, 3), numbers((1,), dtype, 4)
        check(lambda x, y: x * y + x, x, y, steps=1)
    check(lambda x, y: jnp.exp(x) + y, np.float32(0.3), np.float32(0.2), steps=1)


def test_large_values_are_left() -> None:
    x = numbers((200, 200), F4)
    _, _, program = both(lambda x: jnp.abs(x) + 1, x)
    assert not any(type(compute) is Straight for compute, *_ in program.steps)


def test_programs_hold_so_many_values() -> None:
    def fn(*xs: Any) -> Any:
        found = [xs[0]]
        for x in xs[1:]:
            found.append(found[-1] / 2 + x)
        return found[::10]

    called, joined, program = both(fn, *[np.full(3, k, F4) for k in range(400)])
    assert 2 < len(program.steps) < 9 and all(
        type(compute) is Straight for compute, *_ in program.steps
    )
    for a, b in zip(called, joined, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_has_no_loop_stands_between() -> None:
    x = numbers((4, 4), F4)
    check(lambda x: jnp.sort(jnp.abs(x) + 1, -1) * 2 - 1, x, steps=3)
    check(lambda x: (jnp.abs(x) + 1).astype(jnp.bfloat16).astype(F4) * 2 - 1, x)


def test_operands_lie_in_any_way() -> None:
    run = both(lambda x, y: x * 2 + y, numbers((4, 6), F8), numbers((4, 6), F8, 1))[2].steps[0][0]
    x, y = numbers((4, 6), F8, 5), numbers((4, 6), F8, 6)
    expected = run(x, y).tobytes()
    bytes_ = np.zeros(x.nbytes + 1, "u1")
    askew = bytes_[1:].view(F8).reshape(4, 6)
    askew[...] = x
    apart = np.zeros((8, 6), F8)[::2]
    apart[...] = y
    for a, b in (
        (np.asfortranarray(x), y),
        (askew, apart),
        (jnp.asarray(x), y),
        (x.view(np.matrix), y),
    ):
        assert run(a, b).tobytes() == expected
    assert np.shares_memory(run(x, y), x) is False
    assert (askew == x)[~np.isnan(x)].all()


def test_operands_of_other_kinds_are_refused() -> None:
    run = both(lambda x: x * 2 + 1, numbers((4, 6), F8))[2].steps[0][0]
    for bad in (
        numbers((6, 4), F8),
        numbers((4, 6), F4),
        numbers((24,), F8),
        np.float64(1),
        "x",
        None,
        numbers((4, 6), F8).astype(">f8"),
    ):
        with pytest.raises(TypeError):
            run(bad)
    for bad in ((), (numbers((4, 6), F8),) * 2):
        with pytest.raises(TypeError, match="takes 1 operands"):
            run(*bad)


#: A program of one operand and one result of four numbers, with a constant of one: ``x + 1``.
GIVEN, MADE, ONE, COPY = (
    ((F4, (4,)),),
    ((F4, (4,)),),
    (np.ones((), F4),),
    ("copy4", 0, (4,), ((0, 0, (4,)), (1, 0, (4,)))),
)
ADD, MATMUL = np.add.types.index("ff->f"), np.matmul.types.index("ff->f")


def step(
    x: tuple[Any, ...] = (0, 0, (4,)),
    y: tuple[Any, ...] = (2, 0, (0,)),
    out: tuple[Any, ...] = (1, 0, (4,)),
    n: tuple[Any, ...] = (4,),
) -> Any:
    return np.add, ADD, n, (x, y, out)


def test_a_program_by_hand() -> None:
    assert Straight(GIVEN, MADE, ONE, 0, (step(),))(np.arange(4, dtype=F4)).tolist() == [1, 2, 3, 4]
    by_scratch = Straight(
        GIVEN,
        MADE,
        ONE,
        16,
        (step(out=(3, 0, (4,))), ("copy4", 0, (4,), ((3, 12, (-4,)), (1, 0, (4,))))),
    )
    assert by_scratch(np.arange(4, dtype=F4)).tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "bad",
    [
        step(x=(0, 4, (4,))), step(x=(0, 0, (8,))), step(x=(0, 0, (-4,))), step(out=(1, 1, (4,))),
        step(y=(2, 0, (4,))), step(n=(5,)), step(x=(9, 0, (4,))), step(x=(-1, 0, (4,))),
        step(x=(0, -4, (4,))), step(out=(0, 0, (4,))), step(out=(2, 0, (0,))), step(n=(0,)),
        step(n=(-4,)), step(n=()), step(n=(1,) * 9), step(x=(0, 0, (4, 4))),
        step(x=(0, 0, (1 << 40,))), step(x=(3, 0, (0,))), (np.add, 999, (4,), step()[3]),
        (np.add, -1, (4,), step()[3]), (np.add, np.add.types.index("OO->O"), (4,), step()[3]),
        (np.matmul, 0, (4,), step()[3]),
        (np.matmul, MATMUL, (1, 2, 2, 2),
         ((0, 0, (0, 8, 4)), (0, 0, (0, 8, 4)), (1, 4, (0, 8, 4)))),
        (np.matmul, MATMUL, (1, 2, 3, 2),
         ((0, 0, (0, 8, 4)), (0, 0, (0, 4, 4)), (1, 0, (0, 8, 4)))),
        (np.matmul, MATMUL, (2, 2, 2, 2),
         ((0, 0, (16, 8, 4)), (0, 0, (0, 8, 4)), (1, 0, (0, 8, 4)))),
        (np.matmul, MATMUL, (1, 2, 2), ((0, 0, (0, 8, 4)), (0, 0, (0, 8, 4)), (1, 0, (0, 8, 4)))),
        (np.add, ADD, (4,), step()[3][:2]), ("copy3", 0, (4,), COPY[3]), (None, 0, (4,), step()[3]),
        (np.add, ADD, [4], step()[3]), (np.add, ADD), None,
    ],
)  # fmt: skip
def test_steps_that_reach_too_far_are_refused(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        Straight(GIVEN, MADE, ONE, 0, (bad,))


@pytest.mark.parametrize(
    "bad",
    [
        (((F4, (0,)),), MADE, ONE, 0, ()), (((F4, (-1,)),), MADE, ONE, 0, ()),
        (((F4, (1 << 40,)),), MADE, ONE, 0, ()),
        (((F4, (1,) * 40),), MADE, ONE, 0, ()), (((np.dtype(object), (4,)),), MADE, ONE, 0, ()),
        (((np.dtype("U4"), (4,)),), MADE, ONE, 0, ()),
        (((np.dtype(">f4"), (4,)),), MADE, ONE, 0, ()), (GIVEN, (), ONE, 0, ()),
        (GIVEN, MADE, (1.0,), 0, ()), (GIVEN, MADE, ONE, -1, ()),
        (GIVEN, MADE, (np.zeros((4, 4))[:, 0],), 0, ()), (GIVEN, MADE, (np.array([None]),), 0, ()),
        (GIVEN * 300, MADE, ONE, 0, ()), (GIVEN, MADE, ONE, 1 << 40, ()), ([], MADE, ONE, 0, ()),
        (),
    ],
)  # fmt: skip
def test_programs_that_are_none_are_refused(bad: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Straight(*bad)


def test_a_loop_may_call_python() -> None:
    # SciPy's functions warn, if they are told to, in the middle of a program: who hears the warning
    # may run the same program.
    log = scipy.special.loggamma
    number = log.types.index("d->d")
    spec = ((F8, (3,)),)
    between, twice = (2, 0, (8,)), np.add.types.index("dd->d")
    loops = (
        (log, number, (3,), ((0, 0, (8,)), between)),
        (np.add, twice, (3,), (between, between, (1, 0, (8,)))),
    )
    run = Straight(spec, spec, (), 24, loops)
    heard = []

    def again(*_: Any, **__: Any) -> None:
        heard.append(run(np.array([2.0, 3.0, 4.0])).tolist())

    with scipy.special.errstate(singular="warn"), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = again
        found = run(np.array([5.0, 0.0, 6.0]))
    assert heard and heard[0] == (2 * log(np.array([2.0, 3.0, 4.0]))).tolist()
    assert found.tolist() == (2 * log(np.array([5.0, 0.0, 6.0]))).tolist()
    with (
        scipy.special.errstate(singular="raise"),
        pytest.raises(scipy.special.SpecialFunctionError),
    ):
        run(np.array([5.0, 0.0, 6.0]))


@pytest.mark.parametrize(
    "fn",
    [
        lambda i: lax.broadcast_in_dim(i + 1, (4, 0), (0,)),
        lambda i: lax.broadcast_in_dim(i + 1, (4, 0), (0,)) * 2,
        lambda i: (i * 2 + 1)[2:2],
    ],
)
def test_nothing_is_left_to_numpy(fn: Callable[..., Any]) -> None:
    called, joined, program = both(fn, np.arange(4))
    assert [x.shape for x in called] == [x.shape for x in joined]
    assert 0 in joined[0].shape
    assert type(program.steps[-1][0]) is not Straight
