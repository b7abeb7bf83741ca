"""What ``torch._C`` tells of the modes that this thread has entered, and of who is asked."""

from __future__ import annotations

from enum import IntEnum as _IntEnum
from typing import Any

from .. import dispatch as _dispatch
from .._src.aten.state import STATE as _state
from .._src.facts.errors import type_name as _type_name
from .._src.protocol.state import _state as _protocol


class _TorchFunctionState(_IntEnum):
    """Who is asked by ``__torch_function__``: all, function modes alone, or nobody."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2

    def __repr__(self) -> str:
        return f"<_TorchFunctionState.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"_TorchFunctionState.{self.name}"


def _get_torch_function_state() -> _TorchFunctionState:
    """Who is asked by this thread now."""
    return _TorchFunctionState(_protocol.level)


def _set_torch_function_state(state: _TorchFunctionState, /) -> None:
    """Sets who is asked by this thread.

    Raises:
        TypeError: for what is no such state.
    """
    if not isinstance(state, _TorchFunctionState):
        raise TypeError(
            "_set_torch_function_state(): incompatible function arguments: expected a "
            f"_TorchFunctionState, but got {_type_name(state)}"
        )
    _protocol.level = int(state)


def _at(stack: list[Any], place: int) -> Any:
    if not 0 <= place < len(stack):
        raise RuntimeError("Tried to get stack at idx that's too big")
    return stack[place]


def _len_torch_function_stack() -> int:
    """How many function modes this thread is inside."""
    return len(_dispatch.mode_stack())


def _get_function_stack_at(place: int, /) -> Any:
    """The function mode at a place of this thread's stack, outermost first.

    Raises:
        RuntimeError: if there is none.
    """
    return _at(_dispatch.mode_stack(), place)


def _push_on_torch_function_stack(mode: Any, /) -> None:
    """Enters a function mode."""
    _dispatch.push_mode(mode)


def _pop_torch_function_stack() -> Any:
    """Leaves the innermost function mode, and gives it.

    Raises:
        RuntimeError: if there is none.
    """
    if not _dispatch.mode_stack():
        raise RuntimeError("trying to pop from empty mode stack")
    return _dispatch.pop_mode()


def _len_torch_dispatch_stack() -> int:
    """How many dispatch modes this thread is inside."""
    return len(_state.modes)


def _get_dispatch_stack_at(place: int, /) -> Any:
    """The dispatch mode at a place of this thread's stack, outermost first.

    Raises:
        RuntimeError: if there is none.
    """
    return _at(list(_state.modes), place)
