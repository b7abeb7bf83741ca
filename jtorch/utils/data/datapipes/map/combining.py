"""Pipes around several others."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _check(datapipes: tuple[object, ...]) -> None:
    if len(datapipes) == 0:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    for kind, name in ((MapDataPipe, "MapDataPipe"), (Sized, "Sized")):
        if not all(isinstance(pipe, kind) for pipe in datapipes):
            raise TypeError(f"Expected all inputs to be `{name}`")


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """The items of one pipe after those of the other, whose keys go on from there.

    Examples:
        >>> from jtorch.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").concat(SequenceWrapper("cd"))[2]
        'c'
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: Any) -> None:
        _check(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[tuple[Any, ...]]):
    """Tuples of the items of each pipe for a key, as many as the shortest has.

    Examples:
        >>> from jtorch.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").zip(SequenceWrapper("cd"))[1]
        ('b', 'd')
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: Any) -> None:
        _check(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as error:
                raise IndexError(
                    f"Index {index} is out of range for one of the input MapDataPipes {pipe}."
                ) from error
        return tuple(found)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)
