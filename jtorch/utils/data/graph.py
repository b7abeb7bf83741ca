"""The graph of pipes that a pipe is made of."""

from __future__ import annotations

import io
import pickle
import types
import warnings
from collections.abc import Collection
from typing import Any

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe = IterDataPipe[Any] | MapDataPipe[Any]
#: The identity of each pipe -> the pipe, and the graph of those that it holds.
DataPipeGraph = dict[int, tuple[Any, Any]]

_KINDS = (IterDataPipe, MapDataPipe)


def _nothing() -> str:
    return "STUB"


class _LenientPickler(pickle.Pickler):
    """Takes classes and functions that no other process finds by their names: nobody reads what it
    writes."""

    def reducer_override(self, obj: object) -> object:
        return (
            (_nothing, ())
            if isinstance(obj, (type, types.FunctionType)) and obj is not _nothing
            else NotImplemented
        )


def _kept(state: object) -> Any:
    """What of a pipe's state can hold other pipes."""
    wanted = (*_KINDS, Collection)
    if isinstance(state, dict):
        return {key: value for key, value in state.items() if isinstance(value, wanted)}
    if isinstance(state, (tuple, list)):
        return [value for value in state if isinstance(value, wanted)]
    return state if isinstance(state, wanted) else None


def _held_by(pipe: object, only_datapipe: bool, seen: set[int]) -> list[object]:
    """The pipes that a pipe holds, wherever in its state: those that its pickling meets."""
    met = []

    def reduce(other: object) -> Any:
        if other is pipe or id(other) in seen:
            raise NotImplementedError
        met.append(other)
        seen.add(id(other))
        return _nothing, ()

    try:
        for kind in _KINDS:
            kind.set_reduce_ex_hook(reduce)
            if only_datapipe:
                kind.set_getstate_hook(_kept)
        (_LenientPickler if only_datapipe else pickle.Pickler)(io.BytesIO()).dump(pipe)
    finally:
        for kind in _KINDS:
            kind.set_reduce_ex_hook(None)
            if only_datapipe:
                kind.set_getstate_hook(None)
    return met


def _graph(pipe: object, only_datapipe: bool, seen: set[int]) -> DataPipeGraph:
    if not isinstance(pipe, _KINDS):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in seen:
        return {}
    # A set for each path: a pipe may be reached by several, but not twice by one.
    seen = seen | {id(pipe)}
    below: DataPipeGraph = {}
    for other in _held_by(pipe, only_datapipe, set(seen)):
        below.update(_graph(other, only_datapipe, seen))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe: IterDataPipe | MapDataPipe) -> DataPipeGraph:
    """The graph of pipes that a pipe holds as attributes or in collections that are attributes.

    Differs from torch: classes that a function defines need no ``dill``.

    Raises:
        RuntimeError: if it is no pipe.
    """
    return _graph(datapipe, True, set())


def traverse(
    datapipe: IterDataPipe | MapDataPipe, only_datapipe: bool | None = None
) -> DataPipeGraph:
    """The old form of ``traverse_dps``, which looks into all attributes unless told not to."""
    text = (
        "`traverse` function is deprecated and will be removed after 1.13. Please use "
        "`traverse_dps` instead."
    )
    if not only_datapipe:
        text += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return _graph(datapipe, bool(only_datapipe), set())
