"""Activation functions that write into their operand: nodes, and derivatives that cannot be taken
from the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import jtorch

pytestmark = pytest.mark.parity

FORMS: dict[str, Callable[[Any, Any], Any]] = {
    "elu_": lambda t, x: t.nn.functional.elu_(x, 1.5),
    "elu_ of 0": lambda t, x: t.nn.functional.elu_(x, 0.0),
    "elu_ negative": lambda t, x: t.nn.functional.elu_(x, -1.0),
    "elu inplace": lambda t, x: t.nn.functional.elu(x, 0.5, inplace=True),
    "elu inplace negative": lambda t, x: t.nn.functional.elu(x, alpha=-0.5, inplace=True),
    "elu negative": lambda t, x: t.nn.functional.elu(x, -0.5),
    "celu_": lambda t, x: t.celu_(x, 2.0),
    "celu_ negative": lambda t, x: t.celu_(x, -1.0),
    "celu inplace negative": lambda t, x: t.nn.functional.celu(x, -2.0, True),
    "selu_": lambda t, x: t.selu_(x),
    "selu inplace": lambda t, x: t.nn.functional.selu(x, inplace=True),
    "leaky_relu_": lambda t, x: t.nn.functional.leaky_relu_(x, 0.1),
    "leaky_relu_ negative": lambda t, x: t.nn.functional.leaky_relu_(x, -0.1),
    "leaky_relu inplace negative": lambda t, x: t.nn.functional.leaky_relu(x, -0.1, inplace=True),
    "rrelu": lambda t, x: t.rrelu(x),
    "rrelu_": lambda t, x: t.rrelu_(x, 0.1, 0.3),
    "rrelu_ negative": lambda t, x: t.nn.functional.rrelu_(x, -0.3, -0.1),
    "rrelu inplace negative, of one slope": lambda t, x: t.nn.functional.rrelu(
        x, -0.1, -0.1, True, True
    ),
    "threshold_": lambda t, x: t.threshold_(x, 0.1, 3.0),
    "threshold inplace": lambda t, x: t.nn.functional.threshold(x, 0.1, 3.0, True),
    "hardtanh_": lambda t, x: t.nn.functional.hardtanh_(x, -0.5, 0.5),
    "aten elu_": lambda t, x: t.ops.aten.elu_(x, 1.0, 2.0, 0.5),
    "aten elu_ negative": lambda t, x: t.ops.aten.elu_(x, -1.0, 2.0, 1.0),
    "a view": lambda t, x: t.nn.functional.elu_(x[1:], 1.0),
    "a view, negative": lambda t, x: (t.nn.functional.elu_(x[1:], -1.0), x)[1],
}


def said(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as e:
        return type(e).__name__, str(e)


def ways(t: Any, form: Callable[[Any, Any], Any]) -> list[Any]:
    """What a form gives, its node and its derivatives in each way that PyTorch has."""
    x = t.tensor([-1.0, 0.0, -0.0, -3.5, 2.0])  # derivatives at NaN depend on PyTorch's vectors

    def made(v: Any) -> Any:
        return form(t, v.clone())

    def backward() -> Any:
        v = x.clone().requires_grad_()
        y = made(v)
        y.backward(t.ones_like(y))
        return v.grad.tolist()

    def twice() -> Any:
        v = x.clone().requires_grad_()
        y = made(v * 2)
        return t.autograd.grad((y * y).sum(), v, create_graph=True)[0].tolist()

    def dual() -> Any:
        with t.autograd.forward_ad.dual_level():
            return t.autograd.forward_ad.unpack_dual(
                made(t.autograd.forward_ad.make_dual(x.clone(), t.ones(5)))
            ).tangent.tolist()

    def forward() -> Any:
        return t.func.jvp(made, (x,), (t.ones(5),))[1].tolist()

    return [
        said(lambda: made(x).tolist()),
        said(lambda: type(made(x.clone().requires_grad_()).grad_fn).__name__),
        said(backward),
        said(twice),
        said(dual),
        said(forward),
        said(lambda: t.func.grad(lambda v: made(v).sum())(x).tolist()),
        said(lambda: t.func.vmap(t.func.grad(lambda v: made(v).sum()))(x[None]).tolist()),
        said(lambda: made(x.clone().requires_grad_()).detach().tolist()),
    ]


@pytest.mark.parametrize("name", FORMS)
def test_derivatives_in_place(name: str) -> None:
    theirs, ours = ways(real, FORMS[name]), ways(jtorch, FORMS[name])
    for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if isinstance(a, list):
            real.testing.assert_close(
                real.tensor(b), real.tensor(a), equal_nan=True, msg=lambda m, i=i: f"way {i}: {m}"
            )
            assert i or str(real.tensor(b).sign().tolist()) == str(real.tensor(a).sign().tolist())
        else:
            assert b == a, i
