"""Pipes that split one into several, its children, which read from one container."""

from __future__ import annotations

import copy as copying
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from .._hook_iterator import _SnapshotState
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, _check_unpickable_fn

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]


class _ContainerTemplate(ABC):
    """What a container offers to its children."""

    @abstractmethod
    def get_next_element_by_instance(self, instance_id: int) -> Iterator[object]: ...

    @abstractmethod
    def is_every_instance_exhausted(self) -> bool: ...

    @abstractmethod
    def reset(self) -> None: ...

    @abstractmethod
    def get_length_by_instance(self, instance_id: int) -> int: ...


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the pipes that a container feeds.

    Children have one generation of iterators: a second iterator of one child begins the next, for
    which the container is reset, and which the other children join with their next iterator.
    """

    _is_child_datapipe = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        if not isinstance(main_datapipe, _ContainerTemplate):
            raise AssertionError("main_datapipe must implement _ContainerTemplate")
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[object]:
        # No generator itself, so that what happens around an `__iter__` happens before the first
        # item is asked for.
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _set_main_datapipe_valid_iterator_id(self) -> int | None:
        """The number of this child's new iterator, which is that of the generation."""
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=2,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _check_valid_iterator_id(self, iterator_id: int | None) -> bool:
        """Whether an iterator is this child's last, and of the container's generation."""
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


def _children(container: object, count: int) -> list[_ChildDataPipe]:
    return [_ChildDataPipe(container, i) for i in range(count)]


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


def _warn_of_unlimited(buffer_size: int, name: str) -> None:
    if buffer_size < 0:
        warnings.warn(
            f"Unlimited buffer size is set for `{name}`, please be aware of OOM at random places",
            UserWarning,
            stacklevel=3,
        )


def _drop(items: deque[object]) -> None:
    """Empties a buffer, closing the streams in it."""
    while items:
        StreamWrapper.close_streams(items.popleft())


