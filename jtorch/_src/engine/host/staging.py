"""Staging: from the jaxpr of a kernel to a program of NumPy calls, first walked step by step, then
as generated straight-line code."""

from __future__ import annotations

import copy
import enum
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .batches import batched
from .direct import where
from .generated import made
from .places import settled
from .recipes import Recipe, Spec, Step, Unstaged, recipe_of
from .rules import CALL, FAR, NEAR, Equation, Fixed, Formula, Reordered, load, same
from .straight import Straight, in_a_row, saved_in_a_row

if TYPE_CHECKING:
    from ...facts.kinds import Named, Operand, Values


#: Runs after which a program becomes code of its own: making that takes as long as some ten runs.
CODE_AFTER = 4
#: Values with more bytes than this are given up after their last use; smaller ones when the program
#: ends.
LARGE = 1 << 15
#: Values of no more bytes that depend on constants alone are computed when the program is made.
FOLDED = 1 << 12
#: Types whose values are hashable, and equal only where they are the same.
_PLAIN = frozenset((type(None), bool, int, str))


class Program:
    """A jaxpr as a list of NumPy calls.

    Calling it with the operands, NumPy arrays or scalars of the dtypes that the jaxpr has, gives
    the list of results, which may be views, laid out in any way, or scalars.

    Attributes:
        cost: about how many seconds a run takes, by the constants of the rules.
        calling: how many of them go into calling NumPy, whatever the sizes are.
        near: how many of them go into work on arrays that lie in the caches.
        far: how many of them go into work on arrays that no cache holds, by as much as that is so.
        apart: how many steps a compiled program has for what it does not fuse; products, which are
            slower to begin, are three.
        kept: how many of them go into what XLA would not do faster.
        even: how many of them XLA's code takes as well.
        equations: how many equations of the jaxpr its steps are.
        steps: what computes, the numbers of its operands, the number or numbers of its results, and
            which values are not needed after it.
        over: that the first operand is used once, by what may write into it if it was given up.
        streams: that no more than one call makes large values, by vector code of NumPy's, which
            waits for memory.
        specs: shape and dtype of each value.
        quiet: the (first) results of steps in which NumPy has nothing to complain of.
        placed: results that are operands, into which they were written.
    """

    __slots__ = (
        "apart",
        "calling",
        "cost",
        "equations",
        "even",
        "far",
        "given",
        "kept",
        "near",
        "outs",
        "over",
        "placed",
        "quiet",
        "run",
        "runs",
        "specs",
        "steps",
        "streams",
        "template",
    )

    def __init__(
        self,
        template: list[Operand],
        steps: Values,
        outs: list[int],
        given: int,
        cost: float,
        specs: Values,
        quiet: set[int],
    ) -> None:
        self.template, self.steps, self.outs, self.given, self.cost = (
            template,
            steps,
            outs,
            given,
            cost,
        )
        self.specs, self.quiet = specs, quiet
        self.kept = self.even = self.near = self.far = 0.0
        self.apart = 0
        self.streams = False
        self.placed: set[int] = set()
        users = [(compute, ins) for compute, ins, _, _ in steps if 0 in ins]
        self.over = (
            0 not in outs
            and len(users) == 1
            and getattr(users[0][0], "over", False)
            and 0 not in users[0][1][1:]
        )
        self.calling = CALL * len(steps)
        self.equations = len(steps)
        self.runs = 0
        self.run: Callable[..., Values] = self._walk

    def __call__(self, *operands: np.generic | np.ndarray) -> list[Operand]:
        """Runs the program."""
        return self.run(*operands)

    def _walk(self, *operands: np.generic | np.ndarray) -> list[Operand]:
        """Takes the steps one by one."""
        self.runs += 1
        if self.runs > CODE_AFTER:
            program = self.straightened()
            lines = [self._head(), *program.body("    "), f"    return [{self._results()}]"]
            self.run = made(lines, program.names())
            return self.run(*operands)
        at = [*operands, *self.template]
        for compute, ins, out, dead in self.steps:
            found = compute(*[at[i] for i in ins])
            if type(out) is int:
                at[out] = found
            else:
                for i, x in zip(out, found, strict=True):
                    at[i] = x
            for i in dead:
                at[i] = None
        return [at[i] for i in self.outs]

    def straightened(self, first: Sequence[int] = ()) -> Program:
        """The program with what can be one call as one step; those of the numbers ``first`` need no
        others and stay calls of their own.

        A program of its own: other threads may be reading the steps of this one.
        """
        if Straight is None:
            return self
        others = [s for k, s in enumerate(self.steps) if k not in first]
        try:
            joined = in_a_row(others, self.specs, self.template, self.given, self.outs)
        # parameters of a kind that it does not know: the calls of NumPy's are right as they are
        except (TypeError, ValueError):
            return self
        found = copy.copy(self)
        found.steps = [*[self.steps[k] for k in first], *joined]
        return found

    def names(self) -> Named:
        """What the generated code calls by name: constants and functions."""
        names = {f"v{i}": x for i, x in enumerate(self.template, self.given) if x is not None}
        for k, (compute, _, _, _) in enumerate(self.steps):
            names[f"f{k}"] = compute.function if type(compute) is Fixed else compute
            names.update({f"f{k}_{n}": x for n, x in enumerate(_more(compute))})
        return names

    def body(
        self, indent: str, chosen: Sequence[int] | None = None, silent: Collection[int] = ()
    ) -> list[str]:
        """The steps, or some of them, as lines of Python; those in ``silent`` are run by the
        function of that name."""
        lines = []
        for k in range(len(self.steps)) if chosen is None else chosen:
            compute, ins, out, dead = self.steps[k]
            targets = [out] if type(out) is int else out
            left = ", ".join([f"v{i}" for i in targets]) + ("" if type(out) is int else ",")
            more = [f"f{k}_{n}" for n in range(len(_more(compute)))]
            if k in silent or not (expression := _expression(compute, ins, more)):
                called = f"silent(f{k}, " if k in silent else f"f{k}("
                expression = (
                    f"{called}"
                    f"{', '.join([*[f'v{i}' for i in ins], *(more if type(compute) is Fixed else ())])}"  # noqa: E501
                    ")"
                )
            lines.append(f"{indent}{left + ' = ' if targets else ''}{expression}")
            if dead:
                lines.append(f"{indent}del {', '.join([f'v{i}' for i in dead])}")
        return lines

    def _head(self) -> str:
        return f"def run({', '.join([f'v{i}' for i in range(self.given)])}):"

    def _results(self) -> str:
        return ", ".join([f"v{i}" for i in self.outs])


