"""One formula for each of many small arrays, as a step of an optimiser or a function of lists has
it: many of them are joined, computed at once and parted again, so that NumPy is called once for all
of them.

Elements are computed one by one, and each from its own, so that the numbers are the same to the
bit. Where results take the places of operands that nobody else has, they are written into these
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import Chosen, concatenate, where
from .generated import made
from .in_place import MOST, have_places, in_place
from .rules import BYTE, CALL

if TYPE_CHECKING:
    from ...facts.kinds import Named, Values
    from .recipes import Spec


#: Arrays of more bytes are computed one by one: calling NumPy for each takes less than copying them
#: twice does.
PIECE = 1 << 13
#: Bytes of one operand's arrays that are joined: what a formula has in hand should stay in the
#: caches of a core.
JOINED = 1 << 16
#: Fewer arrays are computed one by one.
FEW = 4
#: Seconds for joining and parting one array; and for each byte that is read or written in the
#: caches.
PARTING, CACHED = 0.4e-6, 0.02e-9

#: A step of a program: what computes, the numbers of its operands, that of its result, and what is
#: given up after it.
Step = list[Any]


class Batched:
    """The steps of a program where formulas that came many times come once.

    Attributes:
        steps: all of them; those that were joined are the last.
        saved: how many seconds of a run that saves.
        calling: how many seconds go into calling NumPy, and into joining and parting.
        placed: the results that were written into operands.
    """

    __slots__ = ("calling", "placed", "saved", "steps")

    def __init__(self, steps: list[Step], saved: float, calling: float, placed: set[int]) -> None:
        self.steps, self.saved, self.calling, self.placed = steps, saved, calling, placed


def batched(
    steps: list[Step],
    specs: Sequence[Spec],
    results: Sequence[int],
    costs: dict[object, float],
    places: Mapping[int, int] | None = None,
) -> Batched:
    """Joins what can be joined; ``costs`` has the seconds of each step by its result.

    ``places`` are operands, by results, that nobody uses after the program, so that results may be
    written into them.
    """
    outs = set(results)
    steps, looped, placed = (
        _one_by_one(steps, specs, outs, places) if places else (steps, [], set())
    )
    groups = [
        g
        for alike in _alike(steps, specs, outs, PIECE, FEW).values()
        for g in _parts(alike, steps, specs)
    ]
    if not groups:
        return Batched([*steps, *looped], 0.0, CALL * len(steps), placed)
    taken = {k for group in groups for chain in group for k in chain}
    left = [s for k, s in enumerate(steps) if k not in taken]
    saved, calling = 0.0, CALL * len(left)
    for group in groups:
        step, called = _joined(
            [[steps[k] for k in chain] for chain in group], specs, outs, places or {}, placed
        )
        left.append(step)
        alone = sum([costs[steps[k][2]] for chain in group for k in chain])
        nbytes = sum(
            [
                _bytes(specs[i])
                for chain in group
                for k in chain
                for i in (*steps[k][1], steps[k][2])
            ]
        )
        work = alone - CALL * sum(map(len, group)) - (BYTE - CACHED) * nbytes
        saved += alone - called - work
        calling += called
    return Batched([*left, *looped], saved, calling, placed)


def _one_by_one(
    steps: list[Step], specs: Sequence[Spec], outs: set[int], places: Mapping[int, int]
) -> tuple[list[Step], list[Step], set[int]]:
    """What is left of a program without formulas of larger arrays that are computed in place, the
    steps that do so, and their results."""
    looped: list[Step] = []
    placed: set[int] = set()
    taken: set[int] = set()
    for alike in _alike(steps, specs, outs, MOST, 1).values():
        chains = [chain for chain in alike if _bytes(specs[steps[chain[0]][2]]) > PIECE]
        if (
            chains
            and (
                found := in_place(
                    [[steps[k] for k in chain] for chain in chains], specs, outs, places
                )
            )
            is not None
        ):
            looped.append(found)
            placed.update(found[2])
            taken.update(k for chain in chains for k in chain)
    return [s for k, s in enumerate(steps) if k not in taken], looped, placed


def _bytes(spec: Spec) -> int:
    return spec.size * spec.dtype.itemsize


def _alike(
    steps: list[Step], specs: Sequence[Spec], outs: set[int], most: int, few: int
) -> dict[Any, list[list[int]]]:
    """Chains of steps that have no array in common with other steps, by the formula that they
    compute, if there are not fewer than ``few``.

    Of arrays of more than ``most`` bytes there are none.
    """
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
        if _is_elementwise(step, arrays, specs, most):
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
    alike = {}
    if len(chains) >= few:
        for chain in chains.values():
            alike.setdefault(_formula([steps[k] for k in chain], specs, outs), []).append(chain)
    return alike


def _is_elementwise(step: Step, arrays: list[int], specs: Sequence[Spec], most: int) -> bool:
    """Whether each element of a step's result depends on those of the operands at its place, and on
    numbers, and there are few of them."""
    compute, ins, out, _ = step
    if type(out) is not int or len(arrays) < 2:
        return False
    if type(compute) is Chosen:
        if specs[ins[0]].ndim or not (specs[ins[1]].ndim and specs[ins[2]].ndim):
            return False
    elif not (type(compute) is np.ufunc or compute is where):
        return False
    made = specs[out]
    return (
        made.ndim > 0
        and made.size > 0
        and all(specs[i].shape == made.shape and _bytes(specs[i]) <= most for i in arrays)
    )


def _formula(chain: list[Step], specs: Sequence[Any], outs: set[int]) -> object:
    """What a chain computes, whatever the numbers and the size of its arrays are; equal for those
    that can be joined."""
    at: dict[int, int] = {}
    found = []
    for compute, ins, out, _ in chain:
        operands = tuple(
            [(at.setdefault(i, len(at)), specs[i].dtype) if specs[i].ndim else i for i in ins]
        )
        at[out] = len(at)
        found.append(
            (
                Chosen if type(compute) is Chosen else compute,
                operands,
                specs[out].dtype,
                out in outs,
            )
        )
    return tuple(found)


def _parts(
    alike: list[list[int]], steps: list[Step], specs: Sequence[Any]
) -> list[list[list[int]]]:
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


def _joined(
    chains: list[list[Step]],
    specs: Sequence[Spec],
    outs: set[int],
    places: Mapping[int, int],
    placed: set[int],
) -> tuple[Step, float]:
    """The step that computes all chains at once, and how many seconds go into calling, joining and
    parting."""
    # the arrays of the first chain, numbered; those of the others have the same numbers
    at: dict[int, int] = {}
    members: list[list[int]] = []
    names: Named = {"join": concatenate}
    lines: list[str] = []
    numbers: dict[int, str] = {}
    given = {i for chain in chains for _, ins, _, _ in chain for i in ins}
    # the arrays whose members are written into operands, with the numbers of their buffers
    into: dict[int, int] = {}
    for n, (compute, ins, out, _) in enumerate(chains[0]):
        operands = []
        for place, i in enumerate(ins):
            if not specs[i].ndim:
                operands.append(numbers.setdefault(i, f"n{i}"))
                continue
            if i not in at:
                at[i] = len(members)
                members.append([chain[n][1][place] for chain in chains])
                listed = ", ".join([f"v{k}" for k in members[-1]])
                lines.append(f"    j{at[i]} = join(({listed}), None)")
            operands.append(f"j{at[i]}")
        at[out] = len(members)
        members.append([chain[n][2] for chain in chains])
        names[f"f{n}"] = Chosen.chosen if type(compute) is Chosen else compute
        if have_places(members[-1], places, given, specs):
            into[at[out]] = len(into)
            if type(compute) is np.ufunc:
                operands.append(f"b{into[at[out]]}")
                lines.append(f"    j{at[out]} = f{n}({', '.join(operands)})")
            else:
                lines.append(
                    f"    j{at[out]} = b{into[at[out]]}; b{into[at[out]]}[...] = "
                    f"f{n}({', '.join(operands)})"
                )
            continue
        lines.append(f"    j{at[out]} = f{n}({', '.join(operands)})")
    computed = {out for _, _, out, _ in chains[0]}
    arrays = [k for i, j in at.items() if i not in computed for k in members[j]]
    results = [out for _, _, out, _ in chains[0] if out in outs]
    returned = []
    for i in results:
        if at[i] in into:
            written = ", ".join([f"v{places[k]}" for k in members[at[i]]])
            lines.append(f"    for v, w in zip(({written},), w{into[at[i]]}): v[...] = w")
            returned.append(written)
            placed.update(members[at[i]])
            continue
        shapes = [specs[k].shape for k in members[at[i]]]
        if all(shape == shapes[0] for shape in shapes):
            returned.append(f"*j{at[i]}.reshape({(len(shapes), *shapes[0])})")
            continue
        begin = 0
        for shape, k in zip(shapes, members[at[i]], strict=True):
            returned.append(f"j{at[i]}[{begin}:{begin + specs[k].size}].reshape({shape})")
            begin += specs[k].size
    if into:
        names["memory"], names["new"] = [], _buffers([[specs[k] for k in members[j]] for j in into])
        buffers = ", ".join([f"b{k}, w{k}" for k in into.values()])
        # Taken from where nobody else can meanwhile take them: another thread, or a handler, may be
        # in this code, too.
        lines = [
            "    try: lent = memory.pop()",
            "    except IndexError: lent = new()",
            f"    {buffers} = lent",
            *lines,
            "    memory.append(lent)",
        ]
    head = f"def run({', '.join([*[f'v{k}' for k in arrays], *numbers.values()])}):"
    compute = made([head, *lines, f"    return ({', '.join(returned)},)"], names)
    parted = [k for i in results for k in members[at[i]]]
    called = CALL * len(lines) + PARTING * (len(arrays) + len(parted))
    return [compute, (*arrays, *numbers), tuple(parted), ()], called


def _buffers(arrays: Sequence[Sequence[Any]]) -> Callable[[], list[object]]:
    """What makes an array for each of some joined ones, and a list of the parts of each in their
    own shapes."""

    def new() -> Values:
        found: list[Any] = []
        for specs in arrays:
            ends = np.cumsum([spec.size for spec in specs])
            joined = np.empty(int(ends[-1]), specs[0].dtype)
            found += (
                joined,
                [
                    joined[end - spec.size : end].reshape(spec.shape)
                    for end, spec in zip(ends.tolist(), specs, strict=True)
                ],
            )
        return found

    return new
