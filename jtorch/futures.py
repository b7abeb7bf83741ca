"""``torch.futures``: results that are there later, with callbacks, between the threads of this
process."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ._src.facts import devices as _devices

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that is set once, from any thread, and that others wait for.

    Example:
        >>> import jtorch as torch
        >>> future = torch.futures.Future()
        >>> doubled = future.then(lambda done: done.wait() * 2)
        >>> future.set_result(torch.tensor([1, 2]))
        >>> doubled.wait()
        tensor([2, 4])
    """

    def __init__(self, *, devices: list[int | str | _devices.device] | None = None) -> None:
        for given in devices or ():
            place = _devices.as_device(given)
            if place.index is None:
                raise ValueError(f"Expected devices to have indices, got {place}")
            _devices.placement(place)  # raises where there is no such device
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[Future[T]], None]] = []
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def __reduce_ex__(self, protocol: object) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._done

    def wait(self) -> T:
        """The result, once it is there; an error is raised."""
        with self._changed:
            while not self._done:
                self._changed.wait()
        return self.value()

    def value(self) -> T:
        """The result, which must be there; an error is raised."""
        if not self._done:
            raise RuntimeError(
                "The value of a Future that is not completed was asked for; use wait()"
            )
        if self._error is not None:
            raise self._error
        return self._result

    def _complete(self, result: object, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._result, self._error, self._done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result: T) -> None:
        """Sets the result and runs the callbacks."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an error, which ``wait`` and ``value`` raise."""
        assert isinstance(result, Exception), (
            f"{result} is of type {type(result)}, not an Exception."
        )
        self._complete(None, result)

    def _on_done(self, callback: Callable[[Future[T]], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future of ``callback(self)``, which runs once this one is done: in the thread that sets
        it, or now."""
        after: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                where = "".join(traceback.format_tb(error.__traceback__))
                message = (
                    f"Got the following error when running the callback: {type(error).__name__}: "
                    f"{error}\n"
                    "\nAt:\n"
                    f"{where}"
                )
                after._complete(None, RuntimeError(message))
            else:
                after._complete(result, None)

        self._on_done(run)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Runs ``callback(self)`` once this is done; its errors are printed and otherwise left
        alone."""

        def run(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception:
                traceback.print_exc()

        self._on_done(run)


Future.__module__ = "torch.futures"


def _there(future: object) -> Any:
    """The future.

    Raises:
        RuntimeError: for None.
    """
    if future is None:
        raise RuntimeError("Future can't be None")
    return future


def collect_all(futures: list[Future]) -> Future[list[Future[Any]]]:
    """A future of all the given ones, done when the last of them is; the first error becomes its
    own."""
    everything = Future()
    left, lock = len(futures), threading.Lock()

    def one(done: Future[object]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if not everything._done and (done._error is not None or last):
            everything._complete(list(futures), done._error)

    for future in futures:
        _there(future)._on_done(one)
    if not futures:
        everything.set_result([])
    return everything


def wait_all(futures: list[Future[T]]) -> list[T]:
    """The results of all; the first error is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