def _more(compute: object) -> tuple[object, ...]:
    """What a step's function takes besides the operands, or calls a method of an operand with."""
    if type(compute) is Fixed:
        return compute.more
    made: Any = compute.__reduce__() if type(compute) in (methodcaller, itemgetter) else None
    if made is None or made[0] is not type(compute):
        return ()
    return made[1][1:] if type(compute) is methodcaller else made[1]


def _expression(compute: object, ins: Sequence[int], more: Sequence[str]) -> str:
    """A method's call or a subscript as Python has them, which takes a fifth less than the objects
    that stand for them; "" for others."""
    made: Any = compute.__reduce__() if type(compute) is methodcaller else None
    if made is not None and made[0] is methodcaller:
        return f"v{ins[0]}.{made[1][0]}({', '.join(more)})"
    if type(compute) is itemgetter and len(more) == 1:
        return f"v{ins[0]}[{more[0]}]"
    return ""


class _Stager:
    """Turns the steps of a recipe into calls. Values have the numbers that they have in a program:
    constants come after the operands."""

    def __init__(self, recipe: Recipe) -> None:
        self.rules = load()
        # of inner recipes: rules ask for the program and once more for its cost
        self.staged: dict[int, Program | None] = {}
        given, more = len(recipe.ins), len(recipe.constants)
        specs = recipe.specs()
        self.given = given
        self.specs: Values = [*recipe.ins, *[specs[-1 - k] for k in range(more)]]
        self.template: Values = list(recipe.constants)
        self.steps = []
        self.cost = self.kept = self.even = self.near = self.far = 0.0
        self.apart = 0
        self.costs: dict[object, float] = {}  # of each step, by its result
        self.parts = 0  # how many steps are parts of what one equation says
        self.broadcasting: list[bool] = []  # whether each step broadcasts its operands itself
        self.quiet: set[int] = set()
        self.streaming = set()  # results of what waits for memory
        self.seen: dict[Any, range] = {}  # the results of equations that may come again
        # results that only repeat others, by what makes them
        self.broadcasts: dict[int, tuple[int, Equation]] = {}
        at = {i: i for i in range(given)} | {-1 - k: given + k for k in range(more)}
        once = {}  # numbers that a formula has once for each of its arrays
        for k, c in enumerate(recipe.constants):
            if not c.ndim:
                at[-1 - k] = once.setdefault((c.dtype, c.tobytes()), given + k)
        for s in recipe.steps:
            self.add(s, specs, at)
        self.outs = [at[i] for i in recipe.outs]

    def add(self, s: Step, specs: dict[int, Spec], at: dict[int, int]) -> None:
        rule = self.rules.get(s.name)
        if rule is None:
            raise Unstaged(s.name)
        numbers = range(s.out, s.out + len(s.outs))
        key = _key(s, at)
        if key is not None and (before := self.seen.get(key)) is not None:
            at.update(zip(numbers, before, strict=True))
            return
        equation = Equation(s.name, tuple([specs[i] for i in s.ins]), s.outs, s.params, self.stage)
        try:
            compute = rule.make(equation)
            cost = 0.0 if compute is None or compute is same else rule.cost(equation)
        # another version of JAX, with other parameters: XLA knows them
        except (AttributeError, KeyError) as error:
            raise Unstaged(f"{s.name} with parameters {', '.join(s.params)}: {error!r}") from error
        if compute is None:
            raise Unstaged(f"{s.name} of {', '.join(map(str, equation.ins))}")
        if compute is same:
            at.update(zip(numbers, [at[i] for i in s.ins], strict=True))
            return
        ins = s.ins
        if isinstance(compute, Reordered):
            ins = tuple([ins[k] for k in compute.order])
            compute = compute.compute
        outs = range(len(self.specs), len(self.specs) + len(s.outs))
        self.specs += s.outs
        self.template += [None] * len(s.outs)
        at.update(zip(numbers, outs, strict=True))
        if key is not None:
            self.seen[key] = outs
        self.cost += cost
        if rule.kept(equation) if callable(rule.kept) else rule.kept:
            self.kept += max(0.0, cost - CALL)
        elif rule.even is not None:
            self.even += rule.even(equation)
            self.apart += 3
        elif all(map(_is_near, (*equation.ins, *s.outs))):
            self.near += max(0.0, cost - CALL)
        else:
            self.far += max(0.0, cost - CALL) * _beyond((*equation.ins, *s.outs))
        if type(compute) is Fixed:
            self.apart += 1
        made = tuple(outs) if s.several else outs[0]
        operands = tuple([at[i] for i in ins])
        if isinstance(compute, Formula):
            compute, operands = self.add_parts(compute, operands, s.outs[0].shape)
        self.costs[made] = cost
        self.steps.append([compute, operands, made, ()])
        self.broadcasting.append(rule.broadcasts)
        if rule.streams is not None and rule.streams(equation):
            self.streaming.add(made)
        if rule.quiet and outs:
            self.quiet.add(outs[0])
        if s.name == "broadcast_in_dim":
            self.broadcasts[outs[0]] = len(self.steps) - 1, equation

    def add_parts(
        self, formula: Formula, operands: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[object, ...]:
        """Adds all steps of a formula but the last, which it gives with its operands."""
        *parts, (last, _, ins) = formula.parts
        found = list(operands)
        for compute, dtype, taken in parts:
            made = len(self.specs)
            self.specs.append(Spec(shape, dtype))
            self.template.append(None)
            self.costs[made] = 0.0  # they are counted with the last
            self.steps.append([compute, tuple([found[k] for k in taken]), made, ()])
            self.broadcasting.append(True)
            found.append(made)
        self.parts += len(parts)
        return last, tuple([found[k] for k in ins])

    def stage(self, recipe: Recipe) -> Program | None:
        """The program of a recipe inside this one; None if some of it has no rule."""
        key = id(recipe)
        if key not in self.staged:
            try:
                self.staged[key] = stage(recipe)
            except Unstaged:
                self.staged[key] = None
        return self.staged[key]

    def leave_to_ufuncs(self, outs: Sequence[int]) -> None:
        """Drops the broadcasts of what is only used by functions that broadcast by themselves."""
        users: dict[int, list[int]] = {}
        for k, (_, ins, _, _) in enumerate(self.steps):
            for i in ins:
                users.setdefault(i, []).append(k)
        left: set[int] = set()
        for i, (k, e) in self.broadcasts.items():
            if i in outs or not all(
                self.broadcasting[u] and self._is_full(u, i, left) for u in users.get(i, ())
            ):
                continue
            left.add(i)
            step = self.steps[k]
            shape = [1] * len(e.out.shape)
            for d, n in zip(e.params["broadcast_dimensions"], e.ins[0].shape, strict=True):
                shape[d] = n
            if e.ins[0].ndim == 0 or tuple(shape) == e.ins[0].shape:
                for u in users.get(i, ()):
                    user = self.steps[u]
                    user[1] = tuple([step[1][0] if j == i else j for j in user[1]])
            else:
                step[0], self.specs[i] = (
                    methodcaller("reshape", tuple(shape)),
                    Spec(tuple(shape), e.out.dtype),
                )

    def keep_axes(self, outs: Sequence[int]) -> None:
        """Lets what is reduced and then reshaped to the same axes with one element keep them: a
        call less."""
        made = {
            step[2]: step
            for step in self.steps
            if type(step[0]) is Fixed and step[0].kept is not None
        }
        if not made:
            return
        users: dict[int, int] = {}
        for _, ins, _, _ in self.steps:
            for i in ins:
                users[i] = users.get(i, 0) + 1
        for reshape in self.steps:
            if type(reshape[0]) is not methodcaller or reshape[0].__reduce__()[1][0] != "reshape":
                continue
            (i,) = reshape[1]
            reduction = made.get(i)
            if reduction is None or users[i] != 1 or i in outs:
                continue
            compute, ins, _, _ = reduction
            if reshape[0].__reduce__()[1][1] == _kept_shape(
                self.specs[ins[0]].shape, compute.more[0]
            ):
                reduction[0], reduction[2] = Fixed(compute.function, compute.kept), reshape[2]
                self.quiet.discard(reshape[2])
                reshape[0], reshape[1], reshape[2] = None, (), -1  # nothing depends on it

    def cast_choices(self) -> None:
        """Makes choices between 1 and 0 the conversions that they are: these take a third of the
        time."""
        for step in self.steps:
            if step[0] is not where:
                continue
            at, yes, no = step[1]
            out = self.specs[step[2]]
            if (
                self.specs[at].shape == out.shape
                and out.ndim
                and out.dtype.isbuiltin == 1
                and self._is_number(yes, 1)
                and self._is_number(no, 0)
            ):
                step[0], step[1] = methodcaller("astype", out.dtype), (at,)

    def _is_number(self, i: int, n: int) -> bool:
        x = self.template[i - self.given] if i >= self.given else None
        return x is not None and not x.ndim and x.tobytes() == x.dtype.type(n).tobytes()

    def fold(self, steps: list[Values]) -> list[Values]:
        """Computes what depends on nothing but constants once and for all, where it is small."""
        left = []
        for step in steps:
            compute, ins, out, _ = step
            known = [self.template[i - self.given] if i >= self.given else None for i in ins]
            if (
                type(out) is not int
                or out in self.outs
                or self.bytes(out) > FOLDED
                or any(x is None for x in known)
            ):
                left.append(step)
                continue
            with np.errstate(all="ignore"):
                found = np.array(compute(*known))
            found.flags.writeable = False
            self.template[out - self.given] = found
        return left

    def bytes(self, i: int) -> int:
        """The size of a value."""
        return self.specs[i].size * self.specs[i].dtype.itemsize

    def bare_numbers(self, steps: Sequence[Values]) -> None:
        """Makes constants NumPy scalars where only scalars are computed with them: Python's
        operators are faster on two of a kind."""
        arrays = {
            i
            for _, ins, out, _ in steps
            for i in ins
            if type(out) is not int or self.specs[out].ndim
        }
        for k, x in enumerate(self.template):
            if x is not None and not x.ndim and k + self.given not in arrays:
                self.template[k] = x[()]

    def _is_full(self, k: int, i: int, left: set[int]) -> bool:
        """Whether a step has another operand with the shape of its result, which no broadcast has
        given it up to now."""
        _, ins, out, _ = self.steps[k]
        return type(out) is int and any(
            j != i and j not in left and self.specs[j].shape == self.specs[out].shape for j in ins
        )


def _is_near(spec: Spec) -> bool:
    return spec.size * spec.dtype.itemsize <= NEAR


def _beyond(specs: Sequence[Spec]) -> float:
    """What part of the work on some arrays, the largest of them counts, waits for memory: none
    up to ``FAR`` bytes, all of it from eight times as many."""
    largest = max([spec.size * spec.dtype.itemsize for spec in specs])
    return min(math.log2(largest / FAR) / 3, 1.0) if largest > FAR else 0.0


def _key(s: Step, at: dict[int, int]) -> tuple[object, ...] | None:
    """Of equations with the same key one is enough; None where that cannot be told."""
    if not s.ins or not all(map(_is_plain, s.params.values())):
        return None
    params = tuple([(name, type(x), x) for name, x in s.params.items()])
    return (
        s.name,
        tuple([at[i] for i in s.ins]),
        tuple([(out.shape, out.dtype) for out in s.outs]),
        params,
    )


def _is_plain(x: Any) -> bool:
    """Whether a parameter is hashable, and equal to no other (as 0.0 is to -0.0)."""
    kind = type(x)
    if kind in _PLAIN or (kind is tuple and _PLAIN.issuperset(map(type, x))):
        return True
    if isinstance(x, tuple):
        return kind is not Recipe and all(map(_is_plain, x))
    return x is None or isinstance(x, (int, str, np.dtype, enum.Enum))


def _kept_shape(shape: tuple[int, ...], axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape that a reduction over ``axis`` gives where its axes stay."""
    if axis is None:
        return (1,) * len(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple([1 if d in axes else n for d, n in enumerate(shape)])


def stage(what: Any, known: Mapping[int, Any] | None = None, places: Sequence[int] = ()) -> Program:
    """The program of a recipe, or of a closed jaxpr, which may count on the intervals ``known`` of
    integer operands, by their numbers.

    ``places`` are the numbers of operands into which the first results may be written.

    Raises:
        Unstaged: if some of it has no rule.
    """
    recipe = what if type(what) is Recipe else recipe_of(what)
    stager = _Stager(settled(recipe, known))
    stager.leave_to_ufuncs(stager.outs)
    stager.keep_axes(stager.outs)
    stager.cast_choices()
    steps = _needed(stager.fold(_needed(stager.steps, stager.outs)), stager.outs)
    stager.bare_numbers(steps)
    free = {
        out: i
        for out, i in zip(stager.outs, places, strict=False)
        if stager.outs.count(out) == 1 and i not in stager.outs
    }
    dropped = len(stager.steps) - len(steps)
    joined = batched(steps, stager.specs, stager.outs, stager.costs, free)
    steps = joined.steps
    sizes = [a.size * a.dtype.itemsize for a in stager.specs]
    _give_up(steps, stager.outs, sizes, stager.given, stager.template)
    cost = stager.cost - CALL * dropped - joined.saved
    program = Program(
        stager.template,
        [tuple(s) for s in steps],
        stager.outs,
        stager.given,
        cost,
        stager.specs,
        stager.quiet,
    )
    program.kept, program.even, program.near, program.far, program.apart = (
        stager.kept,
        stager.even,
        stager.near,
        stager.far,
        stager.apart,
    )
    spared = 0.0 if Straight is None else saved_in_a_row(program.steps, program.specs, stager.parts)
    program.calling = joined.calling - CALL * stager.parts - spared
    program.cost -= spared
    program.equations -= stager.parts
    program.placed = joined.placed
    large = [step[2] for step in steps if type(step[2]) is not int or sizes[step[2]] > LARGE]
    program.streams = len(large) == 1 and large[0] in stager.streaming
    return program


def _needed(steps: list[Values], outs: Sequence[int]) -> list[Values]:
    """The steps that results depend on: broadcasts may have been left out."""
    wanted = set(outs)
    found = []
    for step in reversed(steps):
        made = step[2]
        if (made in wanted) if type(made) is int else not wanted.isdisjoint(made):
            wanted.update(step[1])
            found.append(step)
    found.reverse()
    return found


def _give_up(
    steps: list[Values],
    outs: Sequence[int],
    sizes: Sequence[int],
    given: int,
    template: Sequence[object],
) -> None:
    """Notes with each step which large values nothing uses after it."""
    seen = set(outs)
    for step in reversed(steps):
        made = (step[2],) if type(step[2]) is int else step[2]
        dead = []
        for i in dict.fromkeys((*step[1], *made)):
            if i not in seen:
                seen.add(i)
                if sizes[i] > LARGE and (i < given or template[i - given] is None):
                    dead.append(i)
        step[3] = tuple(dead)
