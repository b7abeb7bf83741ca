"""Pipes around several others. Those that split one into several are in ``splitting``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import lengths_of
from .splitting import DemultiplexerIterDataPipe as DemultiplexerIterDataPipe
from .splitting import ForkerIterDataPipe as ForkerIterDataPipe
from .splitting import _ChildDataPipe as _ChildDataPipe
from .splitting import _ContainerTemplate as _ContainerTemplate
from .splitting import _DemultiplexerIterDataPipe as _DemultiplexerIterDataPipe
from .splitting import _ForkerIterDataPipe as _ForkerIterDataPipe

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """The items of one pipe after those of the other.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("ab").concat(IterableWrapper("cd")))
        ['a', 'b', 'c', 'd']
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: Any) -> None:
        if len(datapipes) == 0:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(lengths_of(self, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """One item of each pipe in turn, until one of them has none left for the round.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("abc").mux(IterableWrapper("xy")))
        ['a', 'x', 'b', 'y']
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes
        self.buffer: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(pipe) for pipe in self.datapipes]
        while iterators:
            for iterator in iterators:
                try:
                    self.buffer.append(next(iterator))
                except StopIteration:
                    self.buffer.clear()
                    return
            yield from self.buffer
            self.buffer.clear()

    def __len__(self) -> int:
        return min(lengths_of(self, self.datapipes)) * len(self.datapipes)

    def reset(self) -> None:
        """Empties the buffer."""
        self.buffer = []

    def __getstate__(self) -> Any:
        state = (self.datapipes, self._valid_iterator_id, self._number_of_samples_yielded)
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        self.datapipes, self._valid_iterator_id, self._number_of_samples_yielded = state
        self.buffer = []

    def __del__(self) -> None:
        if "buffer" in self.__dict__:
            self.buffer.clear()


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[tuple[Any, ...]]):
    """Tuples of one item of each pipe, as many as the shortest has.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("abc").zip(IterableWrapper("xy")))
        [('a', 'x'), ('b', 'y')]
    """

    datapipes: tuple[Any, ...]

    def __init__(self, *datapipes: Any) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        iterators = [iter(pipe) for pipe in self.datapipes]
        yield from zip(*iterators)

    def __len__(self) -> int:
        return min(lengths_of(self, self.datapipes))
