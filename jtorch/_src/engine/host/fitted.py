"""Recipes that serve many sizes: fitted to those of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .recipes import Recipe, Spec, Step, packed
from .sizes import Size

if TYPE_CHECKING:
    from ...facts.kinds import Named, Operand


_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))
#: What gives the value of a size to equations.
_VALUE = "dim_as_value"
_SPREAD = "broadcast_in_dim"


class Pattern:
    """A recipe with sizes that depend on others (``Size``).

    Attributes:
        alone: that sizes which are values for all places of an array stand as numbers by
            themselves.
    """

    __slots__ = ("_plain", "_valued", "alone", "recipe")

    def __init__(self, recipe: Recipe, alone: bool = False) -> None:
        self.recipe = recipe = in_order(recipe, False)
        self.alone = alone
        #: Of each step, that it is the same for all sizes; and whether sizes are values in some.
        self._plain = [not _varies(s.outs) and not _varies(s.params) for s in recipe.steps]
        self._valued = _is_valued(recipe)

    def fitted(self, at: Named) -> Recipe:
        """The recipe for sizes that are given by name."""
        known: dict[Any, Spec] = {}

        def spec(s: Spec) -> Spec:
            key = s.shape, s.dtype
            found = known.get(key)
            if found is None:
                found = known[key] = Spec(shape_of(s.shape, at), s.dtype)
            return found

        recipe = self.recipe
        steps = [
            s
            if plain
            else Step(
                s.name,
                s.ins,
                s.out,
                tuple([spec(o) for o in s.outs]),
                _params(s.params, at),
                s.several,
            )
            for s, plain in zip(recipe.steps, self._plain, strict=True)
        ]
        found = Recipe(
            tuple([spec(i) for i in recipe.ins]), recipe.constants, tuple(steps), recipe.outs
        )
        return in_order(found, alone=self.alone) if self._valued else found


def shape_of(shape: tuple[int, ...], at: dict[str, int]) -> tuple[int, ...]:
    """A shape, some of whose sizes depend on others."""
    return tuple([n.of(at) if type(n) is Size else n for n in shape])


def fitted(x: Any, at: Named) -> Any:
    """A parameter, or part of one, for certain sizes."""
    kind = type(x)
    if kind in _PLAIN:
        return x
    if kind is Size:
        return x.of(at)
    if kind is tuple or kind is list:
        return kind([fitted(i, at) for i in x])
    if kind is Recipe:
        return Pattern(x).fitted(at)
    if kind is Spec:
        return Spec(shape_of(x.shape, at), x.dtype)
    if isinstance(x, tuple):  # a named one
        return kind(*[fitted(i, at) for i in x])
    return x


def _params(params: Named, at: dict[str, int]) -> dict[str, object]:
    return {name: x if type(x) in _PLAIN else fitted(x, at) for name, x in params.items()}


def _varies(x: Any) -> bool:
    """Whether there is a size in it that depends on others."""
    kind = type(x)
    if kind is Size:
        return True
    if kind is Spec:
        return Size in map(type, x.shape)
    if kind is dict:
        return any(map(_varies, x.values()))
    return isinstance(x, (tuple, list)) and any(map(_varies, x))


def _is_valued(x: Any) -> bool:
    """Whether some size is a value in a recipe, or in one in it."""
    if type(x) is Recipe:
        return any(s.name == _VALUE or any(map(_is_valued, s.params.values())) for s in x.steps)
    return type(x) in (tuple, list) and any(map(_is_valued, x))


def told(x: Any) -> Any:
    """A recipe as what two of one kernel have in common, of which one was made of numbers and the
    other of symbols."""
    if isinstance(x, np.integer):
        return int(x)
    if type(x) is Recipe:
        return told(tuple(in_order(x)))
    if type(x) is dict:
        return tuple([(name, told(value)) for name, value in x.items()])
    return tuple([told(i) for i in x]) if isinstance(x, (tuple, list)) else packed(x)


def in_order(recipe: Recipe, whole: bool = True, alone: bool = False) -> Recipe:
    """A recipe with its constants in the order in which they are used; with ``whole`` sizes that
    are values are some of them."""
    constants: list[np.ndarray] = []
    steps: list[Step] = []
    numbers: dict[int, int] = {k: k for k in range(len(recipe.ins))}
    values: dict[int, Any] = {-1 - k: c for k, c in enumerate(recipe.constants)}
    of_sizes: set[int] = set()
    ahead = len(recipe.ins)

    def number(k: int) -> int:
        if k not in values:
            return numbers[k]
        constants.append(values[k])
        return -len(constants)

    for s in recipe.steps:
        if whole and _is_of_size(s, of_sizes, values, alone):
            of_sizes.add(s.out)
            values[s.out] = _value(s, values)
            continue
        ins = tuple([number(k) for k in s.ins])
        numbers.update({s.out + k: ahead + k for k in range(len(s.outs))})
        steps.append(s if ins == s.ins and ahead == s.out else s._replace(ins=ins, out=ahead))
        ahead += len(s.outs)
    return Recipe(
        recipe.ins, tuple(constants), tuple(steps), tuple([number(k) for k in recipe.outs])
    )


#: What numbers made of sizes are made with, by Python, NumPy and XLA alike; quotients of whole
#: numbers are the same rounded twice.
_MADE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
_EXACT = {"add": (np.float64, np.int64), "div": (np.float64, np.float32)}


def _is_of_size(s: Step, of_sizes: set[int], values: dict[int, np.ndarray], alone: bool) -> bool:
    """Whether a step gives the value of a size, or a number made of it: in some dtype, or with
    ``alone`` for all places of an array."""
    if s.name in _MADE:
        known = not of_sizes.isdisjoint(s.ins) and all(
            k in values and not values[k].ndim for k in s.ins
        )
        return known and s.outs[0].dtype in _EXACT.get(s.name, _EXACT["add"])
    if s.name == "convert_element_type" or (alone and s.name == _SPREAD):
        return s.ins[0] in of_sizes
    return s.name == _VALUE


def _value(s: Step, values: dict[int, np.ndarray]) -> Operand:
    if s.name in _MADE:
        return np.asarray(_MADE[s.name](*[values[k] for k in s.ins]))
    if s.name == _SPREAD:
        return values[s.ins[0]]
    return np.asarray(s.params["dim"] if s.name == _VALUE else values[s.ins[0]]).astype(
        s.outs[0].dtype
    )
