"""Programs as modules again: their hierarchy, their state, parts that are replaced."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.export import (
    Dim,
    ExportedProgram,
    FlatArgsAdapter,
    UnflattenedModule,
    export,
    load,
    save,
    unflatten,
)
from jtorch.utils._pytree import tree_leaves


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.words(ids)) @ self.words.weight


class Shared(nn.Module):
    """One layer by three names, one of which is called before the module that holds it."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.blocks = nn.ModuleList(
            [nn.Sequential(self.last, nn.ReLU()), nn.Sequential(self.last, nn.Tanh())]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks[0][0](x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.seen = nn.Parameter(torch.ones(3)), nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Size, Any]:
        return self.seen(x) * self.weight * k, x.shape, (x.max(dim=0).values, None)


class Repeated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({"p": Scaled()})
        self.table = torch.arange(3.0)
        self.register_buffer("loose", torch.ones(3), persistent=False)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor, *more: Any, flag: bool, **named: Any) -> dict[str, Any]:
        y, shape, (top, nothing) = self.parts["p"](x, 2)
        z = self.parts["p"](y, 2)[0] + self.parts["p"](y, 5)[0]
        with torch.no_grad():
            z = z + self.table * top
        x.add_(1)
        return {"z": z * shape[0] + self.loose, "rest": [more[0] + named["b"], nothing, flag]}


