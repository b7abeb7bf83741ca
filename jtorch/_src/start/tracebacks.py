"""Tracebacks that end where the user's mistake is: of this package's frames at most two are shown,
of JAX's none between them.

An error that nobody catches passes ``sys.excepthook`` (``threading.excepthook`` in threads,
IPython's own way there); what stood there before still reports it, with a shorter traceback. Errors
that are caught are as they were raised. ``JTORCH_TRACEBACK=full`` shows all.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_OURS = ("jtorch", "torch")
#: Packages that ours call on their own account: where their frames stand beside ours, they say as
#: little to the user.
_BELOW = ("jax", "jaxlib", "numpy", "contextlib", "functools", "importlib", "pickle")


def _package(frame: FrameType) -> str:
    name = frame.f_globals.get("__name__")
    return name.partition(".")[0] if isinstance(name, str) else ""


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith("<jtorch,") or (
        _package(frame) in _OURS and frame.f_globals.get("__name__") != "__main__"
    )


def _frames(tb: TracebackType | None) -> list[TracebackType]:
    found = []
    while tb is not None:
        found.append(tb)
        tb = tb.tb_next
    return found


def folded(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without this package's frames, but for the last function called by the user
    and, above it, the last module.

    A traceback without frames of this package, or without any other, stays as it is.
    """
    frames = _frames(tb)
    ours = [_is_ours(one.tb_frame) for one in frames]
    if not any(ours) or all(ours):
        return tb
    last = max(i for i, own in enumerate(ours) if own)
    if any(_package(one.tb_frame) not in _BELOW for one in frames[last + 1 :]):
        # It ends in the user's own code again (a hook, a handler, a function that was given), or in
        # another package's.
        kept = {i for i, own in enumerate(ours) if not own}
    else:
        first = last
        while first > 0 and (ours[first - 1] or _package(frames[first - 1].tb_frame) in _BELOW):
            first -= 1
        kept = {i for i in range(first) if not ours[i]}
        kept.update(_entries(frames, first, last))
    made: TracebackType | None = None
    for i in sorted(kept, reverse=True):
        one = frames[i]
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


def _entries(frames: list[TracebackType], first: int, last: int) -> set[int]:
    """Of the frames of ours that end a traceback, those that say what was called: a module's
    ``forward``, a public function."""
    forward = public = None
    for i in range(first, last + 1):
        code = frames[i].tb_frame.f_code
        if code.co_name == "forward" and public is None:
            forward = i
        if public is None and code.co_filename.startswith("<torch"):
            public = i
    found = {i for i in (forward, public) if i is not None}
    if not found:
        found = {
            next(
                (
                    i
                    for i in range(first, last + 1)
                    if not frames[i].tb_frame.f_code.co_filename.startswith("<")
                ),
                first,
            )
        }
    return found


def fold(error: BaseException) -> None:
    """Folds the traceback of an error, and of those that it came from."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = folded(one.__traceback__)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _excepthook(before: Callable[..., object]) -> Callable[..., object]:
    def excepthook(
        kind: type[BaseException], value: BaseException, tb: TracebackType | None
    ) -> None:
        if value is not None and value.__traceback__ is tb:
            fold(value)
            tb = value.__traceback__
        before(kind, value, tb)

    return excepthook


def _thread_excepthook(before: Callable[..., object]) -> Callable[..., object]:
    def excepthook(args: Any, /) -> None:
        if args.exc_value is not None and args.exc_value.__traceback__ is args.exc_traceback:
            fold(args.exc_value)
            args = threading.ExceptHookArgs(
                (args.exc_type, args.exc_value, args.exc_value.__traceback__, args.thread)
            )
        before(args)

    return excepthook


def _in_ipython() -> None:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    return shell if shell is not None and not shell.custom_exceptions else None


def _show(
    shell: Any, kind: object, value: BaseException, tb: object, tb_offset: object = None
) -> None:
    del tb
    fold(value)
    shell.showtraceback((kind, value, value.__traceback__), tb_offset=tb_offset)


def install() -> None:
    """Has errors that nobody catches reported with short tracebacks, unless
    ``JTORCH_TRACEBACK=full``.

    Raises:
        ValueError: for another value of ``JTORCH_TRACEBACK`` than ``short`` and ``full``.
    """
    wanted = os.environ.get("JTORCH_TRACEBACK", "short")
    if wanted not in ("short", "full"):
        raise ValueError(f"JTORCH_TRACEBACK must be short or full, got {wanted!r}")
    if wanted == "full":
        return
    sys.excepthook = _excepthook(sys.excepthook)
    threading.excepthook = _thread_excepthook(threading.excepthook)
    shell = _in_ipython()
    if shell is not None:
        shell.set_custom_exc((Exception,), _show)
