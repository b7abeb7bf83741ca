"""Splitting a graph into submodules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch

from ..._src.refusals import stand_ins as _refusals
from .._compatibility import compatibility as compatibility
from ..graph import Graph
from ..graph_module import GraphModule, _get_attr
from ..node import Node, map_arg


class Partition:
    """A part on its way to becoming a submodule: its nodes, what it needs and what it gives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.needs: dict[str, None] = {}
        self.graph = Graph()
        self.env: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}


def split_module(
    m: GraphModule,
    root_m: torch.nn.Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    **more: object,
) -> GraphModule:
    """A module that calls one submodule for each value of ``split_callback(node)``, ``submod_0``,
    ``submod_1``, …

    Raises:
        RuntimeError: if the parts depend on each other in a circle.
    """
    del keep_original_order, keep_original_node_name, more
    parts: dict[str, Partition] = {}
    of_node: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        parts.setdefault(name, Partition(name)).nodes.append(node)
        of_node[node] = name

    def use(n: Node, user: str | None) -> None:
        source = of_node.get(n)
        if source == user:
            return
        if source is not None:
            parts[source].outputs.setdefault(n)
            if user is not None:
                parts[user].needs.setdefault(source)
        if user is not None and n.op != "get_attr":
            parts[user].inputs.setdefault(n)

    for node in m.graph.nodes:
        if node.op == "output":
            map_arg(node.args, lambda n: use(n, None))
        elif node in of_node:
            for n in node.all_input_nodes:
                use(n, of_node[node])

    order: list[str] = []
    waiting = dict(parts)
    while waiting:
        ready = [n for n, p in waiting.items() if not any(q in waiting for q in p.needs)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        order.append(ready[0])
        del waiting[ready[0]]

    base = Graph()
    base_env: dict[Node, Node] = {}
    attributes = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args[0] if node.args else ...
            base_env[node] = base.placeholder(
                node.target, type_expr=node.type, default_value=default
            )
            base_env[node].meta = node.meta.copy()
        elif node.op == "get_attr" and any(u.op == "output" for u in node.users):
            base_env[node] = base.get_attr(node.target)
            attributes[node.target] = _get_attr(m, node.target)
    for name in order:
        part = parts[name]
        _fill(part, m, root_m, qualname_map)
        outputs = [part.env[n] for n in part.outputs]
        part.graph.output(
            outputs[0] if len(outputs) == 1 else tuple(outputs)
        ) if outputs else part.graph.output(())
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        called = base.call_module(part.submod_name, tuple([base_env[n] for n in part.inputs]))
        if len(part.outputs) == 1:
            base_env[next(iter(part.outputs))] = called
        elif part.outputs:
            proxy = torch.fx.Proxy(called)
            for i, n in enumerate(part.outputs):
                base_env[n] = proxy[i].node  # type: ignore[index]
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda n: base_env[n]))
    made = GraphModule(attributes, base)
    made.meta.update(m.meta)
    return made


def _fill(
    part: Partition, m: GraphModule, root_m: torch.nn.Module, qualname_map: dict[str, str] | None
) -> None:
    for n in part.inputs:
        part.env[n] = part.graph.placeholder(n.name, type_expr=n.type)
        part.env[n].meta = n.meta.copy()

    def load(n: Node) -> Node:
        if n.op == "get_attr" and n not in part.env:
            name = str(n.target).replace(".", "_")
            part.targets[name] = _get_attr(m, n.target)
            part.env[n] = part.graph.get_attr(name)
        return part.env[n]

    for node in part.nodes:
        args, kwargs = map_arg(node.args, load), map_arg(node.kwargs, load)
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            part.targets[target] = _get_attr(root_m, node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = str(node.target)
        made = part.graph.create_node(
            node.op, target, args, kwargs, type_expr=node.type, name=node.name
        )
        made.meta = node.meta.copy()
        part.env[node] = made


__getattr__ = _refusals.missing(__name__)
