"""Operators that draw random numbers inside a ``vmap`` whose examples get numbers of their own,
where dispatch modes are on.

The numbers are drawn for all examples at once by the operator itself, on the tensors outside, where
modes see it: a trace that saw the examples only would keep the numbers of its own run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ...dispatch import MISSING
from ...random import examples, refuse_same, twister_of, undisturbed, unrestricted
from ..composites.filling import whole_strides
from .overloads import OpOverload, aten
from .state import STATE
from .tags import draws
from .transformed import transformed

if TYPE_CHECKING:
    from ..facts.kinds import Operand, Values


Invoke = Callable[[OpOverload, list[Any]], Any]


def drawn_for_examples(
    invoke: Invoke, func: OpOverload, values: list[Operand], tensors: Sequence[Tensor]
) -> object:
    """What an operator that draws gives to each example; MISSING for other operators, and where the
    examples have no part in it.

    Raises:
        RuntimeError: if the ``vmap`` allows no random numbers, or wants the same ones for examples
            that differ.
    """
    schema = func._schema
    if undisturbed() or schema.outs or not draws(func):
        return MISSING
    levels = examples()
    if schema.writes and (levels or transformed(tensors)):
        twister_of(None)
        return _written(invoke, func, values, levels)
    if not levels:
        return MISSING
    twister_of(None)
    refuse_same(*tensors)
    if not tensors:
        out = _made(invoke, func, values, [level.size for level in levels])
    else:
        rank = max(t.dim() for t in tensors)
        given = [_gathered(x, levels, rank) if isinstance(x, Tensor) else x for x in values]
        if func._opname.endswith("_like"):
            given[0] = _room(values[0], levels)
        out = (
            _outside(invoke, func, given)
            if func._opname != "multinomial"
            else _rows_drawn(invoke, func, given)
        )
    return (
        tuple([_spread(t, levels) for t in out]) if isinstance(out, tuple) else _spread(out, levels)
    )


def _outside(invoke: Invoke, func: OpOverload, values: Values) -> Any:
    """Calls an operator as if there were no transformation."""
    before, STATE.inside = STATE.inside, False
    try:
        with unrestricted():
            return invoke(func, values)
    finally:
        STATE.inside = before


def _spread(t: object, levels: Sequence[Any]) -> Any:
    for level in levels:
        t = level.spread(t)
    return t


def _gathered(t: Tensor, levels: Sequence[Any], rank: int) -> Tensor:
    """All examples of an operand, whose own dimensions are filled up to ``rank`` from the front;
    numbers are drawn for each place."""
    if t.dim() < rank:
        t = aten.view.default(t, [1] * (rank - t.dim()) + list(t.shape))
    whole = t.detach()
    for level in reversed(levels):
        whole = level.gathered(whole)
    return whole.contiguous() if 0 in whole.stride() else whole


def _made(invoke: Invoke, func: OpOverload, values: Values, lead: list[int]) -> Any:
    """All examples of what is made of sizes."""
    place = func._schema.places.get("size")
    if place is not None:
        return _outside(
            invoke, func, [[*lead, *x] if i == place else x for i, x in enumerate(values)]
        )
    # of a number of items, as ``randperm`` is told
    rows = [_outside(invoke, func, values) for _ in range(math.prod(lead))]
    with unrestricted():
        whole = aten.stack.default(rows)
        return aten.view.default(whole, [*lead, *whole.shape[1:]])


def _rows_drawn(invoke: Invoke, func: OpOverload, values: Values) -> object:
    """All examples of an operator that takes one row or a matrix of rows."""
    whole = values[0]
    sizes = list(whole.shape[:-1])
    rows = aten.reshape.default(whole, [math.prod(sizes), whole.shape[-1]])
    found = _outside(invoke, func, [rows, *values[1:]])
    return aten.view.default(found, [*sizes, found.shape[-1]])


def _room(t: Tensor, levels: Sequence[Any]) -> Any:
    """Memory for all examples of ``t``, in the order in which the examples lie."""
    lead = [level.size for level in levels]
    sizes, strides = [*lead, *t.shape], whole_strides(lead, t.shape, t.stride())
    order = sorted(range(len(sizes)), key=lambda d: -strides[d])
    with unrestricted():
        made = aten.empty.memory_format(
            [sizes[d] for d in order], dtype=t.dtype, device=t.device, pin_memory=False
        )
        return (
            made
            if order == sorted(order)
            else aten.permute.default(made, [order.index(d) for d in range(len(order))])
        )


def _written(invoke: Invoke, func: OpOverload, values: Values, levels: Sequence[object]) -> Any:
    """Draws into memory of its own for all examples, and copies these to where the operator
    writes."""
    (place,) = func._schema.writes
    target = values[place]
    given = [
        _gathered(x, levels, target.dim()) if isinstance(x, Tensor) and x is not target else x
        for x in values
    ]
    given[place] = _room(target, levels)
    aten.copy_.default(target, _spread(_outside(invoke, func, given), levels))
    return target
