"""Scripted and traced modules and functions, and the files they are saved to."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.factor = 3
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.layers(x) * self.factor


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class ByHand(torch.jit.ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(1, 1)

    @torch.jit.script_method
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.helper(x) * 2

    @torch.jit.script_method
    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_script_makes_a_module_that_shares_tensors_and_nothing_else() -> None:
    net = Net()
    scripted = torch.jit.script(net)
    assert (
        scripted is not net
        and isinstance(scripted, torch.jit.ScriptModule)
        and torch.jit.script(scripted) is scripted
    )
    assert type(scripted).__name__ == "RecursiveScriptModule" and scripted.original_name == "Net"
    assert scripted.layers[0].weight is net.layers[0].weight
    scripted.eval()
    scripted.factor = 5
    assert net.training and not scripted.training and net.factor == 3
    x = torch.ones(1, 2)
    assert torch.allclose(scripted(x) * 3, net(x) * 5) and net.calls.item() == 2
    assert list(scripted.state_dict()) == list(net.state_dict())


def test_repr_of_scripted_and_traced_modules() -> None:
    scripted = (
        "  original_name=Net\n"
        "  (layers): {0}(\n"
        "    original_name=Sequential\n"
        "    (0): {1}(original_name=Linear)\n"
    )
    assert repr(torch.jit.script(Net())).startswith(
        "RecursiveScriptModule(\n"
        + scripted.format("RecursiveScriptModule", "RecursiveScriptModule")
    )
    traced = torch.jit.trace(Net(), torch.ones(1, 2))
    assert (
        repr(traced).startswith("Net(\n" + scripted.format("Sequential", "Linear"))
        and type(traced).__name__ == "TopLevelTracedModule"
    )


def test_submodules_of_modules_written_by_hand_are_scripted() -> None:
    module = ByHand()
    assert repr(module) == "ByHand(\n  (inner): RecursiveScriptModule(original_name=Linear)\n)"
    assert module(torch.ones(1)).item() == 4


def test_functions_and_classes() -> None:
    function = torch.jit.script(plus_one)
    assert (
        isinstance(function, torch.jit.ScriptFunction)
        and function.name == "plus_one"
        and function(x=torch.ones(1)).item() == 2
    )
    assert isinstance(torch.jit.trace(lambda x: x * 2, torch.ones(1)), torch.ScriptFunction)
    assert torch.jit.script(Path) is Path
    with pytest.raises(
        RuntimeError,
        match=r"cannot be compiled since it inherits from nn\.Module, pass an instance instead",
    ):
        torch.jit.script(Net)
    with pytest.raises(NotImplementedError, match="TorchScript"):
        _ = function.code


def test_scripted_modules_and_functions_are_not_pickled() -> None:
    scripted = torch.jit.script(Net())
    with pytest.raises(RuntimeError, match=r"Tried to serialize object __torch__\.Net"):
        pickle.dumps(scripted)
    with pytest.raises(pickle.PickleError, match="ScriptFunction cannot be pickled"):
        pickle.dumps(torch.jit.script(plus_one))


def test_copies_are_apart() -> None:
    scripted = torch.jit.script(Net())
    other = copy.deepcopy(scripted)
    assert type(other) is type(scripted) and torch.equal(
        other.layers[0].weight, scripted.layers[0].weight
    )
    with torch.no_grad():
        other.layers[0].weight.add_(1)
    assert not torch.equal(other.layers[0].weight, scripted.layers[0].weight)


def test_frozen_modules_have_no_parameters() -> None:
    net = torch.jit.script(Net())
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(net)
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        torch.jit.freeze(Net())
    frozen = torch.jit.freeze(net.eval(), ["factor"])
    x = torch.ones(1, 2)
    assert (
        list(frozen.parameters()) == []
        and repr(frozen) == "RecursiveScriptModule(original_name=Net)"
        and frozen.factor == 3
    )
    assert torch.equal(frozen(x), net(x)) and not frozen(x).requires_grad


def test_tracing_runs_the_example_as_often_as_it_shows() -> None:
    norm = nn.BatchNorm1d(2)
    torch.jit.trace(norm, torch.ones(2, 2), check_trace=False)
    assert norm.num_batches_tracked.item() == 1
    torch.jit.trace(norm, torch.ones(2, 2))
    assert norm.num_batches_tracked.item() == 6
    torch.manual_seed(0)
    draws = torch.rand(5)
    torch.manual_seed(0)
    torch.jit.trace(lambda x: x + torch.rand(1), torch.ones(1))
    assert torch.rand(1).item() == draws[4].item()


def test_isinstance_of_containers() -> None:
    check = getattr(torch.jit, "isinstance")  # noqa: B009  (Python's own name)
    assert check([1], list[int]) and not check([1.0], list[int]) and check(None, int | None)
    assert check({"a": (1, "b")}, dict[str, tuple[int, str]])
    assert not check((1,), tuple[int, int]) and check(1, (str, int))


def test_what_scripted_and_lazy_modules_refuse() -> None:
    layer = nn.Linear(1, 1)
    given = {"weight": torch.ones(1, 1)}
    for module in (torch.jit.script(layer), torch.jit.trace(layer, torch.ones(1, 1))):
        with pytest.raises(
            RuntimeError, match="The stateless API can't be used with Jitted modules"
        ):
            torch.func.functional_call(module, given, torch.ones(1, 1))
    with pytest.raises(TypeError, match=r"1 is not an instance of torch.Tensor"):
        torch.func.functional_call(layer, {"weight": 1}, torch.ones(1, 1))
    with pytest.raises(
        RuntimeError,
        match=r"has uninitialized parameters weight. Did you forget to run a forward pass",
    ):
        torch.jit.script(nn.Sequential(nn.ReLU(), nn.LazyLinear(2)))


def test_what_is_deprecated_is_hidden_from_programs_as_in_pytorch() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.jit.script(lambda x: x)
    assert [w.category for w in seen] == [DeprecationWarning]
    assert seen[0].filename != __file__


class _ReluWhenScripted(nn.SELU):
    def __prepare_scriptable__(self) -> nn.Module:
        return nn.ReLU()


def test_modules_prepare_themselves_to_be_scripted() -> None:
    x = torch.tensor([-1.0, 1.0])
    module = _ReluWhenScripted()
    assert torch.jit.script(module)(x).tolist() == [0.0, 1.0] and module(x)[0] < 0
    shared = _ReluWhenScripted()
    whole = nn.Sequential(shared, nn.Sequential(_ReluWhenScripted(), shared))
    scripted = torch.jit.script(whole)
    assert scripted(x).tolist() == [0.0, 1.0]
    assert whole[0] is whole[1][1] and type(whole[0]) is nn.ReLU


class _ScriptedBefore(nn.Module):
    def __prepare_scriptable__(self) -> Any:
        return torch.jit.script(nn.ReLU())


def test_modules_may_prepare_scripted_ones_or_hold_each_other() -> None:
    x = torch.tensor([-1.0, 1.0])
    assert torch.jit.script(nn.Sequential(_ScriptedBefore()))(x).tolist() == [0.0, 1.0]
    assert torch.jit.script(_ScriptedBefore())(x).tolist() == [0.0, 1.0]
    itself: Any = nn.Module()
    itself.__dict__["other"] = other = nn.ReLU()
    other.__dict__["back"] = itself
    torch.jit.script(itself)


def test_functions_of_a_text() -> None:
    most = 3
    unit = torch.jit.CompilationUnit("""
        def halved(x: Tensor, found: List[int]) -> Tensor:
            while x > most:
                x = x / 2
                found.append(math.floor(x.item()))
            return x
        def other():
            return 1
    """)
    found: list[int] = []
    assert unit.halved(torch.tensor(10.0), found).item() == 2.5 and found == [5, 2] and most == 3
    unit.define("def more(x):\n    return x + 1\n")
    assert unit.more(1) == 2 and len(unit.get_functions()) == 3
    assert unit.find_function("none") is None
    made = torch.jit.load(io.BytesIO(unit.more.save_to_buffer()))
    assert made(torch.ones(1)).item() == 2
    with pytest.raises(AttributeError, match="'CompilationUnit' has no attribute 'none'"):
        _ = unit.none
    with pytest.raises(RuntimeError, match="method 'more' already defined"):
        unit.define("def more(x):\n    return x\n")
    with pytest.raises(RuntimeError, match="invalid syntax"):
        torch.jit.CompilationUnit("def f(:")


def test_freezing_keeps_attributes_of_submodules() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3))
    frozen = torch.jit.freeze(torch.jit.script(net.eval()), preserved_attrs=["0.weight"])
    assert getattr(frozen, "0").weight.shape == (3, 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_traced_functions_may_return() -> None:
    x = torch.ones(1)
    lists, dicts = (lambda x: (x, [x])), (lambda x: {"a": x, "b": (x, x)})
    with pytest.warns(torch.jit.TracerWarning, match="Encountering a list at the output"):
        torch.jit.trace(lists, x)
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        torch.jit.trace(dicts, x)
    for function in (lists, dicts, lambda x: ((x,), x)):
        torch.jit.trace(function, x, strict=False)
    for function, words in (
        (lambda _: None, "didn't return any values"),
        (lambda x: (x, 1), "Only tensors, lists, tuples of tensors"),
        (lambda x: [[x]], "Only tensors, lists, tuples of tensors"),
        (lambda _: [], "List trace inputs must have elements"),
        (lambda _: {}, "Dictionary inputs must have entries"),
        (lambda _: {"a": 1}, "of traced region cannot be understood by the tracer"),
        (lambda _: object(), "but instead got value of type object"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.jit.trace(function, x, strict=False)
    with pytest.raises(RuntimeError, match="Encountering a dict"):
        torch.jit.trace_module(nn.Identity(), {"forward": ({"a": x},)})
