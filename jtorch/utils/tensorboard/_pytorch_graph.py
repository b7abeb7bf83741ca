"""Modules as TensorBoard shows them: the operators of one call, in boxes named after the modules
that call them."""

# pyright: reportMissingImports=false

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

import jtorch as torch
from jtorch.jit import _tracing

__all__ = ["graph"]


@contextlib.contextmanager
def _evaluated(model: torch.nn.Module) -> Iterator[None]:
    """A block in which a module and its submodules are not in training."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def _boxes(model: torch.nn.Module) -> tuple[str, dict[str, str]]:
    """The name of the outermost box, and those of submodules by the names that scopes of traces
    have."""

    def kind(module: torch.nn.Module) -> str:
        return getattr(type(module), "_original", type(module)).__name__

    inner = {
        f"__module.{n}": f"{kind(m)}[{n.rpartition('.')[2]}]" for n, m in model.named_modules() if n
    }
    return kind(model), inner


def _shown(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _node(name: str, op: str, inputs: list[str], attributes: str, value: Any) -> NodeDef:
    """A node with the sizes of what it computes, where they are known."""
    attr = {"attr": AttrValue(s=attributes.encode("utf-8"))}
    sizes = value.type().sizes()
    if sizes is not None:
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])
        attr["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[shape]))
    return NodeDef(name=name, op=op, input=inputs, attr=attr)


def graph(
    model: torch.nn.Module, args: object, verbose: bool = False, use_strict_trace: bool = True
) -> tuple[GraphDef, RunMetadata]:
    """The operators that a module calls for an example, and the device that they ran on.

    Differs from torch: values have other numbers, and containers may be returned as they are,
    whatever ``use_strict_trace`` says.
    """
    del use_strict_trace
    with _evaluated(model):
        found = _tracing.module_graph(
            model, tuple(args) if isinstance(args, (tuple, list)) else (args,), {}
        )
    if verbose:
        print(found)  # noqa: T201  (as asked)
    outer, inner = _boxes(model)
    names: dict[int, str] = {}
    nodes = []
    for value in list(found.inputs())[1:]:
        names[id(value)] = f"input/{value.debugName()}"
        nodes.append(_node(names[id(value)], "IO Node", [], "", value))
    for node in found.nodes():
        owner = node.scopeName()
        attributes = (
            "{"
            + ", ".join(f" {n} :  {_shown(node._attribute(n))}" for n in node.attributeNames())
            + "}"
        )
        if node.kind() == "prim::GetAttr":
            if node.output().type().kind() == "ClassType":
                continue
            owner = _path(node)
        box = "/".join(
            [
                outer,
                *(inner.get(part, part.rpartition(".")[2]) for part in owner.split("/") if part),
            ]
        )
        for value in node.outputs():
            names[id(value)] = f"{box}/{value.debugName()}"
        given = [names[id(v)] for v in node.inputs() if id(v) in names]
        nodes.extend(
            _node(names[id(value)], node.kind(), given, attributes, value)
            for value in node.outputs()
        )
    for i, value in enumerate(found.outputs()):
        nodes.append(_node(f"output/output.{i + 1}", "IO Node", [names[id(value)]], "", value))
    stats = RunMetadata(step_stats=StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")]))
    return GraphDef(node=nodes, versions=VersionDef(producer=22)), stats


def _path(node: Any) -> str:
    """The scope that an attribute stands in, from those of its owners."""
    steps: list[str] = []
    while node.kind() == "prim::GetAttr":
        steps.append(node.s("name"))
        node = node.input().node()
    names = steps[::-1]
    return "/".join(f"__module.{'.'.join(names[: i + 1])}" for i in range(len(names)))
