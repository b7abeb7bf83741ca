"""Forward derivatives of calls: from tangents of the operands to tangents of the results.

An op with a hand-written gradient is differentiated by transposing that rule, which is linear in
the gradient: so forward and backward agree where a function has no derivative, such as ``abs`` at
zero. The others are differentiated by ``jax.jvp`` of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import custom_derivatives

from ..engine import Aval, Call, Guarded, aval_of, calls
from ..engine.programs import identity
from ..engine.values import default_device
from ._declare import collecting
from ._derivative_calls import by_rule, conjugate, derived_op
from ._kernel import Info, caches, strongly_typed
from ._mapped import axes_of, varying

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Operands


_jvps: dict[Any, Call] = {}
caches.append(_jvps)


def jvp_of(call: Call, mine: tuple[bool, ...], outs: tuple[Aval, ...]) -> Call:
    """The call ``(operands, tangents of those that are mine, numbers) -> tangents of the
    differentiable results``."""
    found = _jvps.get((call, mine, outs))
    if found is None:
        found = _jvps[call, mine, outs] = _make(call, mine, outs)
    return found


def _make(call: Call, mine: tuple[bool, ...], outs: tuple[Aval, ...]) -> Call:
    n, m = len(mine), sum(mine)
    info: Info = call.extra

    def fn(*flat: object) -> tuple[jax.Array, ...]:
        primals, tangents, numbers = flat[:n], flat[n : n + m], flat[n + m :]
        with collecting(None):
            found = None
            if info.op.rule is not None and call.fn is info.kernel and not info.hidden:
                needed = info.saves_result or info.tracked is not None
                saved = _with_residuals(call, primals + numbers)[2] if needed else ()
                found = _transposed(info, mine, outs, primals, tangents, numbers, saved)
            if found is None:
                found = _pushed(call, mine, primals, tangents, numbers)
        return tuple(
            [strongly_typed(t) for t, a in zip(found, outs, strict=True) if a.differentiable]
        )

    fn.of_tangents = call, mine  # type: ignore[attr-defined]  # for who writes it with operators
    fn.__name__ = fn.__qualname__ = f"{call.name}_jvp"
    derived = Info(derived_op(info.op), ())
    derived.saved = derived.checked = (True,) * (n + m)
    derived.single = False
    derived.kernel = fn
    derived.name = f"{info.name}_jvp"
    name = call.identity and identity("jvp", call.identity, mine, outs)
    return Call(fn.__name__, fn, call.kinds, derived, name)


def by_itself(call: Call, operands: int) -> Call:
    """A call for all examples of a ``vmap`` whose derivative is that of what it runs: the facts
    that it has are those of one example."""
    info: Info = call.extra
    derived = Info(derived_op(info.op), ())
    derived.saved = derived.checked = (True,) * operands
    derived.single, derived.differentiable, derived.name = (
        info.single and not info.hidden,
        info.differentiable,
        info.name,
    )
    derived.kernel = call.fn
    return Call(call.name, call.fn, call.kinds, derived, call.identity)


def stated(call: Call) -> Callable[..., object] | None:
    """The kernel of a call as JAX is to differentiate it: by the op's hand-written gradient. None
    for kernels that JAX derives itself.

    Kernels choose values where rules choose derivatives, so that JAX's own derivative of a kernel
    may be NaN, or 0, where there is one.
    """
    info = call.extra
    if (
        type(info) is not Info
        or info.op.rule is None
        or info.op.refusal is not None
        or call.fn is not info.kernel
        or info.hidden
    ):
        return None
    function = jax.custom_jvp(call.fn)

    def derivative(primals: Sequence[jax.Array], tangents: Operands) -> tuple[Any, Any]:
        n = len(primals) - len(call.kinds)
        mine = tuple(
            [
                type(t) is not custom_derivatives.SymbolicZero
                and jnp.issubdtype(t.dtype, jnp.inexact)
                for t in tangents[:n]
            ]
        )
        given = [t for t, m in zip(tangents, mine, strict=False) if m]
        out, results, saved = _with_residuals(call, primals, linked)
        outs = tuple([aval_of(r.shape, r.dtype, default_device()) for r in results])
        found = None
        with collecting(None):
            if given:
                found = _transposed(info, mine, outs, primals[:n], given, primals[n:], saved)
                if found is None:
                    found = _pushed(call, mine, primals[:n], given, primals[n:])
        pushed = [
            t if a.differentiable and found else None
            for t, a in zip(found or results, outs, strict=True)
        ]
        flags = iter(pushed)
        return out, jax.tree.map(
            lambda r: _zero(r) if (t := next(flags, None)) is None else strongly_typed(t), out
        )

    @jax.custom_jvp
    def linked(primals: Sequence[object], out: object) -> Any:
        """The results, which derivatives of derivatives find to come from the operands by the rule,
        too."""
        return out

    function.defjvp(derivative, symbolic_zeros=True)
    linked.defjvp(
        lambda primals, tangents: derivative(primals[0], tangents[0]), symbolic_zeros=True
    )
    return function


calls.stated = stated


def _zero(result: object) -> custom_derivatives.SymbolicZero:
    return custom_derivatives.SymbolicZero(jax.typeof(result).to_tangent_aval())


def _with_residuals(
    call: Call, flat: Operands, linked: Function | None = None
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """What the kernel gives, the results among it, and what the gradient rule is given of the way
    there.

    ``linked`` ties what comes out to the operands.
    """
    info: Info = call.extra
    residuals = ()
    if info.tracked is None:
        out = call.fn(*flat)
    else:
        every = info.tracked.fn(*flat)
        flags, every = (every, every.outs) if isinstance(every, Guarded) else (None, every)
        count = len(every) - info.tracked.extra.hidden
        out, residuals = (
            every[0] if info.tracked.extra.single else tuple(every[:count]),
            tuple(every[count:]),
        )
        if flags is not None:
            out = Guarded(out, flags.flags, flags.checks)
    if linked is not None:
        out = linked(tuple(flat), out)
    results = _results_of(out)
    return out, results, results if info.tracked is None and info.saves_result else residuals


def _results(
    call: Call, primals: Sequence[object], numbers: Sequence[object]
) -> tuple[jax.Array, ...]:
    return _results_of(call.fn(*primals, *numbers))


def _results_of(out: tuple[jax.Array, ...] | jax.Array | Guarded) -> tuple[Operand, ...]:
    if isinstance(out, Guarded):
        out = out.outs
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _pushed(
    call: Call,
    mine: Sequence[bool],
    primals: Sequence[object],
    tangents: Sequence[object],
    numbers: Sequence[object],
) -> Operands:
    """By ``jax.jvp`` of the kernel."""
    places = [i for i, m in enumerate(mine) if m]

    def f(*xs: object) -> tuple[jax.Array, ...]:
        full = list(primals)
        for i, x in zip(places, xs, strict=True):
            full[i] = x
        return _results(call, full, numbers)

    return jax.jvp(f, tuple(primals[i] for i in places), tuple(tangents))[1]


def _transposed(
    info: Info,
    mine: Sequence[bool],
    outs: Sequence[Aval],
    primals: Operands,
    tangents: Operands,
    numbers: Operands,
    saved: Sequence[jax.Array],
) -> list[Operand] | None:
    """By the transposed gradient rule; None where JAX cannot transpose it."""
    if info.tracked is not None:
        info = info.tracked.extra
    given = [a.differentiable for a in outs]
    axes = axes_of([*primals, *tangents])
    # what is the same on all devices, too: rules that ask JAX for a derivative get that of one of
    # them
    if axes:
        primals, saved = [varying(x, axes) for x in primals], [varying(x, axes) for x in saved]

    def pull(*cotangents: jax.Array) -> list[jax.Array]:
        there = iter(cotangents)
        full = [conjugate(next(there)) if g else None for g in given]
        return [
            varying(conjugate(g), axes)
            for g in by_rule(info, list(primals), numbers, saved, full, outs, mine)
        ]

    there = [a for a in outs if a.differentiable]
    pushed = [varying(t, axes) for t in tangents]
    try:
        examples = [varying(jnp.zeros(a.shape, a.dtype), axes) if axes else a.sds for a in there]
        found = iter(jax.linear_transpose(pull, *examples)(pushed))
    except _NOT_LINEAR:
        # a rule that compares gradients, say with zero, is not linear to JAX: take its derivative
        # somewhere
        try:
            found = iter(jax.vjp(pull, *[varying(_somewhere(a), axes) for a in there])[1](pushed))
        except _NOT_LINEAR:
            return None
    return [next(found) if g else None for g in given]


#: JAX's ways of saying that it cannot transpose or differentiate something.
_NOT_LINEAR = (NotImplementedError, TypeError, ValueError, AssertionError, KeyError)


def _somewhere(aval: Aval) -> jax.Array:
    """Some array of an aval, all elements different and none zero."""
    steps = jnp.arange(1, aval.size + 1, dtype=jnp.float32).reshape(aval.shape)
    return (1 + 0.37 * jnp.sin(steps)).astype(aval.dtype)
