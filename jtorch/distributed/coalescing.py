"""Several collectives as one: a block whose calls are waited for together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .works import Work


class _CoalescingManager:
    """The works of a block."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Adds a work."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Waits for all."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(
    group: object = None, device: object = None, async_ops: bool = False
) -> Iterator[_CoalescingManager]:
    """A block of collectives, each given ``async_op=async_ops`` by the program; they run in order,
    one after another."""
    del group, device
    manager = _CoalescingManager()
    yield manager
    if not async_ops:
        manager.wait()
