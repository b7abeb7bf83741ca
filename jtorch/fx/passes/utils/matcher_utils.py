"""Finding the occurrences of a small graph in a large one."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...._src.refusals import stand_ins as _refusals
from ..._compatibility import compatibility as compatibility
from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node, can_be_one, map_arg

if TYPE_CHECKING:
    from ...._src.facts.kinds import Values


__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """An occurrence of a pattern.

    Attributes:
        anchors: nodes of the pattern at which the search began: those without users but the output.
        nodes_map: for each node of the pattern the one that was found, or the number or text.
        placeholder_nodes: what stands for the pattern's arguments, in their order.
        returning_nodes: what the pattern returns.
        name_node_map: the found nodes by the names that a pattern gives to some of its own.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            self.anchors,
            self.nodes_map.copy(),
            self.placeholder_nodes.copy(),
            self.returning_nodes.copy(),
        )


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: a graph; its arguments stand for anything.
        match_output: whether the pattern's output has to be the graph's.
        match_placeholder: whether its arguments have to be arguments of the graph.
        remove_overlapping_matches: whether of occurrences that share nodes only the first is kept.
        ignore_literals: whether numbers and texts among the arguments of its nodes stand for any
            others.

    Raises:
        ValueError: for a pattern without nodes.
        AssertionError: for one with an output that nothing was computed for, or unused nodes.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = (
            remove_overlapping_matches,
            ignore_literals,
        )
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        self.pattern_anchors: list[Node] = []
        if match_output:
            self.pattern_anchors = [output]
        else:  # what is returned and used by nothing else
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The occurrences in a graph: of each combination of nodes that the pattern's last nodes
        may be, that whose parts agree.

        Args:
            graph: where to look.
            node_name_match: nodes are the same too if this text is in the names of both.
        """
        candidates: list[tuple[Node, list[Node]]] = []
        for anchor in self.pattern_anchors:
            found = [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)]
            if not found:
                return []
            candidates.append((anchor, found))
        matches: list[InternalMatch] = []

        def search(number: int, match: InternalMatch) -> None:
            if number == len(candidates):
                match.placeholder_nodes = [
                    match.nodes_map[n]
                    for n in self.pattern_placeholder_nodes
                    if n in match.nodes_map
                ]
                match.returning_nodes = [match.nodes_map[n] for n in self.pattern_returning_nodes]
                matches.append(match)
                return
            anchor, nodes = candidates[number]
            for node in nodes:
                trial = copy.copy(match)
                if self._match_nodes(anchor, node, trial, node_name_match):
                    search(number + 1, trial)

        search(0, InternalMatch(anchors=self.pattern_anchors))
        matches = [m for m in matches if self._is_contained(m.nodes_map)]
        return (
            self._remove_overlapping_matches(matches)
            if self.remove_overlapping_matches
            else matches
        )

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two attributes are of one type; of tensors that is all that is asked."""
        try:
            mine, theirs = (
                _get_attr(pn.graph.owning_module, str(pn.target)),
                _get_attr(gn.graph.owning_module, str(gn.target)),
            )
        except AttributeError:
            return False
        return isinstance(theirs, type(mine)) or isinstance(mine, type(theirs))

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name and node_name_match in pn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Whether nothing but what is returned is used from outside, and no argument depends on
        what is returned."""
        inside = {
            n: p for p, n in nodes_map.items() if isinstance(n, Node) and p.op != "placeholder"
        }
        return all(
            p in self.pattern_returning_nodes or all(u in inside for u in n.users)
            for n, p in inside.items()
        ) and can_be_one([n for n, p in inside.items() if p.op != "output"])

    def _remove_overlapping_matches(self, matches: list[InternalMatch]) -> list[InternalMatch]:
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in matches:
            own = {
                n
                for p, n in match.nodes_map.items()
                if p.op not in ("placeholder", "output") and isinstance(n, Node)
            }
            if not own & taken:
                kept.append(match)
                taken |= own
        return kept

    def _match_literals(self, pn: object, gn: object, match: InternalMatch) -> bool:
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):  # an argument of the pattern stands for a number or text, too
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        return not isinstance(gn, Node) and type(gn) is type(pn) and pn == gn

    def _match_nodes(
        self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = ""
    ) -> bool:
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder" or self._match_arguments(pn, gn, match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _match_arguments(self, pn: Node, gn: Node, match: InternalMatch) -> bool:
        mine, theirs = _arguments(pn), _arguments(gn)
        return self._match_each(mine, theirs, match)

    def _match_each(self, mine: object, theirs: object, match: InternalMatch) -> bool:
        if isinstance(mine, Node) and isinstance(theirs, Node):
            return self._match_nodes(mine, theirs, match)
        if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
            return len(mine) == len(theirs) and all(
                self._match_each(a, b, match) for a, b in zip(mine, theirs, strict=True)
            )
        if isinstance(mine, dict) and isinstance(theirs, dict):
            return mine.keys() == theirs.keys() and all(
                self._match_each(mine[k], theirs[k], match) for k in mine
            )
        if self.ignore_literals and not isinstance(mine, Node) and not isinstance(theirs, Node):
            return True
        return self._match_literals(mine, theirs, match)


def _arguments(node: Node) -> Values:
    """What a node is called with: for an operator all of its parameters, those that were left out
    with their defaults."""
    args, kwargs = map_arg(node.args, lambda n: n), dict(node.kwargs)
    schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
    if schema is None:
        return [list(args), kwargs]
    found: list[Any] = []
    for i, parameter in enumerate(schema.arguments):
        found.append(
            args[i]
            if i < len(args) and not parameter.kwarg_only
            else kwargs.get(parameter.name, parameter.default_value)
        )
    return found


__getattr__ = _refusals.missing(__name__)
