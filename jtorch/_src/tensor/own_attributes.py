"""What a program sets on a tensor, apart from what the tensor itself consists of, which lies in the
same dictionary."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Named


class TensorBase:
    """Has the dictionary of a tensor's attributes, so that ``Tensor.__dict__`` can show a part of
    it."""


#: The dictionary itself, of a tensor.
everything: Callable[[Any], dict[str, Any]] = TensorBase.__dict__["__dict__"].__get__
#: Gives a tensor another one.
set_everything: Callable[[Any, dict[str, Any]], None] = TensorBase.__dict__["__dict__"].__set__


class OwnRef(weakref.ref[Any]):
    """A weak reference of this package's, which a program that looks for those of its own does not
    find among them."""

    __slots__ = ()


def take_over(tensor: Tensor, parts: Named) -> None:
    """Makes a tensor what another one was, of which the dictionary is given: a wrapper looks at its
    storage through itself from then on."""
    set_everything(tensor, parts)
    look = parts.get("_al")
    if hasattr(look, "tensor"):
        look.tensor = OwnRef(tensor)


class Attributes(dict[str, Any]):
    """The attributes that a program has set on a tensor; changes of it are changes of them."""

    __slots__ = ("_all",)

    def __init__(self, of: dict[str, object], hidden: Iterable[str]) -> None:
        super().__init__({k: v for k, v in of.copy().items() if k not in hidden})
        self._all = of

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self._all[key] = value

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        del self._all[key]

    def __ior__(self, other: object) -> object:
        self.update(other)
        return self

    def __reduce__(self) -> object:
        return dict, (dict(self),)

    def update(self, *args: object, **kwargs: object) -> None:
        """Sets several."""
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key: str, default: object = None) -> Any:
        """The attribute, which is set if it was not."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, *default: object) -> Any:
        """Takes one away and returns it."""
        found = super().pop(key, *default)
        if key in self._all:
            del self._all[key]
        return found

    def popitem(self) -> tuple[str, object]:
        """Takes the last one away and returns it with its name."""
        key, value = super().popitem()
        del self._all[key]
        return key, value

    def clear(self) -> None:
        """Takes all away."""
        for key in list(self):
            del self[key]


def without(hidden: Iterable[str]) -> property:
    """The property ``__dict__`` of a class whose instances have ``hidden`` attributes."""

    def get(self: Tensor) -> Attributes:
        return Attributes(everything(self), hidden)

    def put(self: Tensor, value: object) -> None:
        if not isinstance(value, dict):
            raise TypeError(f"__dict__ must be set to a dictionary, not a '{type(value).__name__}'")
        own = get(self)
        value = dict(value)
        own.clear()
        own.update(value)

    return property(get, put, doc="The attributes that were set on the instance.")
