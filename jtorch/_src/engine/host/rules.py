"""What NumPy does for each primitive of JAX: the table of rules and the form of one.

A rule gets an equation of a jaxpr once, when the kernel is staged, and returns the function that
computes it, made for the shapes, dtypes and parameters of that equation. What can be decided before
the numbers are there is decided then.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ...facts.kinds import Function, Row
    from .recipes import Spec


#: Computes an equation: takes its operands, gives its result, or a list where the primitive has
#: several.
Compute = Callable[..., Any]


class Equation(NamedTuple):
    """One equation of a jaxpr, as rules see it.

    Attributes:
        name: of the primitive.
        ins: the avals of the operands (``shape``, ``dtype``, ``ndim``, ``size``).
        outs: the avals of the results.
        params: the parameters of the primitive.
        stage: makes the program of a closed jaxpr among the parameters (``staging.stage``); None if
            some of it has no rule.
    """

    name: str
    ins: tuple[Any, ...]
    outs: tuple[Any, ...]
    params: dict[str, Any]
    stage: Callable[[Any], Any]

    @property
    def out(self) -> Any:
        """The aval of the only result."""
        return self.outs[0]


class Reordered(NamedTuple):
    """Returned by rules for what takes the operands in another order than the equation has them:
    ``order`` gives the number of each."""

    compute: Compute
    order: tuple[int, ...]


class Fixed:
    """Returned by rules for a function that takes more than the operands: ``more``, behind them,
    the same in each call.

    Generated code calls the function itself, where a closure would be a call of Python's around it.

    Attributes:
        kept: that it reduces, and what to give it instead so that the axes it reduces stay, with
            one element; else None.
    """

    __slots__ = ("function", "kept", "more")

    def __init__(self, function: Compute, more: Row, kept: Row | None = None) -> None:
        self.function, self.more, self.kept = function, more, kept

    def __call__(self, *operands: np.generic | np.ndarray) -> np.generic | np.ndarray:
        """Computes as the generated code does."""
        return self.function(*operands, *self.more)


class Formula:
    """Returned by rules for what is several functions: generated code has a line for each.

    Attributes:
        given: how many operands there are.
        parts: of each function the dtype of what it gives, and what it takes: the operands are 0,
            1, ..., then come results, in order.
    """

    __slots__ = ("given", "parts")

    def __init__(self, given: int, *parts: tuple[Compute, np.dtype, tuple[int, ...]]) -> None:
        self.given, self.parts = given, parts

    def __call__(self, *operands: object) -> Any:
        """Computes as the generated code does."""
        found = list(operands)
        for function, _, ins in self.parts:
            found.append(function(*[found[i] for i in ins]))
        return found[-1]


def chain(*parts: tuple[Compute, np.dtype]) -> Formula:
    """Functions of which each takes the result of the one before."""
    return Formula(1, *[(function, dtype, (k,)) for k, (function, dtype) in enumerate(parts)])


#: What rules return.
Made: TypeAlias = Compute | Reordered | None


class Rule(NamedTuple):
    """How a primitive is computed, and what that costs.

    Attributes:
        make: ``make(equation)`` returns what computes it, or None where it is left to XLA.
        cost: ``cost(equation)``: about how many seconds a call takes. A constant of the rule, not a
            measurement: tiers are chosen by it.
        broadcasts: that what ``make`` returns broadcasts its operands as ufuncs do.
        quiet: that it moves numbers but computes none, so that NumPy has nothing to complain of.
        kept: that XLA's code takes longer, so that compiling it is a loss; or ``kept(equation)``.
        even: ``even(equation)``: how many of these seconds XLA's code takes as well, so that
            compiling it neither saves nor loses them.
        streams: ``streams(equation)``: whether NumPy's vector code waits for memory, so that XLA's
            code for this alone takes as long.
    """

    make: Callable[[Equation], Made]
    cost: Callable[[Equation], float]
    broadcasts: bool
    quiet: bool = False
    kept: bool | Callable[[Equation], bool] = False
    streams: Callable[[Equation], bool] | None = None
    even: Callable[[Equation], float] | None = None


class _Given:
    """The array that the kernel which is about to run may write into: nobody has it any more, or
    will (see ``Program.over``)."""

    array: np.ndarray | None = None


GIVEN = _Given()


def to_write(x: np.ndarray) -> np.ndarray:
    """An array in row-major order to write into, with the elements of an operand: the operand
    itself where it was given up, else a copy."""
    return x if x is GIVEN.array else np.array(x, order="C")


def over(compute: Any) -> Compute:
    """Says of what computes that it asks ``to_write`` for its first operand, and to do so twice
    would do no harm."""
    compute.over = True
    return compute


def same(x: np.ndarray) -> np.ndarray:
    """Returned by rules for what hands on its operand as it is: no step of a program."""
    return x


#: Seconds for calling NumPy once, and for each byte that is read or written, in the caches or in
#: memory that the process has had before.
CALL, BYTE = 0.8e-6, 0.04e-9
#: Values of no more bytes lie in the caches, where NumPy's vector code reads and writes them as
#: fast as a compiled program does.
NEAR = 1 << 15
#: Values of more bytes lie in no cache, the more so the larger they are: each call of NumPy waits
#: for memory, where a compiled program reads and writes once.
FAR = 1 << 19

RULES: dict[str, Rule] = {}
#: The modules that hold the rules, loaded when the first kernel is staged.
_FAMILIES = (
    "pointwise",
    "special",
    "conversions",
    "layout",
    "reductions",
    "products",
    "convolutions",
    "indexing",
    "sorting",
    "windows",
    "control",
    "linear_algebra",
    "fourier",
)


def nbytes(avals: tuple[Spec, ...] | list[Spec]) -> int:
    """The bytes of what has these avals."""
    return sum([a.size * np.dtype(a.dtype).itemsize for a in avals])


def by_bytes(weight: float = 1.0) -> Callable[[Equation], float]:
    """The cost of rules that take ``weight`` times as long for a byte as copying it does."""

    def cost(e: Equation) -> float:
        return CALL + weight * BYTE * nbytes((*e.ins, *e.outs))

    return cost


def by_elements(
    ns: float, half: float | None = None, calls: int = 1
) -> Callable[[Equation], float]:
    """The cost of rules that call NumPy so many times and compute for so many nanoseconds an
    element, or ``half`` in half precision."""

    def cost(e: Equation) -> float:
        out = e.outs[0]
        each = ns if half is None or np.dtype(out.dtype).itemsize != 2 else half
        return calls * CALL + BYTE * nbytes((*e.ins, out)) + 1e-9 * each * out.size

    return cost


def is_whole(e: Equation) -> bool:
    """Whether all numbers are of NumPy's own types but float16, which it has vector code for."""
    return all(
        np.dtype(a.dtype).isbuiltin == 1 and a.dtype != np.float16 for a in (*e.ins, *e.outs)
    )


