"""From a call and the rule of its op to the call that computes derivatives, and what that needs of
operands and results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Aval, Call, Guarded, Value, any_size, sized, tracing
from ..engine.programs import identity, key_of, remember, remembered
from ..engine.tracing import traced
from . import _families, _pieces
from ._declare import TENSOR_LIST, Op, collecting_of_rule
from ._flags import flags_of
from ._kernel import GivenOperands, Info, T, cast, put_into, statics_of, strongly_typed
from ._mapped import axes_of, varying

if TYPE_CHECKING:
    from ..facts.kinds import Row


def kept_for(
    call: Call, avals: tuple[Aval, ...], outs: tuple[Aval, ...], needs: tuple[bool, ...]
) -> tuple[bool, ...]:
    """For each operand, whether the gradients of the needed operands really depend on its value.

    ``x * 2`` needs no operand, ``x * y`` only ``y`` if only ``x`` requires grad: what is not needed
    is not kept alive, and may be changed in place, as in torch. Found by tracing the derivative
    once and removing dead code.
    """
    info: Info = call.extra
    found = info.masks.get((avals, needs))
    if found is None and info.op.elementwise and any_size.sizes_of((*avals, *outs)) is not None:
        small = tuple([any_size.stand_in(a) for a in avals])
        if small != avals:
            found = kept_for(call, small, tuple([any_size.stand_in(a) for a in outs]), needs)
            put_into(info.masks, (avals, needs), found)
    if found is None:
        found = info.saved
        if any(found) and not info.hidden:
            found = _kept(call, avals, outs, needs)
        put_into(info.masks, (avals, needs), found)
    return found


def known_for(
    info: Info, avals: tuple[Aval, ...], results: Sequence[Value]
) -> tuple[tuple[Aval, ...], tuple[Aval, ...]]:
    """The avals of a call's operands and results, as other calls of it have them: long histories
    consist of little else."""
    outs = tuple([v.aval for v in results])
    found = info.known.get(avals)
    if found is None:
        found = avals, outs
        put_into(info.known, avals, found)
    return found if found[1] == outs else (avals, outs)


def _kept(
    call: Call, avals: tuple[Aval, ...], outs: tuple[Aval, ...], needs: tuple[bool, ...]
) -> tuple[bool, ...]:
    """As ``kept_for``, where a call is met for the first time."""
    info: Info = call.extra
    derivative = vjp_of(
        call, avals, outs, needs, tuple([a.differentiable for a in outs]), kept=info.saved
    )
    saved = [a for a, keep in zip(avals, info.saved, strict=True) if keep]
    saved += outs[: saved_results(info, len(outs))]
    operands = (*saved, *[a for a in outs if a.differentiable])
    form = sized.fitting(derivative, operands)
    if form is not None:
        used = iter(form.form.used)
        return tuple([keep and next(used) for keep in info.saved])
    key = key_of("kept", call.identity, avals, outs, needs)
    found = remembered(key)
    if found is None:
        used = iter(tracing.used(traced(derivative, operands)[0]))
        found = tuple([keep and next(used) for keep in info.saved])
        remember(key, found)
    sized.met(derivative, operands)
    return found


def vjp_of(
    call: Call,
    avals: tuple[Aval, ...],
    outs: tuple[Aval, ...],
    needs: tuple[bool, ...],
    given: tuple[bool, ...],
    recompute: bool = False,
    kept: tuple[bool, ...] | None = None,
) -> Call:
    """The call of the derivative: ``(saved operands, saved results, given cotangents, numbers) ->
    gradients of the needed operands``.

    Operands whose values are not ``kept`` are replaced by zeros of their aval. With ``recompute``
    residuals are computed again from the operands instead of being taken as saved results, so that
    the derivative can be differentiated.
    """
    info: Info = call.extra
    if kept is None:
        kept = info.saved
    found = info.vjps.get((avals, needs, given, recompute, kept))
    if found is not None:
        return found
    n_saved = sum(kept)
    n_results = 0 if recompute else saved_results(info, len(outs))
    n_given = sum(given)
    visible = outs[: len(outs) - info.hidden]
    op = info.op

    def fn(*flat: jax.Array) -> Guarded | tuple[jax.Array, ...]:
        at = n_saved + n_results
        # else JAX would add up over them the gradients of what is the same on all devices
        if axes := axes_of(flat):
            flat = (*[varying(x, axes) for x in flat[: at + n_given]], *flat[at + n_given :])
        saved = iter(flat[:n_saved])
        arrays = [
            next(saved) if keep else varying(jnp.zeros(a.shape, a.dtype), axes)
            for keep, a in zip(kept, avals, strict=True)
        ]
        results = flat[n_saved:at]
        cts = iter(flat[at : at + n_given])
        numbers = flat[at + n_given :]
        cotangents = [next(cts) if have else None for have in given]
        guards = []
        with collecting_of_rule(guards):
            if recompute:
                again = info.kernel(*arrays, *numbers)
                results = (again.outs if isinstance(again, Guarded) else again)[len(visible) :]
            if op.rule is not None:
                grads = by_rule(info, arrays, numbers, results, cotangents, visible, needs)
            else:
                grads = _by_jax(info, arrays, numbers, cotangents, needs)
        found = tuple([strongly_typed(g) for g in grads])
        return (
            Guarded(found, flags_of(guards), tuple([(g.exc_type, g.message, None) for g in guards]))
            if guards
            else found
        )

    fn.__name__ = fn.__qualname__ = f"{op.name}_backward"
    derived = Info(derived_op(op), ())
    derived.saved = derived.checked = (True,) * (n_saved + n_results + n_given)
    derived.single = False
    derived.kernel = fn
    name = call.identity and identity(
        "vjp", call.identity, avals, outs, needs, given, recompute, kept
    )
    found = Call(f"{op.name}_backward", fn, call.kinds, derived, name)
    found.apart = op.apart
    how = needs, given, recompute, kept

    def operands(mine: Sequence[Aval], its: Sequence[Aval]) -> tuple[Aval, ...]:
        saved = [a for a, keep in zip(mine, kept, strict=True) if keep]
        results = () if not n_results else its[len(visible) :] if info.hidden else its
        return (*saved, *results, *[a for a, have in zip(its, given, strict=False) if have])

    found.kin = _families.derived_kin(
        call, avals, outs, how, lambda same, mine, its: vjp_of(same, mine, its, *how), operands
    )
    if op.elementwise:

        def general(
            _: Call,
            given_avals: tuple[Aval, ...],
            stand: Callable[[Aval], Aval] = any_size.stand_in,
        ) -> any_size.General | None:
            sizes = any_size.sizes_of((*avals, *outs, *given_avals))
            if sizes is None:
                return None
            small, small_outs = (tuple([stand(a) for a in group]) for group in (avals, outs))
            same = (
                found
                if small == avals and small_outs == outs
                else vjp_of(call, small, small_outs, needs, given, recompute, kept)
            )
            return any_size.General(same, tuple([stand(a) for a in given_avals]), sizes)

        found.general = general
    if (
        (piecewise := _pieces.DERIVATIVES.get(op.path)) is not None
        and all(given)
        and not n_saved
        and not n_results
    ):
        found.jitted = _pieces.InPieces(
            found.jitted, _needed(piecewise, avals, needs), statics_of(info.layout)
        )
    put_into(info.vjps, (avals, needs, given, recompute, kept), found)
    return found


def _needed(
    piecewise: _pieces.Piecewise, avals: tuple[Aval, ...], needs: tuple[bool, ...]
) -> _pieces.Piecewise:
    """The derivative of the needed operands."""

    def run(arrays: Sequence[object], *statics: object) -> Any:
        found = piecewise(arrays, avals, *statics)
        return (
            None
            if found is None
            else tuple([g for g, need in zip(found, needs, strict=True) if need])
        )

    return run


def saved_results(info: Info, n_outs: int) -> int:
    """How many results the derivative is given: the residuals, or all visible ones, or none."""
    if info.hidden:
        return info.hidden
    return n_outs if info.saves_result else 0


#: The op that an op's derivative is an instance of: differentiated by JAX, with everything saved.
_derived_ops: dict[Op, Op] = {}


def derived_op(op: Op) -> Op:
    found = _derived_ops.get(op)
    if found is None:
        found = _derived_ops[op] = Op(
            name=f"{op.name}_backward", body=op.body, params=(), namespace="_C", family="derived"
        )
    return found


def by_rule(
    info: Info,
    arrays: list[jax.Array],
    numbers: Sequence[object],
    results: Any,
    cts: list[jax.Array | None],
    outs: Sequence[Aval],
    needs: Sequence[bool],
) -> list[jax.Array]:
    op = info.op
    operands = GivenOperands(op, info.layout, arrays, numbers)
    filled = [
        jnp.zeros(a.shape, a.dtype) if c is None and not op.absent else c
        for c, a in zip(cts, outs, strict=True)
    ]
    if operands.narrow is not None:
        filled = [c if c is None else cast(c, np.dtype(np.float32)) for c in filled]
    g = filled[0] if info.single else tuple(filled)
    if info.hidden:
        saved: Any = tuple(results)
    elif info.saves_result:
        saved = results[0] if info.single else tuple(results)
    else:
        saved = None
    grads = op.rule(g, saved, *operands.args, **operands.kwargs)  # type: ignore[misc]
    if not isinstance(grads, (tuple, list)):
        grads = (grads,)
    flat = []
    for grad in grads:
        flat.extend(grad if isinstance(grad, (tuple, list)) else (grad,))
    found = []
    entries = _gradient_positions(op, info.layout)
    for entry, slot, need in zip(entries, operands.slots, needs, strict=True):
        if need:
            grad = flat[entry]
            found.append(
                jnp.zeros(slot[0], slot[1]) if grad is None else unbroadcast(grad, slot[0], slot[1])
            )
    return found


def _gradient_positions(op: Op, layout: Row) -> list[int]:
    """For each flat operand, its place among the gradients that a rule returns (one for each tensor
    parameter, given or not)."""
    places = []
    at = 0
    for p, entry in zip(op.params, layout, strict=True):
        if not p.holds_tensors:
            continue
        if p.kind == TENSOR_LIST:
            for present in entry or ():
                if present:
                    places.append(at)
                at += 1
            if entry is None:
                at += 1
        else:
            if entry is T:
                places.append(at)
            at += 1
    return places


def unbroadcast(grad: jax.Array, shape: tuple[int, ...], dtype: np.dtype) -> jax.Array:
    """Sums ``grad`` over the axes that broadcasting added to ``shape``, and casts it to
    ``dtype``."""
    if grad.shape != shape:
        lead = grad.ndim - len(shape)
        axes = tuple(range(lead)) + tuple(
            i + lead for i, n in enumerate(shape) if n == 1 and grad.shape[i + lead] != 1
        )
        if axes:
            grad = jnp.sum(grad, axis=axes)
        grad = (
            jnp.broadcast_to(grad.reshape(shape), shape)
            if grad.size == math.prod(shape)
            else jnp.broadcast_to(grad, shape)
        )
    return cast(grad, np.dtype(dtype))


def _by_jax(
    info: Info,
    arrays: list[jax.Array],
    numbers: tuple[jax.Array, ...],
    cts: list[jax.Array | None],
    needs: Sequence[bool],
) -> list[jax.Array]:
    wanted = [i for i, need in enumerate(needs) if need]
    kernel = info.kernel

    def f(*xs: jax.Array) -> list[jax.Array]:
        full = list(arrays)
        for i, x in zip(wanted, xs, strict=True):
            full[i] = x
        out = kernel(*full, *numbers)
        if isinstance(out, Guarded):
            out = out.outs
        if not isinstance(out, (tuple, list)):
            out = (out,)
        return [o for o, c in zip(out, cts, strict=True) if c is not None]

    _, pull = jax.vjp(f, *[arrays[i] for i in wanted])
    grads = pull([conjugate(c) for c in cts if c is not None])
    return [conjugate(g) for g in grads]


def conjugate(x: jax.Array) -> jax.Array:
    """JAX's cotangents of complex values are the conjugates of torch's gradients."""
    return jnp.conj(x) if jnp.issubdtype(x.dtype, jnp.complexfloating) else x
