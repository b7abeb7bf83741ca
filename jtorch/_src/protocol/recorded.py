"""Who records a thread's calls as graphs for a backend of ``torch.compile``. Floor 0.

Asked by what comes to no function mode: custom functions, transformations, and the switches of
modes that must stay below the recorder.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..facts.kinds import Decorator


class _Recorded(threading.local):
    """``recorder``: what records in this thread, if anything. It is ``busy`` while something runs
    that it does not record."""

    recorder: Any = None


RECORDED = _Recorded()


def recorder() -> Any:
    """Who records what is called now, or None."""
    found = RECORDED.recorder
    return None if found is None or found.busy else found


def apart(
    reason: str,
    function: object = None,
    again: Callable[..., object] | None = None,
    options: object = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that no graph can hold: what was recorded before a call runs first,
    and the call as it is written.

    Where all is to be one graph, it holds a function that transforms another:
    ``again(function, *args, **kwargs)`` is the call, and ``options`` tell what ``again`` does
    beside that.
    """

    def decorate(f: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(f)
        def call(*args: object, **kwargs: Any) -> Any:
            found = recorder()
            if found is None:
                return f(*args, **kwargs)
            if again is not None and found.compiled.fullgraph:
                return found.transformed(
                    reason.rpartition(".")[2], function, again, options, args, kwargs
                )
            with found.apart(reason):
                return f(*args, **kwargs)

        return call

    return decorate


def apart_with_function(reason: str) -> Decorator:
    """``apart`` for functions whose first argument is the one that they transform."""

    def decorate(f: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(f)
        def call(func: object, *args: object, **kwargs: Any) -> Any:
            return apart(reason, func, f)(functools.partial(f, func))(*args, **kwargs)

        return call

    return decorate
