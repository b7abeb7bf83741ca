"""Where a part of the graph ends: what both forward mode and ``vmap`` need, to hide the part behind
one node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .tape import Node


def ends_of(
    roots: Iterable[object],
    ends_at_leaf: Callable[[Any], bool],
    ends_at_node: Callable[[Node], bool],
) -> list[Any]:
    """The edges at which the history of ``roots`` leaves a part of the graph, each once.

    Args:
        roots: edges: ``(node, output)``, a leaf, or None.
        ends_at_leaf: whether a leaf is one of the ends; the others lead nowhere.
        ends_at_node: whether a node is outside of the part.
    """
    found: dict[Any, Any] = {}
    stack = list(roots)
    seen: set[Node] = set()
    while stack:
        edge = stack.pop()
        if edge is None:
            continue
        if type(edge) is not tuple:
            if ends_at_leaf(edge):
                found[id(edge)] = edge
        elif ends_at_node(edge[0]):
            found[id(edge[0]), edge[1]] = edge
        elif edge[0] not in seen:
            seen.add(edge[0])
            stack.extend(edge[0].edges)
    return list(found.values())
