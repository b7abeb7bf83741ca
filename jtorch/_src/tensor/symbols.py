"""Sizes that are not known yet: ``ShapeEnv`` names them, ``SymInt``, ``SymFloat`` and ``SymBool`` are what programs compute with.

Below the public functions such a size is an expression of JAX's (``jax.export.symbolic_shape``), with which kernels are traced as they are.
What it must be for a program to be right is never assumed in silence: a comparison is answered from the bounds of the symbols, and where
these do not decide, from the sizes of the example, which is noted as a guard, or refused. Floor 3.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
import re
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax import export as jax_export

from ..facts.size import SYMBOLIC, Size, SymBool, SymFloat, SymInt

__all__ = [
    "ConstraintViolation",
    "GuardOnDataDependentSymNode",
    "Float",
    "Guard",
    "ShapeEnv",
    "Sym",
    "Truth",
    "Undecided",
    "any_symbolic",
    "env_of",
    "exact",
    "hint_of",
    "shown",
]

_numbers = itertools.count()
_UNKNOWN: Any = object()
Undecided = jax.errors.InconclusiveDimensionOperation


class ConstraintViolation(RuntimeError):
    """A program decides by a size that was said to vary."""


class GuardOnDataDependentSymNode(RuntimeError):
    """A program decides by a number that is computed from data."""

    def __init__(self, cond: Any) -> None:
        super().__init__(
            f"Could not guard on data-dependent expression {cond} (unhinted: {cond}).  (Size-like symbols: none)\n\n"
            "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true."
        )
        self.cond = cond


class Guard:
    """A comparison that held for the example's sizes."""

    __slots__ = ("expr", "text")

    def __init__(self, expr: Callable[[dict[str, int]], bool], text: str) -> None:
        self.expr, self.text = expr, text

    def __repr__(self) -> str:
        return self.text


