"""The JAX keys that random functions draw from, inside of ``torch.jax.with_key``.

What JAX traces apart from the function around it must not leave a traced key behind: it begins with
the key that it is given (``drawing_from``), gives back what is left of it (``key_now``), and the
function around it goes on from that (``go_on_from``).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["KEYS", "drawing_from", "go_on_from", "key_now"]


class _Keys(threading.local):
    """The keys of this thread, innermost last; None where PyTorch's generators serve."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


KEYS = _Keys()


def key_now() -> Any:
    """The key that the next draw would split, or None outside of ``with_key``."""
    return KEYS.stack[-1] if KEYS.stack else None


@contextlib.contextmanager
def drawing_from(key: object) -> Iterator[None]:
    """A block whose draws begin with a key that ``key_now`` gave, also if that is None."""
    KEYS.stack.append(key)
    try:
        yield
    finally:
        KEYS.stack.pop()


def go_on_from(key: object) -> None:
    """Has the next draws begin with ``key``, unless there is none."""
    if key is not None:
        KEYS.stack[-1] = key
