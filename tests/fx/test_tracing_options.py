"""What tracers keep and refuse: where nodes come from, assertions, methods that are nodes, errors
in generated code."""

from __future__ import annotations

import enum
import operator
import pickle
from typing import Any

import pytest

import jtorch as torch
from jtorch import fx, nn
from jtorch.fx.experimental.rewriter import RewritingTracer
from jtorch.fx.operator_schemas import normalize_function
from jtorch.fx.tensor_type import Dyn, TensorType


class Sum(nn.Module):
    def forward(self, a: Any, b: Any) -> Any:
        return (a + b).relu()


def test_stack_traces_name_the_line_and_survive_a_transformer() -> None:
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Sum())
    gm = fx.GraphModule(tracer.root, graph)
    for g in (gm, fx.Transformer(gm).transform()):
        traces = {n.op: n.stack_trace for n in g.graph.nodes}
        assert traces["placeholder"] is traces["output"] is None
        assert "return (a + b).relu()" in traces["call_function"]
        assert "return (a + b).relu()" in traces["call_method"]


class Inner(nn.Module):
    def __init__(self, least: int) -> None:
        super().__init__()
        self.least = least

    def forward(self, x: Any) -> Any:
        assert x.shape[0] > self.least, "too short"
        return x + 1


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner(2)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Any) -> Any:
        assert x.dim() == 1
        return self.inner(x)


def test_assertions_become_nodes() -> None:
    tracer = RewritingTracer()
    graph = tracer.trace(Outer())
    gm = fx.GraphModule(tracer.root, graph)
    gm.graph.lint()
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"].count(torch._assert) == 2
    assert torch.equal(gm(torch.zeros(3)), torch.ones(3))
    with pytest.raises(AssertionError, match="too short"):
        gm(torch.zeros(2))


def test_assertions_of_functions_with_cells() -> None:
    least = 4

    def checked(x, y=2, *, z=3):  # type: ignore[no-untyped-def]
        assert x > least, "small"
        return x + y + z

    gm = fx.GraphModule(nn.Module(), RewritingTracer().trace(checked))
    assert gm(5) == 10
    with pytest.raises(AssertionError, match="small"):
        gm(4)


def test_methods_that_are_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch.fx import _symbolic_trace

    monkeypatch.setattr(
        _symbolic_trace, "_wrapped_methods_to_patch", [(torch.Tensor, "__getitem__")]
    )

    class Sliced(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("pe", torch.arange(5.0))

        def forward(self, x: Any) -> Any:
            return self.pe[: x.size(0)]

    gm = fx.symbolic_trace(Sliced())
    assert "__getitem__" in [n.target for n in gm.graph.nodes]
    assert torch.equal(gm(torch.zeros(2)), torch.tensor([0.0, 1.0]))
    assert torch.arange(3)[1] == 1  # as before


def test_failing_operations_are_shown_in_the_generated_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gm = fx.symbolic_trace(lambda x: torch.dot(x, x) + 1)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        gm(5)
    shown = capsys.readouterr().err
    assert (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function:"
        in shown
    )
    assert (
        shown.index("dot = torch.dot(x, x)")
        < shown.rindex("~~~ <--- HERE")
        < shown.rindex("add = dot + 1")
    )


def test_errors_of_modules_that_are_called_are_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 4)

        def forward(self, x: Any) -> Any:
            return self.linear(x)

    with pytest.raises(RuntimeError):
        fx.symbolic_trace(Model())(torch.ones(2, 5)).sum().item()
    assert "FX-traced" not in capsys.readouterr().err


def test_replicas_run() -> None:
    gm = fx.symbolic_trace(Sum())
    replica = gm._replicate_for_data_parallel()
    assert torch.equal(replica(torch.ones(2), torch.ones(2)), gm(torch.ones(2), torch.ones(2)))


class Color(enum.Enum):
    RED = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2


def test_members_of_enumerations_are_arguments() -> None:
    def f(x: Any) -> Any:
        return operator.getitem({Color.RED: x, Flags.A | Flags.B: 5}, Color.RED)

    def g(x: Any) -> Any:
        return pair(x, Color.RED, [Flags.A | Flags.B])

    gm = fx.symbolic_trace(g)
    assert gm(3) == (3, Color.RED, [Flags.A | Flags.B]) and "Color.RED" in gm.code
    assert pickle.loads(pickle.dumps(gm))(3) == gm(3)
    assert fx.symbolic_trace(f)(3) == 3


def pair(x: Any, *more: Any) -> Any:
    return (x, *more)


fx.wrap("pair")


def test_arguments_for_star_args_become_parameters() -> None:
    class Starred(nn.Module):
        def forward(self, *args: Any, **options: Any) -> Any:
            return args[0] + args[1]

    gm = fx.symbolic_trace(Starred(), concrete_args=(fx.PH, fx.PH))
    gm.graph.lint()
    assert gm(1, 2) == 3 and [n.name for n in gm.graph.nodes][:2] == ["input_0", "input_1"]
    with pytest.raises(RuntimeError, match="Tracing expected 2 arguments but got 1 concrete"):
        fx.symbolic_trace(Sum(), concrete_args=(fx.PH,))


def test_types_of_tensors_with_sizes_are_written_into_code() -> None:
    class Module(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    Module.forward.__annotations__.update(x=TensorType((1, 2, Dyn)), y=Dyn)
    traced = fx.symbolic_trace(Module())
    kind = "torch.fx.tensor_type.TensorType[_1,_2,torch.fx.tensor_type._DynType]"
    assert f"x : {kind}, y : torch.fx.tensor_type._DynType" in traced.code
    assert traced(torch.ones(1, 2, 3), 1.0).shape == (1, 2, 3)


class Told(nn.Module):
    def forward(self, x: Any) -> Any:
        assert x.sum() == 3, """first
second"""
        return x


def test_messages_of_assertions_may_have_lines_of_their_own() -> None:
    traced = fx.GraphModule(Told(), RewritingTracer().trace(Told()))
    with pytest.raises(AssertionError, match=r"^first\nsecond$"):
        traced(torch.ones(2))
    assert traced(torch.ones(3)).shape == (3,)


def test_arguments_of_operators_by_name() -> None:
    x, y = torch.ones(1), torch.ones(4)
    for target in (torch.ops.aten.resize_as_.default, torch.ops.aten.resize_as_):
        found = normalize_function(target, (x,), {"the_template": y}, None, None, True)
        assert found is not None and found.kwargs["input"] is x
        assert found.kwargs["the_template"] is y
    assert normalize_function(torch.ops.aten.relu, (x, y)) is None
