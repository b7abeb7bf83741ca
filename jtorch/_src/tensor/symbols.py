"""Sizes that are not known yet: ``SymInt``, ``SymFloat`` and ``SymBool`` are what programs compute
with.

Below the public functions such a size is an expression of JAX's (``jax.export.symbolic_shape``),
with which kernels are traced as they are. What it must be for a program to be right is never
assumed in silence: a comparison asks the environment that the symbols belong to.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
from jax.extend.core import InconclusiveDimensionOperation

from ..facts.size import Size, SymBool, SymFloat, SymInt
from .size_texts import evaluate, in_torchs_words

if TYPE_CHECKING:
    from ..facts.kinds import Function, Tree, Values
    from .shape_env import ShapeEnv

UNKNOWN = object()
Undecided = InconclusiveDimensionOperation


class GuardOnDataDependentSymNode(RuntimeError):
    """A program decides by a number that is computed from data."""

    def __init__(self, cond: object) -> None:
        words = cond.words if isinstance(cond, (Sym, Float, Truth)) else cond
        super().__init__(
            f"Could not guard on data-dependent expression {words} (unhinted: {words}).  "
            "(Size-like symbols: none)\n"
            "\n"
            "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and "
            "statically_known_true."
        )
        self.cond = cond


def shown(expr: object) -> str:
    """An expression as PyTorch writes it: ``2*s28``, ``(s17//2)``."""
    return in_torchs_words(str(exact(expr)))


def exact(x: Tree) -> Tree:
    """What kernels and shapes are told: the expression of a ``SymInt``, other values as they are;
    also inside lists, tuples, slices."""
    kind = type(x)
    if kind is Sym:
        return x.expr
    if kind is list or kind is tuple or kind is Size:
        return kind([exact(i) for i in x])
    if kind is slice:
        return slice(exact(x.start), exact(x.stop), exact(x.step))
    return x


# ---- what programs see ---------------------------------------------------------------------------


def _told(x: Float | Sym | Truth) -> str:
    """A number's text, which a program that goes on with it may not have where data decide the
    number."""
    if x.env.on_text is not None and x.on_data:
        x.env.on_text(x)
    return x.words


class Sym(SymInt):
    """A whole number that is not known yet: a size, or what was computed of sizes."""

    __slots__ = ("env", "expr", "_hint")

    def __init__(self, env: ShapeEnv, expr: Any, hint: Any = UNKNOWN) -> None:
        self.env, self.expr, self._hint = env, expr, hint

    @property
    def hint(self) -> int:
        """What it is for the example."""
        if self._hint is UNKNOWN:
            if self.on_data:
                raise GuardOnDataDependentSymNode(self)
            sizes = {str(self.env._exprs[n]): v for n, v in self.env.hints.items()}
            self._hint = evaluate(str(self.expr), sizes)
        return self._hint

    @property
    def node(self) -> Sym:
        """Itself, as PyTorch's programs reach for ``node.expr`` and ``node.hint``."""
        return self

    @property
    def shape_env(self) -> ShapeEnv:
        """Where its symbols belong."""
        return self.env

    @property
    def on_data(self) -> bool:
        """Whether it was computed from data, so that not even the example says what it is."""
        return self.env.data is not None and self.env.data.among(self.expr)

    def has_hint(self) -> bool:
        """Whether the example says what it is."""
        return not self.on_data

    @property
    def words(self) -> str:
        """It as PyTorch writes it."""
        return shown(self.expr)

    def __repr__(self) -> str:
        return _told(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __hash__(self) -> int:
        return hash(self.expr)

    def __index__(self) -> int:
        hint = self.hint
        self.env.decide(
            lambda: _exactly(self.expr),
            lambda: True,
            lambda: f"{shown(self.expr)} == {hint}",
            ("==", self.expr, hint),
        )
        return hint

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __neg__(self) -> Any:
        return self.env.wrap(-self.expr)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if bool(self.__ge__(0)) else -self

    def __round__(self, digits: object = None) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __reduce__(self) -> Any:
        raise TypeError("a SymInt belongs to the trace that made it and cannot be pickled")

    def __deepcopy__(self, memo: object) -> Sym:
        return self

    def __copy__(self) -> Sym:
        return self


def _exactly(expr: object) -> bool:
    if type(expr) is int:
        return True
    raise Undecided


class Truth(SymBool):
    """Whether a comparison of sizes holds, which is asked of the environment when it decides
    something."""

    __slots__ = ("env", "holds", "guess", "text", "sides")

    def __init__(
        self,
        env: ShapeEnv,
        holds: Function,
        guess: Any,
        text: Function,
        sides: tuple[str, Any, Any],
    ) -> None:
        self.env, self.holds, self.text = env, holds, text
        self.guess = guess or self._unguessed
        self.sides = sides  # the sign, and the expressions on its left and right

    def _unguessed(self) -> bool:
        raise GuardOnDataDependentSymNode(self)

    def __bool__(self) -> bool:
        return self.env.decide(self.holds, self.guess, self.text, self.sides)

    def expected(self) -> bool:
        """What a program that checks it may go on with: where data decide, it is said to be so, and
        is checked where the program runs."""
        if not self.on_data:
            return bool(self)
        return self.env.data.expect(self)

    @property
    def on_data(self) -> bool:
        """Whether data decide it."""
        data = self.env.data
        return data is not None and any(
            x.on_data if type(x) is Float else data.among(x) for x in self.sides[1:]
        )

    def __repr__(self) -> str:
        return _told(self)

    @property
    def words(self) -> str:
        """It as PyTorch writes it."""
        text = self.text()
        for sign, name in ((" == ", "Eq"), (" != ", "Ne")):
            left, found, right = text.partition(sign)
            if found:
                return f"{name}({left}, {right})"
        return text

    def __and__(self, other: object) -> bool:
        return bool(self) and bool(other)

    def __or__(self, other: object) -> bool:
        return bool(self) or bool(other)

    def __invert__(self) -> bool:
        return not self

    __rand__, __ror__ = __and__, __or__

    def __eq__(self, other: object) -> bool:
        return bool(self) is bool(other) if isinstance(other, (bool, Truth)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text())


def _arithmetic(name: str, run: Callable[..., object]) -> None:
    def method(self: Sym, other: Any) -> Any:
        if isinstance(other, bool) or (type(other) is not int and type(other) is not Sym):
            return _of_floats(name, self, other)
        try:
            return self.env.wrap(run(self.expr, exact(other)))
        except _NoPolynomial:
            return Float(self.env, name, (_float_of(self), other))

    def reflected(self: Sym, other: Any) -> object:
        if isinstance(other, bool) or type(other) is not int:
            return _of_floats(name, self, other, turned=True)
        try:
            return self.env.wrap(run(other, self.expr))
        except _NoPolynomial:
            return Float(self.env, name, (other, _float_of(self)))

    method.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    setattr(Sym, f"__{name}__", method)
    setattr(Sym, f"__r{name}__", reflected)


def _float_of(size: Sym) -> Float:
    return Float(size.env, "sym_float", (size,))


def _of_floats(name: str, size: Sym, other: float, turned: bool = False) -> Float:
    """Arithmetic of a size and a float, which is a float."""
    if type(other) is not float and not (type(other) is int and name == "pow"):
        return NotImplemented
    sides = (other, _float_of(size)) if turned else (_float_of(size), other)
    return Float(size.env, name, sides)


def _power(base: Any, exponent: Any) -> object:
    if type(exponent) is not int or exponent < 0:
        raise _NoPolynomial
    return base**exponent


def _masked(self: Sym, mask: object) -> object:
    """The bits of a size that are set in a number."""
    if type(mask) is not int or mask < 0:
        return NotImplemented
    return sum(((self // 2**i) % 2 * 2**i for i in range(mask.bit_length()) if mask >> i & 1), 0)


def _joined(self: Sym, mask: Any) -> object:
    """The bits that are set in a size or in a number."""
    both: Any = _masked(self, mask)
    return both if both is NotImplemented else self + mask - both


def _toggled(self: Sym, mask: Any) -> object:
    """The bits that are set in a size or in a number, and not in both."""
    both: Any = _masked(self, mask)
    return both if both is NotImplemented else self + mask - both * 2


def _shifted(self: Sym, by: object) -> object:
    return self * 2**by if type(by) is int and by >= 0 else NotImplemented


def _shifted_down(self: Sym, by: object) -> object:
    return self // 2**by if type(by) is int and by >= 0 else NotImplemented


Sym.__and__ = Sym.__rand__ = _masked
Sym.__or__ = Sym.__ror__ = _joined
Sym.__xor__ = Sym.__rxor__ = _toggled
Sym.__lshift__, Sym.__rshift__ = _shifted, _shifted_down


class _NoPolynomial(Exception):
    """A power of sizes that is no polynomial."""


for _name, _run in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "pow": _power,
}.items():  # fmt: skip
    _arithmetic(_name, _run)


def _true_division(self: Sym, other: object) -> object:
    if type(other) not in (int, float, Sym):
        return NotImplemented
    return Float(self.env, "truediv", (_float_of(self) if type(other) is float else self, other))


def _true_division_of(self: Sym, other: object) -> object:
    if type(other) not in (int, float):
        return NotImplemented
    return Float(self.env, "truediv", (other, _float_of(self) if type(other) is float else self))


Sym.__truediv__, Sym.__rtruediv__ = _true_division, _true_division_of
Sym.__sym_float__ = _float_of
Sym.__sym_int__ = lambda self: self
Sym.__sym_sqrt__ = lambda self: Float(self.env, "sym_sqrt", (_float_of(self),))
Sym.__sym_max__ = lambda self, other: self.env.wrap(jax.core.max_dim(self.expr, exact(other)))
Sym.__sym_min__ = lambda self, other: self.env.wrap(jax.core.min_dim(self.expr, exact(other)))


def _comparison(
    name: str, sign: str, run: Callable[..., object], sure: Callable[[Any], bool]
) -> None:
    def method(self: Sym, other: Sym | float) -> Any:
        if isinstance(other, float):
            if not math.isfinite(other):
                return run(0, other)
            if other.is_integer():
                other = int(other)
            elif sign in ("==", "!="):
                return sign == "!="
            else:  # the whole number next to it that decides alike
                other = math.floor(other) if sign in ("<=", ">") else math.ceil(other)
        if type(other) is not Sym and not isinstance(other, int):
            return NotImplemented
        against = exact(other)
        difference = self.expr - against
        if type(difference) is int:
            return run(difference, 0)

        data = self.env.data
        if data is not None and data.among(difference):
            try:
                return data.decided(sign, difference)
            except Undecided:
                sides = (sign, self.expr, against)
                text = f"{shown(self.expr)} {sign} {shown(against)}"
                return Truth(
                    self.env, lambda: data.decided(sign, difference), None, lambda: text, sides
                )

        def holds() -> bool:
            return sure(difference)

        try:
            return holds()
        except Undecided:
            guess = run(self.hint, other.hint if type(other) is Sym else other)
            return Truth(
                self.env,
                holds,
                lambda: guess,
                lambda: f"{shown(self.expr)} {sign} {shown(against)}",
                (sign, self.expr, against),
            )

    method.__name__ = f"__{name}__"
    setattr(Sym, f"__{name}__", method)


def _equal(difference: Any) -> bool:
    """Whether an expression is 0, from its bounds (JAX's own == answers False where it does not
    know)."""
    for apart in (lambda: difference >= 1, lambda: difference <= -1):
        try:
            if apart():
                return False
        except Undecided:
            continue
    raise Undecided


_comparison("lt", "<", operator.lt, lambda d: bool(d < 0))
_comparison("le", "<=", operator.le, lambda d: bool(d <= 0))
_comparison("gt", ">", operator.gt, lambda d: bool(d > 0))
_comparison("ge", ">=", operator.ge, lambda d: bool(d >= 0))
_comparison("eq", "==", operator.eq, _equal)
_comparison("ne", "!=", operator.ne, lambda d: not _equal(d))
Sym.__hash__ = lambda self: hash(self.expr)


# ---- floats --------------------------------------------------------------------------------------

_SIGNS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": (" + ", operator.add), "sub": (" - ", operator.sub), "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv), "floordiv": ("//", operator.floordiv),
    "mod": (" % ", operator.mod), "pow": ("**", operator.pow),
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"sym_float": float, "sym_sqrt": math.sqrt}


class Float(SymFloat):
    """A float that was computed of sizes: what computes it, and of what. Operators may be given it
    where its value decides no shape.

    Attributes:
        target: the operation, by its name in ``operator`` or ``torch``.
        parts: its operands: numbers, sizes, and such floats; of one that was read from data
            (``"data"``), its name.
    """

    __slots__ = ("env", "target", "parts")

    def __init__(self, env: ShapeEnv, target: str, parts: tuple[Any, ...]) -> None:
        self.env, self.target, self.parts = env, target, parts

    def where(self, size: Callable[[Sym], Any]) -> float:
        """What it is where sizes are as a function says."""
        given = [
            p.where(size) if type(p) is Float else size(p) if type(p) is Sym else p
            for p in self.parts
        ]
        return (
            _FUNCTIONS[self.target](*given)
            if self.target in _FUNCTIONS
            else _SIGNS[self.target][1](*given)
        )

    @property
    def hint(self) -> float:
        """What it is for the example; of data any number."""
        return 2.0 if self.on_data else self.where(lambda size: size.hint)

    @property
    def on_data(self) -> bool:
        """Whether it was computed from data."""
        return self.target == "data" or any(
            type(p) in (Float, Sym) and p.on_data for p in self.parts
        )

    @property
    def node(self) -> Float:
        """Itself, as for sizes."""
        return self

    def _sizes(self) -> Values:
        return [
            e
            for p in self.parts
            for e in ([p.expr] if type(p) is Sym else p._sizes() if type(p) is Float else [])
        ]

    def __repr__(self) -> str:
        return _told(self)

    @property
    def words(self) -> str:
        """It as PyTorch writes it."""
        if self.target == "data":
            return self.parts[0]
        shown = [p.words if type(p) in (Float, Sym) else repr(p) for p in self.parts]
        parts = [
            f"({text})" if type(p) is Float and p.target in _SIGNS else text
            for p, text in zip(self.parts, shown, strict=True)
        ]
        return (
            _SIGNS[self.target][0].join(parts)
            if self.target in _SIGNS
            else f"{self.target}({', '.join(parts)})"
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __float__(self) -> float:
        if self.on_data:
            raise GuardOnDataDependentSymNode(self)
        self.env.specialise(
            f"the program asks for {self!r} as a number", self.env.names_in(self._sizes())
        )
        return float(self.hint)

    def __int__(self) -> int:
        return int(self.__float__())

    def __floor__(self) -> Any:
        found = _quotient(self)
        return math.floor(self.__float__()) if found is None else found[0] // found[1]

    def __ceil__(self) -> Any:
        found = _quotient(self)
        return (
            math.ceil(self.__float__()) if found is None else (found[0] + found[1] - 1) // found[1]
        )

    def __trunc__(self) -> Any:
        return (
            int(self)
            if _quotient(self) is None
            else self.__floor__()
            if self.__floor__() >= 0
            else self.__ceil__()
        )

    __sym_int__ = __trunc__

    def __round__(self, digits: Any = None) -> Any:
        found = _quotient(self) if digits is None else None
        if found is None:
            return round(self.__float__(), digits)
        above, below = found
        nearest = (2 * above + below) // (2 * below)
        if below % 2:
            return nearest
        between = 1 - self.env.wrap(jax.core.min_dim(exact((2 * above + below) % (2 * below)), 1))
        # of two whole numbers at the same distance the even one
        return nearest - between * (nearest % 2)

    def __bool__(self) -> bool:
        return bool(self.__float__())

    def __pos__(self) -> Float:
        return self

    __sym_float__ = __pos__

    def __neg__(self) -> Float:
        return Float(self.env, "mul", (self, -1))

    def __sym_sqrt__(self) -> Float:
        return Float(self.env, "sym_sqrt", (self,))

    def __reduce__(self) -> Any:
        raise TypeError("a SymFloat belongs to the trace that made it and cannot be pickled")

    def __deepcopy__(self, memo: object) -> Float:
        return self

    def __copy__(self) -> Float:
        return self


#: Floats are taken for fractions of numbers that are so small that arithmetic on sizes rounds
#: nothing.
_SMALL = 2**20


def _quotient(x: Any) -> tuple[Any, int] | None:
    """A number as a fraction of sizes, if floats compute it exactly enough to be rounded: its
    parts, the lower one above 0."""
    if type(x) in (int, Sym):
        return x, 1
    if type(x) is float:
        above, below = x.as_integer_ratio() if math.isfinite(x) else (_SMALL, 1)
        return (above, below) if max(abs(above), below) < _SMALL else None
    if x.on_data or x.target not in ("sym_float", "truediv", "mul", "add", "sub"):
        return None
    parts = [found for found in map(_quotient, x.parts) if found is not None]
    if len(parts) < len(x.parts) or x.target == "sym_float":
        return None if len(parts) < len(x.parts) else parts[0]
    (a, b), (c, d) = parts
    if x.target in ("add", "sub"):
        return (
            (None if b != d else (a + c if x.target == "add" else a - c, b))
            if max(b, d) < _SMALL
            else None
        )
    if x.target == "mul":
        return (a * c, b * d) if b * d < _SMALL else None
    return (a * d, b * c) if type(c) is int and 0 < b * c < _SMALL else None


def _arithmetic_of_floats(name: str) -> None:
    def method(self: Float, other: Float | float) -> Float:
        return (
            Float(self.env, name, (self, other))
            if type(other) in (int, float, Sym, Float)
            else NotImplemented
        )

    def reflected(self: Float, other: object) -> object:
        return (
            Float(self.env, name, (other, self))
            if type(other) in (int, float, Sym)
            else NotImplemented
        )

    method.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    setattr(Float, f"__{name}__", method)
    setattr(Float, f"__r{name}__", reflected)


for _name in _SIGNS:
    _arithmetic_of_floats(_name)


def _comparison_of_floats(name: str, sign: str, run: Callable[..., object]) -> None:
    def method(self: Float, other: Any) -> Any:
        if type(other) not in (int, float, Sym, Float):
            return NotImplemented
        if self.on_data or (type(other) in (Sym, Float) and other.on_data):
            return self.env.data.truth_said(sign, self, other)
        return run(float(self), float(other))

    method.__name__ = f"__{name}__"
    setattr(Float, f"__{name}__", method)


for _name, _sign in (
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
    ("eq", "=="),
    ("ne", "!="),
):
    _comparison_of_floats(_name, _sign, getattr(operator, _name))
Float.__hash__ = lambda self: hash(repr(self))
