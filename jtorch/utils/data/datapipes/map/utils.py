"""The pipe around any sequence or mapping."""

from __future__ import annotations

import copy
import warnings
from typing import Any, TypeVar

from ..datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]

_T = TypeVar("_T")


class SequenceWrapperMapDataPipe(MapDataPipe[_T]):
    """The items of a sequence or mapping, of which a deep copy is taken (``deepcopy=False``: the
    sequence itself)."""

    sequence: Any

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: int) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
