"""Operands that show the conjugates or negatives of what is in memory: most operators get copies of
them, as in PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor, lazy_bits
from ..bind.cores import COMPOSITES
from ..ops._declare import OPS
from .overloads import OpOverload, aten

if TYPE_CHECKING:
    from ..facts.kinds import Operand


@functools.cache
def _reads(bit: str) -> frozenset[str]:
    """The operators that read operands with a bit, ``conj`` or ``neg``, themselves: those that say
    so, and views in place."""
    found: set[str] = set()
    for record in (*OPS.values(), *COMPOSITES):
        said = record.lazy.split()
        if bit in said:
            found.add(record.name)
        if bit in said or f"{bit}_" in said or getattr(record, "family", "") == "view":
            found.add(f"{record.name}_")
    return frozenset(found)


def _needs_copy(name: str, conj: bool, neg: bool) -> bool:
    return (conj and name not in _reads("conj")) or (neg and name not in _reads("neg"))


def needs_copies(func: OpOverload, tensors: Sequence[Tensor]) -> bool:
    """Whether the operator has to be given copies of some operands: views are taken of the operands
    as they are."""
    for t in tensors:
        if t._al is not None and t._al.chain:
            conj, neg = lazy_bits(t)
            if (conj or neg) and not func._schema.is_view:
                return _needs_copy(func._opname, conj, neg)
    return False


def with_copies(
    func: OpOverload, values: list[Operand], call: Callable[[OpOverload, list[Any]], Any]
) -> object:
    """The operator on copies; what it writes is copied back to the operands, which are returned in
    place of their copies."""
    name = func._opname
    written: list[tuple[Tensor, Tensor]] = []

    def resolved(x: Tensor | complex, writes: bool) -> object:
        if not isinstance(x, Tensor):
            return x
        conj, neg = lazy_bits(x)
        if not _needs_copy(name, conj, neg):
            return x
        copy = call(aten.clone.default, [x, None])
        if writes:
            written.append((x, copy))
        return copy

    schema = func._schema
    given = list(values)
    for i in schema.tensors:
        x, writes = values[i], i in schema.writes
        given[i] = (
            [resolved(item, writes) for item in x]
            if isinstance(x, (list, tuple))
            else resolved(x, writes)
        )
    out = call(func, given)
    for operand, copy in written:
        call(aten.copy_.default, [operand, copy, False])
    several = out if isinstance(out, tuple) else (out,)
    found = tuple([next((operand for operand, copy in written if copy is r), r) for r in several])
    return found if isinstance(out, tuple) else found[0]
