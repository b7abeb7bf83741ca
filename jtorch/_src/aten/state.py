"""What one thread has entered below autograd: dispatch modes, and whether a kernel is running,
which nobody is asked about."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ... import dispatch
from ...autograd.grad_mode import MODE
from ...dispatch import _count

if TYPE_CHECKING:
    from ..facts.kinds import Row, Values


class _Stack(list[Any]):
    """The dispatch modes of one thread, outermost first; counted with the function modes, so that
    plain calls look closer."""

    def __del__(self, active: Any = dispatch.ACTIVE) -> None:
        del active.modes[: len(self)]  # the thread may have ended inside a mode


#: The modes that every thread begins in.
EVERYWHERE: list[object] = []


class _State(threading.local):
    """``off``: a kernel is running. ``forced``: operators on plain tensors are recorded one by one.
    ``deeper``: a mode has declined."""

    def __init__(self) -> None:
        self.modes: Values = _Stack(EVERYWHERE)
        _count(len(EVERYWHERE))
        self.off = False
        self.forced = False
        #: An exporter is tracing: composite operators are shown whole.
        self.whole = False
        #: A program is traced whose ``assert`` statements on tensors become checks that run with
        #: it.
        self.asserting = False
        #: The kernel of an operator on tensors of a transformation is running.
        self.inside = False
        #: The operators that are being taken apart: called by their own parts, they are shown
        #: whole.
        self.apart: Row = ()
        #: Inside ``Quiet``: how function handlers are asked around it, and so by the handlers of
        #: operators.
        self.around: int | None = None
        #: Tensors without data run an operator of the program's: their mode, and the operator.
        self.fake: tuple[Any, Any] | None = None


STATE = _State()


def push(mode: object) -> None:
    """Puts a mode on the stack of this thread."""
    STATE.modes.append(mode)
    _count(1)


def remove(mode: object) -> None:
    """Takes the innermost entry of ``mode`` off the stack of this thread."""
    stack = STATE.modes
    for place in range(len(stack) - 1, -1, -1):
        if stack[place] is mode:
            del stack[place]
            _count(-1)
            return
    raise RuntimeError(f"the mode {mode!r} is left in a thread or block that has not entered it")


class Kernel:
    """A block in which calls run as they are: neither function handlers nor dispatch handlers are
    asked."""

    __slots__ = ("off", "level")

    def __enter__(self) -> None:
        functions = dispatch._state
        self.off, self.level = STATE.off, functions.level
        STATE.off, functions.level = True, 2

    def __exit__(self, *exc: object) -> None:
        STATE.off, dispatch._state.level = self.off, self.level


class NoDispatch:
    """No handler of operators is asked from the making of this object to the end of its block, or
    its own."""

    __slots__ = ("off",)

    def __init__(self) -> None:
        self.off: bool | None = STATE.off
        STATE.off = True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        if self.off is not None:
            STATE.off, self.off = self.off, None

    __del__ = __exit__


class Quiet:
    """A block in which no function handler or function mode is asked, while operators still are:
    derivatives run in one."""

    __slots__ = ("level", "around")

    def __enter__(self) -> None:
        self.level, self.around = dispatch._state.level, STATE.around
        if self.around is None:
            STATE.around = self.level
        dispatch._state.level = 2

    def __exit__(self, *exc: object) -> None:
        dispatch._state.level, STATE.around = self.level, self.around


class Apart:
    """A block in which an operator is written with others."""

    __slots__ = ("func", "before")

    def __init__(self, func: Any) -> None:
        self.func = func

    def __enter__(self) -> None:
        self.before = STATE.apart
        STATE.apart = (*self.before, self.func)

    def __exit__(self, *exc: object) -> None:
        STATE.apart = self.before


class Loud:
    """A block inside ``Quiet`` in which function handlers are asked as around it: handlers of
    operators run in one."""

    __slots__ = ("level", "around", "apart")

    def __enter__(self) -> None:
        self.level, self.around, self.apart = dispatch._state.level, STATE.around, STATE.apart
        STATE.apart = ()
        if self.around is not None:
            dispatch._state.level, STATE.around = self.around, None

    def __exit__(self, *exc: object) -> None:
        dispatch._state.level, STATE.around, STATE.apart = self.level, self.around, self.apart


class Below:
    """A block below autograd: nothing is recorded, whatever ``enable_grad`` says;
    ``is_grad_enabled`` answers as above."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = (MODE.enabled, MODE.below)
        if not MODE.below:
            MODE.shown = MODE.get()
        MODE.enabled, MODE.below = False, True

    def __exit__(self, *exc: object) -> None:
        if not self.before[1]:
            MODE.enabled = self.before[0]
        MODE.below = self.before[1]


class Reentrant:
    """A block inside a handler in which operators record history again."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = (MODE.enabled, MODE.below)
        if MODE.below:
            MODE.enabled, MODE.below = MODE.shown and not MODE.inference, False

    def __exit__(self, *exc: object) -> None:
        MODE.enabled, MODE.below = self.before


@contextmanager
def modes_off() -> Iterator[None]:
    """A block in which the thread has no dispatch mode."""
    taken = STATE.modes[:]
    del STATE.modes[:]
    try:
        yield
    finally:
        STATE.modes[:0] = taken


dispatch.reentrant = Reentrant
