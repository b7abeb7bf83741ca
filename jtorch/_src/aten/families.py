"""Which family an operator belongs to, read from the declaration of the function of its name."""

from __future__ import annotations

from collections.abc import Iterator

from ..ops._declare import OPS, Op
from .functions import ALIASES
from .overloads import OpOverload

#: Families whose results have each element from the operands' elements in the same place.
ELEMENTWISE = frozenset({"unary", "binary", "comparison", "pointwise"})
_PREFIXES = {"linalg_": "linalg.", "special_": "special.", "fft_": "fft.", "_": "_C._"}
_SPACES = ("", "nn.functional.", "Tensor.", "special.", "_C.")


def _names(name: str) -> Iterator[str]:
    yield name
    if not name.startswith("__"):
        yield name.rstrip("_")
    if name in ALIASES:
        yield ALIASES[name].rstrip("_")


def declaration(func: OpOverload) -> Op | None:
    """The declaration of the function that an operator is, in place or not; None where no single
    one is."""
    if func._namespace != "aten":
        return None
    for name in _names(func._opname):
        for prefix, space in _PREFIXES.items():
            if name.startswith(prefix) and space + name.removeprefix(prefix) in OPS:
                return OPS[space + name.removeprefix(prefix)]
        for space in _SPACES:
            if space + name in OPS:
                return OPS[space + name]
    return None


def family(func: OpOverload) -> str:
    """The family of an operator, "" where it has no declaration; ``_backward`` operators of
    elementwise functions are elementwise."""
    found = declaration(func)
    if found is not None:
        return found.family
    name = func._opname
    if name.endswith("_backward"):
        inner = name.removesuffix("_backward").removesuffix("_with_logits")
        for space in _SPACES:
            op = OPS.get(space + inner)
            if op is not None:
                return "pointwise" if op.family in ELEMENTWISE else ""
    return ""


def is_random(func: OpOverload) -> bool:
    """Whether an operator draws random numbers."""
    found = declaration(func)
    return found is not None and found.family == "random"


__all__ = ["ELEMENTWISE", "declaration", "family", "is_random"]
