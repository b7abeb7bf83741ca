"""``torch.compile`` with a function as backend: graphs, pieces, and what is found again."""

from __future__ import annotations

import operator
import weakref
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch._dynamo import pieces
from jtorch._dynamo.exc import BackendCompilerFailed, Unsupported
from jtorch.nn import functional as F


class Backend:
    """Keeps the graphs that it is given, and counts how often they run."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.inputs: list[Any] = []
        self.runs = 0

    def __call__(self, module: Any, inputs: list[Any]) -> Any:
        self.graphs.append(module)
        self.inputs.append(inputs)

        def run(*args: Any) -> Any:
            self.runs += 1
            return module.forward(*args)

        return run

    def targets(self, i: int = 0) -> list[Any]:
        return [
            n.target for n in self.graphs[i].graph.nodes if n.op in ("call_function", "call_method")
        ]


def test_a_module_is_one_graph_with_its_parameters_as_inputs() -> None:
    backend, net = Backend(), nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    x = torch.randn(2, 4)
    torch.testing.assert_close(compiled(x), net(x))
    compiled(torch.randn(2, 4))
    assert backend.runs == 2
    (graph,) = backend.graphs
    assert [n.target for n in graph.graph.nodes if n.op == "placeholder"] == [
        "L_input_", "L_self_modules_0_parameters_weight_", "L_self_modules_0_parameters_bias_",
    ]  # fmt: skip
    assert backend.targets() == [F.linear, F.relu]
    assert [tuple(t.shape) for t in backend.inputs[0]] == [(2, 4), (3, 4), (3,)]
    compiled(torch.randn(5, 4))
    assert len(backend.graphs) == 2


def test_values_end_a_piece_and_the_rest_goes_on() -> None:
    backend = Backend()

    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        a = torch.sin(x) + y.cos().view(-1)
        a = a * 2 if a.sum() > 0 else a - 1
        a[0] = 3
        with torch.no_grad():
            b = a @ a
        return a.relu(), b, x.shape[0]

    compiled = torch.compile(f, backend=backend)
    for sign in (1.0, -1.0, 1.0, -1.0):
        x, y = torch.full((4,), sign), torch.ones(2, 2)
        for found, wanted in zip(compiled(x, y), f(x, y), strict=True):
            torch.testing.assert_close(found, wanted)
    assert len(backend.graphs) == 3  # the first piece, and one for each way
    assert backend.targets(0) == [torch.sin, "cos", "view", operator.add, "sum", operator.gt]
    assert backend.targets(1)[:2] == [operator.mul, operator.setitem]
    assert backend.runs == 8


class Addresses:
    """``id`` for tensors: the number of a forgotten one is the next one's, as it may be in memory,
    and seldom is."""

    def __init__(self) -> None:
        self.taken: dict[int, int] = {}
        self.free: list[int] = []

    def __call__(self, x: Any) -> int:
        if not isinstance(x, torch.Tensor):
            return id(x)
        if id(x) not in self.taken:
            self.taken[id(x)] = self.free.pop() if self.free else len(self.taken)
            weakref.finalize(x, self.give_back, id(x))
        return self.taken[id(x)]

    def give_back(self, key: int) -> None:
        self.free.append(self.taken.pop(key))


def test_results_are_told_apart_where_memory_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend()

    def f(x: torch.Tensor, kept: bool) -> Any:
        first = x.sin()
        if not kept:
            first = None  # what comes next stands at its address
        return x.exp() + 1, x.cos(), first

    monkeypatch.setattr(pieces, "id", Addresses(), raising=False)
    compiled = torch.compile(f, backend=backend)
    x = torch.randn(3)
    for kept in (False, True, False):
        for found, wanted in zip(compiled(x, kept), f(x, kept), strict=True):
            torch.testing.assert_close(found, wanted)
    assert [
        [n.name for n in next(iter(reversed(g.graph.nodes))).args[0]] for g in backend.graphs
    ] == [
        ["add", "cos"],
        ["sin", "add", "cos"],
    ]


def test_nothing_is_stale() -> None:
    backend, state = Backend(), {"scale": 1.0, "list": []}

    def f(x: torch.Tensor, flag: bool = False) -> torch.Tensor:
        state["list"].append(len(state["list"]))  # type: ignore[attr-defined]
        return x * state["scale"] + (1 if flag else 0)  # type: ignore[operator]

    compiled = torch.compile(f, backend=backend, fullgraph=True)
    assert compiled(torch.ones(1)).item() == 1
    state["scale"] = 3.0
    assert compiled(torch.ones(1)).item() == 3
    assert compiled(torch.ones(1), flag=True).item() == 4
    assert compiled(torch.ones(1, dtype=torch.float64)).dtype is torch.float64
    assert state["list"] == [0, 1, 2, 3]


def test_gradients_flow_through_pieces_and_a_training_step_may_be_inside() -> None:
    def step(net: Any, optimizer: Any, x: torch.Tensor) -> float:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    nets = [nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9) for net in nets]
    backend, x = Backend(), torch.randn(5, 3)
    compiled = torch.compile(step, backend=backend)
    for _ in range(3):
        assert compiled(nets[0], optimizers[0], x) == pytest.approx(step(nets[1], optimizers[1], x))
    for a, b in zip(nets[0].state_dict().values(), nets[1].state_dict().values(), strict=True):
        torch.testing.assert_close(a, b)
    assert backend.runs


def test_changes_of_inputs_and_what_is_kept_elsewhere() -> None:
    backend, kept = Backend(), []

    def f(x: torch.Tensor) -> torch.Tensor:
        kept.append(x + 1)
        x.mul_(2)
        return x

    x = torch.ones(2)
    found = torch.compile(f, backend=backend)(x)
    assert found is x
    assert x.tolist() == [2, 2]
    assert type(kept[0]) is torch.Tensor
    assert kept[0].tolist() == [2, 2]
    assert (kept[0] + x).tolist() == [4, 4]


def test_random_numbers_are_drawn_once() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x) + torch.rand(8)

    x = torch.ones(8)
    torch.manual_seed(3)
    wanted = (f(x), torch.rand(1))
    torch.manual_seed(3)
    found = (torch.compile(f, backend=Backend())(x), torch.rand(1))
    torch.testing.assert_close(found, wanted)


def test_errors_are_the_programs() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        torch.compile(lambda x: x @ x, backend=Backend())(torch.ones(2, 3))


def test_one_graph_can_be_demanded() -> None:
    ran = []

    def f(x: torch.Tensor) -> float:
        ran.append(1)
        return len(x.tolist())

    with pytest.raises(Unsupported, match="tolist"):
        torch.compile(f, backend=Backend(), fullgraph=True)(torch.ones(2))
    assert torch.compile(f, backend=Backend())(torch.ones(2)) == 2


def test_backends_that_fail() -> None:
    def broken(module: Any, inputs: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(BackendCompilerFailed, match="broken"):
        torch.compile(torch.sin, backend=broken)(torch.ones(2))
    with pytest.raises(TypeError, match="must return a callable"):
        torch.compile(torch.sin, backend=lambda module, inputs: 3)(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"\[3\].*\[2\]"):
        torch.compile(torch.sin, backend=lambda module, inputs: lambda x: (torch.ones(3),))(
            torch.ones(2)
        )


def test_options_reach_the_backend() -> None:
    seen = {}

    def backend(module: Any, inputs: Any, **options: Any) -> Any:
        seen.update(options)
        return module.forward

    torch.compile(torch.sin, backend=backend, options={"level": 3})(torch.ones(2))
    assert seen == {"options": {"level": 3}}


def test_parts_that_are_not_recorded() -> None:
    backend, inside = Backend(), []

    @torch.compiler.disable
    def apart(x: torch.Tensor) -> torch.Tensor:
        inside.append(type(x) is torch.Tensor)
        return x + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        assert torch.compiler.is_compiling()
        y = apart(x * 2)
        torch._dynamo.graph_break()
        return y * 3

    assert not torch.compiler.is_compiling()
    assert torch.compile(f, backend=backend)(torch.ones(1)).item() == 9
    assert inside == [True]
    assert [backend.targets(i) for i in range(2)] == [[operator.mul], [operator.mul]]


def test_addresses_and_autocast_are_not_recorded() -> None:
    def f(x: torch.Tensor) -> Any:
        y = x + 1
        with torch.autocast("cpu"):
            z = y @ y
        return y.data_ptr() == y.data_ptr() != 0, z

    same, z = torch.compile(f, backend=Backend())(torch.ones(2, 2))
    assert same
    assert z.dtype is torch.bfloat16


def test_explain() -> None:
    found = torch._dynamo.explain(lambda x: x + 1 if x.sum() > 0 else x - 1)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 2)
    assert "Graph Break Count: 1" in str(found)
    assert "test_compile_backends.py" in str(found)


def test_forgetting() -> None:
    backend = Backend()
    compiled = torch.compile(torch.sin, backend=backend)
    compiled(torch.ones(2))
    torch._dynamo.reset()
    compiled(torch.ones(2))
    assert len(backend.graphs) == 2


def test_functions_and_their_derivatives_as_graphs_of_operators() -> None:
    from jtorch._functorch.aot_autograd import (
        aot_autograd,
        aot_function,
        aot_module,
        make_boxed_func,
    )

    seen: list[list[str]] = []

    def compiler(module: Any, inputs: Any) -> Any:
        seen.append([str(n.target) for n in module.graph.nodes if n.op == "call_function"])
        return make_boxed_func(module.forward)

    x = torch.randn(3, requires_grad=True)
    f = aot_function(lambda t, n: {"out": (t.sin() * n).sum(), "n": n}, compiler)
    found = f(x, 2)
    found["out"].backward()
    torch.testing.assert_close(x.grad, 2 * x.detach().cos())
    assert found["n"] == 2
    assert [s for s in seen if "aten.cos.default" in s]
    f(x, 2)
    assert len(seen) == 2
    net = nn.Linear(3, 2)
    y = aot_module(net, compiler)(x)
    torch.testing.assert_close(y, net(x))
    y.sum().backward()
    torch.testing.assert_close(net.bias.grad, torch.ones(2))
    compiled = torch.compile(net, backend=aot_autograd(fw_compiler=compiler))
    z = torch.randn(4, 3)
    torch.testing.assert_close(compiled(z), net(z))
    assert ["aten.t.default", "aten.addmm.default"] in seen
    with pytest.raises(NotImplementedError, match="computed again"):
        aot_function(F.dropout, compiler)(x)
