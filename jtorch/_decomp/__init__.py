"""Operators written with others: tables of functions for ``make_fx``, ``ExportedProgram.run_decompositions`` and other tracers.

The functions are ordinary ones on tensors. PyTorch's tables are longer: what is not here stays an operator, which is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jtorch import _refusals

from ._tables import _overloads as _overloads
from ._tables import decomposition_table as decomposition_table
from ._tables import global_decomposition_table as global_decomposition_table
from ._tables import register_decomposition as register_decomposition

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "register_decomposition"]

def get_decompositions(aten_ops: Iterable[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The entries of the table for some operators; packets stand for all their overloads. Those without are left out."""
    _load()
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops for overload in _overloads(op) if overload in table}


def remove_decompositions(decompositions: dict[Any, Callable[..., Any]], aten_ops: Iterable[Any]) -> None:
    """Takes some operators out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """A table that writes operators outside of PyTorch's core set with those in it."""
    _load()
    from .decompositions import NOT_CORE

    return {op: decomposition_table[op] for op in NOT_CORE}


def _load() -> None:
    from . import decompositions  # noqa: F401  (fills the table)


_refused = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    return _refused(name)


_load()
