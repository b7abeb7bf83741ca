"""What a function that is differentiated writes into arguments that it is not differentiated by."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import Tensor
from jtorch.func import grad, grad_and_value, hessian, jacfwd, jacrev, vjp, vmap


def scaled(x: Tensor, y: Tensor) -> Tensor:
    """``y``, multiplied by ``x`` in place."""
    y.mul_(x)
    return y


def total(x: Tensor, y: Tensor) -> Tensor:
    """The sum of ``scaled``."""
    return scaled(x, y).sum()


def test_gradients_see_what_is_written_and_so_does_the_caller() -> None:
    x, y = torch.full((2,), 3.0), torch.ones(2)
    assert (
        grad(total)(x, y).tolist() == [1, 1]
        and y.tolist() == [3, 3]
        and y._version == 1
        and not y.requires_grad
    )
    found, value = grad_and_value(total)(x, y)
    assert found.tolist() == [3, 3] and value.item() == 18 and y.tolist() == [9, 9]
    y = torch.ones(2, 2)
    assert grad(lambda x, *, d: total(x, d["y"][0]))(x, d={"y": y}).tolist() == [
        1,
        1,
    ] and y.tolist() == [[3, 3], [1, 1]]
    assert y.grad_fn is None


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian: Any) -> None:
    x, y = torch.full((2,), 3.0), torch.ones(2, 2)
    assert jacobian(scaled)(x, y[1]).tolist() == [[1, 0], [0, 1]] and y.tolist() == [[1, 1], [3, 3]]
    y = torch.zeros(2)
    assert (
        jacobian(lambda x, y: y.copy_(x))(x, y).tolist() == [[1, 0], [0, 1]]
        and y.tolist() == [3, 3]
        and y.grad_fn is None
    )


def test_transformations_of_transformations() -> None:
    x, y = torch.full((2,), 2.0), torch.ones(2)
    assert hessian(total)(x, y).tolist() == [[0, 0], [0, 0]] and y.tolist() == [2, 2]
    assert grad(lambda x, y: grad(total)(x, y).sum() + x.sum())(x, y).tolist() == [
        1,
        1,
    ] and y.tolist() == [4, 4]
    y = torch.ones(3, 2)
    assert (
        vmap(grad(total))(torch.full((3, 2), 3.0), y).tolist() == [[1, 1]] * 3
        and y.tolist() == [[3, 3]] * 3
    )


def test_history_that_leads_out_is_kept() -> None:
    w, y = torch.full((2,), 2.0, requires_grad=True), torch.ones(2)
    assert grad(lambda x, y: (scaled(x, y) ** 2).sum())(w, y).tolist() == [4, 4]
    y.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1, 1]


def test_what_is_captured_is_refused_at_each_level() -> None:
    x, y = torch.ones(2), torch.ones(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        vjp(lambda x: scaled(x, y), x)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        grad(lambda x: grad(total)(x, y).sum())(x)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        grad(lambda x, y: grad(lambda z: total(z, y))(x).sum())(x, y)
    assert y.tolist() == [1, 1]
