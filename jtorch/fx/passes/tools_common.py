"""What passes ask of nodes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

import jtorch as torch

from ..._src.refusals import stand_ins as _refusals
from .._compatibility import compatibility as compatibility
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name

__all__ = [
    "CALLABLE_NODE_OPS",
    "get_acc_ops_name",
    "get_node_target",
    "is_node_output_tensor",
    "legalize_graph",
    "stable_topological_sort",
]

Tensors = tuple[torch.Tensor, ...] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]

#: Kinds of nodes that compute something.
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, object], node: Node) -> str:
    """What a node calls, as text: a module's class, a function with its module, a method's name.

    Raises:
        AssertionError: for a node that calls nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"Expect op types of call_module, call_function, call_method, but found {node.op}"
        )
    if node.op == "call_module":
        if not isinstance(node.target, str):
            raise AssertionError(f"Expected str target, got {type(node.target)}")
        kind = getattr(submodules[node.target], "_base_class_origin", type(submodules[node.target]))
        return f"{kind.__module__}.{kind.__name__}".replace("jtorch.", "torch.", 1)
    if isinstance(node.target, str):
        return node.target
    return _get_qualified_name(node.target)


def get_acc_ops_name(k: str | type) -> str:
    """What a target is called, without what all names of operators of accelerators begin with."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("jtorch", "torch", 1).replace("torch._ops", "torch.ops")
    return f"{module or ''}.{k.__name__}"


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node gives a tensor; ``ShapeProp`` must have been there."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes behind those among them that they take, else in the order given; those of circles are
    left out."""
    place = {node: i for i, node in enumerate(nodes)}
    missing = {node: sum(n in place for n in node.all_input_nodes) for node in place}
    ready = [i for node, i in place.items() if not missing[node]]
    listed = list(place)
    found = []
    while ready:
        node = listed[heapq.heappop(ready)]
        found.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    return found


def legalize_graph(gm: GraphModule) -> GraphModule:
    """Puts the nodes in an order in which each stands behind what it takes, changing as little as
    can be.

    Raises:
        RuntimeError: if they depend on each other in a circle.
    """
    nodes = list(gm.graph.nodes)
    found = in_order(
        [*[n for n in nodes if n.op == "placeholder"], *[n for n in nodes if n.op != "placeholder"]]
    )
    if len(found) != len(nodes):
        raise RuntimeError(
            f"Input graph has cycles, unable to add {[n for n in nodes if n not in set(found)]}"
        )
    found.sort(key=lambda n: n.op == "output")
    for node in found:
        gm.graph._root.prepend(node)
    gm.recompile()
    return gm


stable_topological_sort = legalize_graph


__getattr__ = _refusals.missing(__name__)
