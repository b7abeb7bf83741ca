"""Helpers of tests of quantised graphs: what is asked of a graph's nodes, and small models."""

# ruff: noqa: PT009  (helpers of unittest)

from __future__ import annotations

import contextlib
import importlib.util
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph_module import GraphModule

from ._quantization_models import TestHelperModules as TestHelperModules
from .common_utils import TestCase

# What is quantised here are graphs of ordinary operators, for which no library of quantised kernels
# is needed.
skipIfNoFBGEMM = skipIfNoQNNPACK = skipIfNoONEDNN = skipIfNoONEDNNBF16 = skipIfNoX86 = lambda test: (  # noqa: E501
    test
)
skipIfNoDynamoSupport = skipIfNoInductorSupport = lambda test: test
skip_if_no_torchvision = unittest.skipUnless(
    importlib.util.find_spec("torchvision") is not None, "no torchvision"
)


@contextlib.contextmanager
def override_quantized_engine(qengine: str) -> Iterator[None]:
    """A block; no library of quantised kernels is chosen among, as there is none."""
    del qengine
    yield


class NodeSpec:
    """What a node calls, to look for such nodes.

    Args:
        op: ``call_function``, ``call_method`` or ``call_module``.
        target: the function, the method's name, the module's class.
    """

    def __init__(self, op: str, target: Any) -> None:
        self.op, self.target = op, target

    @classmethod
    def call_function(cls, target: Callable[..., object]) -> NodeSpec:
        """A node that calls a function."""
        return cls("call_function", target)

    @classmethod
    def call_method(cls, target: str) -> NodeSpec:
        """A node that calls a method."""
        return cls("call_method", target)

    @classmethod
    def call_module(cls, target: type) -> NodeSpec:
        """A node that calls a module of a class."""
        return cls("call_module", target)

    def __hash__(self) -> int:
        return hash((self.op, self.target))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSpec) and (self.op, self.target) == (other.op, other.target)

    def __repr__(self) -> str:
        return f"{self.op!r} {self.target!r}"


class QuantizationTestCase(TestCase):
    """A test case that looks at graphs. PyTorch's has data and models of quantised modules too,
    which are not offered."""

    def checkGraphModuleNodes(
        self,
        graph_module: GraphModule,
        expected_node: NodeSpec | None = None,
        expected_node_occurrence: dict[NodeSpec, int] | None = None,
        expected_node_list: list[NodeSpec] | None = None,
    ) -> None:
        """Fails unless a graph has a node, as many of each kind as said, and some in the order that
        is given."""
        modules = dict(graph_module.named_modules(remove_duplicate=False))
        found = []
        for node in graph_module.graph.nodes:
            if node.op in ("call_function", "call_method"):
                found.append(NodeSpec(node.op, node.target))
            elif node.op == "call_module":
                found.append(NodeSpec(node.op, type(modules[node.target])))
        if expected_node is not None:
            self.assertTrue(
                expected_node in found, f"node:{expected_node} not found in the graph module"
            )
        for spec, number in (expected_node_occurrence or {}).items():
            count = found.count(spec)
            if number:
                self.assertTrue(spec in found, f"Check failed for node:{spec} not found")
            self.assertTrue(
                count == number,
                f"Check failed for node:{spec} Expected occurrence:{number} Found "
                f"occurrence:{count}",
            )
        if expected_node_list is not None:
            rest = iter(found)
            in_order = all(any(node == spec for node in rest) for spec in expected_node_list)
            self.assertTrue(
                in_order,
                f"Check failed for graph:{self.printed(graph_module)}Expected ordered "
                f"list:{expected_node_list}",
            )

    def printGraphModule(self, graph_module: GraphModule, print_str: bool = True) -> str:
        """The graph's nodes, a line each, which are printed if ``print_str``."""
        text = self.printed(graph_module)
        if print_str:
            print(text)  # noqa: T201
        return text

    def printed(self, graph_module: GraphModule) -> str:
        """The graph's nodes, a line each."""
        modules = dict(graph_module.named_modules(remove_duplicate=False))
        lines = []
        for n in graph_module.graph.nodes:
            line = " ".join(map(repr, [n.op, n.name, n.target, n.args, n.kwargs]))
            lines.append(
                f"{line} module type: {type(modules[n.target])!r}"
                if n.op == "call_module"
                else line
            )
        return "\n".join(lines)

    def checkNoQconfig(self, module: nn.Module) -> None:
        """Fails if a module or one in it has ``qconfig``."""
        for inner in module.modules():
            self.assertFalse(hasattr(inner, "qconfig"))


__getattr__ = _refusals.missing(__name__)
