"""Sizes that depend on others, in recipes that serve many sizes: as texts, and what they are where
the others are known."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

import jax


class Size(int):
    """A size that depends on others: as text, in which these have names. As a number it is 0."""

    text: str

    def __eq__(self, other: object) -> bool:
        return type(other) is Size and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def of(self, at: dict[str, int]) -> Any:
        """What it is where the others are given by name."""
        return value_of(self.text, at)


def value_of(text: str, at: dict[str, int]) -> Any:
    """What a size, or a comparison of sizes, as text is where those in it are given by name."""
    found = at.get(text)
    return _formula(text)(at) if found is None else found


Formula = Callable[[dict[str, Any]], Any]
#: What JAX writes symbolic sizes with. Texts may come from a file, so nothing else is understood.
_FUNCTIONS = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}
_OPERATORS: dict[type, Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
    ast.Lt: operator.lt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


@functools.lru_cache(4096)
def _formula(text: str) -> Formula:
    return _read(ast.parse(text.replace("^", "**").strip(), "<jtorch kernel>", "eval").body)


def _read(node: ast.expr) -> Formula:
    match node:
        case ast.Constant(value=int() as n):
            return lambda _: n
        case ast.Name(id=name):
            return lambda at: at[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _read(operand)
            return lambda at: -negated(at)
        case (
            ast.BinOp(left=left, op=op, right=right)
            | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if type(op) in _OPERATORS:
            f, a, b = _OPERATORS[type(op)], _read(left), _read(right)
            return lambda at: f(a(at), b(at))
        case ast.Call(func=ast.Name(id=name), args=[left, right], keywords=[]) if (
            name in _FUNCTIONS
        ):
            f, a, b = _FUNCTIONS[name], _read(left), _read(right)
            return lambda at: f(a(at), b(at))
    raise ValueError(f"no size: {ast.unparse(node)}")


def named(text: str) -> Size:
    """The size of a text."""
    size = Size(0)
    size.text = text
    return size


def sized(n: Any) -> Any:
    """A symbolic size as one of a recipe; anything else as it is."""
    return n if type(n) is int or not jax.export.is_symbolic_dim(n) else named(str(n))
