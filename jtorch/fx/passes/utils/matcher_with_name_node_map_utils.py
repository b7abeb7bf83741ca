"""Finding patterns some of whose nodes have names: a pattern returns, after its results, a dict of
nodes by name."""

from __future__ import annotations

from ...._src.refusals import stand_ins as _refusals
from ....utils import _pytree as pytree
from ..._compatibility import compatibility as compatibility
from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from .matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["InternalMatch", "SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm: GraphModule) -> tuple[GraphModule, dict[str, Node]]:
    """A pattern without the dict that it returns last, and that dict; the pattern is changed in
    place.

    Raises:
        AssertionError: if it returns no such dict.
    """
    if getattr(gm, "_out_spec", None) is None:
        raise AssertionError(
            "Expected the pattern to be an exported module, which knows how its results are nested"
        )
    output = gm.graph.output_node()
    returned = pytree.tree_unflatten(list(output.args[0]), gm._out_spec)
    if not isinstance(returned, tuple):
        raise AssertionError("Expecting the pattern graph to return a tuple")
    *rest, names = returned
    if not isinstance(names, dict):
        raise AssertionError(
            "Expecting the input graph to have a dict output as the last element, got: "
            f"{type(names)}"
        )
    output.args = (pytree.tree_leaves(rest),)
    gm.graph.eliminate_dead_code()
    return gm, names


class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """As ``SubgraphMatcher``; what it finds has ``name_node_map``, with the found nodes by the
    names that the pattern gives to its own.

    Args:
        pattern_gm: a pattern that returns its results and a dict of nodes by name.
        match_output: as there.
        match_placeholder: as there.
        remove_overlapping_matches: as there.
        ignore_literals: as there.
    """

    def __init__(
        self,
        pattern_gm: GraphModule,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        super().__init__(
            pattern_gm.graph,
            match_output,
            match_placeholder,
            remove_overlapping_matches,
            ignore_literals,
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences in a graph."""
        found = super().match(graph, node_name_match)
        for match in found:
            for name, node in self.name_node_map.items():
                match.name_node_map[name] = match.nodes_map[node]
        return found


__getattr__ = _refusals.missing(__name__)
