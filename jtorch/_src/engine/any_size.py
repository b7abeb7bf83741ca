"""Elementwise kernels: what they are made of does not depend on sizes, so they are traced once for
operands of all sizes. Floor 1.

A kernel that its declaration calls elementwise gives, at each place of its result, one and the same
function of its operands' elements at that place. It is traced for operands whose sizes stand for
any: 1 where all are 1, otherwise another small number for each axis. If what this shows is
elementwise equations and broadcasts along whole axes alone, then it computes that function, and
computes it for operands of all other sizes as well: putting these in the place of the small numbers
is all that is left to do. Whatever else a kernel is made of (reductions, positions, constants with
dimensions) is traced for each shape, as are operands without elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import programs, tracing
from .host.recipes import Recipe, Spec, packed, recipe_of, unpacked
from .host.rules import load
from .signalled import is_signalled
from .values import Aval, Several, aval_of

if TYPE_CHECKING:
    from ..facts.kinds import Row
    from .calls import Call

#: The number that stands for the size of the last axis; the axis before it has the next one.
_FIRST = 2
#: Elementwise primitives whose rules leave broadcasting to others.
_ALSO = frozenset(("convert_element_type", "copy", "copy_p", "real", "imag", "reduce_precision"))


def sizes_of(avals: Sequence[Aval]) -> tuple[int, ...] | None:
    """The size of each axis, the last one first, of what operands broadcast to; None where they
    have no axis, no elements, or do not go together."""
    found: list[int] = []
    for a in avals:
        if type(a.device) is Several:
            return None
        for axis, n in enumerate(reversed(a.shape)):
            if type(n) is not int:  # the size of an export, of which nothing is known
                return None
            if axis == len(found):
                found.append(n)
            elif n != 1 and found[axis] != n:
                if found[axis] != 1:
                    return None
                found[axis] = n
    return tuple(found) if found and 0 not in found else None


def stand_in(a: Aval) -> Aval:
    """The aval that stands for those of all sizes."""
    last = len(a.shape) + 1
    return aval_of(
        tuple([1 if n == 1 else last - k for k, n in enumerate(a.shape)]), a.dtype, a.device
    )


def _fitted(shape: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if n == 1 else sizes[n - _FIRST] for n in shape])


class General(NamedTuple):
    """What a call is for operands of all sizes: the call that is traced in its place, its operands,
    and the sizes of this one's."""

    call: Call
    avals: tuple[Aval, ...]
    sizes: tuple[int, ...]


class Form:
    """What tracing a kernel for all sizes has shown: what it gives, and its recipe."""

    __slots__ = ("_data", "_recipe", "outs", "single")

    def __init__(
        self,
        single: bool,
        outs: Sequence[tuple[tuple[int, ...], Any]],
        data: Any,
        recipe: Recipe | None = None,
    ) -> None:
        self.single, self.outs, self._data, self._recipe = single, outs, data, recipe

    @property
    def recipe(self) -> Recipe:
        """As it was traced."""
        if self._recipe is None:
            self._recipe = unpacked(self._data)
        return self._recipe


def general(
    call: Call, avals: tuple[Aval, ...], stand: Callable[[Aval], Aval] = stand_in
) -> General | None:
    """For ``Call.general`` of a kernel that stands for itself; ``stand`` gives what stands for an
    aval."""
    sizes = sizes_of(avals)
    return None if sizes is None else General(call, tuple([stand(a) for a in avals]), sizes)


class Fitting(NamedTuple):
    """What a kernel is for all sizes, beside those that it has in one call."""

    form: Form
    sizes: tuple[int, ...]

    def outs(self) -> list[tuple[tuple[int, ...], Any]]:
        """Shapes and dtypes of the results."""
        return [(_fitted(shape, self.sizes), dtype) for shape, dtype in self.form.outs]

    def checks(self) -> Row:
        """The checks on values: elementwise kernels state none."""
        return ()

    def teach(self, call: Call) -> None:
        """Tells a call what tracing it would have shown: nothing that is not the same for all
        sizes."""

    def recipe(self) -> Recipe:
        """What computes them."""
        sizes = self.sizes
        known: dict[Any, Spec] = {}

        def spec(s: Spec) -> Spec:
            key = s.shape, s.dtype
            if key not in known:
                known[key] = Spec(_fitted(s.shape, sizes), s.dtype)
            return known[key]

        traced = self.form.recipe
        steps = []
        for s in traced.steps:
            params = s.params
            if "shape" in params:
                params = {**params, "shape": _fitted(params["shape"], sizes)}
            steps.append(s._replace(outs=tuple([spec(out) for out in s.outs]), params=params))
        return traced._replace(ins=tuple([spec(i) for i in traced.ins]), steps=tuple(steps))


def fitting(call: Call, avals: tuple[Aval, ...]) -> Fitting | None:
    """What a call is for operands of all sizes; None where it must be traced for these."""
    found: General | None = call.general(call, avals)  # type: ignore[misc]
    if found is None:
        return None
    traced, small, sizes = found
    forms = traced.forms
    if forms is None:
        forms = traced.forms = {}
    if small not in forms:
        forms[small] = _traced(traced, small)
    form = forms[small]
    return None if form is None else Fitting(form, sizes)


def _traced(call: Call, avals: tuple[Aval, ...]) -> Form | None:
    key = programs.key_of("any size", call.identity, avals)
    fact = programs.remembered(key)
    if fact is not None:
        if not fact:
            return None
        single, outs, learnt, data = fact
        if learnt is not None:
            call.extra.single, call.extra.hidden = learnt
        return Form(single, [(shape, np.dtype(name)) for shape, name in outs], data)
    found = _tried(call, avals)
    if key is not None:
        extra = call.extra
        learnt = None if extra is None else (extra.single, extra.hidden)
        outs = () if found is None else tuple([(shape, dtype.name) for shape, dtype in found.outs])
        programs.remember(
            key, found is not None and (found.single, outs, learnt, packed(found.recipe))
        )
    return found


def _tried(call: Call, avals: tuple[Aval, ...]) -> Form | None:
    try:
        jaxpr, out = tracing.traced(call, avals)
        call.traces.pop(avals, None)
        single = hasattr(out, "shape")
        outs = [(tuple(x.shape), x.dtype) for x in ((out,) if single else out)]
        found = recipe_of(jaxpr)
        packed(found)
    # of the operands, which tracing the kernel for these raises in its own words
    except Exception as error:
        if is_signalled(error):
            raise
        return None
    return Form(single, outs, None, found) if _is_elementwise(found) else None


def _is_elementwise(found: Recipe) -> bool:
    """Whether a recipe consists of elementwise equations and of broadcasts along whole axes."""
    rules = load()
    if any(c.ndim for c in found.constants) or not all(_is_aligned(s.shape) for s in found.ins):
        return False
    specs = found.specs()
    for s in found.steps:
        if not all(_is_aligned(out.shape) for out in s.outs):
            return False
        if s.name == "broadcast_in_dim":
            wide, narrow = s.outs[0].ndim, specs[s.ins[0]].ndim
            if tuple(s.params["broadcast_dimensions"]) != tuple(range(wide - narrow, wide)):
                return False
            continue
        rule = rules.get(s.name)
        known = s.name in _ALSO or (rule is not None and rule.broadcasts)
        if not known or any(isinstance(x, (tuple, list, Recipe)) for x in s.params.values()):
            return False
    return True


def _is_aligned(shape: tuple[int, ...]) -> bool:
    return all(n in (1, _FIRST + axis) for axis, n in enumerate(reversed(shape)))
