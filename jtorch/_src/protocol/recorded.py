"""Who records a thread's calls as graphs for a backend of ``torch.compile``. Floor 0.

Asked by what comes to no function mode: custom functions, transformations, and the switches of modes that must stay below the recorder.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any


class _Recorded(threading.local):
    """``recorder``: what records in this thread, if anything. It is ``busy`` while something runs that it does not record."""

    recorder: Any = None


RECORDED = _Recorded()


def recorder() -> Any:
    """Who records what is called now, or None."""
    found = RECORDED.recorder
    return None if found is None or found.busy else found


def apart(reason: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that no graph can hold: what was recorded before a call runs first, and the call as it is written."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            found = recorder()
            if found is None:
                return f(*args, **kwargs)
            with found.apart(reason):
                return f(*args, **kwargs)

        return call

    return decorate
