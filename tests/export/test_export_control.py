"""Branches and loops in traced programs: their graphs, what they give for other inputs, files and
StableHLO."""

from __future__ import annotations

import copy
import io
from typing import Any

import jax
import pytest

import jtorch as torch
from jtorch import nn
from jtorch._dynamo.exc import UncapturedHigherOrderOpError
from jtorch._higher_order_ops import map as over
from jtorch._higher_order_ops import scan, while_loop
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.export import Dim, ExportedProgram, export, load, save, stablehlo
from jtorch.fx.experimental.proxy_tensor import make_fx


class Program(nn.Module):
    """Every operator, one inside another, with values from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        def inner(y: torch.Tensor) -> torch.Tensor:
            return torch.cond(
                y.sum() > 3, lambda z: self.last(z) * x.shape[0], lambda z: z - 1, (y,)
            )

        chosen = torch.cond(x.sum() > 0, inner, lambda y: y.cos() * self.last.bias, (x,))
        sized = torch.cond(x.shape[0] > 4, lambda y: y.sin(), lambda y: y.cos(), (x,))
        count, looped = while_loop(
            lambda i, y: i < 5, lambda i, y: (i + 1, self.last(y)), (torch.tensor(0), x)
        )
        carry, rows = scan(lambda c, y: (c + y, c * y), torch.zeros(3), x)
        mapped = over(lambda row, y: row * y.sum(0), x, x)
        return chosen + sized, count, looped, carry, rows, mapped


@pytest.fixture(scope="module")
def net() -> Program:
    torch.manual_seed(0)
    return Program()


@pytest.fixture(scope="module")
def program(net: Program) -> ExportedProgram:
    return export(net, (torch.randn(3, 3),), dynamic_shapes=({0: Dim("rows")},))


def _inputs() -> list[torch.Tensor]:
    return [torch.ones(3, 3), torch.ones(5, 3), -torch.ones(6, 3), torch.full((2, 3), 0.1)]


def _same(found, wanted) -> None:
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(torch.as_tensor(a).detach(), b.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["module", "decomposed", "decomposed twice", "loaded", "copied"])
def test_other_inputs_take_the_other_branch(
    net: Program, program: ExportedProgram, form: str
) -> None:
    if form.startswith("decomposed"):
        program = program.run_decompositions()
        program = program.run_decompositions() if form.endswith("twice") else program
    elif form == "loaded":
        file = io.BytesIO()
        save(program, file)
        file.seek(0)
        program = load(file)
    elif form == "copied":
        program = copy.deepcopy(program)
    for x in _inputs():
        _same(program.module()(x), net(x))


def test_stablehlo_has_branches_and_loops(net: Program, program: ExportedProgram) -> None:
    lowered = stablehlo(program)
    state = {n: p.detach().jax() for n, p in net.named_parameters()} | {
        n: c.jax() for n, c in program.constants.items()
    }
    for x in _inputs():
        _same(lowered.call(state, x.jax())[0], net(x))
    text = lowered.mlir_module()
    assert "stablehlo.case" in text or "stablehlo.if" in text
    assert text.count("stablehlo.while") >= 2


def test_the_graph_of_a_branch() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda y: self.last(y).sin(), lambda y: y.cos(), (x,))

    program = export(Net(), (torch.ones(2, 3),))
    nodes = {n.name: n for n in program.graph.nodes}
    assert nodes["cond"].target is torch.ops.higher_order.cond
    assert (
        str(nodes["cond"].args)
        == "(gt, true_graph_0, false_graph_0, (x, p_last_bias, p_last_weight))"
    )
    inside = program.graph_module.true_graph_0.graph
    assert [n.name for n in inside.nodes] == [
        "x",
        "p_last_bias",
        "p_last_weight",
        "linear",
        "sin",
        "output",
    ]
    assert "torch.ops.higher_order.cond" in program.graph_module.code


def test_a_condition_that_is_known_is_decided() -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.shape[0] > 1, lambda y: y.sin(), lambda y: y.cos(), (x,))

    assert [
        str(n.target)
        for n in export(Net(), (torch.ones(3),)).graph.nodes
        if n.op == "call_function"
    ] == ["aten.sin.default"]


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        (lambda y: y[:1] * 1, "sizes"),
        (lambda y: y.long(), "dtypes"),
        (lambda y: (y * 1, y * 2), "structure"),
        (lambda y: y, "aliasing"),
        (lambda y: y.view(-1), "aliasing"),
        (lambda y: y.add_(1) * 1, "writes into a tensor from outside"),
    ],
)
def test_branches_that_cannot_be_one_operator(branch, words: str) -> None:
    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, branch, lambda y: y.cos(), (x,))

    with pytest.raises(UncapturedHigherOrderOpError, match=words):
        export(Net(), (torch.ones(3),))


def test_real_values_and_values_that_are_not_there() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))

    made = make_fx(f)(torch.ones(3))
    assert made(-torch.ones(3)).tolist() == (-torch.ones(3)).cos().tolist()
    with FakeTensorMode():
        assert f(torch.ones(4)).shape == (4,)


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize(
    "f",
    [torch.vmap(lambda a: a + 1), lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1]],
    ids=["vmap", "jvp"],
)
def test_what_a_transformation_computes_is_no_constant(f: Any, mode: str) -> None:
    made = make_fx(f, tracing_mode=mode)(torch.ones(2, 3))
    x = torch.arange(6.0).reshape(2, 3)
    torch.testing.assert_close(made(x), f(x))


def test_scan_and_map_in_plain_programs_and_under_jax() -> None:
    xs = torch.arange(6.0).reshape(3, 2)
    carry, rows = scan(
        lambda c, x: (c + x["a"], {"y": c * 2}), torch.zeros(2), {"a": xs}, reverse=True
    )
    assert carry.tolist() == [6.0, 9.0]
    assert rows["y"].tolist() == [[12.0, 16.0], [8.0, 10.0], [0.0, 0.0]]
    assert scan(lambda c, x: (c + x, x), torch.zeros(3), xs, dim=1)[1].tolist() == xs.tolist()
    for dim in (1, -1):  # what has fewer dimensions is stacked along its first
        assert (
            scan(lambda c, x: (c + x, x.sum()), torch.zeros(3), xs, dim=dim)[1].tolist()
            == xs.sum(0).tolist()
        )
    found = jax.jit(lambda x: scan(lambda c, y: (c + y, c), torch.zeros(2), x))(xs)
    assert found[0].tolist() == [6.0, 9.0]
    assert (
        jax.jit(lambda x: over(lambda y, z: y * z, x, x[0]))(xs).tolist() == (xs * xs[0]).tolist()
    )
    with pytest.raises(RuntimeError, match="the carry changes"):
        scan(lambda c, x: (torch.cat([c, x]), x), torch.zeros(2), xs)
