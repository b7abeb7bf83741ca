"""Recipes: what a jaxpr computes, as plain data that can be kept between processes, so that nothing
is traced twice.

A jaxpr is taken apart: jaxprs that only hold others are put in their place, and what no result
depends on is left out. Of parameters those are kept that data can describe; functions, which rules
have no use for, are not.
"""

from __future__ import annotations

import enum
import functools
import importlib
import math
import operator
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax.extend import core as jex

from .sizes import Size, named, sized

if TYPE_CHECKING:
    from ...facts.kinds import Tree


#: Primitives that only hold another jaxpr: it becomes part of the recipe around it.
_HOLDERS = frozenset(
    "jit pjit closed_call core_call core_closed_call remat checkpoint custom_jvp_call "
    "custom_vjp_call custom_vjp_call_jaxpr custom_lin".split()
)
_Literal = jex.Literal
#: What is data as it is. A tuple of nothing else is, too.
PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes))
# of dtypes: NumPy puts their names together each time
name_of = functools.cache(operator.attrgetter("name"))


class Unstaged(Exception):
    """Some equation of a jaxpr cannot be run on the host; says which."""


class Spec:
    """Shape and dtype of a value in a recipe."""

    __slots__ = ("dtype", "ndim", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype
        self.ndim, self.size = len(shape), math.prod(shape)

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"


class Step(NamedTuple):
    """One equation: the numbers of its operands, the first one of its results, and whether the
    primitive gives a list."""

    name: str
    ins: tuple[int, ...]
    out: int
    outs: tuple[Spec, ...]
    params: dict[str, Any]
    several: bool


class Recipe(NamedTuple):
    """A jaxpr as data. Values are numbered: operands from 0, then what steps give, in order;
    constants as -1, -2, ..."""

    ins: tuple[Spec, ...]
    constants: tuple[np.ndarray, ...]
    steps: tuple[Step, ...]
    outs: tuple[int, ...]

    def specs(self) -> dict[int, Any]:
        """Shape and dtype of every value, by number."""
        found: dict[int, Any] = dict(enumerate(self.ins))
        found.update({-1 - k: Spec(c.shape, c.dtype) for k, c in enumerate(self.constants)})
        for s in self.steps:
            found.update(enumerate(s.outs, s.out))
        return found


# ---- from jaxprs ---------------------------------------------------------------------------------


def recipe_of(closed: Any) -> Recipe:
    """The recipe of a closed jaxpr.

    Raises:
        Unstaged: if it has effects, or values that are no arrays of numbers.
    """
    if closed.jaxpr.effects:
        raise Unstaged(f"effects {closed.jaxpr.effects}")
    return _Writer().write(closed)


def for_cpu(platforms: Sequence[Sequence[str] | None]) -> int | None:
    """Which of the alternatives is for the CPU; one without platforms is for all."""
    return next((i for i, names in enumerate(platforms) if names is None or "cpu" in names), None)


class _Writer:
    def __init__(self) -> None:
        self.constants: list[np.ndarray] = []
        self.steps = []
        self.next = 0

    def write(self, closed: Any) -> Recipe:
        ins = tuple([_spec(v.aval) for v in closed.jaxpr.invars])
        self.next = len(ins)
        outs = self.walk(closed.jaxpr, closed.consts, range(len(ins)))
        wanted = set(outs)
        kept = []
        for step in reversed(self.steps):
            equation, operands, first = step
            if any(first + k in wanted for k in range(len(equation.outvars))):
                wanted.update(operands)
                kept.append(step)
        kept.reverse()
        return Recipe(ins, tuple(self.constants), tuple([_step(*s) for s in kept]), tuple(outs))

    def constant(self, x: object, aval: Any) -> int:
        array = np.asarray(x, _spec(aval).dtype)
        array.flags.writeable = False
        self.constants.append(array)
        return -len(self.constants)

    def taken(self, e: Any, which: int) -> Any:
        """The branch of a conditional that is always taken, as it depends on the platform or on a
        constant; None if there is none."""
        platforms, branches = e.params.get("branches_platforms"), e.params["branches"]
        index = None if platforms is None else for_cpu(platforms)
        if index is None and which < 0:
            index = min(max(int(self.constants[-1 - which]), 0), len(branches) - 1)
        return None if index is None else branches[index]

    def walk(self, jaxpr: Any, consts: Sequence[object], ins: Sequence[int]) -> list[int]:
        at: dict[Any, int] = {}

        def number(x: Any) -> int:
            return self.constant(x.val, x.aval) if type(x) is _Literal else at[x]

        for v, c in zip(jaxpr.constvars, consts, strict=True):
            at[v] = self.constant(c, v.aval)
        at.update(zip(jaxpr.invars, ins, strict=True))
        for e in jaxpr.eqns:
            operands = tuple([number(x) for x in e.invars])
            if e.primitive.name in _HOLDERS:
                inner = (
                    e.params.get("jaxpr") or e.params.get("call_jaxpr") or e.params.get("fun_jaxpr")
                )
                if inner is None:
                    raise Unstaged(e.primitive.name)
                outs = self.walk(
                    getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), operands
                )
            elif (
                e.primitive.name == "platform_index"
                and (index := for_cpu(e.params["platforms"])) is not None
            ):
                outs = [self.constant(index, e.outvars[0].aval)]
            elif e.primitive.name == "cond" and (taken := self.taken(e, operands[0])) is not None:
                outs = self.walk(taken.jaxpr, taken.consts, operands[1:])
            else:
                outs = range(self.next, self.next + len(e.outvars))
                self.steps.append((e, operands, self.next))
                self.next += len(e.outvars)
            at.update(zip(e.outvars, outs, strict=True))
        return [number(x) for x in jaxpr.outvars]


