"""What happens around ``__iter__`` of a pipe: one iterator at a time, counted samples, and errors
that name the pipe."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    from ...._src.facts.kinds import Function, Named
    from .datapipe import IterDataPipe


_SINGLE = "single iterator per IterDataPipe constraint"
_FEEDBACK = (
    f"\nFor feedback regarding this {_SINGLE}, feel free to comment on this issue: "
    "https://github.com/pytorch/data/issues/45."
)


class _SnapshotState(Enum):
    """Where a pipe stands: new, restored (so that the next iterator goes on instead of beginning
    anew), or being gone through."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def _arguments(pipe: object) -> str:
    """The arguments that a pipe was made with, as far as it keeps them under their names."""
    names = inspect.signature(type(pipe)).parameters
    kept = [(name, value) for name, value in inspect.getmembers(pipe) if name in names]
    return ", ".join(
        f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}"
        for name, value in kept
    )


def _described(pipe: object) -> str:
    return f"{type(pipe).__name__}({_arguments(pipe)})"


def _invalidated(pipe: object, aside: str = "") -> RuntimeError:
    return RuntimeError(
        "This iterator has been invalidated because another iterator has been created "
        f"from the same IterDataPipe: {_described(pipe)}\n"
        "This may be caused by multiple references to the same IterDataPipe. We recommend "
        f"using `.fork()` if that is necessary.{aside}{_FEEDBACK}"
    )


def _is_child(pipe: object) -> bool:
    return getattr(pipe, "_is_child_datapipe", False) is True


def _check_iterator_valid(
    pipe: Any, iterator_id: int | None, next_method_exists: bool = False
) -> None:
    """Refuses to go on with an iterator after a later one was made.

    Raises:
        RuntimeError: if there is a later one.
    """
    if next_method_exists:
        if pipe._valid_iterator_id is not None and pipe._valid_iterator_id != 0:
            raise _invalidated(
                pipe,
                "\nNote that this exception is raised inside your IterDataPipe's a `__next__` "
                "method",
            )
    elif _is_child(pipe):
        if not hasattr(pipe, "_check_valid_iterator_id"):
            raise RuntimeError("ChildDataPipe must have method `_check_valid_iterator_id`.")
        if not pipe._check_valid_iterator_id(iterator_id):
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created "
                f"from one of the ChildDataPipes of {_described(pipe.main_datapipe)}.{_FEEDBACK}"
            )
    elif pipe._valid_iterator_id != iterator_id:
        raise _invalidated(pipe)


def _set_datapipe_valid_iterator_id(pipe: Any) -> Any:
    """Numbers a new iterator of a pipe, which ends the one before, and resets the pipe."""
    if _is_child(pipe):
        if not hasattr(pipe, "_set_main_datapipe_valid_iterator_id"):
            raise RuntimeError(
                "ChildDataPipe must have method `_set_main_datapipe_valid_iterator_id`."
            )
        pipe._set_main_datapipe_valid_iterator_id()
    else:
        pipe._valid_iterator_id = (
            0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
        )
        pipe.reset()
    return pipe._valid_iterator_id


def _recorded(pipe: Any) -> contextlib.AbstractContextManager[object]:
    """The pipe's range in a profile, if one is being taken."""
    if not torch.autograd._profiler_enabled():
        return contextlib.nullcontext()
    if not hasattr(pipe, "_profile_name"):
        pipe._profile_name = _described(pipe).replace("IterDataPipe", "").replace("MapDataPipe", "")
    return torch.autograd.profiler.record_function(pipe._profile_name)


def _taken_ahead(pipe: IterDataPipe) -> Any:
    """The iterator that a restored snapshot left, once."""
    ahead, pipe._fast_forward_iterator = pipe._fast_forward_iterator, None
    pipe._snapshot_state = _SnapshotState.Iterating
    return ahead


def _name_pipe(error: Exception, pipe: object) -> None:
    """Adds to an error's words the innermost pipe that it came through."""
    place = "thrown by __iter__ of"
    words = f"{place} {_described(pipe)}"
    if not error.args or not isinstance(error.args[0], str):
        error.args = (f"\nThis exception is {words}",)
    elif place not in error.args[0] and _SINGLE not in error.args[0]:
        error.args = (f"{error.args[0]}\nThis exception is {words}", *error.args[1:])


def _around_generator(function: Function) -> Callable[..., object]:
    @functools.wraps(function)
    def __iter__(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        items = function(self, *args, **kwargs)
        if self._fast_forward_iterator:
            yield from _taken_ahead(self)
            return
        # Only now, at the first `next`: an iterator that nobody asks for anything ends no other.
        number = _set_datapipe_valid_iterator_id(self)
        try:
            with _recorded(self):
                item = items.send(None)
            while True:
                self._number_of_samples_yielded += 1
                request = yield item
                with _recorded(self):
                    _check_iterator_valid(self, number)
                    item = items.send(request)
        except StopIteration:
            return
        except Exception as error:
            _name_pipe(error, self)
            raise

    return __iter__


class IteratorDecorator:
    """The iterator of a pipe whose ``__iter__`` is no generator."""

    def __init__(
        self, iterator: Any, datapipe: Any, iterator_id: int, has_next_method: bool
    ) -> None:
        self.iterator, self.datapipe, self.iterator_id = iterator, datapipe, iterator_id
        # Then the pipe's own `__next__` counts the samples.
        self.self_and_has_next_method = iterator is datapipe and has_next_method

    def __iter__(self) -> IteratorDecorator:
        return self

    def __next__(self) -> Any:
        with _recorded(self.datapipe):
            _check_iterator_valid(self.datapipe, self.iterator_id)
            item = next(self.iterator)
        if not self.self_and_has_next_method:
            self.datapipe._number_of_samples_yielded += 1
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


def _around_next(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def __next__(self: Any, *args: object, **kwargs: object) -> object:
        with _recorded(self):
            item = function(self, *args, **kwargs)
        self._number_of_samples_yielded += 1
        return item

    return __next__


def _around_iter(function: Callable[..., object], has_next: bool) -> Callable[..., object]:
    @functools.wraps(function)
    def __iter__(self: Any, *args: Any, **kwargs: Any) -> Any:
        iterator = function(self, *args, **kwargs)
        self._snapshot_state = _SnapshotState.Iterating
        if self._fast_forward_iterator:
            return _taken_ahead(self)
        return IteratorDecorator(iterator, self, _set_datapipe_valid_iterator_id(self), has_next)

    return __iter__


def hook_iterator(namespace: Named) -> None:
    """Puts what every pipe does around the ``__iter__`` and ``__next__`` of a class body."""
    function = namespace["__iter__"]
    if inspect.isgeneratorfunction(function):
        namespace["__iter__"] = _around_generator(function)
        return
    if "__next__" in namespace:
        namespace["__next__"] = _around_next(namespace["__next__"])
    namespace["__iter__"] = _around_iter(function, "__next__" in namespace)
