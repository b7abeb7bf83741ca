"""Numbers that a program reads from data while it is traced: their symbols, and what the program
says of them. Floor 3.

JAX takes such a size for at least 2, as it takes other sizes that vary; what programs compare is
decided from the true bounds, which are those of the operator that made the symbol and of what the
program has checked (``torch._check``). All that was said is to be checked where the program runs.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from ..facts.size import SYMBOLIC
from .shape_env import ShapeEnv
from .size_texts import evaluate
from .symbols import Float, Sym, Truth, Undecided, shown

__all__ = ["Unknowns", "of"]

Interval = tuple[float, float]
_NAME = re.compile(r"[A-Za-z_]\w*")


def of(env: ShapeEnv) -> Unknowns:
    """What is known of the numbers that are computed from data."""
    if env.data is None:
        env.data = Unknowns(env)
    return env.data


class Unknowns:
    """The symbols of an environment that were read from data, in order.

    Attributes:
        bounds: the true bounds of each, None where there is none.
        sizes: those that were sizes of a tensor, or decided one.
        floats: the floats that were read.
        said: the comparisons that the program said to hold, which the bounds do not say already:
            ``(sign, left, right)``.
        again: names for the symbols that come next, where an operator is run again.
        fixed: the values to give in the place of symbols.
    """

    def __init__(self, env: ShapeEnv) -> None:
        self.env = env
        self.bounds: dict[str, tuple[int | None, int | None]] = {}
        self.sizes: dict[str, None] = {}
        self.floats: list[Float] = []
        self.said = []
        self.again: list[str] = []
        self.fixed: dict[str, int] = {}
        self.made: list[str] = []  # each symbol as often as an operator gave it
        self._own: dict[str, str] = {}  # by the name that JAX knows
        self._equal: dict[str, object] = {}
        self._facts: list[object] = []  # what is not negative

    def number(self, low: int | None = None, high: int | None = None, *, size: bool = False) -> Any:
        """One more whole number, as programs see it."""
        name = self.again.pop(0) if self.again else f"u{len(self.bounds)}"
        self.made.append(name)
        low, high = self.bounds.setdefault(name, (low, high))
        if name not in self.env.names and name not in self.fixed:
            most = high if high is not None and high >= 1 else None
            expr = self.env.more(name, max(low or 0, min(2, most or 2)), most)
            self._own[str(expr)] = name
        if size:
            self.sizes.setdefault(name)
        return self.fixed[name] if name in self.fixed else self.env.wrap(self.env._exprs[name])

    def real(self) -> Float:
        """One more float."""
        name = self.again.pop(0) if self.again else f"zuf{len(self.floats)}"
        self.made.append(name)
        found = next((f for f in self.floats if f.parts[0] == name), None)
        if found is None:
            found = Float(self.env, "data", (name,))
            self.floats.append(found)
        return found

    def truth(self) -> object:
        """One more truth value."""
        n = self.number(0, 1)
        return n == 1

    def names_in(self, expr: object) -> list[str]:
        """The symbols of data in an expression."""
        return (
            []
            if type(expr) not in SYMBOLIC
            else [self._own[v] for v in _NAME.findall(str(expr)) if v in self._own]
        )

    def among(self, expr: object) -> bool:
        """Whether an expression depends on data."""
        return type(expr) in SYMBOLIC and bool(self.names_in(expr))

    def bare(self, expr: object) -> str | None:
        """The name of the symbol that an expression is."""
        return self._own.get(str(expr))

    def reduced(self, expr: object) -> Any:
        """An expression without the symbols that were said to equal something else."""
        if not self._equal or not self.among(expr):
            return expr
        names = {str(e): self._equal.get(n, e) for n, e in self.env._exprs.items()}
        again = evaluate(str(expr), names)
        return again if str(again) == str(expr) else self.reduced(again)

    # ---- deciding --------------------------------------------------------------------------------

    def interval(self, expr: object) -> Interval:
        """The numbers that an expression may be."""
        known: dict[str, Interval] = {}
        for name, e in self.env._exprs.items():
            low, high = self.bounds[name] if name in self.bounds else self.env.ranges[name]
            known[str(e)] = -math.inf if low is None else low, math.inf if high is None else high
        return _interval(ast.parse(str(expr).replace("^", "**"), mode="eval").body, known)

    def decided(self, sign: str, difference: Any) -> bool:
        """Whether a difference compares so with 0.

        Raises:
            Undecided: where that depends on data.
        """
        difference = self.reduced(difference)
        low, high = (
            self.interval(difference) if type(difference) in SYMBOLIC else (difference, difference)
        )
        for fact in self._facts if type(difference) in SYMBOLIC else ():
            low = max(low, _least(self, difference - fact))
            high = min(high, -_least(self, -difference - fact))
        for yes, no, wanted in (
            (high < 0, low >= 0, "<"), (high <= 0, low > 0, "<="), (low > 0, high <= 0, ">"),
            (low >= 0, high < 0, ">="), (low == high == 0, low > 0 or high < 0, "=="),
            (low > 0 or high < 0, low == high == 0, "!="),
        ):  # fmt: skip
            if sign == wanted and (yes or no):
                return yes
        raise Undecided(f"'{difference}' {sign} 0 depends on data")

    def expect(self, truth: Truth) -> bool:
        """Takes a comparison for true, and remembers that it must be checked; False where it cannot
        be."""
        sign, left, right = truth.sides
        try:
            return truth.holds()
        except Undecided:
            pass
        self.said.append((sign, left, right))
        if type(left) is Float:
            return True
        difference = left - right
        more = {
            "<": [-difference - 1],
            "<=": [-difference],
            ">": [difference - 1],
            ">=": [difference],
            "==": [difference, -difference],
        }
        for fact in more.get(sign, []):
            self._learn(self.reduced(fact))
        if sign == "==":
            self.equate(left, right)
        return True

    def truth_said(self, sign: str, left: Any, right: int) -> Truth:
        """A comparison as it was written, not as it is decided."""
        if type(left) is Float:
            return Truth(
                self.env,
                lambda: self._is_said(sign, left, right),
                None,
                lambda: _text(sign, left, right),
                (sign, left, right),
            )
        return Truth(
            self.env,
            lambda: self.decided(sign, left - right),
            None,
            lambda: f"{shown(left)} {sign} {shown(right)}",
            (sign, left, right),
        )

    def _is_said(self, sign: str, left: Float, right: Float | int) -> bool:
        """True for a comparison of floats that the program said to hold.

        Raises:
            Undecided: for another one.
        """
        text = _text(sign, left, right)
        if any(type(said[1]) is Float and _text(*said) == text for said in self.said):
            return True
        raise Undecided(f"'{text}' depends on data")

    def at_least_0(self, expr: object) -> None:
        """Says that an expression is a size."""
        expr = self.reduced(expr)
        if not self.among(expr):
            return
        for name in self.names_in(expr):
            self.sizes.setdefault(name)
        size: Any = Sym(self.env, expr)
        compared = size >= 0
        if compared is not True and not (isinstance(compared, Truth) and compared.expected()):
            raise RuntimeError(f"a size of {shown(expr)} is negative")

    def _learn(self, fact: object) -> None:
        """``fact`` is not negative."""
        if type(fact) not in SYMBOLIC:
            return
        names = self.names_in(fact)
        if len(names) == 1 and len(self.env.names_in([fact])) == 1:
            name = names[0]
            at = [evaluate(str(fact), {str(self.env._exprs[name]): n}) for n in (0, 1, 2)]
            step = at[1] - at[0]
            if at[2] - at[1] == step and abs(step) == 1:
                low, high = self.bounds[name]
                if step > 0:
                    low = -at[0] if low is None else max(low, -at[0])
                    if low > 2:
                        self.env.told(f"{self.env._exprs[name]} >= {low}")
                else:
                    high = at[0] if high is None else min(high, at[0])
                    if high >= 2:
                        self.env.told(f"{self.env._exprs[name]} <= {high}")
                self.bounds[name] = low, high
                return
        for name in names:  # it bounds each of them by what the others may be
            for rest, sign in (
                (fact - self.env._exprs[name], 1),
                (fact + self.env._exprs[name], -1),
            ):
                if name not in self.names_in(rest):
                    most = self.interval(rest)[1] if type(rest) in SYMBOLIC else rest
                    low, high = self.bounds[name]
                    if sign > 0 and most < math.inf:
                        low = -int(most) if low is None else max(low, -int(most))
                    elif sign < 0 and most < math.inf:
                        high = int(most) if high is None else min(high, int(most))
                    self.bounds[name] = low, high
        self._facts.append(fact)
        self.env.told(f"{fact} >= 0")

    def equate(self, left: object, right: object) -> None:
        """Takes two numbers for one."""
        left, right = self.reduced(left), self.reduced(right)
        for this, other in ((left, right), (right, left)):
            name = self.bare(this)
            if name is not None and name not in self._equal and name not in self.names_in(other):
                self._equal[name] = other
                return


def _text(sign: str, left: Float, right: Float | int) -> str:
    """A comparison of floats as PyTorch writes it."""
    return " ".join(
        [
            sign if part is sign else part.words if type(part) in (Float, Sym) else str(part)
            for part in (left, sign, right)
        ]
    )


def _least(of: Unknowns, expr: Any) -> float:
    return of.interval(expr)[0] if type(expr) in SYMBOLIC else expr


def _times(a: float, b: float) -> float:
    return 0 if not a or not b else a * b


def _interval(node: ast.AST, known: dict[str, Interval]) -> Interval:
    if isinstance(node, ast.Constant):
        return node.value, node.value  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.UnaryOp):
        low, high = _interval(node.operand, known)
        return -high, -low
    if isinstance(node, ast.Call):
        (a, b), (c, d) = (_interval(x, known) for x in node.args)
        name = node.func.id
        if name in ("max", "min"):
            pick = max if name == "max" else min
            return pick(a, c), pick(b, d)
        if c == d and c > 0 and name == "mod":
            return 0, min(d - 1, b) if a >= 0 else d - 1
        if c == d and c > 0:
            return a if math.isinf(a) else a // c, b if math.isinf(b) else b // c
        return -math.inf, math.inf
    assert isinstance(node, ast.BinOp)
    (a, b), (c, d) = _interval(node.left, known), _interval(node.right, known)
    if isinstance(node.op, ast.Add):
        return a + c, b + d
    if isinstance(node.op, ast.Sub):
        return a - d, b - c
    if isinstance(node.op, ast.Mult):
        found = [_times(x, y) for x in (a, b) for y in (c, d)]
        return min(found), max(found)
    if isinstance(node.op, ast.Pow) and c == d:
        ends = [math.inf if math.isinf(x) and c % 2 == 0 else x**c for x in (a, b)]
        return (0 if a < 0 < b and c % 2 == 0 else min(ends)), max(ends)
    return -math.inf, math.inf
