"""Functions of plain tensors on parts (``local_map``), parts of sequences, rules of programs, and
operands that count as replicated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...._src.refusals import stand_ins as _refusals
from .. import DTensor
from ._attention import context_parallel as context_parallel
from ._func_map import local_map as local_map
from ._register_sharding import register_sharding as register_sharding

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which plain tensors beside DTensors count as replicated. That all processes have
    the same is not looked at."""
    dispatcher = DTensor._op_dispatcher
    before = dispatcher._allow_implicit_replication
    dispatcher._allow_implicit_replication = True
    try:
        yield
    finally:
        dispatcher._allow_implicit_replication = before


context_parallel.__module__ = implicit_replication.__module__ = local_map.__module__ = (
    register_sharding.__module__
) = __name__

__getattr__ = _refusals.missing(__name__)
