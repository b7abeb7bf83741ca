"""Decorators and questions of PyTorch's TorchScript that libraries use directly: functions run as
Python, so they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, get_args, get_origin

from .futures import Future as Future
from .jit import _overload as _overload
from .jit import _overload_method as _overload_method
from .jit import export as export
from .jit import ignore as ignore
from .jit import is_scripting as is_scripting
from .jit import unused as unused
from .jit.annotations import BroadcastingList1 as BroadcastingList1
from .jit.annotations import BroadcastingList2 as BroadcastingList2
from .jit.annotations import BroadcastingList3 as BroadcastingList3
from .jit.annotations import BroadcastingListCls as BroadcastingListCls

if TYPE_CHECKING:
    from ._src.facts.kinds import Function


__all__ = [
    "Final",
    "Future",
    "boolean_dispatch",
    "export",
    "get_args",
    "get_origin",
    "ignore",
    "is_scripting",
    "unused",
]


def _copy_to_script_wrapper(fn: object) -> object:
    """The function itself."""
    return fn


def _drop(fn: object) -> object:
    """The function itself."""
    return fn


def is_final(ann: object) -> bool:
    """Whether an annotation says that a value does not change."""
    return ann is Final or get_origin(ann) is Final


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Function,
    if_false: Function,
    module_name: str,
    func_name: str,
) -> Callable[..., object]:
    """A function that is ``if_true`` or ``if_false``, by the value of one of its arguments."""

    def chosen(*args: object, **kwargs: object) -> object:
        flag = (
            kwargs[arg_name]
            if arg_name in kwargs
            else args[arg_index]
            if arg_index < len(args)
            else default
        )
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__name__ = func_name or chosen.__name__
    chosen.__module__ = module_name or chosen.__module__
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    return chosen