class Foreign(nn.Module):
    """Calls a module that it does not hold."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.__dict__["layer"] = layer
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * self.scale + self.layer.weight.sum()


class Lent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.other = Foreign(self.layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(x) + self.layer(x)


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: self.layer(a).sin(), lambda a: a.cos(), (x,))


class Positive(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0]


def _rows(*shape: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (torch.randn(*shape),)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]], dict[str, Any],
                        Any]] = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.2), nn.ReLU()),
            _rows(5, 4), {}, ({0: Dim("b")},)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), _rows(2, 5, 8), {},
                ({0: Dim("b"), 1: Dim("l")},)),
    "tied": (Tied, lambda: (torch.tensor([[1, 2]]),), {}, None),
    "shared": (Shared, _rows(2, 3), {}, None),
    "repeated": (Repeated, lambda: (torch.randn(4, 3), torch.ones(3)),
                 {"flag": True, "b": torch.ones(1)}, None),
    "foreign": (Lent, _rows(2, 3), {}, None),
    "branches": (lambda: nn.Sequential(Branch(), Branch()), _rows(2, 3), {}, None),
    "data": (lambda: nn.Sequential(Positive(), nn.ReLU()), _rows(6), {}, None),
}  # fmt: skip


def _loaded(program: ExportedProgram) -> ExportedProgram:
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


@pytest.mark.parametrize("form", ["traced", "functional", "loaded"])
@pytest.mark.parametrize("name", MODELS)
def test_the_modules_compute_what_the_program_does(name: str, form: str) -> None:
    make, given, kwargs, sizes = MODELS[name]
    net = make()
    program = export(net, given(), kwargs, dynamic_shapes=sizes)
    program = {
        "traced": lambda p: p,
        "functional": lambda p: p.run_decompositions(),
        "loaded": _loaded,
    }[form](program)
    parts = copy.deepcopy(unflatten(program))
    args = given()
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    torch.manual_seed(0)
    found = parts(*mine, **kwargs)
    torch.manual_seed(0)
    wanted = net(*theirs, **kwargs)
    for one, other in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other)
            assert one.requires_grad == other.requires_grad
        else:
            assert one == other
    assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))  # written into as well
    state = parts.state_dict()
    for key, value in net.state_dict().items():
        torch.testing.assert_close(state[key], value)


def test_the_state_is_a_copy_and_tied_as_it_was() -> None:
    net = Tied()
    parts = unflatten(export(net, (torch.tensor([[1, 2]]),)))
    assert parts.get_parameter("head.weight") is parts.get_parameter("words.weight")
    assert [n for n, _ in parts.named_parameters()] == ["words.weight"]
    with torch.no_grad():
        parts.get_parameter("head.weight").zero_()
    assert net.head.weight.abs().sum() > 0
    parts(torch.tensor([[1, 2]])).sum().backward()
    assert parts.get_parameter("words.weight").grad is not None and net.words.weight.grad is None


def test_calls_with_other_operators_are_modules_of_their_own_with_the_same_state() -> None:
    parts = unflatten(
        export(Repeated(), (torch.randn(4, 3), torch.ones(3)), {"flag": True, "b": torch.ones(1)})
    )
    names = [n for n, _ in parts.named_modules()]
    assert [n for n in names if n.endswith(("p", "@1", "@2"))] == [
        "parts.p",
        "parts.p@1",
        "parts.p@2",
    ]
    assert parts.get_parameter("parts.p@2.weight") is parts.get_parameter("parts.p.weight")
    assert parts.get_parameter("unused.bias").shape == (2,)
    assert "loose" not in parts.state_dict() and parts.get_buffer("loose").shape == (3,)


def test_parts_are_replaced() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    parts = unflatten(export(net, (torch.randn(2, 4),), dynamic_shapes=({0: Dim("b")},)))
    x = torch.randn(5, 4)
    one = nn.Tanh()
    setattr(parts, "1", one)
    torch.testing.assert_close(parts(x), net[2](torch.tanh(net[0](x))))
    setattr(parts, "2", one)  # one module by two names
    torch.testing.assert_close(parts(x), torch.tanh(torch.tanh(net[0](x))))


def test_the_graphs_can_be_changed() -> None:
    parts = unflatten(export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), (torch.randn(2, 2),)))
    graph: Any = parts.get_submodule("1").graph
    next(n for n in graph.nodes if n.op == "call_function").target = torch.ops.aten.neg.default
    x = torch.randn(2, 2)
    torch.testing.assert_close(parts(x), -parts.get_submodule("0")(x))
    assert torch.equal(parts.get_submodule("0")(input=x), parts.get_submodule("0")(x))
    with pytest.raises(TypeError, match="forward\\(\\) takes input"):
        parts.get_submodule("0")(x, x)


def test_what_it_is_called_with_is_checked() -> None:
    program = export(nn.Linear(3, 2), (torch.randn(4, 3),))
    parts = unflatten(program)
    with pytest.raises(AssertionError, match="Guard failed"):
        parts(torch.randn(4, 5))
    with pytest.raises(TypeError, match="There is no flat args adapter specified"):
        parts([torch.randn(4, 3)])
    with pytest.raises(TypeError, match="expected an ExportedProgram, got int"):
        unflatten(3)  # pyright: ignore[reportArgumentType]

    class First(FlatArgsAdapter):
        def adapt(
            self,
            target_spec: Any,
            input_spec: Any,
            input_args: list[Any],
            metadata: Any = None,
            obj: Any = None,
        ) -> list[Any]:
            assert isinstance(obj, UnflattenedModule) and target_spec != input_spec
            return input_args[:1]

    x = torch.randn(4, 3)
    assert torch.equal(unflatten(program, First())([x, 1]), parts(x))


def test_a_copied_program_has_the_names_of_the_first() -> None:
    # the argument is called ``input``, as a function of Python's
    program = copy.deepcopy(export(nn.Linear(3, 2), (torch.randn(4, 3),)))
    assert program.module()(torch.zeros(4, 3)).shape == (4, 2)


def test_modules_that_were_called_before_those_that_hold_them() -> None:
    class Inner(nn.Module):
        def forward(self, x: torch.Tensor, more: bool = False) -> torch.Tensor:
            return x * 3 + 1 if more else x + 1

    class Middle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x * 2, True) - 1

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.middle = Middle()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.middle.inner(x) / 2

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.outer = Outer()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.outer(x) * self.outer.middle(x) + self.outer.middle.inner(x)

    net, x = Root(), torch.ones(2)
    assert torch.equal(unflatten(export(net, (x,)))(x), net(x))