def _spec(aval: jax.core.ShapedArray) -> Spec:
    if not isinstance(getattr(aval, "dtype", None), np.dtype):
        raise Unstaged(str(aval))
    return Spec(tuple([n if type(n) is int else sized(n) for n in aval.shape]), aval.dtype)


def _step(e: Any, operands: tuple[int, ...], first: int) -> Step:
    params = {}
    for name, x in e.params.items():
        found = _plain(x)
        if found is not _NOTHING:
            params[name] = found
    return Step(
        e.primitive.name,
        operands,
        first,
        tuple([_spec(v.aval) for v in e.outvars]),
        params,
        e.primitive.multiple_results,
    )


#: In place of a parameter that data cannot describe.
_NOTHING = object()


def _plain(x: Tree) -> Any:
    """A parameter as data: jaxprs as recipes, arrays as NumPy's, primitives as something that has
    their name."""
    if type(x) in PLAIN or (type(x) is tuple and PLAIN.issuperset(map(type, x))):
        return x
    if x is None or isinstance(
        x, (bool, int, float, complex, str, bytes, np.dtype, np.generic, np.ndarray, enum.Enum)
    ):
        return x
    if isinstance(x, type) and issubclass(x, np.generic):
        return np.dtype(x)
    if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer):
        return np.asarray(x) if isinstance(x.dtype, np.dtype) else _NOTHING
    if isinstance(x, (tuple, list)):
        items = [_plain(i) for i in x]
        if any(i is _NOTHING for i in items):
            return _NOTHING
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, jex.ClosedJaxpr):
        return recipe_of(x)
    if isinstance(x, jex.Jaxpr):
        return recipe_of(jex.ClosedJaxpr(x, ())) if not x.constvars else _NOTHING
    if isinstance(x, jex.Primitive):
        return SimpleNamespace(name=x.name)
    # operands or results by groups, as newer versions of JAX have them: how many each has
    if getattr(x, "unpackable", False):
        return tuple([len(group) for group in x.unpack()])
    size: Any = x
    return sized(size) if jax.export.is_symbolic_dim(size) else _NOTHING


# ---- to what ``marshal`` writes, and back --------------------------------------------------------


def packed(recipe: Recipe) -> Any:
    """A recipe as tuples of numbers and texts.

    Raises:
        Unstaged: if a parameter is of a kind that has no form.
    """
    return _pack(recipe)


def unpacked(data: tuple[object, ...]) -> Recipe:
    """The reverse of ``packed``."""
    return _unpack(data)


def _pack(x: Any) -> Any:
    kind = type(x)
    if kind in PLAIN:
        return x
    if kind is tuple:
        return ("t", *(x if PLAIN.issuperset(map(type, x)) else [_pack(i) for i in x]))
    if kind is Step:
        return ("n", kind.__module__, "Step", *[_pack(i) for i in x])
    if kind is list:
        return ("l", *[_pack(i) for i in x])
    if kind is dict:
        return ("d", *[(k, _pack(v)) for k, v in x.items()])
    if kind is Spec:
        return (
            "s",
            name_of(x.dtype),
            x.shape if Size not in map(type, x.shape) else tuple([_pack(n) for n in x.shape]),
        )
    if kind is Size:
        return ("z", x.text)
    if kind is SimpleNamespace:
        return ("p", x.name)
    if isinstance(x, np.dtype):
        return ("y", name_of(x))
    if isinstance(x, np.generic):
        return ("g", x.dtype.name, x.tobytes())
    if isinstance(x, np.ndarray) and x.dtype.itemsize:
        return ("a", name_of(x.dtype), x.shape, x.tobytes())
    if isinstance(x, enum.Enum):
        return ("e", kind.__module__, kind.__qualname__, x.name)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return ("n", kind.__module__, kind.__qualname__, *[_pack(i) for i in x])
    raise Unstaged(f"a parameter that is {x!r}")


#: Where the classes of parameters may be.
_PLACES = ("jax", "numpy", (__package__ or "").partition(".")[0])


def _unpack(x: Any) -> Any:
    if type(x) is not tuple:
        return x
    kind, *rest = x
    if kind == "t":
        return tuple([_unpack(i) for i in rest])
    if kind == "l":
        return [_unpack(i) for i in rest]
    if kind == "d":
        return {k: _unpack(v) for k, v in rest}
    if kind == "s":
        return Spec(
            tuple([n if type(n) is int else _unpack(n) for n in rest[1]]), jax.numpy.dtype(rest[0])
        )
    if kind == "z":
        return named(rest[0])
    if kind == "p":
        return SimpleNamespace(name=rest[0])
    if kind == "y":
        return jax.numpy.dtype(rest[0])
    if kind == "g":
        return np.frombuffer(rest[1], jax.numpy.dtype(rest[0]))[0]
    if kind == "a":
        return np.frombuffer(rest[2], jax.numpy.dtype(rest[0])).reshape(rest[1])
    module, name, *rest = rest
    cls = _class(module, name)
    return cls[rest[0]] if kind == "e" else cls(*[_unpack(i) for i in rest])


@functools.cache
def _class(module: str, name: str) -> Any:
    """A class of parameters."""
    if module.partition(".")[0] not in _PLACES:
        raise ValueError(module)
    cls: Any = importlib.import_module(module)
    for part in name.split("."):
        cls = getattr(cls, part)
    return cls
