"""NumPy's branches, loops and scans agree with XLA's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import Unstaged, stage

from .agreement import compare


def test_branches() -> None:
    def of_three(index: jax.Array, x: jax.Array) -> jax.Array:
        return lax.switch(index, [lambda a: a + a, lambda a: a * a, lambda a: -a], x)

    def fn(
        a: jax.Array,
        b: jax.Array,
        c: jax.Array,
        d: jax.Array,
        yes: jax.Array,
        no: jax.Array,
        x: jax.Array,
    ) -> tuple[jax.Array, ...]:
        two = [lax.cond(p, lambda y: (y, y + y), lambda y: (-y, y), x) for p in (yes, no)]
        return *[of_three(i, x) for i in (a, b, c, d)], *two[0], *two[1]

    x = np.array([1.5, -2, 0], np.float32)
    # The first and the last branch are those of indices beyond them.
    compare(fn, *[np.int32(i) for i in (-7, 0, 2, 9)], np.True_, np.False_, x)


def test_what_depends_on_the_platform() -> None:
    def fn(x: jax.Array) -> tuple[jax.Array, ...]:
        known = lax.platform_dependent(x, cpu=lambda a: a + a, cuda=_unknown)
        return known, lax.platform_dependent(x, tpu=_unknown, default=lambda a: a * a)

    compare(fn, np.array([1, -3], np.float32))


def _unknown(x: jax.Array) -> jax.Array:
    """Has no rule."""
    return jax.pure_callback(np.asarray, x, x)


def test_loops_end_by_their_condition() -> None:
    def fn(n: jax.Array, limit: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        def powers(n: jax.Array) -> tuple[jax.Array, jax.Array]:
            return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + s[0], s[1] * x), (n, x))

        def one(n: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] * 2, s[1] + x), (n, x))

        # None at all, one after the other, and each item of a batch as often as it needs.
        many = jnp.stack([n, limit, n * 30])
        return *powers(limit), *powers(n), *jax.vmap(one)(many, jnp.stack([x, -x, x * x]))

    compare(fn, np.float32(1), np.float32(40), np.array([1.5, -1], np.float32))


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse: bool) -> None:
    def step(carry: Any, row: Any) -> Any:
        total, swapped, count = carry
        x, n = row
        # Carries that are exchanged show any that is written into.
        return (swapped + x, total, count + n), (total, -x, count > 2, jnp.stack([n, count]))

    def fn(x: jax.Array, n: jax.Array, start: jax.Array) -> Any:
        kept = lax.scan(lambda c, _: (c * start, None), start, None, length=3)
        nothing = lax.scan(step, (start, -start, n[0]), (x[:0], n[:0]), reverse=reverse)
        doubled = lax.map(lambda row: row + start, x)
        gradient = jax.grad(
            lambda s: jnp.stack(
                lax.scan(step, (s, s * s, n[0]), (x, n), reverse=reverse)[0][:2]
            ).ravel()[0]
        )(start)
        return (
            lax.scan(step, (start, -start, n[0]), (x, n), reverse=reverse),
            kept,
            nothing,
            doubled,
            gradient,
        )

    rng = np.random.default_rng(0)
    compare(
        fn,
        rng.standard_normal((4, 2)).astype(np.float32),
        np.arange(4),
        rng.standard_normal(2).astype(np.float32),
    )


def test_loops_of_counted_rounds() -> None:
    def fn(x: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 5, lambda i, s: lax.dynamic_update_slice(s, s[2:3] * i, (i,)), x)

    compare(fn, np.arange(1.0, 8.0))


def test_cost_counts_rounds() -> None:
    def cost(fn: Callable[..., Any]) -> float:
        return stage(jax.make_jaxpr(fn)(np.ones(1000))).cost

    one = cost(lambda x: x * x)
    ten, hundred = [
        cost(lambda x, n=n: lax.fori_loop(0, n, lambda i, s: s * s, x)) for n in (10, 100)
    ]
    assert ten > 10 * one
    assert 8 < (hundred - one) / (ten - one) < 12
    assert cost(lambda x: lax.while_loop(lambda s: s[0] < 9, lambda s: s * s, x)) > 20 * one
    assert cost(lambda x: lax.cond(x[0] > 0, lambda: x, lambda: x * x)) > one


def test_bodies_without_rules_are_left_to_the_compiler() -> None:
    for fn in (
        lambda x: lax.scan(lambda c, _: (_unknown(c), None), x, None, length=2)[0],
        lambda x: lax.while_loop(lambda s: s[0] < 9, _unknown, x),
        lambda x: lax.while_loop(lambda s: _unknown(s)[0] < 9, lambda s: s, x),
        lambda x: lax.cond(x[0] > 0, _unknown, lambda s: s, x),
    ):
        with pytest.raises(Unstaged):
            stage(jax.make_jaxpr(fn)(np.ones(2)))


def test_linear_solves_of_ones_own() -> None:
    def fn(d: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        def solve(b: jax.Array) -> jax.Array:
            return lax.custom_linear_solve(lambda x: d * x, b, lambda _, b: b / d, symmetric=True)

        return solve(b), jax.grad(lambda b: solve(b)[1] * 2)(b)

    compare(fn, np.array([2.0, 4.0, 3.0]), np.array([1.0, 5.0, -1.0]))
