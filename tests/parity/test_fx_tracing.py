"""Graphs of functions with annotations, nested arguments and modules have PyTorch's code, notes and
errors."""

# ruff: noqa: PLW0108  (what is traced is written out)

from __future__ import annotations

import copy

# ruff: noqa: PLW0108  (what is traced is written out)
import importlib
import pickle
import typing
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Pair = namedtuple("Pair", "x y")
LIBS = ["torch", "jtorch"]


def annotated(lib: Any) -> list[Any]:
    def functions() -> list[Any]:
        def a(x, y, z, *, w=3): ...  # type: ignore[no-untyped-def]

        def b(x, y=None): ...  # type: ignore[no-untyped-def]

        def c(x, y, z, w): ...  # type: ignore[no-untyped-def]

        def d(x, y, z): ...  # type: ignore[no-untyped-def]

        T = lib.Tensor
        a.__annotations__ = {"x": list[str], "y": typing.Tuple[int, T | None], "w": int | None,  # noqa: UP006
                             "return": typing.List[T]}  # noqa: UP006  # fmt: skip
        b.__annotations__ = {
            "x": typing.Tuple,  # noqa: UP006
            "y": typing.Callable,
            "return": typing.Dict[str, typing.List[int]],  # noqa: UP006
        }
        c.__annotations__ = {
            "x": typing.Any,
            "y": tuple[()],
            "z": typing.Tuple[T, ...],  # noqa: UP006
            "w": typing.Union[int, str],
        }
        d.__annotations__ = {
            "x": lib.device,
            "y": lib.dtype,
            "z": lib.nn.Module,
            "return": typing.List,  # noqa: UP006
        }
        return [a, b, c, d]

    return functions()


@pytest.mark.parametrize("number", range(4))
def test_annotations_are_written_alike_and_survive_pickling(number: int) -> None:
    texts = []
    for name in LIBS:
        lib = importlib.import_module(name)
        gm = lib.fx.symbolic_trace(annotated(lib)[number])
        copies = [copy.deepcopy(gm), pickle.loads(pickle.dumps(gm))]
        texts.append([gm.code.replace("jtorch", "torch"), str(gm.graph), *[g.code for g in copies]])
    assert texts[0] == texts[1]


def trees(ph: Any) -> list[tuple[Any, Any, Any]]:
    return [
        (lambda x: sum(x), {"x": [ph, ph]}, ([1, 2],)),
        (lambda x: sum(x), {"x": []}, ([],)),
        (
            lambda x: {"q": x["a"] + x["b"], "r": [x["a"]]},
            {"x": {"a": ph, "b": ph}},
            ({"a": 1, "b": 2},),
        ),
        (
            lambda b, a: a["a"] if b else a["z"],
            {"a": {"a": ph, "z": ph}, "b": True},
            (True, {"a": 1, "z": 2}),
        ),
        (lambda x, y: x[0] + y, {"x": (ph, 3)}, ((1, 3), 2)),
        (lambda x: x.x - x.y, {"x": Pair(ph, ph)}, (Pair(5, 3),)),
    ]


@pytest.mark.filterwarnings("ignore:.*LeafSpec.*:FutureWarning")
@pytest.mark.parametrize("number", range(6))
def test_nested_arguments_are_taken_apart_alike(number: int) -> None:
    seen = []
    for name in LIBS:
        lib = importlib.import_module(name)
        function, concrete, given = trees(importlib.import_module(name + ".fx").PH)[number]
        gm = lib.fx.symbolic_trace(function, concrete_args=concrete)
        again = lib.fx.symbolic_trace(gm)
        results = [
            g(*given) for g in (gm, again, copy.deepcopy(gm), pickle.loads(pickle.dumps(again)))
        ]
        results.append(lib.fx.Interpreter(gm).run(*given))
        assert results == [function(*given)] * 5
        seen.append((gm.code, again.code, str(gm.graph)))
    assert seen[0] == seen[1]


