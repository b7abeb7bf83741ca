"""Tracing, editing and running graphs."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import jtorch as torch
from jtorch import fx, nn


def helper(x: Any, y: Any = 2) -> Any:
    return x * y


fx.wrap("helper")
fx.wrap("len")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x):  # type: ignore[no-untyped-def]
        return torch.relu(self.linear(x) * self.scale + helper(x[:, :2]))


def test_traced_module_does_the_same_with_gradients() -> None:
    m = Model()
    gm = fx.symbolic_trace(m)
    x = torch.ones(4, 3)
    assert torch.equal(gm(x), m(x))
    gm(x).sum().backward()
    assert m.scale.grad is not None  # parameters are shared
    assert gm.linear is m.linear
    assert [n.op for n in gm.graph.nodes] == [
        "placeholder", "call_module", "get_attr", "call_function", "call_function", "call_function",
        "call_function", "call_function", "output",
    ]  # fmt: skip


def test_code() -> None:
    assert fx.symbolic_trace(lambda x, y: torch.add(x.T[0], -y, alpha=2)).code == (
        "\n\n\ndef forward(self, x, y):\n"
        "    getattr_1 = x.T;  x = None\n"
        "    getitem = getattr_1[0];  getattr_1 = None\n"
        "    neg = -y;  y = None\n"
        "    add = torch.add(getitem, neg, alpha = 2);  getitem = neg = None\n"
        "    return add\n"
        "    "
    )


def test_wrapped_functions_are_single_nodes() -> None:
    gm = fx.symbolic_trace(lambda x: helper(x) + len(x) + math.sqrt(x[0]))
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"][:2] == [helper, len]
    assert gm(torch.tensor([4.0, 1.0])).tolist() == [12.0, 6.0]
    assert "wrap(" in gm.code
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("helper")


def test_what_cannot_be_traced() -> None:
    with pytest.raises(ValueError, match="control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(ValueError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: [y for y in x])  # noqa: C416


def test_unpacking_knows_its_length() -> None:
    def f(x: Any) -> Any:
        a, b = x.chunk(2)
        return a - b

    assert fx.symbolic_trace(f)(torch.tensor([5.0, 3.0])).tolist() == [2.0]


def test_concrete_arguments() -> None:
    def f(x: Any, flag: bool = True) -> Any:
        return x + 1 if flag else x - 1

    gm = fx.symbolic_trace(f, concrete_args={"flag": False})
    assert gm(torch.ones(1), False).item() == 0
    with pytest.raises(AssertionError, match="specialized"):
        gm(torch.ones(1), True)


def test_custom_tracers() -> None:
    class Through(fx.Tracer):
        def is_leaf_module(self, m: Any, qualified_name: str) -> bool:
            return not isinstance(m, nn.ReLU) and super().is_leaf_module(m, qualified_name)

        def create_node(
            self,
            kind: str,
            target: Any,
            args: Any,
            kwargs: Any,
            name: Any = None,
            type_expr: Any = None,
        ) -> Any:
            n = super().create_node(kind, target, args, kwargs, name, type_expr)
            n.tag = "seen"
            return n

    graph = Through().trace(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    assert [(n.op, n.tag) for n in graph.nodes] == [
        (k, "seen") for k in ("placeholder", "call_function", "call_module", "output")
    ]


def test_inlining_by_proxies() -> None:
    gm = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    for node in gm.graph.nodes:
        if node.op == "call_module" and node.target == "0":
            with gm.graph.inserting_before(node):
                made = getattr(gm, "0")(*fx.node.map_arg(node.args, fx.Proxy))
            node.replace_all_uses_with(made.node)
            gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    assert "relu(input_1, inplace = False)" in gm.code


def test_copies_keep_their_own_graph() -> None:
    gm = fx.symbolic_trace(Model())
    for again in (
        copy.deepcopy(gm),
        pickle.loads(pickle.dumps(fx.symbolic_trace(nn.Linear(2, 2)))),
    ):
        assert isinstance(again, fx.GraphModule)
        assert again.graph is not gm.graph
        assert again.graph.owning_module is again
    other = fx.symbolic_trace(lambda x: x + 1)
    assert type(other).forward is not type(gm).forward
    assert list(gm.state_dict()) == ["scale", "linear.weight", "linear.bias"]


def test_dead_code_and_checks() -> None:
    gm = fx.symbolic_trace(lambda x: (x * 2, x + 1)[1])
    assert gm.graph.eliminate_dead_code()
    assert [n.name for n in gm.graph.nodes] == ["x", "add", "output"]
    x, add, _ = gm.graph.nodes
    with pytest.raises(RuntimeError, match="still had 1 users"):
        gm.graph.erase_node(x)
    add.append(x)
    with pytest.raises(RuntimeError, match="used before it has been defined"):
        gm.graph.lint()


def test_replacing_leaves_other_uses_alone() -> None:
    gm = fx.symbolic_trace(lambda x: torch.relu(x).sum() + torch.relu(x))
    found = fx.replace_pattern(gm, lambda x: torch.relu(x).sum(), lambda x: x.mean())
    assert len(found) == 1
    assert gm(torch.tensor([-4.0, 2.0])).tolist() == [-1.0, 1.0]


def test_modules_from_dictionaries_and_folders(tmp_path: Any) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("inner.layer", (x,)))
    gm = fx.GraphModule({"inner.layer": nn.Linear(2, 1)}, graph)
    assert gm(torch.ones(3, 2)).shape == (3, 1)
    assert gm.delete_submodule("inner.layer")
    with pytest.raises(RuntimeError, match="nonexistent attribute"):
        graph.lint()
    gm.add_submodule("inner.layer", nn.Linear(2, 1))
    graph.lint()
    gm.to_folder(tmp_path / "made", "Made")
    assert "class Made(torch.nn.Module)" in (tmp_path / "made" / "module.py").read_text()


def test_traced_functions_compile() -> None:
    gm = fx.symbolic_trace(Model())
    compiled = torch.compile(gm)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2, 3)), gm(torch.ones(2, 3)))


def test_table(capsys: Any) -> None:
    fx.symbolic_trace(lambda x: x.abs()).graph.print_tabular()
    assert capsys.readouterr().out.splitlines() == [
        "opcode       name    target    args      kwargs",
        "-----------  ------  --------  --------  --------",
        "placeholder  x       x         ()        {}",
        "call_method  abs_1   abs       (x,)      {}",
        "output       output  output    (abs_1,)  {}",
    ]


def test_convolutions_take_in_normalizations_and_dropout_goes() -> None:
    from jtorch.fx.experimental.optimization import (
        extract_subgraph,
        fuse,
        optimize_for_inference,
        remove_dropout,
    )

    net = nn.Sequential(
        nn.Conv2d(1, 2, 3),
        nn.BatchNorm2d(2),
        nn.Dropout(0.5),
        nn.Conv2d(2, 2, 1),
        nn.ReLU(),
        nn.BatchNorm2d(2),
    ).eval()
    with torch.no_grad():
        net[1].running_mean.add_(0.5)
    x = torch.randn(1, 1, 5, 5)
    fused = fuse(net)
    assert [str(n.target) for n in fused.graph.nodes if n.op == "call_module"] == [
        "0",
        "2",
        "3",
        "4",
        "5",
    ]
    assert torch.allclose(fused(x), net(x), atol=1e-5) and isinstance(net[1], nn.BatchNorm2d)
    assert [str(n.target) for n in remove_dropout(net).graph.nodes if n.op == "call_module"] == [
        "0",
        "1",
        "3",
        "4",
        "5",
    ]
    nodes = list(torch.fx.symbolic_trace(net).graph.nodes)
    part = extract_subgraph(net, nodes[1:3], nodes[:1], nodes[2:3])
    assert torch.equal(part(x)[0], net[1](net[0](x)))
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        fuse(net.train())
    with pytest.raises(NotImplementedError, match="MKL-DNN"):
        optimize_for_inference(net)


def test_marks_of_what_stays_as_it_is() -> None:
    def steady() -> None:
        """Once.

        Twice.
        """

    mark = torch.fx._symbolic_trace.compatibility
    assert mark(is_backward_compatible=True)(steady) is steady
    assert str(steady.__doc__).startswith("Once.")
    assert torch.fx.node.compatibility is mark is torch.fx.passes.split_module.compatibility


def test_tracers_of_libraries_patch_as_ours_does() -> None:
    inner = fx._symbolic_trace

    class Sum(nn.Module):
        def __call__(self, x: Any) -> Any:  # not the one that is patched
            return x.sum()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.total = nn.Linear(2, 2), Sum()

        def forward(self, x: Any) -> Any:
            return self.total(self.first(x))

    class Library(fx.Tracer):
        def trace(self, root: Any, concrete_args: Any = None) -> Any:
            self.root, self.graph, self.tensor_attrs = root, fx.Graph(tracer_cls=type(self)), {}
            self.submodule_paths = {m: name for name, m in root.named_modules()}
            assert not isinstance(root, inner.ScriptObject)
            fn, args = self.create_args_for_root(type(root).forward, True, concrete_args)

            def call(mod: Any, *a: Any, **k: Any) -> Any:
                inner._autowrap_check(
                    patcher, getattr(mod.forward, "__globals__", {}), self._autowrap_function_ids
                )
                return self.call_module(
                    mod, lambda *a, **k: inner._orig_module_call(mod, *a, **k), a, k
                )

            with inner._Patcher() as patcher:
                patcher.patch_method(
                    nn.Module,
                    "__getattr__",
                    lambda m, n: self.getattr(n, inner._orig_module_getattr(m, n), {}),
                    False,
                )
                patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
                patcher.patch_method(Sum, "__call__", call, deduplicate=False)
                inner._patch_wrapped_functions(patcher)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
            return self.graph

        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return True

    model = Model()
    before = nn.Module.__call__, nn.Module.__getattr__, Sum.__call__
    graph = Library().trace(model)
    assert [(n.op, n.target) for n in graph.nodes][1:3] == [
        ("call_module", "first"),
        ("call_module", "total"),
    ]
    assert (nn.Module.__call__, nn.Module.__getattr__, Sum.__call__) == before
    x = torch.ones(1, 2)
    assert fx.GraphModule(model, graph)(x) == model(x)


def test_patches_are_undone_in_reverse() -> None:
    names = {"a": len}
    with fx._symbolic_trace._Patcher() as patcher:
        first, second = (lambda: 1), (lambda: 2)
        patcher.patch(names, "a", first)
        patcher.patch(names, "a", second)
        patcher.patch(names, "b", first)
        assert (
            names == {"a": second, "b": first}
            and patcher.visit_once(names)
            and not patcher.visit_once(names)
        )
    assert names == {"a": len}
