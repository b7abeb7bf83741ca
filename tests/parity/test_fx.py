"""Graphs of functions print, read as code, run and are rewritten as PyTorch's."""

# ruff: noqa: PLW0108, FURB171  (what is traced is written out)

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def modules(lib: Any) -> dict[str, Any]:
    nn = lib.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = nn.Linear(2, 3)
            self.p = nn.Parameter(lib.ones(3))
            self.seq = nn.Sequential(nn.ReLU(), nn.Linear(3, 3))

        def forward(self, x, y=None, *, z: int = 3):  # type: ignore[no-untyped-def]
            h = self.l(x) + self.p
            h = nn.functional.relu(h, inplace=False)
            a, _ = h.chunk(2, dim=-1)
            h = self.seq(h)[:, 1:]
            h = h.reshape(-1, h.shape[0])
            h = (1 - -h) ** 2
            h = lib.add(h, 3, alpha=2) * 0.5
            w = lib.zeros(3, dtype=lib.float32, device=lib.device("cpu"))
            return {"a": h, "b": (a, [w])}, x.T

    class Buffers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", lib.ones(2))
            self.c = lib.ones(2)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return x + self.b + self.c

    return {
        "model": Model(),
        "buffers": Buffers(),
        "sequential": nn.Sequential(nn.Linear(2, 2), nn.Tanh()),
    }


def functions(lib: Any) -> dict[str, Any]:
    def operators(x, y):  # type: ignore[no-untyped-def]
        z = (x.T @ y) & y == 3
        w = lib.where(z, x, y)
        return (
            w.to(lib.float16), w.sum(dim=[0, 1]), x.clone()[..., None], math.sqrt(x), abs(x), -x,
            x.some.attr, (x > 1) | (y <= 2), x // y, x(3), {1: x}, slice(x, y), 3 < x, 2 @ x,  # noqa: SIM300
            x << 1, ~x, +x, x != y, x % 2, 2 % x, 1 / x,
        )  # fmt: skip

    def constants(x):  # type: ignore[no-untyped-def]
        return (
            lib.zeros(2) + x * float("inf") + float("nan"),
            [x, (x,)],
            lib.Size([1, 2]),
            lib.device("cpu"),
            1j,
            lib.float64,
            "text",
        )

    def stars(*args, **kw):  # type: ignore[no-untyped-def]
        return args[0] + kw["z"]

    def keyword_only(x, *, k=2):  # type: ignore[no-untyped-def]
        return x + k

    return {
        "operators": operators, "constants": constants, "stars": stars,
        "keyword_only": keyword_only, "iterates": lambda x: [a for a in x],  # noqa: C416
        "len": lambda x: len(x), "bool": lambda x: bool(x), "int": lambda x: int(x),
        "contains": lambda x: x in [1], "range": lambda x: range(x), "unpacks": lambda x: {**x},
        "sizes": lambda x: x.size(0) + x.shape[1], "unbound": lambda x: lib.Tensor.add(x, 1),
        "softmax": lambda x: lib.nn.functional.softmax(x, dim=-1) + x.view(1, 2).unsqueeze(0),
        "in_place": lambda x: lib.relu_(x).add_(1), "cat": lambda x,
        y: lib.cat([x, y], dim=0).split(2),
    }  # fmt: skip


def told(lib: Any, f: Any, **options: Any) -> str:
    try:
        gm = lib.fx.symbolic_trace(f, **options)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "\n".join(
        [str(gm.graph), gm.code, repr(gm), str(gm), gm.print_readable(print_output=False)]
    )


@pytest.mark.parametrize("name", functions(jtorch))
def test_functions(name: str) -> None:
    assert told(jtorch, functions(jtorch)[name]) == told(torch, functions(torch)[name])


@pytest.mark.parametrize("name", modules(jtorch))
def test_modules(name: str) -> None:
    assert told(jtorch, modules(jtorch)[name]) == told(torch, modules(torch)[name])


def test_concrete_arguments() -> None:
    for values in ({"b": 2}, {"b": None}, {"b": "text"}):
        ours, theirs = (
            told(lib, lambda a, b=1: (a, b), concrete_args=values) for lib in (jtorch, torch)
        )
        assert ours == theirs


