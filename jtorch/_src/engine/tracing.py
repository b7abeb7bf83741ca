"""Tracing kernels: what they give and what they are made of, for operands of certain shapes and
dtypes. Floor 1.

Most functions of ``jax.numpy`` are compiled functions themselves, which JAX traces one by one
before they become part of the kernel that calls them: half of what tracing a kernel takes. What the
host tier needs is only the kernel's own equations, so here kernels of this package are traced with
these functions as plain Python. Loops stay loops (``ops/_loops.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend import core as jex
from jax.interpreters.partial_eval import dce_jaxpr

from .signalled import is_signalled
from .values import Aval

try:  # it needs private names of JAX
    from . import quick
except (ImportError, AttributeError):
    quick: Any = None

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..facts.kinds import Operand, Values
    from .calls import Call

#: Of so many shapes a call keeps what was traced, from when it is recorded until it runs: a trace
#: may have the same call many times.
PENDING = 16
#: What a number of each kind is while a kernel is traced.
NUMBER_SDS = {
    "f": jax.ShapeDtypeStruct((), "float64"),
    "i": jax.ShapeDtypeStruct((), "int64"),
    "b": jax.ShapeDtypeStruct((), "bool"),
    "c": jax.ShapeDtypeStruct((), "complex128"),
}


def traced(call: Call, avals: tuple[Aval, ...]) -> tuple[Any, Any]:
    """The closed jaxpr of a kernel, and what it gives: shapes and dtypes in its own structure.

    Raises:
        Exception: what the kernel, or JAX, says of wrong operands.
    """
    found = call.traces.get(avals)
    if found is not None:
        return found
    found = _inlined(call, avals) if call.identity is not None else None
    if found is None:
        whole = call.jitted.trace(*[a.sds for a in avals], *[NUMBER_SDS[k] for k in call.kinds])
        found = whole.jaxpr, whole.out_info
    call.traces[avals] = found
    if len(call.traces) > PENDING:
        for old in list(call.traces)[: PENDING // 2]:
            call.traces.pop(old, None)
    return found


def attempted(call: Call, avals: tuple[Aval, ...]) -> tuple[Any, Any] | None:
    """As ``traced``; None where that fails, or only JAX's own way is left."""
    return _inlined(call, avals)


def used(closed: Any) -> tuple[bool, ...]:
    """For each operand of a jaxpr, whether its results depend on it."""
    return tuple(dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))[1])


def _inlined(call: Call, avals: tuple[Aval, ...]) -> tuple[object, object] | None:
    """As ``traced``, by this package's own way; None if there is none, or if it fails: the error
    that JAX's own way ends with counts."""
    tracer = _tracer()
    if tracer is None:
        return None
    try:
        with jax.disable_jit():
            return tracer(
                call.fn,
                [(s.shape, s.dtype) for s in (*avals, *[NUMBER_SDS[k] for k in call.kinds])],
            )
    except Exception as error:
        if is_signalled(error):
            raise
        return None


@functools.cache
def _tracer() -> Callable[..., tuple[object, object]] | None:
    """What traces a function outside of JAX's caches, which keep every shape; None if this JAX does
    not do so as expected."""
    for way in (_quickly, _by_jax):
        try:
            trace = _with_tree(way)
            with jax.disable_jit():
                closed, out = trace(
                    lambda x, y: (x, jax.numpy.where(x > y, x, y)),
                    [((2,), np.dtype("float32")), ((), np.dtype("float32"))],
                )
            names = {e.primitive.name for e in closed.jaxpr.eqns}
            right = (
                out[1].shape == (2,)
                and out[1].dtype == np.float32
                and "select_n" in names
                and not names & {"jit", "pjit"}
            )
            if right and len(closed.jaxpr.invars) == 2:
                return trace
        except Exception:  # of names that this JAX has not
            pass
    return None


def _with_tree(way: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    def trace(
        fn: Callable[..., object], ins: list[tuple[tuple[int, ...], np.dtype]]
    ) -> tuple[Any, Any]:
        trees = []

        def flat(*args: object) -> list[Operand]:
            leaves, tree = jax.tree.flatten(fn(*args))
            trees.append(tree)
            return leaves

        jaxpr, consts = way(flat, [jax.core.ShapedArray(shape, dtype) for shape, dtype in ins])
        return jex.ClosedJaxpr(jaxpr, consts), trees[0].unflatten([v.aval for v in jaxpr.outvars])

    return trace


def _quickly(flat: Callable[..., list[object]], ins: Values) -> tuple[object, object]:
    """By the trace that notes common equations itself."""
    return quick.trace(flat, ins, quick.core.DebugInfo("kernel", "kernel", None, None))


def _by_jax(flat: Callable[..., list[object]], ins: Sequence[object]) -> tuple[object, object]:
    """By JAX's own trace, where ``quick`` does not find the private names that it needs."""
    from jax._src.core import DebugInfo
    from jax._src.interpreters.partial_eval import trace_to_jaxpr_dynamic
    from jax._src.linear_util import wrap_init

    described: Any = DebugInfo("kernel", "kernel", None, None)
    jaxpr, _, consts = trace_to_jaxpr_dynamic(wrap_init(flat, debug_info=described), ins)
    return jaxpr, consts
