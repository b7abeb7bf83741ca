"""Waiting until all processes of a group have come to a place."""

from __future__ import annotations

from typing import Any

from ._operands import outside
from .group import world
from .monitoring import wait_for_all
from .works import Work, start


def barrier(
    group: object = None, async_op: bool = False, device_ids: object = None, timeout: object = None
) -> Work | None:
    """Waits until all processes of the group have come here.

    Args:
        device_ids: accepted, for PyTorch's GPU backends.
        timeout: how long to wait; that of the group if it is None.
        group: the processes that take part; all if it is None.
        async_op: return at once with a handle to wait on.
    """
    del device_ids
    if outside(group):
        return None
    pg = world(group)
    if timeout is None:
        return start(
            "barrier",
            pg,
            lambda lane: lane.round("barrier", None, 0),
            lambda _: None,
            None,
            async_op,
        )
    work = start(
        "barrier", pg, lambda lane: lane.round("barrier", None, 0), lambda _: None, None, True
    )
    if async_op:
        return work
    assert work is not None
    work.wait(timeout)
    return None


def monitored_barrier(
    group: object = None, timeout: Any = None, wait_all_ranks: bool = False
) -> None:
    """Waits until all processes of the group have come here; names those that do not.

    Raises:
        RuntimeError: on rank 0, naming the first rank that has not come in time (all of them with
            ``wait_all_ranks``); on the others, that rank 0 has not let them go.
    """
    if not outside(group):
        pg = world(group)
        wait_for_all(pg, pg.timeout if timeout is None else timeout, wait_all_ranks)
