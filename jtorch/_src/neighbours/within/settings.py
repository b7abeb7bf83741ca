"""Modules of settings that programs write and read back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

_ABSENT = object()


def patches(module: str) -> Callable[..., Any]:
    """The ``patch`` of a module of settings, a block or decorator in which some are others.

    It is called as ``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``; ``triton.name`` is one in ``triton``.
    """

    def place(name: str) -> tuple[dict[str, Any], str]:
        owner: Any = sys.modules[module]
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        return vars(owner), last

    @contextlib.contextmanager
    def patch(changes: Any = None, value: Any = _ABSENT, /, **more: Any) -> Iterator[None]:
        """A block (or decorator) with other settings."""
        given = {} if changes is None else changes if isinstance(changes, dict) else {changes: value}
        places = {name: place(name) for name in {**given, **more}}
        before = {name: settings.get(last, _ABSENT) for name, (settings, last) in places.items()}
        for name, new in {**given, **more}.items():
            settings, last = places[name]
            settings[last] = new
        try:
            yield
        finally:
            for name, (settings, last) in places.items():
                if before[name] is _ABSENT:
                    settings.pop(last, None)
                else:
                    settings[last] = before[name]

    return patch
