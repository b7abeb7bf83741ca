"""The named tuples that functions with several results return."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

_made: dict[str, type] = {}


class _Result(tuple[Any, ...]):
    """A tuple whose items also have names; built from one sequence, as torch's are."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    n_fields = n_sequence_fields = 0
    n_unnamed_fields = 0

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self).__name__, tuple(self)))


def _rebuild(name: str, items: tuple[Any, ...]) -> Any:
    return _made[name](items)


def make(name: str, fields: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    """The class of a function's result, such as ``torch.return_types.max``."""
    found = _made.get(name)
    if found is None:
        space: dict[str, Any] = {
            "__slots__": (),
            "_fields": fields,
            "n_fields": len(fields),
            "n_sequence_fields": len(fields),
            "__module__": "torch.return_types",
        }
        for i, field in enumerate(fields):
            space[field] = property(lambda self, i=i: tuple.__getitem__(self, i))
        found = _made[name] = type(name, (_Result,), space)
        globals()[name] = found
    return found
