"""What is known of a kernel's integers before it runs: intervals pushed through its jaxpr, from the
results back to what they need.

``Interval`` is ``(low, high)``, both possible; the elements of a result lie in it. What no rule
speaks of may be anything that its dtype holds. Floats are not followed: a NaN is in no interval.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from jax.export import is_symbolic_dim
from jax.extend.core import ClosedJaxpr, JaxprEqn, Literal, Primitive
from jax.interpreters import batching, mlir

from .supposing import is_supposing

if TYPE_CHECKING:
    from collections.abc import Iterable


Interval: TypeAlias = "tuple[float, float]"  # of ints; infinities stand for "no element"
#: Of nothing: what joins with an interval without widening it.
EMPTY: Interval = (math.inf, -math.inf)

#: What is asked of elements that are handed on as they are: ``(skip,)``, where ``skip`` is a number
#: that need not lie in the interval, or None; of those that are computed with: None.
Kept: TypeAlias = "tuple[Any] | None"
#: Asks for operand ``i``; with True where the result has elements of that operand as they are.
_Ask: TypeAlias = "Callable[..., Interval]"
_Rule: TypeAlias = "Callable[[Any, _Ask, int], Interval | None]"
RULES: dict[str, _Rule] = {}
#: A chain of more equations than this is not followed.
DEPTH = 200


def join(a: Interval, b: Interval) -> Interval:
    """The smallest interval that holds both."""
    return min(a[0], b[0]), max(a[1], b[1])


@functools.cache
def limits(dtype: np.dtype) -> Interval:
    """All that a dtype holds; everything for floats, which are not followed."""
    if dtype == np.bool_:
        return 0, 1
    if getattr(dtype, "kind", "V") in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    return -math.inf, math.inf


def outcome(
    closed: Any, j: int, operand: Callable[[int, Kept], Interval], kept: Kept = None
) -> Interval:
    """Where the elements of result ``j`` of a kernel lie.

    Args:
        closed: the kernel's jaxpr.
        j: which result.
        operand: gives the interval of the elements of an operand, by its number, of which ``kept``
            is said.
        kept: what is asked of the result.
    """
    return _Walk(closed.jaxpr, closed.consts, operand).of(closed.jaxpr.outvars[j], kept)


def flow(closed: object, j: int, kept: Kept) -> tuple[Interval, tuple[int, ...]] | None:
    """The operands that result ``j`` takes its elements from as they are, and the interval of all
    others; None where it is computed."""
    taken: dict[int, None] = {}
    computed = False

    def operand(i: int, kept: Kept) -> Interval:
        nonlocal computed
        computed |= kept is None
        taken[i] = None
        return EMPTY

    # Where elements are handed on, intervals are joined and nothing else.
    others = outcome(closed, j, operand, kept)
    return None if computed else (others, tuple(taken))


class _Walk:
    """Intervals of the variables of one jaxpr, found as they are asked for."""

    def __init__(self, jaxpr: Any, consts: Any, operand: Callable[[int, Kept], Interval]) -> None:
        self.operand = operand
        self.inputs = {v: i for i, v in enumerate(jaxpr.invars)}
        self.consts = dict(zip(jaxpr.constvars, consts, strict=True))
        self.made = {v: (eqn, i) for eqn in jaxpr.eqns for i, v in enumerate(eqn.outvars)}
        self.known: dict[Any, Interval] = {}
        self.depth = 0

    def of(self, var: object, kept: Kept) -> Interval:
        if isinstance(var, Literal):
            return of_array(np.asarray(var.val), kept[0] if kept else None)
        found = self.known.get((var, kept))
        if found is None:
            found = self.known[var, kept] = self._find(var, kept)
        return found

    def _find(self, var: Any, kept: Kept) -> Interval:
        most = limits(var.aval.dtype)
        if most[1] == math.inf:
            return most
        if var in self.inputs:
            return self.operand(self.inputs[var], kept)
        if var in self.consts:
            return of_array(np.asarray(self.consts[var]), kept[0] if kept else None)
        eqn, i = self.made[var]
        rule = RULES.get(eqn.primitive.name)
        if rule is None or self.depth >= DEPTH:
            return most

        def ask(n: int, same: bool = False) -> Interval:
            return self.of(eqn.invars[n], kept if same else None)

        self.depth += 1
        found = rule(eqn, ask, i) if eqn.primitive.name not in _CALLS else self._inner(eqn, i, kept)
        self.depth -= 1
        # What leaves the dtype's range has wrapped around: it may be anywhere.
        if found is None or (found != EMPTY and (found[0] < most[0] or found[1] > most[1])):
            return most
        return found

    def _inner(self, eqn: JaxprEqn, i: int, kept: Kept) -> Interval | None:
        inner = next(
            (eqn.params[name] for name in _CALLS[eqn.primitive.name] if name in eqn.params), None
        )
        if inner is None:
            return None
        jaxpr, consts = (
            (inner.jaxpr, inner.consts) if isinstance(inner, ClosedJaxpr) else (inner, ())
        )
        if len(jaxpr.invars) != len(eqn.invars):
            return None
        walk = _Walk(jaxpr, consts, lambda n, asked: self.of(eqn.invars[n], asked))
        walk.depth = self.depth
        return walk.of(jaxpr.outvars[i], kept)


def of_array(a: np.ndarray, skip: object) -> Interval:
    """The interval of numbers that are there."""
    if 0 in a.strides:  # the same numbers again and again, perhaps more often than can be looked at
        a = a[tuple([slice(1) if stride == 0 else slice(None) for stride in a.strides])]
    if skip is not None:
        a = a[a != skip]
    if not a.size:
        return EMPTY
    if a.dtype.kind not in "iub":
        return limits(a.dtype)
    return int(a.min()), int(a.max())


#: Equations that hold a jaxpr, and under which name.
_CALLS: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat2"),
    ("jaxpr", "call_jaxpr", "fun_jaxpr"),
)
for _name in _CALLS:
    RULES[_name] = lambda eqn, ask, i: None


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def add(rule: _Rule) -> _Rule:
        for name in names:
            RULES[name] = rule
        return rule

    return add


@_rule(
    "reshape", "transpose", "broadcast_in_dim", "squeeze", "expand_dims", "rev", "slice",
    "dynamic_slice", "copy", "copy_p", "cummax", "cummin", "stop_gradient",
)  # fmt: skip
def _same(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Elements of the first operand."""
    return ask(0, True)


