"""Gradients of segment_reduce where elements tie, are zero or no numbers, and with an initial
value."""

import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

NAN = float("nan")
SEGMENTS = {"lengths": [3, 2, 0, 3], "offsets": [0, 3, 5, 5, 8]}


@pytest.mark.parametrize("mode", ["lengths", "offsets"])
@pytest.mark.parametrize("initial", [None, 2.0, 5.0])
@pytest.mark.parametrize("reduce", ["max", "min", "sum", "mean", "prod"])
def test_gradients(reduce, initial, mode):
    def run(t):
        x = t.tensor([1.0, 5.0, 5.0, 0.0, 3.0, NAN, NAN, 2.0], requires_grad=True)
        r = t.segment_reduce(x, reduce, initial=initial, **{mode: t.tensor(SEGMENTS[mode])})
        r.backward(t.tensor([-2.0, -4.0, 3.0, 6.0]))
        return torch.tensor(r.tolist()), torch.tensor(x.grad.tolist())

    torch.testing.assert_close(run(jtorch), run(torch), equal_nan=True)


@pytest.mark.parametrize("reduce", ["amax", "sum", "mean", "prod"])
def test_gradients_of_rows(reduce):
    def run(t):
        x = t.arange(24.0).reshape(2, 4, 3).requires_grad_()
        t.segment_reduce(
            x, reduce, lengths=t.tensor([[2, 0, 2], [1, 3, 0]]), axis=1, initial=1.0
        ).sum().backward()
        return x.grad.tolist()

    assert run(jtorch) == run(torch)


def test_elements_in_no_segment_get_none():
    x = jtorch.arange(6.0, requires_grad=True)
    jtorch.segment_reduce(x, "sum", offsets=jtorch.tensor([1, 3, 5])).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("reduce", ["max", "sum", "mean", "prod"])
def test_gradients_are_those_of_differences(reduce):
    y = jtorch.tensor([0.3, 0.9, 0.1, 0.5, 0.2, 0.7], dtype=jtorch.float64, requires_grad=True)
    assert jtorch.autograd.gradcheck(
        lambda x: jtorch.segment_reduce(x, reduce, lengths=jtorch.tensor([2, 0, 4]), initial=0.25),
        y,
    )
