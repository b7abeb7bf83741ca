"""What is known of places before a kernel runs: gathers and scatters need not look whether what
cannot be outside is inside.

XLA takes places as int32 with an axis for their coordinates, and gets from the kernels negative
ones made positive first. NumPy takes int64 as they are, negative ones too. So the steps in between
are left out where nothing else needs what they give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..intervals import EMPTY, RULES, Interval, limits, of_array
from .recipes import Recipe, Spec, Step

#: Primitives that look up or write at places: the number of the operand that holds these.
USERS: dict[str, int] = dict.fromkeys(
    (
        "gather",
        "scatter",
        "scatter-add",
        "scatter-sub",
        "scatter-mul",
        "scatter-min",
        "scatter-max",
    ),
    1,
)
#: What may stand between a conversion to int32 and such a primitive, and is the same for int64.
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_BETWEEN = _COMPARISONS | frozenset(
    (
        "reshape broadcast_in_dim squeeze expand_dims transpose slice add sub mul max min clamp "
        "select_n concatenate in_range"
    ).split()
)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def settled(recipe: Recipe, known: Mapping[int, Interval] | None = None) -> Recipe:
    """The recipe with places told: gathers and scatters get the parameters ``inside`` (no place is
    outside, but that negative ones may count from the end: ``wraps``) and ``bare`` (places lack the
    axis of coordinates, of which there is one).

    Args:
        recipe: what has or has not such steps.
        known: the intervals of some operands, by their numbers.
    """
    if not any(s.name in USERS for s in recipe.steps):
        return recipe
    return _Settler(recipe, known or {}).recipe()


class _Settler:
    def __init__(self, recipe: Recipe, known: Mapping[int, Interval]) -> None:
        self.given = recipe
        self.constants = list(recipe.constants)
        self.specs = recipe.specs()
        self.at: dict[int, int] = {}  # what stands for values that are left out
        self.made: dict[int, Step] = {}
        self.range: dict[int, Interval] = {
            i: known.get(i, limits(a.dtype)) for i, a in enumerate(recipe.ins)
        }
        self.range.update({-1 - k: of_array(c, None) for k, c in enumerate(recipe.constants)})
        self.only_places = self._only_places()

    def recipe(self) -> Recipe:
        steps = [found for s in self.given.steps if (found := self.step(s)) is not None]
        return self.given._replace(
            constants=tuple(self.constants),
            steps=tuple(steps),
            outs=tuple([self.now(i) for i in self.given.outs]),
        )

    def now(self, i: int) -> int:
        return self.at.get(i, i)

    def step(self, s: Step) -> Step | None:
        """What becomes of a step; None if something else stands for its result."""
        s = s._replace(ins=tuple([self.now(i) for i in s.ins]))
        if s.name == "convert_element_type" and s.out in self.only_places and self._is_narrowed(s):
            self.at[s.out] = s.ins[0]
            return None
        if (
            s.name in _COMPARISONS
            and s.out not in self.given.outs
            and (told := self._told(s)) is not None
        ):
            self._constant(s.out, np.broadcast_to(np.asarray(told), self.specs[s.out].shape))
            return None
        if s.name == "select_n" and (case := self._case(s)) is not None:
            self.at[s.out] = case
            return None
        if s.name in USERS:
            s = self._looked_up(s)
        elif (
            s.out in self.only_places
            and any(self.specs[i].dtype == _INT64 for i in s.ins)
            and s.outs[0].dtype == _INT32
        ):
            s = s._replace(outs=(Spec(s.outs[0].shape, _INT64),))
        for k, spec in enumerate(s.outs):
            self.specs[s.out + k] = spec
            self.made[s.out + k] = s
            self.range[s.out + k] = self._range(s, k)
        return s

    def _constant(self, i: int, x: np.ndarray) -> None:
        self.constants.append(x)
        self.at[i] = new = -len(self.constants)
        self.specs[new], self.range[new] = Spec(x.shape, x.dtype), of_array(x, None)

    def _only_places(self) -> set[int]:
        """The values of which nothing but places is made."""
        recipe = self.given
        left = {s.out for s in recipe.steps if len(s.outs) == 1} - set(recipe.outs)
        for s in reversed(recipe.steps):
            if s.name in _COMPARISONS:
                continue
            place = USERS.get(s.name)
            for k, i in enumerate(s.ins):
                if place is not None:
                    if k != place:
                        left.discard(i)
                elif s.name not in _BETWEEN or s.out not in left:
                    left.discard(i)
        return left

    def _is_narrowed(self, s: Step) -> bool:
        return self.specs[s.ins[0]].dtype == _INT64 and s.outs[0].dtype == _INT32

    def _range(self, s: Step, k: int) -> Interval:
        most = limits(s.outs[k].dtype)
        if not np.isfinite(most[1]):
            return most
        if s.name == "select_n" and (x := self._wrapped(s)) is not None:
            low, high = self.range[x[0]]
            if -x[1] <= low and high < x[1]:
                return 0, x[1] - 1
        rule = RULES.get(s.name)
        if rule is None:
            return most
        found = rule(_Seen(s, self.specs), lambda n, *_: self.range[s.ins[n]], k)
        if found is None or (found != EMPTY and (found[0] < most[0] or found[1] > most[1])):
            return most
        return found

    def _told(self, s: Step) -> bool | None:
        """What a comparison of integers gives in all places; None where that cannot be told."""
        (a, b), (c, d) = self.range[s.ins[0]], self.range[s.ins[1]]
        if not all(self.specs[i].dtype.kind in "iu" for i in s.ins) or a > b or c > d:
            return None
        if s.name in ("gt", "ge"):
            a, b, c, d = c, d, a, b
        if s.name in ("lt", "gt"):
            return True if b < c else False if a >= d else None
        if s.name in ("le", "ge"):
            return True if b <= c else False if a > d else None
        apart = b < c or d < a
        if s.name == "eq":
            return False if apart else None
        return True if apart else None

    def _case(self, s: Step) -> int | None:
        """The case that is always chosen."""
        if s.ins[0] >= 0 or self.specs[s.ins[0]].dtype != np.bool_:
            return None
        which = self.constants[-1 - s.ins[0]]
        if not which.size or which.min() != which.max():
            return None
        case = s.ins[2 if which.min() else 1]
        return (
            case
            if self.specs[case].shape == s.outs[0].shape and self.specs[case].dtype.kind in "iub"
            else None
        )

    def _wrapped(self, s: Step) -> tuple[int, int] | None:
        """Of places that are counted from the end where they are negative: these places, and how
        many there are."""
        test, otherwise, moved = (
            (self.made.get(s.ins[0]), s.ins[1], self.made.get(s.ins[2]))
            if len(s.ins) == 3
            else (None, 0, None)
        )
        if test is None or moved is None or test.name != "lt" or moved.name != "add":
            return None
        if (
            test.ins[0] != otherwise
            or moved.ins[0] != otherwise
            or test.ins[1] >= 0
            or moved.ins[1] >= 0
        ):
            return None
        zero, count = self.range[test.ins[1]], self.range[moved.ins[1]]
        return (
            (otherwise, int(count[0]))
            if zero == (0, 0) and count[0] == count[1] and count[0] > 0
            else None
        )

    def _looked_up(self, s: Step) -> Step:
        """A gather or scatter with what is known of its places."""
        j = USERS[s.name]
        d, shape = s.params["dimension_numbers"], self.specs[s.ins[0]].shape
        indexed = d.start_index_map if s.name == "gather" else d.scatter_dims_to_operand_dims
        if not indexed:
            return s
        room = min([shape[o] - n for o, n in zip(indexed, self._sizes(s, indexed), strict=True)])
        places, params, i = self.specs[s.ins[j]], {}, s.ins[j]
        low, high = self.range[i]
        if low >= 0 and high <= room:
            params["inside"] = True
        columns = places.shape[-1]
        before = self.made.get(i)
        if (
            columns == 1
            and before is not None
            and before.name in ("reshape", "broadcast_in_dim", "expand_dims")
        ):
            bare = self.specs[before.ins[0]]
            whole = before.name != "broadcast_in_dim" or tuple(
                before.params["broadcast_dimensions"]
            ) == tuple(range(bare.ndim))
            if (
                whole
                and bare.shape == places.shape[:-1]
                and bare.ndim
                and before.params.get("dimensions") in (None, ())
            ):
                params["bare"], i = True, before.ins[0]
                self.specs[i] = bare
                made = self.made.get(i)
                if (
                    "inside" in params
                    and room == shape[indexed[0]] - 1
                    and made is not None
                    and made.name == "select_n"
                ):
                    wrapped = self._wrapped(made)
                    if wrapped is not None and wrapped[1] == room + 1:
                        params["wraps"], i = True, wrapped[0]
        if not params:
            return s
        return s._replace(ins=(*s.ins[:j], i, *s.ins[j + 1 :]), params={**s.params, **params})

    def _sizes(self, s: Step, indexed: Sequence[int]) -> list[int]:
        """How long windows are along the dimensions that are indexed."""
        if s.name == "gather":
            return [s.params["slice_sizes"][o] for o in indexed]
        d, updates = s.params["dimension_numbers"], self.specs[s.ins[2]].shape
        missing = {*d.inserted_window_dims, *d.operand_batching_dims}
        kept = [o for o in range(self.specs[s.ins[0]].ndim) if o not in missing]
        length = dict(zip(kept, [updates[i] for i in d.update_window_dims], strict=True))
        return [length.get(o, 1) for o in indexed]


class _Seen:
    """A step as rules of intervals see equations."""

    __slots__ = ("invars", "outvars", "params")

    def __init__(self, s: Step, specs: Mapping[int, Any]) -> None:
        self.invars = [SimpleNamespace(aval=specs[i]) for i in s.ins]
        self.outvars = [SimpleNamespace(aval=a) for a in s.outs]
        self.params = s.params
