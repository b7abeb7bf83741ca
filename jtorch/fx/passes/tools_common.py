"""What passes ask of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._compatibility import compatibility as compatibility
from ..node import Node, _get_qualified_name

__all__ = ["CALLABLE_NODE_OPS", "get_node_target"]

#: Kinds of nodes that compute something.
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """What a node calls, as text: a module's class, a function with its module, a method's name.

    Raises:
        AssertionError: for a node that calls nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of call_module, call_function, call_method, but found {node.op}")
    if node.op == "call_module":
        if not isinstance(node.target, str):
            raise AssertionError(f"Expected str target, got {type(node.target)}")
        kind = getattr(submodules[node.target], "_base_class_origin", type(submodules[node.target]))
        return f"{kind.__module__}.{kind.__name__}".replace("jtorch.", "torch.", 1)
    if isinstance(node.target, str):
        return node.target
    name = _get_qualified_name(node.target)
    return f"_{name}" if name.startswith("operator.") else name  # the module that Python's operators say they are of
