"""Writes into a part of an array of what was computed from another part of it, so that XLA's
program for the CPU reads before it writes.

XLA makes the numbers to be written in the loop that writes them, over the array that they are read
from, also where a reshaping hides that it is the same array (openxla/xla, issue 49176): a column
that is reversed in place gets its own new numbers in its second half. Where a write may be such a
one, the numbers go into zeros instead, and the array's own are chosen beside them, for which no
array is overwritten.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from .calls import known
from .trie import State
from .values import Aval

if TYPE_CHECKING:
    from ..facts.kinds import Operand, Operands


def kernels(steps: Sequence[State]) -> list[Callable[..., object]]:
    """What runs each step of a trace in a program: its kernel, but apart where one may write what
    another reads."""
    calls = [s.call for s in steps]
    if not any(getattr(a.device, "platform", None) == "cpu" for s in steps for a in s.avals):
        return [call.jitted for call in calls]
    order = _Order(steps)
    return [
        apart(call.fn) if order.is_mixed(s) else call.jitted
        for s, call in zip(steps, calls, strict=True)
    ]


class _Order:
    """Which values of a trace are made of which."""

    def __init__(self, steps: Sequence[State]) -> None:
        self.makers: list[State] = []
        self.sources: list[int] = []  # bits: of inputs the even ones, of values the odd ones
        for s in steps:
            found = 0
            for i in s.ids:
                found |= self.source(i)
            for _ in range(1 if type(s.outs) is Aval else len(s.outs)):
                self.sources.append(found | 2 << 2 * len(self.makers))
                self.makers.append(s)

    def source(self, i: int) -> int:
        """What a value, or an input, is made of."""
        return self.sources[i] if i >= 0 else 1 << 2 * ~i

    def is_mixed(self, s: State) -> bool:
        """Whether a step may write what is read elsewhere in its first operand."""
        if len(s.ids) < 2 or not s.avals[0].ndim:
            return False
        whole = self.source(s.ids[0])
        if not any(whole & self.source(i) for i in s.ids[1:]):
            return False
        call: Any = s.call
        if call.place is not None and not call.view:
            return not self._is_in_place(s.ids[1], s, whole, {})
        return call.general is None and _writes(s)

    def _is_in_place(self, i: int, put: State, whole: int, known: dict[int, bool]) -> bool:
        """Whether a value that is written has each of its elements from the place where it goes, or
        from elsewhere than the array."""
        found = known.get(i)
        if found is None:
            found = not whole & self.source(i) or (
                i >= 0 and i != put.ids[0] and self._follows(self.makers[i], put, whole, known)
            )
            known[i] = found
        return found

    def _follows(self, s: State, put: State, whole: int, known: dict[int, bool]) -> bool:
        call: Any = s.call
        into = put.call
        if s.ids == put.ids[:1]:
            return call.view and call.place == into.place
        if call.general is None or any(a.shape != put.avals[1].shape and a.ndim for a in s.avals):
            return False
        return all(self._is_in_place(k, put, whole, known) for k in s.ids)


def _writes(s: State) -> bool:
    """Whether a kernel writes into its first operand."""
    call: Any = s.call
    shapes = known(call, s.avals)
    return (
        shapes.over
        if shapes.on_host
        else any(map(_writes_part, shapes.traced(call, s.avals).jaxpr.eqns))
    )


def apart(fn: Callable[..., object]) -> Callable[..., Any]:
    """A kernel that does what ``fn`` does, and writes its parts in this way."""

    def run(*args: object) -> Operand:
        closed, out = jax.make_jaxpr(fn, return_shape=True)(*args)
        found = _evaluated(closed.jaxpr, closed.consts, jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(out), found)

    return run


def _evaluated(jaxpr: Any, consts: Sequence[Any], args: Operands) -> list[object]:
    at: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def value(v: Any) -> Any:
        return v.val if hasattr(v, "val") else at[v]

    unknown = jaxpr.debug_info.with_unknown_names()
    for eqn in jaxpr.eqns:
        ins = [value(v) for v in eqn.invars]
        inner = eqn.params.get("jaxpr")
        if _writes_part(eqn):
            outs = [_chosen(eqn, *ins)]
        elif eqn.primitive.name in ("pjit", "jit") and inner is not None:
            outs = _evaluated(inner.jaxpr, inner.consts, ins)
        else:
            names = list(dict.fromkeys(v for v in eqn.invars if not hasattr(v, "val")))
            one = jaxpr.replace(
                constvars=[], invars=names, outvars=eqn.outvars, eqns=[eqn], debug_info=unknown
            )
            outs = jax.core.eval_jaxpr(one, (), *[at[v] for v in names])
        at.update(zip(eqn.outvars, outs, strict=True))
    return [value(v) for v in jaxpr.outvars]


def _writes_part(eqn: Any) -> bool:
    """Whether an equation is, or becomes, a write of one block of several elements into a larger
    array."""
    name = eqn.primitive.name
    if name == "dynamic_update_slice":
        return 1 < eqn.invars[1].aval.size < eqn.invars[0].aval.size
    if name not in ("scatter", "scatter-add") or eqn.invars[2].aval.size < 2:
        return False
    # of more blocks, each is written by itself
    return math.prod(eqn.invars[1].aval.shape[:-1]) == 1


def _chosen(eqn: Any, x: jax.Array, *others: Any) -> Any:
    """What such an equation gives: where it writes what it writes into zeros, and elsewhere the
    array."""
    at = 0 if eqn.primitive.name == "dynamic_update_slice" else 1
    update = others[at]
    made = eqn.primitive.bind(jnp.zeros_like(x), *others, **eqn.params)
    marks = [jnp.ones(update.shape, bool) if k == at else o for k, o in enumerate(others)]
    if at:
        where = jax.lax.scatter_p.bind(
            jnp.zeros(x.shape, bool),
            *marks,
            **{**eqn.params, "update_jaxpr": None, "update_consts": ()},
        )
    else:
        where = eqn.primitive.bind(jnp.zeros(x.shape, bool), *marks, **eqn.params)
    return jnp.where(where, x + made if eqn.primitive.name == "scatter-add" else made, x)
