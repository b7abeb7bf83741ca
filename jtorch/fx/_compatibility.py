"""Marks on what other packages may rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_BACK_COMPAT_OBJECTS: dict[object, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[object, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """A decorator that notes in the documentation whether a function or class will stay as it is.

    Example:
        >>> from jtorch.fx._compatibility import compatibility
        >>> @compatibility(is_backward_compatible=False)
        ... def draft(): ...
        >>> "may change" in draft.__doc__
        True
    """

    def mark(x: _T) -> _T:
        note = "It is to stay as it is." if is_backward_compatible else "It may change."
        x.__doc__ = f"{x.__doc__ or ''}\n\n{note}\n"
        _MARKED_WITH_COMPATIBILITY.setdefault(x)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(x)
        return x

    return mark