def script(lib: Any, say: Any) -> None:
    """Edits, passes, copies; says what comes of each."""
    fx = lib.fx
    gm = fx.symbolic_trace(modules(lib)["buffers"])
    for again in (copy.deepcopy(gm), pickle.loads(pickle.dumps(gm))):
        say(type(again).__name__, again.code == gm.code, again(lib.ones(2)).tolist())
    gm = fx.symbolic_trace(lambda x: lib.relu(lib.relu(x) + 1))
    say(fx.replace_pattern(gm, lambda x: lib.relu(x), lambda x: lib.sigmoid(x) * 2), gm.code)
    gm = fx.symbolic_trace(lambda x, w: lib.add(lib.cat([x, w]).sum(), lib.cat([w, x]).sum()))
    say(
        fx.replace_pattern(
            gm, lambda a, b: lib.cat([a, b]).sum(), lambda a, b: lib.stack([a, b]).mean()
        ),
        gm.code,
    )
    say(gm(lib.ones(2), lib.zeros(2)).item())

    class Changing(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(
                lib.sigmoid if target is lib.relu else target, args, kwargs
            )

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("tanh" if target == "neg" else target, args, kwargs)

    made = Changing(fx.symbolic_trace(lambda x: (lib.relu(x) + 1).neg())).transform()
    say(made.code)

    class Telling(fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            say(n.name, n.op)
            return super().run_node(n)

    Telling(made).run(lib.zeros(2))
    for run in (
        lambda: Telling(made).run(),
        lambda: fx.Interpreter(fx.symbolic_trace(lambda x: x.foo())).run(lib.ones(2)),
    ):
        try:
            run()
        except Exception as e:
            say(type(e).__name__, e)

    from importlib import import_module

    shapes = import_module(f"{lib.__name__}.fx.passes.shape_prop")
    gm = fx.symbolic_trace(lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.ReLU()))
    shapes.ShapeProp(gm).propagate(lib.ones(4, 3))
    say([(n.name, n.meta.get("tensor_meta"), n.meta["type"].__name__) for n in gm.graph.nodes])
    split = import_module(f"{lib.__name__}.fx.passes.split_module").split_module
    gm = fx.symbolic_trace(lambda x: (lib.relu(x) + 1) * lib.sigmoid(x))
    parts = {"relu": 0, "add": 0, "sigmoid": 1, "mul": 1}
    made = split(gm, gm, lambda n: parts[n.name])
    say(made.code, made.submod_0.code, made.submod_1.code)

    graph = gm.graph
    for n in graph.nodes:
        if n.target is lib.relu:
            with graph.inserting_after(n):
                new = graph.call_function(lib.tanh, n.args)
                n.replace_all_uses_with(new)
            graph.erase_node(n)
    unused = graph.create_node("call_method", "abs", (new,))
    say(graph, unused.next.op, unused.prev)
    gm.recompile()
    say(gm.code)
    output = graph.output_node if False else next(iter(reversed(graph.nodes)))
    output.prepend(unused)
    graph.lint()
    say(graph.eliminate_dead_code(), gm.recompile().src)
    n = list(graph.nodes)[1]
    say(
        n.next,
        n.prev,
        n < n.next,
        n.args,
        n.kwargs,
        n.users,
        n.format_node(),
        graph.find_nodes(op="placeholder"),
    )
    for change in (lambda: n.kwargs.update({1: 2}), lambda: graph.erase_node(n),
                   lambda: graph.create_node("zz", "a"),
                   lambda: graph.call_function("text")):  # fmt: skip
        try:
            change()
        except Exception as e:
            say(type(e).__name__, str(e)[:60])
    graph = fx.Graph()
    x = graph.placeholder("x", lib.Tensor)
    y = graph.placeholder("y", int, 3)
    z = graph.placeholder("pow")
    graph.output((x, [y], {"k": slice(x, None), "z": z}))
    say(graph, graph.python_code("self").src)
    graph.print_tabular()


def test_script(capsys: Any) -> None:
    said: list[list[str]] = []
    for lib in (torch, jtorch):
        said.append([])
        script(
            lib,
            lambda *words: said[-1].append(
                " ".join(str(w).replace("jtorch", "torch") for w in words)
            ),
        )
        said[-1].append(capsys.readouterr().out if lib is jtorch or _has_tabulate() else "")
    if not _has_tabulate():
        said[1][-1] = ""
    assert said[1] == said[0]


def _has_tabulate() -> bool:
    import importlib.util

    return importlib.util.find_spec("tabulate") is not None


TRACED = {
    "products": (lambda lib, x, y: (x @ y).relu().sum(0), [(2, 3), (3, 2)]),
    "constants": (lambda lib, x: x + lib.ones(3) * 2, [(3,)]),
    "views": (lambda lib, x: x.t()[0], [(2, 3)]),
    "gradient": (lambda lib, x: lib.func.grad(lambda z: (z.sin() * z).sum())(x), [(3,)]),
    "several": (lambda lib, x: x.max(0), [(2, 3)]),
    "in place": (lambda lib, x: x.clone().add_(1), [(2,)]),
    "softmax": (lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, 1])), [(2, 3)]),
    "tree": (lambda lib, x, y: {"a": [x + y], "b": x}, [(2,), (2,)]),
}


