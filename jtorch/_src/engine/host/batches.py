"""One formula for each of many small arrays, as a step of an optimiser or a function of lists has it: many of them are joined, computed at
once and parted again, so that NumPy is called once for all of them.

Elements are computed one by one, and each from its own, so that the numbers are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .direct import Chosen, concatenate, where
from .generated import made
from .rules import BYTE, CALL

#: Arrays of more bytes are computed one by one: calling NumPy for each takes less than copying them twice does.
PIECE = 1 << 13
#: Bytes of one operand's arrays that are joined: what a formula has in hand should stay in the caches of a core.
JOINED = 1 << 16
#: Fewer arrays are computed one by one.
FEW = 4
#: Seconds for joining and parting one array; and for each byte that is read or written in the caches.
PARTING, CACHED = 0.4e-6, 0.02e-9

#: A step of a program: what computes, the numbers of its operands, that of its result, and what is given up after it.
Step = list[Any]


class Batched:
    """The steps of a program where formulas that came many times come once.

    Attributes:
        steps: all of them; those that were joined are the last.
        saved: how many seconds of a run that saves.
        calling: how many seconds go into calling NumPy, and into joining and parting.
    """

    __slots__ = ("calling", "saved", "steps")

    def __init__(self, steps: list[Step], saved: float, calling: float) -> None:
        self.steps, self.saved, self.calling = steps, saved, calling


def batched(steps: list[Step], specs: Sequence[Any], outs: Sequence[int], costs: dict[Any, float]) -> Batched:
    """Joins what can be joined; ``costs`` has the seconds of each step by its result."""
    groups = [g for alike in _alike(steps, specs, set(outs)).values() for g in _parts(alike, steps, specs)]
    if not groups:
        return Batched(steps, 0.0, CALL * len(steps))
    taken = {k for group in groups for chain in group for k in chain}
    left = [s for k, s in enumerate(steps) if k not in taken]
    saved, calling = 0.0, CALL * len(left)
    for group in groups:
        step, called = _joined([[steps[k] for k in chain] for chain in group], specs, set(outs))
        left.append(step)
        alone = sum([costs[steps[k][2]] for chain in group for k in chain])
        nbytes = sum([_bytes(specs[i]) for chain in group for k in chain for i in (*steps[k][1], steps[k][2])])
        work = alone - CALL * sum(map(len, group)) - (BYTE - CACHED) * nbytes
        saved += alone - called - work
        calling += called
    return Batched(left, saved, calling)


def _bytes(spec: Any) -> int:
    return spec.size * spec.dtype.itemsize


def _alike(steps: list[Step], specs: Sequence[Any], outs: set[int]) -> dict[Any, list[list[int]]]:
    """Chains of steps that have no array in common with other steps, by the formula that they compute."""
    of: dict[int, int] = {}

    def root(i: int) -> int:
        while (up := of.setdefault(i, i)) != i:
            of[i] = i = of[up]
        return i

    others: list[int] = []
    for step in steps:
        _, ins, out, _ = step
        results = [out] if type(out) is int else out
        arrays = [i for i in (*ins, *results) if specs[i].ndim]
        if _is_elementwise(step, arrays, specs):
            first = root(out)
            for i in arrays:
                of[root(i)] = first
        else:
            others += arrays
    spoiled = {root(i) for i in others}
    chains: dict[int, list[int]] = {}
    for k, (_, _, out, _) in enumerate(steps):
        if type(out) is int and specs[out].ndim and (chain := root(out)) not in spoiled:
            chains.setdefault(chain, []).append(k)
    alike: dict[Any, list[list[int]]] = {}
    if len(chains) >= FEW:
        for chain in chains.values():
            alike.setdefault(_formula([steps[k] for k in chain], specs, outs), []).append(chain)
    return alike


def _is_elementwise(step: Step, arrays: list[int], specs: Sequence[Any]) -> bool:
    """Whether each element of a step's result depends on those of the operands at its place, and on numbers, and there are few of them."""
    compute, ins, out, _ = step
    if type(out) is not int or len(arrays) < 2:
        return False
    if type(compute) is Chosen:
        if specs[ins[0]].ndim or not (specs[ins[1]].ndim and specs[ins[2]].ndim):
            return False
    elif not (type(compute) is np.ufunc or compute is where):
        return False
    made = specs[out]
    return made.ndim > 0 and made.size > 0 and all(specs[i].shape == made.shape and _bytes(specs[i]) <= PIECE for i in arrays)


