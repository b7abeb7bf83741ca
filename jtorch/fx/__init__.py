"""``torch.fx``: functions as graphs that programs can read, edit and write as Python code."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from . import (
    config,
    experimental,
    graph,
    graph_module,
    immutable_collections,
    interpreter,
    node,
    operator_schemas,
    passes,
    proxy,
    subgraph_rewriter,
    tensor_type,
    traceback,
)
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer",
           "Node", "Proxy", "replace_pattern",
           "has_side_effect", "map_arg"]  # fmt: skip

_ = (config, experimental, graph, graph_module, immutable_collections, interpreter, node,
     operator_schemas, passes, proxy,
     subgraph_rewriter, tensor_type, traceback, PH, ProxyableClassMeta, CodeGen)  # fmt: skip

__getattr__ = _refusals.missing(__name__)
