"""Which sizes of a call vary, as calls that differ in sizes alone show it. Floor 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from .supposing import watch
from .values import Aval, aval_of

#: Sizes below are never taken for ones that vary.
FEW = 5
#: Symbols of one pattern.
SYMBOLS = 6
#: So many calls must show a pattern: programs that train and evaluate, with a smaller batch at the
#: end of each, meet four shapes.
SIGHTINGS = 5
#: Static numbers of a call, and operand avals.
Items = tuple[Any, ...]


class Varying(NamedTuple):
    """A pattern of sizes: ``fixed`` ones by place; the place of each symbol; and places of sizes
    that are so many times the product of some symbols."""

    kinds: Any
    fixed: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    others: tuple[tuple[int, tuple[int, ...], int], ...]

    def matched(self, kinds: object, flat: Sequence[int]) -> tuple[int, ...] | None:
        """What the symbols stand for; None if these are sizes of another pattern."""
        if kinds != self.kinds:
            return None
        for at, n in self.fixed:
            if flat[at] != n:
                return None
        sizes = tuple([flat[at] for at in self.places])
        found: dict[int, Any] = {n: ((k,), 1) for k, n in enumerate(sizes)}
        for at, ks, times in self.others:
            n = times * math.prod([sizes[k] for k in ks])
            if flat[at] != n or found.setdefault(n, (ks, times)) != (ks, times):
                return None
        if min(sizes) < FEW or len(found) < len(sizes):
            return None
        return None if any([n in found for _, n in self.fixed]) else sizes  # noqa: C419

    def symbolic(self, items: Items, found: Sequence[Any]) -> Items:
        """Items of this pattern with symbols in the place of sizes."""
        at = {place: found[k] for k, place in enumerate(self.places)}
        at.update(
            {place: math.prod([found[k] for k in ks]) * times for place, ks, times in self.others}
        )
        made: list[Any] = []
        n = 0
        for item in items:
            if type(item) is not Aval:
                made.append(at.get(n, item))
                n += 1
            else:
                made.append(
                    aval_of(
                        tuple([at.get(n + axis, size) for axis, size in enumerate(item.shape)]),
                        item.dtype,
                        item.device,
                    )
                )
                n += item.ndim
        return tuple(made)

    def order(self, sizes: Sequence[int]) -> tuple[str, ...]:
        """What JAX can be told of the order of certain sizes: of each two that follow each other
        which is the larger one."""
        texts = {n: str(n) for _, n in self.fixed if n >= FEW}
        for _, ks, times in self.others:
            texts[times * math.prod([sizes[k] for k in ks])] = "*".join(
                [str(times), *[f"jtorch_n{k}" for k in ks]]
            )
        texts.update({n: f"jtorch_n{k}" for k, n in enumerate(sizes)})
        row = sorted(texts)
        pairs = [(texts[a], texts[b]) for a, b in itertools.pairwise(row)]
        return tuple([f"{b} >= {a} + 1" for a, b in pairs if not (a.isdigit() and b.isdigit())])

    def told(self) -> str:
        """The pattern as text."""
        return str((self.kinds, self.fixed, self.places, self.others))


_made: dict[tuple[str, ...], Sequence[Any]] = {}


def symbols(order: tuple[str, ...]) -> Sequence[Any]:
    """JAX's symbols for sizes of which it is told this much."""
    found = _made.get(order)
    if found is None:
        names = [f"jtorch_n{k}" for k in range(SYMBOLS)]
        scope = jax.export.SymbolicScope([*[f"{name} >= {FEW}" for name in names], *order])
        made = jax.export.symbolic_shape(",".join(names), scope=scope)
        if not _made:
            watch(type(made[0]))
        found = _made.setdefault(order, made)
    return found


def flat_of(items: Items) -> tuple[object, tuple[int, ...]]:
    """What items are but for sizes, and all their sizes in a row."""
    kinds = []
    flat: list[int] = []
    for item in items:
        if type(item) is Aval:
            kinds += (item.dtype, item.device, item.ndim)
            flat += item.shape
        else:
            kinds.append(None)
            flat.append(item)
    return tuple(kinds), tuple(flat)


def pattern_of(
    seen: Sequence[tuple[object, tuple[int, ...]]], kinds: object, flat: tuple[int, ...]
) -> Varying | None:
    """The pattern that sizes have in common with enough calls before."""
    alike = [other for known, other in reversed(seen) if known == kinds]
    tried: set[Varying] = set()
    for other in alike if len(alike) >= SIGHTINGS - 1 else ():
        for multiples in (True, False):
            pattern = _common(kinds, other, flat, multiples)
            if pattern is None or pattern in tried:
                continue
            tried.add(pattern)
            if sum([pattern.matched(kinds, one) is not None for one in alike]) >= SIGHTINGS - 1:
                return pattern
    return None


def _product(
    pair: tuple[int, int], symbols: Sequence[tuple[int, int]]
) -> tuple[tuple[int, ...], int] | None:
    """Which symbols a size is so many times the product of, in both calls."""
    m, n = pair
    for ks in itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(len(symbols)), k) for k in (1, 2)
    ):
        i, j = (math.prod([symbols[k][which] for k in ks]) for which in (0, 1))
        if m % i == 0 and n == m // i * j:
            return ks, m // i
    return None


def _common(
    kinds: object, a: tuple[int, ...], b: tuple[int, ...], multiples: bool
) -> Varying | None:
    """The pattern of two calls; with ``multiples`` sizes that are so many times another in both, or
    the product of two, are that."""
    fixed, varying = [], []
    for at, pair in enumerate(zip(a, b, strict=True)):
        if pair[0] == pair[1]:
            fixed.append((at, pair[0]))
        else:
            varying.append((at, pair))
    if not varying or min(min(pair) for _, pair in varying) < FEW:
        return None
    symbols: list[tuple[int, int]] = []
    places: list[int] = []
    meant: dict[tuple[int, int], tuple[tuple[int, ...], int]] = {}
    for _, pair in sorted(varying, key=lambda v: v[1]):
        if pair in meant:
            continue
        of = _product(pair, symbols) if multiples else None
        if of is None:
            of = (len(symbols),), 1
            symbols.append(pair)
            places.append(next(at for at, other in varying if other == pair))
            if len(symbols) > SYMBOLS:
                return None
        meant[pair] = of
    first = tuple(places)
    others = tuple([(at, *meant[pair]) for at, pair in varying if at not in first])
    pattern = Varying(kinds, tuple(fixed), first, others)
    return pattern if pattern.matched(kinds, a) and pattern.matched(kinds, b) else None
