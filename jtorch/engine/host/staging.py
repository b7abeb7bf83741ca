"""Staging: from the jaxpr of a kernel to a program of NumPy calls, first walked step by step, then as generated straight-line code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from jax.extend import core as jex

from .rules import Equation, load, same

#: Primitives that only hold another jaxpr: it becomes part of the program around it.
_HOLDERS = frozenset(
    "jit pjit closed_call core_call core_closed_call remat checkpoint custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr "
    "custom_lin".split()
)
#: Runs after which a program becomes code of its own: making that takes as long as some ten runs.
CODE_AFTER = 4
#: Values with more bytes than this are given up after their last use; smaller ones when the program ends.
LARGE = 1 << 15

_Literal = jex.Literal


class Unstaged(Exception):
    """Some equation of a jaxpr has no rule; says which."""


class Program:
    """A jaxpr as a list of NumPy calls.

    Calling it with the operands, NumPy arrays or scalars of the dtypes that the jaxpr has, gives the list of results, which may be views,
    laid out in any way, or scalars.

    Attributes:
        cost: about how many seconds a run takes, by the constants of the rules.
        steps: what computes, the numbers of its operands, the number or numbers of its results, and which values are not needed after it.
    """

    __slots__ = ("cost", "given", "outs", "run", "runs", "steps", "template")

    def __init__(self, template: list[Any], steps: list[Any], outs: list[int], given: int, cost: float) -> None:
        self.template, self.steps, self.outs, self.given, self.cost = template, steps, outs, given, cost
        self.runs = 0
        self.run: Callable[..., list[Any]] = self._walk

    def __call__(self, *operands: Any) -> list[Any]:
        """Runs the program."""
        return self.run(*operands)

    def _walk(self, *operands: Any) -> list[Any]:
        """Takes the steps one by one."""
        self.runs += 1
        if self.runs > CODE_AFTER:
            names = self.names()
            exec("\n".join([self._head(), *self.body("    "), f"    return [{self._results()}]"]), names)  # made of nothing but numbers
            self.run = names["run"]
            return self.run(*operands)
        at = [*operands, *self.template]
        for compute, ins, out, dead in self.steps:
            found = compute(*[at[i] for i in ins])
            if type(out) is int:
                at[out] = found
            else:
                for i, x in zip(out, found, strict=True):
                    at[i] = x
            for i in dead:
                at[i] = None
        return [at[i] for i in self.outs]

    def code(self, prologue: Sequence[str], epilogue: Sequence[str], names: dict[str, Any]) -> Callable[..., Any]:
        """The same as one generated function: ``v0``, ``v1`` ... are what it is given, and ``epilogue`` returns ``results``."""
        names |= self.names()
        lines = [self._head(), *["    " + x for x in prologue], "    token = ignore(nothing)", "    try:", *self.body("        ")]
        lines += ["        pass", "    finally:", "        heed(token)"]
        exec("\n".join([*lines, *["    " + x for x in epilogue]]), names)
        return names["run"]

    def names(self) -> dict[str, Any]:
        """What the generated code calls by name: constants and functions."""
        names: dict[str, Any] = {f"v{i}": x for i, x in enumerate(self.template, self.given) if x is not None}
        names.update({f"f{k}": step[0] for k, step in enumerate(self.steps)})
        return names

    def body(self, indent: str) -> list[str]:
        """The steps as lines of Python."""
        lines = []
        for k, (_, ins, out, dead) in enumerate(self.steps):
            targets = [out] if type(out) is int else out
            left = ", ".join([f"v{i}" for i in targets]) + ("" if type(out) is int else ",")
            lines.append(f"{indent}{left + ' = ' if targets else ''}f{k}({', '.join([f'v{i}' for i in ins])})")
            if dead:
                lines.append(f"{indent}del {', '.join([f'v{i}' for i in dead])}")
        return lines

    def _head(self) -> str:
        return f"def run({', '.join([f'v{i}' for i in range(self.given)])}):"

    def _results(self) -> str:
        return ", ".join([f"v{i}" for i in self.outs])


class _Stager:
    def __init__(self) -> None:
        self.rules = load()
        self.template: list[Any] = []
        self.steps: list[list[Any]] = []
        self.avals: list[Any] = []
        self.cost = 0.0
        self.broadcasting: list[bool] = []  # whether each step broadcasts its operands itself
        self.broadcasts: dict[int, tuple[int, Equation]] = {}  # results that only repeat others, by what makes them
        self.stage = functools.cache(_staged)  # rules ask once for the program and once more for its cost

    def new(self, aval: Any, constant: Any = None) -> int:
        self.avals.append(aval)
        self.template.append(constant)
        return len(self.avals) - 1

    def walk(self, jaxpr: Any, consts: Sequence[Any], ins: Sequence[int]) -> list[int]:
        at: dict[Any, int] = {}

        def number(x: Any) -> int:
            if type(x) is _Literal:
                return self.new(x.aval, _constant(x.val, x.aval))
            return at[x]

        for v, c in zip(jaxpr.constvars, consts, strict=True):
            at[v] = self.new(v.aval, _constant(c, v.aval))
        at.update(zip(jaxpr.invars, ins, strict=True))
        for e in jaxpr.eqns:
            name = e.primitive.name
            operands = [number(x) for x in e.invars]
            if name in _HOLDERS:
                inner = e.params.get("jaxpr") or e.params.get("call_jaxpr") or e.params.get("fun_jaxpr")
                if inner is None:
                    raise Unstaged(name)
                found = self.walk(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), operands)
                at.update(zip(e.outvars, found, strict=True))
                continue
            rule = self.rules.get(name)
            if rule is None:
                raise Unstaged(name)
            equation = Equation(name, tuple([x.aval for x in e.invars]), tuple([x.aval for x in e.outvars]), e.params, self.stage)
            if not all(isinstance(a.dtype, np.dtype) for a in (*equation.ins, *equation.outs) if hasattr(a, "dtype")):
                raise Unstaged(f"{name} of {[a.dtype for a in equation.ins]}")
            compute = rule.make(equation)
            if compute is None:
                raise Unstaged(f"{name} of {[str(a) for a in equation.ins]}")
            if compute is same:
                at.update(zip(e.outvars, operands, strict=True))
                continue
            outs = [self.new(x.aval) for x in e.outvars]
            at.update(zip(e.outvars, outs, strict=True))
            self.cost += rule.cost(equation)
            self.steps.append([compute, tuple(operands), tuple(outs) if e.primitive.multiple_results else outs[0], ()])
            self.broadcasting.append(rule.broadcasts)
            if name == "broadcast_in_dim":
                self.broadcasts[outs[0]] = len(self.steps) - 1, equation
        return [number(x) for x in jaxpr.outvars]

    def leave_to_ufuncs(self, outs: Sequence[int]) -> None:
        """Drops the broadcasts of what is only used by functions that broadcast by themselves."""
        users: dict[int, list[int]] = {}
        for k, (_, ins, _, _) in enumerate(self.steps):
            for i in ins:
                users.setdefault(i, []).append(k)
        left: set[int] = set()
        for i, (k, e) in self.broadcasts.items():
            if i in outs or not all(self.broadcasting[u] and self._is_full(u, i, left) for u in users.get(i, ())):
                continue
            left.add(i)
            step = self.steps[k]
            shape = [1] * len(e.out.shape)
            for d, n in zip(e.params["broadcast_dimensions"], e.ins[0].shape, strict=True):
                shape[d] = n
            if e.ins[0].ndim == 0 or tuple(shape) == e.ins[0].shape:
                for u in users.get(i, ()):
                    user = self.steps[u]
                    user[1] = tuple([step[1][0] if j == i else j for j in user[1]])
            else:
                step[0] = partial(_reshaped, shape=tuple(shape))

    def _is_full(self, k: int, i: int, left: set[int]) -> bool:
        """Whether a step has another operand with the shape of its result, which no broadcast has given it up to now."""
        _, ins, out, _ = self.steps[k]
        return type(out) is int and any(j != i and j not in left and self.avals[j].shape == self.avals[out].shape for j in ins)


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(shape)


def _constant(x: Any, aval: Any) -> np.ndarray:
    found = np.asarray(x, aval.dtype)
    found.flags.writeable = False
    return found


def stage(closed: Any) -> Program:
    """The program of a closed jaxpr.

    Raises:
        Unstaged: if some of it has no rule.
    """
    jaxpr = closed.jaxpr
    if jaxpr.effects:
        raise Unstaged(f"effects {jaxpr.effects}")
    stager = _Stager()
    ins = [stager.new(v.aval) for v in jaxpr.invars]
    stager.template.clear()  # the operands come with each call
    outs = stager.walk(jaxpr, closed.consts, ins)
    stager.leave_to_ufuncs(outs)
    steps = _needed(stager.steps, outs)
    sizes = [a.size * a.dtype.itemsize if isinstance(getattr(a, "dtype", None), np.dtype) else 0 for a in stager.avals]
    _give_up(steps, outs, sizes, len(ins), stager.template)
    return Program(stager.template, [tuple(s) for s in steps], outs, len(ins), stager.cost)


def _staged(closed: Any) -> Program | None:
    """The program of a jaxpr inside another; None if some of it has no rule."""
    try:
        return stage(closed)
    except Unstaged:
        return None


def _needed(steps: list[list[Any]], outs: Sequence[int]) -> list[list[Any]]:
    """The steps that results depend on."""
    wanted = set(outs)
    found = []
    for step in reversed(steps):
        made = step[2]
        if (made in wanted) if type(made) is int else not wanted.isdisjoint(made):
            wanted.update(step[1])
            found.append(step)
    found.reverse()
    return found


def _give_up(steps: list[list[Any]], outs: Sequence[int], sizes: Sequence[int], given: int, template: Sequence[Any]) -> None:
    """Notes with each step which large values nothing uses after it."""
    seen = set(outs)
    for step in reversed(steps):
        made = (step[2],) if type(step[2]) is int else step[2]
        dead = []
        for i in dict.fromkeys((*step[1], *made)):
            if i not in seen:
                seen.add(i)
                if sizes[i] > LARGE and (i < given or template[i - given] is None):
                    dead.append(i)
        step[3] = tuple(dead)
