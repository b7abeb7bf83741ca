"""The pipe that leaves items out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn, picked, validate_input_col

__all__ = ["FilterIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[_T_co]):
    """The items for which a function of them, or of some of their columns, is true; streams in the
    others are closed.

    Raises:
        ValueError: if the function gives anything but a bool.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(["a", "1"]).filter(str.isalpha))
        ['a']
    """

    datapipe: IterDataPipe[Any]
    filter_fn: Callable[..., Any]

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(filter_fn)
        self.filter_fn = filter_fn
        self.input_col = input_col
        validate_input_col(filter_fn, input_col)

    def _apply_filter_fn(self, data: object) -> bool:
        return self.filter_fn(*picked(data, self.input_col))

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            wanted = self._apply_filter_fn(data)
            if not isinstance(wanted, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of FilterIterDataPipe, got",
                    type(wanted),
                )
            if wanted:
                yield data
            else:
                StreamWrapper.close_streams(data)
