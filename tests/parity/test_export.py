"""Exported graphs, fake tensors and backends' graphs are PyTorch's."""

from __future__ import annotations

import io
import operator
import re
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
# (of PyTorch's own trees)
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore::FutureWarning")]


def _mlp(t: Any) -> Any:
    return t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Dropout(0.1), t.nn.Linear(8, 2))


def _cnn(t: Any) -> Any:
    return t.nn.Sequential(
        t.nn.Conv2d(3, 4, 3, padding=1), t.nn.BatchNorm2d(4), t.nn.ReLU(), t.nn.MaxPool2d(2),
        t.nn.AdaptiveAvgPool2d(1), t.nn.Flatten(), t.nn.Linear(4, 10),
    )  # fmt: skip


def _encoder(t: Any) -> Any:
    return t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


MODELS = {"mlp": (_mlp, (3, 4)), "cnn": (_cnn, (3, 3, 4, 4)), "encoder": (_encoder, (2, 5, 8))}


def _described(program: Any) -> list[Any]:
    rows = []
    for n in program.graph.nodes:
        target = str(n.target).replace("<built-in function ", "").rstrip(">")
        text = re.sub(r"sym_size_int(_\d+)?|\bmul(_\d+)?\b", "size", f"{n.args} {n.kwargs}")
        # the order of sizes is free, and so are their numbers
        if "sym_size" in target or target == "mul":
            continue
        rows.append((n.op, n.name, target if n.op != "placeholder" else "", text))
    return rows


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_graphs_signatures_and_ranges(name: str, train: bool, dynamic: bool) -> None:
    found = []
    for t in (jtorch, torch):
        make, shape = MODELS[name]
        sizes = None
        if dynamic:
            sizes = (
                {
                    0: t.export.Dim("batch"),
                    **({1: t.export.Dim("length")} if name == "encoder" else {}),
                },
            )
        program = t.export.export(make(t).train(train), (t.randn(shape),), dynamic_shapes=sizes)
        vals = [
            str(tuple(n.meta["val"].shape))
            for n in program.graph.nodes
            if hasattr(n.meta.get("val"), "shape")
        ]
        heads = [
            line
            for line in str(program).splitlines()
            if "def forward" in line or ("layer_norm" in line and " = torch" in line)
        ]
        found.append(
            (
                _described(program),
                str(program.graph_signature),
                vals,
                [str(k) for k in program.range_constraints],
                heads,
            )
        )
    for mine, theirs in zip(*found, strict=True):
        assert mine == theirs


def test_losses_are_one_operator() -> None:
    found = []
    for t in (jtorch, torch):
        F = t.nn.functional

        class Losses(t.nn.Module):
            def forward(self, x: Any, y: Any, F: Any = F) -> Any:
                return (
                    F.kl_div(x, y, reduction="batchmean"),
                    F.kl_div(x, y, reduction="sum", log_target=True),
                    F.triplet_margin_loss(x, y, y, margin=2.0), F.poisson_nll_loss(x, y),
                )  # fmt: skip

        found.append(_described(t.export.export(Losses(), (t.ones(2, 3), t.ones(2, 3)))))
    assert found[0] == found[1]


@pytest.mark.parametrize("train", [False, True])
def test_functional_graphs(train: bool) -> None:
    found = []
    for t in (jtorch, torch):
        program = t.export.export(_cnn(t).train(train), (t.randn(3, 3, 4, 4),)).run_decompositions()
        kinds = [(s.kind.name, s.target) for s in program.graph_signature.output_specs]
        targets = [
            str(n.target).replace("<built-in function ", "").rstrip(">")
            for n in program.graph.nodes
            if n.op == "call_function"
        ]
        found.append((kinds, targets))
    assert found[0] == found[1]


SHAPES = {
    "permuted": lambda t, x: x.permute(2, 0, 1) + 1,
    "matmul": lambda t, x: x @ x.mT,
    "conv": lambda t, x: t.nn.functional.conv1d(x, t.ones(4, 3, 2), stride=2),
    "topk": lambda t, x: x.topk(2, 1)[1],
    "sum": lambda t, x: x.sum((0, 2), keepdim=True).to(t.float64),
    "expand": lambda t, x: x[:1].expand(4, -1, -1),
    "cat": lambda t, x: t.cat([x, x], 1)[:, ::2],
}