class ShapeEnv:
    """The symbols of one trace, what is known of them, and what was concluded from the example.

    Args:
        symbols: ``{name: (hint, lowest, highest or None)}``, all that there will be.
        strict: a comparison that the bounds do not decide raises ``ConstraintViolation`` instead of being answered from the hints.

    Attributes:
        guards: comparisons that were answered from the hints, in order.
    """

    def __init__(self, symbols: dict[str, tuple[int, int, int | None]] | None = None, *, strict: bool = False) -> None:
        self.strict = strict
        self.guards: list[Guard] = []
        #: What is known of the numbers that are computed from data, once there is one (``unknowns.of``).
        self.data: Any = None
        self.hints: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int | None]] = {}
        self._number = next(_numbers)
        self._exprs: dict[str, Any] = {}
        self._scope: Any = None
        if symbols:
            self._begin(symbols)

    def _begin(self, symbols: dict[str, tuple[int, int, int | None]]) -> None:
        own = {name: f"{name}_e{self._number}" for name in symbols}
        bounds = []
        for name, (hint, low, high) in symbols.items():
            self.hints[name], self.ranges[name] = hint, (low, high)
            bounds.append(f"{own[name]} >= {low}")
            if high is not None:
                bounds.append(f"{own[name]} <= {high}")
        self._scope = jax_export.SymbolicScope(bounds)
        _envs[self._number] = self
        made = jax_export.symbolic_shape(", ".join(own.values()), scope=self._scope)
        self._exprs = dict(zip(symbols, made, strict=True))
        SYMBOLIC.update(map(type, made))

    def create_symbol(self, hint: int, name: str | None = None) -> SymInt:
        """One more symbol, for a size of at least 2."""
        name = name or f"s{len(self._exprs)}"
        if self._scope is None:
            self._begin({name: (hint, 2, None)})
        else:
            self.more(name, 2, None)
            self.hints[name], self.ranges[name] = hint, (2, None)
        return Sym(self, self._exprs[name], hint)

    def more(self, name: str, low: int, high: int | None) -> Any:
        """The expression of one more symbol, which JAX takes to lie within bounds."""
        if self._scope is None:
            self._scope = jax_export.SymbolicScope([])
            _envs[self._number] = self
        own = f"{name}_e{self._number}"
        self.told(f"{own} >= {low}")
        if high is not None:
            self.told(f"{own} <= {high}")
        (expr,) = jax_export.symbolic_shape(own, scope=self._scope)
        SYMBOLIC.add(type(expr))
        self._exprs[name] = expr
        return expr

    def told(self, constraint: str) -> None:
        """Says more of the symbols to JAX."""
        add = getattr(self._scope, "_parse_and_process_explicit_constraint", None)
        if add is not None:  # JAX has no public way to say more of a scope: without this one fewer comparisons are decided
            add(constraint)

    def symbol(self, name: str) -> Sym:
        """A symbol by its name."""
        return Sym(self, self._exprs[name], self.hints.get(name, _UNKNOWN))

    @property
    def names(self) -> list[str]:
        """The names of the symbols, in order."""
        return list(self._exprs)

    def wrap(self, expr: Any) -> Any:
        """A size as programs see it: an int, or a ``SymInt``."""
        if self.data is not None:
            expr = self.data.reduced(expr)
        return expr if type(expr) is int else _known(int(expr)) if type(expr) not in SYMBOLIC else Sym(self, expr)

    def parse(self, text: str) -> Any:
        """The expression of a text in the symbols' names, as ``shown`` writes it; an int for a number."""
        return _evaluate(text, self._exprs)

    def decide(self, holds: Callable[[], bool], guess: Callable[[], bool], text: Callable[[], str]) -> bool:
        """Whether a comparison holds: from the bounds, else from the hints, which becomes a guard."""
        try:
            return holds()
        except Undecided:
            pass
        answer = guess()
        written = text() if answer else f"not ({text()})"
        if self.strict:
            raise ConstraintViolation(
                f"Constraints violated: the program decides by {written}, which holds for the example's sizes but not for all that the "
                "dynamic sizes may have. Say so by Dim(..., min=, max=), make the dimension static, or write the program without it."
            )
        self.guards.append(Guard(guess_of(written), written))
        return answer

    def names_in(self, exprs: Iterable[Any]) -> list[str]:
        """The symbols that expressions are written in, in order."""
        text = " ".join(map(str, exprs))
        return [n for n, e in self._exprs.items() if re.search(rf"\b{e}\b", text)]

    def with_hints(self, expr: Any, names: Iterable[str]) -> Any:
        """An expression with the example's sizes for some symbols."""
        known = set(names) & self.hints.keys()
        return _evaluate(str(expr), {str(e): self.hints[n] if n in known else e for n, e in self._exprs.items()})

    def specialise(self, why: str, names: Iterable[str]) -> None:
        """Takes some sizes for those of the example, which becomes guards; refused where it is strict."""
        if self.strict:
            raise ConstraintViolation(
                f"Constraints violated: {why}. It holds for the example's sizes but not for all that the dynamic sizes may have: say "
                "more of them by Dim(..., min=, max=), or make them static."
            )
        for name in names:
            hint = self.hints[name]
            self.guards.append(Guard(guess_of(f"{name} == {hint}"), f"{name} == {hint}"))

    def format_guards(self) -> str:
        """The guards, one a line."""
        return "\n".join(f" - {g}" for g in self.guards)


_envs: weakref.WeakValueDictionary[int, ShapeEnv] = weakref.WeakValueDictionary()


def guess_of(written: str) -> Callable[[dict[str, int]], bool]:
    """What evaluates a comparison for other sizes of the symbols."""
    return lambda sizes: bool(_evaluate(written.replace("not (", "not_("), {**sizes, "not_": operator.not_}))


def env_of(expr: Any) -> ShapeEnv:
    """The environment whose symbols an expression of JAX's is written in."""
    text = str(expr)
    start = text.index("_e") + 2
    end = start
    while end < len(text) and text[end].isdigit():
        end += 1
    return _envs[int(text[start:end])]


def _known(n: int) -> int:
    return n


# ---- expressions -----------------------------------------------------------------------------------------------------------------

