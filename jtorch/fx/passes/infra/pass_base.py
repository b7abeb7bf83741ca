"""Passes as objects."""

from __future__ import annotations

import abc
from typing import NamedTuple

from ..._compatibility import compatibility as compatibility
from ...graph_module import GraphModule


class PassResult(NamedTuple):
    """What a pass made, and whether it changed anything."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass: ``requires``, ``call`` and ``ensures`` in turn."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        """Runs the pass between its checks."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The work."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027 (optional)
        """Checks before the work."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027 (optional)
        """Checks after the work."""


__all__: list[object] = ["PassBase", "PassResult"]
