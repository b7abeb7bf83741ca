"""To which dtype an operator converts its operands, for who writes it in another language."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...core import Tensor
from ..facts import dtypes
from ..ops._declare import NUMBER, OPS, STATIC, UNLESS_ROUNDED, Op
from .functions import flat

if TYPE_CHECKING:
    from .overloads import OpOverload


class Promotion(NamedTuple):
    """The dtype, and the places of the arguments that are converted to it."""

    dtype: dtypes.dtype
    places: list[int]


@functools.cache
def _by_operator() -> dict[str, Op]:
    found: dict[str, Op] = {}
    for op in OPS.values():
        for path in (op.path, *op.aliases):
            found.setdefault(flat(path), op)
    for op in OPS.values():
        if op.aten:
            found.setdefault(op.aten.partition(".")[0], op)
    return found


def promotion(func: OpOverload, values: Sequence[object]) -> Promotion | None:
    """What an operator converts its operands to, as the declaration of its function says; None
    where it takes them as they come.

    Args:
        values: one for each parameter of its schema; tensors without data will do.
    """
    op = _by_operator().get(func._opname) if func.namespace == "aten" else None
    if op is None:
        return None
    if op.promote is None:
        return _joined(values)
    kinds = {p.name: p.kind for p in op.params}
    first = op.params[0].name
    some = op.promote if isinstance(op.promote, tuple) else None
    rounded = False
    places: list[int] = []
    entries: list[tuple[dtypes.dtype, int]] = []
    for place, (argument, x) in enumerate(zip(func._schema.arguments, values, strict=True)):
        name = argument.name if argument.name in kinds else first if not place else argument.name
        rounded |= name == "rounding_mode" and x is not None
        kind = kinds.get(name)
        tensors = isinstance(x, (list, tuple)) and any(isinstance(y, Tensor) for y in x)
        if not (isinstance(x, Tensor) or tensors) and kind in (NUMBER, STATIC, None):
            continue
        if some is not None and name not in some:
            continue
        rank = dtypes.DIMENSIONED if op.promote == "expanded" else dtypes.ZERO_DIM
        for y in x if isinstance(x, (list, tuple)) else [x]:
            if isinstance(y, Tensor):
                entries.append((y.dtype, dtypes.DIMENSIONED if y.dim() else rank))
            elif isinstance(y, (bool, int, float, complex)):
                entries.append((dtypes.of_number(y), dtypes.NUMBER))
        places.append(place)
    if not entries:
        return None
    found = dtypes.result_type_of(tuple(entries))
    floats = op.promote == "float" or (op.promote == UNLESS_ROUNDED and not rounded)
    if floats and found.category < dtypes.FLOATING:
        found = dtypes.get_default_dtype()
    return Promotion(found, places)


def _joined(values: Sequence[object]) -> Promotion | None:
    """What tensors become that kernels join, which convert them by themselves."""
    first = values[0] if values else None
    if not isinstance(first, (list, tuple)):
        return None
    tensors = [x for x in first if isinstance(x, Tensor)]
    if len({x.dtype for x in tensors}) < 2:
        return None
    return Promotion(
        dtypes.result_type_of(tuple((x.dtype, dtypes.DIMENSIONED) for x in tensors)), [0]
    )