@pytest.mark.parametrize("name", SHAPES)
def test_fake_tensors(name: str) -> None:
    found = []
    for t in (jtorch, torch):
        if t is jtorch:
            from jtorch._subclasses.fake_tensor import FakeTensorMode
        else:
            from torch._subclasses.fake_tensor import FakeTensorMode  # type: ignore[assignment]
        with FakeTensorMode():
            y = SHAPES[name](t, t.randn(2, 3, 5))
        found.append((repr(y), tuple(y.shape), y.stride(), str(y.dtype), y.storage_offset()))
    assert found[0] == found[1]


def test_pieces_for_backends() -> None:
    found = []
    for t in (jtorch, torch):
        graphs: list[Any] = []

        def backend(module: Any, inputs: Any, graphs: list[Any] = graphs) -> Any:
            names = [
                n.name if n.op == "placeholder" else getattr(n.target, "__name__", n.target)
                for n in module.graph.nodes
            ]
            graphs.append([(n.op, name) for n, name in zip(module.graph.nodes, names, strict=True)])
            return module.forward

        def f(x: Any, y: Any, t: Any = t) -> Any:
            a = t.sin(x) + y.cos().view(-1)
            if a.sum() > 0:
                a = a * 2
            with t.no_grad():
                b = a @ a
            return a.relu(), b

        t.compile(f, backend=backend)(t.ones(4), t.ones(2, 2))
        found.append(graphs)
    mine, theirs = found
    assert mine[0] == theirs[0]
    drop = ("placeholder",)
    assert [row for row in mine[1] if row[0] not in drop] == [
        row for row in theirs[1] if row[0] not in drop
    ]


