"""Types that programs put on the values of graphs."""

from __future__ import annotations

from typing import Any, TypeVar

from .proxy import Proxy

_T = TypeVar("_T")


def annotate(val: _T, type: Any) -> _T:
    """``val``; while it is traced, its node is given a type.

    Raises:
        RuntimeError: if the node has a type.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.fx.annotate import annotate
        >>> graph = torch.fx.symbolic_trace(lambda x: annotate(x.relu(), torch.Tensor)).graph
        >>> [node.type for node in graph.nodes if node.name == "relu"] == [torch.Tensor]
        True
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                "Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}."
            )
        val.node.type = type
    return val
