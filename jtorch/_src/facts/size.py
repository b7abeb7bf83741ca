"""``Size``: the tuple of a tensor's dimensions."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from ...dispatch import STATIC

if TYPE_CHECKING:
    from .kinds import Row


class SymInt:
    """Base of sizes that are known only by their properties, such as the ragged size of a nested
    tensor."""

    __slots__ = ()


#: Types of sizes that stand for numbers not known yet below the public functions; filled by
#: ``symbols``.
SYMBOLIC: set[type] = set()


def slice_bounds(index: slice, n: Any) -> tuple[Any, Any, int]:
    """``index.indices(n)``, also where sizes are not known yet: first and last bound within ``n``,
    and the step, which is positive."""
    if type(n) is int and not {type(index.start), type(index.stop)} & SYMBOLIC:
        return index.indices(n)
    import jax

    highest, lowest = jax.core.max_dim, jax.core.min_dim
    step = 1 if index.step is None else operator.index(index.step)

    def within(bound: int, default: object) -> Any:
        if bound is None:
            return default
        if type(bound) not in SYMBOLIC:
            bound = operator.index(bound)
            if bound >= 2**62:  # "to the end", as operators write it
                return n
        return highest(n + bound, 0) if bound < 0 else lowest(bound, n)

    start = within(index.start, 0)
    return start, highest(within(index.stop, n), start), step


def less(a: Any, b: Any) -> bool:
    """``a < b``, also of products of sizes that are not known yet, one of which divides the
    other."""
    if type(a) is int and type(b) is int:
        return a < b
    for times, found in ((b // a if a != 0 else 0, True), (a // b if b != 0 else 0, False)):
        product = times * (a if found else b)
        if product == (b if found else a):
            return bool(times > 1) if found else not times >= 1
    return a < b


class SymFloat:
    """Base of floats that are computed of sizes that are not known yet: ``x.shape[0] / 2`` in a
    program that is exported."""

    __slots__ = ()


class SymBool:
    """Base of truth values that are known only by their properties; nothing is one here."""

    __slots__ = ()


class Size(tuple[int, ...]):
    """The sizes of a tensor's dimensions: a tuple of ints that stays a Size when it is sliced,
    added to or repeated.

    Args:
        sizes: the sizes, in any iterable.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).shape[1:], torch.Size([2, 3]).numel()
        (torch.Size([3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[object] = (), /) -> Size:
        made = tuple.__new__(cls, sizes)
        for i, item in enumerate(made):
            if type(item) is not int:
                return tuple.__new__(cls, _ints(made, i))
        return made

    def numel(self) -> int:
        """The number of elements of a tensor of this size."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __getitem__(self, index: Any, /) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if type(index) is slice else found

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: object) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))


for _class in (Size, SymInt, SymFloat, SymBool):
    _class.__module__ = "jtorch"  # where pickles find them


def _ints(items: Row, start: int) -> Iterator[Any]:
    """The items as exact ints; those before ``start`` are."""
    yield from items[:start]
    for i in range(start, len(items)):
        item = items[i]
        if isinstance(item, SymInt) or type(item) in SYMBOLIC:
            yield item
            continue
        try:
            yield operator.index(item)
        except TypeError:
            raise TypeError(
                f"torch.Size() takes an iterable of 'int' (item {i} is '{type(item).__name__}')"
            ) from None


STATIC.add(Size)
