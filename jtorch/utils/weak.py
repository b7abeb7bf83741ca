"""Weak references and dictionaries that compare by identity: tensors, whose ``==`` is elementwise,
can be their keys."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any
from weakref import ref

from jtorch import Tensor

__all__ = ["TensorWeakRef", "WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary"]

WeakRef = ref


class WeakIdRef(weakref.ref):
    """A weak reference that hashes and compares by the identity of what it refers to."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if a is None or b is None else a is b

    # a weak reference's own would compare what they refer to
    def __ne__(self, other: object) -> bool:
        return not self == other


class _WeakHashRef(weakref.ref):
    """A weak reference with the hash of what it refers to, compared by equality."""

    __slots__ = ("_hash",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        self._hash = hash(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if a is None or b is None else bool(a == b)

    def __ne__(self, other: object) -> bool:
        return not self == other


def _pairs(given: Any) -> Any:
    """The pairs of a sequence of them, or of what has keys and gives a value for each."""
    keys = getattr(given, "keys", None)
    return given if keys is None else [(key, given[key]) for key in keys()]


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are compared by identity and held weakly: an entry goes with its
    key."""

    def __init__(self, dict: object = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        me = weakref.ref(self)

        def remove(reference: object) -> None:
            found = me()
            if found is not None:
                found.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing that can be referred to weakly
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    keys = __iter__  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The pairs whose keys live."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def values(self) -> Iterator[Any]:
        """The values whose keys live."""
        for reference, value in list(self.data.items()):
            if reference() is not None:
                yield value

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Takes out a pair."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary of the same keys and values."""
        new = (
            type(self)()
            if type(self) is not WeakIdKeyDictionary
            else WeakIdKeyDictionary(ref_type=self.ref_type)
        )
        for key, value in self.items():
            new[key] = value
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        new = self.__class__()
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def update(self, dict: Any = None, /, **kwargs: Any) -> None:
        """Takes over the pairs of a mapping or of a sequence of pairs."""
        if dict is not None:
            for key, value in dict.items() if hasattr(dict, "items") else _pairs(dict):
                self[key] = value
        for key, value in kwargs.items():
            self[key] = value

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.__class__()
        made.update(other)
        made.update(self)
        return made

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: call it for the tensor, or None when that is gone."""

    def __init__(self, tensor: Tensor) -> None:
        assert isinstance(tensor, Tensor), f"expected torch.Tensor, got {type(tensor)}"
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        """The tensor, or None."""
        return self.ref()
