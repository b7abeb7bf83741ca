"""Watching which nodes a pass makes and removes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .._compatibility import compatibility as compatibility
from ..graph import Graph
from ..graph_module import GraphModule

__all__ = ["GraphTransformObserver"]

T = TypeVar("T")


class GraphTransformObserver:
    """A block in which a pass changes a graph; afterwards it knows which nodes came and went.

    Args:
        gm: the module that is changed.
        passname: the pass' name.
        subsystem: where the pass belongs; taken for nothing, since no pass can be switched off.
        log_url: PyTorch writes pictures there where it is told to; taken for nothing.

    Attributes:
        created_nodes: the names of the nodes that the block made.
        erased_nodes: the names of those that it removed.
    """

    def __init__(
        self,
        gm: GraphModule,
        passname: str,
        subsystem: str | None = None,
        log_url: str | None = None,
    ) -> None:
        self.gm, self.passname, self.subsystem, self.log_url = gm, passname, subsystem, log_url
        self.erased_nodes: set[str] = set()
        self.created_nodes: set[str] = set()
        self._before = {}

    def apply_gm_pass(self, pass_fn: Callable[[GraphModule], T]) -> T | None:
        """Runs a pass over the module inside a block."""
        with self:
            return pass_fn(self.gm)

    def apply_graph_pass(self, pass_fn: Callable[[Graph], T]) -> T | None:
        """Runs a pass over its graph inside a block."""
        with self:
            return pass_fn(self.gm.graph)

    def __enter__(self) -> GraphTransformObserver:
        self._before = {node: node.name for node in self.gm.graph.nodes}
        return self

    def __exit__(self, *error: object) -> None:
        now = {node: node.name for node in self.gm.graph.nodes}
        self.created_nodes |= {name for node, name in now.items() if node not in self._before}
        self.erased_nodes |= {name for node, name in self._before.items() if node not in now}
        self._before = {}
