"""Parts of a graph that depend on attributes alone, computed once and kept as parameters."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module whose constant part is computed by its first call, or by ``run_folding``.

    Attributes:
        const_subgraph_module: the constant part; None if there is none.
        fx_const_folded_attrs_name: the attribute that keeps its results: a parameter, or a
            ``ParameterList`` of several.
        has_folding_been_run: whether it was computed.
        device_for_folded_attrs: where numbers among the results are put.
    """

    def __init__(
        self,
        root: torch.nn.Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = (
            None if const_subgraph is None else GraphModule(root, const_subgraph)
        )
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Computes the constant part, once; of its results that require grad become parameters that
        do."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        kept: Any = (
            torch.nn.ParameterList(map(self._parameter, found))
            if isinstance(found, tuple)
            else self._parameter(found)
        )
        delattr(self, self.fx_const_folded_attrs_name)  # what stood for it, until now
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def _parameter(self, value: torch.Tensor) -> torch.nn.Parameter:
        if isinstance(value, int):
            return torch.nn.Parameter(
                torch.tensor([float(value)], device=self.device_for_folded_attrs),
                requires_grad=False,
            )
        return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: torch.nn.Module, name: str) -> str:
    """``name`` as an attribute that the module does not have yet: letters and digits, with a number
    behind where it is taken."""
    name = re.sub(r"\W", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        stem, cut, number = name.rpartition("_")
        name = f"{stem}_{int(number) + 1}" if cut and number.isdecimal() else f"{name}_1"
    return name


def _constant_nodes(graph: Graph, skipped: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes that depend on attributes alone, attributes among them."""
    found: set[Node] = set()
    for node in graph.nodes:
        if (
            node.op in ("placeholder", "output")
            or (skipped is not None and skipped(node))
            or node.is_impure()
        ):
            continue
        if node.op == "get_attr" or found.issuperset(node.all_input_nodes):
            found.add(node)
    return found


def _parts(graph: Graph, constant: set[Node], name: str) -> tuple[Graph, Graph]:
    """The graph of constant nodes, which gives what others use, and the graph of the others, which
    finds it in the attribute ``name``."""
    results = [
        n
        for n in graph.nodes
        if n in constant and n.op != "get_attr" and not constant.issuperset(n.users)
    ]
    folded, rest = Graph(), Graph()
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        if node in constant:
            copies[node] = folded.node_copy(node, copies.__getitem__)
    folded.output(copies[results[0]] if len(results) == 1 else tuple(copies[n] for n in results))

    copies = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            copies[node] = rest.node_copy(node)
    kept = rest.create_node("get_attr", name, name="_fx_const_folded_attrs")
    if len(results) == 1:
        copies[results[0]] = kept
        kept.meta.update(results[0].meta)
    else:
        for i, node in enumerate(results):
            copies[node] = rest.call_function(operator.getitem, (kept, i))
            copies[node].meta.update(node.meta)
    for node in graph.nodes:
        if node.op == "get_attr" and constant.issuperset(node.users):
            continue
        if node not in copies and (node.op == "get_attr" or node not in constant):
            copies[node] = rest.node_copy(node, copies.__getitem__)
    return folded, rest


def split_const_subgraphs(
    module: torch.nn.Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """A module that computes the same, with what depends on attributes alone computed once.

    Args:
        skip_folding_node_fn: tells of nodes that stay where they are.
        device_for_folded_attrs: where numbers among the results are put.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.fx.experimental.const_fold import split_const_subgraphs
        >>> class Shifted(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.by = torch.nn.Parameter(torch.ones(2))
        ...     def forward(self, x):
        ...         return x - 2 * self.by
        >>> folded = split_const_subgraphs(Shifted())
        >>> folded.run_folding()
        >>> folded._FX_CONST_FOLDED_ATTRS.tolist()
        [2.0, 2.0]
    """
    traced = module if isinstance(module, GraphModule) else torch.fx.symbolic_trace(module)
    constant = _constant_nodes(traced.graph, skip_folding_node_fn)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    setattr(traced, name, torch.nn.Parameter(torch.empty(0), requires_grad=False))
    folded, rest = _parts(traced.graph, constant, name)
    made = FoldedGraphModule(traced, rest, folded, name, device_for_folded_attrs)
    delattr(traced, name)
    return made
