"""Traces that note equations themselves: what they give is what JAX's own traces give, to the
aval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine import quick, tracing

_DESCRIBED = quick.core.DebugInfo("kernel", "kernel", None, None)
_DTYPES = [
    "float32",
    "float64",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
]


def _operators(x: Any, y: Any) -> list[Any]:
    return [
        x + y,
        x - y,
        x * y,
        2 * x,
        x + 1,
        1 - x,
        x - 3,
        x == y,
        x != 1,
        x < y,
        x <= 3,
        x + y[0, 0],
        x > x[0, 0],
    ]


def _floats(x: Any, y: Any) -> list[Any]:
    more = [lax.exp(x), lax.pow(x, y), lax.abs(x), lax.is_finite(x), lax.atan2(x, y), lax.sqrt(x)]
    return [x / y, x / 3, 1.5 / x, x * 0.1, x > 1e-3, x + 1000, 1e3 - x, x == 1.0, *more]


def _integers(x: Any, y: Any) -> list[Any]:
    return [x + 127, x // 2, x % 3, x & y, x | 1, ~x, x * 1.5, x / y, x - 0, -x, x > 100]


def _layout(x: Any, y: Any) -> list[Any]:
    cut = [x[:, 0], x[1:, ::2], x[..., None], x[-1], lax.slice(x, (0, 1), (3, 4), (2, 1)), x[0:0]]
    moved = [
        x.T,
        x.reshape(-1),
        x.reshape(2, 6),
        jnp.squeeze(x[None]),
        jnp.concatenate([x, y], 1),
        jnp.stack([x, y]),
    ]
    wide = [
        jnp.broadcast_to(x, (2, 3, 4)),
        jnp.broadcast_to(x[:, :1], (3, 4)),
        jnp.broadcast_to(x, (3, 4)),
    ]
    real = [] if x.dtype.kind == "c" else [x.astype("float32"), x.astype("int64")]
    return [*cut, *moved, *wide, x.astype(x.dtype), x.astype(bool), *real]


def _reduced(x: Any, y: Any) -> list[Any]:
    return [
        jnp.sum(x),
        jnp.sum(x, 1),
        jnp.max(x, 0),
        jnp.min(y, (0, 1)),
        jnp.prod(x, 0, keepdims=True),
        jnp.any(x),
        jnp.all(y, 1),
    ]


def _constants(x: Any, y: Any) -> list[Any]:
    steps = lax.iota("int32", 3)
    table = np.arange(12).reshape(3, 4)
    return [
        jnp.where(x == y, x, 0),
        jnp.where(x != 0, 1.0, y),
        steps < steps[::-1],
        table + x,
        x * table,
        jnp.eye(3)[0] > steps,
        x + np.int8(3),
    ]


def _inner(x: Any, y: Any) -> list[Any]:
    mapped = jax.vmap(lambda a, b: a + 2 * b.sum())(x, y)
    looped = lax.fori_loop(0, 3, lambda i, a: a * x + 2, y)
    chosen = lax.cond(x[0, 0] == 1, lambda a: a + 1, lambda a: a - y, x)
    return [mapped, looped, chosen]


def _literals(jaxpr: Any) -> list[bytes]:
    return [
        np.asarray(v.val, v.aval.dtype).tobytes()
        for e in jaxpr.eqns
        for v in e.invars
        if type(v) is quick.jex.Literal
    ]


def tracing_by_jax(fn: Callable[..., list[Any]], avals: list[Any]) -> Any:
    """The jaxpr of JAX's own trace."""
    from jax._src.interpreters.partial_eval import trace_to_jaxpr_dynamic
    from jax._src.linear_util import wrap_init

    return trace_to_jaxpr_dynamic(wrap_init(fn, debug_info=_DESCRIBED), avals)[0]


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize(
    "fn", [_operators, _floats, _integers, _layout, _reduced, _constants, _inner]
)
def test_equations_are_those_of_jax(fn: Callable[..., list[Any]], dtype: str) -> None:
    avals = [jax.core.ShapedArray((3, 4), jnp.dtype(dtype))] * 2
    try:
        with jax.disable_jit():
            wanted = tracing_by_jax(fn, avals)
    except (TypeError, ValueError) as error:
        with jax.disable_jit(), pytest.raises(type(error)):
            quick.trace(fn, avals, _DESCRIBED)
        return
    for _ in range(2):  # once while operators learn
        with jax.disable_jit():
            found, _ = quick.trace(fn, avals, _DESCRIBED)
        assert str(found) == str(wanted)
        assert _literals(found) == _literals(wanted)
        assert [v.aval for e in found.eqns for v in e.outvars] == [
            v.aval for e in wanted.eqns for v in e.outvars
        ]
        assert [v.aval for v in found.outvars] == [v.aval for v in wanted.outvars]


def test_common_equations_are_not_left_to_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = quick.DynamicJaxprTrace.process_primitive

    def process(self: Any, primitive: Any, *args: Any) -> Any:
        asked.append(primitive.name)
        return plain(self, primitive, *args)

    monkeypatch.setattr(quick.DynamicJaxprTrace, "process_primitive", process)
    avals = [jax.core.ShapedArray((3, 4), np.dtype("float32"))] * 2
    with jax.disable_jit():
        quick.trace(
            lambda x, y: [
                x + y,
                x * 2,
                x[:, 0],
                x.reshape(-1),
                jnp.where(x > y, x, 0),
                jnp.sum(x, 1),
                x.astype(bool),
            ],
            avals,
            _DESCRIBED,
        )
    assert set(asked) <= {"ne"}  # of constants


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, y: jnp.reshape(x, (5,)),
        lambda x, y: lax.slice(x, (0, 0), (4, 4)),
        lambda x, y: lax.broadcast_in_dim(x, (3, 5), (0, 1)),
        lambda x, y: lax.broadcast_in_dim(x, (3, 4), (1, 0)),
        lambda x, y: lax.squeeze(x, (0,)),
        lambda x, y: lax.transpose(x, (0, 0)),
        lambda x, y: lax.concatenate([x, y[:, :2]], 0),
        lambda x, y: lax.select(x > 0, x, y[:1]),
        lambda x, y: lax.add(x, y[:2]),
        lambda x, y: lax.exp(x.astype("int32")),
        lambda x, y: x + y[:2],
    ],
)
def test_what_is_wrong_is_refused_by_jax(fn: Callable[..., Any]) -> None:
    avals = [jax.core.ShapedArray((3, 4), np.dtype("float32"))] * 2
    with jax.disable_jit(), pytest.raises((TypeError, ValueError)) as wanted:
        tracing_by_jax(lambda x, y: [fn(x, y)], avals)
    with jax.disable_jit(), pytest.raises(type(wanted.value)) as found:
        quick.trace(lambda x, y: [fn(x, y)], avals, _DESCRIBED)
    assert str(found.value).split("\n")[0] == str(wanted.value).split("\n")[0]


def test_where_a_mesh_is_set_results_lie_on_it() -> None:
    avals = [jax.core.ShapedArray((3, 4), np.dtype("float32"))] * 2
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((1,), ("a",))), jax.disable_jit():
        wanted = tracing_by_jax(_operators, avals)
        found, _ = quick.trace(_operators, avals, _DESCRIBED)
    assert [v.aval for e in found.eqns for v in e.outvars] == [
        v.aval for e in wanted.eqns for v in e.outvars
    ]
    assert any(not v.aval.sharding.mesh.empty for v in found.outvars)


def test_this_jax_is_traced_so() -> None:
    assert tracing._tracer() is not None
