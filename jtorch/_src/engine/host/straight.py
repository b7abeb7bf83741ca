"""Steps of a program that are one call: the extension (``native/straight.c``), where there is one,
runs NumPy's inner loops in a row.

A small call of NumPy takes 0.4 to 1.1 microseconds, of which the inner loop takes a twentieth. What
a ufunc decides in each call is decided here once for a kernel: which loop, over which dimensions,
with which strides, and where in memory intermediate values lie. The loops and their order are
NumPy's own, so that results are the same to the bit, whether there is the extension or not.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Sequence
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from ...facts.native import extension
from .conversions import Saturating
from .direct import Chosen, dot, where
from .indexing import Gathered
from .layout import Joined, Padded, Spread, Stacked
from .products import Product
from .rules import CALL, NEAR, Fixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...facts.kinds import Operands, Row, Values
    from .recipes import Spec


#: ``Straight(given, made, constants, scratch, steps)``: dtypes and shapes of operands and of
#: results, arrays, bytes between steps, loops.
Straight: Any = getattr(extension(), "Straight", None)
#: Values of more bytes are left to NumPy's calls, which take no longer for them.
MOST = NEAR
#: Seconds for calling a program of inner loops, and for each loop (see ``rules.CALL``).
ROW, LOOP = 0.4e-6, 0.12e-6
#: Dimensions of a step, and values that a program has from outside or gives.
_DIMS, _SLOTS = 8, 255
#: Numbers that give a place where elements are looked up.
_COLUMNS = 4
#: To which bytes intermediate values are aligned.
_LINE = 64
#: Python's operators, which stand for ufuncs between numbers.
_OPERATORS: dict[object, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.neg: np.negative,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
}
_BUILTIN = type(operator.add)
#: Reductions, and whether they begin with the first element, since there is no number to begin
#: with; the others' identities are their own.
_REDUCTIONS: dict[object, tuple[np.ufunc, bool]] = {
    np.add.reduce: (np.add, False),
    np.multiply.reduce: (np.multiply, False),
    np.maximum.reduce: (np.maximum, True),
    np.minimum.reduce: (np.minimum, True),
}

Shape = tuple[int, ...]


class _Unfit(Exception):
    """A step that stays a call of NumPy's."""


class _Value:
    """Where a value lies: in which piece of memory, from which byte, with which strides.

    Attributes:
        in_order: that its elements lie one after the other.
        written: that NumPy's calls have it in row-major order, though here it may be seen in memory
            that is smaller.
    """

    __slots__ = ("dtype", "in_order", "memory", "offset", "shape", "strides", "written")

    def __init__(
        self,
        memory: int,
        offset: int,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype,
        in_order: bool,
    ) -> None:
        self.memory, self.offset, self.shape, self.strides, self.dtype = (
            memory,
            offset,
            shape,
            strides,
            dtype,
        )
        self.in_order = self.written = in_order

    def seen(self, shape: Shape, strides: Shape, in_order: bool = False) -> _Value:
        """The same memory in another shape."""
        return _Value(self.memory, self.offset, shape, strides, self.dtype, in_order)

    def part(self, places: Sequence[slice]) -> _Value:
        """A part of it."""
        offset, shape, strides = self.offset, [], []
        for at, n, step in zip(places, self.shape, self.strides, strict=True):
            first, last, each = at.indices(n)
            if first == last or not (found := len(range(first, last, each))):
                raise _Unfit
            offset += first * step
            shape.append(found)
            strides.append(step * each)
        return _Value(self.memory, offset, tuple(shape), tuple(strides), self.dtype, False)


#: A step: a loop (of a ufunc by its number, or by its name), the sizes of its dimensions, and of
#: each operand memory, offset and strides.
_Loop = tuple[Any, int, Shape, list[tuple[int, int, Shape]]]


def _strides(shape: Shape, itemsize: int) -> Shape:
    found, step = [], itemsize
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(found[::-1])


@functools.cache
def _own(dtype: np.dtype) -> np.dtype | None:
    """NumPy's own dtype like one that may be a copy of it, from a file; None for those that have no
    loops here."""
    return np.dtype(dtype.char) if dtype.kind in "biufc" and dtype.isbuiltin != 2 else None


