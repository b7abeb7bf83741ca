"""What Python state a compiled function can see: found by a walk from the function along the names
that its code mentions, compared before each call. Knows tensors only as things to hand over;
nothing here records or compiles.
"""

from __future__ import annotations

import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import Tensor

if TYPE_CHECKING:
    from .._src.facts.kinds import Tree


#: Values compared as such, by type and equality.
ATOMS = frozenset((int, float, complex, bool, str, bytes, type(None), type(...), slice, range))
#: Packages whose own globals and classes programs do not change. (JAX's caches use the paths of
#: etils where that is installed.)
_LIBRARIES = frozenset(
    (
        *sys.stdlib_module_names,
        __name__.partition(".")[0],
        "torch",
        "jax",
        "jaxlib",
        "etils",
        "ml_dtypes",
        "numpy",
        "scipy",
    )
)
_LIBRARIES -= {"__main__"}
#: Attributes that are caches: what they hold follows from the rest.
_CACHES = frozenset(("_plans", "_compiled_call_impl"))
_LIMIT = 200_000
#: Containers, and the methods by which they are read.
_CONTAINERS = (OrderedDict, dict, list, tuple, deque, set, frozenset)
_READING = ("__bool__", "__iter__", "__len__", "get", "keys", "values")
_MISSING: Any = object()


def is_library(module: str | None) -> bool:
    """Whether a module is the interpreter's, this package, or one of those it is built on; so is
    the code that ``namedtuple`` makes."""
    return (
        module is None or module.partition(".")[0] in _LIBRARIES or module.startswith("namedtuple_")
    )


