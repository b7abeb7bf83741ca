"""Other targets for nodes, and how many bytes nodes take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jtorch as torch

from .._compatibility import compatibility as compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes",
    "get_size_of_node",
    "get_tensor_meta",
    "replace_target_nodes_with",
    "size_bytes",
]


class size_bytes(NamedTuple):
    """The bytes of a node's result, and of all that belongs to it."""

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Callable[..., object] | str,
    new_op: str,
    new_target: Callable[..., object] | str,
) -> None:
    """Makes all nodes of one kind and target nodes of another one, with the same arguments."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if (node.op, node.target) == (old_op, old_target):
            args, kwargs = (
                map_arg(node.args, lambda n: copies[n]),
                map_arg(node.kwargs, lambda n: copies[n]),
            )
            copies[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    fx_module.graph = graph


def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Notes as ``size_bytes`` of each node what it takes; with ``args`` shapes are found by running
    on them."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What ``ShapeProp`` has noted of a node.

    Raises:
        RuntimeError: if it has noted nothing.
    """
    found = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(
            f"Node {node} has no tensor metadata associated with it! Check that shape propagation "
            "has run."
        )
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of a node's result and, of a module, also of its parameters and buffers."""
    total = 0
    if node.op == "call_module":
        module = dict(fx_module.named_modules())[node.target]
        total = sum(
            t.nelement() * t.element_size() for t in (*module.parameters(), *module.buffers())
        )
    meta = get_tensor_meta(node)
    output = torch.Size(meta.shape).numel() * torch.tensor([], dtype=meta.dtype).element_size()
    return size_bytes(output, total + output)
