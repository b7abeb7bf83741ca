"""Graphs of traces: kinds, constants, sizes and scopes, as tools that count operations read
them."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch
from jtorch import nn


def network(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.up = (
                nn.Conv2d(3, 4, 3),
                nn.BatchNorm2d(4),
                nn.ConvTranspose2d(4, 2, 2, groups=2),
            )
            self.last = nn.Linear(2, 5, bias=False)

        def forward(self, x: Any) -> Any:
            x = self.up(F.relu(self.norm(self.conv(x))))
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            first, second = x.split(1, 1)
            x = torch.cat([first, second], 1).mean((2, 3))
            x = self.last(F.dropout(x, 0.1, self.training)) + 1
            x[0] = 2
            return torch.einsum("ij,kj->ik", x, x), x.max(1)[0].to(torch.float64)

    return Net().eval()


def story(graph: Any) -> list[Any]:
    """Nodes with the sizes and constants that they are given and the sizes that they compute."""

    def seen(value: Any) -> Any:
        if value.isCompleteTensor() and value.node().kind() != "prim::Constant":
            return value.type().sizes(), value.type().strides(), value.type().scalarType()
        if value.node().kind() == "prim::ListConstruct":
            return [seen(v) for v in value.node().inputs()]
        made = value.toIValue()
        return (value.type().kind(), str(made.item() if hasattr(made, "item") else made))

    return [
        # (the last input of a batch norm is whether cuDNN may be used)
        (
            n.kind(),
            [seen(v) for v in n.inputs()][: -1 if n.kind() == "aten::batch_norm" else None],
            [seen(v) for v in n.outputs()],
        )
        for n in graph.nodes()
        if n.kind() not in ("prim::Constant", "prim::ListConstruct")
    ]


@pytest.mark.parity
def test_graphs_are_pytorchs():
    import torch

    found = []
    for lib in (jtorch, torch):
        graph, out = lib.jit._get_trace_graph(network(lib), (lib.ones(2, 3, 6, 6),))
        found.append(
            (
                story(graph),
                [v.type().sizes() for v in graph.inputs()],
                out[0].shape,
                [v.type().kind() for v in graph.outputs()],
            )
        )
    assert found[0][1:] == found[1][1:]
    assert found[0][0] == found[1][0]


class Counting:
    """Hooks that push and pop names, as tools that count by module set them."""

    def __init__(self, module: nn.Module) -> None:
        for name, child in module.named_modules():
            child.register_forward_pre_hook(
                lambda *_, n=name: jtorch._C._get_tracing_state().push_scope(n)
            )
            child.register_forward_hook(lambda *_: jtorch._C._get_tracing_state().pop_scope())


def test_scopes():
    module = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    assert jtorch._C._get_tracing_state() is None
    Counting(module)
    graph, out = jtorch.jit._get_trace_graph(module, jtorch.ones(4, 2))
    assert [(n.kind(), n.scopeName()) for n in graph.nodes()] == [
        ("aten::linear", "/0"),
        ("aten::relu", "/1/1.0"),
    ]
    assert out.shape == (4, 3)
    assert jtorch._C._get_tracing_state() is None
    assert not jtorch.jit.is_tracing()


def test_a_scripted_function_is_one_node():
    double = jtorch.jit.script(lambda x: x * 2)
    graph, out = jtorch.jit._get_trace_graph(lambda x: double(x + 1).relu(), (jtorch.ones(2),))
    assert [n.kind() for n in graph.nodes() if n.kind() != "prim::Constant"] == [
        "aten::add",
        "prim::CallFunction",
        "aten::relu",
    ]
    assert out.tolist() == [4, 4]


@pytest.mark.parity
@pytest.mark.parametrize(
    "read",
    [bool, int, float, *(lambda x, n=n: getattr(x, n)() for n in ("tolist", "numpy", "item"))],
)
def test_data_that_are_read_are_warned_of(read: Any):
    import torch

    said = []
    for lib in (jtorch, torch):

        def function(x: Any, lib: Any = lib) -> Any:
            assert lib.jit.is_tracing()
            read(x.sum())
            return x * 2

        with pytest.warns(lib.jit.TracerWarning, match="treated as a constant") as warned:
            graph, _ = lib.jit._get_trace_graph(function, (lib.ones(2),))
        assert [n.kind() for n in graph.nodes()][-1] == "aten::mul"
        said.append([str(w.message) for w in warned])
    assert said[0] == said[1]


def test_graphs_of_what_was_traced():
    traced: Any = jtorch.jit.trace(
        lambda a, b: (a @ b).relu_(), (jtorch.ones(2, 3), jtorch.ones(3, 2))
    )
    assert str(traced.graph) == (
        "graph(%a : Float(2, 3, strides=[3, 1], device=cpu),\n"
        "      %b : Float(3, 2, strides=[2, 1], device=cpu)):\n"
        "  %2 : Float(2, 2, strides=[2, 1], device=cpu) = aten::matmul(%a, %b)\n"
        "  %3 : Float(2, 2, strides=[2, 1], device=cpu) = aten::relu_(%2)\n"
        "  return (%3)\n"
    )
    module = jtorch.jit.trace(nn.Sequential(nn.BatchNorm1d(2)), jtorch.ones(4, 2))
    before = module.get_buffer("0.running_mean").tolist()
    node = module.inlined_graph.findNode("aten::batch_norm")
    assert node.scopeName() == "__module.0"
    assert [v.node().kind() for v in list(node.inputs())[:5]] == [
        "prim::Param",
        *["prim::GetAttr"] * 4,
    ]
    assert module.get_buffer("0.running_mean").tolist() == before
    with pytest.raises(NotImplementedError, match=r"ScriptModule.graph"):
        _ = module.graph
    with pytest.raises(NotImplementedError, match=r"torch._C.Value.requires_grad"):
        node.output().requires_grad()
    with pytest.raises(NotImplementedError, match="_force_outplace"):
        jtorch.jit._get_trace_graph(module, (), _force_outplace=True)
