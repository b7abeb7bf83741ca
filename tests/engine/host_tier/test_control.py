"""NumPy's branches, loops and scans agree with XLA's."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from jtorch.engine.host import stage

from .agreement import compare


def test_branches() -> None:
    def of_three(index: jax.Array, x: jax.Array) -> jax.Array:
        return lax.switch(index, [lambda a: a + a, lambda a: a * a, lambda a: -a], x)

    def fn(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array, yes: jax.Array, no: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        two = [lax.cond(p, lambda y: (y, y + y), lambda y: (-y, y), x) for p in (yes, no)]
        return *[of_three(i, x) for i in (a, b, c, d)], *two[0], *two[1]

    x = np.array([1.5, -2, 0], np.float32)
    # The first and the last branch are those of indices beyond them.
    compare(fn, *[np.int32(i) for i in (-7, 0, 2, 9)], np.True_, np.False_, x)


def test_what_depends_on_the_platform() -> None:
    def fn(x: jax.Array) -> tuple[jax.Array, ...]:
        known = lax.platform_dependent(x, cpu=lambda a: a + a, cuda=lambda a: lax.bessel_i0e(a))
        return known, lax.platform_dependent(x, tpu=lambda a: -a, default=lambda a: a * a)

    compare(fn, np.array([1, -3], np.float32))


def test_loops_that_a_condition_ends() -> None:
    def fn(n: jax.Array, limit: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        def powers(n: jax.Array) -> tuple[jax.Array, jax.Array]:
            return lax.while_loop(lambda s: s[0] * s[0] < limit * limit, lambda s: (s[0] + s[0], s[1] * x), (n, x))

        return *powers(n), *powers(limit)

    compare(fn, np.float32(1), np.float32(40), np.array([1.5, -1], np.float32))


def test_loops_of_a_batch_end_one_by_one() -> None:
    def one(n: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return lax.while_loop(lambda s: s[0] < 40, lambda s: (s[0] + s[0], s[1] * x), (n, x))

    def fn(n: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        return jax.vmap(one)(n, x)

    program = stage(jax.make_jaxpr(fn)(np.zeros(3), np.zeros((3, 2)))) if _has("lt") else None
    n, x = np.array([1, 50, 30], np.float32), np.array([[1.5, 2], [3, 4], [-1, 0]], np.float32)
    if program is not None:
        compare(fn, n, x)


def _has(name: str) -> bool:
    from jtorch.engine.host.rules import load

    return name in load()
