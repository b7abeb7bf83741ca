"""Finding the patterns of a backend's table in graphs.

Patterns are given from the end: ``(relu, (bn, conv))``. What a pattern has matched has its shape,
with nodes in the places of classes and functions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn.intrinsic import _kind
from jtorch.fx.graph import Graph
from jtorch.fx.node import Node

from ..backend_config import BackendConfig, BackendPatternConfig, ObservationType
from ..utils import MatchAllNode as MatchAllNode
from .graph_module import _is_observed_standalone_module
from .utils import all_node_args_have_no_tensors

_EMPTY = BackendPatternConfig()


@dataclass(frozen=True)
class Match:
    """A pattern that was found.

    Attributes:
        last: its last node, whose result others use.
        shape: its nodes, as the pattern has them; one node in a tuple.
        pattern: the pattern; None for a module that is not in the table.
        config: what the table says.
        shares: whether its result lies on its input's grid.
        standalone: whether it is a module that is prepared by itself.
        custom: whether it is of a program's own class.
        qconfig: its configuration.
    """

    last: Node
    shape: tuple[Any, ...]
    pattern: Any
    config: BackendPatternConfig = _EMPTY
    shares: bool = False
    standalone: bool = False
    custom: bool = False
    qconfig: Any = None

    @property
    def nodes(self) -> list[Node]:
        """All its nodes."""
        return [*_leaves(self.shape)]

    @property
    def root(self) -> Node:
        """The node that has the weights, or else the first."""
        getter = self.config._root_node_getter
        return self.nodes[-1] if getter is None else getter(self.shape)

    def configured(self, qconfig: Any) -> Match:
        """The same with a configuration."""
        return replace(self, qconfig=qconfig)


def _leaves(shape: Any) -> Iterator[Node]:
    for one in shape:
        if isinstance(one, tuple | list):
            yield from _leaves(one)
        elif isinstance(one, Node):
            yield one


def _is_match(modules: Any, node: Any, pattern: Any, max_uses: int = sys.maxsize) -> bool:
    """Whether a pattern ends at a node. What lies within it has no other users."""
    head: Any
    rest: tuple[Any, ...]
    head, rest = (pattern[0], pattern[1:]) if isinstance(pattern, tuple) else (pattern, ())
    if isinstance(head, type) and issubclass(head, MatchAllNode):
        return True
    if head is getattr:
        rest, attribute = (), rest[0]
    else:
        attribute = None
    if not isinstance(node, Node):
        return node == pattern
    if len(node.users) > max_uses:
        return False
    if isinstance(head, type) and issubclass(head, nn.Module):
        if node.op != "call_module" or _kind(modules[node.target]) is not head:
            return False
    elif callable(head):
        if node.op != "call_function" or node.target is not head:
            return False
        if attribute is not None and node.args[1] != attribute:
            return False
    elif (isinstance(head, str) and node.op != "call_method") or node.target != head:
        return False
    if not rest:
        return True
    return len(rest) == len(node.args) and all(
        _is_match(modules, arg, one, 1) for arg, one in zip(node.args, rest, strict=True)
    )


def _shape(pattern: Any, node: Any) -> Any:
    """The nodes that a pattern has matched, in its shape."""
    if not isinstance(pattern, tuple):
        return node
    head, *rest = pattern
    if head is getattr:
        return (node,)
    inner = [_shape(one, arg) for one, arg in zip(rest, node.args, strict=True)]
    return (_shape(head, node), *inner)


def _own(pattern: Any, node: Any) -> Iterator[Node]:
    """The nodes that a pattern names; not those in the place of ``MatchAllNode``."""
    head, rest = (pattern[0], pattern[1:]) if isinstance(pattern, tuple) else (pattern, ())
    if isinstance(head, type) and issubclass(head, MatchAllNode):
        return
    yield node
    if head is not getattr:
        for one, arg in zip(rest, node.args, strict=bool(rest)):
            yield from _own(one, arg)


def _length(pattern: Any) -> int:
    return sum(map(_length, pattern)) if isinstance(pattern, tuple) else 1


def _sorted_patterns(table: BackendConfig) -> list[tuple[Any, BackendPatternConfig]]:
    """The patterns of a table, the longest first."""
    items = table._pattern_complex_format_to_config.items()
    return sorted(items, key=lambda kv: -_length(kv[0]) if isinstance(kv[0], tuple) else 1)


def _with_several_nodes(
    graph: Graph, modules: Any, table: BackendConfig
) -> tuple[dict[Node, Match], set[Node]]:
    """The patterns that become one module: by their last node, and all nodes that they name."""
    patterns = [(p, c) for p, c in _sorted_patterns(table) if c.fuser_method is not None]
    found: dict[Node, Match] = {}
    taken: set[Node] = set()
    for node in reversed(list(graph.nodes)):
        if node in taken:
            continue
        for pattern, config in patterns:
            if _is_match(modules, node, pattern):
                found[node] = Match(node, _shape(pattern, node), pattern, config)
                taken.update(_own(pattern, node))
                break
    return found, taken


def _observation(config: BackendPatternConfig, root: Node, modules: Any) -> ObservationType:
    """How a pattern is observed, which may depend on how many of its arguments are tensors.

    Raises:
        AssertionError: if the table does not say.
    """
    by_count = config._num_tensor_args_to_observation_type
    if not by_count:
        return config.observation_type
    count = sum(
        isinstance(a, Node) and not all_node_args_have_no_tensors(a, modules, {}) for a in root.args
    )
    if count not in by_count:
        raise AssertionError(
            f"Must provide observation_type config for tensor number {count} in "
            f"num_tensor_args_to_observation_type for {root}"
        )
    return by_count[count]


def _find_matches(
    graph: Graph,
    modules: Any,
    table: BackendConfig,
    standalone_names: Any = (),
    standalone_classes: Any = (),
    custom_classes: Any = (),
) -> dict[str, Match]:
    """The patterns of a table in a graph, by the names of all their nodes."""
    patterns = _sorted_patterns(table)
    found: dict[str, Match] = {}
    for node in reversed(list(graph.nodes)):
        if node.name in found:
            continue
        for pattern, config in patterns:
            if not _is_match(modules, node, pattern):
                continue
            shape = _shape(pattern, node)
            shape = shape if isinstance(shape, tuple) else (shape,)
            match = Match(node, shape, pattern, config)
            kind = _observation(config, match.root, modules)
            shared = kind is ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
            for one in match.nodes:
                found[one.name] = replace(match, shares=shared)
            break
    for node in graph.nodes:
        if node.op != "call_module":
            continue
        module = modules[node.target]
        if type(module) in custom_classes:
            found[node.name] = Match(node, (node,), None, custom=True)
        if (
            node.target in standalone_names
            or type(module) in standalone_classes
            or _is_observed_standalone_module(module)
        ):
            found[node.name] = Match(node, (node,), None, standalone=True)
    return found


__getattr__ = _refusals.missing(__name__)