def same(a: object, b: Tree) -> bool:
    """Whether two values are one object, or equal atoms of one type."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in ATOMS:
        return a == b or (a != a and b != b)
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is types.MethodType:
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return type(a) in (np.dtype, types.MappingProxyType) and a == b


class Place:
    """A container, and what it held: an object's attributes, a dictionary, a list, a closure's
    cell.

    Attributes:
        names: the keys that are looked at, in order.
        values: what was found at each.
        loose: positions whose value may change: tensors that the program replaces, numbers that are
            inputs of it.
    """

    __slots__ = ("container", "loose", "names", "read", "size", "values")

    def __init__(self, container: Any, names: Any, read: Callable[[Place], Any], size: int) -> None:
        self.container, self.names, self.read, self.size = container, names, read, size
        self.loose: frozenset[int] = frozenset()
        self.values: Any = read(self)

    def changed(self) -> list[int] | None:
        """The positions whose value is another now; None if the container has other keys or another
        length."""
        now = self.read(self)
        if now is None or len(now) != len(self.values):
            return None
        if all(map(is_, now, self.values)):
            return []
        return [i for i, (a, b) in enumerate(zip(now, self.values)) if not same(a, b)]

    def holds(self) -> bool:
        """Whether nothing changed that matters."""
        now = self.read(self)
        if now is None or len(now) != len(self.values):
            return False
        if all(map(is_, now, self.values)):
            return True
        loose = self.loose
        return all(
            a is b or i in loose or same(a, b) for i, (a, b) in enumerate(zip(now, self.values))
        )

    def get(self, i: int) -> Any:
        """What is at a position now."""
        now = self.read(self)
        return _MISSING if now is None else now[i]

    def put(self, i: int, value: Tensor) -> None:
        """Puts something else there, as the program does."""
        if type(self.container) is types.CellType:
            self.container.cell_contents = value
        elif isinstance(self.container, (dict, list, deque)):
            self.container[self.names[i]] = value
        else:
            setattr(self.container, self.names[i], value)


def _whole(place: Place) -> Any:
    d = place.container
    if len(d) != place.size:
        return None
    if not all(map(is_, d, place.names)) and not all(map(same, d, place.names)):
        return None
    return list(d.values())


def _some(place: Place) -> object:
    d = place.container
    if len(d) != place.size:
        return None
    return [d.get(name, _MISSING) for name in place.names]


def _globals(place: Place) -> list[object]:
    # a module gets new names all the time; only those that the code mentions matter
    get = place.container.get
    return [get(name, _MISSING) for name in place.names]


def _sequence(place: Place) -> list[object]:
    return list(place.container)


def _redefined(kind: type) -> Any:
    """The built-in container that a class is made of, if the class reads it in ways of its own:
    these may do anything, or raise."""
    for base in _CONTAINERS:
        if issubclass(kind, base):
            return (
                base
                if any(getattr(kind, n, None) is not getattr(base, n, None) for n in _READING)
                else None
            )
    return None


def _values_by(base: Any, place: Place) -> object:
    keys = list(base.__iter__(place.container))
    return (
        list(base.values(place.container))
        if len(keys) == len(place.names) and all(map(same, keys, place.names))
        else None
    )


def _elements_by(base: Any, place: Place) -> object:
    return list(base.__iter__(place.container))


def _cell(place: Place) -> list[object]:
    try:
        return [place.container.cell_contents]
    except ValueError:
        return [_MISSING]


def _slots(place: Place) -> object:
    return [getattr(place.container, name, _MISSING) for name in place.names]


def _contents(place: Place) -> object:
    return [place.container.tobytes()]


class World:
    """The places that a function can see, and the tensors in them.

    Attributes:
        names: identifiers and text constants of the code that ran.
        codes: the code objects that ran outside of libraries, each with the globals it ran with.
        refusal: what was found that cannot be compared, in words.
    """

    def __init__(self, names: set[str], codes: dict[types.CodeType, dict[str, object]]) -> None:
        self.names, self.codes = names, codes
        self.places: list[Place] = []
        self.empty = []
        self.tensors: dict[int, Tensor] = {}
        self.refusal: str | None = None
        self._seen: dict[int, object] = {}
        self._pending: deque[object] = deque()
        self.modules: tuple[type, ...] = ()

    def walk(self, roots: Iterable[object]) -> World:
        """Finds everything reachable from ``roots`` and from the globals of the code."""
        nn = sys.modules.get(f"{__name__.partition('.')[0]}.nn.modules.module")
        optim = sys.modules.get(f"{__name__.partition('.')[0]}.optim.optimizer")
        self.modules = tuple(
            getattr(m, n) for m, n in ((nn, "Module"), (optim, "Optimizer")) if m is not None
        )
        self._pending.extend(roots)
        for code, scope in self.codes.items():
            self._add(scope, [n for n in code.co_names if n in scope], _globals)
        while self._pending:
            self._visit(self._pending.popleft())
            if len(self._seen) > _LIMIT:
                self.refusal = f"it can see more than {_LIMIT} objects"
                break
        return self

    def holds(self) -> bool:
        """Whether all places hold what they held."""
        if any(self.empty):
            return False
        for place in self.places:  # noqa: SIM110 (a generator costs more)
            if not place.holds():
                return False
        return True

    def changes(self) -> list[tuple[Place, int]] | None:
        """The positions that hold something else now; None where a container grew, shrank or was
        filled."""
        if any(self.empty):
            return None
        found = []
        for place in self.places:
            changed = place.changed()
            if changed is None:
                return None
            found += [(place, i) for i in changed]
        return found

    def _add(self, container: Any, names: object, read: Callable[[Place], object]) -> None:
        place = Place(
            container, names, read, len(container) if read is _whole or read is _some else 0
        )
        # no name that the code mentions: but it may come to have one
        if place.values or read is _some:
            self.places.append(place)
            self._pending.extend([v for v in place.values if type(v) not in ATOMS])

    def _visit(self, x: Tree) -> None:
        kind = type(x)
        if kind in ATOMS or x is _MISSING or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        if isinstance(x, Tensor):
            self.tensors[id(x)] = x
            return
        if isinstance(x, self.modules):
            own = x.__dict__
            names = [n for n in own if n not in _CACHES]
            self._add(own, names, _globals)
            self._visit(kind)
        elif isinstance(x, _CONTAINERS) and kind not in _CONTAINERS and (base := _redefined(kind)):
            self._subclass(x, base)
        elif isinstance(x, dict):
            if x:
                self._add(x, list(x), _whole)
                self._pending.extend([k for k in x if type(k) not in ATOMS])
            else:
                self.empty.append(x)
        elif isinstance(x, (list, tuple, deque)):
            if x:
                self._add(x, range(len(x)), _sequence)
            elif kind is not tuple:
                self.empty.append(x)
            if hasattr(x, "__dict__"):
                self._attributes(x)
        elif isinstance(x, (set, frozenset)):
            if x:
                self._add(x, None, _sequence)
            elif isinstance(x, set):
                self.empty.append(x)
        elif kind is types.FunctionType:
            self._function(x)
        elif kind is types.MethodType:
            self._pending.extend((x.__self__, x.__func__))
        elif kind is partial:
            self._pending.extend((x.func, x.args, x.keywords))
        elif kind is types.ModuleType:
            if not is_library(x.__name__):
                self._add(x.__dict__, [n for n in self.names if n in x.__dict__], _globals)
        elif kind is types.CellType:
            self._add(x, (0,), _cell)
        elif isinstance(x, type):
            self._class(x)
        elif isinstance(x, np.ndarray):
            if x.dtype.hasobject or x.nbytes > 1 << 20:
                self.refusal = (
                    f"it can see a NumPy array of {x.nbytes} bytes, whose changes could not be "
                    "noticed"
                )
            else:
                self._add(x, (0,), _contents)
        elif isinstance(x, Enum) or (is_library(kind.__module__) and not hasattr(x, "__dict__")):
            if hasattr(kind, "__next__"):
                self.refusal = f"it can see an iterator ({kind.__name__}), which it may move"
        else:
            self._attributes(x)
            if not is_library(kind.__module__):
                self._visit(kind)

    def _subclass(self, x: object, base: type) -> None:
        keyed = issubclass(base, dict)
        keys = list(base.__iter__(x))
        read = partial(_values_by if keyed else _elements_by, base)
        place = Place(x, keys if keyed else range(len(keys)), read, 0)
        self.places.append(place)
        self._pending.extend([v for v in (*place.values, *keys) if type(v) not in ATOMS])
        self._attributes(x)

    def _attributes(self, x: object) -> None:
        own = getattr(x, "__dict__", None)
        if type(own) is dict:
            if own:
                self._add(own, [n for n in own if n in self.names], _some)
            else:
                self.empty.append(own)
        slots = [
            n for c in type(x).__mro__ for n in c.__dict__.get("__slots__", ()) if n in self.names
        ]
        if slots and not is_library(type(x).__module__):
            self._add(x, slots, _slots)
        if type(x).__name__ in ("generator", "coroutine") or (
            hasattr(type(x), "__next__") and is_library(type(x).__module__)
        ):
            self.refusal = f"it can see an iterator ({type(x).__name__}), which it may move"

    def _function(self, f: Callable[..., object]) -> None:
        if is_library(f.__module__) and f.__closure__ is None:
            return
        self._pending.extend(f.__closure__ or ())
        self._pending.extend([v for v in (f.__defaults__ or ()) if type(v) not in ATOMS])
        self._pending.extend((f.__kwdefaults__ or {}).values())
        if f.__dict__:
            self._attributes(f)

    def _class(self, cls: type) -> None:
        for base in cls.__mro__:
            if is_library(base.__module__) or (base is not cls and id(base) in self._seen):
                continue
            self._seen[id(base)] = base
            own = base.__dict__
            data = [
                n
                for n in own
                if n in self.names
                and not isinstance(
                    own[n], (types.FunctionType, property, staticmethod, classmethod)
                )
            ]
            if data:
                self._add(own, data, _globals)
            for member in own.values():
                member = getattr(member, "__func__", member)
                for f in (member.fget, member.fset) if isinstance(member, property) else (member,):
                    if type(f) is types.FunctionType and f.__code__ in self.codes:
                        self._function(f)
