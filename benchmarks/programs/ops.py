"""Single operations: what one public call costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, same_program

#: Calls in one timed step.
CALLS = 500

_SMALL = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
_OTHER = np.random.default_rng(1).standard_normal((4, 4)).astype(np.float32)


def _repeat(
    op: Callable[..., Any],
    operands: tuple[Any, ...],
    wait: Callable[[Any], Any],
    after: Callable[[], Any] | None = None,
) -> Step:
    def step() -> Any:
        for _ in range(CALLS - 1):
            op(*operands)
        return wait(op(*operands))

    return Step(step, after)


def _torch_program(op: Callable[[Any], Callable[..., Any]], count: int) -> Callable[[Any], Step]:
    def program(torch: Any) -> Step:
        operands = tuple([torch.tensor(x) for x in (_SMALL, _OTHER)[:count]])
        if torch.__name__ != "jtorch" or torch.execution_mode() == "immediate":
            return _repeat(op(torch), operands, lambda t: t.numpy())

        # Recording: nothing is read inside the clock, and what was recorded is dropped outside it.
        call, calls = op(torch), range(CALLS)

        def step() -> None:
            for _ in calls:
                call(*operands)

        return Step(step, torch._engine.flush)

    return program


def _jax_program(op: Callable[[Any], Callable[..., Any]], count: int, compiled: bool) -> Builder:
    def build() -> Step:
        import jax

        operands = tuple([jax.numpy.asarray(x) for x in (_SMALL, _OTHER)[:count]])
        call = op(jax)
        return _repeat(jax.jit(call) if compiled else call, operands, np.asarray)

    return build


#: name: (number of operands, as PyTorch says it, as JAX says it).
OPS: dict[
    str, tuple[int, Callable[[Any], Callable[..., Any]], Callable[[Any], Callable[..., Any]]]
] = {
    "add": (2, lambda t: t.add, lambda j: j.numpy.add),
    "add operator": (2, lambda t: lambda a, b: a + b, lambda j: lambda a, b: a + b),
    "mul by number": (1, lambda t: lambda a: a * 1.5, lambda j: lambda a: a * 1.5),
    "exp": (1, lambda t: t.exp, lambda j: j.numpy.exp),
    "sum of rows": (
        1,
        lambda t: lambda a: a.sum(dim=1),
        lambda j: lambda a: j.numpy.sum(a, axis=1),
    ),
    "matmul": (2, lambda t: t.matmul, lambda j: j.numpy.matmul),
    "softmax": (1, lambda t: lambda a: t.softmax(a, -1), lambda j: lambda a: j.nn.softmax(a, -1)),
    "where": (
        2,
        lambda t: lambda a, b: t.where(a > b, a, b),
        lambda j: lambda a, b: j.numpy.where(a > b, a, b),
    ),
    "cat": (
        2,
        lambda t: lambda a, b: t.cat([a, b]),
        lambda j: lambda a, b: j.numpy.concatenate([a, b]),
    ),
    "reshape": (
        1,
        lambda t: lambda a: a.reshape(2, 8),
        lambda j: lambda a: j.numpy.reshape(a, (2, 8)),
    ),
    "index": (1, lambda t: lambda a: a[1:3], lambda j: lambda a: a[1:3]),
}


def contest(name: str) -> Contest:
    """One operation on 4x4 tensors; the deferred contestant records it."""
    count, torch_op, jax_op = OPS[name]
    bars = [Bar("immediate", 1.0, "jnp")]
    if name == "add":
        bars = [
            Bar("deferred", 2e-6),
            Bar("deferred", 2.0, "torch"),
            Bar("immediate", 1.4, "jit"),
            *bars,
        ]
    builders = same_program(
        _torch_program(torch_op, count),
        jnp=_jax_program(jax_op, count, compiled=False),
        jit=_jax_program(jax_op, count, compiled=True),
    )
    return Contest(f"op {name}", builders, bars, ops=CALLS, agree=None)


CONTESTS: dict[str, Callable[[], Contest]] = {
    f"op {name}": (lambda name=name: contest(name)) for name in OPS
}
