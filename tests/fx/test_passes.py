"""Passes over graphs: which nodes a backend takes, and what is computed twice."""

from __future__ import annotations

import operator

import pytest

import jtorch as torch
from jtorch import fx, nn
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.fx.passes.dialect.common.cse_pass import CSEPass
from jtorch.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from jtorch.fx.passes.shape_prop import ShapeProp
from jtorch.fx.passes.tools_common import get_node_target


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return torch.relu(x) + operator.mul(self.layer(x), 2).sum(dim=1, keepdim=True)


@pytest.fixture
def traced():
    module = fx.symbolic_trace(Net())
    ShapeProp(module).propagate(torch.ones(2, 3))
    return module


def taken(rule, module):
    submodules = dict(module.named_modules())
    return [n.name for n in module.graph.nodes if rule.is_node_supported(submodules, n)]


def test_what_nodes_call(traced) -> None:
    submodules = dict(traced.named_modules())
    called = [get_node_target(submodules, n) for n in traced.graph.nodes if n.op.startswith("call")]
    assert called == ["torch.relu", "torch.nn.modules.linear.Linear", "_operator.mul", "sum", "_operator.add"]
    with pytest.raises(AssertionError, match="but found placeholder"):
        get_node_target(submodules, next(iter(traced.graph.nodes)))


def test_tables_of_what_is_taken(traced) -> None:
    floats, halves = ((torch.float32,), (torch.float32,)), ((torch.float16,), (torch.float32,))
    assert taken(OperatorSupport(), traced) == ["x", "output"]
    assert taken(OperatorSupport({"torch.relu": None, "_operator.add": (floats, {})}), traced) == ["x", "relu", "add", "output"]
    assert taken(OperatorSupport({"torch.relu": None, "_operator.add": (halves, {})}), traced) == ["x", "relu", "output"]


def test_rules_are_joined(traced) -> None:
    functions = create_op_support(lambda submodules, node: node.op == "call_function")
    others = OpSupports.decline_if_node_in_names({"relu"})
    assert taken(functions, traced) == ["relu", "mul", "add"]
    assert taken(chain(functions, others), traced) == ["mul", "add"]
    assert taken(any_chain(functions, others), traced) == [n.name for n in traced.graph.nodes]
    assert taken(OpSupports.decline_if_input_dtype(torch.float32), traced) == ["x"]


def names(module):
    return [n.name for n in module.graph.nodes if n.op == "call_function"]


def test_what_is_computed_twice_is_merged() -> None:
    def function(x):
        return x.sin() + x.cos(), x.sin() * 2, x.sin() * 2.0, x.sin() * 2, x.sum(0) + x.sum(0), x.sum(1), torch.rand(2) + torch.rand(2)

    module = make_fx(function)(torch.ones(2, 2))
    before = names(module)
    made, modified = CSEPass()(module)
    assert modified and names(module) == before
    assert names(made) == ["sin", "cos", "add", "mul", "mul_1", "sum_1", "add_1", "sum_3", "rand", "rand_1", "add_2"]
    x = torch.randn(2, 2)
    for found, wanted in zip(made(x)[:-1], function(x)[:-1], strict=True):
        assert torch.equal(found, wanted)
    assert not CSEPass()(made).modified
    kept, _ = CSEPass(banned_ops=[torch.ops.aten.sin])(module)
    assert names(kept).count("sin") + sum(name.startswith("sin_") for name in names(kept)) == 4


def test_graphs_that_write_are_left_alone() -> None:
    def function(x):
        before = x.sin()
        x.add_(1)
        return before, x.sin()

    module = make_fx(function)(torch.ones(2))
    made, modified = CSEPass()(module)
    assert not modified and [t.tolist() for t in made(torch.zeros(2))] == [t.tolist() for t in function(torch.zeros(2))]
