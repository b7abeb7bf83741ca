"""``torch._dynamo.explain``: into which graphs a function falls, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core import Tensor
from .pieces import Compiled

if TYPE_CHECKING:
    from ..nn.modules.module import Module


__all__ = ["ExplainOutput", "explain"]


@dataclass
class GraphCompileReason:
    """Why a graph ends, and where in the program."""

    reason: str
    user_stack: list[object]
    graph_break: bool = True


class ExplainOutput:
    """What ``torch._dynamo.explain`` found."""

    def __init__(self, graphs: list[Any], reasons: list[Any]) -> None:
        self.graphs, self.break_reasons = (
            graphs,
            [GraphCompileReason(why, stack) for why, stack in reasons],
        )
        self.graph_count = len(graphs)
        self.graph_break_count = max(len(graphs) - 1, 0)
        self.ops_per_graph = [
            [n.target for n in g.graph.nodes if n.op == "call_function"] for g in graphs
        ]
        self.op_count = sum(map(len, self.ops_per_graph))
        self.out_guards: list[object] = []
        self.compile_times = ""

    def __str__(self) -> str:
        text = (
            f"Graph Count: {self.graph_count}\n"
            f"Graph Break Count: {self.graph_break_count}\n"
            f"Op Count: {self.op_count}\n"
            "Break Reasons:\n"
        )
        for i, found in enumerate(self.break_reasons, 1):
            frames = "".join([f"      {f}\n" for f in found.user_stack])
            text += f"  Break Reason {i}:\n    Reason: {found.reason}\n    User Stack:\n{frames}"
        text += "Ops per Graph:\n"
        for i, ops in enumerate(self.ops_per_graph, 1):
            text += f"  Ops {i}:\n" + "".join([f"    {op}\n" for op in ops])
        return text


def explain(f: Callable[..., object], *extra_args: object, **extra_kwargs: object) -> Any:
    """A function that calls ``f`` and tells into which graphs it falls, and why.

    Example:
        >>> import jtorch as torch
        >>> def f(x):
        ...     return x + 1 if x.sum() > 0 else x - 1
        >>> found = torch._dynamo.explain(f)(torch.ones(2))
        >>> found.graph_count, found.graph_break_count
        (2, 1)
    """

    def inner(*args: object, **kwargs: object) -> ExplainOutput:
        graphs = []

        def collect(module: Module, inputs: list[Tensor]) -> Callable[..., object]:
            del inputs
            graphs.append(module)
            return module.forward

        compiled = Compiled(f, collect, False, {})
        compiled(args, kwargs)
        return ExplainOutput(graphs, compiled.reasons)

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner
