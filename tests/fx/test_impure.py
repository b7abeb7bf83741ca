"""Nodes that must stay although nobody uses their result, and what a trace says of numbers and of
the recording of history."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch import fx
from jtorch.fx.experimental.proxy_tensor import make_fx

A: Any = torch.ops.aten


@pytest.mark.parametrize(
    ("target", "args", "stays"),
    [
        (operator.setitem, (0, 1.0), True),
        (torch._C._set_grad_enabled, (), True),
        (torch._assert, ("",), True),
        (torch.ops.profiler._record_function_enter_new, (), True),
        (torch.ops.profiler._record_function_exit._RecordFunction, (), True),
        (A.add_.Tensor, (1,), True),
        (A.copy_.default, (2,), True),
        (A.add.out, (1,), True),
        (A.bernoulli.default, (), True),
        (torch.rand_like, (), True),
        (torch.bernoulli, (), True),
        (A.add.Tensor, (1,), False),
        (torch.add, (1,), False),
        (torch.nn.functional.relu, (), False),
    ],
)
def test_what_stays(target: Any, args: Any, stays: bool) -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    assert graph.call_function(target, (x, *args)).is_impure() is stays


def test_draws_may_go_where_that_is_said() -> None:
    node = fx.Graph().call_function(torch.rand, (2,))
    assert node.is_impure() and not node.is_impure(impure_random=False)


def _f(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    with torch.no_grad():
        z = y.cos()
    return y + z.sin()


def _gradient(f: Callable[[torch.Tensor], Any]) -> Any:
    x = torch.ones(2, requires_grad=True)
    out = f(x)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return x.grad


def test_writes_and_switches_outlive_dead_code() -> None:
    def writes(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[0].add_(5)
        return y

    module = make_fx(writes)(torch.ones(2))
    module.graph.eliminate_dead_code()
    module.recompile()
    assert module(torch.ones(2)).tolist() == [7.0, 2.0]

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return _f(x)

    exported = torch.export.export(Module(), (torch.ones(2),)).module()
    exported.graph.eliminate_dead_code()
    exported.recompile()
    assert torch.equal(_gradient(exported), _gradient(_f))


def test_the_recording_of_history_is_switched_in_graphs_before_dispatch() -> None:
    module = make_fx(_f, pre_dispatch=True)(torch.ones(2, requires_grad=True))
    assert "_set_grad_enabled(False)" in module.code and "_set_grad_enabled(True)" in module.code
    assert torch.equal(_gradient(module), _gradient(_f))
    # as in PyTorch
    assert not torch.equal(_gradient(make_fx(_f)(torch.ones(2, requires_grad=True))), _gradient(_f))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.allclose(x, x + 1),
        lambda x: torch.equal(x, x),
        lambda x: x if x.sum() > 0 else -x,
    ],
)
def test_numbers_that_data_decide_are_not_kept(f: Any) -> None:
    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(f)(torch.ones(2))