def _no_op(item: object) -> object:
    return item


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several pipes with the items of one: the same objects, or copies of them (``copy="shallow"``
    or ``"deep"``).

    Raises:
        BufferError: if one of them is more than ``buffer_size`` items ahead of another.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> first, second = IterableWrapper(range(3)).fork(2)
        >>> list(first), list(second)
        ([0, 1, 2], [0, 1, 2])
    """

    def __new__(
        cls, datapipe: object, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        """Makes the children."""
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        return _children(
            _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy), num_instances
        )


class _ForkerIterDataPipe(IterDataPipe[Any], _ContainerTemplate):
    """Keeps the items between the slowest child and the leading one."""

    def __init__(
        self, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        _warn_of_unlimited(buffer_size, "fork")
        ways = {
            None: _no_op,
            "shallow": copying.copy,
            "deep": copying.deepcopy,
        }
        if copy not in ways:
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        self.copy_fn = ways[copy]
        self._begin()

    def _begin(self) -> None:
        self._datapipe_iterator: Iterator[object] | None = None
        self.buffer: deque[Any] = deque()
        self.child_pointers = [0] * self.num_instances  # how many items each child has asked for
        self.slowest_ptr = 0
        self.leading_ptr = 0
        self.end_ptr: int | None = None  # one more than there are items, once that is known
        self._child_stop = [True] * self.num_instances

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def _item(self, number: int) -> Any:
        """The item of that number, from the buffer or, for the leading child, from the pipe.

        Raises:
            StopIteration: if there are no more.
        """
        if self.buffer and number <= self.leading_ptr:
            return self.buffer[number - self.slowest_ptr - 1]
        self.leading_ptr = number
        assert self._datapipe_iterator is not None
        self.buffer.append(next(self._datapipe_iterator))
        return self.buffer[-1]

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[object]:
        """The items, for one child."""
        stop = self._child_stop
        if self._datapipe_iterator is None and stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._snapshot_state = _SnapshotState.Iterating
            stop[:] = [False] * self.num_instances
        try:
            while not self._child_stop[instance_id]:
                self.child_pointers[instance_id] += 1
                number = self.child_pointers[instance_id]
                if number == self.end_ptr:
                    self._child_stop[instance_id] = True
                    break
                try:
                    item = self._item(number)
                except StopIteration:
                    self._child_stop[instance_id] = True
                    self._datapipe_iterator = None
                    self.end_ptr = self.leading_ptr
                    continue
                if number == self.slowest_ptr + 1 and min(self.child_pointers) > self.slowest_ptr:
                    self.slowest_ptr = min(self.child_pointers)
                    self.buffer.popleft()
                if 0 <= self.buffer_size < self.leading_ptr - self.slowest_ptr:
                    raise BufferError(
                        f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is "
                        "insufficient."
                    )
                yield self.copy_fn(item)
        finally:
            self._child_stop[instance_id] = True
            if all(self._child_stop):  # also where the children were left before their end
                self._datapipe_iterator = None
                _drop(self.buffer)

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have come to the end."""
        return self.end_ptr is not None and all(self._child_stop)

    def get_length_by_instance(self, instance_id: int) -> int:
        """The length of a child."""
        return len(self.main_datapipe)

    def reset(self) -> None:
        """Begins anew for all children."""
        self._begin()

    def __getstate__(self) -> Any:
        state = (
            self.main_datapipe,
            self.num_instances,
            self.buffer_size,
            self.copy_fn,
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        self.main_datapipe, self.num_instances, self.buffer_size, self.copy_fn, *counts = state
        self._valid_iterator_id, self._number_of_samples_yielded = counts
        self._begin()

    def __del__(self) -> None:
        if "buffer" in self.__dict__:
            _drop(self.buffer)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several pipes, to each of which a function deals items by its number (None: to none, with
    ``drop_none``).

    Raises:
        ValueError: if the function gives another number, or None without ``drop_none``.
        BufferError: if more than ``buffer_size`` items wait for other pipes.

    Examples:
        >>> from jtorch.utils.data.datapipes.iter import IterableWrapper
        >>> even, odd = IterableWrapper(range(5)).demux(2, (2).__rmod__)
        >>> list(even), list(odd)
        ([0, 2, 4], [1, 3])
    """

    def __new__(
        cls,
        datapipe: object,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        """Makes the children."""
        _check_count(num_instances)
        _check_unpickable_fn(classifier_fn)
        container = _DemultiplexerIterDataPipe(
            datapipe, num_instances, classifier_fn, drop_none, buffer_size
        )
        return _children(container, num_instances)


class _DemultiplexerIterDataPipe(IterDataPipe[Any], _ContainerTemplate):
    """Keeps a buffer for each child."""

    def __init__(
        self,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool,
        buffer_size: int,
    ) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        _warn_of_unlimited(buffer_size, "demux")
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none
        self._begin()

    def _begin(self) -> None:
        self._datapipe_iterator: Iterator[object] | None = None
        self.current_buffer_usage = 0
        self.child_buffers: list[deque[object]] = [deque() for _ in range(self.num_instances)]
        self._child_stop = [True] * self.num_instances
        self.main_datapipe_exhausted = False

    def _find_next(self, instance_id: int) -> object:
        """The next item of a child, putting others into the buffers of theirs.

        Raises:
            StopIteration: if there is none.
        """
        while True:
            if self.main_datapipe_exhausted or self._child_stop[instance_id]:
                raise StopIteration
            if self._datapipe_iterator is None:
                raise ValueError(
                    "_datapipe_iterator has not been set, likely because this private method is "
                    "called directly without invoking get_next_element_by_instance() first."
                )
            item = next(self._datapipe_iterator)
            which = self.classifier_fn(item)
            if which is None and self.drop_none:
                StreamWrapper.close_streams(item)
                continue
            if which is None or not 0 <= which < self.num_instances:
                raise ValueError(
                    "Output of the classification fn should be between 0 and "
                    f"{self.num_instances - 1}. {which} is returned."
                )
            if which == instance_id:
                return item
            self.child_buffers[which].append(item)
            self.current_buffer_usage += 1
            if 0 <= self.buffer_size < self.current_buffer_usage:
                raise BufferError(
                    f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is "
                    "insufficient."
                )

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[object]:
        """The items of one child."""
        if self._datapipe_iterator is None and self._child_stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._snapshot_state = _SnapshotState.Iterating
            self.main_datapipe_exhausted = False
            self._child_stop[:] = [False] * self.num_instances
        try:
            while not self._child_stop[instance_id]:
                if self.child_buffers[instance_id]:
                    self.current_buffer_usage -= 1
                    yield self.child_buffers[instance_id].popleft()
                    continue
                try:
                    item = self._find_next(instance_id)
                except StopIteration:
                    self._child_stop[instance_id] = True
                    self.main_datapipe_exhausted = True
                    self._datapipe_iterator = None
                    continue
                yield item
        finally:
            self._child_stop[instance_id] = True
            if all(self._child_stop):
                self._datapipe_iterator = None
            _drop(self.child_buffers[instance_id])

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have come to the end."""
        return self.main_datapipe_exhausted and all(self._child_stop)

    def get_length_by_instance(self, instance_id: int) -> int:
        """Nobody knows how many items a child gets.

        Raises:
            TypeError: always, so that ``list`` asks for no length.
        """
        raise TypeError

    def reset(self) -> None:
        """Begins anew for all children."""
        self._begin()

    def __getstate__(self) -> Any:
        state = (
            self.main_datapipe,
            self.num_instances,
            self.buffer_size,
            self.classifier_fn,
            self.drop_none,
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        (
            self.main_datapipe,
            self.num_instances,
            self.buffer_size,
            self.classifier_fn,
            self.drop_none,
            *counts,
        ) = state
        self._valid_iterator_id, self._number_of_samples_yielded = counts
        self._begin()

    def __del__(self) -> None:
        for buffer in self.__dict__.get("child_buffers", ()):
            _drop(buffer)
