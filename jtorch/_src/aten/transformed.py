"""Operators inside transformations (``vmap``, ``jvp``), where dispatch modes are on: these see what
runs on the tensors outside.

The value of a tensor inside is made of others (all examples, a value and its tangent). An operator
on such tensors runs as it would without modes; each call that the transformation then makes on
values outside comes back as an operator. What is done to all examples at once is the same operator
if it works element by element; products and convolutions, and their forward derivatives, are
products and convolutions (``routes_products``); all else is an operator of its own,
``jtorch.<name>.v<number>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...core import Tensor
from ...dispatch import LAYOUTS
from ..engine import SPECIAL, Transformed
from .overloads import OpOverload, aten
from .state import STATE
from .values import Held, Look, shadow

if TYPE_CHECKING:
    from ..engine.calls import Call
    from ..facts.kinds import Function, Operand


def transformed(operands: Iterable[Tensor]) -> bool:
    """Whether an operand, also inside lists and tuples, is a tensor of a transformation that is
    going on."""
    for x in operands:
        if type(x) in (list, tuple):
            if transformed(x):
                return True
        elif isinstance(x, Tensor) and type(x) not in LAYOUTS and not isinstance(x._al, Look):
            v = x._v
            if (v is None or v.trace is SPECIAL) and isinstance(x._read(), Transformed):
                return True
    return False


def run_inside(run: Function, func: OpOverload, values: list[Operand]) -> object:
    """Runs an operator's kernel on tensors some of which are of a transformation: modes see what
    that does to the tensors outside."""
    schema = func._schema
    given: dict[int, Tensor] = {}

    def enter(x: Operand) -> Operand:
        if isinstance(x, (list, tuple)):
            return type(x)([enter(t) for t in x])
        if not isinstance(x, Tensor) or transformed((x,)):
            return x
        if id(x) not in given:
            given[id(x)] = shadow(x)
        return given[id(x)]

    inside = [
        enter(x) if i in schema.tensors and i not in schema.writes else x
        for i, x in enumerate(values)
    ]
    before, STATE.inside = STATE.inside, True
    try:
        out = run(func, inside)
    finally:
        STATE.inside = before
    return _leave(out)


def _leave(x: Tensor) -> object:
    if isinstance(x, (list, tuple)):
        return type(x)([_leave(t) for t in x])
    if type(x) is Tensor and type(v := x._v or x._read()) is Held:
        return v.tensor
    return x


def aligned(call: Call, mine: Sequence[bool], tensors: Sequence[Tensor]) -> list[Tensor] | None:
    """Operands of a call for all examples as the call itself takes them; None if it cannot."""
    if getattr(call.fn, "of_examples", None) is not None or not call.extra.op.elementwise:
        return None
    rank = max(t.dim() - m for t, m in zip(tensors, mine, strict=True))
    found = []
    for t, m in zip(tensors, mine, strict=True):
        missing = rank + 1 - t.dim()
        if m and missing:
            t = aten.view.default(t, [t.size(0), *[1] * missing, *t.shape[1:]])
        found.append(t)
    return found
