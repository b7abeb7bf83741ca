"""Descriptions of graphs that programs hand to PyTorch's compiler. They can be written down;
matching them and replacing what they match is that compiler's, and is not
offered: ``torch.fx.subgraph_rewriter`` replaces parts of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterable


class PatternExpr:
    """A description of what a node's argument may be."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{v!r}' for v in vars(self).values()])})"


class Arg(PatternExpr):
    """Anything, which becomes a positional argument of what replaces it."""


class Ignored(PatternExpr):
    """Anything, which is dropped."""


class KeywordArg(PatternExpr):
    """Anything, which becomes a keyword argument.

    Args:
        name: its name.
    """

    def __init__(self, name: str) -> None:
        self.name = name


class ExclusiveKeywordArg(KeywordArg):
    """As ``KeywordArg``, for what nothing else uses."""


class _Call(PatternExpr):
    op = ""

    def __init__(self, fns: object, *args: Any, _users: Any = 1, **kwargs: Any) -> None:
        self.fns = list(fns) if isinstance(fns, (list, tuple)) else [fns]
        self.args, self.kwargs, self.users = args, kwargs, _users


class CallFunction(_Call):
    """A node that calls a function.

    Args:
        fns: the function, or those that it may be.
        args: what its arguments may be.
        _users: how many nodes use it.
        kwargs: what its keyword arguments may be.
    """

    op = "call_function"


class CallMethod(_Call):
    """A node that calls a method; as ``CallFunction``."""

    op = "call_method"


class CallModule(_Call):
    """A node that calls a module; as ``CallFunction``."""

    op = "call_module"


class CallFunctionVarArgs(_Call):
    """A node that calls a function with any arguments.

    Args:
        fns: the function, or those that it may be.
    """

    op = "call_function"


class ListOf(PatternExpr):
    """A list of what fits a pattern.

    Args:
        pattern: the pattern.
        partial: whether some may not fit.
    """

    def __init__(self, pattern: PatternExpr, partial: bool = False) -> None:
        self.pattern, self.partial = pattern, partial


class MultiOutputPattern(PatternExpr):
    """Several nodes at once.

    Args:
        outputs: their patterns; None for those that do not matter.
    """

    def __init__(self, outputs: list[PatternExpr | None]) -> None:
        self.outputs = outputs


class RepeatedExpr(PatternExpr):
    """What is met several times.

    Args:
        inner_pattern: what it is.
    """

    def __init__(self, inner_pattern: PatternExpr) -> None:
        self.inner_pattern = inner_pattern


def filter_nodes(nodes: Iterable[Node], fn: Any) -> list[Node]:
    """Of some nodes those that call a function, or an overload of an operator."""
    fns = (
        [fn] + [getattr(fn, name) for name in fn.overloads()] if hasattr(fn, "overloads") else [fn]
    )
    return [n for n in nodes if n.target in fns]


__getattr__ = _refusals.missing(__name__)
