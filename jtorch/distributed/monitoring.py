"""``monitored_barrier``: a barrier through the store that knows who is missing."""

from __future__ import annotations

import datetime
import time
from typing import Any

from .errors import DistStoreError


def wait_for_all(pg: Any, timeout: datetime.timedelta, wait_all_ranks: bool) -> None:
    """The barrier; see ``monitored_barrier``."""
    if pg.size() == 1:
        return
    pg._monitored = getattr(pg, "_monitored", 0) + 1
    key = f"monitored/{pg._monitored}"
    if pg.rank() != 0:
        pg.store.set(f"{key}/{pg.rank()}", b"")
        try:
            pg.store.wait([f"{key}/go"], timeout)
        except DistStoreError:
            raise RuntimeError(
                f"Rank {pg.ranks[pg.rank()]} successfully reached monitoredBarrier, but received "
                f"errors while waiting for send/recv from rank {pg.ranks[0]}. Please check rank "
                f"{pg.ranks[0]} logs for faulty rank."
            ) from None
        found = pg.store.get(f"{key}/go").decode()
        if found:
            raise RuntimeError(
                f"Rank {pg.ranks[pg.rank()]} successfully reached monitoredBarrier, but received "
                f"errors while waiting for send/recv from rank {pg.ranks[0]}. Please check rank "
                f"{pg.ranks[0]} logs for faulty rank. ({found})"
            )
        return
    end, missing = time.monotonic() + timeout.total_seconds(), []
    for other in range(1, pg.size()):
        left = max(0.0, end - time.monotonic())
        try:
            pg.store.wait([f"{key}/{other}"], datetime.timedelta(seconds=left))
        except DistStoreError:
            missing.append(pg.ranks[other])
            if not wait_all_ranks:
                break
    milliseconds = round(timeout.total_seconds() * 1000)
    words = ""
    if missing:
        if wait_all_ranks:
            words = (
                f"Ranks {', '.join(map(str, missing))} failed to pass monitoredBarrier in "
                f"{milliseconds} ms"
            )
        else:
            words = f"Rank {missing[0]} failed to pass monitoredBarrier in {milliseconds} ms"
    pg.store.set(f"{key}/go", words)
    if words:
        raise RuntimeError(f"[Rank {pg.ranks[0]}]: {words}")
