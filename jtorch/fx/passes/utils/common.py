"""A graph as a module of its own, and whether two graphs are the same."""

from __future__ import annotations

import jtorch as torch

from ..._compatibility import compatibility as compatibility
from ...graph import Graph
from ...graph_module import GraphModule, _get_attr
from ...node import Node, map_arg

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(torch.nn.Module):
    """A module of nothing but the modules in a dictionary."""

    def __init__(self, d: dict[str, torch.nn.Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """``subgraph`` as a module that has what of ``gm`` it names, and what each of these is called
    then, behind ``comp_name`` and a point, by its name in ``gm``."""
    root = HolderModule({})
    names: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        target = str(node.target)
        value = _get_attr(gm, target)
        *path, leaf = target.split(".")
        holder = root
        for part in path:
            if not hasattr(holder, part):
                holder.add_module(part, HolderModule({}))
            holder = getattr(holder, part)
        setattr(holder, leaf, value)
        names[target] = f"{comp_name}.{target}"
    return GraphModule(root, subgraph, class_name), names


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same in the same order; what nodes are called makes no
    difference."""
    of: dict[Node, Node] = {}
    mine, its = list(left.nodes), list(right.nodes)
    if len(mine) != len(its):
        return False
    for a, b in zip(mine, its, strict=True):
        same = a.op == b.op and (a.op in ("placeholder", "output") or a.target == b.target)
        if not same or (map_arg(a.args, of.get), map_arg(a.kwargs, of.get)) != (
            tuple(b.args),
            dict(b.kwargs),
        ):
            return False
        of[a] = b
    return True
