"""Parts of graphs that depend on attributes alone."""

from __future__ import annotations

import operator

import jtorch as torch
from jtorch.fx.experimental.const_fold import get_unique_attr_name_in_module, split_const_subgraphs


class _Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.b = torch.nn.Parameter(torch.tensor([3.0, 4.0]), requires_grad=False)
        self.lin = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.lin(x - (self.a + self.b)) * (self.b * 2) + self.b


def test_constants_are_computed_once():
    net = _Net()
    folded = split_const_subgraphs(net)
    assert [
        n.target for n in folded.const_subgraph_module.graph.nodes if n.op == "call_function"
    ] == [operator.add, operator.mul]
    assert [n.op for n in folded.graph.nodes][:4] == [
        "placeholder",
        "get_attr",
        "call_function",
        "call_function",
    ]
    assert not folded.has_folding_been_run
    x = torch.tensor([[0.5, -1.0]])
    assert torch.equal(folded(x), net(x))
    assert folded.has_folding_been_run
    kept = folded._FX_CONST_FOLDED_ATTRS
    assert [(p.tolist(), p.requires_grad) for p in kept] == [
        ([4.0, 6.0], True),
        ([6.0, 8.0], False),
    ]


def test_one_result_is_a_parameter_by_itself():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self._FX_CONST_FOLDED_ATTRS = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return {"y": x + self._FX_CONST_FOLDED_ATTRS.exp(), "n": self._FX_CONST_FOLDED_ATTRS}

    net = Net()
    folded = split_const_subgraphs(net)
    assert folded.fx_const_folded_attrs_name == "_FX_CONST_FOLDED_ATTRS_1"
    found, wanted = folded(torch.zeros(2)), net(torch.zeros(2))
    assert torch.equal(found["y"], wanted["y"])
    assert torch.equal(found["n"], wanted["n"])
    assert isinstance(folded._FX_CONST_FOLDED_ATTRS_1, torch.nn.Parameter)
    assert get_unique_attr_name_in_module(net, "1a-b") == "_1a_b"


def test_nothing_is_folded_where_nothing_is_constant_or_all_is_to_stay():
    class Net(torch.nn.Module):
        def forward(self, x):
            return x + 1

    assert split_const_subgraphs(Net()).const_subgraph_module is None
    kept = split_const_subgraphs(_Net(), skip_folding_node_fn=lambda node: node.op != "get_attr")
    assert kept.const_subgraph_module is None
    x = torch.ones(1, 2)
    assert kept(x).shape == (1, 2)
