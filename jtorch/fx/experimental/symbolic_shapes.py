"""Questions about symbolic sizes: all sizes are numbers here."""

from __future__ import annotations

from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):
    """Never raised: sizes are numbers."""


def guard_or_false(a: Any) -> bool:
    """The truth value, which is always known."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """The truth value, which is always known."""
    return bool(a)


def guard_size_oblivious(a: Any) -> bool:
    """The truth value, which is always known."""
    return bool(a)


def statically_known_true(x: Any) -> bool:
    """The truth value, which is always known."""
    return bool(x)


def definitely_true(a: Any) -> bool:
    """The truth value, which is always known."""
    return bool(a)


def free_symbols(val: Any) -> set[Any]:
    """None."""
    del val
    return set()


def free_unbacked_symbols(x: Any) -> set[Any]:
    """None."""
    del x
    return set()


def has_free_symbols(val: Any) -> bool:
    """False."""
    del val
    return False
