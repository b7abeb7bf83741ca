"""Parts of a graph that come from one call of a function or module of the program that it was made
of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...._src.refusals import stand_ins as _refusals
from ..._compatibility import compatibility as compatibility
from ...graph import Graph
from ...node import Node

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """The nodes that come from one call.

    Attributes:
        nodes: the nodes, in the graph's order.
        source: what was called: a function, the class of a module, the name of a method.
        input_nodes: nodes outside that its nodes take, but for attributes.
        output_nodes: those of its nodes that others use, but for attributes.
        params: those of its nodes that stand for attributes.
    """

    nodes: list[Node]
    source: Any
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def get_source_partitions(
    graph: Graph, wanted_sources: list[Any], filter_fn: Callable[[Node], bool] | None = None
) -> dict[Any, list[SourcePartition]]:
    """The parts that come from calls of ``wanted_sources``, by what was called.

    Sources are found in ``node.meta``: ``source_fn_stack``, as
    ``torch.export.export(..., strict=True)`` writes it, or else ``torch_fn``, which has names of
    functions, or the class of the innermost module of ``nn_module_stack``.

    Args:
        graph: the graph.
        wanted_sources: functions, classes of modules, names of methods.
        filter_fn: parts are left out that have a node for which it says no.
    """
    found: dict[Any, dict[str, list[Node]]] = {}
    classes = {f"{s.__module__}.{s.__qualname__}": s for s in wanted_sources if isinstance(s, type)}
    for node in graph.nodes:
        for name, source in _sources(node, classes):
            if source in wanted_sources:
                found.setdefault(source, {}).setdefault(name, []).append(node)
                break
    parts = {
        source: [_part(nodes, source) for nodes in calls.values()]
        for source, calls in found.items()
    }
    if filter_fn is None:
        return parts
    return {
        source: [p for p in some if all(filter_fn(n) for n in p.nodes)]
        for source, some in parts.items()
    }


def _sources(node: Node, classes: dict[str, type]) -> list[tuple[str, object]]:
    """What a node may come from, with the names of the calls."""
    stack, function, modules = (
        node.meta.get(key) for key in ("source_fn_stack", "torch_fn", "nn_module_stack")
    )
    if stack:
        return [stack[-1]]
    found: list[tuple[str, Any]] = (
        [] if function is None else [(function[0], function[1].split(".")[1])]
    )
    if modules:
        key, (_, kind) = list(modules.items())[-1]
        found.append((key, classes.get(kind, kind) if isinstance(kind, str) else kind))
    return found


def _part(nodes: list[Node], source: object) -> SourcePartition:
    inside = set(nodes)
    inputs = [
        a
        for n in nodes
        for a in n.args
        if isinstance(a, Node) and a not in inside and a.op != "get_attr"
    ]
    outputs = [n for n in nodes if n.op != "get_attr" and any(u not in inside for u in n.users)]
    return SourcePartition(
        nodes,
        source,
        list(dict.fromkeys(inputs)),
        outputs,
        [n for n in nodes if n.op == "get_attr"],
    )


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether a node of the second part takes one of the first."""
    return any(user in subgraph2.nodes for node in subgraph1.nodes for user in node.users)


__getattr__ = _refusals.missing(__name__)
