"""What a kernel decides by sizes while it is traced with symbols in their place: as the sizes at
hand have it, and noted. Floor 1."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

import jax

from .host.sizes import value_of

if TYPE_CHECKING:
    from ..facts.kinds import Named


#: A condition on sizes, as text, and what has come of it.
Choice = tuple[str, bool]

#: Where JAX looks shapes up in a table, which compares them with others by chance; nothing is
#: decided by that.
TABLES: frozenset[CodeType] = frozenset(
    [code for code in [getattr(jax.core.ShapedArray.__new__, "__code__", None)] if code is not None]
)


class _Supposed(threading.local):
    """What the symbols stand for in the call at hand; the choices that this has led to; that one
    was made otherwise than it should be."""

    sizes: dict[str, Any] | None = None
    choices: dict[Choice, None]
    wrong = False


_supposed = _Supposed()


class Unsupposed(Exception):
    """JAX took two sizes for different ones that are equal in the call at hand."""


def environment(sizes: Sequence[object]) -> Named:
    """Sizes, or symbols, by the names that symbols have."""
    return {f"jtorch_n{k}": n for k, n in enumerate(sizes)}


@contextlib.contextmanager
def supposing(sizes: Sequence[int]) -> Iterator[dict[Choice, None]]:
    """While it lasts symbols stand for certain sizes; gives the choices that these have led to.

    Raises:
        Unsupposed: at the end, if what was traced does not hold for these sizes.
    """
    _supposed.sizes, _supposed.choices, _supposed.wrong = environment(sizes), {}, False
    try:
        yield _supposed.choices
    finally:
        _supposed.sizes = None
    if _supposed.wrong:
        raise Unsupposed


def is_supposing() -> bool:
    """Whether a kernel is being traced for all sizes."""
    return _supposed.sizes is not None


def is_fewer(n: object, limit: object) -> bool:
    """Whether one size is smaller than another, of which at least one is not known; False where
    nothing is supposed of them."""
    return is_supposing() and _chosen(f"{n} < {limit}")


def _chosen(condition: str) -> bool:
    sizes, _supposed.sizes = _supposed.sizes, None  # looking something up may compare sizes
    assert sizes is not None
    try:
        found = bool(value_of(condition, sizes))
        _supposed.choices[condition, found] = None
    finally:
        _supposed.sizes = sizes
    return found


def watch(kind: Any) -> None:
    """Has the class of JAX's symbolic sizes tell of comparisons for equality, whose answer is no
    where it does not know, and of being taken for true, which it always is."""
    equal = kind.__eq__

    def __eq__(self: Any, other: Any) -> Any:
        found = equal(self, other)
        if found is not False or _supposed.sizes is None or sys._getframe(1).f_code in TABLES:
            return found
        if _chosen(f"{self} == {other}"):
            _supposed.wrong = True  # to say so now might mislead JAX's tables
        return found

    def __bool__(self: object) -> bool:
        return _supposed.sizes is None or _chosen(f"{self} != 0")

    kind.__eq__, kind.__bool__ = __eq__, __bool__
