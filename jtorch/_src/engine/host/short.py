"""The short way to run a program of NumPy calls: generated code for operands that are NumPy arrays
already.

What takes time in small calls is neither done twice nor at all where it shows beforehand that there
is no need: looking at the types of operands, converting numbers that are the same as last time,
silencing NumPy where nothing can be to complain of, copying results that own their memory in
row-major order.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import where
from .many import in_order
from .rules import Fixed
from .staging import Program, made
from .straight import Straight

if TYPE_CHECKING:
    from ...facts.kinds import Function, Named, Row, Values


#: Arrays of no more bytes than this are always laid out in row-major order; others may be views
#: laid out in any way.
SMALL = 1 << 15
#: More calls that NumPy could complain of than this are silenced all at once.
_MANY = 6
#: What never raises a flag of floating point; and what does not with integers.
_QUIET = frozenset(
    (
        np.negative, np.absolute, np.isfinite, np.less, np.less_equal, np.greater, np.greater_equal,
        np.equal, np.not_equal, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or,
        np.bitwise_xor, np.bitwise_not, np.copysign,
    )
)  # fmt: skip
_QUIET_INTEGERS = frozenset(
    (np.add, np.subtract, np.multiply, np.square, np.sign, np.left_shift, np.right_shift)
)
#: Reductions of small arrays in row-major order give such arrays.
_REDUCTIONS = frozenset((np.add.reduce, np.multiply.reduce, np.maximum.reduce, np.minimum.reduce))
_IN_C = (
    np.ufunc,
    methodcaller,
    itemgetter,
    type(np.ndarray.argmax),
    type(len),
    type(np.add.reduce),
)


def silence(
    settings: object, errors: contextvars.ContextVar[object] | None
) -> Callable[..., object]:
    """What calls functions written in C while NumPy says nothing: one call, where changing the
    settings and changing them back is two, and five times as dear.

    A context can be entered but once at a time: in another thread meanwhile, and in finalizers that
    C calls, ``RuntimeError`` is raised.
    """
    context = contextvars.Context()
    if errors is not None:
        context.run(errors.set, settings)
    return context.run


def _is_in_c(compute: object) -> bool:
    return isinstance(compute.function if type(compute) is Fixed else compute, _IN_C)


def _called(compute: object) -> str:
    """The name of the method that a step calls; "" for what is no method."""
    return compute.__reduce__()[1][0] if type(compute) is methodcaller else ""


def _is_anew(compute: object) -> bool:
    """Whether a step gives an array of its own, laid out as its operands are."""
    if type(compute) is Fixed:
        return compute.function in _REDUCTIONS
    return type(compute) is np.ufunc or compute is where or _called(compute) == "astype"


class Form:
    """What results and operands of a kernel are like, for the code that runs it.

    Attributes:
        given: the number of its tensor operands; ``scalars``: what makes NumPy's numbers of the
            others.
        sizes: the bytes of each tensor operand and of each result.
        view: that results may share memory with operands.
        names: what the code finds under its names, besides what computes; ``ignore``, ``nothing``
            and ``heed`` silence NumPy.
        last: the lines that return the results ``r0``, ``r1`` ...
    """

    __slots__ = ("given", "last", "names", "scalars", "sizes", "view")

    def __init__(
        self,
        given: int,
        scalars: Sequence[Any],
        sizes: tuple[Sequence[int], Sequence[int]],
        view: bool,
        names: Named,
        last: str,
    ) -> None:
        self.given, self.scalars, self.sizes, self.view, self.names, self.last = (
            given,
            scalars,
            sizes,
            view,
            names,
            last,
        )


def shortened(
    program: Program, form: Form, silent: Callable[..., object] | None
) -> Callable[..., object]:
    """The function of arrays and Python's numbers that runs a program; ``silent`` as ``silence``
    gives it."""
    return _Writer(program, form, silent).function()


class _Writer:
    def __init__(self, program: Program, form: Form, silent: Function | None) -> None:
        self.program, self.form, self.silent = program, form, silent
        self.program = program = program.straightened(self._early())
        self.names: Named = {
            **form.names,
            **program.names(),
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "in_order": in_order,
        }
        #: Values that are known to be small and in row-major order; and of these, what nobody else
        #: has.
        self.ordered = {i for i in range(form.given) if form.sizes[0][i] <= SMALL}
        self.fresh: set[int] = set(program.placed)
        # results that are computed anew only when there are other numbers than last time
        self.kept: set[int] = set()

    def function(self) -> Function:
        program, form = self.program, self.form
        early = self._early()
        self.kept = {program.steps[k][2] for k in early} & set(program.outs)
        steps = [(k, step) for k, step in enumerate(program.steps) if k not in early]
        for _, step in steps:
            self._learn(step)
        noisy = [k for k, step in steps if not self._is_quiet(step)]
        if not form.scalars and len(steps) == 1:
            (compute, ins, out, _) = steps[0][1]
            single = form.last == "return r0" and program.outs == [out]
            if (
                not single
                and type(compute) is Straight
                and type(out) is tuple
                and program.outs == list(out)
            ):
                single = form.last == f"return ({', '.join([f'r{k}' for k in range(len(out))])},)"
            if (
                single
                and ins == tuple(range(form.given))
                and self.fresh.issuperset((out,) if type(out) is int else out)
            ):
                if not noisy:
                    return compute
                if self.silent is not None:
                    return partial(self.silent, compute)
        at_once = (
            len(noisy) > _MANY
            or self.silent is None
            or any(not _is_in_c(program.steps[k][0]) for k in noisy)
        )
        self.names["silent"] = self.silent
        lines = [
            f"def run({', '.join([f'v{i}' for i in range(program.given)])}):",
            *self._numbers(early, steps),
        ]
        body = program.body("    ", [k for k, _ in steps], () if at_once else noisy)
        if at_once and noisy:
            body = [
                "    token = ignore(nothing)",
                "    try:",
                *["    " + x for x in body],
                "    finally:",
                "        heed(token)",
            ]
        lines += [*body, *self._results(), "    " + form.last]
        return made(lines, self.names)

    def _early(self) -> list[int]:
        """The steps that depend on Python's numbers alone: done anew only when there are other
        numbers than last time."""
        program, given = self.program, self.form.given
        if not self.form.scalars:
            return []
        # then results are copied from
        whole = not given and not self.form.view and all(n <= SMALL for n in self.form.sizes[1])
        known = set(range(given, program.given))
        found = []
        for k, (_, ins, out, dead) in enumerate(program.steps):
            if (
                type(out) is not int
                or dead
                or (out in program.outs and not whole)
                or known.isdisjoint(ins)
            ):
                continue
            if all(
                i in known
                or (i >= program.given and program.template[i - program.given] is not None)
                for i in ins
            ):
                known.add(out)
                found.append(k)
        return found

    def _numbers(self, early: list[int], steps: Values) -> list[str]:
        """The lines that turn numbers into what is computed with, or remember it."""
        program, form = self.program, self.form
        numbers = list(range(form.given, program.given))
        if not numbers:
            return []
        used = {i for _, step in steps for i in step[1]} | set(program.outs)
        wanted = [i for i in [*numbers, *[program.steps[k][2] for k in early]] if i in used]
        # Ufuncs are faster with arrays without dimensions than with NumPy's scalars, where another
        # operand has dimensions.
        on_arrays = [
            type(f) is np.ufunc and type(out) is int and program.specs[out].ndim > 0
            for _, (f, _, out, _) in steps
        ]
        arrays = {
            i for (_, step), yes in zip(steps, on_arrays, strict=True) if yes for i in step[1]
        } - set(program.outs)
        arrays -= {
            i for (_, step), yes in zip(steps, on_arrays, strict=True) if not yes for i in step[1]
        }
        given = ", ".join([f"v{i}" for i in numbers])
        head = [
            f"def head({given}):",
            f"    given = {given},",
            "    token = ignore(nothing)",
            "    try:",
        ]
        for k, i in enumerate(numbers):
            self.names[f"make{k}"] = form.scalars[k]
            head.append(f"        v{i} = make{k}(v{i})")
        head += [*program.body("        ", early, ()), "    finally:", "        heed(token)"]
        head.append(
            "    return *given, "
            f"{', '.join([f'asarray(v{i})' if i in arrays else f'v{i}' for i in wanted])}"
        )
        self.names["head"] = made(head, dict(self.names), "head")
        self.names["memory"] = [(object(),) * len(numbers)]
        other = " or ".join([f"memo[{k}] is not v{i}" for k, i in enumerate(numbers)])
        lines = [
            "    memo = memory[0]",
            f"    if {other}:",
            f"        memo = memory[0] = head({given})",
        ]
        if wanted:
            lines.append(f"    {'_, ' * len(numbers)}{', '.join([f'v{i}' for i in wanted])} = memo")
        return lines

    def _learn(self, step: Row) -> None:
        compute, ins, out, _ = step
        if type(compute) is Straight:  # also where there are no dimensions
            made: Any = (out,) if type(out) is int else out
            self.ordered.update(made)
            self.fresh.update(made)
        if type(out) is not int or not _is_anew(compute):
            return
        specs = self.program.specs
        if specs[out].ndim and all(
            not specs[i].ndim or i in self.ordered or self._is_constant(i) for i in ins
        ):
            self.ordered.add(out)
            self.fresh.add(out)

    def _is_constant(self, i: int) -> bool:
        x = self.program.template[i - self.program.given] if i >= self.program.given else None
        return type(x) is np.ndarray and x.flags.c_contiguous

    def _is_quiet(self, step: Row) -> bool:
        compute, ins, out, _ = step
        if (
            type(compute) in (itemgetter, Straight)
            or getattr(compute, "quiet", False)
            or (out if type(out) is int else out[0]) in self.program.quiet
        ):
            return True
        if type(compute) is not np.ufunc:
            return False
        dtypes = [self.program.specs[i].dtype for i in ins]
        # types that are not NumPy's own compare NaN with a flag
        if any(d.isbuiltin != 1 for d in dtypes):
            return False
        return compute in _QUIET or (
            compute in _QUIET_INTEGERS and all(d.kind in "biu" for d in dtypes)
        )

    def _is_whole(self, i: int) -> bool:
        """Whether a result is all of an array, in another shape, that a step has made and nothing
        else knows."""
        program = self.program
        made = {step[2]: step for step in program.steps if type(step[2]) is int}
        if i not in made or _called(made[i][0]) != "reshape":
            return False
        (j,) = made[i][1]
        users = sum([step[1].count(j) for step in program.steps])
        if j not in made or j in program.outs or users != 1 or program.outs.count(i) != 1:
            return False
        compute = made[j][0]
        return (type(compute) is np.ufunc and program.specs[j].ndim > 0) or getattr(
            compute, "anew", False
        )

    def _results(self) -> list[str]:
        lines = []
        for k, i in enumerate(self.program.outs):
            if i in self.kept:
                lines.append(f"    r{k} = v{i}.copy() if type(v{i}) is ndarray else asarray(v{i})")
                continue
            lines.append(f"    r{k} = v{i}")
            if i in self.fresh and self.program.outs.count(i) == 1:
                continue
            lines.append(f"    if type(r{k}) is not ndarray: r{k} = asarray(r{k})")
            copied = f"r{k}.copy()" if self.form.sizes[1][k] <= SMALL else f"in_order(r{k})"
            if not self.form.view and self._is_whole(i):
                lines.append(f"    elif not r{k}.flags.c_contiguous: r{k} = {copied}")
            elif not self.form.view:
                lines.append(
                    f"    elif r{k}.base is not None or not r{k}.flags.c_contiguous: r{k} = "
                    f"{copied}"
                )
            elif self.form.sizes[1][k] <= SMALL and self.program.specs[i].ndim:
                lines.append(f"    elif not r{k}.flags.c_contiguous: r{k} = r{k}.copy()")
        return lines