@pytest.mark.parametrize("name", TRACED)
def test_make_fx(name: str) -> None:
    """The same code from functions traced by operators."""
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    from jtorch.fx.experimental.proxy_tensor import make_fx as ours

    function, shapes = TRACED[name]
    code = []
    for lib, make in ((torch, theirs), (jtorch, ours)):
        code.append(make(_bound(function, lib, len(shapes)))(*[lib.ones(*s) for s in shapes]).code)
    assert code[1] == code[0]


def _bound(function: Any, lib: Any, count: int) -> Any:
    return (lambda x: function(lib, x)) if count == 1 else (lambda x, y: function(lib, x, y))


def test_functions_as_roots_have_a_body_or_are_refused():
    import inspect

    import torch.fx as their_fx

    import jtorch.fx as our_fx

    wrong = []
    for name in dir(torch.nn.functional):
        theirs, ours = getattr(torch.nn.functional, name), getattr(jtorch.nn.functional, name, None)
        if (
            name.startswith("_")
            or not name.islower()
            or ours is None
            or not callable(theirs)
            or "torch_function" in name
        ):
            continue
        said = []
        for fx, f in ((their_fx, theirs), (our_fx, ours)):
            try:
                graph = fx.symbolic_trace(f).graph
                said.append([str(n.target) for n in graph.nodes if n.op == "placeholder"])
            except AssertionError as e:
                said.append(str(e))
            except Exception:  # a body that cannot be traced with all its arguments unknown
                said.append("cannot")
        if inspect.isbuiltin(theirs) and said[0] != said[1]:
            wrong.append((name, said))
        if not inspect.isbuiltin(theirs) and "Expected FunctionType" in said[1]:
            wrong.append((name, said))
    assert wrong == []
    for lib, fx in ((torch, their_fx), (jtorch, our_fx)):
        for f, kind in (
            (lib.relu, "builtin_function_or_method"),
            (lib.Tensor.add, "method_descriptor"),
            (3, "int"),
        ):
            with pytest.raises(
                AssertionError, match=f"Expected FunctionType, got <class '{kind}'>"
            ):
                fx.symbolic_trace(f)


def test_annotations_of_a_function_of_torch_are_those_of_tensors():
    import inspect

    graph = jtorch.fx.symbolic_trace(jtorch.nn.functional.relu).graph
    assert next(iter(graph.nodes)).type is jtorch.Tensor and "jax" not in str(graph)
    for name in ("relu", "linear", "softmax", "cross_entropy"):
        assert (
            next(
                iter(inspect.signature(getattr(jtorch.nn.functional, name)).parameters.values())
            ).annotation
            is jtorch.Tensor
        )


