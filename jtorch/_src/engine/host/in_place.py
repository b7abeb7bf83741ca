"""Formulas of arrays that are too large to be joined, where all results take the places of
operands: computed array by array, with a few others for what lies between, which are the same for
all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import Chosen
from .generated import made

if TYPE_CHECKING:
    from ...facts.kinds import Values
    from .recipes import Spec


#: What is between two operations of a formula should stay in the caches of a core; of more bytes it
#: is left to a compiler.
MOST = 1 << 18


def in_place(
    chains: Sequence[Sequence[Any]],
    specs: Sequence[Spec],
    outs: set[int],
    places: Mapping[int, int],
) -> Values | None:
    """The step that computes all chains of one formula one after the other; None where some result
    has no place."""
    at: dict[int, str] = {}
    arrays: list[list[int]] = []  # by operands of the formula, those of each chain
    numbers: dict[int, str] = {}
    uses = [{i for i in ins if specs[i].ndim} for _, ins, _, _ in chains[0]]
    names = {}
    lines: list[str] = []
    last: list[str] = []
    scratch = []  # their dtypes
    free: list[int] = []
    lent: dict[int, int] = {}
    results: list[tuple[str, list[int]]] = []
    given = {i for chain in chains for _, ins, _, _ in chain for i in ins}
    for n, (compute, ins, out, _) in enumerate(chains[0]):
        operands = []
        for k, i in enumerate(ins):
            if not specs[i].ndim:
                operands.append(numbers.setdefault(i, f"n{i}"))
                continue
            if i not in at:
                at[i] = f"a{len(arrays)}"
                arrays.append([chain[n][1][k] for chain in chains])
            operands.append(at[i])
        later = set().union(*uses[n + 1 :])
        names[f"f{n}"] = Chosen.chosen if type(compute) is Chosen else compute
        called = f"f{n}({', '.join(operands)}"
        target = ""
        if out in outs:
            own = [chain[n][2] for chain in chains]
            if not have_places(own, places, given, specs):
                return None
            place = places[out]
            if place not in at or [places[r] for r in own] != arrays[int(at[place][1:])]:
                return None
            results.append((at[place], own))
            if place not in later:
                target = at[place]
            else:
                last.append(f"        {at[place]}[...] = t{n}")
        if not target and type(compute) is np.ufunc:
            dtype = specs[out].dtype
            k = next((k for k in free if scratch[k] == dtype), len(scratch))
            if k == len(scratch):
                scratch.append(dtype)
            else:
                free.remove(k)
            target = f"s{k}"
            if out not in outs:
                lent[out] = k
        if not target:
            at[out] = f"t{n}"
            lines.append(f"        t{n} = {called})")
        else:
            at[out] = target
            lines.append(
                f"        {called}, {target})"
                if type(compute) is np.ufunc
                else f"        {target}[...] = {called})"
            )
            if out in outs and target[0] == "s":
                lines.append(f"        t{n} = {target}")
        free += [lent.pop(i) for i in list(lent) if i not in later and i != out]
    parameters = [k for members in arrays for k in members]
    names["memory"], names["new"] = [], _scratch([specs[chain[0][2]] for chain in chains], scratch)
    joined = [f"({', '.join([f'v{k}' for k in members])},)" for members in arrays]
    heads = [f"a{k}" for k in range(len(arrays))] + [f"s{k}" for k in range(len(scratch))]
    head = [
        f"def run({', '.join([*[f'v{k}' for k in parameters], *numbers.values()])}):",
        "    try: lent = memory.pop()",
        "    except IndexError: lent = new()",
        f"    for {', '.join(heads)}, in zip({', '.join(joined)}{', *lent' if scratch else ''}):",
    ]
    returned = [f"v{places[r]}" for _, own in results for r in own]
    compute = made(
        [*head, *lines, *last, "    memory.append(lent)", f"    return ({', '.join(returned)},)"],
        names,
    )
    return [compute, (*parameters, *numbers), tuple([r for _, own in results for r in own]), ()]


def have_places(
    results: Sequence[int], places: Mapping[int, int], given: set[int], specs: Sequence[Spec]
) -> bool:
    """Whether there is for each result an operand of the formulas that is like it, into which it
    may be written."""
    for r in results:
        p = places.get(r)
        if (
            p is None
            or p not in given
            or specs[p].shape != specs[r].shape
            or specs[p].dtype != specs[r].dtype
        ):
            return False
    return True


def _scratch(like: Sequence[Spec], dtypes: Sequence[np.dtype]) -> Callable[..., object]:
    """What makes, for each of some dtypes, arrays of the shapes of others, which all lie in the
    same memory."""

    def new() -> Values:
        most = max([a.size for a in like])
        memory = [np.empty(most, dtype) for dtype in dtypes]
        return [[m[: a.size].reshape(a.shape) for a in like] for m in memory]

    return new
