"""What a program's module holds of the states of the module that was exported, and what its inputs
are called."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch


def test_buffers_that_are_not_saved_stay_so_in_the_module() -> None:
    class Inner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.ones(1))
            self.register_buffer("loose", torch.ones(1), persistent=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.kept + self.loose

    class Outer(Inner):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * self.loose

    module = torch.export.export(Outer(), (torch.ones(2),)).module()
    assert set(module.state_dict()) == {"kept", "inner.kept"}
    assert {"loose", "inner.loose"} <= {name for name, _ in module.named_buffers()}
    assert module(torch.ones(2)).tolist() == [3.0, 3.0]


def test_checks_of_a_call_stay_in_the_graph() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum()

    module = torch.export.export(Module(), (torch.ones(5),)).module()
    assert not module.graph.eliminate_dead_code()
    module.recompile()
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.ones(6))


def test_constants_that_require_grad_are_detached_in_the_module() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.ones(2, requires_grad=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.weight

    program = torch.export.export(Module(), (torch.ones(2),))
    assert program.constants["weight"].requires_grad
    with pytest.warns(UserWarning, match="`weight` requires gradient. but it's not properly"):
        module: Any = program.module()
    assert not module.weight.requires_grad and not module(torch.ones(2)).requires_grad


def test_inputs_whose_names_collide() -> None:
    class Nested(torch.nn.Module):
        def forward(self, x: Any, x_a: Any, x_a_0: torch.Tensor) -> torch.Tensor:
            return x["a"][0] + x_a[0] + x_a_0

    inputs = ({"a": [torch.tensor(1.0)]}, (torch.tensor(2.0),), torch.tensor(4.0))
    program = torch.export.export(Nested(), inputs)
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert names == ["x_a_0", "x_a_0_1", "x_a_0_2"]
    assert program.module()(*inputs).item() == 7

    class Stateful(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor(1.0))
            self.c = torch.tensor(2.0)

        def forward(self, p_w: torch.Tensor, c_c: torch.Tensor) -> torch.Tensor:
            return self.w + self.c + p_w * c_c

    program = torch.export.export(Stateful(), (torch.tensor(3.0), torch.tensor(5.0)))
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert names == ["p_w_1", "c_c_1", "p_w", "c_c"]
    assert program.module()(torch.tensor(3.0), torch.tensor(5.0)).item() == 18


def test_hooks_that_rename_states_do_not_rename_a_programs() -> None:
    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)
            self._register_state_dict_hook(_renamed)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    def _renamed(module: object, state: Any, prefix: str, meta: object) -> None:
        del module, meta
        for name in list(state):
            state[f"{prefix}other.{name}"] = state.pop(name)

    module = Module()
    program = torch.export.export(module, (torch.ones(1, 2),))
    assert list(program.state_dict) == ["inner.weight", "inner.bias"]
    assert torch.equal(program.module()(torch.ones(1, 2)), module(torch.ones(1, 2)))
