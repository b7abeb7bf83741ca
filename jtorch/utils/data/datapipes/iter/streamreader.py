"""The pipe that reads streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Pairs of a label and what its stream holds, in pieces of ``chunk`` bytes if that is given;
    streams are closed at their end."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Iterator[Any]:
        for label, stream in self.datapipe:
            while piece := stream.read(self.chunk):
                yield label, piece
            stream.close()
