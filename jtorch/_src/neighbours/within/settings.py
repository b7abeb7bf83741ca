"""Modules of settings that programs write and read back."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

_ABSENT = object()


def patches(module: str) -> Callable[..., object]:
    """The ``patch`` of a module of settings, a block or decorator in which some are others.

    It is called as ``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``;
    ``triton.name`` is one in ``triton``.
    """

    def place(name: str) -> tuple[Any, str]:
        owner: Any = sys.modules[module]
        *path, last = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        return owner, last

    @contextlib.contextmanager
    def patch(changes: Any = None, value: Any = _ABSENT, /, **more: Any) -> Iterator[None]:
        """A block (or decorator) with other settings."""
        given = {
            **(
                {}
                if changes is None
                else changes
                if isinstance(changes, dict)
                else {changes: value}
            ),
            **more,
        }
        before = []
        try:
            for name, new in given.items():
                owner, last = place(name)
                was = getattr(owner, last, _ABSENT)
                setattr(owner, last, new)
                before.append((owner, last, was))
            yield
        finally:
            for owner, last, was in reversed(before):
                if was is _ABSENT:
                    delattr(owner, last)
                else:
                    setattr(owner, last, was)

    return patch
