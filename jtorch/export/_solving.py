"""Which sizes of a program must be equal, lie in narrower bounds, or be numbers: found by tracing
again where a trace is refused."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jtorch._src.tensor.shape_env import ConstraintViolation, env_of
from jtorch._src.tensor.size_texts import evaluate, in_torchs_words

from ..core import Tensor
from ._plan import Plan
from .dynamic_shapes import ConstraintError, Range

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand


__all__ = ["solved"]

#: How often a program is traced at most to find out what its sizes must be.
_MOST = 24
#: What a size may turn out to be a multiple of.
_FACTORS = (2, 3, 4, 8, 16)
_UNLIKE = re.compile(r"tensor a \((.+?)\) must match the size of tensor b \((.+?)\) at")
_CUT = re.compile(r"\bmin\((?:(\w+), (\d+)|(\d+), (\w+))\)", re.IGNORECASE)
_MIRRORED = {">": "<", "<=": ">=", "<": ">", ">=": "<="}


def solved(made: Plan, flat: list[Operand], trace: Callable[..., object]) -> tuple[Plan, Any]:
    """What is said of the sizes with as few changes as a trace needs, and the trace. Sizes with a
    name are never changed.

    Raises:
        ConstraintError: if none will do; it suggests how to declare the sizes that have names,
            where that is known.
    """
    try:
        return _searched(made, flat, trace, set(made.places) - set(made.dims), [_MOST])
    except ConstraintViolation as violation:
        if violation.__cause__ is not None:
            raise violation.__cause__ from None
        text = str(violation)
    if made.dims:
        try:
            fixed, _ = _searched(made, flat, trace, set(made.places), [_MOST])
        except ConstraintViolation:
            fixed = made
        fixes = dict.fromkeys(fix for name, fix in fixed.fixes if name in made.dims)
        if fixes:
            names = ", ".join(
                dict.fromkeys(made.dims[name] for name, _ in fixed.fixes if name in made.dims)
            )
            said = text.removeprefix("Constraints violated: ")
            text = f"Constraints violated ({names})! {said}\nSuggested fixes:\n" + "\n".join(
                [f"  {fix}" for fix in fixes]
            )
    raise ConstraintError(text)


def _searched(
    made: Plan,
    flat: list[Tensor | float],
    trace: Callable[[Plan], object],
    free: set[str],
    left: list[int],
) -> tuple[Plan, object]:
    left[0] -= 1
    try:
        return made, trace(made)
    except ConstraintViolation as violation:
        if left[0] <= 0:
            raise
        deepest = violation
        for change in _changes(made, violation, flat, free):
            changed = copy.deepcopy(made)
            try:
                change(changed)
                return _searched(changed, flat, trace, free, left)
            except ConstraintViolation as next_one:
                if deepest is violation and made.symbols.keys() >= set(next_one.met):
                    deepest = next_one
                if left[0] <= 0:
                    break
        raise deepest from None


def _changes(
    made: Plan, refused: ConstraintViolation, flat: list[Operand], free: set[str]
) -> Iterator[Callable[[Plan], None]]:
    """What may be said of the sizes that a violation speaks of, the likeliest first."""
    spoken = [n for n in refused.met if n in free and n in made.symbols]
    sign = "" if refused.comparison is None else refused.comparison[0]
    if refused.comparison is not None and len(refused.met) == 1 and spoken and sign in _MIRRORED:
        line = _line(refused.comparison, spoken[0])
        if line is not None:
            yield lambda plan: _narrowed(plan, spoken[0], *line, sign)
    able = free & (made.automatic.keys() | made.dims.keys())
    found = _UNLIKE.search(str(refused))
    if found is not None and any(side.isdigit() for side in found.groups()):
        alone = set(spoken) & able
        if alone:  # of an operand's sizes it is one that has to be this number
            yield lambda plan: _numbers(plan, alone, flat)
    for name, most in _cut(made, refused, spoken):
        yield lambda plan, name=name, most=most: _narrowed(plan, name, 1, -most, "<=")
    if sign in ("", "=="):
        for p, text in _products(made, refused, spoken):
            yield lambda plan, p=p, text=text: _product(plan, p, text)
        for p, q, times, more in _pairs(made, spoken, refused.matched or sign == "=="):
            yield lambda plan, p=p, q=q, times=times, more=more: _joined(plan, p, q, times, more)
    if sign in ("", "==", "!="):
        for name in spoken:
            hint = made.symbols[name][0]
            for times in [k for k in _FACTORS if hint % k == 0 and hint > k]:
                yield lambda plan, name=name, times=times: _multiple(plan, name, times)
    numbers = set(refused.needed) & made.symbols.keys() or set(made.symbols)
    numbers &= able
    if numbers:
        yield lambda plan: _numbers(plan, numbers, flat)


def _line(comparison: tuple[str, Any, Any], name: str) -> tuple[int, int] | None:
    """What the left side less the right one is, as a number of times the size, and a number; None
    where it is something else."""
    _, left, right = comparison
    difference = left - right
    symbol = str(env_of(difference).symbol(name).expr)
    a, b, c = [evaluate(str(difference), {symbol: n}) for n in (10, 11, 12)]
    return (b - a, a - 10 * (b - a)) if c - b == b - a and b != a else None


def _cut(made: Plan, refused: ConstraintViolation, names: list[str]) -> Iterator[tuple[str, int]]:
    """Sizes that something is cut to which has no more than so many elements, as the rows of a
    table of positions are."""
    found = _UNLIKE.search(str(refused))
    for side in found.groups() if found is not None else ():
        for a, most, least, b in _CUT.findall(in_torchs_words(side)):
            name, number = a or b, int(most or least)
            if name in names and made.symbols[name][0] <= number:
                yield name, number


def _products(
    made: Plan, refused: ConstraintViolation, names: list[str]
) -> Iterator[tuple[str, str]]:
    """Sizes that have to be an expression in several others, and its text."""
    found = _UNLIKE.search(str(refused))
    sides = [in_torchs_words(side) for side in found.groups()] if found is not None else []
    for p, text in (sides, sides[::-1]) if sides else ():
        others = set(re.findall(r"[a-z]\w*", text))
        if (
            p in names
            and p not in others
            and len(others) > 1
            and others <= made.symbols.keys()
            and made.symbols[p][2] is None
            and evaluate(text, {n: made.symbols[n][0] for n in others}) == made.symbols[p][0]
        ):
            yield p, text


def _pairs(made: Plan, names: list[str], any_dim: bool) -> Iterator[tuple[str, str, int, int]]:
    """Pairs of sizes, and what the first is in the example as so many times the second, and so much
    more. Those that are equal come first; of two that differ and are in different inputs, the
    larger is a multiple or has something more."""
    found = []
    for i, a in enumerate(names):
        for j, b in enumerate(names[i + 1 :], i + 1):
            (leaf, dim), (other, at) = made.places[a], made.places[b]
            if made.symbols[a][0] == made.symbols[b][0] and (leaf != other or any_dim):
                found.append((j - i if any_dim else dim != at, b, a))
    for _, p, q in sorted(found, key=lambda pair: pair[0]):
        yield p, q, 1, 0
    if len(names) == 2 and made.places[names[0]][0] != made.places[names[1]][0]:
        p, q = sorted(names, key=lambda n: -made.symbols[n][0])
        large, small = made.symbols[p][0], made.symbols[q][0]
        if large != small and large % small == 0:
            yield p, q, large // small, 0
        if large != small:
            yield p, q, 1, large - small


def _multiple(plan: Plan, name: str, times: int) -> None:
    """Says that a size is a multiple of a number."""
    hint, low, high = plan.symbols[name]
    part = plan.name(f"{name} // {times}")
    text = f"{times}*{part}"
    plan.replace(name, text)
    plan.symbols[part] = hint // times, 2, None if high is None else high // times
    allowed = plan.ranges[name]
    plan.ranges[part] = Range(
        -(-(allowed.lower or 0) // times), None if allowed.upper is None else allowed.upper // times
    )
    del low
    label = plan.dims.get(name, name)
    plan.fixes.append((name, f"{label} = {times}*_{label}"))
    plan.forget(name)


def _joined(plan: Plan, p: str, q: str, times: int, more: int) -> None:
    """Says that a size is another one so many times, plus a number."""
    text = (q if times == 1 else f"{times}*{q}") + (f" + {more}" if more else "")
    if any(
        isinstance(s, str) and s != p and re.search(rf"\b{p}\b", s)
        for sizes in plan.sizes
        if sizes
        for s in sizes
    ):
        raise ConstraintViolation(f"{p} is a part of other sizes")
    plan.replace(p, text)
    hint, low, high = plan.symbols[q]
    _, p_low, p_high = plan.symbols[p]
    highs = [
        n for n in (high, None if p_high is None else (p_high - more) // times) if n is not None
    ]
    plan.symbols[q] = hint, max(low, -(-(p_low - more) // times)), min(highs) if highs else None
    floor = max(plan.ranges[q].lower or 0, -(-((plan.ranges[p].lower or 0) - more) // times))
    plan.ranges[q] = Range(floor, min(highs) if highs else None)
    name = plan.dims.get(q, q)
    plan.fixes.append(
        (
            p,
            f"{plan.dims.get(p, p)} = {name if times == 1 else f'{times}*{name}'}"
            + (f" + {more}" if more else ""),
        )
    )
    if p not in plan.automatic:
        plan.automatic.pop(q, None)
    plan.forget(p)


def _product(plan: Plan, p: str, text: str) -> None:
    """Says that a size is an expression in others."""
    plan.replace(p, text)
    label = plan.dims.get(p, p)
    plan.fixes.append((p, f"{label} = {text}"))
    plan.forget(p)


def _narrowed(plan: Plan, name: str, times: int, more: int, sign: str) -> None:
    """Says that so many times a size, and a number, compare so with 0."""
    if times < 0:
        times, more, sign = -times, -more, _MIRRORED[sign]
    rest = -more
    hint, low, high = plan.symbols[name]
    allowed = plan.ranges[name]
    if sign in (">", ">="):
        least = rest // times + 1 if sign == ">" else -(-rest // times)
        plan.symbols[name], plan.ranges[name] = (
            (hint, max(low, least), high),
            Range(max(allowed.lower or 0, least), allowed.upper),
        )
        said = f"min={least}"
    else:
        most = -(-rest // times) - 1 if sign == "<" else rest // times
        most = most if high is None else min(high, most)
        plan.symbols[name], plan.ranges[name] = (hint, low, most), Range(allowed.lower, most)
        said = f"max={most}"
    label = plan.dims.get(name, name)
    plan.fixes.append((name, f"{label} = Dim('{label}', {said})"))


def _numbers(plan: Plan, names: set[str], flat: list[Tensor]) -> None:
    """Takes sizes for numbers."""
    for name in names:
        leaf, dim = plan.places[name]
        n = flat[leaf].shape[dim]
        plan.fixes.append((name, f"{plan.dims.get(name, name)} = {plan.symbols[name][0]}"))
        plan.static(leaf, dim, n)
