"""Intervals of kernels' integers hold whatever the kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.intervals import EMPTY, flow, in_range, limits, outcome

KERNELS: dict[str, Callable[..., Any]] = {
    "slice": lambda x, y: x[1:3],
    "reverse": lambda x, y: x[::-1],
    "reshape": lambda x, y: jnp.broadcast_to(x.reshape(2, 2).T, (3, 2, 2)),
    "concatenate": lambda x, y: jnp.concatenate([x, y]),
    "select": lambda x, y: jnp.where(x < y, x, y + 1),
    "pad": lambda x, y: jnp.pad(x, 1, constant_values=3),
    "gather": lambda x, y: x.at[jnp.clip(y, 0, 3)].get(mode="promise_in_bounds"),
    "gather_filled": lambda x, y: x.at[y].get(mode="fill"),
    "scatter": lambda x, y: x.at[jnp.array([1, 2])].set(y[:2]),
    "scatter_add": lambda x, y: x.at[jnp.array([1, 1])].add(y[:2]),
    "update": lambda x, y: lax.dynamic_update_slice(x, y[:2], (1,)),
    "sort": lambda x, y: lax.sort((x, y), num_keys=1)[1],
    "argsort": lambda x, y: jnp.argsort(x[:4]),
    "iota": lambda x, y: jnp.arange(7, dtype=x.dtype) + x[0],
    "argmax": lambda x, y: jnp.argmax(x[:4]),
    "top_k": lambda x, y: lax.top_k(x, 2)[1],
    "maximum": jnp.maximum,
    "minimum": lambda x, y: jnp.minimum(x, 2),
    "largest": lambda x, y: jnp.max(x[:3]),
    "clip": lambda x, y: jnp.clip(x, -1, 2),
    "clamp": lambda x, y: lax.clamp(y, x, y + 2),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y * 2,
    "multiply": lambda x, y: x * y,
    "negative": lambda x, y: -x,
    "rem": lax.rem,
    "rem_constant": lambda x, y: lax.rem(x, jnp.full_like(x, -3)),
    "divide": lambda x, y: lax.div(x, jnp.full_like(x, 3)),
    "divide_negative": lambda x, y: lax.div(x, jnp.full_like(x, -2)),
    "divide_by": lax.div,
    "and": lambda x, y: x & 6,
    "or": lambda x, y: x | y,
    "abs": lambda x, y: jnp.abs(x[::2]),
    "sign": lambda x, y: jnp.sign(x[::2]),
    "sum": lambda x, y: jnp.sum(x[:3]),
    "cumsum": lambda x, y: jnp.cumsum(x[:4]),
    "cummax": lambda x, y: lax.cummax(x[:4]),
    "narrow": lambda x, y: x.astype(np.int8).astype(x.dtype),
    "count": lambda x, y: jnp.sum(x > y),
    "from_float": lambda x, y: (x.astype(np.float32) * 3).astype(np.int32),
    "loop": lambda x, y: lax.fori_loop(np.int32(0), np.int32(3), lambda i, v: v + y, x),
    "stated": lambda x, y: in_range(jnp.argmin(y), 0, 3),
}


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("name", KERNELS)
def test_results_lie_in_their_intervals(name: str, dtype: Any) -> None:
    kernel = KERNELS[name]
    rng = np.random.default_rng(len(name))
    info = np.iinfo(dtype)
    sds = jax.ShapeDtypeStruct((4,), dtype)
    try:
        jaxpr = jax.make_jaxpr(kernel)(sds, sds)
    except TypeError:
        pytest.skip("no such kernel for this dtype")
    for spread in (3, 5, 100, 2**31, 2**62):
        low, high = max(info.min, -spread), min(info.max, spread)
        for _ in range(10):
            x, y = (rng.integers(low, high, 4, dtype, endpoint=True) for _ in range(2))
            given = [(int(a.min()), int(a.max())) for a in (x, y)]
            found = outcome(jaxpr, 0, lambda i, _, given=given: given[i])
            result = np.asarray(kernel(jnp.asarray(x), jnp.asarray(y)))
            assert found[0] <= int(result.min()), (name, x, y, found, result)
            assert int(result.max()) <= found[1], (name, x, y, found, result)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slice", (-2, 7)), ("select", (-2, 7)), ("pad", (-2, 7)), ("gather", (-2, 7)),
        ("argsort", (0, 3)), ("clip", (-1, 2)), ("add", (-3, 10)), ("subtract", (-8, 9)),
        ("negative", (-7, 2)), ("rem_constant", (-2, 2)), ("divide", (0, 2)), ("and", (0, 6)),
        ("abs", (0, 7)), ("cumsum", (-8, 28)), ("stated", (0, 3)),
        ("gather_filled", limits(np.dtype(np.int64))), ("count", (0, 4)),
    ],
)  # fmt: skip
def test_intervals_are_no_wider_than_they_must_be(name: str, expected: tuple[int, int]) -> None:
    sds = jax.ShapeDtypeStruct((4,), np.int64)
    jaxpr = jax.make_jaxpr(KERNELS[name])(sds, sds)
    assert outcome(jaxpr, 0, lambda i, _: [(-2, 7), (-1, 3)][i]) == expected


def test_one_number_may_be_left_out_where_elements_stay_what_they_are() -> None:
    def kernel(x: Any) -> Any:
        return jnp.concatenate([x[1:].reshape(-1), jnp.full((2,), -100)]), x + 1

    jaxpr = jax.make_jaxpr(kernel)(jax.ShapeDtypeStruct((4,), np.int64))

    def operand(_: int, kept: Any) -> tuple[float, float]:
        return (0, 7) if kept == (-100,) else (-100, 7)

    assert outcome(jaxpr, 0, operand, (-100,)) == (0, 7)
    assert outcome(jaxpr, 0, operand) == (-100, 7)
    assert outcome(jaxpr, 1, operand, (-100,)) == (-99, 8)


def test_what_is_handed_on_is_told_from_what_is_computed() -> None:
    def kernel(x: Any, y: Any, n: Any) -> Any:
        return (
            jnp.concatenate([x[::-1], jnp.full((2,), 5), x]),
            jnp.where(x > y, x, n),
            jnp.maximum(x, y),
            x.astype(np.int32),
        )

    sds = jax.ShapeDtypeStruct((4,), np.int64)
    jaxpr = jax.make_jaxpr(kernel)(sds, sds, jax.ShapeDtypeStruct((), np.int64))
    assert flow(jaxpr, 0, (None,)) == ((5, 5), (0,))
    assert flow(jaxpr, 0, (5,)) == (EMPTY, (0,))
    found = flow(jaxpr, 1, (None,))
    assert found is not None
    assert found[0] == EMPTY
    assert sorted(found[1]) == [0, 2]
    assert flow(jaxpr, 2, (None,)) is None
    assert flow(jaxpr, 3, (None,)) is None


def test_nothing_lies_anywhere() -> None:
    jaxpr = jax.make_jaxpr(lambda x: jnp.concatenate([x[:0], x[:0]]))(
        jax.ShapeDtypeStruct((4,), np.int64)
    )
    assert outcome(jaxpr, 0, lambda *_: EMPTY) == EMPTY


def test_stated_intervals_pass_through_transformations() -> None:
    def kernel(x: Any) -> Any:
        return x[in_range(jnp.argmax(x), 0, 3)]

    x = jnp.array([1.0, 3.0, 2.0, 0.0], np.float32)
    assert jax.grad(kernel)(x).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert jax.vmap(kernel)(jnp.stack([x, -x])).tolist() == [3.0, 0.0]
    assert jax.jvp(kernel, (x,), (x,))[1] == 3.0
