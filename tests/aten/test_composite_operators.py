"""Operators that PyTorch writes with others: what handlers are told, and what of them is left to
export and decompositions."""

from __future__ import annotations

import jtorch as torch
from jtorch._decomp import core_aten_decompositions
from jtorch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


class Seen(TorchDispatchMode):
    def __init__(self, answer=None):
        super().__init__()
        self.names, self.answer = [], answer

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        if self.answer is not None and (out := self.answer(func, args)) is not None:
            return out
        return func(*args, **(kwargs or {}))


def test_an_operator_that_its_own_parts_call_is_taken_apart_in_handlers_too():
    seen = Seen()

    def squares(func, args):
        if func is not aten.pow.Tensor_Scalar or len(seen.names) > 1:
            return None
        with seen:
            return aten.square(args[0])  # the handler runs inside of the square that called it

    seen.answer, x = squares, torch.tensor([3.0])
    with seen:
        out = aten.square(x)
    assert out.tolist() == [9.0] and seen.names == [
        "aten.pow.Tensor_Scalar",
        "aten.pow.Tensor_Scalar",
    ]


def test_one_kernel_without_an_own_way_of_writing_it_stays_the_operator():
    x = torch.ones(2)
    with Seen() as seen:
        aten.combinations(x)
    assert seen.names == ["aten.combinations.default"]


def test_writing_forms_are_whole():
    x, out = torch.tensor([1.0, -2.0]), torch.empty(2)
    with Seen() as seen:
        aten.absolute(x, out=out)
    assert seen.names == ["aten.absolute.out"] and out.tolist() == [1.0, 2.0]


def test_names_that_mean_another_operator_are_in_the_table():
    table = core_aten_decompositions()
    x = torch.tensor([2.0, 3.0])
    assert torch.equal(table[aten.multiply.Tensor](x, x), x * x) and aten.mul.Tensor not in table
    assert table[aten.dropout.default](x, 0.5, False) is x


def test_gradients_go_through_the_parts():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with Seen() as seen:
        y = aten.square(x).sum()
    y.backward()
    assert seen.names == ["aten.pow.Tensor_Scalar", "aten.sum.default"] and x.grad.tolist() == [
        4.0,
        6.0,
    ]
