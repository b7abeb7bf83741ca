"""Splitting a graph by what its nodes are tagged with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jtorch as torch

from ..._src.refusals import stand_ins as _refusals
from .._compatibility import compatibility as compatibility
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from .utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at the end of a dotted path; of a ``ModuleList`` a part of the path may be an
    index. None if the path leads nowhere."""
    for layer in name.split("."):
        if isinstance(obj, torch.nn.ModuleList):
            obj = (
                obj[int(layer)]
                if layer.isdigit() and int(layer) < len(obj)
                else getattr(obj, layer, None)
            )
        elif hasattr(obj, layer):
            obj = getattr(obj, layer)
        else:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: object) -> None:
    """Sets the attribute at the end of a dotted path."""
    *path, leaf = attr.split(".")
    for layer in path:
        obj = getattr(obj, layer)
    setattr(obj, leaf, value)


@dataclass
class Component:
    """A part of a graph on its way to becoming a submodule.

    Attributes:
        graph: its own graph.
        order: its place among the parts.
        name: its tag.
        input_placeholders: its arguments.
        orig_inputs: the nodes of the whole that they stand for.
        orig_outputs: the nodes of the whole that it gives.
        getattr_maps: attributes of the whole, and their nodes here.
        constructor_args: unused here, as in PyTorch.
        gm: the submodule, once it is made.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> GraphModule | tuple[GraphModule, dict[str, str]]:
    """A module that calls one submodule for each tag, in their order, of the nodes whose ``tag`` it
    is.

    Args:
        gm: the module, whose nodes that compute something have a ``tag``.
        tags: all tags; parts may take results of earlier ones only.
        return_fqn_mapping: whether to return what submodules and attributes are called then, by
            their names in ``gm``, as well.
        return_tuple: whether parts give tuples where they give one result, too.
        GraphModuleCls: the class of the modules.

    Raises:
        AssertionError: for a node without a tag, or one that needs a later part.
    """
    parts = {tag: Component(Graph(), i, tag) for i, tag in enumerate(tags)}
    of: dict[Node, Component] = {}
    copied: dict[Node, Node] = {}
    whole: dict[Node, Node] = {}
    base = Graph()
    output: Node | None = None

    def taken(x: Node, part: Component) -> Node:
        """What stands for a node of the whole in a part."""
        if x.op == "get_attr":
            if x not in part.getattr_maps:
                part.getattr_maps[x] = part.graph.get_attr(str(x.target), type_expr=x.type)
            return part.getattr_maps[x]
        source = of.get(x)
        if source is part:
            return copied[x]
        if source is not None and source.order > part.order:
            raise AssertionError(f"{x} of part {source.name} is needed by {part.name} before it")
        if x not in part.orig_inputs:
            made = part.graph.placeholder(x.name, type_expr=x.type)
            made.meta = x.meta.copy()
            part.orig_inputs.append(x)
            part.input_placeholders.append(made)
            if source is not None and x not in source.orig_outputs:
                source.orig_outputs.append(x)
        return part.input_placeholders[part.orig_inputs.index(x)]

    for node in gm.graph.nodes:
        if node.op == "placeholder":
            whole[node] = base.node_copy(node)
        elif node.op == "get_attr":
            continue
        elif node.op == "output":
            output = node
        else:
            if not hasattr(node, "tag"):
                raise AssertionError(f"Node does not have tag: {node.format_node()}")
            part = of[node] = parts[node.tag]
            copied[node] = part.graph.node_copy(node, lambda x, part=part: taken(x, part))
    assert output is not None
    for x in output.all_input_nodes:
        if x.op == "get_attr":
            whole[x] = base.get_attr(str(x.target), type_expr=x.type)
        elif x in of and x not in of[x].orig_outputs:
            of[x].orig_outputs.append(x)
    names: dict[str, str] = {}
    modules: dict[str, torch.nn.Module | None] = {}
    for part in parts.values():
        results = tuple([copied[x] for x in part.orig_outputs])
        single = len(results) == 1 and not return_tuple
        part.graph.output(results[0] if single else results)
        part.gm, found = lift_subgraph_as_module(gm, part.graph, part.name)
        if GraphModuleCls is not GraphModule:
            part.gm = GraphModuleCls(part.gm, part.graph)
        names.update(found)
        modules[part.name] = part.gm
        called = base.call_module(part.name, tuple([whole[x] for x in part.orig_inputs]))
        if single:
            whole[part.orig_outputs[0]] = called
            continue
        proxy: Any = torch.fx.Proxy(called)
        for i, x in enumerate(part.orig_outputs):
            whole[x] = proxy[i].node
    base.output(map_arg(output.args[0], whole.__getitem__))
    root = HolderModule(modules)
    for x in output.all_input_nodes:
        if x.op == "get_attr":
            setattr(root, str(x.target), getattr_recursive(gm, str(x.target)))
    base.set_codegen(gm.graph._codegen)
    made = GraphModuleCls(root, base)
    return (made, names) if return_fqn_mapping else made


__getattr__ = _refusals.missing(__name__)
