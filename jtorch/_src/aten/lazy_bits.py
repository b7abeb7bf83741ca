"""Operands that show the conjugates or negatives of what is in memory: most operators get copies of them, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import Tensor, lazy_bits
from .overloads import OpOverload, aten

#: Operators that read either kind of operand themselves; those that read conjugates; those that read negatives.
_BOTH = frozenset(
    "clone copy_ set_ resolve_conj resolve_neg empty_like empty_strided full_like size stride t_ transpose_ squeeze_ unsqueeze_ "
    "as_strided_ detach_".split()
)
_CONJ = frozenset("_conj_physical conj_physical conj_physical_ dot vdot mm addmm addmm_ bmm baddbmm baddbmm_".split())
_NEG = frozenset(("neg_",))


def needs_copies(func: OpOverload, tensors: Sequence[Tensor]) -> bool:
    """Whether the operator has to be given copies of some operands: views are taken of the operands as they are."""
    for t in tensors:
        if t._al is not None and t._al.chain:
            conj, neg = lazy_bits(t)
            if (conj or neg) and not func._schema.is_view:
                name = func._opname
                return name not in _BOTH and ((conj and name not in _CONJ) or (neg and name not in _NEG))
    return False


def with_copies(func: OpOverload, values: list[Any], call: Callable[[OpOverload, list[Any]], Any]) -> Any:
    """The operator on copies; what it writes is copied back to the operands, which are returned in place of their copies."""
    name = func._opname
    written: list[tuple[Tensor, Tensor]] = []

    def resolved(x: Any, writes: bool) -> Any:
        if not isinstance(x, Tensor):
            return x
        conj, neg = lazy_bits(x)
        if not ((conj and name not in _CONJ) or (neg and name not in _NEG)):
            return x
        copy = call(aten.clone.default, [x, None])
        if writes:
            written.append((x, copy))
        return copy

    schema = func._schema
    given = list(values)
    for i in schema.tensors:
        x, writes = values[i], i in schema.writes
        given[i] = [resolved(item, writes) for item in x] if isinstance(x, (list, tuple)) else resolved(x, writes)
    out = call(func, given)
    for operand, copy in written:
        call(aten.copy_.default, [operand, copy, False])
    several = out if isinstance(out, tuple) else (out,)
    found = tuple([next((operand for operand, copy in written if copy is r), r) for r in several])
    return found if isinstance(out, tuple) else found[0]
