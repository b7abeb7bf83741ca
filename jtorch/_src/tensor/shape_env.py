"""``ShapeEnv`` names sizes that are not known yet, and decides by them.

A comparison is answered from the bounds of the symbols, and where these do not decide, from the
sizes of the example, which is noted as a guard, or refused.
"""

from __future__ import annotations

import itertools
import operator
import re
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jax import export as jax_export

from ..facts.size import SYMBOLIC, SymInt
from .size_texts import evaluate
from .symbols import UNKNOWN, Float, Sym, Undecided

if TYPE_CHECKING:
    from ..facts.kinds import Tree


_numbers = itertools.count()


class ConstraintViolation(RuntimeError):
    """A program decides by a size that was said to vary.

    Attributes:
        needed: the symbols that would have to be numbers.
        met: all symbols that the refusal speaks of, in the order in which it does.
        comparison: what would have to hold: a sign, and the expressions on its left and right; None
            where an operator failed.
        matched: whether ``met`` are sizes next to each other that have to be equal.
    """

    def __init__(
        self, text: str, needed: Iterable[str] = (), met: Iterable[str] = (),
        comparison: tuple[str, object, object] | None = None, matched: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.needed, self.met, self.comparison, self.matched = (
            list(needed),
            list(met),
            comparison,
            matched,
        )


#: How JAX words what it cannot decide of a size and a number.
_UNDECIDED = re.compile(r"comparison '(\w+)' (<=?|>=?) '(\d+)' is inconclusive")
_DENIED = {">": "<=", "<=": ">", "<": ">=", ">=": "<", "==": "!=", "!=": "=="}


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
        strict: a comparison that the bounds do not decide raises ``ConstraintViolation`` instead of
            being answered from the hints.

    Attributes:
        guards: comparisons that were answered from the hints, in order.
    """

    def __init__(
        self, symbols: dict[str, tuple[int, int, int | None]] | None = None, *, strict: bool = False
    ) -> None:
        self.strict = strict
        self.guards: list[Guard] = []
        #: What is known of the numbers that are computed from data, once there is one
        #: (``unknowns.of``).
        self.data: Any = None
        #: Called with a number that data decide, of which a text is made.
        self.on_text = None
        self.hints: dict[str, int] = {}
        self.ranges: dict[str, tuple[int, int | None]] = {}
        self._number = next(_numbers)
        self._exprs: dict[str, Any] = {}
        self._scope = None
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
        bounds += bounds_of_products({own[name]: low for name, (_, low, _) in symbols.items()})
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
        # JAX has no public way to say more of a scope: without this one fewer comparisons are
        # decided
        if add is not None:
            add(constraint)

    def symbol(self, name: str) -> Sym:
        """A symbol by its name."""
        return Sym(self, self._exprs[name], self.hints.get(name, UNKNOWN))

    @property
    def names(self) -> list[str]:
        """The names of the symbols, in order."""
        return list(self._exprs)

    def wrap(self, expr: Any) -> Any:
        """A size as programs see it: an int, or a ``SymInt``."""
        if self.data is not None:
            expr = self.data.reduced(expr)
        return (
            expr
            if type(expr) is int
            else int(expr)
            if type(expr) not in SYMBOLIC
            else Sym(self, expr)
        )

    def parse(self, text: str) -> Any:
        """The expression of a text in the symbols' names, as ``shown`` writes it; an int for a
        number."""
        return evaluate(text, self._exprs)

    def decide(
        self,
        holds: Callable[[], bool],
        guess: Callable[[], bool],
        text: Callable[[], str],
        sides: tuple[str, Any, Any],
    ) -> bool:
        """Whether a comparison holds: from the bounds, else from the hints, which becomes a guard.
        ``sides``: its sign, left and right."""
        try:
            return holds()
        except Undecided:
            pass
        answer = guess()
        written = text() if answer else f"not ({text()})"
        if self.strict:
            sign, *parts = sides
            names = self.mentioned(" ".join(map(str, parts)))
            raise ConstraintViolation(
                f"Constraints violated: the program decides by {written}, which holds for the "
                "example's sizes but not for all that the dynamic sizes may have. Say so by "
                "Dim(..., min=, max=), make the dimension static, or write the program without it.",
                names, names, (sign if answer else _DENIED[sign], *parts),
            )  # fmt: skip
        self.guards.append(Guard(guess_of(written), written))
        return answer

    def names_in(self, exprs: Iterable[object]) -> list[str]:
        """The symbols that expressions are written in, in order."""
        text = " ".join(map(str, exprs))
        return [n for n, e in self._exprs.items() if re.search(rf"\b{e}\b", text)]

    def mentioned(self, text: str) -> list[str]:
        """The symbols that a text names as JAX does, in the order in which it does."""
        own = {str(e): n for n, e in self._exprs.items()}
        return list(dict.fromkeys([own[word] for word in re.findall(r"\w+", text) if word in own]))

    def with_hints(self, expr: object, names: Iterable[str]) -> Any:
        """An expression with the example's sizes for some symbols."""
        known = set(names) & self.hints.keys()
        return evaluate(
            str(expr), {str(e): self.hints[n] if n in known else e for n, e in self._exprs.items()}
        )

    def specialise(self, why: str, names: Iterable[str], matched: bool = False) -> None:
        """Takes some sizes for those of the example, which becomes guards; refused where it is
        strict."""
        names = list(names)
        if self.strict:
            raise ConstraintViolation(
                f"Constraints violated: {why}. It holds for the example's sizes but not for all "
                "that the dynamic sizes may have: say more of them by Dim(..., min=, max=), or "
                "make them static.",
                names, self.mentioned(why) or names, self._compared(why), matched,
            )  # fmt: skip
        for name in names:
            hint = self.hints[name]
            self.guards.append(Guard(guess_of(f"{name} == {hint}"), f"{name} == {hint}"))

    def _compared(self, why: str) -> tuple[str, Any, Any] | None:
        """The comparison of a size with a number that JAX could not decide, as it holds for the
        example, where it says that the size is not too small."""
        found = _UNDECIDED.search(why)
        names = [] if found is None else self.mentioned(found[1])
        if found is None or not names or names[0] not in self.hints:
            return None
        sign, number, hint = found[2], int(found[3]), self.hints[names[0]]
        if not evaluate(f"a {sign} b", {"a": hint, "b": number}):
            sign = _DENIED[sign]
        return (sign, self._exprs[names[0]], number) if sign in (">", ">=") else None

    def format_guards(self) -> str:
        """The guards, one a line."""
        return "\n".join(f" - {g}" for g in self.guards)


#: Of more symbols than this JAX would take long over what it is told of their products.
_FEW = 4


def bounds_of_products(lows: dict[str, int]) -> list[str]:
    """What the lower bounds of symbols say of the products of two: ``(h - 2) * (w - 2) >= 0``, as
    windows of images are counted.

    JAX concludes from linear combinations of what it is told, so that bounds of ``h`` and ``w``
    alone say too little of ``h * w``.
    """
    if len(lows) > _FEW:
        return []
    pairs = itertools.combinations_with_replacement(lows.items(), 2)
    return [f"{a}*{b} - {m}*{a} - {n}*{b} + {n * m} >= 0" for (a, n), (b, m) in pairs]


_envs: weakref.WeakValueDictionary[int, ShapeEnv] = weakref.WeakValueDictionary()


def guess_of(written: str) -> Callable[[dict[str, int]], bool]:
    """What evaluates a comparison for other sizes of the symbols."""
    return lambda sizes: bool(
        evaluate(written.replace("not (", "not_("), {**sizes, "not_": operator.not_})
    )


def env_of(expr: object) -> ShapeEnv:
    """The environment whose symbols an expression of JAX's is written in."""
    text = str(expr)
    start = text.index("_e") + 2
    end = start
    while end < len(text) and text[end].isdigit():
        end += 1
    return _envs[int(text[start:end])]


def parsed(text: str, env: ShapeEnv) -> Any:
    """The expression of a text in the names that JAX knows the symbols by."""
    return evaluate(text, {str(e): e for e in env._exprs.values()})


def visible(x: Tree) -> Tree:
    """The reverse of ``exact``: sizes as programs see them."""
    kind = type(x)
    if kind in SYMBOLIC:
        return env_of(x).wrap(x)
    return kind([visible(i) for i in x]) if kind is list or kind is tuple else x


def hint_of(x: object) -> Any:
    """The example's size."""
    return (
        x.hint
        if isinstance(x, (Sym, Float))
        else env_of(x).wrap(x).hint
        if type(x) in SYMBOLIC
        else x
    )


def any_symbolic(items: Iterable[object]) -> bool:
    """Whether one of several sizes is not a number."""
    return any(type(i) in SYMBOLIC or isinstance(i, Sym) for i in items)
