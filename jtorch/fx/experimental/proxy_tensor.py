"""Tracing by operators: not offered; what programs ask about it is answered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def get_proxy_mode() -> None:
    """None: no such trace is running."""
    return


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[None]:
    """A block outside of such traces, as all code is."""
    yield


def make_fx(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Not offered."""
    del f, args, kwargs
    raise NotImplementedError("make_fx: functions are traced by torch.fx.symbolic_trace, or compiled by torch.compile")
