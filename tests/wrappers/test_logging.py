"""``LoggingTensor`` and its mode: the ATen trace of a program, forward and backward."""

from __future__ import annotations

import doctest

import jtorch as torch
from jtorch.wrappers import LoggingTensor, LoggingTensorMode, logging
from jtorch.wrappers.logging import capture_logs, log_input


def test_trace_of_a_square_and_its_gradient():
    with capture_logs() as log:
        x = LoggingTensor(torch.tensor([3.0]), requires_grad=True)
        log_input("x", x)
        y = x * x
        g = LoggingTensor(torch.tensor([1.0]))
        log_input("g", g)
        (dx,) = torch.autograd.grad(y, x, g)
    assert log == [
        "$0 = input('x')",
        "$1 = aten.mul.Tensor($0, $0)",
        "$2 = input('g')",
        "$3 = aten.mul.Tensor($2, $0)",
        "$4 = aten.mul.Tensor($2, $0)",
        "$5 = aten.add.Tensor($4, $3)",
    ]
    assert type(dx) is LoggingTensor
    assert dx.elem.item() == 6.0
    assert [str(func) for func, *_ in log.calls] == ["aten.mul.Tensor"] * 3 + ["aten.add.Tensor"]
    assert log.calls[0][1:] == (("$0", "$0"), {}, "$1")


def test_mode_notes_a_training_step():
    model = torch.nn.Linear(3, 1)
    step = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.ones(2, 3)
    with capture_logs(is_mode=True) as log:
        model(x).sum().backward()
        step.step()
    text = "\n".join(log)
    for name in (
        "aten.t.default",
        "aten.addmm.default",
        "aten.sum.default",
        "aten.ones_like.default",
        "aten.mm.default",
    ):
        assert name in text
    assert model.weight.grad.tolist() == [[2.0, 2.0, 2.0]]


def test_lists_results_and_keywords():
    with capture_logs() as log:
        x = LoggingTensor(torch.ones(2, 2))
        log_input("x", x)
        torch.add(x, x, alpha=2), torch.cat([x, x], 1), x.max(1)
    assert log[1:] == [
        "$1 = aten.add.Tensor($0, $0, alpha=2)",
        "$2 = aten.cat.default([$0, $0], 1)",
        "$3, $4 = aten.max.dim($0, 1)",
    ]


def test_nothing_is_noted_outside():
    with capture_logs() as outer:
        with capture_logs() as inner:
            LoggingTensor(torch.ones(1)) + 1
        assert outer == []
    LoggingTensor(torch.ones(1)) + 1
    with LoggingTensorMode():
        torch.ones(1)
    assert len(inner) == 1


def test_repr_and_inner_history():
    x = LoggingTensor(torch.ones(1, requires_grad=True))
    assert x.requires_grad
    assert not x.elem.requires_grad
    assert repr(x) == "LoggingTensor(tensor([1.]))"


def test_examples():
    assert doctest.testmod(logging).failed == 0
    assert doctest.testmod(torch.utils._python_dispatch).failed == 0
    assert doctest.run_docstring_examples(torch.overrides.normalize_call, {}) is None
