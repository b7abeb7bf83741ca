"""NVTX ranges: they go to JAX's profiler."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax

from .._src.refusals import stand_ins as _refusals

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


_open: Values = []
_started: dict[int, Any] = {}


def range_push(msg: str) -> int:
    """Opens a labelled range; returns its depth."""
    found = jax.profiler.TraceAnnotation(msg)
    found.__enter__()
    _open.append(found)
    return len(_open) - 1


def range_pop() -> int:
    """Closes the innermost range."""
    if _open:
        _open.pop().__exit__(None, None, None)
    return len(_open)


def range_start(msg: str) -> int:
    """Opens a labelled range, and returns what ``range_end`` closes it by: ranges may overlap."""
    found = jax.profiler.TraceAnnotation(msg)
    found.__enter__()
    _started[id(found)] = found
    return id(found)


def range_end(range_id: int) -> None:
    """Closes a range that ``range_start`` opened."""
    _started.pop(range_id).__exit__(None, None, None)


def mark(msg: str) -> None:
    """A range of no length."""
    with jax.profiler.TraceAnnotation(msg):
        pass


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A block that is a labelled range."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__getattr__ = _refusals.missing(__name__)
