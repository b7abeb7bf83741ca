"""Replacing every occurrence of a small graph in a large one by another."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jtorch import nn

from ._compatibility import compatibility as compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _assign_attr, _get_attr
from .node import Node, can_be_one, map_arg


class Match(NamedTuple):
    """Where a pattern was found: the pattern's last node, and for each of its nodes the one that
    was found, or the number or text."""

    anchor: Node
    nodes_map: dict[Node, Any]


@dataclass
class ReplacedPatterns:
    """As ``Match``, with the nodes that were put in."""

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node] = field(default_factory=list)


def _graph_of(x: Callable[..., object]) -> Graph:
    if isinstance(x, GraphModule):
        return x.graph
    return x if isinstance(x, Graph) else symbolic_trace(x).graph


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replaces every occurrence of ``pattern`` (a function, module or graph) in ``gm`` by
    ``replacement``; occurrences do not overlap."""
    found = _replace(gm, pattern, replacement)
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[..., Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As ``replace_pattern``, only where all ``match_filters(match, graph, pattern)`` say yes."""
    del node_name_match
    return _replace(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback)


class _Matcher:
    """Finds a pattern backwards from its output."""

    def __init__(self, pattern: Graph, ignore_literals: bool) -> None:
        self.pattern, self.ignore_literals = pattern, ignore_literals
        output = pattern.output_node()
        self.returned: list[Node] = []
        map_arg(output.args, lambda n: self.returned.append(n) or n)
        self.anchors = [
            n for n in dict.fromkeys(self.returned) if len(n.users) == 1
        ] or self.returned

    def at(self, node: Node) -> dict[Node, Any] | None:
        """What the pattern's nodes are if its (first) result is ``node``; None if it is not."""
        mapping: dict[Node, Any] = {}
        if not self._same(self.anchors[0], node, mapping):
            return None
        for other in self.anchors[1:]:
            if other in mapping:
                continue
            for candidate in node.graph.nodes:
                trial = dict(mapping)
                if candidate not in trial.values() and self._same(other, candidate, trial):
                    mapping = trial
                    break
            else:
                return None
        inside = {n for p, n in mapping.items() if p.op != "placeholder"}
        for p, n in mapping.items():  # nothing but results may be used from outside
            if p.op == "placeholder" or p in self.returned:
                continue
            if any(u not in inside for u in n.users):
                return None
        return mapping if can_be_one([n for n in inside if isinstance(n, Node)]) else None

    def _same(self, p: Node, n: Node, mapping: dict[Node, Node]) -> bool:
        if p in mapping:
            return (
                mapping[p] is n
                if isinstance(n, Node)
                else not isinstance(mapping[p], Node) and mapping[p] == n
            )
        if not isinstance(n, Node):  # an argument of the pattern stands for a number or text, too
            if p.op == "placeholder":
                mapping[p] = n
            return p.op == "placeholder"
        if p.op == "placeholder":
            mapping[p] = n
            return True
        if p.op != n.op:
            return False
        if p.op == "get_attr":
            same = _get_attr(p.graph.owning_module, p.target) is not None and p.target == n.target
        elif p.op == "call_module":
            same = type(_get_attr(p.graph.owning_module, p.target)) is type(
                _get_attr(n.graph.owning_module, n.target)
            )
        else:
            same = p.target == n.target
        if not same:
            return False
        before = dict(mapping)
        mapping[p] = n
        if self._same_args((p.args, p.kwargs), (n.args, n.kwargs), mapping):
            return True
        mapping.clear()
        mapping.update(before)
        return False

    def _same_args(self, a: Any, b: Any, mapping: dict[Node, Node]) -> bool:
        if isinstance(a, Node):
            return self._same(a, b, mapping)
        if isinstance(a, (list, tuple)):
            return (
                isinstance(b, (list, tuple))
                and len(a) == len(b)
                and all(self._same_args(x, y, mapping) for x, y in zip(a, b))
            )
        if isinstance(a, dict):
            return (
                isinstance(b, dict)
                and a.keys() == b.keys()
                and all(self._same_args(a[k], b[k], mapping) for k in a)
            )
        if isinstance(a, slice):
            return isinstance(b, slice) and self._same_args(
                (a.start, a.stop, a.step), (b.start, b.stop, b.step), mapping
            )
        return not isinstance(b, Node) and (self.ignore_literals or (type(a) is type(b) and a == b))


@dataclass
class InternalMatch:
    """What filters are shown."""

    anchors: list[Node]
    nodes_map: dict[Node, Any]
    placeholder_nodes: list[Node]
    returning_nodes: list[Node]


def _replace(
    gm: GraphModule,
    pattern: Callable[..., object],
    replacement: Callable[..., object],
    filters: list[Callable[..., bool]] | None = None,
    ignore_literals: bool = False,
    callback: Callable[..., Graph] | None = None,
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    fixed = None if replacement is None else _graph_of(replacement)
    matcher = _Matcher(pattern_graph, ignore_literals)
    inputs = [n for n in pattern_graph.nodes if n.op == "placeholder"]
    taken: set[Node] = set()
    matches = []
    for node in list(reversed(graph.nodes)):
        if node in taken or node.op in ("placeholder", "output"):
            continue
        mapping = matcher.at(node)
        if mapping is None:
            continue
        inside = {n for p, n in mapping.items() if p.op != "placeholder"}
        if inside & taken:
            continue
        taken |= inside
        matches.append(mapping)
    matches.reverse()
    found = []
    renamed: dict[Node, Node] = {}
    for mapping in matches:
        placeholders, returned = (
            [mapping[p] for p in inputs if p in mapping],
            [mapping[r] for r in matcher.returned],
        )
        shown = InternalMatch(
            [mapping[a] for a in matcher.anchors], mapping, placeholders, returned
        )
        if filters and not all(f(shown, graph, pattern_graph) for f in filters):
            continue
        new_graph = callback(shown, graph, pattern_graph) if callback is not None else fixed
        assert new_graph is not None
        found.append(_put(graph, mapping, matcher, inputs, new_graph, renamed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _replace_attributes(gm, replacement)
    return found


def _put(
    graph: Graph,
    mapping: dict[Node, Any],
    matcher: _Matcher,
    inputs: list[Node],
    new_graph: Graph,
    renamed: dict[Node, Node],
) -> ReplacedPatterns:
    placeholders = [n for n in new_graph.nodes if n.op == "placeholder"]
    if len(placeholders) != len(inputs):
        raise AssertionError(
            f"Expected {len(inputs)} placeholders in the replacement, but got {len(placeholders)}"
        )
    values: dict[Node, Any] = {}
    for p, r in zip(inputs, placeholders):
        if p in mapping:
            values[r] = mapping[p] = map_arg(mapping[p], lambda n: renamed.get(n, n))
    inside = [n for p, n in mapping.items() if p.op != "placeholder"]
    order = {n: i for i, n in enumerate(graph.nodes)}
    users = {u for r in matcher.returned for u in mapping[r].users if u not in inside}
    first_user = min(users, key=order.__getitem__) if users else None
    last_input = max(
        (n for n in values.values() if isinstance(n, Node)), key=order.__getitem__, default=None
    )
    if first_user is not None:
        place = graph.inserting_before(first_user)
    else:
        place = graph.inserting_after(
            last_input if not inside else max(inside, key=order.__getitem__)
        )
    before = set(graph.nodes)
    with place:
        copied = graph.graph_copy(new_graph, values)
    new_nodes = [n for n in graph.nodes if n not in before]
    copied_nodes = list(copied) if isinstance(copied, (list, tuple)) else [copied]
    for old, new in zip(matcher.returned, copied_nodes):
        mapping[old].replace_all_uses_with(new)
        renamed[mapping[old]] = new
    for node in sorted(inside, key=order.__getitem__, reverse=True):
        graph.erase_node(node)
    return ReplacedPatterns(matcher.anchors[0], mapping, new_nodes)


def _replace_attributes(gm: GraphModule, replacement: nn.Module) -> None:
    """Gives ``gm`` what the new nodes name, from the replacement."""
    gm.delete_all_unused_submodules()
    source = replacement.graph if isinstance(replacement, GraphModule) else None
    if source is not None:
        source.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        try:
            _get_attr(gm, node.target)
        except AttributeError:
            try:
                value = _get_attr(replacement, node.target)
            except AttributeError:
                raise RuntimeError(
                    'Attempted to create a "'
                    + node.op
                    + '" node during subgraph rewriting with target '
                    f"{node.target}, but the referenced attribute does not exist in the "
                    "replacement GraphModule"
                ) from None
            _assign_attr(copy.deepcopy(value), gm, node.target)
    gm.graph.lint()