@functools.cache
def _number(ufunc: np.ufunc, chars: str) -> tuple[int, np.dtype]:
    """Which loop of a ufunc is for these dtypes exactly, and the dtype it gives."""
    if (
        ufunc.nout == 1
        and ufunc.nin == len(chars)
        and (ufunc.signature is None or ufunc is np.matmul)
    ):
        for k, types in enumerate(ufunc.types):
            given, _, made = types.partition("->")
            if given == chars and "O" not in types:
                return k, np.dtype(made)
    return -1, np.dtype(bool)


@functools.cache
def _cast(source: np.dtype, target: np.dtype) -> str:
    """The name of the loop that converts, of floats not to integers; "" where there is none."""
    if (
        source.kind not in "biuf"
        or target.kind not in "biuf"
        or (source.kind == "f" and target.kind in "iu")
    ):
        return ""
    if any(t.kind == "f" and t.itemsize not in (4, 8) for t in (source, target)):
        return ""
    return f"{source.kind}{source.itemsize}>{target.kind}{target.itemsize}"


def in_a_row(
    steps: Sequence[Any],
    specs: Sequence[Spec],
    template: Sequence[np.generic | np.ndarray | None],
    given: int,
    outs: Collection[int],
) -> Values:
    """The steps of a program, with what can be one call as one step; see ``staging.Program`` for
    what they are."""
    found: list[Any] = []
    writer = _Writer(steps, specs, template, given, set(outs))
    for k, step in enumerate(steps):
        if step[3] or not writer.take(k):
            found += writer.finished()
            if step[3] or not writer.take(k):
                found.append(step)
    return found + writer.finished()


def saved_in_a_row(steps: Sequence[Any], specs: Sequence[Spec], parts: int) -> float:
    """About how many seconds the extension saves where what can be one call is one; for ``parts``
    of the steps no call was counted."""
    loops = rows = 0
    before = False
    for step in steps:
        fits = _likely(step, specs)
        loops += fits
        rows += fits and not before
        before = fits
    return max(0.0, CALL * (loops - parts) - ROW * rows - LOOP * loops)


def _likely(step: Row, specs: Sequence[Spec]) -> bool:
    """Whether a step is of a kind and a size that mostly fit."""
    compute, ins, out, dead = step
    kind = type(compute)
    known = kind in _LIKELY or kind in _KINDS or compute in _OPERATORS or compute in _FUNCTIONS
    return (
        known
        and not dead
        and type(out) is int
        and max([specs[i].size * specs[i].dtype.itemsize for i in (*ins, out)]) <= MOST
    )


