"""Tracers of packages that are made of the parts of this package's own, and names of nodes."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.fx import Graph
from jtorch.fx import _symbolic_trace as st
from jtorch.fx._compatibility import compatibility


class Block(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x) + 1.0


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block, self.linear = Block(), nn.Linear(2, 2)

    def forward(self, x: Any) -> Any:
        return self.linear(self.block(x))


class WholeBlocks(st.Tracer):
    """Written as packages write it: with the patcher and the originals of the module."""

    @st.compatibility(is_backward_compatible=True)
    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        self.root, self.graph = root, Graph(tracer_cls=type(self))
        self.submodule_paths = {module: name for name, module in root.named_modules()}
        fn, args = self.create_args_for_root(type(root).forward, True, concrete_args)

        @functools.wraps(st._orig_module_call)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(
                module, lambda *a, **k: st._orig_module_call(module, *a, **k), args, kwargs
            )

        with st._Patcher() as patcher:
            patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
            patcher.patch_method(Block, "__call__", call, deduplicate=False)
            st._patch_wrapped_functions(patcher)
            st._autowrap_check(patcher, fn.__globals__, self._autowrap_function_ids)
            assert not patcher.visit_once(fn.__globals__)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
        return self.graph

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return isinstance(m, Block) or super().is_leaf_module(m, module_qualified_name)


def test_a_tracer_of_ones_own() -> None:
    before = nn.Module.__call__
    graph = WholeBlocks().trace(Net())
    assert [str(node.target) for node in graph.nodes] == ["x", "block", "linear", "output"]
    assert nn.Module.__call__ is before is st._orig_module_call and "__call__" not in vars(Block)
    assert "stay as it is" in str(WholeBlocks.trace.__doc__)


def test_replacements_are_taken_back_in_between() -> None:
    table: dict[str, Any] = {"f": abs}
    with st._Patcher() as patcher:
        patcher.patch(table, "f", lambda x: "first")
        patcher.patch(table, "f", lambda x: "second")
        patcher.patch(table, "new", lambda x: "new")
        assert table["f"](-1) == "second"
        patcher.revert_all_patches()
        assert table == {"f": abs}
        patcher.reapply_all_patches()
        assert table["f"](-1) == "second" and table["new"](0) == "new"
        patcher.patch(table, "f", lambda x: "third", deduplicate=False)
        assert table["f"](-1) == "third"
    assert table == {"f": abs}


def test_a_trace_can_be_stepped_out_of() -> None:
    names = []

    class Looking(nn.Module):
        def forward(self, x: Any) -> Any:
            names.append(nn.Module.__call__ is st._orig_module_call)
            with st._maybe_revert_all_patches():
                names.append(nn.Module.__call__ is st._orig_module_call)
            names.append(nn.Module.__call__ is st._orig_module_call)
            return x

    st.symbolic_trace(Looking())
    assert names == [False, True, False] and st.CURRENT_PATCHER is None
    with st._maybe_revert_all_patches():
        assert nn.Module.__call__ is st._orig_module_call


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("x x x_1 x", "x x_1 x_2 x_3"),
        # a name without a number that is free is taken as it is
        ("conv_1 conv conv_1", "conv_1 conv conv_2"),
        ("x_3 x_0 x x_0", "x_3 x_0 x x_1"),
        ("x_01 x_1 sum _1 _1", "x_01 x_1 sum_1 _1 _1_1"),
    ],
)
def test_names_of_nodes(asked: str, given: str) -> None:
    graph = Graph()
    assert [
        graph.create_node("placeholder", name, name=name).name for name in asked.split()
    ] == given.split()


def test_marks_are_noted() -> None:
    @compatibility(is_backward_compatible=False)
    def draft() -> None:
        """Does nothing."""

    assert (
        draft.__doc__ is not None
        and draft.__doc__.startswith("Does nothing.")
        and "may change" in draft.__doc__
    )


def test_tracers_whose_own_proxies_know_no_factories() -> None:
    class Noting(st.Tracer):
        noted: ClassVar[list[str]] = []

        def create_proxy(
            self,
            kind: str,
            target: Any,
            args: Any,
            kwargs: Any,
            name: Any = None,
            type_expr: Any = None,
            *_: Any,
        ) -> Any:
            self.noted.append(kind)
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return x * self.scale

    graph = Noting(param_shapes_constant=True).trace(Scaled())
    assert (
        Noting.noted
        == ["placeholder", "get_attr", "call_function"]
        == [node.op for node in graph.nodes][:-1]
    )
