"""The step of a whole group as one recorded operation, and the lists it takes, kept from step to
step while nothing changed.

The step counts of parameters that always moved together are tensors of their own that hold one and
the same value, so that the operation counts (and corrects biases) once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ..autograd.accumulate import KINDS
from ..dispatch import ACTIVE

if TYPE_CHECKING:
    from .._src.facts.kinds import Named
    from .optimizer import Optimizer


Names = Callable[[dict[str, Any], Any], tuple[str, ...]]

#: What states have one number of for each parameter: those of parameters that always moved together
#: are equal.
COMMON = frozenset(("step", "mu_product", "mu", "eta"))


class Bucket:
    """Parameters that one call of the operation updates: they have the same buffers and the same
    step count.

    Attributes:
        params, states: the parameters and their state dicts.
        buffers: each buffer's name with the list of tensors, in the operation's order; an empty
            list where there is none yet.
    """

    __slots__ = ("buffers", "common", "getters", "params", "states", "stepped")

    def __init__(
        self, params: list[torch.Tensor], states: list[dict[str, Any]], names: Sequence[str]
    ) -> None:
        self.params, self.states = params, states
        self.buffers = {name: [state[name] for state in states] for name in names}
        self.getters = [(itemgetter(name), tensors) for name, tensors in self.buffers.items()]
        self.stepped = self.buffers.get("step")
        self.common = [tensors for name, tensors in self.buffers.items() if name in COMMON]

    def holds(self, state: dict[torch.Tensor, dict[str, object]]) -> bool:
        """Whether the optimiser's state is still what the lists were made from."""
        if not self.getters:
            return True
        if not all(map(is_, map(state.get, self.params), self.states)):
            return False
        try:
            for getter, tensors in self.getters:
                if not all(map(is_, map(getter, self.states), tensors)):
                    return False
        except KeyError:
            return False
        return all(map(same_value, self.common))


class Plan:
    """The buckets of one group, and what must not change for them to stay right."""

    __slots__ = ("buckets", "idle", "key", "kinds", "params", "plain")

    def __init__(
        self,
        key: tuple[str, ...] | bool | None,
        params: list[torch.Tensor],
        idle: list[torch.Tensor],
        buckets: list[Bucket],
        plain: bool,
    ) -> None:
        self.key, self.params, self.idle, self.buckets, self.plain = (
            key,
            params,
            idle,
            buckets,
            plain,
        )
        self.kinds = KINDS[0]

    def gradients(self, optimizer: Optimizer, group: Named) -> list[list[torch.Tensor]] | None:
        """The gradients of each bucket's parameters, or None where the plan no longer fits."""
        params = group["params"]
        if (
            self.kinds != KINDS[0]
            or len(params) != len(self.params)
            or not all(map(is_, params, self.params))
        ):
            return None
        for p in self.idle:
            if p.grad is not None:
                return None
        state = optimizer.state
        found = []
        stored = self.plain and not ACTIVE.modes  # so that nobody hears that they are asked for
        for bucket in self.buckets:
            if stored:
                grads = [g for p in bucket.params if (g := p._grad) is not None]
            else:
                grads = [g for p in bucket.params if (g := p.grad) is not None]
            if len(grads) != len(bucket.params) or not bucket.holds(state):
                return None
            found.append(grads)
        return found


def same_value(tensors: list[torch.Tensor]) -> bool:
    """Whether the tensors hold one and the same value (not merely equal ones)."""
    first = tensors[0]._v
    if first is not None:
        # a list is faster than a generator here
        return all([t._v is first for t in tensors])  # noqa: C419
    first = tensors[0]._read()
    return all(t._read() is first for t in tensors)


def share_value(tensors: list[torch.Tensor]) -> None:
    """Makes tensors of equal contents hold one and the same value."""
    torch._C._swap_(tensors, [tensors[0]] * len(tensors), repeat(0))


