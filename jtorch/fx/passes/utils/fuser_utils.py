"""Replacing sets of nodes by one call of a module that has them."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from ..._compatibility import compatibility as compatibility
from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node, can_be_one
from ..tools_common import in_order, legalize_graph
from .common import lift_subgraph_as_module

__all__ = [
    "erase_nodes",
    "fuse_as_graphmodule",
    "fuse_by_partitions",
    "insert_subgm",
    "topo_sort",
    "validate_partition",
]


def topo_sort(nodes: list[Node]) -> list[Node]:
    """The nodes in an order in which each stands behind those among them that it takes.

    Raises:
        AssertionError: if they depend on each other in a circle.
    """
    found = in_order(nodes)
    if len(found) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return found


def validate_partition(partition: list[Node]) -> bool:
    """Whether nodes can be one call: nothing outside of them stands between two of them."""
    return can_be_one(partition)


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: list[Node],
    module_name: str,
    partition_lookup_table: Iterable[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """Nodes, in order, as a module; with the nodes that it takes, and those of its own whose
    results are used outside.

    Raises:
        AssertionError: for nodes that are not the module's, or that cannot be one call.
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(
                f"{node} doesn't belong to passed in graph module {gm._get_name()}"
            )
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    inside = set(nodes if partition_lookup_table is None else partition_lookup_table)
    if not validate_partition(list(inside)):
        raise AssertionError("Invalid partition, found dependency cycles")
    graph = Graph()
    taken: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def given(x: Node) -> Node:
        if x.op == "get_attr":  # it is read inside, too
            copies[x] = copies.get(x) or graph.node_copy(x, lambda n: n)
            return copies[x]
        if x in copies:
            return copies[x]
        if x not in taken:
            taken[x] = graph.placeholder(x.name, type_expr=x.type)
            taken[x].meta = x.meta.copy()
        return taken[x]

    for node in nodes:
        copies[node] = graph.node_copy(node, given)
    left = [node for node in nodes if any(user not in inside for user in node.users)]
    results = tuple([copies[node] for node in left])
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    _arguments_first(graph)
    graph.lint()
    made, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return made, tuple(taken), tuple(left)


def _arguments_first(graph: Graph) -> None:
    arguments = [n for n in graph.nodes if n.op == "placeholder"]
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    for node in arguments:
        if first is not None:
            first.prepend(node)


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """Calls ``sub_gm``, behind ``insertion_point`` or the last of the results it stands for, in
    place of what gave these results."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    order = {n: i for i, n in enumerate(gm.graph.nodes)}
    after = (
        insertion_point
        or max(orig_outputs, key=lambda n: order[n], default=None)
        or max(orig_inputs, key=lambda n: order[n])
    )
    last = next(n for n in sub_gm.graph.nodes if n.op == "output").args[0]
    with gm.graph.inserting_before(after.next):
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
        results = [call]
        if isinstance(last, tuple):
            results = [
                gm.graph.call_function(operator.getitem, (call, i)) for i in range(len(last))
            ]
            call.meta["val"] = tuple([x.meta.get("val") for x in orig_outputs])
    for old, new in zip(orig_outputs, results, strict=True):
        old.replace_all_uses_with(new, propagate_meta=True)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Takes nodes out of the graph, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: list[dict[Node, int | None]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """Replaces each set of nodes by a call of a module with them: ``fused_0``, ``fused_1``, … The
    module is changed and returned."""
    for number, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        made, taken, left = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{number}", partition, always_return_tuple=always_return_tuple
        )
        order = {n: i for i, n in enumerate(gm.graph.nodes)}
        insert_subgm(gm, made, taken, left, max(nodes, key=lambda n: order[n]))
        erase_nodes(gm, nodes)
    return legalize_graph(gm)