class _Repeated:
    """A module with parts that are called more than once, alike and otherwise, and by another
    name."""

    def __new__(cls, t: Any) -> Any:
        class Inner(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = t.nn.Linear(3, 3)
                self.register_buffer("offset", t.ones(3))

            def forward(self, x: Any, k: int = 1) -> Any:
                return self.layer(self.layer(x)) + self.offset * k

        class Net(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner, self.norm = Inner(), t.nn.BatchNorm1d(3)
                self.steps = t.nn.Sequential(t.nn.Linear(3, 3), t.nn.ReLU())
                self.alias = self.steps[0]

            def forward(self, x: Any, more: Any) -> Any:
                y = self.inner(x)
                z = self.alias(self.inner(self.steps(y) + more["u"], k=2))
                return {"out": self.norm(self.inner(z)), "sums": [y, x + y]}

        return Net()


def test_unflattened_programs() -> None:
    found = []
    for t in (jtorch, torch):
        program = t.export.export(_Repeated(t), (t.randn(4, 3), {"u": t.ones(3)}))
        operators = [
            n
            for p in (program, program.run_decompositions())
            for n in p.graph.nodes
            if n.op == "call_function"
        ]
        stacks = [
            [(key, path) for key, (path, _) in n.meta["nn_module_stack"].items()] for n in operators
        ]
        parts = t.export.unflatten(program)
        graphs = {}
        for name, module in parts.named_modules():
            nodes = [
                (n.op, n.name, str(n.target), str(n.args))
                for n in module.graph.nodes
                if n.op != "get_attr"
            ]
            graphs[name] = (
                nodes,
                {(n.name, n.target) for n in module.graph.nodes if n.op == "get_attr"},
            )
        found.append(
            (stacks, graphs, sorted(parts.state_dict()), [n for n, _ in parts.named_parameters()])
        )
    for mine, theirs in zip(*found, strict=True):
        assert mine == theirs


class _Parts:
    """Modules that are called in another order than they were registered in, several times, with
    two results, or never."""

    def __new__(cls, t: Any) -> Any:
        class Two(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.never, self.kept = t.nn.Linear(1, 1), t.nn.Parameter(t.ones(3))

            def forward(self, x: Any) -> Any:
                return x + self.kept, x * x

        class Net(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.last, self.act, self.two, self.unused = (
                    t.nn.Linear(3, 3),
                    t.nn.Tanh(),
                    Two(),
                    t.nn.Dropout(),
                )

            def forward(self, x: Any) -> Any:
                return self.last(sum(self.two(self.act(x)))) + self.act(x)

        return Net()


def _parts(t: Any) -> Any:
    program = t.export.export(_Parts(t), (t.ones(2, 3),))
    file = io.BytesIO()
    t.export.save(program, file)
    file.seek(0)
    found = []
    for p in (program, t.export.load(file)):
        parts = t.export.unflatten(p)
        calls = [
            (n.name, type(n.meta["val"]).__name__)
            for n in parts.graph.nodes
            if n.op not in ("placeholder", "output")
        ]
        found.append(
            (
                [e.fqn for e in p.module_call_graph],
                [n for n, _ in parts.named_modules()],
                list(parts.state_dict()),
                calls,
            )
        )
    return found


def test_modules_are_in_the_order_that_they_had() -> None:
    assert _parts(jtorch) == _parts(torch)


def _by_name(t: Any) -> Any:
    class Net(t.nn.Module):
        def forward(self, a: Any, b: Any, first: Any, second: Any) -> Any:
            return a.sum() + b.sum() + first.sum() - second.sum()

    n, m = t.export.Dim("n"), t.export.Dim("m")
    a, b, c, d = (t.full((4, 4), i) for i in (1.0, 2.0, 3.0, 4.0))
    program = t.export.export(
        Net(), (a, b), {"second": c, "first": d}, dynamic_shapes=(None, {0: n}, {0: m}, None)
    )
    vary = {
        node.name: [type(s) is not int for s in node.meta["val"].shape]
        for node in program.graph.nodes
        if node.op == "placeholder"
    }
    return vary, program.module()(a, t.ones(7, 4), second=c, first=t.ones(9, 4)).item()


def test_what_varies_is_given_in_the_order_of_the_signature() -> None:
    assert _by_name(jtorch) == _by_name(torch)


#: A text, since pytest writes the ``assert`` statements of its modules anew.
_ASSERTING = """
class Checked(t.nn.Module):
    def forward(self, x, n):
        assert n[0] + x.shape[0] <= 10
        assert x.sum() > 0, "positive"
        assert x.shape[0] == 3
        return x * 2

class Chosen(t.nn.Module):
    def forward(self, x, n):
        def plain(x):
            return x + 1
        def checked(x):
            assert x[0] + 1 <= 10, "small"
            return x + 2
        return t.cond(n[0] > 3, plain, checked, (x,))

class Decided(t.nn.Module):
    def forward(self, x, n):
        return x if x.sum() > 0 else n
"""


def _asserting(t: Any) -> Any:
    scope = {"t": t}
    exec(_ASSERTING, scope)
    x, found = t.ones(3), []
    for name, strict in (("Checked", True), ("Chosen", True), ("Chosen", False)):
        program = t.export.export(scope[name](), (x, t.tensor([2])), strict=strict)
        file = io.BytesIO()
        t.export.save(program.run_decompositions({}), file)
        file.seek(0)
        for each in (program, t.export.load(file)):
            found += [
                str(n.target)
                for n in each.graph.nodes
                if n.op == "call_function" and n.target is not operator.getitem
            ]
            for args in (
                (x, t.tensor([2])),
                (-x, t.tensor([2])),
                (x, t.tensor([20])),
                (x * 20, t.tensor([2])),
            ):
                try:
                    found.append(each.module()(*args).tolist())
                except RuntimeError as error:
                    found.append(str(error))
    for name, strict in (("Checked", False), ("Decided", False)):
        with pytest.raises(Exception, match="data-dependent"):
            t.export.export(scope[name](), (x, t.tensor([2])), strict=strict)
    return found


def test_asserts_about_tensors_are_checks_in_the_graph() -> None:
    assert _asserting(jtorch) == _asserting(torch)