def rule(
    *names: str,
    cost: Callable[[Equation], float] | None = None,
    weight: float = 1.0,
    broadcasts: bool = False,
    quiet: bool = False,
    kept: bool | Callable[[Equation], bool] = False,
    streams: Callable[[Equation], bool] | None = None,
    even: Callable[[Equation], float] | None = None,
) -> Function:
    """Declares the rule of the primitives ``names``: the function below is its ``make``.

    The operands that the returned function gets are NumPy arrays, or NumPy scalars where they have
    no dimensions, of exactly the dtype and shape of ``equation.ins``, laid out in any way; bools
    are 0 or 1. Nothing may be written into them, but into what ``to_write`` gives. The result must
    have the dtype and the shape of ``equation.out``; it may be a view of an operand, laid out in
    any way, or a scalar of NumPy's. Errors of floating point are ignored. A function whose
    attribute ``anew`` is true always returns an array that nobody else has; one whose attribute
    ``quiet`` is true computes nothing that NumPy could complain of.
    """

    def declare(make: Callable[[Equation], Made]) -> Callable[[Equation], Made]:
        for name in names:
            RULES[name] = Rule(
                make, cost or by_bytes(weight), broadcasts, quiet, kept, streams, even
            )
        return make

    return declare


@functools.cache
def load() -> dict[str, Rule]:
    """All rules."""
    for family in _FAMILIES:
        importlib.import_module(f"{__package__}.{family}")
    return RULES
