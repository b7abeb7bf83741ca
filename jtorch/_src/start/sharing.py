"""Several processes of one machine that compute at the same time."""

from __future__ import annotations

import os


def take_share() -> None:
    """Has XLA use this process's share of the processors, if a launcher has started several here
    and ``NPROC`` says nothing else.

    With threads for all processors in each, they wake and wait for threads that another process
    keeps from running. For a call before JAX starts.
    """
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    if local.isdecimal() and int(local) > 1:
        own = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        os.environ.setdefault("NPROC", str(max(1, own // int(local))))
