"""Passes over graphs: which nodes a backend takes, and what is computed twice."""

from __future__ import annotations

import operator

import pytest

import jtorch as torch
from jtorch import fx, nn
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.fx import symbolic_trace
from jtorch.fx.experimental.proxy_tensor import make_fx
from jtorch.fx.passes.dialect.common.cse_pass import CSEPass
from jtorch.fx.passes.fake_tensor_prop import FakeTensorProp
from jtorch.fx.passes.graph_manipulation import get_size_of_all_nodes, replace_target_nodes_with
from jtorch.fx.passes.graph_transform_observer import GraphTransformObserver
from jtorch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from jtorch.fx.passes.operator_support import (
    OperatorSupport,
    OpSupports,
    any_chain,
    chain,
    create_op_support,
)
from jtorch.fx.passes.shape_prop import ShapeProp
from jtorch.fx.passes.split_utils import getattr_recursive, split_by_tags
from jtorch.fx.passes.tools_common import get_node_target, legalize_graph
from jtorch.fx.passes.utils import compare_graphs
from jtorch.fx.passes.utils.fuser_utils import fuse_as_graphmodule, validate_partition
from jtorch.fx.passes.utils.matcher_utils import SubgraphMatcher


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
    assert called == [
        "torch.relu",
        "torch.nn.modules.linear.Linear",
        "_operator.mul",
        "sum",
        "_operator.add",
    ]
    with pytest.raises(AssertionError, match="but found placeholder"):
        get_node_target(submodules, next(iter(traced.graph.nodes)))


def test_tables_of_what_is_taken(traced) -> None:
    floats, halves = ((torch.float32,), (torch.float32,)), ((torch.float16,), (torch.float32,))
    assert taken(OperatorSupport(), traced) == ["x", "output"]
    assert taken(OperatorSupport({"torch.relu": None, "_operator.add": (floats, {})}), traced) == [
        "x",
        "relu",
        "add",
        "output",
    ]
    assert taken(OperatorSupport({"torch.relu": None, "_operator.add": (halves, {})}), traced) == [
        "x",
        "relu",
        "output",
    ]


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
        return (
            x.sin() + x.cos(),
            x.sin() * 2,
            x.sin() * 2.0,
            x.sin() * 2,
            x.sum(0) + x.sum(0),
            x.sum(1),
            torch.rand(2) + torch.rand(2),
        )

    module = make_fx(function)(torch.ones(2, 2))
    before = names(module)
    made, modified = CSEPass()(module)
    assert modified and names(module) == before
    assert names(made) == [
        "sin",
        "cos",
        "add",
        "mul",
        "mul_1",
        "sum_1",
        "add_1",
        "sum_3",
        "rand",
        "rand_1",
        "add_2",
    ]
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
    assert not modified and [t.tolist() for t in made(torch.zeros(2))] == [
        t.tolist() for t in function(torch.zeros(2))
    ]


class Parted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.w = torch.nn.Parameter(torch.arange(4.0))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a = x + y
        d = self.lin(torch.relu(a * 2)) + a
        h = torch.relu(d * self.w) + x
        return h * 3, torch.sigmoid(h)


@pytest.mark.parametrize(
    ("targets", "alone", "parts"),
    [
        (
            (operator.add, operator.mul),
            False,
            [{"add_2", "mul_2"}, {"add_1", "mul_1"}, {"add", "mul"}],
        ),
        ((operator.add,), False, []),
        ((operator.add,), True, [{"add_2"}, {"add_1"}, {"add"}]),
        (
            (operator.add, operator.mul, torch.relu),
            False,
            [{"add_1", "mul_1", "relu_1", "add_2", "mul_2"}, {"add", "mul", "relu"}],
        ),
    ],
)
def test_parts_that_a_backend_takes(
    targets: tuple[object, ...], alone: bool, parts: list[set[str]]
) -> None:
    module = symbolic_trace(Parted())
    x, y = torch.ones(2, 4), torch.randn(2, 4)
    right = module(x, y)
    support = create_op_support(
        lambda _, node: node.op == "call_function" and node.target in targets
    )
    partitioner = CapabilityBasedPartitioner(module, support, allows_single_node_partition=alone)
    found = partitioner.propose_partitions()
    assert [{n.name for n in part.nodes} for part in found] == parts
    fused = partitioner.fuse_partitions(found)
    fused.graph.lint()
    assert sorted(n.target for n in fused.graph.nodes if str(n.target).startswith("fused_")) == [
        f"fused_{i}" for i in range(len(parts))
    ]
    assert all(torch.equal(a, b) for a, b in zip(fused(x, y), right, strict=True))


