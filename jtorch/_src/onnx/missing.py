"""Translations of what onnxscript has none of: numbers and sizes, branches and loops."""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

import jtorch as torch

from . import library
from .recording import OPSET, Symbol, op
from .types import dtype_of, shape_of

if TYPE_CHECKING:
    from jtorch.fx.node import Node

    from .translating import Translation

A = torch.ops.aten

#: Nodes that check something, or say what gradients need: ONNX has neither, and PyTorch leaves them
#: out as well.
CHECKS = frozenset(
    (
        A._assert_scalar.default,
        A._assert_tensor_metadata.default,
        A.sym_constrain_range.default,
        A.sym_constrain_range_for_size.default,
        torch._C._set_grad_enabled,
    )
)


def _sym_float(x: Any) -> Any:
    return op.Cast(x, to=ir.DataType.FLOAT)


def _sym_max(a: Any, b: Any) -> Any:
    return op.Max(a, b)


def _sym_min(a: Any, b: Any) -> Any:
    return op.Min(a, b)


def _sym_not(x: Any) -> Any:
    return op.Not(x)


def _sym_sum(values: list[Any]) -> Any:
    return op.Sum(*values)


def _sym_sqrt(x: Any) -> Any:
    return op.Sqrt(op.Cast(x, to=ir.DataType.FLOAT))


def _lstm(input: Any, hx: Any, *given: Any) -> Any:
    """That of onnxscript, which knows no projections."""
    if hx[0].shape[2] != hx[1].shape[2]:
        raise NotImplementedError("ONNX's LSTM has no projections (proj_size)")
    found = library.find(A.lstm.input, False)
    assert found is not None
    return found(input, hx, *given)


#: By the targets of nodes.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.sym_float: _sym_float,
    torch.sym_max: _sym_max,
    torch.sym_min: _sym_min,
    torch.sym_not: _sym_not,
    torch.sym_sum: _sym_sum,
    torch.sym_sqrt: _sym_sqrt,
    A.lstm.input: _lstm,
}


# ---- branches and loops ------------------------------------------------------------------------


def _cond(work: Translation, node: Node) -> Any:
    predicate, then, other, operands = node.args
    values = [work.given(x) for x in operands]
    branches = [
        ir.AttrGraph(name, _branch(work, graph, values))
        for name, graph in (("then_branch", then), ("else_branch", other))
    ]
    return _node_of(work, "If", [work.given(predicate)], branches, node)


def _while_loop(work: Translation, node: Node) -> Any:
    condition, body, carried, more = node.args
    start = [work.given(x) for x in carried]
    outside = [work.given(x) for x in more]
    first = work.inlined(condition, [*start, *outside])[0]
    graph = ir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name=f"{node.name}_body")
    inner = work.within(graph)
    turn, before = Symbol(name=f"{node.name}_turn"), Symbol(name=f"{node.name}_again")
    turn.dtype, turn.shape = ir.DataType.INT64, ir.Shape([])
    before.dtype, before.shape = ir.DataType.BOOL, ir.Shape([])
    state = []
    for place, x in enumerate(node.meta["val"]):
        value = Symbol(name=f"{node.name}_carried_{place}")
        value.dtype, value.shape = dtype_of(x), shape_of(x)
        state.append(value)
    graph.inputs.extend([turn, before, *state])
    results = inner.inlined(body, [*state, *outside])
    again = inner.inlined(condition, [*results, *outside])[0]
    inner.finish([again, *results])
    return _node_of(work, "Loop", [None, first, *start], [ir.AttrGraph("body", graph)], node)


def _branch(work: Translation, graph_node: Node, values: list[Any]) -> Any:
    graph = ir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name=graph_node.name)
    inner = work.within(graph)
    inner.finish(inner.inlined(graph_node, values))
    return graph


def _node_of(
    work: Translation, name: str, inputs: list[Any], attributes: list[Any], node: Node
) -> list[Any]:
    outputs = []
    for x in node.meta["val"]:
        value = Symbol()
        value.dtype, value.shape = dtype_of(x), shape_of(x)
        outputs.append(value)
    work.recorder.nodes.append(
        ir.Node("", name, inputs, attributes, outputs=outputs, version=OPSET)
    )
    return outputs


_HIGHER = torch.ops.higher_order
CONTROL: dict[Any, Callable[..., Any]] = {
    _HIGHER.cond: _cond,
    _HIGHER.while_loop: _while_loop,
}
