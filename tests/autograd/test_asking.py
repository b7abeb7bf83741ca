"""``autograd.grad`` and ``backward`` ask their operands before they walk."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


D = Duck()
OPTIONS = {
    "grad_outputs": None, "retain_graph": None, "create_graph": False, "only_inputs": True,
    "allow_unused": False, "is_grads_batched": False, "materialize_grads": False,
}  # fmt: skip


def test_single_operands_become_tuples():
    assert torch.autograd.grad(D, D) == (torch.autograd.grad, (Duck,), ((D,), (D,)), OPTIONS)
    given = {"grad_tensors": None, "retain_graph": None, "create_graph": False, "inputs": None}
    assert torch.autograd.backward(D) == (torch.autograd.backward, (Duck,), ((D,),), given)
    assert torch.autograd.backward((D,), D, inputs=[D])[3] == {
        **given,
        "grad_tensors": D,
        "inputs": (D,),
    }


def test_any_operand_counts_and_exact_tensor_is_listed():
    x = torch.ones(1, requires_grad=True)
    assert torch.autograd.grad(x.sum(), [x, D])[1] == (torch.Tensor, Duck)
    assert torch.autograd.backward(x, inputs=[D])[1] == (torch.Tensor, Duck)
    with pytest.raises(TypeError):
        torch.autograd.grad(x.sum(), x, D)  # gradients that are given are no operands


def test_results_for_a_dictionary_of_inputs_have_its_keys():
    class Pair:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return ("first", "second")

    assert torch.autograd.grad(Pair(), {"a": Pair(), "b": Pair()}) == {"a": "first", "b": "second"}


def test_modes_see_both():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    x = torch.ones(1, requires_grad=True)
    y, z = x.sum(), x.sum()
    with Mode():
        (g,) = torch.autograd.grad(y, x)
        torch.autograd.backward(z)
    assert seen == [
        (torch.autograd.grad, (torch.Tensor,)),
        (torch.autograd.backward, (torch.Tensor,)),
    ]
    assert g.tolist() == x.grad.tolist() == [1]


def test_plain_operands_and_subclasses():
    class Sub(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    s = x.as_subclass(Sub)
    (g,) = torch.autograd.grad((s * s).sum(), s)
    assert type(g) is Sub and g.tolist() == [2, 2] and torch.autograd.grad.__doc__
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_iterators_of_operands_are_read_once() -> None:
    layer = torch.nn.Linear(2, 1)

    def loss() -> Any:
        return layer(torch.ones(1, 2)).sum()

    named = torch.autograd.grad(
        (t for t in [loss()]), layer.parameters(), grad_outputs=iter([torch.tensor(2.0)])
    )
    assert [g.tolist() for g in named] == [[[2.0, 2.0]], [2.0]]
    torch.autograd.backward(iter([loss()]))
    assert layer.bias.grad.tolist() == [1.0]
    layer.zero_grad()
    loss().backward(inputs=iter([layer.bias]))
    assert layer.bias.grad.tolist() == [1.0] and layer.weight.grad is None
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad(loss(), iter([]))
