"""The mark by which PyTorch tells which parts of ``torch.fx`` stay as they are; libraries that derive from them use it too."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

_BACK_COMPAT_OBJECTS: dict[object, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[object, None] = {}


def compatibility(is_backward_compatible: bool) -> Callable[[_T], _T]:
    """Marks a function or class as one that stays as it is, or as an experiment; the docstring, if there is one, says so at its end.

    Example:
        >>> from jtorch.fx._compatibility import compatibility
        >>> @compatibility(is_backward_compatible=True)
        ... def parts(): pass
    """
    note = (
        "\n\n.. note::\n    Backwards-compatibility for this API is guaranteed.\n"
        if is_backward_compatible
        else "\n\n.. warning::\n    This API is experimental and is *NOT* backward-compatible.\n"
    )

    def marked(fn: _T) -> _T:
        _MARKED_WITH_COMPATIBILITY.setdefault(fn)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(fn)
        fn.__doc__ = textwrap.dedent(fn.__doc__ or "") + note
        return fn

    return marked
