"""Arithmetic on sizes as text: what JAX writes of expressions, evaluated for given symbols, and in
PyTorch's notation."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from ..facts.kinds import Named


_CALLS = {
    "floordiv": operator.floordiv, "mod": operator.mod, "max": jax.core.max_dim,
    "min": jax.core.min_dim,
}  # fmt: skip
_BINARY: dict[type, Callable[..., object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARED: dict[type, Callable[..., object]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def evaluate(text: str, names: Named) -> Any:
    """The value of arithmetic on sizes: numbers, names, ``+ - * // % **``,
    ``floordiv mod max min``, comparisons; nothing else is run."""

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


@functools.lru_cache(maxsize=4096)
def in_torchs_words(text: str) -> str:
    """An expression as PyTorch writes it: ``2*s28``, ``(s17//2)``."""

    def written(node: ast.AST, inside: int = 0) -> str:
        if isinstance(node, ast.Name):
            return node.id.partition("_e")[0]
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.Call):
            name = node.func.id
            if name in ("floordiv", "mod"):
                a, b = (written(x, 9) for x in node.args)
                return f"({a}//{b})" if name == "floordiv" else f"Mod({a.strip('()')}, {b})"
            return f"{name.capitalize()}({', '.join(written(x) for x in node.args)})"
        if isinstance(node, ast.UnaryOp):
            return f"-{written(node.operand, 9)}"
        assert isinstance(node, ast.BinOp)
        sign, rank = {
            ast.Add: (" + ", 1),
            ast.Sub: (" - ", 1),
            ast.Mult: ("*", 2),
            ast.Pow: ("**", 3),
        }[type(node.op)]
        text = (
            f"{written(node.left, rank)}{sign}"
            f"{written(node.right, rank + isinstance(node.op, (ast.Sub, ast.Pow)))}"
        )
        return f"({text})" if rank < inside else text

    return written(ast.parse(text.replace("^", "**"), mode="eval").body)