def modules(lib: Any) -> Any:
    class Double(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Whole(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.i, self.l = Double(), lib.nn.Linear(2, 2)
            self.seq = lib.nn.Sequential(lib.nn.ReLU(), self.i)

        def forward(self, a: Any) -> Any:
            return self.seq(self.l(self.i(a))) + self.i(a)

    return Whole()


def test_nodes_know_the_modules_they_come_from_also_after_a_transformer() -> None:
    seen = []
    for name in LIBS:
        lib = importlib.import_module(name)
        gm = lib.fx.symbolic_trace(modules(lib))
        for g in (gm, lib.fx.Transformer(gm).transform()):
            stacks = [n.meta.get("nn_module_stack", {}) for n in g.graph.nodes]
            assert all(isinstance(s, OrderedDict) for s in stacks if s)
            seen.append([[(k, path, cls.__name__) for k, (path, cls) in s.items()] for s in stacks])
    assert seen[0] == seen[2] and seen[1] == seen[3]


@pytest.mark.parametrize("path", ["log_", "add", "rand", "nn.functional.relu", "Tensor.add_",
                                  "nn.functional.linear", "Tensor.shape",
                                  "special.expm1", "device", "float32"])  # fmt: skip
def test_names_of_types_and_functions(path: str) -> None:
    found = []
    for name in LIBS:
        lib = importlib.import_module(name)
        thing: Any = lib
        for part in path.split("."):
            thing = getattr(thing, part)
        found.append(lib.typename(thing).replace("jtorch", "torch"))
    assert found[0] == found[1]


def written(lib: Any) -> list[Any]:
    return [
        lambda x: lib.sigmoid(x, out=lib.rand_like(x)),
        lambda x: lib.relu_(x),
        lambda x: x.add_(1),
        lambda x: lib.nn.functional.relu(x, inplace=True),
    ]


@pytest.mark.parametrize("number", range(4))
def test_operations_that_write_are_refused_alike(number: int) -> None:
    said = []
    for name in LIBS:
        lib = importlib.import_module(name)
        tracer = lib.fx.Tracer()
        tracer.check_mutable_operations = True
        try:
            tracer.trace(written(lib)[number])
            said.append("nothing")
        except RuntimeError as e:
            said.append(str(e))
    assert said[0] == said[1]


def test_transforming_leaves_gradients_on() -> None:
    seen = []
    for lib in (torch, jtorch):

        class Look(lib.fx.Transformer):  # type: ignore[name-defined, misc]
            def call_function(self, target: Any, args: Any, kwargs: Any, lib: Any = lib) -> Any:
                seen.append(lib.is_grad_enabled())
                return super().call_function(target, args, kwargs)

        Look(lib.fx.symbolic_trace(lambda x: x + 1)).transform()
    assert seen == [True, True]


def test_nodes_are_noted_with_the_module_that_they_were_traced_in() -> None:
    found = []
    for lib in (torch, jtorch):

        class Inner(lib.nn.Module):
            def forward(self, x: Any) -> Any:
                return x + 1

        class Outer(lib.nn.Module):
            def __init__(self, lib: Any = lib, inner: Any = Inner) -> None:
                super().__init__()
                self.inner, self.layer = inner(), lib.nn.Linear(2, 2)

            def forward(self, x: Any) -> Any:
                return self.layer(self.inner(x)).relu()

        tracer = lib.fx.Tracer()
        tracer.trace(Outer())
        scopes = tracer.node_name_to_scope
        found.append({n: (path, getattr(k, "__name__", k)) for n, (path, k) in scopes.items()})
    assert found[0] == found[1]


def test_functions_that_pytorch_writes_as_methods_are_methods_in_graphs() -> None:
    def nodes(lib: Any) -> list[Any]:
        F = lib.nn.functional

        def f(x: Any) -> Any:
            return F.sigmoid(x) + F.tanh(x)

        return [(n.op, n.name) for n in lib.fx.symbolic_trace(f).graph.nodes]

    assert nodes(torch) == nodes(jtorch)
