"""Pipes that make batches and groups, and take them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import _check_unpickable_fn, length_of

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe[DataChunk[Any]]):
    """Batches of ``batch_size`` items; the last may be shorter, unless ``drop_last``.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    datapipe: IterDataPipe[Any]
    batch_size: int
    drop_last: bool

    def __init__(
        self,
        datapipe: IterDataPipe,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: type[DataChunk] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, rest = divmod(length_of(self, self.datapipe), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The items of lists, as many levels down as said (-1: all).

    Raises:
        IndexError: if there are fewer levels.
        ValueError: if the level is below -1.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[0, [1]], [2]]).unbatch())
        [0, [1], 2]
    """

    def __init__(self, datapipe: IterDataPipe, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, unbatch_level=self.unbatch_level)

    def _dive(self, element: object, unbatch_level: int) -> Iterator[object]:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if unbatch_level == 0 or (unbatch_level == -1 and not isinstance(element, list)):
            yield element
            return
        if not isinstance(element, list):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for item in element:
            yield from self._dive(item, unbatch_level if unbatch_level == -1 else unbatch_level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[DataChunk[Any]]):
    """Groups of items with one key, given when they have ``group_size`` items, at the end, or when
    the buffer is full (the largest).

    Raises:
        RuntimeError: if the buffer is full and the largest group smaller than
            ``guaranteed_group_size``, without ``drop_remaining``.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(["a", "bc", "d"]).groupby(len))
        [['a', 'd'], ['bc']]
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0
        self.group_size = group_size
        self.guaranteed_group_size = None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError(
                    "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
                )
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def _remove_biggest_key(self) -> list[object] | None:
        """Takes the largest group out of the buffer; None if it is dropped."""
        key = max(self.buffer_elements, key=lambda k: len(self.buffer_elements[k]))
        size = len(self.buffer_elements[key])
        enough = self.guaranteed_group_size is None or size >= self.guaranteed_group_size
        if not enough and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(self.buffer_elements[key]))
        self.curr_buffer_size -= size
        group = self.buffer_elements.pop(key)
        return group if enough else None

    def _given(self, key: object, group: list[object]) -> Any:
        made = self.wrapper_class(group)
        return (key, made) if self.keep_key else made

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            key = self.group_key_fn(item)
            group = self.buffer_elements[key]
            group.append(item)
            self.curr_buffer_size += 1
            if len(group) == self.group_size:
                yield self._given(key, group)
                self.curr_buffer_size -= len(group)
                del self.buffer_elements[key]
            if self.curr_buffer_size == self.max_buffer_size:
                largest = self._remove_biggest_key()
                if largest is not None:
                    yield self._given(key, largest)
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            yield self._given(key, group)

    def reset(self) -> None:
        """Empties the buffer."""
        self.curr_buffer_size = 0
        self.buffer_elements = defaultdict(list)

    def __getstate__(self) -> Any:
        state = (
            self.datapipe,
            self.group_key_fn,
            self.keep_key,
            self.max_buffer_size,
            self.group_size,
            self.guaranteed_group_size,
            self.drop_remaining,
            self.wrapper_class,
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        (
            self.datapipe,
            self.group_key_fn,
            self.keep_key,
            self.max_buffer_size,
            self.group_size,
            *rest,
        ) = state
        self.guaranteed_group_size, self.drop_remaining, self.wrapper_class, *counts = rest
        self._valid_iterator_id, self._number_of_samples_yielded = counts
        self.curr_buffer_size = 0
        self.buffer_elements = defaultdict(list)

    def __del__(self) -> None:
        if "buffer_elements" in self.__dict__:
            self.buffer_elements.clear()
