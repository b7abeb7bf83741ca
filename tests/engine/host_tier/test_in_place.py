"""Results that take the places of operands: they are written where these lie, and the numbers are
the same to the bit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtorch._src.engine.host import staging

SIZES = [(7,), (3, 5), (1, 1), (2, 3, 4), (9,), (60, 70), (4096,), (5, 5), (60, 70), (300, 300)]


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(np.float32) for s in SIZES]


def momentum(params: Any, grads: Any, averages: Any, rate: Any) -> Any:
    kept = [0.9 * a + g for g, a in zip(grads, averages, strict=True)]
    return [p - rate * a for p, a in zip(params, kept, strict=True)] + kept


def late(params: Any, grads: Any, averages: Any, rate: Any) -> Any:
    """Parameters are needed after their new values are known."""
    new = [p - rate * g for p, g in zip(params, grads, strict=True)]
    return new + [
        jnp.where(p > n, a, jnp.sqrt(jnp.abs(p + n)))
        for p, n, a in zip(params, new, averages, strict=True)
    ]


@pytest.mark.parametrize("kernel", [momentum, late])
def test_results_are_written_into_operands(kernel: Any) -> None:
    n = len(SIZES)
    flat = [*arrays(0), *arrays(1), *arrays(2), np.float32(0.1)]

    def whole(*given: Any) -> Any:
        return kernel(given[:n], given[n : 2 * n], given[2 * n : 3 * n], given[-1])

    jaxpr = jax.make_jaxpr(whole)(*flat)
    wanted = [np.array(x) for x in staging.stage(jaxpr)(*flat)]
    program = staging.stage(jaxpr, places=[*range(n), *range(2 * n, 3 * n)])
    for _ in range(staging.CODE_AFTER + 2):  # walked, and as code
        given = [np.array(x) for x in flat]
        found = program(*given)
        own = [*given[:n], *given[2 * n : 3 * n]]
        for a, b, p, size in zip(found, wanted, own, SIZES * 2, strict=True):
            assert np.asarray(a).tobytes() == b.tobytes()
            assert (a is p) == (size != (300, 300)), size
        for g, before in zip(given[n : 2 * n], arrays(1), strict=True):
            np.testing.assert_array_equal(g, before)


def test_an_operand_that_is_a_result_keeps_its_place() -> None:
    flat = arrays(0)[:5] + arrays(1)[:5]
    jaxpr = jax.make_jaxpr(
        lambda *given: [p + g for p, g in zip(given[:5], given[5:], strict=True)] + list(given[:5])
    )(*flat)
    program = staging.stage(jaxpr, places=range(5))
    given = [x.copy() for x in flat]
    found = program(*given)
    for a, p, g, kept in zip(found, flat, flat[5:], found[5:], strict=False):
        np.testing.assert_array_equal(a, p + g)
        np.testing.assert_array_equal(kept, p)
