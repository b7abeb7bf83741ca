"""Which sizes of a program must be equal, lie in narrower bounds, or be numbers: found by tracing again where a trace is refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

from jtorch._src.tensor.shape_env import ConstraintViolation

from ._plan import Plan
from .dynamic_shapes import ConstraintError, Range

__all__ = ["solved"]

#: How often a program is traced at most to find out what its sizes must be.
_MOST = 24
_BOUND = re.compile(r"decides by (not \()?(?:(\d+)\*)?(s\d+)(?: ([+-]) (\d+))? (>=|<=|>|<) (-?\d+)")
_EQUAL = re.compile(r"decides by (s\d+) == (s\d+)")
_OPPOSITE = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}


def solved(made: Plan, flat: list[Any], trace: Callable[[Plan], Any]) -> tuple[Plan, Any]:
    """What is said of the sizes with as few changes as a trace needs, and the trace. Sizes with a name are never changed.

    Raises:
        ConstraintError: if none will do; it suggests how to declare the sizes that have names, where that is known.
    """
    try:
        return _searched(made, flat, trace, set(made.places) - set(made.dims), [_MOST])
    except ConstraintViolation as violation:
        text = str(violation)
    if made.dims:
        try:
            fixed, _ = _searched(made, flat, trace, set(made.places), [_MOST])
        except ConstraintViolation:
            fixed = made
        fixes = dict.fromkeys(fix for name, fix in fixed.fixes if name in made.dims)
        if fixes:
            names = ", ".join(dict.fromkeys(made.dims[name] for name, _ in fixed.fixes if name in made.dims))
            said = text.removeprefix("Constraints violated: ")
            text = f"Constraints violated ({names})! {said}\nSuggested fixes:\n" + "\n".join([f"  {fix}" for fix in fixes])
    raise ConstraintError(text)


def _searched(made: Plan, flat: list[Any], trace: Callable[[Plan], Any], free: set[str], left: list[int]) -> tuple[Plan, Any]:
    left[0] -= 1
    try:
        return made, trace(made)
    except ConstraintViolation as violation:
        if left[0] <= 0:
            raise
        deepest = violation
        for change in _changes(made, str(violation), flat, free):
            changed = copy.deepcopy(made)
            try:
                change(changed)
                return _searched(changed, flat, trace, free, left)
            except ConstraintViolation as next_one:
                deepest = next_one if deepest is violation else deepest
                if left[0] <= 0:
                    break
        raise deepest from None


def _changes(made: Plan, text: str, flat: list[Any], free: set[str]) -> Iterator[Callable[[Plan], None]]:
    """What may be said of the sizes that a violation speaks of, the likeliest first."""
    bound = _BOUND.search(text)
    if bound is not None and bound[3] in free & made.symbols.keys():
        yield lambda plan: _narrowed(plan, bound)
    equal = _EQUAL.search(text)
    spoken = list(equal.groups()) if equal else re.findall(r"(s\d+)_e\d+", text)
    spoken = [n for n in dict.fromkeys(spoken) if n in free and n in made.symbols]
    differ = re.search(r"_e\d+ [+-] \d+", text) is not None
    for p, q, more in _pairs(made, spoken, "mat1 and mat2" in text or bool(equal), differ):
        yield lambda plan, p=p, q=q, more=more: _joined(plan, p, q, more)
    numbers = set(re.findall(r"\bs\d+\b", text.partition("(")[0])) & made.symbols.keys() or set(made.symbols)
    numbers &= free & (made.automatic.keys() | made.dims.keys())
    if numbers:
        yield lambda plan: _numbers(plan, numbers, flat)


def _pairs(made: Plan, names: list[str], any_dim: bool, differ: bool) -> Iterator[tuple[str, str, int]]:
    """Pairs of sizes of different inputs that are equal in the example, and where they may ``differ`` two that do: the larger, the smaller
    and the difference."""
    found = []
    for i, a in enumerate(names):
        for j, b in enumerate(names[i + 1 :], i + 1):
            (leaf, dim), (other, at) = made.places[a], made.places[b]
            if made.symbols[a][0] == made.symbols[b][0] and (leaf != other or any_dim):
                found.append((j - i if any_dim else dim != at, b, a))
    for _, p, q in sorted(found, key=lambda pair: pair[0]):
        yield p, q, 0
    if differ and len(names) == 2 and made.places[names[0]][0] != made.places[names[1]][0]:
        p, q = sorted(names, key=lambda n: -made.symbols[n][0])
        if made.symbols[p][0] != made.symbols[q][0]:
            yield p, q, made.symbols[p][0] - made.symbols[q][0]


def _joined(plan: Plan, p: str, q: str, more: int) -> None:
    """Says that a size is another one, plus a number."""
    text = q if not more else f"{q} + {more}"
    if any(isinstance(s, str) and s != p and re.search(rf"\b{p}\b", s) for sizes in plan.sizes if sizes for s in sizes):
        raise ConstraintViolation(f"{p} is a part of other sizes")
    plan.sizes = [None if sizes is None else [text if s == p else s for s in sizes] for sizes in plan.sizes]
    hint, low, high = plan.symbols[q]
    _, p_low, p_high = plan.symbols[p]
    highs = [n for n in (high, None if p_high is None else p_high - more) if n is not None]
    plan.symbols[q] = hint, max(low, p_low - more), min(highs) if highs else None
    floor = max(plan.ranges[q].lower or 0, (plan.ranges[p].lower or 0) - more)
    plan.ranges[q] = Range(floor, min(highs) if highs else None)
    plan.fixes.append((p, f"{plan.dims.get(p, p)} = {plan.dims.get(q, q)}" + (f" + {more}" if more else "")))
    if p not in plan.automatic:
        plan.automatic.pop(q, None)
    plan.forget(p)


def _narrowed(plan: Plan, bound: re.Match[str]) -> None:
    """Says what a comparison says of a size."""
    denied, times, name, sign, plus, op, limit = bound.groups()
    op = _OPPOSITE[op] if denied else op
    rest = int(limit) - (0 if plus is None else int(plus) if sign == "+" else -int(plus))
    times = int(times or 1)
    hint, low, high = plan.symbols[name]
    allowed = plan.ranges[name]
    if op in (">", ">="):
        least = rest // times + 1 if op == ">" else -(-rest // times)
        plan.symbols[name], plan.ranges[name] = (hint, max(low, least), high), Range(max(allowed.lower or 0, least), allowed.upper)
        said = f"min={least}"
    else:
        most = -(-rest // times) - 1 if op == "<" else rest // times
        most = most if high is None else min(high, most)
        plan.symbols[name], plan.ranges[name] = (hint, low, most), Range(allowed.lower, most)
        said = f"max={most}"
    label = plan.dims.get(name, name)
    plan.fixes.append((name, f"{label} = Dim('{label}', {said})"))


def _numbers(plan: Plan, names: set[str], flat: list[Any]) -> None:
    """Takes sizes for numbers."""
    for name in names:
        leaf, dim = plan.places[name]
        n = flat[leaf].shape[dim]
        plan.fixes.append((name, f"{plan.dims.get(name, name)} = {plan.symbols[name][0]}"))
        plan.static(leaf, dim, n)
