"""Putting layers of a graph together that follow each other."""

from __future__ import annotations

import warnings
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node, map_arg
from jtorch.nn import functional as F

from ..backend_config import BackendConfig, get_native_backend_config
from ..utils import MatchAllNode, _parent_name
from .custom_config import FuseCustomConfig
from .match_utils import Match, _with_several_nodes


def _module_of(node: Any, modules: Any, training: bool) -> Any:
    """What stands for a node among the modules that become one."""
    if not isinstance(node, Node):
        return MatchAllNode
    if node.op == "call_module":
        return modules[node.target]
    if node.op == "call_function" and node.target is F.relu:
        # of its own, as one function may be called at many places
        relu = nn.ReLU()
        relu.training = training
        return relu
    return node.target if node.op in ("call_function", "call_method") else MatchAllNode


def _nested(shape: Any, modules: Any, training: bool) -> Any:
    if isinstance(shape, tuple | list):
        return tuple(_nested(one, modules, training) for one in shape)
    return _module_of(shape, modules, training)


def _made_one(match: Match, modules: Any, is_qat: bool) -> Any:
    """The module of those that a pattern has matched."""
    training = modules[match.root.target].training
    if match.config._pattern_complex_format is not None:
        return match.config.fuser_method(is_qat, *_nested(match.shape, modules, training))
    parts = [_module_of(node, modules, training) for node in reversed(match.nodes)]
    return match.config.fuser_method(is_qat, *parts)


def fuse(
    model: GraphModule,
    is_qat: bool,
    fuse_custom_config: FuseCustomConfig | dict[str, Any] | None = None,
    backend_config: BackendConfig | dict[str, Any] | None = None,
) -> GraphModule:
    """A graph in which layers that follow each other are one, as a backend's table says.

    Raises:
        AssertionError: if the first of them is no module.
    """
    del fuse_custom_config  # attributes that are kept are put back by who calls this
    if isinstance(backend_config, dict):
        warnings.warn(
            "Passing a backend_config_dict to prepare is deprecated and will not be supported in a "
            "future version. Please pass in a BackendConfig instead.",
            FutureWarning,
            stacklevel=2,
        )
        backend_config = BackendConfig.from_dict(backend_config)
    modules = dict(model.named_modules())
    found, taken = _with_several_nodes(
        model.graph, modules, backend_config or get_native_backend_config()
    )
    graph = Graph()
    values: dict[Node, Node] = {}

    def moved(arg: Any) -> Any:
        return map_arg(arg, lambda node: values[node])

    for node in model.graph.nodes:
        if node in found:
            match = found[node]
            root = match.root
            if root.op != "call_module":
                raise AssertionError("Expecting module node to be a call_module Node")
            parent, name = _parent_name(str(root.target))
            setattr(modules[parent], name, _made_one(match, modules, is_qat))
            values[node] = graph.node_copy(root, lambda n: values[n])
            more = match.config._extra_inputs_getter
            if more is not None:
                values[node].args = (*values[node].args, *map(moved, more(match.shape)))
        elif node not in taken:
            values[node] = graph.node_copy(node, lambda n: values[n])
    return GraphModule(model, graph)


__getattr__ = _refusals.missing(__name__)