def test_items_alone_are_no_part() -> None:
    """They compute nothing, and need not become a call."""

    def halves(x):
        a, b = torch.split(x, 1)
        return a, b

    module = symbolic_trace(halves)
    items = create_op_support(lambda _, node: node.target is operator.getitem)
    for alone in (False, True):
        partitioner = CapabilityBasedPartitioner(module, items, alone)
        assert partitioner.propose_partitions() == []


def test_patterns_whose_arguments_depend_on_their_results_are_not_found() -> None:
    def pattern(a, b):
        y = torch.relu(a)
        return y, y * b

    def program(x):
        y = torch.relu(x)
        return y * torch.sigmoid(y)

    module = symbolic_trace(program)
    assert SubgraphMatcher(symbolic_trace(pattern).graph).match(module.graph) == []
    assert fx.replace_pattern(module, pattern, lambda a, b: (a, b)) == []
    module.graph.lint()


def test_parts_by_tags() -> None:
    module = symbolic_trace(Parted())
    late = ("mul_1", "relu_1", "add_2", "mul_2", "sigmoid")
    for node in module.graph.nodes:
        if node.op not in ("placeholder", "output", "get_attr"):
            node.tag = "rest" if node.name in late else "start"
    made, names = split_by_tags(module, ["start", "rest"], return_fqn_mapping=True)
    x = torch.randn(2, 4)
    assert all(torch.equal(a, b) for a, b in zip(made(x, x), module(x, x), strict=True))
    assert names == {"lin": "start.lin", "w": "rest.w"}
    assert getattr_recursive(made, "start.lin.weight") is module.lin.weight
    with pytest.raises(AssertionError, match="is needed by"):
        split_by_tags(module, ["rest", "start"])


def test_parts_whose_nodes_do_not_go_together() -> None:
    module = symbolic_trace(Parted())
    nodes = {n.name: n for n in module.graph.nodes}
    assert validate_partition([nodes["add"], nodes["mul"]])
    assert not validate_partition([nodes["add"], nodes["add_1"]])
    with pytest.raises(AssertionError, match="dependency cycles"):
        fuse_as_graphmodule(module, [nodes["add"], nodes["add_1"]], "Fused")
    with pytest.raises(AssertionError, match="doesn't belong"):
        fuse_as_graphmodule(symbolic_trace(Parted()), [nodes["add"]], "Fused")
    made, taken, left = fuse_as_graphmodule(module, [nodes["add_1"], nodes["mul_1"]], "Fused")
    assert ([n.name for n in taken], [n.name for n in left], type(made).__name__) == (
        ["lin", "add"],
        ["mul_1"],
        "Fused",
    )
    assert list(dict(made.named_parameters())) == ["w"]


def test_nodes_in_order_again() -> None:
    module = symbolic_trace(Parted())
    nodes = {n.name: n for n in module.graph.nodes}
    right = list(nodes)
    nodes["relu"].append(nodes["add"])
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        module.graph.lint()
    legalize_graph(module)
    module.graph.lint()
    assert [n.name for n in module.graph.nodes] == right


def test_shapes_without_data() -> None:
    module = symbolic_trace(Parted())
    example = torch.ones(2, 4)
    out = FakeTensorProp(module).propagate(example, example)
    assert [tuple(t.shape) for t in out] == [(2, 4), (2, 4)]
    assert {tuple(n.meta["val"].shape) for n in module.graph.nodes if n.op != "output"} == {
        (2, 4),
        (4,),
    }
    mode = FakeTensorMode()
    ShapeProp(module, fake_mode=mode).propagate(torch.ones(3, 4), torch.ones(3, 4))
    assert next(n for n in module.graph.nodes if n.name == "mul").meta["tensor_meta"].shape == (
        3,
        4,
    )
    assert not mode.allow_non_fake_inputs
    get_size_of_all_nodes(module)
    assert {n.name: n.size_bytes for n in module.graph.nodes if n.name in ("lin", "add")} == {
        "lin": (48, 128),
        "add": (48, 48),
    }
    with pytest.raises(RuntimeError, match="has no tensor metadata"):
        get_size_of_all_nodes(symbolic_trace(Parted()))


def test_graphs_are_compared_and_watched() -> None:
    module = symbolic_trace(Parted())
    assert compare_graphs(module.graph, symbolic_trace(Parted()).graph)

    def other(graph: torch.fx.Graph) -> int:
        node = next(n for n in graph.nodes if n.name == "relu")
        with graph.inserting_after(node):
            new = graph.call_function(torch.sigmoid, node.args)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
        return 5

    observer = GraphTransformObserver(module, "other")
    assert observer.apply_graph_pass(other) == 5
    assert (observer.created_nodes, observer.erased_nodes) == ({"sigmoid_1"}, {"relu"})
    assert not compare_graphs(module.graph, symbolic_trace(Parted()).graph)
    replace_target_nodes_with(module, "call_function", torch.sigmoid, "call_function", torch.tanh)
    assert [n.target for n in module.graph.nodes].count(torch.tanh) == 2