def literals(lib: Any) -> list[Any]:
    """Where the arguments of patterns stand for what are no nodes."""

    def added_twice(x: Any) -> Any:
        return lib.add(lib.relu(lib.add(lib.relu(x), 2)), lib.relu(lib.add(x, x * 3)))

    def pattern(x: Any, n: Any) -> Any:
        return lib.relu(lib.add(x, n))

    programs = [
        (added_twice, pattern, lambda x, n: lib.mul(x, n)),
        (
            lambda x: lib.relu(lib.add(lib.relu(lib.add(x, 2)), 3)),
            pattern,
            lambda x, n: lib.mul(n, x),
        ),
        (lambda x: x.view([2, x.size(0) // 2]), lambda x, s: x.view(s), lambda x, s: x.reshape(s)),
        (
            lambda x: lib.add(lib.mul(x, 2), 2),
            lambda x, n: lib.add(lib.mul(x, n), n),
            lambda x, n: lib.sub(x, n),
        ),
        (
            lambda x: lib.add(lib.mul(x, 2), 3),
            lambda x, n: lib.add(lib.mul(x, n), n),
            lambda x, n: lib.sub(x, n),
        ),
        (
            lambda x: lib.sum(x, dim=None),
            lambda x, d: lib.sum(x, dim=d),
            lambda x, d: lib.mean(x, dim=d),
        ),
        (
            lambda x: lib.add(x, 2) + lib.add(x, 2.5),
            lambda x: lib.add(x, 2),
            lambda x: lib.sub(x, 1),
        ),
    ]
    found = []
    for program, wanted, instead in programs:
        gm = lib.fx.symbolic_trace(program)
        matches = lib.fx.replace_pattern(gm, wanted, instead)
        found.append(
            (
                gm.code,
                [{str(k): str(v) for k, v in m.nodes_map.items()} for m in matches],
                gm(lib.ones(4)).tolist(),
            )
        )
    return found


def test_patterns_with_literals() -> None:
    assert literals(jtorch) == literals(torch)


def test_functions_that_are_one_in_pytorch_are_one() -> None:
    """``nn.functional.conv2d`` is ``torch.conv2d``: handlers and graphs may be told of either."""

    def shared(lib: Any) -> set[str]:
        places = lib.nn.functional
        return {
            name
            for name in dir(places)
            if callable(found := getattr(places, name))
            and not isinstance(found, type)
            and found is getattr(lib, name, None)
            and not name.startswith("_")
        }

    assert shared(torch) - shared(jtorch) == set()
    assert len(shared(torch)) > 20


def test_graphs_call_functions_by_pytorchs_names() -> None:
    def code(lib: Any) -> str:
        def f(x: Any, w: Any) -> Any:
            x = lib.nn.functional.conv2d(x, w)
            x = lib.nn.functional.linear(lib.nn.functional.gelu(x), w)
            x = lib.nn.functional.softmax(lib.nn.functional.logsigmoid(x), 1)
            return lib.linalg.inv(lib.special.erf(lib.fft.fft(lib.relu(x))))

        # what PyTorch calls logsigmoid itself has an underscore
        found = lib.fx.symbolic_trace(f).code.replace("log_sig", "logsig")
        return found.replace("jtorch", "torch")

    assert code(jtorch) == code(torch)


def tagged(t: Any, return_tuple: bool) -> list[str]:
    from importlib import import_module

    split = import_module(f"{t.__name__}.fx.passes.split_utils").split_by_tags

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = t.nn.Linear(2, 2)
            self.rest = t.nn.Sequential(t.nn.Linear(2, 2))
            self.p = t.nn.Parameter(t.ones(2))

        def forward(self, x, y):
            a = self.first(x)
            b = self.rest(a) + self.p
            c = a * y
            return b + c, {"a": a, "y": y, "p": self.p}

    module = t.fx.symbolic_trace(Net())
    tags = {"first": "red", "rest_0": "blue", "add": "blue", "mul": "red", "add_1": "green"}
    for node in module.graph.nodes:
        if node.name in tags:
            node.tag = tags[node.name]
    made, names = split(module, ["red", "blue", "green"], True, return_tuple)
    x = t.ones(1, 2)
    assert t.equal(made(x, x)[0], module(x, x)[0])
    codes = [m.code for m in (made, made.red, made.blue, made.green)]
    return [*codes, str(names), str(sorted(made.state_dict()))]


@pytest.mark.parametrize("return_tuple", [False, True])
def test_parts_by_tags(return_tuple: bool) -> None:
    assert tagged(jtorch, return_tuple) == tagged(torch, return_tuple)


def replaced(t: Any) -> tuple[int, str]:
    linear = t.nn.functional.linear

    def forward(x, w):
        y = linear(x, w)
        return y * t.sigmoid(y)

    def pattern(a, b, c):
        y = linear(a, b)
        return y, y * c

    module = t.fx.symbolic_trace(forward)
    found = t.fx.subgraph_rewriter.replace_pattern(module, pattern, lambda a, b, c: (a, b * c))
    return len(found), module.code


def test_patterns_whose_arguments_depend_on_their_results_are_not_found() -> None:
    assert replaced(jtorch) == replaced(torch)


def test_names_of_pythons_operators() -> None:
    import operator
    from importlib import import_module

    mine, theirs = (import_module(f"{t}.fx.node")._get_qualified_name for t in ("jtorch", "torch"))
    relu = torch.nn.functional.relu
    for function in (operator.getitem, operator.add, operator.concat, len, relu):
        own = jtorch.nn.functional.relu if function is relu else function
        assert mine(own) == theirs(function)
