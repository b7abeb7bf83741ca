"""What each node of a graph gives, found on tensors without data."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.utils import _pytree as pytree

from .._compatibility import compatibility as compatibility
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate
from .shape_prop import _extract_tensor_metadata

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph on fake tensors and notes each result as ``meta["val"]``, and tensors' as
    ``meta["tensor_meta"]``.

    Args:
        module: whose graph it is.
        mode: the mode of the fake tensors; one of its own if there is none.
    """

    def __init__(self, module: GraphModule, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """The value of one node, noted."""
        result = super().run_node(n)

        def note(x: torch.Tensor) -> Any:
            return _extract_tensor_metadata(x) if isinstance(x, torch.Tensor) else x

        if any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(result)):
            n.meta["tensor_meta"] = map_aggregate(result, note)
            n.meta["val"] = result
        elif isinstance(result, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            n.meta["val"] = result
        return result

    def propagate(self, *args: Any) -> Any:
        """Runs on tensors like those given."""
        return self.propagate_dont_convert_inputs(
            *pytree.tree_map(
                lambda x: self._mode.from_tensor(x) if isinstance(x, torch.Tensor) else x,
                list(args),
            )
        )

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Runs on fake tensors."""
        # parameters and buffers are the module's own
        before, self._mode.allow_non_fake_inputs = self._mode.allow_non_fake_inputs, True
        try:
            with self._mode:
                return super().run(*args)
        finally:
            self._mode.allow_non_fake_inputs = before
