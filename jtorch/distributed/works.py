"""Collectives on their way: what ``async_op=True`` returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..futures import Future
from ._counting import LISTENERS, begun
from ._lanes import Disagreement, Ticket
from .errors import DistBackendError

#: What has been started without being waited for; each is put down by the next collective that
#: finds it finished.
_open: list[Work] = []


class Work:
    """A collective on its way. Its result is written into the caller's tensors by ``wait``, or by
    the next call that finds it done."""

    def __init__(
        self,
        name: str = "",
        group: Any = None,
        ticket: Ticket | None = None,
        write: Callable[[Any], None] | None = None,
        result: Any = None,
        timeout: float | None = None,
    ) -> None:
        self._name, self._group, self._ticket, self._write, self._result = (
            name,
            group,
            ticket,
            write,
            result,
        )
        self._timeout = timeout
        self._error: BaseException | None = None

    def wait(self, timeout: Any = None) -> bool:
        """Waits until it is done; True.

        Raises:
            DistBackendError: if it failed or has not ended within ``timeout`` (a ``timedelta``; by
                default the group's).
        """
        if self._error is not None:
            raise self._error
        ticket = self._ticket
        if ticket is None:
            return True
        seconds = (
            timeout.total_seconds()
            if timeout is not None and timeout.total_seconds() > 0
            else self._timeout
        )
        if not ticket.wait(1e9 if seconds is None else seconds):
            error: BaseException = self._group._late(self._name, seconds)
            self._error = error
            raise error
        self._settle()
        return True

    def _settle(self) -> None:
        ticket, self._ticket = self._ticket, None
        if ticket is None:
            return
        if ticket.error is not None:
            error: BaseException = self._group._failed(self._name, ticket.error)
            self._error = error
            raise error
        if self._write is not None:
            self._write(ticket.value)
            self._write = None

    def is_completed(self) -> bool:
        """Whether it has ended, well or not."""
        if self._ticket is None:
            return True
        if not self._ticket.is_done():
            return False
        try:
            self._settle()
        except DistBackendError:
            pass
        return True

    def is_success(self) -> bool:
        """Whether it has ended well."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error it ended with."""
        return self._error if self.is_completed() else None

    def result(self) -> Any:
        """The tensors that it wrote."""
        self.wait()
        return self._result

    def synchronize(self) -> None:
        """Waits until it is done."""
        self.wait()

    def source_rank(self) -> int:
        """Whose message was received.

        Raises:
            RuntimeError: unless it is a ``recv``.
        """
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or "
            "recv-from-any call."
        )

    def _source_rank(self) -> int:
        return self.source_rank()

    def get_future(self) -> Any:
        """A future of the tensors that it writes.

        It is done when this is called: callbacks that are added to it run at once.
        """
        future = Future()
        try:
            self.wait()
        except DistBackendError as e:
            future.set_exception(e)
        else:
            future.set_result(self._result)
        return future


Work.__module__ = "torch.distributed.distributed_c10d"


def start(
    name: str,
    group: Any,
    task: Callable[[Any], Any],
    write: Callable[[Any], None],
    result: object,
    async_op: bool,
) -> Work | None:
    """Has a group's lane carry out ``task(lane)``; ``write`` puts what it gives into tensors. Waits
    for it unless ``async_op``."""
    if LISTENERS:
        begun(name)
    if _open:
        settle()
    work = Work(name, group, group._submit(name, task), write, result, group._seconds)
    if async_op:
        _open.append(work)
        return work
    work.wait()
    if _open:
        settle()
    return None


def settle() -> None:
    """Writes the results of what has been done since."""
    for work in list(_open):
        ticket = work._ticket
        if ticket is None or ticket.is_done():
            _open.remove(work)
            if ticket is not None and ticket.error is None:
                work._settle()


__all__ = ["Disagreement", "Work", "settle", "start"]
