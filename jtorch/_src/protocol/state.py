"""What a thread has entered of the override protocol: how far it is off, and the modes.
``jtorch.dispatch`` offers what is public of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...dispatch import TorchFunctionMode


class _Missing:
    """The type of ``MISSING``: "nothing was given", "nobody had to be asked"."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<missing>"

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()


class _Active:
    """Whether any mode is entered, in any thread: the flag that plain calls look at.

    ``modes`` has one item for each entered mode. Adding and taking one is atomic, and an empty list
    is false, so that neither counting nor looking needs a lock. ``short``, once it is set, is asked
    first about calls that are not plain while no mode is entered: it knows what calls like them
    have done. ``below`` is asked about calls that no handler has answered, once a floor above has
    set it: it runs ``__torch_dispatch__``.
    """

    __slots__ = ("modes", "below", "short")

    def __init__(self) -> None:
        self.modes: list[None] = []
        self.below: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
        self.short = None


ACTIVE = _Active()


class _ModeStack(list["TorchFunctionMode"]):
    """The function modes of one thread, outermost first."""

    def __del__(self, active: _Active = ACTIVE) -> None:
        # A thread may end inside a mode: the global count must not stay up. At interpreter shutdown
        # module globals are gone already.
        del active.modes[: len(self)]


class _State(threading.local):
    """What one thread has entered.

    ``level``: 0 all on, 1 no handlers of operands, 2 no modes either. ``mark`` is called with each
    result and the arguments, and returns the result: inference mode.
    """

    def __init__(self) -> None:
        self.level = 0
        self.modes = _ModeStack()
        self.skip = False
        self.mark: Callable[[Any, Iterable[Any]], Any] | None = None


_state = _State()


def _count(change: int) -> None:
    if change > 0:
        ACTIVE.modes.extend([None] * change)
    else:
        del ACTIVE.modes[:-change]


class _Disabling:
    """A block in which the protocol is (partly) off; leaving it restores what was before."""

    _level = 0

    def __init__(self) -> None:
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(_state.level)
        _state.level = max(_state.level, self._level)

    def __exit__(self, *exc: object) -> None:
        _state.level = self._before.pop()


class DisableTorchFunctionSubclass(_Disabling):
    """A block in which no handler of an operand is asked; function modes still are."""

    _level = 1


class DisableTorchFunction(_Disabling):
    """A block in which neither handlers of operands nor function modes are asked."""

    _level = 2


class EnableTorchFunction:
    """The protocol is on again, inside a disabling block, from the making of this object to the end
    of its block, or its own."""

    def __init__(self) -> None:
        self._before: int | None = _state.level
        _state.level = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        if self._before is not None:
            _state.level, self._before = self._before, None

    __del__ = __exit__


def is_torch_function_enabled() -> bool:
    """Whether handlers of operands are asked."""
    return _state.level == 0


def is_torch_function_mode_enabled() -> bool:
    """Whether a function mode is entered and asked."""
    return _state.level < 2 and bool(_state.modes)
