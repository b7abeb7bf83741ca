"""What of a jaxpr becomes a program, and what is left to the compiler."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jtorch as torch
from jtorch._src.engine.host import Unstaged, recipes, short, stage, staging, straight
from jtorch._src.engine.host.direct import where
from jtorch._src.engine.host.rules import Rule, load


class _Groups:
    """A parameter as newer versions of JAX have them: which operands belong together."""

    unpackable = True

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def unpack(self) -> tuple[Any, ...]:
        return tuple([(None,) * n for n in self.sizes])


def test_groups_of_operands_are_kept_as_numbers() -> None:
    assert recipes._plain(_Groups(2, 0, 3)) == (2, 0, 3)


@pytest.mark.parametrize("grouped", [False, True])
def test_scans_of_older_and_newer_versions(grouped: bool) -> None:
    """The numbers of constant and carried operands stand by themselves, or as groups of
    operands."""
    x = np.arange(6, dtype=np.float32)

    def fn(x: jax.Array) -> jax.Array:
        return lax.scan(lambda c, row: (c * x[1] + row, None), x[0], x)[0]

    recipe = recipes.recipe_of(jax.make_jaxpr(fn)(x))
    at = next(i for i, s in enumerate(recipe.steps) if s.name == "scan")
    step = recipe.steps[at]
    params = {k: v for k, v in step.params.items() if k not in ("num_consts", "num_carry", "ft_in")}
    given = len(step.ins) - 2  # beside what is carried and the rows
    assert given > 0
    params |= {"ft_in": (given, 1, 1)} if grouped else {"num_consts": given, "num_carry": 1}
    steps = list(recipe.steps)
    steps[at] = step._replace(params=params)
    assert stage(recipe._replace(steps=tuple(steps)))(x)[0] == 15


@pytest.mark.parametrize("what", ["make", "cost"])
@pytest.mark.parametrize(
    "unknown",
    [lambda e: e.params["renamed"], lambda e: e.params["sizes"].renamed],
    ids=["name", "field"],
)
def test_unknown_parameters_are_left_to_the_compiler(
    what: str, unknown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load()["rem"]
    changed: Rule = known._replace(**{what: lambda e: unknown(e._replace(params={"sizes": ()}))})
    monkeypatch.setitem(load(), "rem", changed)
    x = np.array([5.0, 7.0])
    with pytest.raises(Unstaged, match="rem"):
        stage(jax.make_jaxpr(lax.rem)(x, x))
    # Inside of another: that is left to it as a whole.
    with pytest.raises(Unstaged, match="cond"):
        stage(jax.make_jaxpr(lambda x: lax.cond(x[0] > 0, lambda: lax.rem(x, x), lambda: x))(x))


def test_a_kernel_with_unknown_parameters_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(e: Any) -> Any:
        return e.params["renamed"]

    monkeypatch.setitem(load(), "erf_inv", load()["erf_inv"]._replace(make=renamed))
    # a shape of its own, that no kernel has been made for
    x = torch.tensor([[[0.0, 0.5, -0.5]]]).expand(1, 7, 3)
    np.testing.assert_allclose(
        torch.erfinv(x)[0, 6].tolist(), [0, 0.4769362, -0.4769362], rtol=1e-6
    )


def test_what_depends_on_constants_is_computed_once() -> None:
    def f(x: Any) -> Any:
        mask = jax.lax.broadcasted_iota(np.int32, (4, 4), 0) == jax.lax.broadcasted_iota(
            np.int32, (4, 4), 1
        )
        return jax.numpy.where(mask, x, -x)

    x = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    program = stage(jax.make_jaxpr(f)(x))
    assert len(program.steps) == 2
    for _ in range(7):
        assert np.array_equal(program(x)[0], np.where(np.eye(4, dtype=bool), x, -x))


def test_the_branch_of_a_platform_is_taken_beforehand() -> None:
    def f(x: Any) -> Any:
        return jax.lax.platform_dependent(x, cpu=lambda a: a + 1, default=lambda a: a * 2)

    x = np.arange(3.0, dtype=np.float32)
    program = stage(jax.make_jaxpr(f)(x))
    assert [step[0] for step in program.steps] == [np.add]
    assert program(x)[0].tolist() == [1.0, 2.0, 3.0]


def test_equal_equations_are_computed_once() -> None:
    def fn(x: jax.Array) -> list[jax.Array]:
        return [
            lax.add(lax.sin(x), lax.cos(x)),
            lax.mul(lax.sin(x), x),
            lax.sub(lax.neg(x), lax.exp(lax.neg(x))),
        ]

    x = np.linspace(0, 1, 6, dtype=np.float32)
    program = stage(jax.make_jaxpr(fn)(x))
    made = [step[0] for step in program.steps]
    assert [made.count(f) for f in (np.sin, np.cos, np.exp, np.negative)] == [1] * 4
    # in double precision, with two conversions each
    assert (program.equations, len(made)) == (7, 13)
    for found, wanted in zip(program(x), fn(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_equations_that_only_seem_equal_are_both_computed() -> None:
    def fn(x: jax.Array, y: jax.Array) -> list[jax.Array]:
        powers = [lax.integer_pow(x, 2), lax.integer_pow(x, 3)]
        kinds = [lax.convert_element_type(x, np.int32), lax.convert_element_type(x, np.float64)]
        loops = [
            lax.fori_loop(0, 3, lambda _, c, low=low: lax.max(c, low), x)
            for low in (np.float32(0.0), np.float32(-0.0))
        ]
        return [
            *powers,
            *kinds,
            *loops,
            lax.sub(x, y),
            lax.sub(y, x),
            lax.reduce_sum(x, (0,)),
            lax.reduce_max(x, (0,)),
        ]

    x, y = np.linspace(-2, 3, 6, dtype=np.float32), np.ones(6, np.float32)
    for found, wanted in zip(stage(jax.make_jaxpr(fn)(x, y))(x, y), fn(x, y), strict=True):
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("one", "other"), [((0.0,), (-0.0,)), (1.5, 1.5), ([1], [1])])
def test_parameters_that_could_be_mistaken_are_not_compared(one: Any, other: Any) -> None:
    assert one == other
    assert not staging._is_plain(one)
    assert staging._is_plain((1, None, "a", np.dtype(np.float32), (2, 3)))


def test_a_new_array_in_another_shape_is_not_copied() -> None:

    def text_of(function: Any) -> str:
        x = np.zeros((200, 200))
        program = staging.stage(jax.make_jaxpr(function)(x, x))
        lines: list[str] = []
        form = short.Form(2, [], ([x.nbytes] * 2, [x.nbytes]), False, {}, "return r0")
        keep, short.made = short.made, lambda text, *_: lines.extend(text)
        try:
            short.shortened(program, form, None)
        finally:
            short.made = keep
        return "\n".join(lines)

    assert "base" not in text_of(lambda x, y: (x + y).reshape(-1))
    assert "base" in text_of(lambda x, y: x.reshape(-1))
    assert "base" in text_of(lambda x, y: (x + y).reshape(-1)[:100])


def _keeping(x: jax.Array) -> jax.Array:
    return x / lax.reduce_sum(x, (1,))[:, None]


def test_reductions_keep_axes_that_a_reshape_would_put_back() -> None:
    x = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
    program = stage(jax.make_jaxpr(_keeping)(x))
    assert [type(step[0]).__name__ for step in program.steps] == ["Fixed", "ufunc"]
    for _ in range(staging.CODE_AFTER + 2):  # step by step, and as code
        assert np.array_equal(program(x)[0], x / x.sum(1, keepdims=True))


def test_what_is_used_without_its_axes_too_is_reshaped() -> None:
    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = lax.reduce_max(x, (0,))
        return x - total.reshape(1, 4), total

    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    program = stage(jax.make_jaxpr(both)(x))
    for _ in range(staging.CODE_AFTER + 2):
        less, most = program(x)
        assert np.array_equal(most, x.max(0))
        assert np.array_equal(less, x - x.max(0))


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_of_reductions_are_in_row_major_order(order: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    x = x if order == "C" else x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    with torch.execution("immediate"):
        for _ in range(8):
            found = x.sum(1), torch.where(x > 3, x, x).amax(0), x.double().sum(2)
    assert [t.tolist() for t in found] == [
        x.numpy().sum(1).tolist(),
        x.numpy().max(0).tolist(),
        x.numpy().sum(2).tolist(),
    ]
    assert [t.is_contiguous() for t in found] == [True] * 3


def test_sums_that_overflow_say_nothing() -> None:
    x = torch.full((3, 3), 3e38)
    with torch.execution("immediate"):
        for _ in range(8):
            found = x - x.sum(1, keepdim=True)  # NumPy's warnings are errors in these tests
    assert found.isinf().all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.complex64])
def test_choices_between_one_and_zero_are_conversions(dtype: Any) -> None:
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    x = np.array([[2.0, -1.0, np.nan], [0.0, -0.0, np.inf]])
    for yes, no, converted in (
        (one, zero, True),
        (zero, one, False),
        (one, -zero, np.dtype(dtype).kind in "iu"),
    ):
        program = stage(jax.make_jaxpr(lambda x, yes=yes, no=no: jnp.where(x > 0, yes, no))(x))
        assert any(step[0] is where for step in program.steps) != converted
        (found,) = program(x)
        wanted = np.where(x > 0, yes, no)
        assert found.dtype == dtype
        assert found.tobytes() == wanted.tobytes()


def test_generated_code_has_lines_for_parts_of_an_equation_and_for_methods() -> None:
    x = np.linspace(-3, 3, 12, dtype=np.float32)
    program = stage(jax.make_jaxpr(lambda x: lax.reshape(lax.exp(x), (3, 4))[1:])(x))
    lines = [line.partition(" = ")[2] for line in program.body("")]
    assert lines == ["v0.astype(f0_0)", "f1(v2)", "v3.astype(f2_0)", "v1.reshape(f3_0)", "v4[f4_0]"]
    wanted = np.exp(x.astype(np.float64)).astype(np.float32).reshape(3, 4)[1:]
    for _ in range(staging.CODE_AFTER + 2):
        np.testing.assert_array_equal(program(x)[0], wanted)
    each = staging.CALL if straight.Straight is None else straight.LOOP
    assert program.cost == pytest.approx(stage(jax.make_jaxpr(lax.exp)(x)).cost + 2 * each, rel=0.2)
    sigmoid = stage(jax.make_jaxpr(lax.logistic)(x))
    assert sigmoid.equations == 1 and sigmoid.calling == staging.CALL and len(sigmoid.steps) == 4


@pytest.mark.skipif(straight.Straight is None, reason="without the extension each step is a call")
def test_what_is_one_call_costs_one_call() -> None:
    def softmax(x: jax.Array) -> jax.Array:
        e = jnp.exp(x - jnp.max(x, -1, keepdims=True))
        return e / jnp.sum(e, -1, keepdims=True)

    small = stage(jax.make_jaxpr(softmax)(np.ones((4, 4))))
    assert len(small.straightened().steps) == 1
    assert small.calling == pytest.approx(straight.ROW + straight.LOOP * len(small.steps))
    assert small.apart == 2
    assert small.near == pytest.approx(small.cost - small.calling, rel=1e-6)
    large = stage(jax.make_jaxpr(softmax)(np.ones((512, 512))))
    assert large.calling > staging.CALL * 3
    assert large.near < large.cost / 100
    product = stage(jax.make_jaxpr(lambda x: x @ x)(np.ones((4, 4))))
    assert product.apart == 3