def _formula(chain: list[Step], specs: Sequence[Any], outs: set[int]) -> Any:
    """What a chain computes, whatever the numbers and the size of its arrays are; equal for those that can be joined."""
    at: dict[int, int] = {}
    found = []
    for compute, ins, out, _ in chain:
        operands = tuple([(at.setdefault(i, len(at)), specs[i].dtype) if specs[i].ndim else i for i in ins])
        at[out] = len(at)
        found.append((Chosen if type(compute) is Chosen else compute, operands, specs[out].dtype, out in outs))
    return tuple(found)


def _parts(alike: list[list[int]], steps: list[Step], specs: Sequence[Any]) -> list[list[list[int]]]:
    """Chains to be joined, those that come one after the other, up to a size."""
    parts: list[list[list[int]]] = []
    size = JOINED
    for chain in alike:
        nbytes = max([_bytes(specs[steps[k][2]]) for k in chain])
        if size + nbytes > JOINED:
            parts.append([])
            size = 0
        parts[-1].append(chain)
        size += nbytes
    return [part for part in parts if len(part) >= FEW]


def _joined(chains: list[list[Step]], specs: Sequence[Any], outs: set[int]) -> tuple[Step, float]:
    """The step that computes all chains at once, and how many seconds go into calling, joining and parting."""
    at: dict[int, int] = {}  # the arrays of the first chain, numbered; those of the others have the same numbers
    members: list[list[int]] = []
    names: dict[str, Any] = {"join": concatenate}
    lines: list[str] = []
    numbers: dict[int, str] = {}
    for n, (compute, ins, out, _) in enumerate(chains[0]):
        operands = []
        for place, i in enumerate(ins):
            if not specs[i].ndim:
                operands.append(numbers.setdefault(i, f"n{i}"))
                continue
            if i not in at:
                at[i] = len(members)
                members.append([chain[n][1][place] for chain in chains])
                given = ", ".join([f"v{k}" for k in members[-1]])
                lines.append(f"    j{at[i]} = join(({given}), None)")
            operands.append(f"j{at[i]}")
        at[out] = len(members)
        members.append([chain[n][2] for chain in chains])
        names[f"f{n}"] = Chosen.chosen if type(compute) is Chosen else compute
        lines.append(f"    j{at[out]} = f{n}({', '.join(operands)})")
    computed = {out for _, _, out, _ in chains[0]}
    arrays = [k for i, j in at.items() if i not in computed for k in members[j]]
    results = [out for _, _, out, _ in chains[0] if out in outs]
    returned = []
    for i in results:
        shapes = [specs[k].shape for k in members[at[i]]]
        if all(shape == shapes[0] for shape in shapes):
            returned.append(f"*j{at[i]}.reshape({(len(shapes), *shapes[0])})")
            continue
        begin = 0
        for shape, k in zip(shapes, members[at[i]], strict=True):
            returned.append(f"j{at[i]}[{begin}:{begin + specs[k].size}].reshape({shape})")
            begin += specs[k].size
    head = f"def run({', '.join([*[f'v{k}' for k in arrays], *numbers.values()])}):"
    compute = made([head, *lines, f"    return ({', '.join(returned)},)"], names)
    parted = [k for i in results for k in members[at[i]]]
    called = CALL * len(lines) + PARTING * (len(arrays) + len(parted))
    return [compute, (*arrays, *numbers), tuple(parted), ()], called
