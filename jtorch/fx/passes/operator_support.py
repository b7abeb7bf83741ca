"""Which nodes a backend takes: rules that can be joined."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._src.facts.dtypes import dtype
from .._compatibility import compatibility as compatibility
from ..node import Node
from .shape_prop import TensorMetadata
from .tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = [
    "OperatorSupportBase",
    "OperatorSupport",
    "create_op_support",
    "chain",
    "OpSupports",
    "any_chain",
]

Submodules = Mapping[str, Any]
Rule = Callable[[Submodules, Node], bool]


class OperatorSupportBase(abc.ABC):
    """A rule about nodes."""

    @abc.abstractmethod
    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether a node is taken; ``submodules`` are the graph module's, by name."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Takes what a table has: ``{target: None}``, or with the dtypes that arguments may have.

    Args:
        support_dict: by ``get_node_target``'s text, None or a pair: for each positional argument
            the dtypes that it may have, and the same by keyword. What is not said of an argument is
            not asked. Nodes that call nothing are taken.
    """

    _support_dict: Mapping[str, Any]

    def __init__(
        self,
        support_dict: Mapping[
            str, tuple[Sequence[Sequence[dtype]], dict[str, Sequence[dtype]]] | None
        ]
        | None = None,
    ) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        """Whether the table has what the node calls, with these dtypes (``meta`` of
        ``ShapeProp``)."""
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        by_place, by_name = wanted
        for place, dtypes in enumerate(by_place):
            if len(node.args) > place and _dtype_of(node.args[place]) not in dtypes:
                return False
        return all(
            _dtype_of(node.kwargs[name]) in dtypes
            for name, dtypes in by_name.items()
            if name in node.kwargs
        )


class _Function(OperatorSupportBase):
    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def is_node_supported(self, submodules: Submodules, node: Node) -> bool:
        return self.rule(submodules, node)


def create_op_support(is_node_supported: Rule) -> OperatorSupportBase:
    """A rule of a function of the submodules and a node."""
    return _Function(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes the nodes that all rules take."""
    return create_op_support(
        lambda submodules, node: all(one.is_node_supported(submodules, node) for one in op_support)
    )


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Takes the nodes that any of the rules takes."""
    return create_op_support(
        lambda submodules, node: any(one.is_node_supported(submodules, node) for one in op_support)
    )


class OpSupports:
    """Rules that are often needed."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: dtype) -> OperatorSupportBase:
        """Declines nodes that an argument of a dtype goes into."""

        def rule(submodules: Submodules, node: Node) -> bool:
            del submodules
            return all(_dtype_of(argument) != dtype for argument in node.all_input_nodes)

        return create_op_support(rule)

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Declines nodes by their names."""

        def rule(submodules: Submodules, node: Node) -> bool:
            del submodules
            return node.name not in disallow_set

        return create_op_support(rule)


def _dtype_of(argument: Node) -> object:
    if not isinstance(argument, Node):
        raise AssertionError(f"Expected a Node, got {argument!r}: dtypes are asked of tensors")
    meta = argument.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else argument.meta.get("type")
