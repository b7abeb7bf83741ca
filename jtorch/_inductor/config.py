"""The settings of PyTorch's compiler, which programs write and read: they are kept, and have no effect, as XLA decides by itself."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

_ABSENT = object()


@contextlib.contextmanager
def patch(changes: Any = None, **more: Any) -> Iterator[None]:
    """A block (or decorator) with other settings: ``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``."""
    changes = {**(changes if isinstance(changes, dict) else {}), **more}
    settings = vars(sys.modules[__name__])
    before = {name: settings.get(name, _ABSENT) for name in changes}
    settings.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is _ABSENT:
                settings.pop(name, None)
            else:
                settings[name] = value
