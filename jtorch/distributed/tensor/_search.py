"""How a call is carried out on meshes of several dimensions: the cheapest walk of its operands to
placements that fit ways on all of them.

A step changes how one operand lies along one dimension of the mesh, as one collective could, or
none. Processes all walk alike.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._dtensor_spec import DTensorSpec
from .placement_types import Placement, Replicate, _is_shard_like

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


#: How many states are looked at; beyond, dimensions of the mesh choose one after the other.
LIMIT = 500


def ring(n: int, size: float, times: int = 1) -> float:
    """Microseconds in which a ring of ``n`` processes passes ``size`` bytes, in PyTorch's estimate
    for GPUs."""
    hops = times * (n - 1)
    return 6.6 + hops * 0.6 + size * hops / n / 87.7e9 * 1e6


def step(a: Placement, b: Placement, n: int, held: float) -> tuple[float, float]:
    """What a step costs, and how many bytes a process holds after it."""
    if a == b:
        return 0.0, held
    if _is_shard_like(a):
        if b.is_replicate():
            return ring(n, held * n), held * n
        return (ring(n, held) + 1.0, held) if _is_shard_like(b) else (math.inf, held)
    if a.is_partial():
        if b.is_replicate():
            return ring(n, held, 2), held
        return (ring(n, held), held / n) if _is_shard_like(b) else (math.inf, held)
    return 0.0, held / n if _is_shard_like(b) else held


def bytes_held(spec: DTensorSpec) -> float:
    """How many bytes a process has of a tensor, if parts are of one size."""
    meta = spec._meta()
    return math.prod(meta.shape) * meta.dtype.itemsize / spec.num_shards


def search(specs: Sequence[DTensorSpec], ways: Sequence[Any]) -> Values | None:
    """A way for each dimension of the mesh; None if none was found."""
    sizes = specs[0].mesh.shape
    fitting = {}
    for outs, ins in ways:
        fitting.setdefault(tuple(ins), (outs, ins))
    goals: list[list[Placement]] = [
        list(dict.fromkeys(ins[i] for ins in fitting)) for i in range(len(specs))
    ]
    start = tuple([s.placements for s in specs])
    count = itertools.count()
    heap = [(0.0, next(count), start, (0.0,) * len(specs), tuple([bytes_held(s) for s in specs]))]
    seen: set[Any] = set()
    while heap and len(seen) < LIMIT:
        _, _, state, costs, held = heapq.heappop(heap)
        if state in seen:
            continue
        seen.add(state)
        found = [fitting.get(tuple([p[d] for p in state])) for d in range(len(sizes))]
        if (
            None not in found
            and all(p == s.placements or _enough(s, p) for s, p in zip(specs, state, strict=True))
            and _one_kind(found)
        ):
            return found
        for d, i in itertools.product(range(len(sizes)), range(len(specs))):
            now = state[i]
            for p in _neighbours(goals[i], now, d):
                if math.isinf(step(start[i][d], p, sizes[d], 0.0)[0]):
                    continue
                cost, after = step(now[d], p, sizes[d], held[i])
                there = (*state[:i], (*now[:d], p, *now[d + 1 :]), *state[i + 1 :])
                if math.isinf(cost) or there in seen:
                    continue
                spent = (*costs[:i], costs[i] + cost, *costs[i + 1 :])
                heapq.heappush(
                    heap,
                    (sum(spent), next(count), there, spent, (*held[:i], after, *held[i + 1 :])),
                )
    return None


def _neighbours(
    goals: Sequence[Placement], now: Sequence[Placement], d: int
) -> Iterator[Placement]:
    """The placements that one step leads to. What later dimensions of the mesh have cut further is
    not taken apart, nor cut before them."""
    later = {p.dim for p in now[d + 1 :] if _is_shard_like(p)}
    p: Any = now[d]
    if _is_shard_like(p) and p.dim in later:
        return
    if not p.is_replicate():
        yield Replicate()
    for q in goals:
        if q != p and (
            (_is_shard_like(q) and q.dim not in later) or (q.is_partial() and p.is_replicate())
        ):
            yield q


def _enough(spec: DTensorSpec, placements: Sequence[Placement]) -> bool:
    """Whether each process gets an element."""
    parts = DTensorSpec(spec.mesh, tuple(placements), spec.tensor_meta).num_shards_map
    return all(n >= k for n, k in zip(spec.shape, parts, strict=True))


def _one_kind(found: Sequence[Any]) -> bool:
    """Whether no tensor would be partial in two manners."""
    for k in (0, 1):
        for placements in zip(*[way[k] for way in found], strict=True):
            kinds = {(type(p), p.reduce_op) for p in placements if p is not None and p.is_partial()}
            if len(kinds) > 1 and {op for _, op in kinds} != {"sum", "avg"}:
                return False
    return True
