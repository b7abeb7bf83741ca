"""Small private parts of ``torch.utils`` that packages import: a set that keeps its order, short
names of dtypes, counters and the like."""

from __future__ import annotations

import collections
import functools
import importlib.util
from collections.abc import Callable, Iterable, Iterator, MutableSet
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import jtorch as torch

if TYPE_CHECKING:
    from ...facts.kinds import Function


__all__ = [
    "OrderedSet", "Thunk", "cache_method", "copy_func_params", "copy_func_sig",
    "copy_method_params", "copy_method_sig", "count", "count_label", "dill_available",
    "dtype_abbrs", "exposed_in", "import_dill", "keepdim_warning", "not_none",
    "simple_call_counter",
]  # fmt: skip

_T = TypeVar("_T")

#: Short names of dtypes, as PyTorch prints them in graphs: ``f32[2, 3]``.
dtype_abbrs: dict[torch.dtype, str] = {
    getattr(torch, long): short
    for long, short in (
        item.split(":")
        for item in (
            "bfloat16:bf16 float64:f64 float32:f32 float16:f16 complex32:c32 complex64:c64 "
            "complex128:c128 int8:i8 int16:i16 int32:i32 int64:i64 bool:b8 uint8:u8 uint16:u16 "
            "uint32:u32 uint64:u64 float8_e4m3fn:f8e4m3fn float8_e5m2:f8e5m2 "
            "float8_e4m3fnuz:f8e4m3fnuz float8_e5m2fnuz:f8e5m2fnuz float8_e8m0fnu:f8e8m0fnu"
        ).split()
    )
    if hasattr(torch, long)
}

simple_call_counter: collections.OrderedDict[str, int] = collections.OrderedDict()


def count_label(label: str) -> None:
    """Counts one more call under a name."""
    simple_call_counter[label] = simple_call_counter.get(label, 0) + 1


def count(fn: Callable[..., object]) -> Function:
    """A decorator that counts the calls of a function in ``simple_call_counter``."""

    @functools.wraps(fn)
    def counted(*args: object, **kwargs: object) -> Any:
        count_label(fn.__qualname__)
        return fn(*args, **kwargs)

    return counted


def not_none(obj: _T | None) -> _T:
    """``obj``, which is not None.

    Raises:
        TypeError: if it is.
    """
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def _itself(source: object) -> Callable[[Any], Any]:
    """A decorator that returns what it is given: it tells type checkers that a function has
    another's parameters."""
    del source
    return lambda fn: fn


copy_func_params = copy_method_params = copy_func_sig = copy_method_sig = _itself


def exposed_in(module: str) -> Callable[[Any], Any]:
    """A decorator that says that a function or class belongs to a module."""

    def mark(fn: object) -> object:
        fn.__module__ = module
        return fn

    return mark


def cache_method(f: Callable[..., object]) -> Callable[..., object]:
    """A decorator for methods that keeps their results on the object, by arguments, which must be
    hashable."""
    name = f"_cache_method_{f.__name__}"

    @functools.wraps(f)
    def wrap(self: object, *args: object) -> Any:
        kept = self.__dict__.setdefault(name, {})
        if args not in kept:
            kept[args] = f(self, *args)
        return kept[args]

    return wrap


def _check_module_exists(name: str) -> bool:
    """Whether a module could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def dill_available() -> bool:
    """Whether ``dill`` is installed."""
    return _check_module_exists("dill")


def import_dill() -> object:
    """``dill`` without its changes to ``pickle``, or None where it is not installed."""
    if not dill_available():
        return None
    dill = importlib.import_module("dill")
    dill.extend(use_dill=False)
    return dill


def _disable_dynamo(fn: object = None, recursive: bool = True) -> object:
    """``torch.compiler.disable``."""
    return torch.compiler.disable(fn, recursive)


class Thunk(Generic[_T]):
    """A value that is computed when it is first asked for."""

    def __init__(self, f: Callable[[], _T]) -> None:
        self.f: Callable[[], _T] | None = f
        self.r: _T | None = None

    def force(self) -> _T:
        """The value."""
        if self.f is not None:
            self.r, self.f = self.f(), None
        return self.r  # type: ignore[return-value]


class OrderedSet(MutableSet[_T]):
    """A set that goes through its elements in the order in which they came.

    Example:
        >>> from jtorch.utils._ordered_set import OrderedSet
        >>> list(OrderedSet([3, 1, 3]) | [2])
        [3, 1, 2]
    """

    __slots__ = ("_elements",)

    def __init__(self, iterable: Iterable[_T] | None = None) -> None:
        self._elements = dict.fromkeys(iterable if iterable is not None else ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._elements

    def __iter__(self) -> Iterator[_T]:
        return iter(self._elements)

    def __reversed__(self) -> Iterator[_T]:
        return reversed(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self) if self else ''})"

    def __getstate__(self) -> list[_T]:
        return list(self)

    def __setstate__(self, state: list[_T]) -> None:
        self._elements = dict.fromkeys(state)

    def add(self, value: _T) -> None:
        """Puts an element last, if it is not there."""
        self._elements[value] = None

    def discard(self, value: _T) -> None:
        """Takes an element out, if it is there."""
        self._elements.pop(value, None)

    def clear(self) -> None:
        """Takes all elements out."""
        self._elements.clear()

    def pop(self) -> _T:
        """Takes out the last element.

        Raises:
            KeyError: if there is none.
        """
        if not self:
            raise KeyError("pop from an empty set")
        return self._elements.popitem()[0]

    def copy(self) -> OrderedSet[_T]:
        """Another set of the same elements."""
        return OrderedSet(self)

    def update(self, *others: Iterable[_T]) -> None:
        """Adds the elements of others."""
        for other in others:
            self |= other

    def union(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements of all."""
        made = self.copy()
        made.update(*others)
        return made

    def difference(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements that no other has."""
        return OrderedSet(x for x in self if not any(x in set(other) for other in others))

    def difference_update(self, *others: Iterable[_T]) -> None:
        """Keeps the elements that no other has."""
        self._elements = self.difference(*others)._elements

    def intersection(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements that all others have."""
        return OrderedSet(x for x in self if all(x in set(other) for other in others))

    def intersection_update(self, *others: Iterable[_T]) -> None:
        """Keeps the elements that all others have."""
        self._elements = self.intersection(*others)._elements

    def issubset(self, other: Iterable[_T]) -> bool:
        """Whether the other has all elements."""
        return set(self) <= set(other)

    def issuperset(self, other: Iterable[_T]) -> bool:
        """Whether all elements of the other are here."""
        return set(self) >= set(other)

    def symmetric_difference(self, other: Iterable[_T]) -> OrderedSet[_T]:
        """The elements that one of both has."""
        return self ^ OrderedSet(other)  # type: ignore[return-value]

    def symmetric_difference_update(self, other: Iterable[_T]) -> None:
        """Keeps the elements that one of both has."""
        self._elements = self.symmetric_difference(other)._elements

    def __or__(self, other: Iterable[object]) -> OrderedSet[object]:
        return OrderedSet([*self, *other])

    def __ior__(self, other: Iterable[_T]) -> OrderedSet[_T]:
        self._elements.update(dict.fromkeys(other))
        return self


class Warning:
    """A switch of warnings about old behaviour, which nothing asks here."""

    enabled = False


keepdim_warning, broadcast_warning = Warning(), Warning()
