"""Who wants to know of each collective that is begun, and under which of PyTorch's operators it is
known."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

#: What is called with namespace and name of each collective's operator, in the thread that begins
#: it; empty but in blocks that count.
LISTENERS: list[Callable[[str, str], None]] = []

#: The functions that begin collectives -> the names of PyTorch's operators that do it.
_OPERATORS = {
    "all_reduce": "allreduce_", "all_reduce_coalesced": "allreduce_coalesced_", "reduce": "reduce_",
    "broadcast": "broadcast_", "all_gather": "allgather_",
    "all_gather_into_tensor": "_allgather_base_", "all_gather_coalesced": "allgather_coalesced_",
    "gather": "gather_", "scatter": "scatter_", "reduce_scatter": "reduce_scatter_",
    "reduce_scatter_tensor": "_reduce_scatter_base_", "all_to_all": "alltoall_",
    "all_to_all_single": "alltoall_base_",
}  # fmt: skip


class _Outer(threading.local):
    """Whether a collective is begun for another one, which has been told already."""

    inside = False


_OUTER = _Outer()


def begun(name: str) -> None:
    """Tells of a collective, unless it serves one that was told."""
    operator = _OPERATORS.get(name)
    if operator is not None and not _OUTER.inside:
        for listener in LISTENERS:
            listener("c10d", operator)


def functional(name: str) -> Callable[[Any], Any]:
    """Declares that a function is PyTorch's ``c10d_functional.name``, whatever collectives it
    begins."""

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(body)
        def counted(*args: object, **kwargs: object) -> Any:
            if not LISTENERS or _OUTER.inside:
                return body(*args, **kwargs)
            for listener in LISTENERS:
                listener("c10d_functional", name)
            _OUTER.inside = True
            try:
                return body(*args, **kwargs)
            finally:
                _OUTER.inside = False

        return counted

    return declare