def plan_for(
    optimizer: Optimizer, group: dict[str, object], key: tuple[str, ...] | bool | None, names: Names
) -> tuple[Plan, list[list[torch.Tensor]]]:
    """The plan of a group and its gradients of this step; ``names(state, key)`` gives a state's
    buffers, ``key`` what it depends on.

    ``plan.plain`` is false for parameters that the fused operation does not take: it stays on the
    per-parameter path.
    """
    plans = optimizer.__dict__.get("_plans")
    if plans is None:
        plans = optimizer._plans = {}
    plan = plans.get(id(group))
    if plan is not None and plan.key == key:
        grads = plan.gradients(optimizer, group)
        if grads is not None:
            return plan, grads
    plan = plans[id(group)] = _build(optimizer, group, key, names, fresh=plan is None)
    grads = plan.gradients(optimizer, group)
    assert grads is not None
    return plan, grads


def _build(
    optimizer: Optimizer,
    group: Named,
    key: tuple[str, ...] | bool | None,
    names: Names,
    fresh: bool,
) -> Plan:
    known = {id(p) for p, state in optimizer.state.items() if state}
    params, _grads, states = optimizer._collect(group)
    chosen = {id(p) for p in params}
    idle = [p for p in group["params"] if id(p) not in chosen]
    named = [names(state, key) for state in states]
    plain = all(map(_is_plain, params, states, named))
    common = [name for name in (named[0] if named else ()) if name in COMMON]
    if not plain and any(
        type(s[name]) is not torch.Tensor for s in states for name in common
    ):  # no value that could be shared: fake tensors
        buckets = [
            Bucket([p], [s], [n for n in own if n not in COMMON])
            for p, s, own in zip(params, states, named)
        ]
        return Plan(key, list(group["params"]), idle, buckets, plain)
    if common:
        _unify([s for p, s in zip(params, states) if id(p) not in known], common)
        # after loading, equal counts are values of their own; reading them costs nothing, as they
        # are not pending
        if fresh:
            by_count = {}
            for p, s in zip(params, states):
                if id(p) in known:
                    by_count.setdefault(
                        tuple([torch._C._planned_by(s[name]) for name in common]), []
                    ).append(s)
            for alike in by_count.values():
                _unify(alike, common)
    members = {}
    for p, state, own in zip(params, states, named):
        ps, ss = members.setdefault(
            (own, p.device, *[id(state[name]._read()) for name in common]), ([], [])
        )
        ps.append(p)
        ss.append(state)
    return Plan(
        key,
        list(group["params"]),
        idle,
        [Bucket(ps, ss, shared[0]) for shared, (ps, ss) in members.items()],
        plain,
    )


def _is_plain(p: torch.Tensor, state: dict[str, torch.Tensor | None], names: Sequence[str]) -> bool:
    """Whether the operation on lists takes a parameter: an ordinary one of floats, with gradients
    and buffers of its dtype."""
    if type(p) not in (torch.Tensor, torch.nn.Parameter) or not p.is_floating_point():
        return False
    if p._grad_kind is not None:
        return False
    held = [state[name] for name in names if name not in COMMON]
    # a list is faster than a generator here
    return all([type(b) is torch.Tensor and b.dtype == p.dtype for b in held])  # noqa: C419


def _unify(states: list[Named], names: list[str]) -> None:
    if len(states) > 1:
        for name in names:
            share_value([state[name] for state in states])


def plain_gradients(grads: list[torch.Tensor]) -> bool:
    """Whether all are ordinary tensors; subclasses take the path of public operations, where their
    protocols are heard."""
    return all(map(is_, map(type, grads), repeat(torch.Tensor)))


def unscaled(optimizer: object, grads: list[torch.Tensor]) -> bool:
    """Divides gradients by the scale that a ``GradScaler`` left on the optimiser; False where they
    overflowed: the step is skipped."""
    found_inf, scale = getattr(optimizer, "found_inf", None), getattr(optimizer, "grad_scale", None)
    if found_inf is not None and found_inf.item() != 0:
        return False
    if scale is not None:
        for g in grads:
            g.div_(scale)
    return True