class _Writer:
    """Takes steps as long as they fit."""

    def __init__(
        self,
        steps: Sequence[Any],
        specs: Sequence[Any],
        template: Operands,
        given: int,
        outs: set[int],
    ) -> None:
        self.steps, self.specs, self.template, self.given, self.outs = (
            steps,
            specs,
            template,
            given,
            outs,
        )
        self.users: dict[int, int] = {}
        for k, (_, ins, _, _) in enumerate(steps):
            for i in ins:
                self.users[i] = k  # the last one
        self.begin()

    def begin(self) -> None:
        """Begins another program."""
        self.taken: list[int] = []
        self.values: dict[int, _Value] = {}
        self.loops: list[_Loop] = []
        self.sizes: list[int] = []  # bytes of each piece of memory
        self.operands: list[int] = []  # numbers of the values that are given
        self.of_operands: list[int] = []  # their memory
        self.constants = []
        self.of_constants: list[int] = []

    def take(self, k: int) -> bool:
        """Adds a step to the program, if it fits."""
        compute, ins, out, _ = self.steps[k]
        if (
            type(out) is not int
            or 0 in self.specs[out].shape  # no memory to compute, or to copy, into
            or len(self.operands) + len(self.constants) + len(self.taken) + len(ins) + 2 > _SLOTS
        ):
            return False
        loops, operands, constants = len(self.loops), len(self.operands), len(self.constants)
        try:
            self.values[out] = self.value_of(compute, ins, self.specs[out])
        except _Unfit:
            for i in (*self.operands[operands:], *ins):
                found = self.values.get(i)
                if found is not None and (
                    found.memory in self.of_operands[operands:]
                    or found.memory in self.of_constants[constants:]
                ):
                    del self.values[i]
            del self.loops[loops:], self.operands[operands:], self.of_operands[operands:]
            del self.constants[constants:], self.of_constants[constants:]
            return False
        self.taken.append(k)
        return True

    def finished(self) -> list[object]:
        """What was taken, as one step if that is better, and begins another program."""
        steps = [self.steps[k] for k in self.taken]
        if self.loops:
            last = self.taken[-1]
            made = [
                out for _, _, out, _ in steps if out in self.outs or self.users.get(out, -1) > last
            ]
            if made:
                steps = [self.step(made)]
        self.begin()
        return steps

    def step(self, made: list[int]) -> Any:
        """The step that computes the values ``made``."""
        first, slots = len(self.operands), {}
        for k, i in enumerate(made):
            value = self.values[i]
            m = value.memory
            size = value.dtype.itemsize
            for n in value.shape:
                size *= n
            if (
                m in slots
                or m in self.of_operands
                or m in self.of_constants
                or not value.in_order
                or self.sizes[m] != size
            ):
                m = self.copied(value).memory
            slots[m] = first + k
        slots.update(zip(self.of_operands, range(first), strict=True))
        end = first + len(made) + len(self.constants)
        slots.update(zip(self.of_constants, range(first + len(made), end), strict=True))
        offsets, scratch = self.placed(slots)
        loops = []
        for what, number, shape, places in self.loops:
            at = [
                (slots[m], o, s) if m in slots else (end, o + offsets[m], s) for m, o, s in places
            ]
            loops.append((what, number, shape, tuple(at)))
        spec = [
            (_own(self.specs[i].dtype), tuple(self.specs[i].shape)) for i in (*self.operands, *made)
        ]
        run = Straight(
            tuple(spec[:first]), tuple(spec[first:]), tuple(self.constants), scratch, tuple(loops)
        )
        return run, tuple(self.operands), made[0] if len(made) == 1 else tuple(made), ()

    def placed(self, slots: dict[int, int]) -> tuple[dict[int, int], int]:
        """Where in the shared memory values lie that are neither given nor results, and how many
        bytes are needed."""
        last: dict[int, int] = {}
        for k, (_, _, _, places) in enumerate(self.loops):
            for m, _, _ in places:
                if m not in slots:
                    last[m] = k
        offsets: dict[int, int] = {}
        free: dict[int, list[int]] = {}
        end = 0
        if not last:
            return offsets, end
        for k, (_, _, _, places) in enumerate(self.loops):
            ended = set()
            for m, _, _ in places:
                if m in slots:
                    continue
                size = -(-self.sizes[m] // _LINE) * _LINE
                if m not in offsets:
                    if free.get(size):
                        offsets[m] = free[size].pop()
                    else:
                        offsets[m] = end
                        end += size
                if last[m] == k:
                    ended.add((size, offsets[m]))
            for size, at in ended:
                free.setdefault(size, []).append(at)
        return offsets, end

    # ---- values ----------------------------------------------------------------------------------

    def new(self, shape: Shape, dtype: np.dtype) -> _Value:
        """A value in memory of its own."""
        strides = []
        step = dtype.itemsize
        for n in reversed(shape):
            strides.append(step)
            step *= n
        if step > MOST or not step:
            raise _Unfit
        self.sizes.append(step)
        return _Value(len(self.sizes) - 1, 0, shape, tuple(strides[::-1]), dtype, True)

    def result(self, spec: Spec) -> _Value:
        """Memory for a value.

        Raises:
            _Unfit: for dtypes and sizes that are left to NumPy's calls.
        """
        dtype = _own(spec.dtype)
        if dtype is None:
            raise _Unfit
        return self.new(tuple(spec.shape), dtype)

    def operand(self, i: int) -> _Value:
        """Where a value lies, one from outside or a constant if need be."""
        found = self.values.get(i)
        if found is None:
            found = self.values[i] = self.result(self.specs[i])
            x = self.template[i - self.given] if i >= self.given else None
            if x is None:
                self.operands.append(i)
                self.of_operands.append(found.memory)
            else:
                self.constants.append(np.ascontiguousarray(x, found.dtype).reshape(found.shape))
                self.of_constants.append(found.memory)
        return found

    def copied(self, v: _Value) -> _Value:
        """The elements of a value in memory of its own, one after the other."""
        found = self.new(v.shape, v.dtype)
        self.loop(f"copy{v.dtype.itemsize}", 0, (v, found))
        return found

    def value_of(self, compute: Any, ins: tuple[int, ...], spec: Spec) -> _Value:
        """Adds what computes a value, and says where it lies."""
        kind = type(compute)
        if kind is _BUILTIN and compute in _OPERATORS:
            compute, kind = _OPERATORS[compute], np.ufunc
        if kind is np.ufunc and compute is not np.matmul:
            return self.by_ufunc(compute, [self.operand(i) for i in ins], spec)
        if kind is Fixed:
            return self.reduced(compute, self.operand(ins[0]), spec)
        if kind is methodcaller:
            name, *args = compute.__reduce__()[1]
            return self.by_method(name, args, self.operand(ins[0]), spec)
        if kind in _KINDS or compute in _FUNCTIONS:
            return (_KINDS[kind] if kind in _KINDS else _FUNCTIONS[compute])(
                self, compute, [self.operand(i) for i in ins], spec
            )
        raise _Unfit

    def by_ufunc(self, ufunc: np.ufunc, operands: list[_Value], spec: Spec) -> _Value:
        """A ufunc, whose loop has exactly these dtypes."""
        number, dtype = _number(ufunc, "".join([v.dtype.char for v in operands]))
        found = self.result(spec)
        if (
            number < 0
            or dtype != found.dtype
            or (dtype.kind == "c" and self.sizes[-1] == dtype.itemsize)
        ):
            raise _Unfit  # complex numbers by themselves are rounded in other ways by NumPy's calls
        self.loop(ufunc, number, (*[_spread(v, found.shape) for v in operands], found))
        return found

    def chosen(
        self, _: Chosen | Callable[..., object], operands: list[_Value], spec: Spec
    ) -> _Value:
        """``direct.Chosen``."""
        at, no, yes = operands
        return self.selected(_, [at, yes, no], spec)

    def selected(
        self, _: Chosen | Callable[..., object], operands: list[_Value], spec: Spec
    ) -> _Value:
        """``where``."""
        found = self.result(spec)
        if operands[0].dtype.kind != "b" or any(v.dtype != found.dtype for v in operands[1:]):
            raise _Unfit
        self.loop(
            f"where{found.dtype.itemsize}", 0, (*[_spread(v, found.shape) for v in operands], found)
        )
        return found

    def by_method(self, name: str, args: Values, x: _Value, spec: Spec) -> _Value:
        """A method of arrays."""
        if len(args) != 1:
            raise _Unfit
        if name == "astype":
            if x.dtype == _own(spec.dtype):
                return x
            found = self.result(spec)
            if not (cast := _cast(x.dtype, found.dtype)):
                raise _Unfit
            self.loop(cast, 0, (x, found))
            return found
        shape = tuple(spec.shape)
        if name == "reshape":
            x, shape = (x if x.in_order else self.copied(x)), tuple([int(n) for n in args[0]])
            return x.seen(shape, _strides(shape, x.dtype.itemsize), True)
        if name == "transpose":
            return x.seen(shape, tuple([x.strides[d] for d in args[0]]))
        raise _Unfit

    def reduced(self, compute: Fixed, x: _Value, spec: Spec) -> _Value:
        """A reduction, in the order in which NumPy goes through an array in row-major order."""
        ufunc, by_first = _REDUCTIONS.get(compute.function, (None, False))
        if ufunc is None or not x.written:
            raise _Unfit
        x = x if x.in_order else self.copied(x)
        axis, *more = compute.more
        char, ndim = x.dtype.char, len(x.shape)
        number, dtype = _number(ufunc, char + char)
        found = self.result(spec)
        if (
            number < 0
            or dtype != x.dtype
            or found.dtype != dtype
            or dtype.kind == "b"
            or (more and more[0] not in (None, dtype))
        ):
            raise _Unfit
        axes = (
            range(ndim)
            if axis is None
            else [int(d) % ndim for d in (axis if isinstance(axis, tuple) else (axis,))]
        )
        kept = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
        step = tuple([0 if d in axes else s for d, s in enumerate(_strides(kept, dtype.itemsize))])
        copy = f"copy{dtype.itemsize}"
        if by_first:
            self.loop(copy, 0, (x.seen(kept, x.strides), found.seen(kept, step)))
        else:
            self.loop(
                copy,
                0,
                (_spread(self.constant(np.asarray(ufunc.identity, dtype)), found.shape), found),
            )
        into = found.seen(x.shape, step)
        self.loop(ufunc, number, (into, x, into))
        return found

    def spread(self, compute: Spread, operands: list[_Value], spec: Spec) -> _Value:
        """A broadcast: its elements are looked up where they lie."""
        (x,) = operands
        if compute.through is not None:
            x = x if x.in_order else self.copied(x)
            x = x.seen(compute.through, _strides(compute.through, x.dtype.itemsize), True)
        found = _spread(x, compute.shape)
        if found is not x:
            found.written = True
        return found

    def joined(self, compute: Joined | Stacked, operands: list[_Value], spec: Spec) -> _Value:
        """Arrays one after the other, or side by side."""
        found = self.result(spec)
        shape, axis, start = found.shape, compute.axis, 0
        places = [slice(0, n) for n in shape]
        for x in operands:
            if type(compute) is Stacked:
                x = x.seen(
                    (*x.shape[:axis], 1, *x.shape[axis:]), (*x.strides[:axis], 0, *x.strides[axis:])
                )
            places[axis] = slice(start, start + x.shape[axis])
            start += x.shape[axis]
            if x.dtype != found.dtype:
                raise _Unfit
            self.loop(f"copy{x.dtype.itemsize}", 0, (x, found.part(places)))
        return found

    def padded(self, compute: Padded, operands: list[_Value], spec: Spec) -> _Value:
        """An array at places of a larger one."""
        (x, value), found = operands, self.result(spec)
        copy = f"copy{found.dtype.itemsize}"
        self.loop(copy, 0, (_spread(value, found.shape), found))
        self.loop(
            copy, 0, (x if compute.take is None else x.part(compute.take), found.part(compute.put))
        )
        return found

    def taken_apart(self, compute: itemgetter, operands: list[_Value], spec: Spec) -> _Value:
        """A part of an array, where it lies."""
        places: Any = compute.__reduce__()[1]
        places = places[0] if len(places) == 1 and type(places[0]) is tuple else ()
        if len(places) != len(operands[0].shape) or not all(type(at) is slice for at in places):
            raise _Unfit
        return operands[0].part(places)

    def looked_up(self, compute: Gathered, operands: list[_Value], spec: Spec) -> _Value:
        """Elements at places that numbers give."""
        (a, i), w, found = operands, compute.windows, self.result(spec)
        if (
            i.dtype.kind != "i"
            or i.dtype.itemsize < 4
            or not 0 < len(w.indexed) <= _COLUMNS
            or a.dtype != found.dtype
        ):
            raise _Unfit
        batching, kept = {axis: o for o, axis in w.batching}, iter(w.kept)
        batch = iter(range(len(w.batch)))
        of_a, of_i = [], []
        for d in range(len(found.shape)):
            if d in compute.offsets:
                of_a.append(a.strides[next(kept)])
                of_i.append(0)
            else:
                b = next(batch)
                of_a.append(a.strides[batching[b]] if b in batching else 0)
                of_i.append(i.strides[b])
        step = 0 if w.bare else i.strides[-1]
        columns = [
            _Value(i.memory, i.offset + c * step, found.shape, tuple(of_i), i.dtype, False)
            for c in range(len(w.indexed))
        ]
        places = tuple(
            [(a.strides[o], int(last)) for o, last in zip(w.indexed, w.limits, strict=True)]
        )
        fill = None if compute.fill is None else np.asarray(compute.fill, found.dtype).tobytes()
        what = found.dtype.itemsize, i.dtype.itemsize, places, w.wraps, fill
        self.loop(what, 0, (a.seen(found.shape, tuple(of_a)), *columns, found))
        return found

    def saturated(self, compute: Saturating, operands: list[_Value], spec: Spec) -> _Value:
        """Floats as integers."""
        (x,), found = operands, self.result(spec)
        if x.dtype.itemsize not in (4, 8):
            raise _Unfit
        self.loop(
            f"{x.dtype.kind}{x.dtype.itemsize}>{found.dtype.kind}{found.dtype.itemsize}",
            0,
            (x, found),
        )
        return found

    def product(self, compute: object, operands: list[_Value], spec: Spec) -> _Value:
        """A product of matrices or vectors, of stacks of matrices too where they lie one after the
        other."""
        a, b = operands
        if type(compute) is Product:
            a, b = [
                x.seen(x.shape[::-1], x.strides[::-1]) if yes else x
                for x, yes in ((a, compute.first), (b, compute.second))
            ]
        stacked = (
            len(a.shape) == 3
            and compute is np.matmul
            and a.shape[0] == b.shape[0]
            and len(b.shape) == 3
        )
        if (
            a.dtype != b.dtype
            or a.dtype.kind not in "fc"
            or not (stacked or (0 < len(a.shape) < 3 and 0 < len(b.shape) < 3))
        ):
            raise _Unfit
        number, dtype = _number(np.matmul, a.dtype.char * 2)
        found = self.result(spec)
        if number < 0 or dtype != found.dtype:
            raise _Unfit
        rows, columns = (
            (a.shape[-2] if len(a.shape) > 1 else 1),
            (b.shape[-1] if len(b.shape) > 1 else 1),
        )
        a, b = (x if len(x.shape) > 1 else x.seen(shape, strides) for x, shape, strides in (
            (a, (1, *a.shape), (0, *a.strides)), (b, (*b.shape, 1), (*b.strides, 0))))  # fmt: skip
        size = found.dtype.itemsize
        places = [
            (x.memory, x.offset, (x.strides[0] if stacked else 0, *x.strides[-2:])) for x in (a, b)
        ] + [(found.memory, 0, (size * rows * columns, size * columns, size))]
        self.loops.append(
            (np.matmul, number, (a.shape[0] if stacked else 1, rows, a.shape[-1], columns), places)
        )
        return found

    def constant(self, x: np.ndarray) -> _Value:
        """A number of the program's own."""
        value = self.new((), x.dtype)
        self.constants.append(x)
        self.of_constants.append(value.memory)
        return value

    def loop(self, what: object, number: int, operands: Sequence[_Value]) -> None:
        """Adds a step over all dimensions of the operands, which have one shape.

        Those become one that lie one after the other in all of them.
        """
        shape = operands[0].shape
        sizes: list[int] = []
        strides: list[Any] = []
        for d, n in enumerate(shape):
            if n == 1:
                continue
            step = [v.strides[d] for v in operands]
            if sizes and strides[-1] == [s * n for s in step]:
                sizes[-1] *= n
                strides[-1] = step
            else:
                sizes.append(n)
                strides.append(step)
        if not sizes:  # a loop that is told of no strides would take each operand for a number
            sizes, strides = [1], [[v.dtype.itemsize for v in operands]]
        if len(sizes) > _DIMS:
            raise _Unfit
        by_operands = zip(*strides, strict=True)
        self.loops.append(
            (
                what,
                number,
                tuple(sizes),
                [(v.memory, v.offset, s) for v, s in zip(operands, by_operands, strict=True)],
            )
        )


def _spread(v: _Value, shape: Shape) -> _Value:
    """A value with the shape that broadcasting gives it."""
    if v.shape == shape:
        return v
    ahead = len(shape) - len(v.shape)
    if ahead < 0:
        raise _Unfit
    strides = [0] * ahead
    for n, m, s in zip(v.shape, shape[ahead:], v.strides, strict=True):
        if n not in (1, m):
            raise _Unfit
        strides.append(0 if n == 1 else s)
    return v.seen(shape, tuple(strides))


#: Which of a writer's methods takes what rules return, by its type or itself.
_KINDS: dict[Any, Any] = {
    Chosen: _Writer.chosen,
    Spread: _Writer.spread,
    Joined: _Writer.joined,
    Stacked: _Writer.joined,
    Padded: _Writer.padded,
    Saturating: _Writer.saturated,
    Gathered: _Writer.looked_up,
    Product: _Writer.product,
    itemgetter: _Writer.taken_apart,
}
_FUNCTIONS: dict[Any, Any] = {
    where: _Writer.selected,
    Chosen.chosen: _Writer.chosen,
    np.dot: _Writer.product,
    dot: _Writer.product,
}
_FUNCTIONS[np.matmul] = _Writer.product
_LIKELY = frozenset((np.ufunc, Fixed, methodcaller))
