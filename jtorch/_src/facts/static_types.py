"""What the annotation of a number, flag or text admits: the tables that the public functions look
types up in.

PyTorch's parser takes no bool and no float for an int, though Python's equality makes them one key:
``True == 1 == 1.0``. So what a parameter is declared to be decides which exact types pass at once;
all others are looked at more closely. Floor 0.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .dtypes import dtype
from .errors import is_ours
from .layouts import memory_format
from .size import SYMBOLIC, Size

if TYPE_CHECKING:
    from ...core import Tensor
    from .kinds import Tree


_ATOMS: dict[str, tuple[type, ...]] = {
    "int": (int,), "bool": (bool,), "str": (str,), "float": (float, int, bool),
    "None": (type(None),), "Dtype": (dtype,), "layouts.memory_format": (memory_format,),
}  # fmt: skip
_ITEMS = {
    "tuple[int, ...]": "int",
    "Sequence[int]": "int",
    "tuple[int | None, ...]": "int | None",
    "tuple[float, ...]": "float",
    "tuple[bool, ...]": "bool",
}
_SEQUENCES = frozenset((tuple, list, Size))

#: What generated code finds under its names: a set of types, and a test whether types of items are
#: in one.
STATIC_TABLES: dict[str, object] = {"_LISTS": _SEQUENCES}


class Static:
    """What may be given where no tensor is due.

    Attributes:
        words: what it is, as errors call it.
        types: the exact types that are taken as they are.
        items: those of the items of a list or tuple; None if none is taken.
        table: the name under which generated code finds the types, lists and tuples among them.
    """

    __slots__ = ("words", "types", "items", "table", "_scalars", "_all")

    def __init__(self, atoms: list[str], items: list[str]) -> None:
        first = (items or atoms)[0].replace("layouts.", "torch.").replace("Dtype", "torch.dtype")
        self.words = f"tuple of {first}s" if items else first
        self.types = frozenset(t for a in atoms for t in _ATOMS[a])
        self.items = frozenset(t for a in items for t in _ATOMS[a]) if items else None
        number = len(STATIC_TABLES)
        self.table, self._scalars, self._all = (
            f"_STATIC_{number}",
            f"_SCALARS_{number}",
            f"_ITEMS_{number}",
        )
        STATIC_TABLES[self._scalars] = self.types
        STATIC_TABLES[self.table] = self.types if self.items is None else self.types | _SEQUENCES
        if self.items is not None:
            STATIC_TABLES[self._all] = self.items.issuperset

    def check(self, value: str) -> str:
        """An expression that is true if ``value`` needs a closer look."""
        if (
            len(self.types) == 1
            and self.items is None
            and (only := next(iter(self.types))).__module__ == "builtins"
        ):
            return f"type({value}) is not {only.__name__}"
        scalar = f"type({value}) not in {self._scalars}"
        if self.items is None:
            return scalar
        every = f"{self._all}(map(type, {value}))"
        if self.items == {int}:  # one or two are looked at without a loop
            every = (
                f"(type({value}[0]) is type({value}[-1]) is int if 0 < len({value}) < 3 else "
                f"{every})"
            )
        return f"{scalar} and not (type({value}) in _LISTS and {every})"

    def takes(self, value: Tree) -> bool:
        """Whether ``value`` passes at once."""
        kind = type(value)
        return kind in self.types or (
            self.items is not None
            and kind in _SEQUENCES
            and self.items.issuperset(map(type, value))
        )

    def refuses(self, value: Tree, strict: bool) -> bool:
        """Whether ``value``, which does not pass at once, can never do; unless ``strict``, only
        flags and fractions for whole numbers."""
        if not strict:
            known = self.types | (self.items or frozenset())
            values = value if isinstance(value, (tuple, list)) else (value,)
            return (
                int in known
                and float not in known
                and any(isinstance(x, (bool, float)) for x in values[:1])
            )
        if self.items is not None and isinstance(value, (tuple, list)):
            return any(
                type(x) not in self.items and not _counts(x) for x in value if type(x) is not bool
            )
        if self.types <= {bool, str, type(None)} and self.items is None:
            return True
        known = self.types | (self.items or frozenset())
        return int in known and float not in known and not _counts(value)

    def decide(self, value: Any, default: bool | float | str) -> None:
        """Asks ``value`` for what Python code asks where such a value is due: its truth, its items,
        or how many these are."""
        if str in self.types:
            bool(value == default)
        elif bool in self.types and int not in self.types:
            bool(value)
        elif self.items is not None and type(None) in self.items:
            len(value)
        elif self.items is not None and self.types - {type(None)}:
            iter(value)

    def plain(self, value: Tree) -> Tree:
        """``value`` as a Python int, or a tuple of them, where it is something else that Python
        counts with."""
        if self.items is not None and isinstance(value, (tuple, list)):
            return tuple([self.plain(x) for x in value])
        kind = type(value)
        known = self.types | (self.items or frozenset())
        if (
            int not in known
            or float in known
            or kind in (int, bool)
            or not hasattr(kind, "__index__")
        ):
            return value
        if not _counts(value):
            return value
        return (
            int(value.item())
            if hasattr(kind, "item")
            else value
            if is_ours(kind)
            else value.__index__()
        )


def _counts(value: Tensor) -> bool:
    """Whether a number is whole by its type: flags are not, but tensors of one are. Arrays and
    tensors have one element."""
    kind, dtype_ = type(value), getattr(value, "dtype", None)
    if dtype_ is None:
        return (kind is not bool and hasattr(kind, "__index__")) or kind in SYMBOLIC
    if isinstance(dtype_, dtype):
        return dtype_.np.kind in "iub" and value.numel() == 1
    return dtype_.kind in "iu" and not value.ndim


@functools.cache
def static_of(annotation: str) -> Static | None:
    """What an annotation admits; None where it says nothing, or names what is unknown here."""
    parts = annotation.replace("int | None, ...", "int? ...").split(" | ")
    parts = [p.replace("int? ...", "int | None, ...") for p in parts]
    atoms = [p for p in parts if p in _ATOMS]
    items = [a for p in parts if p in _ITEMS for a in _ITEMS[p].split(" | ")]
    if len(atoms) + sum(p in _ITEMS for p in parts) != len(parts) or not (
        set(atoms) | set(items)
    ) - {"None"}:
        return None
    return Static(atoms, items)