_CALLS: dict[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "max": jax.core.max_dim, "min": jax.core.min_dim,
}  # fmt: skip
_BINARY: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}  # fmt: skip
_COMPARED: dict[type, Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _evaluate(text: str, names: dict[str, Any]) -> Any:
    """The value of arithmetic on sizes: numbers, names, ``+ - * // % **``, ``floordiv mod max min``, comparisons; nothing else is run."""

    def value(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _BINARY[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
            return _COMPARED[type(node.ops[0])](value(node.left), value(node.comparators[0]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            call = _CALLS.get(node.func.id.lower()) or names.get(node.func.id)
            if call is not None:
                return call(*[value(a) for a in node.args])
        raise ValueError(f"{text!r} is no expression of sizes")

    return value(ast.parse(text.replace("^", "**"), mode="eval").body)


def parsed(text: str, env: ShapeEnv) -> Any:
    """The expression of a text in the names that JAX knows the symbols by."""
    return _evaluate(text, {str(e): e for e in env._exprs.values()})


@functools.lru_cache(maxsize=4096)
def _shown(text: str) -> str:
    def written(node: ast.AST, inside: int = 0) -> str:
        if isinstance(node, ast.Name):
            return node.id.partition("_e")[0]
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Call):
            name = node.func.id  # type: ignore[attr-defined]
            if name in ("floordiv", "mod"):
                a, b = (written(x, 9) for x in node.args)
                return f"({a}//{b})" if name == "floordiv" else f"Mod({a.strip('()')}, {b})"
            return f"{name.capitalize()}({', '.join(written(x) for x in node.args)})"
        if isinstance(node, ast.UnaryOp):
            return f"-{written(node.operand, 9)}"
        assert isinstance(node, ast.BinOp)
        sign, rank = {ast.Add: (" + ", 1), ast.Sub: (" - ", 1), ast.Mult: ("*", 2), ast.Pow: ("**", 3)}[type(node.op)]
        text = f"{written(node.left, rank)}{sign}{written(node.right, rank + isinstance(node.op, (ast.Sub, ast.Pow)))}"
        return f"({text})" if rank < inside else text

    return written(ast.parse(text.replace("^", "**"), mode="eval").body)


def shown(expr: Any) -> str:
    """An expression as PyTorch writes it: ``2*s28``, ``(s17//2)``."""
    return _shown(str(exact(expr)))


def exact(x: Any) -> Any:
    """What kernels and shapes are told: the expression of a ``SymInt``, other values as they are; also inside lists, tuples, slices."""
    kind = type(x)
    if kind is Sym:
        return x.expr
    if kind is list or kind is tuple or kind is Size:
        return kind([exact(i) for i in x])
    if kind is slice:
        return slice(exact(x.start), exact(x.stop), exact(x.step))
    return x


def visible(x: Any) -> Any:
    """The reverse of ``exact``: sizes as programs see them."""
    kind = type(x)
    if kind in SYMBOLIC:
        return env_of(x).wrap(x)
    return kind([visible(i) for i in x]) if kind is list or kind is tuple else x


def hint_of(x: Any) -> Any:
    """The example's size."""
    return x.hint if isinstance(x, (Sym, Float)) else env_of(x).wrap(x).hint if type(x) in SYMBOLIC else x


# ---- what programs see -----------------------------------------------------------------------------------------------------------


class Sym(SymInt):
    """A whole number that is not known yet: a size, or what was computed of sizes."""

    __slots__ = ("env", "expr", "_hint")

    def __init__(self, env: ShapeEnv, expr: Any, hint: Any = _UNKNOWN) -> None:
        self.env, self.expr, self._hint = env, expr, hint

    @property
    def hint(self) -> int:
        """What it is for the example."""
        if self._hint is _UNKNOWN:
            if self.on_data:
                raise GuardOnDataDependentSymNode(self)
            sizes = {str(self.env._exprs[n]): v for n, v in self.env.hints.items()}
            self._hint = _evaluate(str(self.expr), sizes)
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

    def __repr__(self) -> str:
        return shown(self.expr)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __hash__(self) -> int:
        return hash(self.expr)

    def __index__(self) -> int:
        hint = self.hint
        self.env.decide(lambda: _exactly(self.expr), lambda: True, lambda: f"{shown(self.expr)} == {hint}")
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
        return self if bool(self.__ge__(0)) else -self  # type: ignore[attr-defined]

    def __round__(self, digits: Any = None) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__

    def __reduce__(self) -> Any:
        raise TypeError("a SymInt belongs to the trace that made it and cannot be pickled")

    def __deepcopy__(self, memo: Any) -> Sym:
        return self

    def __copy__(self) -> Sym:
        return self


def _exactly(expr: Any) -> bool:
    if type(expr) is int:
        return True
    raise Undecided


class Truth(SymBool):
    """Whether a comparison of sizes holds, which is asked of the environment when it decides something."""

    __slots__ = ("env", "holds", "guess", "text", "sides")

    def __init__(self, env: ShapeEnv, holds: Any, guess: Any, text: Any, sides: tuple[str, Any, Any]) -> None:
        self.env, self.holds, self.text = env, holds, text
        self.guess = guess or self._unguessed
        self.sides = sides  # the sign, and the expressions on its left and right

    def _unguessed(self) -> bool:
        raise GuardOnDataDependentSymNode(self)

    def __bool__(self) -> bool:
        return self.env.decide(self.holds, self.guess, self.text)

    def expected(self) -> bool:
        """What a program that checks it may go on with: where data decide, it is said to be so, and is checked where the program runs."""
        if self.env.data is None or not any(self.env.data.among(x) for x in self.sides[1:]):
            return bool(self)
        return self.env.data.expect(self)

    def __repr__(self) -> str:
        text = self.text()
        for sign, name in ((" == ", "Eq"), (" != ", "Ne")):
            left, found, right = text.partition(sign)
            if found:
                return f"{name}({left}, {right})"
        return text

    def __and__(self, other: Any) -> bool:
        return bool(self) and bool(other)

    def __or__(self, other: Any) -> bool:
        return bool(self) or bool(other)

    def __invert__(self) -> bool:
        return not self

    __rand__, __ror__ = __and__, __or__

    def __eq__(self, other: object) -> bool:
        return bool(self) is bool(other) if isinstance(other, (bool, Truth)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text())


def _arithmetic(name: str, run: Callable[[Any, Any], Any]) -> None:
    def method(self: Sym, other: Any) -> Any:
        if isinstance(other, bool) or (type(other) is not int and type(other) is not Sym):
            return _of_floats(name, self, other)
        try:
            return self.env.wrap(run(self.expr, exact(other)))
        except _NoPolynomial:
            return Float(self.env, name, (_float_of(self), other))

    def reflected(self: Sym, other: Any) -> Any:
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


def _of_floats(name: str, size: Sym, other: Any, turned: bool = False) -> Any:
    """Arithmetic of a size and a float, which is a float."""
    if type(other) is not float and not (type(other) is int and name == "pow"):
        return NotImplemented
    sides = (other, _float_of(size)) if turned else (_float_of(size), other)
    return Float(size.env, name, sides)


def _power(base: Any, exponent: Any) -> Any:
    if type(exponent) is not int or exponent < 0:
        raise _NoPolynomial
    return base**exponent


class _NoPolynomial(Exception):
    """A power of sizes that is no polynomial."""


for _name, _run in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv, "mod": operator.mod, "pow": _power,
}.items():  # fmt: skip
    _arithmetic(_name, _run)


def _true_division(self: Sym, other: Any) -> Any:
    if type(other) not in (int, float, Sym):
        return NotImplemented
    return Float(self.env, "truediv", (_float_of(self) if type(other) is float else self, other))


def _true_division_of(self: Sym, other: Any) -> Any:
    if type(other) not in (int, float):
        return NotImplemented
    return Float(self.env, "truediv", (other, _float_of(self) if type(other) is float else self))


Sym.__truediv__, Sym.__rtruediv__ = _true_division, _true_division_of  # type: ignore[attr-defined]
Sym.__sym_float__ = _float_of  # type: ignore[attr-defined]
Sym.__sym_int__ = lambda self: self  # type: ignore[attr-defined]
Sym.__sym_sqrt__ = lambda self: Float(self.env, "sym_sqrt", (_float_of(self),))  # type: ignore[attr-defined]
Sym.__sym_max__ = lambda self, other: self.env.wrap(jax.core.max_dim(self.expr, exact(other)))  # type: ignore[attr-defined]
Sym.__sym_min__ = lambda self, other: self.env.wrap(jax.core.min_dim(self.expr, exact(other)))  # type: ignore[attr-defined]


def _comparison(name: str, sign: str, run: Callable[[Any, Any], Any], sure: Callable[[Any], bool]) -> None:
    def method(self: Sym, other: Any) -> Any:
        if isinstance(other, float) and other in (float("inf"), float("-inf")):
            return run(0, other)
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
                return Truth(self.env, lambda: data.decided(sign, difference), None, lambda: text, sides)

        def holds() -> bool:
            return sure(difference)

        try:
            return holds()
        except Undecided:
            guess = run(self.hint, hint_of(other))
            return Truth(self.env, holds, lambda: guess, lambda: f"{shown(self.expr)} {sign} {shown(against)}", (sign, self.expr, against))

    method.__name__ = f"__{name}__"
    setattr(Sym, f"__{name}__", method)


def _equal(difference: Any) -> bool:
    """Whether an expression is 0, from its bounds (JAX's own == answers False where it does not know)."""
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
Sym.__hash__ = lambda self: hash(self.expr)  # type: ignore[method-assign]


# ---- floats ----------------------------------------------------------------------------------------------------------------------

_SIGNS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": (" + ", operator.add), "sub": (" - ", operator.sub), "mul": ("*", operator.mul), "truediv": ("/", operator.truediv),
    "floordiv": ("//", operator.floordiv), "mod": (" % ", operator.mod), "pow": ("**", operator.pow),
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"sym_float": float, "sym_sqrt": math.sqrt}


class Float(SymFloat):
    """A float that was computed of sizes: what computes it, and of what. Operators may be given it where its value decides no shape.

    Attributes:
        target: the operation, by its name in ``operator`` or ``torch``.
        parts: its operands: numbers, sizes, and such floats; of one that was read from data (``"data"``), its name.
    """

    __slots__ = ("env", "target", "parts")

    def __init__(self, env: ShapeEnv, target: str, parts: tuple[Any, ...]) -> None:
        self.env, self.target, self.parts = env, target, parts

    def where(self, size: Callable[[Sym], Any]) -> Any:
        """What it is where sizes are as a function says."""
        given = [p.where(size) if type(p) is Float else size(p) if type(p) is Sym else p for p in self.parts]
        return _FUNCTIONS[self.target](*given) if self.target in _FUNCTIONS else _SIGNS[self.target][1](*given)

    @property
    def hint(self) -> float:
        """What it is for the example; of data any number."""
        return 2.0 if self.on_data else self.where(hint_of)

    @property
    def on_data(self) -> bool:
        """Whether it was computed from data."""
        return self.target == "data" or any(type(p) in (Float, Sym) and p.on_data for p in self.parts)

    @property
    def node(self) -> Float:
        """Itself, as for sizes."""
        return self

    def _sizes(self) -> list[Any]:
        return [e for p in self.parts for e in ([p.expr] if type(p) is Sym else p._sizes() if type(p) is Float else [])]

    def __repr__(self) -> str:
        if self.target == "data":
            return self.parts[0]
        parts = [f"({p!r})" if type(p) is Float and p.target in _SIGNS else repr(p) for p in self.parts]
        return _SIGNS[self.target][0].join(parts) if self.target in _SIGNS else f"{self.target}({', '.join(parts)})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __float__(self) -> float:
        if self.on_data:
            raise GuardOnDataDependentSymNode(self)
        self.env.specialise(f"the program asks for {self!r} as a number", self.env.names_in(self._sizes()))
        return float(self.hint)

    def __int__(self) -> int:
        return int(self.__float__())

    __trunc__ = __sym_int__ = __int__

    def __floor__(self) -> int:
        return math.floor(self.__float__())

    def __ceil__(self) -> int:
        return math.ceil(self.__float__())

    def __round__(self, digits: Any = None) -> Any:
        return round(self.__float__(), digits)

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

    def __deepcopy__(self, memo: Any) -> Float:
        return self

    def __copy__(self) -> Float:
        return self


def _arithmetic_of_floats(name: str) -> None:
    def method(self: Float, other: Any) -> Any:
        return Float(self.env, name, (self, other)) if type(other) in (int, float, Sym, Float) else NotImplemented

    def reflected(self: Float, other: Any) -> Any:
        return Float(self.env, name, (other, self)) if type(other) in (int, float, Sym) else NotImplemented

    method.__name__, reflected.__name__ = f"__{name}__", f"__r{name}__"
    setattr(Float, f"__{name}__", method)
    setattr(Float, f"__r{name}__", reflected)


for _name in _SIGNS:
    _arithmetic_of_floats(_name)


def _comparison_of_floats(name: str, run: Callable[[Any, Any], Any]) -> None:
    def method(self: Float, other: Any) -> Any:
        if type(other) not in (int, float, Sym, Float):
            return NotImplemented
        return run(float(self), float(other))

    method.__name__ = f"__{name}__"
    setattr(Float, f"__{name}__", method)


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _comparison_of_floats(_name, getattr(operator, _name))
Float.__hash__ = lambda self: hash(repr(self))  # type: ignore[method-assign]


def any_symbolic(items: Iterable[Any]) -> bool:
    """Whether one of several sizes is not a number."""
    return any(type(i) in SYMBOLIC or isinstance(i, Sym) for i in items)
