"""Operators written with others: tables of functions for ``make_fx``,
``ExportedProgram.run_decompositions`` and other tracers.

The functions are ordinary ones on tensors. PyTorch's tables are longer: what is not here stays an
operator, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jtorch._src.aten.composite_operators import parts_of
from jtorch._src.aten.overloads import OpOverload, aten
from jtorch._src.aten.schema import texts
from jtorch._src.aten.state import STATE
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor.symbols import exact

from ._tables import _overloads as _overloads
from ._tables import decomposition_table as decomposition_table
from ._tables import global_decomposition_table as global_decomposition_table
from ._tables import register_decomposition as register_decomposition
from .decompositions import NOT_CORE

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverloadPacket
    from .._src.facts.kinds import Tree


__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "register_decomposition",
]


def get_decompositions(
    aten_ops: Iterable[OpOverloadPacket], type: str = "post_autograd"
) -> dict[OpOverload, Callable[..., object]]:
    """The entries of the table for some operators; packets stand for all their overloads. Those
    without are left out."""
    table = global_decomposition_table[type]
    return {
        overload: table[overload]
        for op in aten_ops
        for overload in _overloads(op)
        if overload in table
    }


def remove_decompositions(
    decompositions: dict[object, Callable[..., object]], aten_ops: Iterable[Any]
) -> None:
    """Takes some operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[object, Callable[..., object]]:
    """A table that writes operators outside of PyTorch's core set with those in it."""
    return {op: decomposition_table[op] for op in (*NOT_CORE, *_COMPOSITES)}


def is_taken_apart(func: OpOverload) -> bool:
    """Whether PyTorch writes an operator with others before anybody sees it."""
    return parts_of(func) is not None


def taken_apart(func: OpOverload) -> Callable[..., object]:
    """The function that writes such an operator with others."""

    def parts(*args: object, **kwargs: object) -> Tree:
        before, STATE.whole = STATE.whole, False
        try:
            run: Any = parts_of(func)
            given, named = func.trimmed(func.complete(args, kwargs))
            return run(*exact(given), **{k: exact(x) for k, x in named.items()})
        finally:
            STATE.whole = before

    return parts


def _composites() -> tuple[OpOverload, ...]:
    """The operators that are taken apart, which enter the table."""
    found = []
    for name in texts():
        for op in getattr(aten, name).all():
            schema = op._schema
            if (
                op not in decomposition_table
                and not schema.writes
                and not schema.outs
                and not schema.is_view
                and is_taken_apart(op)
            ):
                decomposition_table[op] = taken_apart(op)
                found.append(op)
    return tuple(found)


_refused = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    return _refused(name)


#: They enter the table last, where no other function is there for an operator; so the table is
#: whole once there is one to look into.
_COMPOSITES = _composites()
