"""Which nodes a backend takes become as few parts as can be, each of which can be one call."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from ..._compatibility import compatibility as compatibility
from ...graph_module import GraphModule
from ...node import Node, _get_qualified_name
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """A part: its nodes, and their places in the graph.

    Attributes:
        id: its number.
        nodes: its nodes, in the order they were added, each with its place or None.
    """

    def __init__(
        self,
        id: int | None = None,
        nodes: Iterable[Node] | None = None,
        node_orders: Iterable[int] | None = None,
    ) -> None:
        self.id = id
        self.nodes: dict[Node, int | None] = {}
        if nodes is not None:
            self.nodes = (
                dict(zip(nodes, node_orders, strict=True))
                if node_orders is not None
                else dict.fromkeys(nodes)
            )

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """Adds a node."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """Takes a node out."""
        del self.nodes[node]

    def size(self) -> int:
        """The number of nodes."""
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Joins the nodes that a backend takes.

    Args:
        graph_module: whose graph it is.
        operator_support: which nodes are taken.
        allows_single_node_partition: whether a part may be one node that computes something.
        non_compute_ops: targets, by their qualified names, that count for nothing (and begin or end
            no part once they are removed).
        allowed_single_node_partition_ops: targets that may be a part alone.
        skip_horizontal_fusion: parts without a way of values between them stay apart.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops if non_compute_ops is not None else []
        self.allowed_single_node_partition_ops = (
            allowed_single_node_partition_ops
            if allowed_single_node_partition_ops is not None
            else []
        )
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(
            dict(self.graph_module.named_modules()), node
        )

    def propose_partitions(self) -> list[Partition]:
        """The parts, from the graph's end to its front."""
        nodes = list(self.graph_module.graph.nodes)
        place = {node: i for i, node in enumerate(nodes)}
        of: dict[Node, int] = {}
        parts: dict[int, Partition] = {}
        for number, node in enumerate(
            n for n in reversed(nodes) if n.op not in ("placeholder", "output", "get_attr")
        ):
            if not self._is_node_supported(node):
                continue
            parts[number] = Partition(number, [node], [place[node]])
            of[node] = number
            near = dict.fromkeys(of[user] for user in node.users if user in of)
            later = (
                []
                if self.skip_horizontal_fusion
                else [p for p in parts if p not in near and p != number]
            )
            for other in [*near, *later]:
                joined = {**parts[number].nodes, **parts[other].nodes}
                if other != number and _is_one(joined, place):
                    parts[number].nodes = joined
                    for n in parts.pop(other).nodes:
                        of[n] = number
        for node in nodes:  # items of a result belong to what gives it
            if not all(u.target is operator.getitem for u in node.users):
                continue
            for user in node.users:
                if of.get(user) == of.get(node):
                    continue
                if user in of:
                    parts[of.pop(user)].remove_node(user)
                if node in of:
                    of[user] = of[node]
                    parts[of[node]].add_node(user, place[user])
        return [part for part in parts.values() if part.nodes and self._counts(part)]

    def _counts(self, part: Partition) -> bool:
        if self.allows_single_node_partition:
            return True
        names = [_get_qualified_name(n.target) for n in part.nodes if callable(n.target)]
        computing = [n for n in names if n not in self.non_compute_ops and n != "_operator.getitem"]
        others = sum(not callable(n.target) for n in part.nodes)
        return len(computing) + others > 1 or any(
            n in self.allowed_single_node_partition_ops for n in names
        )

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Makes each part a call of a module."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Takes nodes that count for nothing out of the parts where they only stand at their
        beginnings and ends."""
        for part in partitions:
            outer = {
                n: 1
                for n in part.nodes
                if callable(n.target) and _get_qualified_name(n.target) in self.non_compute_ops
            }
            changed = True
            while changed:
                changed = False
                for node in [n for n in part.nodes if n in outer]:
                    before = [n for n in node.all_input_nodes if n in part.nodes]
                    after = [n for n in node.users if n in part.nodes]
                    if not before or not after:
                        part.remove_node(node)
                        changed = True

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """``fuse_partitions(propose_partitions())``."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _is_one(nodes: dict[Node, int | None], place: dict[Node, int]) -> bool:
    """Whether nothing else stands between the nodes: what their results lead to outside leads into
    none of them."""
    last = max(place[n] for n in nodes)
    seen: set[Node] = set()
    waiting = [user for node in nodes for user in node.users if user not in nodes]
    while waiting:
        node = waiting.pop()
        if node in nodes:
            return False
        if node not in seen and place[node] < last:
            seen.add(node)
            waiting += node.users
    return True