@_rule("reduce_max", "reduce_min")
def _reduced(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    """Elements of the operand, unless it has none."""
    return ask(0, True) if 0 not in eqn.invars[0].aval.shape else None


@_rule("sort", "optimization_barrier")
def _each(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Each result has the elements of its operand."""
    return ask(i, True)


@_rule("gather")
def _gather(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    """Elements of the operand, unless places out of range are filled."""
    return (
        ask(0, True)
        if eqn.params["mode"]
        in (jax.lax.GatherScatterMode.CLIP, jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)
        else None
    )


@_rule("concatenate")
def _all(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Elements of all operands."""
    return _joined(ask, range(len(eqn.invars)))


@_rule("select_n")
def _select(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Elements of the cases."""
    return _joined(ask, range(1, len(eqn.invars)))


@_rule("pad", "dynamic_update_slice")
def _two(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Elements of the first two operands."""
    return _joined(ask, (0, 1))


@_rule("scatter")
def _scatter(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    """Elements of what is written to and of what is written."""
    return _joined(ask, (0, 2))


def _joined(ask: _Ask, places: Iterable[object]) -> Interval:
    found = EMPTY
    for n in places:
        found = join(found, ask(n, True))
    return found


@_rule("convert_element_type")
def _convert(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    """The same integers, where the new dtype holds them."""
    source, target = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    if limits(source)[1] == math.inf or target == np.bool_:
        return None
    # Where not all fit, it is what there is that decides.
    return ask(0, limits(target)[0] <= limits(source)[0] and limits(source)[1] <= limits(target)[1])


@_rule("iota")
def _iota(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    return (0, n - 1) if (n := eqn.params["shape"][eqn.params["dimension"]]) else EMPTY


@_rule("argmax", "argmin")
def _arg(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    shape = eqn.invars[0].aval.shape
    return 0, max(math.prod(shape[a] for a in eqn.params["axes"]) - 1, 0)


@_rule("top_k")
def _top_k(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    return (0, max(eqn.invars[0].aval.shape[eqn.params["axis"]] - 1, 0)) if i else ask(0, True)


@_rule("clamp")
def _clamp(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    (a, b), (c, d), (e, f) = ask(0), ask(1), ask(2)
    return min(max(c, a), e), min(max(d, b), f)


@_rule("max")
def _max(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    (a, b), (c, d) = ask(0), ask(1)
    return max(a, c), max(b, d)


@_rule("min")
def _min(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    (a, b), (c, d) = ask(0), ask(1)
    return min(a, c), min(b, d)


@_rule("add")
def _add(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    (a, b), (c, d) = ask(0), ask(1)
    return a + c, b + d


@_rule("sub")
def _sub(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    (a, b), (c, d) = ask(0), ask(1)
    return a - d, b - c


@_rule("neg")
def _neg(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    a, b = ask(0)
    return -b, -a


@_rule("mul")
def _mul(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    (a, b), (c, d) = ask(0), ask(1)
    if math.inf in (a, c):  # of nothing
        return EMPTY
    ends = (a * c, a * d, b * c, b * d)
    return min(ends), max(ends)


@_rule("rem")
def _rem(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    """C's remainder, which has the sign of the dividend. By zero it is the dividend or -1."""
    c, d = ask(1)
    if c <= 0 <= d or c == math.inf:
        return None
    most = max(abs(c), abs(d)) - 1
    a, b = ask(0)
    return (max(a, -most) if a < 0 else 0), (min(b, most) if b > 0 else 0)


@_rule("div")
def _div(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    """C's quotient, rounded towards zero."""
    (a, b), (c, d) = ask(0), ask(1)
    if c <= 0 <= d or math.inf in (a, c):
        return None
    ends = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x in (a, b) for y in (c, d)]
    return min(*ends, 0) if a <= 0 <= b else min(ends), max(*ends, 0) if a <= 0 <= b else max(ends)


@_rule("and")
def _and(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    highs = [high for low, high in (ask(0), ask(1)) if low >= 0 and high >= 0]
    return (0, min(highs)) if highs else None


@_rule("abs")
def _abs(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    a, b = ask(0)
    return (0 if a <= 0 <= b else min(abs(a), abs(b))), max(abs(a), abs(b))


@_rule("sign")
def _sign(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    return -1, 1


@_rule("reduce_sum")
def _sum(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    a, b = ask(0)
    n = math.prod(eqn.invars[0].aval.shape[d] for d in eqn.params["axes"])
    return (a * n, b * n) if a != math.inf else (0, 0)


@_rule("cumsum")
def _cumsum(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval | None:
    a, b = ask(0)
    n = eqn.invars[0].aval.shape[eqn.params["axis"]]
    return (min(a, a * n), max(b, b * n)) if a != math.inf else EMPTY


# ---- what a kernel knows of its results ----------------------------------------------------------

_in_range_p = Primitive("in_range")
_in_range_p.def_impl(lambda x, **_: x)
_in_range_p.def_abstract_eval(lambda x, **_: x)
mlir.register_lowering(_in_range_p, lambda ctx, x, **_: [x])
batching.defvectorized(_in_range_p)


def in_range(x: jax.Array, low: int, high: int) -> jax.Array:
    """Integers as they are, stated to lie in ``low`` to ``high`` where a kernel's equations do not
    show it: positions found by bits or by comparisons. Nothing runs for it."""
    if is_symbolic_dim(low) or is_symbolic_dim(high):
        # bounds that vary say nothing
        return _in_range_p.bind(x, low=low, high=high) if is_supposing() else x
    return _in_range_p.bind(x, low=int(low), high=int(high))


@_rule("in_range")
def _stated(eqn: JaxprEqn, ask: _Ask, i: int) -> Interval:
    return eqn.params["low"], eqn.params["high"]
